/**
 * Objects that a loop's body makes of the program's classes: records that know their prototype.
 *
 *     class Complex { constructor(re, im) { this.re = re; this.im = im } times(o) { … } get length() { … } }
 *     new Complex(1, 2).times(z).length        { re: 1, im: 2 }, whose methods are written out with `this` as the record
 *
 * A constructor gives fields their values one after another; what it does besides is written out as it stands. Of a class that extends
 * another of the program, the constructor begins with `super(…)`, which is written out there. Private members are fields under names of
 * their own (`privateNames.ts`). What a constructor does with its object besides giving fields values, it does with variables for the fields
 * that there are by then.
 */
import type { AnyNode, CallExpression, Expression, MethodDefinition, NewExpression, Statement } from 'acorn'
import { elements } from '../lists/elements.ts'
import { written } from '../lists/literals.ts'
import { storedLiteral } from '../lists/stored.ts'
import { literal } from '../lower/build.ts'
import { inlineCall, withSelf } from '../lower/inline.ts'
import type { Lowering } from '../lower/lowering.ts'
import { type Data, exprValue, REFUSED, type Value, withThis } from '../lower/value.ts'
import { askedCall } from '../source/askedElements.ts'
import { type FunctionNode, isFunctionNode, someNode } from '../source/ast.ts'
import { type ClassSource, classSourceOf } from '../source/source.ts'
import { type AnyFunction, type Unit, unitOfNode } from '../unit.ts'
import { fromOutside } from './outside.ts'
import { classAround, isPrivate, methodsOf, noteMethod, plainName, privateName } from './privateNames.ts'
import { hasTraps } from './traps.ts'

type Instance = Value & { readonly kind: 'record' | 'stored' | 'held' }
type Closure = Value & { readonly kind: 'closure' }
type Made = Extract<Value, { readonly kind: 'record'; readonly fields: unknown }>

/** The fields and methods that a class gives its objects. */
interface ClassModel {
  /** Declared fields, with their initial values. */
  readonly fields: readonly { readonly name: string; readonly value: Expression | undefined }[]
  readonly source: Omit<ClassSource, 'node'>
  readonly unit: Unit
  readonly construct: FunctionNode | undefined
  readonly base: ClassModel | undefined
  /** Names of fields that it declares or assigns, and of getters and setters: its own, and those of the classes it extends. */
  readonly names: ReadonlySet<string>
  readonly accessors: ReadonlySet<string>
}

/** Lowers `new Complex(re, im)` of a class of the program; undefined for any other, and where the constructor cannot be written out. */
export function newInstance(l: Lowering, node: NewExpression): Value | undefined {
  if (l.context.kind !== 'loop' || !/^(Identifier|ThisExpression)$/.test(node.callee.type)) return undefined
  const name = l.takeName('object')
  const callee = l.verbs.value(l, node.callee)
  if (callee.kind === 'refused') return REFUSED
  if (callee.kind !== 'global' || typeof callee.value !== 'function' || hasTraps(callee.value)) return undefined
  const model = classOf(callee.value as AnyFunction)
  if (model === undefined) return undefined
  const args = elements(l, node.arguments)
  if (args === undefined) return REFUSED
  const made = new Map<string, Value>()
  const record = (): Made => ({
    kind: 'record',
    fields: [...made].map(([name, value]) => ({ name, value })),
    prototype: model.unit.f.prototype as object,
  })
  let stored: Value | undefined
  const store = (): void => {
    const site = { unit: l.unit, start: node.start }
    l.objectSites.add(site)
    stored ??= storedLiteral(l, name, { ...record(), site }, node)
  }
  const refusals = l.refusals.length
  const isWhole = construct(l, model, args, { made, self: () => stored ?? record(), store, isStored: () => stored !== undefined }, node)
  if (isWhole) return stored ?? written(l, name, record(), node)
  return l.refusals.length > refusals ? REFUSED : undefined
}

/** An object being made: its fields so far, with `self` as the object; from `store` on, fields are local variables. */
interface Making {
  readonly made: Map<string, Value>
  readonly self: () => Value
  readonly store: () => void
  readonly isStored: () => boolean
}

