/**
 * Objects and arrays that a function makes and then changes, or that a variable holds one after another: each field is a
 * local of its own (scalar replacement of aggregates).
 *
 *     let z = { re: 0, im: 0 }                             let z_re = 0; let z_im = 0
 *     z = { re: z.re * z.re, im: 2 * z.im }      -->       let temp = z_re * z_re; let temp$1 = 2 * z_im
 *                                                          z_re = temp; z_im = temp$1
 *
 * A literal that a constant holds is its locals: whoever has the object has the same locals, so that a change is seen under
 * every name. A variable that is assigned again has locals of its own, to which fields are copied. Copying is exact while
 * nobody can tell the copy from the object itself: where an object is copied and then changed, the body is refused by name.
 */
import type { AnyNode } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { plainName } from '../captures/privateNames.ts'
import { hasTraps } from '../captures/traps.ts'
import { conditional, literal } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import { holdsLiteral } from '../lower/loweringParts.ts'
import { exprValue, type Owner, REFUSED, type Site, type Storage, type Stored, type Value } from '../lower/value.ts'
import { refusalOf } from '../refusals.ts'
import { noteAliased, noteElements, noteLinked } from './held/aliases.ts'
import { absentLiteral, emptyOptional, isOptional, noteOptional, optionalAt, presentOne, thereIn } from './optionals.ts'

export function ownerOf(l: Lowering, name: string, node: AnyNode, { isVariable, site }: Pick<Owner, 'isVariable' | 'site'>): Owner {
  const nothing = { changed: undefined, copied: undefined }
  const flags = { hasChangedScalars: false, isCopiedAgain: false, isShared: false, hasNamedParts: false, hasReplacedParts: false }
  return { name, span: l.span(node), isVariable, site, isResult: false, isNamed: false, loops: [...l.loops], ...nothing, ...flags }
}

/** Makes locals for the object of a literal whose parts are assigned later. */
export function storedLiteral(l: Lowering, name: string, value: Value & { readonly site: Site }, node: AnyNode): Value {
  const storage = newStorage(l, name, value, { node, owner: undefined })
  if (storage === undefined) return REFUSED
  return {
    kind: 'stored',
    storage,
    owner: ownerOf(l, name, node, { isVariable: false, site: value.site }),
    isPart: false,
    site: value.site,
  }
}

/** Makes a variable that holds objects like this one; undefined, without a refusal, for other values. */
export function storedVariable(l: Lowering, name: string, given: Value, node: AnyNode): Value | undefined {
  const value = takenApart(l, given)
  if (value.kind !== 'tuple' && value.kind !== 'record' && value.kind !== 'stored') return undefined
  const owner = ownerOf(l, name, node, { isVariable: true, site: value.site })
  if (given.kind === 'expr') owner.isShared = l.choosesNamed
  if (value.kind === 'record' && value.elementOf !== undefined) owner.elementOf = value.elementOf
  const storage = newStorage(l, name, value, { node, owner })
  if (storage === undefined) {
    noteLinked(l, value)
    return REFUSED
  }
  return { kind: 'stored', storage, owner, isPart: false, ...(value.site === undefined ? {} : { site: value.site }) }
}

/** Makes a variable that holds an object or nothing, as an earlier try has found; undefined for others. */
export function optionalVariable(l: Lowering, name: string, value: Value, declared: Site, node: AnyNode): Value | undefined {
  const found = optionalAt(l, declared)
  if (found === undefined) return undefined
  const owner = { ...ownerOf(l, name, node, { isVariable: true, site: value.kind === 'stored' ? value.site : undefined }), declared }
  const stored: Stored = { kind: 'stored', storage: emptyOptional(l, name, found, l.span(node)), owner, isPart: false }
  storeParts(l, stored, value, node)
  return stored
}

interface How {
  readonly node: AnyNode
  /** The owner to which parts that are no scalars are copied; undefined where they stay what they are. */
  readonly owner: Owner | undefined
}

