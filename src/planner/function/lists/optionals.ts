/**
 * Objects and arrays that may be absent: variables that hold null before they hold an object, functions and conditions that give one or
 * nothing. The parts are locals (`stored.ts`), and one more says whether they hold an object.
 *
 *     let best = null                                          let best_there = false, best_x = 0, best_d = 0
 *     if (best === null || d < best.d) best = { x, d }         if (!best_there || d < best_d) { best_x = x; best_d = d; best_there = true }
 *     if (best !== null) out.set(i, best.x)                    if (best_there) out.set(i, best_x)
 *
 * What is absent is null, or undefined, but not one here and the other there. A part that is read where nothing has asked whether the
 * object is there throws what JavaScript throws.
 *
 * Only a whole try tells what a variable is given later: the shape that it finds is declared by the next one.
 */
import type { AnyNode } from 'acorn'
import type { Expr, Primitive } from '../../../core/ir/functionIr.ts'
import type { TypeOf } from '../../../core/ir/irTypes.ts'
import type { Span } from '../../../core/span.ts'
import { plainName } from '../captures/privateNames.ts'
import { binary, literal, makeIf, negated } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import type { FoundOptional, Optional, Shape } from '../lower/loweringParts.ts'
import type { Item, MaybeItem, Site, Storage, Stored, Value } from '../lower/value.ts'

export type MaybeStored = Stored & { readonly storage: Storage & { readonly kind: 'optional' } }

/** Whether a value is an object that may be absent. */
export function isOptional(value: Value): value is MaybeStored {
  return value.kind === 'stored' && value.storage.kind === 'optional'
}

/** Whether a value is null or undefined as it is written; undefined for other values. */
export function absentLiteral(value: Value): { readonly value: null | undefined } | undefined {
  const expr = value.kind === 'expr' ? value.expr : undefined
  return expr?.kind === 'Literal' && (expr.value === null || expr.value === undefined) ? { value: expr.value } : undefined
}

/** Returns what an earlier try has found of an optional object; undefined where it has found no object, or nothing absent. */
export function optionalAt(l: Lowering, { unit, start }: Site): (Optional & { readonly shape: Shape }) | undefined {
  const found = l.optionals.get(unit.f)?.get(start)
  const isFound = found?.shape !== undefined && (found.absents.size > 0 || found.shape.kind === 'list')
  return isFound ? (found as Optional & { readonly shape: Shape }) : undefined
}

/** Notes that a variable, function or condition gives an object, or nothing. */
export function noteOptional(l: Lowering, site: Site, given: Value): void {
  const absent = absentLiteral(given)
  if (given.kind === 'held' && given.mayBeAbsent === true) l.foundOptionals.push({ site, absent: { value: undefined } })
  if (absent !== undefined) l.foundOptionals.push({ site, absent })
  else if (isOptional(given))
    l.foundOptionals.push({ site, absent: { value: given.storage.absent }, shape: shapeOfStorage(given.storage.of) })
  else {
    const shape = shapeOf(given)
    if (shape !== undefined && shape.kind !== 'scalar') l.foundOptionals.push({ site, shape })
  }
}

/** Adds the shapes of objects that lists are given; whether a list was new. */
export function learnRecords(
  known: Map<unknown, Map<number, Shape>>,
  found: readonly { readonly site: Site; readonly shape: Shape }[],
  typeOf: TypeOf,
): boolean {
  let isNew = false
  for (const { site, shape } of found) {
    const starts = known.get(site.unit.f) ?? new Map<number, Shape>()
    known.set(site.unit.f, starts)
    if (starts.has(site.start)) continue
    starts.set(site.start, typed(shape, typeOf))
    isNew = true
  }
  return isNew
}

/** Adds what a try has found of optional objects; whether something was new. */
export function learnOptionals(known: Map<unknown, Map<number, Optional>>, found: readonly FoundOptional[], typeOf: TypeOf): boolean {
  let isNew = false
  for (const { site, shape, absent } of found) {
    const starts = known.get(site.unit.f) ?? new Map<number, Optional>()
    known.set(site.unit.f, starts)
    const before = starts.get(site.start)
    const absents = new Set(before?.absents)
    if (absent !== undefined) absents.add(absent.value)
    // an object that seemed to be its parts may be one that other places hold too
    const isHeld = shape?.kind === 'list' && before?.shape?.kind !== 'list'
    const next: Optional = { absents, shape: (isHeld ? undefined : before?.shape) ?? (shape && typed(shape, typeOf)) }
    if (!isHeld && absents.size === (before?.absents.size ?? 0) && (next.shape === undefined) === (before?.shape === undefined)) continue
    starts.set(site.start, next)
    isNew ||= next.shape !== undefined && (absents.size > 0 || next.shape.kind === 'list')
  }
  return isNew
}