/** Lowers the constructor; false where some of it cannot be written out. */
function construct(l: Lowering, model: ClassModel, given: readonly Value[], making: Making, node: AnyNode): boolean {
  const { fields, source, unit, construct: f, base } = model
  const { made, self } = making
  const args = given.map((value) => (value.kind === 'stored' ? value : l.stabilizedValue(value)))
  let isWhole = true
  const declare = (): void => {
    for (const { name, value } of fields) {
      if (making.isStored()) isWhole = false
      const given = value === undefined ? exprValue(literal(undefined, l.span(node))) : initialValue(l, { unit, source, self }, value)
      if (given.kind === 'refused') isWhole = false
      made.set(name, given.kind === 'stored' ? given : l.stabilizedValue(given))
    }
  }
  l.units.set(unit.node, unit)
  if (f === undefined) {
    isWhole = base === undefined || construct(l, base, args, making, node)
    declare()
    return isWhole
  }
  const statement = (one: Statement): void => {
    const field = fieldGiven(unit.f, one)
    const isNext = field !== undefined && !making.isStored() && !namesSelf(field.value) && !assignsSelf(field.value)
    if (!isNext) {
      if (namesSelf(one, { asObject: true })) making.store()
      l.verbs.statements(l, [one])
      return
    }
    const value = l.verbs.value(l, field.value)
    if (value.kind === 'refused') isWhole = false
    made.set(field.name, value.kind === 'stored' ? value : l.stabilizedValue(value))
  }
  withSelf(l, { unit, node: f, self }, args, () => {
    const [called, statements] = bodyOf(f, base !== undefined)
    const handed = called && elements(l, called.arguments)
    if (base !== undefined) isWhole = handed !== undefined && construct(l, base, handed, making, node)
    declare()
    if (isWhole) for (const one of statements) statement(one)
  })
  return isWhole
}

/** Lowers the initial value of a declared field. */
function initialValue(
  l: Lowering,
  { unit, source, self }: Pick<ClassModel, 'unit' | 'source'> & Pick<Making, 'self'>,
  value: Expression,
): Value {
  const body = { type: 'BlockStatement', body: [{ type: 'ReturnStatement', argument: value }], start: value.start, end: value.end }
  const own = unitOfNode(unit.f, { ...source, node: { ...EMPTY, body, start: value.start, end: value.end } as unknown as FunctionNode })
  const [statement] = (own.node.body as unknown as { readonly body: readonly { readonly argument: Expression }[] }).body // as just made
  let given: Value = REFUSED
  l.units.set(own.node, own)
  withSelf(l, { unit: own, node: own.node, self }, [], () => {
    if (statement !== undefined) given = l.verbs.value(l, statement.argument)
  })
  return given
}

/** Returns the statements of a constructor, without the call of `super` that it begins with where its class extends another. */
function bodyOf({ body }: FunctionNode, extends_: boolean): readonly [CallExpression | undefined, readonly Statement[]] {
  const statements = body.type === 'BlockStatement' ? (body.body as Statement[]) : []
  const [first, ...rest] = statements
  if (!extends_) return [undefined, statements]
  return first !== undefined && isSuperCall(first) ? [first.expression, rest] : [undefined, statements]
}

function isSuperCall(one: AnyNode): one is AnyNode & { readonly expression: CallExpression } {
  return one.type === 'ExpressionStatement' && one.expression.type === 'CallExpression' && one.expression.callee.type === 'Super'
}

/** Returns the field and value of `this.name = value`; undefined for other statements. */
function fieldGiven(of: AnyFunction, one: Statement) {
  const assignment = one.type === 'ExpressionStatement' ? one.expression : undefined
  if (assignment?.type !== 'AssignmentExpression' || assignment.operator !== '=' || !isOwnField(assignment.left)) return undefined
  return { name: nameOf(of, assignment.left.property), value: assignment.right }
}

function isOwnField(node: AnyNode): node is AnyNode & { readonly property: AnyNode & { readonly name: string } } {
  return node.type === 'MemberExpression' && node.object.type === 'ThisExpression' && !node.computed
}