/** Declares locals for the parts of a value, with what they hold now; undefined where a part is refused. */
function newStorage(l: Lowering, name: string, value: Value, how: How): Storage | undefined {
  const { owner } = how
  if (owner === undefined && value.kind === 'stored' && !value.owner.isNamed) return value.storage
  if (owner === undefined && isNamed(value)) return { kind: 'fixed', value: l.stabilizedValue(value) }
  if (owner !== undefined) noteShared(l, owner, value, l.span(how.node))
  if (isOptional(value)) {
    const of = newStorage(l, name, presentOne(value), how)
    const there = l.newName(`${name}_there`)
    const span = l.span(how.node)
    l.emit({ kind: 'Let', local: there, init: thereIn(value, span), span })
    return of && { ...value.storage, there, of }
  }
  const whole = value.kind === 'stored' ? partsOf(value, l.span(how.node)) : value
  switch (whole.kind) {
    case 'expr': {
      const init = l.scalarOrNothing(whole, how.node)
      if (init === undefined) return undefined
      const local = l.newName(name)
      l.emit({ kind: 'Let', local, init, span: l.span(how.node) })
      return { kind: 'scalar', local }
    }
    case 'tuple': {
      const items = whole.items.map((item, i) => newStorage(l, `${name}_${i}`, item, how))
      return items.includes(undefined) ? undefined : { kind: 'items', items: items as Storage[] } // none is undefined
    }
    case 'record': {
      const fields = whole.fields.map((field) => ({
        name: field.name,
        storage: newStorage(l, `${name}_${plainName(field.name)}`, field.value, how),
      }))
      if (fields.some((field) => field.storage === undefined)) return undefined
      return { kind: 'fields', fields: fields as { name: string; storage: Storage }[], ...ofClass(whole) } // none is undefined
    }
    case 'refused':
      return undefined
    default:
      if (owner === undefined) return { kind: 'fixed', value: l.stabilizedValue(whole) }
      l.refuse('reassigns-value', how.node, name)
      return undefined
  }
}

/** Copies the parts of a value: all are evaluated before the first is assigned, since they may read what is assigned. */
export function storeParts(l: Lowering, to: Stored, given: Value, node: AnyNode): void {
  const value = takenApart(l, given)
  if (value.kind === 'refused') return
  if (given.kind === 'expr' && l.choosesNamed) to.owner.isShared = true
  to.owner.assigned = l.now()
  if (value.kind === 'record' && value.elementOf !== undefined) to.owner.elementOf = value.elementOf
  const span = l.span(node)
  const pairs: { readonly local: string; readonly value: Expr }[] = []
  if (!matched(l, to, value, span, pairs)) {
    noteLinked(l, value)
    if (value.kind === 'view' && to.site !== undefined) {
      l.foundIndexed.push(to.site)
      if (l.sizes.has(value.array)) l.foundGrowing.push({ site: to.site, count: Number.POSITIVE_INFINITY })
    }
    const isOtherLength = value.kind === 'tuple' && to.storage.kind === 'items' && value.items.length !== to.storage.items.length
    if (isOtherLength && to.site !== undefined) l.foundGrowing.push({ site: to.site, count: Number.POSITIVE_INFINITY })
    const absent = absentLiteral(value) ?? (isOptional(value) ? { value: value.storage.absent } : undefined)
    const isNew = absent !== undefined && to.storage.kind !== 'optional'
    if (isNew && !to.isPart && to.owner.declared !== undefined) for (const one of [to, value]) noteOptional(l, to.owner.declared, one)
    if (absent !== undefined && to.storage.kind === 'optional' && absent.value !== to.storage.absent)
      l.refuse('absent-differs', node, to.owner.name)
    else if (to.owner.isResult) l.refuse('objects-differ', node)
    else l.refuse('reassigns-value', node, to.owner.name)
    return
  }
  const only = pairs.length === 1
  const kept = pairs.map((pair) => ({ ...pair, value: only ? pair.value : l.stabilized(pair.value) }))
  for (const pair of kept) l.emit({ kind: 'Assign', ...pair, span })
}

/** Whether a value has the parts that the storage has, in this order, all of them scalars in the end; `pairs` gets these. */
function matched(
  l: Lowering,
  { storage, owner }: Pick<Stored, 'storage' | 'owner'>,
  given: Value,
  span: Span,
  pairs: { local: string; value: Expr }[],
): boolean {
  if (storage.kind === 'optional') {
    const there =
      absentLiteral(given) === undefined ? (isOptional(given) ? thereIn(given, span) : literal(true, span)) : literal(false, span)
    const absent = isOptional(given) ? { value: given.storage.absent } : absentLiteral(given)
    if (absent !== undefined && absent.value !== storage.absent) return false
    l.knownThere.delete(storage.there)
    pairs.push({ local: storage.there, value: there })
    const held = isOptional(given) ? presentOne(given) : given
    return absentLiteral(given) !== undefined || matched(l, { storage: storage.of, owner }, held, span, pairs)
  }
  noteShared(l, owner, given, span)
  const value = given.kind === 'stored' && !isOptional(given) ? partsOf(given, span) : given
  switch (storage.kind) {
    case 'scalar':
      if (value.kind !== 'expr' || holdsLiteral(value.expr)) return false
      pairs.push({ local: storage.local, value: value.expr })
      return true
    case 'items':
      return (
        value.kind === 'tuple' &&
        value.items.length === storage.items.length &&
        storage.items.every((item, i) => matched(l, { storage: item, owner }, value.items[i] ?? REFUSED, span, pairs))
      )
    case 'fields':
      return (
        value.kind === 'record' &&
        value.prototype === storage.prototype &&
        value.fields.length === storage.fields.length &&
        storage.fields.every((field, i) => {
          const given = value.fields[i]
          return given?.name === field.name && matched(l, { storage: field.storage, owner }, given.value, span, pairs)
        })
      )
    case 'fixed':
      return false
  }
}

