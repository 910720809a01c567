/**
 * The kinds of lists that other lists, objects in lists and variables hold (`heldLists.ts`), and of objects that are held in the same way
 * (`heldObjects.ts`), as the tries of one lowering find them.
 *
 * All lists of a kind lie in one memory. Lists that are put into one place are of one kind, so kinds that meet are joined (union-find);
 * the next try sees one kind in their place.
 */
import type { AnyNode } from 'acorn'
import type { TypeOf } from '../../../../core/ir/irTypes.ts'
import type { Shape } from '../../lower/loweringParts.ts'

/** The literal or call that makes a list: its function, and its place there, which no other literal or call has. */
export interface Maker {
  readonly of: unknown
  readonly place: number
}

/** Returns what tells a literal or call from all others: literals by their start, calls by their end, where no other call ends. */
export function makerOf({ unit }: { readonly unit: { readonly f: unknown } }, node: AnyNode): Maker {
  return { of: unit.f, place: node.type === 'ArrayExpression' ? node.start : -node.end }
}

export class HeldKinds {
  readonly #parents: number[] = []
  readonly #makers = new Map<unknown, Map<number, number>>()
  readonly #elements = new Map<number, Shape>()
  readonly #moved = new Set<number>()
  /** Kinds of objects; all others are of lists. */
  readonly #objects = new Set<number>()
  #found: { readonly kind: number; readonly shape: Shape }[] = []
  #isNew = false

  /** Returns the kind of the list that a literal or call makes; undefined where nothing holds it. */
  at({ of, place }: Maker): number | undefined {
    const kind = this.#makers.get(of)?.get(place)
    return kind === undefined ? undefined : this.find(kind)
  }

  /** Makes a kind for lists of which no maker is known yet. */
  fresh(): number {
    return this.#parents.push(this.#parents.length) - 1
  }

  /** Notes that something holds the list that a literal or call makes; returns its kind. */
  note(maker: Maker, as?: number): number {
    const known = this.at(maker)
    if (known !== undefined) return as === undefined ? known : this.join(known, as)
    const kind = as ?? this.fresh()
    const places = this.#makers.get(maker.of) ?? new Map<number, number>()
    this.#makers.set(maker.of, places)
    places.set(maker.place, kind)
    this.#isNew = true
    return kind
  }

  /** Notes that something holds the object that a literal or call makes; returns its kind. */
  noteObject(maker: Maker, as?: number): number {
    const kind = this.note(maker, as)
    this.#markObject(kind)
    return kind
  }

  /** Makes a kind for objects of which no maker is known yet. */
  freshObject(): number {
    const kind = this.fresh()
    this.#objects.add(kind)
    return kind
  }

  #markObject(kind: number): void {
    const one = this.find(kind)
    if (!this.#objects.has(one)) this.#isNew = true
    this.#objects.add(one)
  }

  isObject(kind: number): boolean {
    return this.#objects.has(this.find(kind))
  }