/** Returns the name that a member has in records. */
function nameOf(of: AnyFunction, key: AnyNode & { readonly name: string }): string {
  return key.type === 'PrivateIdentifier' ? privateName(of, key.name) : key.name
}

/** Returns the model of a class, or undefined where it cannot be written out; what a class captures may change from run to run. */
function classOf(f: AnyFunction): ClassModel | undefined {
  const source = classSourceOf(f)
  return source === undefined ? undefined : modelOf(f, source)
}

function modelOf(f: AnyFunction, { node, ...source }: ClassSource): ClassModel | undefined {
  const fields: { readonly name: string; readonly value: Expression | undefined }[] = []
  const accessors = new Set<string>()
  let construct: FunctionNode | undefined
  const base = node.superClass == null ? undefined : baseOf(f)
  if (node.superClass != null && base === undefined) return undefined
  for (const member of node.body.body) {
    if (member.type === 'StaticBlock' || member.static) continue
    const { key } = member
    if ((key.type !== 'Identifier' && key.type !== 'PrivateIdentifier') || member.computed) return undefined
    if (member.type === 'PropertyDefinition') {
      const value = member.value ?? undefined
      if (value !== undefined && (namesSelf(value) || assignsSelf(value))) return undefined
      fields.push({ name: nameOf(f, key), value })
    } else if (member.kind === 'get' || member.kind === 'set') accessors.add(nameOf(f, key))
    else if (member.kind === 'constructor') construct = isFunctionNode(member.value) ? member.value : undefined
  }
  if (construct !== undefined && !isStraight(construct, base !== undefined)) return undefined
  // A name with a getter or a setter is no field, unless it is declared as one; nor is a prototype.
  const isField = (name: string): boolean => name !== '__proto__' && (!accessors.has(name) || fields.some((field) => field.name === name))
  const given = namesGiven(f, construct)
  if (given.some((name) => isPrivate(name) && !fields.some((field) => field.name === name))) return undefined
  const names = [...fields.map(({ name }) => name), ...given]
  if (!names.every(isField)) return undefined
  const meets =
    base !== undefined && (names.some((name) => base.accessors.has(name)) || [...accessors].some((name) => base.names.has(name)))
  if (meets) return undefined
  const unit = unitOfNode(f, { ...source, node: construct ?? EMPTY })
  const all = { names: new Set([...names, ...(base?.names ?? [])]), accessors: new Set([...accessors, ...(base?.accessors ?? [])]) }
  return { fields, source, unit, construct, base, ...all }
}

/** Returns the model of the class that a class extends now; undefined where it is none of the program, or cannot be written out. */
function baseOf(f: AnyFunction): ClassModel | undefined {
  const base: unknown = Object.getPrototypeOf(f)
  return typeof base === 'function' && !hasTraps(base) ? classOf(base as AnyFunction) : undefined
}

/** Returns the fields that the constructor assigns. */
function namesGiven(of: AnyFunction, construct: FunctionNode | undefined): readonly string[] {
  const statements = construct?.body.type === 'BlockStatement' ? construct.body.body : []
  return statements.flatMap((one) => fieldGiven(of, one as Statement)?.name ?? [])
}

/** The empty constructor of a class without one of its own, which captures nothing. */
const EMPTY: FunctionNode = {
  type: 'FunctionExpression',
  params: [],
  body: { type: 'BlockStatement', body: [], start: 0, end: 0 },
  async: false,
  generator: false,
  expression: false,
  start: 0,
  end: 0,
} as unknown as FunctionNode // the properties that are read of it

/** Whether a constructor makes this object and no other, and calls that of its base class first of all. */
function isStraight(f: FunctionNode, extends_: boolean): boolean {
  const [called] = bodyOf(f, extends_)
  if (f.body.type !== 'BlockStatement' || (called !== undefined) !== extends_ || returns(f.body)) return false
  return called === undefined || !namesSelf(called, { asObject: true })
}

function returns(node: AnyNode): boolean {
  return someNode(node, ({ type }) => type === 'ReturnStatement', { intoFunctions: false })
}

function assignsSelf(node: AnyNode): boolean {
  const assigns = (one: AnyNode): boolean =>
    (one.type === 'AssignmentExpression' && isOwnField(one.left)) || (one.type === 'UpdateExpression' && isOwnField(one.argument))
  return someNode(node, assigns, { intoFunctions: true })
}