/** Returns the storage of a part by name; undefined where there is none. */
export function storedPart({ storage }: Stored, name: string): Storage | undefined {
  if (storage.kind === 'fields') return storage.fields.find((one) => one.name === name)?.storage
  return storage.kind === 'items' ? storage.items[Number(name)] : undefined
}

export function ofClass({ prototype }: { readonly prototype?: object }): { readonly prototype?: object } {
  return prototype === undefined ? {} : { prototype }
}

/** Returns what a part holds; undefined where there is none of this name. */
export function partOf(of: Stored, name: string, span: Span): Value | undefined {
  const part = storedPart(of, name)
  return part === undefined ? undefined : heldIn(of, part, span)
}

function heldIn({ owner }: Stored, storage: Storage, span: Span): Value {
  if (storage.kind === 'scalar') return exprValue({ kind: 'Local', name: storage.local, span })
  return storage.kind === 'fixed' ? storage.value : { kind: 'stored', storage, owner, isPart: true }
}

/** Returns what the object or array holds now, as a literal of its parts. */
export function partsOf(of: Stored, span: Span): Value {
  const { storage } = of
  if (storage.kind === 'items') return { kind: 'tuple', items: storage.items.map((item) => heldIn(of, item, span)) }
  if (storage.kind === 'fields') {
    const fields = storage.fields.map((field) => ({ name: field.name, value: heldIn(of, field.storage, span) }))
    return { kind: 'record', fields, ...ofClass(storage) }
  }
  return heldIn(of, storage, span)
}

/** Notes that a variable is given what an object holds, where JavaScript would give it the object. */
function noteShared(l: Lowering, to: Owner, from: Value, span: Span): void {
  if (from.kind === 'stored') {
    noteCopy(l, from, span)
    // The result of a function is made for its caller.
    if (!from.owner.isResult || from.owner.isShared) to.isShared = true
  } else if (isNamed(from)) to.isShared = true
  checkCopies(l, to, span)
}

/** Whether a variable stands for an object or array. */
export function isNamed(value: Value): boolean {
  return value.kind === 'stored' ? value.owner.isNamed : (value.kind === 'tuple' || value.kind === 'record') && value.isNamed === true
}

/** Whether another variable may have the object, or one inside it. */
export function holdsNamed(value: Value): boolean {
  if (value.kind === 'stored' || value.kind === 'item' || isCaptured(value)) return true
  if (value.kind === 'tuple') return value.isNamed === true || value.items.some(holdsNamed)
  return value.kind === 'record' && (value.isNamed === true || value.fields.some((field) => holdsNamed(field.value)))
}

/** Returns the value with the note that it has a name: from then on others may have the object too. */
export function named(value: Value): Value {
  switch (value.kind) {
    case 'stored':
      value.owner.isNamed = true
      return value
    case 'tuple':
      return { ...value, items: value.items.map(named), isNamed: true }
    case 'record':
      return { ...value, fields: value.fields.map((field) => ({ ...field, value: named(field.value) })), isNamed: true }
    default:
      return value
  }
}

/** Notes that what an object holds now goes on under another name. */
export function noteCopy(l: Lowering, { owner }: Stored, span: Span): void {
  owner.copied ??= l.now()
  if (l.loops.length !== owner.loops.length) owner.isCopiedAgain = true
  checkCopies(l, owner, span)
}

/** Notes that a field that is a scalar is assigned. */
export function noteChange(l: Lowering, owner: Owner, span: Span): void {
  owner.hasChangedScalars = true
  owner.changed = l.now()
  checkCopies(l, owner, span)
}

/** Notes that a part that is an object becomes another. */
export function noteReplaced(l: Lowering, owner: Owner, span: Span): void {
  owner.hasReplacedParts = true
  owner.changed = l.now()
  checkCopies(l, owner, span)
  checkParts(l, owner, span)
  noteReassigned(l, owner, span)
}

/** Refuses to replace an object that a function was given, since that function may still read it under its own name. */
export function noteReassigned(l: Lowering, owner: Owner, span: Span): void {
  if (l.lent.includes(owner) || l.keptByFunctions.has(owner)) refuseAlias(l, span, owner)
}