  find(kind: number): number {
    let at = kind
    for (let next = this.#parents[at]; next !== undefined && next !== at; next = this.#parents[at]) at = next
    return at
  }

  join(a: number, b: number): number {
    const [one, other] = [this.find(a), this.find(b)]
    if (one === other) return one
    this.#parents[other] = one
    this.#isNew = true
    const [shape, another] = [this.#elements.get(one), this.#elements.get(other)]
    if (shape === undefined && another !== undefined) this.#elements.set(one, another)
    if (shape !== undefined && another !== undefined) this.#joinShapes(shape, another)
    if (this.#moved.has(other)) this.#moved.add(one)
    if (this.#objects.has(other)) this.#objects.add(one)
    return one
  }

  #joinShapes(a: Shape, b: Shape): void {
    if (a.kind === 'list' && b.kind === 'list') this.join(a.of, b.of)
    else if (a.kind === 'items' && b.kind === 'items') {
      for (const [i, item] of a.items.entries()) this.#joinShapes(item, b.items[i] ?? item)
    } else if (a.kind === 'fields' && b.kind === 'fields') {
      for (const [i, { shape }] of a.fields.entries()) this.#joinShapes(shape, b.fields[i]?.shape ?? shape)
    }
  }

  /** Returns the shape of the elements of a kind; undefined while nothing is known to be put into its lists. */
  elementOf(kind: number): Shape | undefined {
    return this.#elements.get(this.find(kind))
  }

  /** Notes what lists, or objects, of a kind are given; `learn` keeps the first shape, and adds to it which parts are lists or objects. */
  noteElement(kind: number, shape: Shape): void {
    this.#found.push({ kind, shape })
  }

  /** Notes that elements which seemed to be arrays of a few parts are lists. */
  noteLists(kind: number): void {
    const one = this.find(kind)
    if (this.#elements.get(one)?.kind === 'list') return
    this.#elements.set(one, { kind: 'list', of: this.fresh() })
    this.#isNew = true
  }

  /** Notes that a field of objects of a kind, which seemed to be an array of a few parts, is a list. */
  noteListPart(kind: number, name: string): void {
    const one = this.find(kind)
    const shape = this.#elements.get(one)
    if (shape?.kind !== 'fields') return
    const fields = shape.fields.map((field) =>
      field.name === name && field.shape.kind === 'items' ? { name, shape: { kind: 'list' as const, of: this.fresh() } } : field,
    )
    this.#elements.set(one, { ...shape, fields })
    this.#isNew = true
  }

  /** Notes that elements which seemed to be fields in arrays are objects that other places hold, too; returns their kind. */
  noteObjects(kind: number, as?: number): number {
    const one = this.find(kind)
    const known = this.#elements.get(one)
    if (known?.kind === 'list') return as === undefined ? known.of : this.join(known.of, as)
    const of = as ?? this.freshObject()
    this.#elements.set(one, { kind: 'list', of })
    this.#isNew = true
    return of
  }

  isMoved(kind: number): boolean {
    return this.#moved.has(this.find(kind))
  }

  /** Notes that places of lists of a kind are given other elements. */
  noteMoved(kind: number): void {
    const one = this.find(kind)
    if (!this.#moved.has(one)) this.#isNew = true
    this.#moved.add(one)
  }

  /** Returns a shape in which parts that are null or undefined so far are lists or objects that may be absent. */
  #withKinds(shape: Shape): Shape {
    if (isAbsent(shape)) return { kind: 'list', of: this.fresh(), mayBeAbsent: true }
    if (shape.kind === 'items') return { ...shape, items: shape.items.map((item) => this.#withKinds(item)) }
    if (shape.kind !== 'fields') return shape
    return { ...shape, fields: shape.fields.map((field) => ({ ...field, shape: this.#withKinds(field.shape) })) }
  }

  /** Returns what is known of a shape after another was given to the same place; the known one where that is nothing new. */
  #merged(known: Shape, given: Shape): Shape {
    if (known.kind === 'list') {
      if (given.kind === 'list') this.join(known.of, given.of)
      const mayBeAbsent = isAbsent(given) || (given.kind === 'list' && given.mayBeAbsent === true)
      return mayBeAbsent && known.mayBeAbsent !== true ? { ...known, mayBeAbsent: true } : known
    }
    if (given.kind === 'list') return given // what seemed to be a scalar, or fields in arrays, is held elsewhere, too
    if (known.kind === 'items' && given.kind === 'items' && known.items.length === given.items.length) {
      const items = known.items.map((item, i) => this.#merged(item, given.items[i] ?? item))
      return items.every((item, i) => item === known.items[i]) ? known : { ...known, items }
    }
    if (known.kind !== 'fields' || given.kind !== 'fields') return known
    const fields = known.fields.map((field) => {
      const other = given.fields.find(({ name }) => name === field.name)
      const shape = other === undefined ? field.shape : this.#merged(field.shape, other.shape)
      return shape === field.shape ? field : { ...field, shape }
    })
    return fields.every((field, i) => field === known.fields[i]) ? known : { ...known, fields }
  }

  /** Keeps what a try has found; whether something was new. */
  learn(typed: (shape: Shape, typeOf: TypeOf) => Shape, typeOf: TypeOf): boolean {
    for (const { kind, shape } of this.#found) {
      const one = this.find(kind)
      const [known, given] = [this.#elements.get(one), typed(shape, typeOf)]
      const now = known === undefined ? this.#withKinds(given) : this.#merged(known, given)
      if (now === known) continue
      this.#elements.set(this.find(one), now)
      this.#isNew = true
    }
    const isNew = this.#isNew
    this.#found = []
    this.#isNew = false
    return isNew
  }
}

/** Whether a part is known to be null or undefined, and nothing else. */
function isAbsent(shape: Shape): boolean {
  return shape.kind === 'scalar' && 'init' in shape && (shape.init === null || shape.init === undefined)
}
