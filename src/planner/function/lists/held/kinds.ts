/**
 * The kinds of lists that other lists, objects in lists and variables hold (`heldLists.ts`), as the tries of one lowering find them.
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

  /** Notes what lists of a kind are given; `learn` keeps the first shape. */
  noteElement(kind: number, shape: Shape): void {
    if (this.elementOf(kind) === undefined) this.#found.push({ kind, shape })
  }

  /** Notes that elements which seemed to be arrays of a few parts are lists. */
  noteLists(kind: number): void {
    const one = this.find(kind)
    if (this.#elements.get(one)?.kind === 'list') return
    this.#elements.set(one, { kind: 'list', of: this.fresh() })
    this.#isNew = true
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

  /** Keeps what a try has found; whether something was new. */
  learn(typed: (shape: Shape, typeOf: TypeOf) => Shape, typeOf: TypeOf): boolean {
    for (const { kind, shape } of this.#found) {
      const one = this.find(kind)
      if (this.#elements.has(one)) continue
      this.#elements.set(one, typed(shape, typeOf))
      this.#isNew = true
    }
    const isNew = this.#isNew
    this.#found = []
    this.#isNew = false
    return isNew
  }
}