/** Whether `this` occurs as an object of its own, other than in `this.name`; with `asObject`, whether it occurs at all. */
function namesSelf(node: AnyNode, { asObject = false }: { readonly asObject?: boolean } = {}): boolean {
  let [all, objects] = [0, 0]
  const count = (one: AnyNode): boolean => {
    if (one.type === 'ThisExpression') all++
    if (isOwnField(one)) objects++
    return false
  }
  someNode(node, count, { intoFunctions: true })
  return asObject ? all > 0 : all > objects
}

/** Lowers what an object inherits: a method or a getter's value; undefined where its class has no such member. */
export function inherited(l: Lowering, object: Instance | Data, name: string, node: AnyNode): Value | undefined {
  if (object.kind === 'data') return capturedGetter(l, object, name, node)
  if (isPrivate(name)) return privateMember(l, object, name, node)
  const own = memberOf(prototypeOf(l, object), name)
  if (own === undefined || name === 'constructor') return undefined
  const f = own.get ?? (own.value as unknown)
  const closure = typeof f === 'function' ? fromOutside(l, f, name, 'capture', node) : REFUSED
  if (closure.kind !== 'closure') return l.refuse('unknown-method', node, name)
  noteMethod(l, closure.unit, own.of.constructor, name)
  const method = { ...closure, self: object }
  return own.get === undefined ? method : inlineCall(l, askedCall(l, method, node), [], node)
}

/** Lowers `super.name` in a method: a method, or a getter's value, of the class that the method's own extends; undefined elsewhere. */
export function superMember(
  l: Lowering,
  self: Value | undefined,
  { name, node }: { readonly name: string; readonly node: AnyNode },
): Value | undefined {
  const of = classAround(l, l.unit)
  const isObject = self?.kind === 'record' || self?.kind === 'stored' || self?.kind === 'held' || self?.kind === 'data'
  if (!isObject || of === undefined || !isOfMethod(l.unit.node, node)) return undefined
  const own = memberOf(Object.getPrototypeOf(of.prototype) as object, name)
  const f = own?.get ?? (own?.value as unknown)
  const closure = typeof f === 'function' ? fromOutside(l, f, name, 'capture', node) : undefined
  if (own === undefined || closure?.kind !== 'closure') return undefined
  noteMethod(l, closure.unit, own.of.constructor, name)
  const method = { ...closure, self }
  return own.get === undefined ? method : inlineCall(l, askedCall(l, method, node), [], node)
}

/** Whether a node stands in a method itself, or in its arrow functions: other functions in it have a `super` of their own. */
function isOfMethod(method: AnyNode, { start }: AnyNode): boolean {
  const isAround = (one: AnyNode): boolean =>
    one !== method && isFunctionNode(one) && one.type !== 'ArrowFunctionExpression' && one.start <= start && start < one.end
  return !someNode(method, isAround, { intoFunctions: true })
}

/** Lowers the value of a getter of a captured object's class; undefined where no class of the program has it. */
function capturedGetter(l: Lowering, object: Data, name: string, node: AnyNode): Value | undefined {
  const own = memberOf(Object.getPrototypeOf(object.value) as object, name)
  const closure = own?.get === undefined ? undefined : fromOutside(l, own.get, `${object.name}.${name}`, object.origin, node)
  if (closure?.kind !== 'closure') return undefined
  noteMethod(l, closure.unit, own?.of.constructor, name)
  return inlineCall(l, askedCall(l, { ...closure, self: object }, node), [], node)
}

/** Lowers a private method, or the value of a private getter; undefined where there is neither. */
function privateMember(l: Lowering, object: Instance, name: string, node: AnyNode): Value | undefined {
  const [get, method] = [privateMethod(l, object, name, 'get'), privateMethod(l, object, name, 'method')]
  return get === undefined ? method : inlineCall(l, askedCall(l, get, node), [], node)
}