function checkCopies(l: Lowering, owner: Owner, span: Span): void {
  const { isVariable, changed, copied, isCopiedAgain, isShared, hasChangedScalars } = owner
  const isSeen = copied !== undefined && changed !== undefined && (isVariable || isCopiedAgain || changed > copied)
  if (isSeen || (isShared && hasChangedScalars)) refuseAlias(l, span, owner)
}

export function checkParts(l: Lowering, owner: Owner, span: Span): void {
  if (owner.hasNamedParts && owner.hasReplacedParts) refuseAlias(l, span, owner)
}

/** Refuses an alias in this try; in the next one an array of numbers lies in memory, where changes are seen under every name. */
function refuseAlias(l: Lowering, span: Span, { name, site, elementOf }: Owner): void {
  if (elementOf !== undefined) noteElements(l, elementOf)
  if (site !== undefined) noteAliased(l, site)
  l.refuseWith(refusalOf('aliased-object', span, name))
}

/** Returns an object or array that only an expression holds so far as its parts; anything else unchanged. */
export function takenApart(l: Lowering, value: Value): Value {
  if (value.kind === 'item') return l.verbs.itemParts(l, value, value.place.span)
  if (isCaptured(value)) return capturedParts(l, value, [])
  if (value.kind !== 'expr' || !holdsLiteral(value.expr)) return value
  return apart(l, value.expr) ?? value
}

/** Returns a captured object as its fields; it has a name, so that no copy of it is changed. One that holds itself stays an object. */
function capturedParts(l: Lowering, of: Captured, above: readonly object[]): Value {
  if (of.kind === 'data' && above.includes(of.value)) return of
  const around = of.kind === 'data' ? [...above, of.value] : above
  const names = of.kind === 'data' ? Object.keys(of.value) : [...of.tables.keys()]
  const fields = names.map((name) => {
    const value = l.verbs.member(l, of, name, l.unit.node)
    return { name, value: isCaptured(value) ? capturedParts(l, value, around) : takenApart(l, value) }
  })
  return { kind: 'record', fields, isNamed: true }
}

type Captured = Value & { readonly kind: 'data' | 'recordRow' }

/** Whether a value is a captured object, which is there, and whose fields are known. */
function isCaptured(value: Value): value is Captured {
  if (value.kind === 'recordRow') return value.absent === undefined
  if (value.kind !== 'data' || hasTraps(value.value) || Object.getPrototypeOf(value.value) !== Object.prototype) return false
  return Reflect.ownKeys(value.value).every((name) => typeof name === 'string' && !/^(__proto__|\d+)$/.test(name))
}

function apart(l: Lowering, expr: Expr): Value | undefined {
  if (expr.kind === 'ArrayLiteral') return { kind: 'tuple', items: expr.items.map((item) => takenApart(l, exprValue(item))) }
  if (expr.kind === 'ObjectLiteral')
    return { kind: 'record', fields: expr.fields.map(({ name, value }) => ({ name, value: takenApart(l, exprValue(value)) })) }
  if (expr.kind !== 'Conditional') return exprValue(expr)
  const test = l.stabilized(expr.test)
  const [then, other] = [apart(l, expr.then), apart(l, expr.else)]
  return then === undefined || other === undefined ? undefined : chosen(test, then, other)
}

/** Returns `test ? a : b`, part by part; undefined where they differ in their parts. */
function chosen(test: Expr, a: Value, b: Value): Value | undefined {
  if (a.kind === 'expr' && b.kind === 'expr') return exprValue(conditional(test, a.expr, b.expr, test.span))
  if (a.kind === 'tuple' && b.kind === 'tuple' && a.items.length === b.items.length) {
    const items = a.items.map((item, i) => chosen(test, item, b.items[i] ?? REFUSED))
    return items.includes(undefined) ? undefined : { kind: 'tuple', items: items as Value[] } // none is undefined
  }
  if (a.kind !== 'record' || b.kind !== 'record' || a.fields.length !== b.fields.length || a.prototype !== b.prototype) return undefined
  const fields = a.fields.map((field, i) => {
    const other = b.fields[i]
    return { name: field.name, value: other?.name === field.name ? chosen(test, field.value, other.value) : undefined }
  })
  return fields.some((field) => field.value === undefined)
    ? undefined
    : { kind: 'record', fields: fields as { name: string; value: Value }[], ...ofClass(a) } // none is undefined
}

/** Whether a value is an object, or an array that the function made. */
export const isObject = (value: Value): boolean => isAggregate(value) || isCaptured(value)

/** Whether a value is an object or array that the function made. */
export function isAggregate(value: Value): boolean {
  if (value.kind === 'expr') return holdsLiteral(value.expr)
  return value.kind === 'tuple' || value.kind === 'record' || value.kind === 'stored' || value.kind === 'item'
}