export function shapeOf(value: Value): Shape | undefined {
  switch (value.kind) {
    case 'expr':
      return { kind: 'scalar', of: value.expr }
    case 'tuple': {
      const items = value.items.map(shapeOf)
      return items.includes(undefined) ? undefined : { kind: 'items', items: items as Shape[] } // none is undefined
    }
    case 'record': {
      const fields = value.fields.map((field) => ({ name: field.name, shape: shapeOf(field.value) }))
      const { prototype } = value
      if (fields.some(({ shape }) => shape === undefined)) return undefined
      return { kind: 'fields', fields: fields as { name: string; shape: Shape }[], ...(prototype === undefined ? {} : { prototype }) } // none is undefined
    }
    case 'stored':
      return shapeOfStorage(value.storage)
    case 'held':
      return { kind: 'list', of: value.of }
    default:
      return undefined
  }
}

function shapeOfStorage(storage: Storage): Shape | undefined {
  switch (storage.kind) {
    case 'scalar':
      return { kind: 'scalar', of: { kind: 'Local', name: storage.local, span: NOWHERE } }
    case 'items': {
      const items = storage.items.map(shapeOfStorage)
      return items.includes(undefined) ? undefined : { kind: 'items', items: items as Shape[] } // none is undefined
    }
    case 'fields': {
      const fields = storage.fields.map((field) => ({ name: field.name, shape: shapeOfStorage(field.storage) }))
      const { prototype } = storage
      if (fields.some(({ shape }) => shape === undefined)) return undefined
      return { kind: 'fields', fields: fields as { name: string; shape: Shape }[], ...(prototype === undefined ? {} : { prototype }) } // none is undefined
    }
    case 'fixed':
      return shapeOf(storage.value)
    case 'optional':
      return undefined
  }
}

const NOWHERE: Span = { line: 0, column: 0, text: '' }

/** Returns the shape with a value for each scalar of the type that was given to it: nothing reads it, but it decides the local's type. */
export function typed(shape: Shape, typeOf: TypeOf): Shape {
  switch (shape.kind) {
    case 'scalar': {
      if (shape.of === undefined) return shape
      const found = typeOf(shape.of)
      const init: Primitive = found?.type.kind === 'bool' ? false : found?.type.kind === 'utf8' ? '' : found?.type.kind === 'i64' ? 0n : 0
      return { kind: 'scalar', init: found?.type.kind === 'null' && shape.of.kind === 'Literal' ? shape.of.value : init }
    }
    case 'items':
      return { kind: 'items', items: shape.items.map((item) => typed(item, typeOf)) }
    case 'fields':
      return { ...shape, fields: shape.fields.map((field) => ({ name: field.name, shape: typed(field.shape, typeOf) })) }
    case 'list':
      return shape
  }
}

/** Declares locals for an object of this shape that may be absent, and is so far. */
export function emptyOptional(l: Lowering, name: string, { absents, shape }: Optional & { readonly shape: Shape }, span: Span): Storage {
  const [absent] = absents
  const of = emptyOfShape(l, name, shape, span)
  const there = l.newName(`${name}_there`)
  l.emit({ kind: 'Let', local: there, init: literal(false, span), span })
  return { kind: 'optional', there, absent, of }
}

function emptyOfShape(l: Lowering, name: string, shape: Shape, span: Span): Storage {
  switch (shape.kind) {
    case 'scalar': {
      const local = l.newName(name)
      l.emit({ kind: 'Let', local, init: literal(shape.init ?? 0, span), span })
      return { kind: 'scalar', local }
    }
    case 'items':
      return { kind: 'items', items: shape.items.map((item, i) => emptyOfShape(l, `${name}_${i}`, item, span)) }
    case 'fields': {
      const { prototype } = shape
      const fields = shape.fields.map((field) => ({
        name: field.name,
        storage: emptyOfShape(l, `${name}_${plainName(field.name)}`, field.shape, span),
      }))
      return { kind: 'fields', fields, ...(prototype === undefined ? {} : { prototype }) }
    }
    case 'list': {
      const local = l.newName(name)
      l.emit({ kind: 'Let', local, init: literal(-1, span), span })
      return { kind: 'fixed', value: { kind: 'held', of: shape.of, number: { kind: 'Local', name: local, span } } }
    }
  }
}