/** Returns a private member in the text of the class being written out, if `object` is of it; undefined otherwise. */
function privateMethod(l: Lowering, object: Instance, name: string, kind: MethodDefinition['kind']): Closure | undefined {
  const of = classAround(l, l.unit)
  const source = of && classSourceOf(of)
  if (of === undefined || source === undefined || !isOf(l, object, of)) return undefined
  const found = methodsOf(source.node).find((one) => !one.static && one.kind === kind && isNamed(of, one, name))
  if (found === undefined) return undefined
  const { node: _, ...places } = source
  const unit = unitOfNode(of, { ...places, node: found.value })
  l.units.set(found, unit)
  return { kind: 'closure', unit, node: unit.node, name: plainName(name), self: object }
}

function isNamed(of: AnyFunction, { key, computed }: MethodDefinition, name: string): boolean {
  return !computed && (key.type === 'Identifier' || key.type === 'PrivateIdentifier') && nameOf(of, key) === name
}

/** Whether the object was made by the class, or by one that extends it. */
function isOf(l: Lowering, object: Instance, of: AnyFunction): boolean {
  const prototype = prototypeOf(l, object)
  return prototype !== undefined && (prototype === of.prototype || Object.prototype.isPrototypeOf.call(of.prototype as object, prototype))
}

/** Returns the setter of a name, with the object as `this`; undefined where there is none. */
export function setterOf(l: Lowering, object: Instance, name: string, node: AnyNode): Closure | undefined {
  if (isPrivate(name)) return privateMethod(l, object, name, 'set')
  const own = memberOf(prototypeOf(l, object), name)
  const closure = own?.set === undefined ? undefined : fromOutside(l, own.set, name, 'capture', node)
  if (closure?.kind !== 'closure') return undefined
  noteMethod(l, closure.unit, own?.of.constructor, name)
  return { ...closure, self: object }
}

/** Returns a static method of a class of the program, or of those that it extends; undefined for anything else. */
export function staticMethod(l: Lowering, object: Value & { kind: 'global' }, name: string, node: AnyNode): Value | undefined {
  for (let of = object.value; typeof of === 'function' && !hasTraps(of); of = Object.getPrototypeOf(of)) {
    if (classSourceOf(of as AnyFunction) === undefined) return undefined
    const own = Object.getOwnPropertyDescriptor(of, name)
    if (own === undefined) continue
    const method = typeof own.value === 'function' ? fromOutside(l, own.value, name, 'capture', node) : undefined
    if (method?.kind === 'closure') noteMethod(l, method.unit, of, name)
    return method?.kind === 'closure' ? withThis(method, object) : method
  }
  return undefined
}

/** Returns a method of a captured object's class, with the object as `this`; undefined where no class of the user has it. */
export function methodOf(l: Lowering, object: Data, name: string, node: AnyNode): Value | undefined {
  for (let at: unknown = Object.getPrototypeOf(object.value); typeof at === 'object' && at !== null; at = Object.getPrototypeOf(at)) {
    if (hasTraps(at)) return undefined
    const own = Object.getOwnPropertyDescriptor(at, name)
    if (own === undefined) continue
    if (typeof own.value !== 'function') return undefined
    const f = fromOutside(l, own.value, `${object.name}.${name}`, object.origin, node)
    if (f.kind !== 'closure') return undefined
    noteMethod(l, f.unit, at.constructor, name)
    return { ...f, self: object }
  }
  return undefined
}

/** Returns a member of a class or of those it extends; undefined for others, as those that all objects have. */
function memberOf(prototype: object | undefined, name: string): (PropertyDescriptor & { readonly of: object }) | undefined {
  if (hasTraps(prototype)) return undefined
  for (let one = prototype ?? null; one !== null && one !== Object.prototype; one = Object.getPrototypeOf(one) as object | null) {
    const own = Object.getOwnPropertyDescriptor(one, name)
    if (own !== undefined) return { ...own, of: one }
  }
  return undefined
}

export function prototypeOf(l: Lowering, object: Instance): object | undefined {
  if (object.kind === 'held') {
    const shape = l.held.elementOf(object.of)
    return shape?.kind === 'fields' ? shape.prototype : undefined
  }
  if (object.kind === 'record') return object.prototype
  return object.storage.kind === 'fields' ? object.storage.prototype : undefined
}