/** An object that may be absent: the local that says whether it is there, what stands for it where it is not, and the object. */
export interface MaybeObject {
  readonly there: string
  readonly absent: null | undefined
  readonly value: Stored | Item
}

/** Returns what is known of an object that may be absent; undefined for other values. */
export function maybeOf(value: Value): MaybeObject | undefined {
  if (value.kind === 'maybeItem') return { there: value.there, absent: undefined, value: value.item }
  return isOptional(value) ? { there: value.storage.there, absent: value.storage.absent, value: presentOne(value) } : undefined
}

/** Returns whether the object is there, as an expression. */
export function thereIn({ storage: { there } }: MaybeStored, span: Span): Expr {
  return { kind: 'Local', name: there, span }
}

type Present<V> = V extends MaybeItem ? Item : V

/** Returns the object of which a part is asked; where it may be absent, emits what throws then. */
export function present<V extends Value>(l: Lowering, value: V, name: string, node: AnyNode): Present<V> {
  const maybe = maybeOf(value)
  if (maybe === undefined) return value as Present<V> // or it had been one that may be absent
  const { there, absent } = maybe
  if (l.knownThere.get(there) !== (l.loops.at(-1) ?? 'no loop')) {
    const span = l.span(node)
    const message = literal(`Cannot read properties of ${absent} (reading '${name}')`, span)
    const isAbsent = negated({ kind: 'Local', name: there, span }, span)
    l.emit(...makeIf(isAbsent, [{ kind: 'Throw', error: 'TypeError', message, span }], [], span))
  }
  return maybe.value as Present<V> // the object itself is of the same kind
}

/** Returns an object that is known to be there. */
export function presentOne(value: MaybeStored): Stored {
  return { ...value, storage: value.storage.of }
}

/** Runs `work`, which lowers what runs only where a test holds: objects for which it asks are there. */
export function whereThere<T>(l: Lowering, test: Expr | undefined, work: () => T): T {
  const here = l.loops.at(-1) ?? 'no loop'
  const found = (test === undefined ? [] : impliedBy(test)).filter((one) => l.knownThere.get(one) !== here)
  const before = new Map(found.map((one) => [one, l.knownThere.get(one)] as const))
  for (const one of found) l.knownThere.set(one, here)
  try {
    return work()
  } finally {
    for (const [one, was] of before) {
      // what was assigned meanwhile stays unknown
      if (was !== undefined && l.knownThere.has(one)) l.knownThere.set(one, was)
      else l.knownThere.delete(one)
    }
  }
}

/** Returns the locals that are true where a test holds. */
function impliedBy(test: Expr): readonly string[] {
  if (test.kind === 'Local') return [test.name]
  if (test.kind === 'Logical' && test.operator === '&&') return [...impliedBy(test.left), ...impliedBy(test.right)]
  return []
}

/** Lowers `object === null` and its like; undefined where no side is null or undefined, or the other no object. */
export function askedForAbsent(l: Lowering, operator: string, [a, b]: readonly (Value | undefined)[], node: AnyNode): Expr | undefined {
  if (a === undefined || b === undefined || !/^[!=]==?$/.test(operator)) return undefined
  const [absent, other] = absentLiteral(a) === undefined ? [absentLiteral(b), a] : [absentLiteral(a), b]
  if (absent === undefined || !/^(stored|item|maybeItem|held)$/.test(other.kind)) return undefined
  const span = l.span(node)
  const isStrict = operator.length === 3
  const isEqual = operator.startsWith('=')
  if (other.kind === 'held') {
    if (other.mayBeAbsent !== true) return literal(!isEqual, span)
    if (!isStrict) return binary(isEqual ? '<' : '>=', other.number, literal(0, span), span)
    return binary(isEqual ? '===' : '!==', other.number, literal(absent.value === null ? -2 : -1, span), span)
  }
  const maybe = maybeOf(other)
  if (maybe === undefined || (isStrict && maybe.absent !== absent.value)) return literal(!isEqual, span)
  const there: Expr = { kind: 'Local', name: maybe.there, span }
  return isEqual ? negated(there, span) : there
}
