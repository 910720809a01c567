/**
 * Objects that a loop's body makes of the program's classes: records that know their prototype.
 *
 *     class Complex { constructor(re, im) { this.re = re; this.im = im } times(o) { … } get length() { … } }
 *     new Complex(1, 2).times(z).length        { re: 1, im: 2 }, whose methods are written out with `this` as the record
 *
 * A constructor gives fields their values one after another; what it does besides is written out as it stands. Of a class that extends
 * another of the program, the constructor begins with `super(…)`, which is written out there. Classes that have private members or setters,
 * or give a field its value in a branch, are left to JavaScript.
 */
import type { AnyNode, CallExpression, NewExpression, Statement } from 'acorn'
import { written } from '../lists/literals.ts'
import { literal } from '../lower/build.ts'
import { elements } from '../lower/elements.ts'
import { inlineCall, withSelf } from '../lower/inline.ts'
import type { Lowering } from '../lower/lowering.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'
import { type FunctionNode, isFunctionNode, someNode } from '../source/ast.ts'
import { type ClassSource, classSourceOf } from '../source/source.ts'
import { type AnyFunction, type Unit, unitOfNode } from '../unit.ts'
import { fromOutside } from './outside.ts'
import { hasTraps } from './traps.ts'

type Instance = Value & { readonly kind: 'record' | 'stored' }
type Made = Extract<Value, { readonly kind: 'record'; readonly fields: unknown }>

/** What a class gives its objects. */
interface ClassModel {
  /** Fields that are declared, with what they are given where they are declared. */
  readonly fields: readonly { readonly name: string; readonly value: number | boolean | undefined }[]
  readonly unit: Unit
  readonly construct: FunctionNode | undefined
  readonly base: ClassModel | undefined
  /** Fields that it declares or gives values, and getters: its own, and those of what it extends. */
  readonly names: ReadonlySet<string>
  readonly getters: ReadonlySet<string>
}

/** `new Complex(re, im)` of the program's own class; undefined for what is none, or more than is written out here. */
export function newInstance(l: Lowering, node: NewExpression): Value | undefined {
  if (l.context.kind !== 'loop' || node.callee.type !== 'Identifier') return undefined
  const name = l.takeName('object')
  const callee = l.verbs.value(l, node.callee)
  if (callee.kind !== 'global' || typeof callee.value !== 'function' || hasTraps(callee.value)) return undefined
  const model = classOf(callee.value as AnyFunction)
  if (model === undefined) return undefined
  const args = elements(l, node.arguments)
  if (args === undefined) return REFUSED
  const made = new Map<string, Value>()
  const self = (): Made => ({
    kind: 'record',
    fields: [...made].map(([name, value]) => ({ name, value })),
    prototype: model.unit.f.prototype as object,
  })
  return construct(l, model, args, { made, self }, node) ? written(l, name, self(), node) : REFUSED
}

/** What is being made: its fields so far, of which `self` is the object. */
interface Making {
  readonly made: Map<string, Value>
  readonly self: () => Made
}

/** Runs the constructor; whether all of it could be written out. */
function construct(l: Lowering, model: ClassModel, given: readonly Value[], making: Making, node: AnyNode): boolean {
  const { fields, unit, construct: f, base } = model
  const { made, self } = making
  const args = given.map((value) => (value.kind === 'stored' ? value : l.stabilizedValue(value)))
  const declare = (): void => {
    for (const { name, value } of fields) made.set(name, exprValue(literal(value, l.span(node))))
  }
  l.units.set(unit.node, unit)
  if (f === undefined) {
    const isWhole = base === undefined || construct(l, base, args, making, node)
    declare()
    return isWhole
  }
  let isWhole = true
  const statement = (one: Statement): void => {
    const field = fieldGiven(one)
    if (field === undefined) {
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

/** The statements of a constructor, without the call of `super` that it begins with where its class extends another. */
function bodyOf({ body }: FunctionNode, extends_: boolean): readonly [CallExpression | undefined, readonly Statement[]] {
  const statements = body.type === 'BlockStatement' ? (body.body as Statement[]) : []
  const [first, ...rest] = statements
  if (!extends_) return [undefined, statements]
  return first !== undefined && isSuperCall(first) ? [first.expression, rest] : [undefined, statements]
}

function isSuperCall(one: AnyNode): one is AnyNode & { readonly expression: CallExpression } {
  return one.type === 'ExpressionStatement' && one.expression.type === 'CallExpression' && one.expression.callee.type === 'Super'
}

/** `this.name = value` */
function fieldGiven(one: Statement) {
  const assignment = one.type === 'ExpressionStatement' ? one.expression : undefined
  if (assignment?.type !== 'AssignmentExpression' || assignment.operator !== '=' || !isOwnField(assignment.left)) return undefined
  return { name: assignment.left.property.name, value: assignment.right }
}

function isOwnField(node: AnyNode): node is AnyNode & { readonly property: { readonly name: string } } {
  return node.type === 'MemberExpression' && node.object.type === 'ThisExpression' && !node.computed && node.property.type === 'Identifier'
}

/** What a class gives its objects, as far as it is written out; what it captures may change from run to run. */
function classOf(f: AnyFunction): ClassModel | undefined {
  const source = classSourceOf(f)
  return source === undefined ? undefined : modelOf(f, source)
}

function modelOf(f: AnyFunction, { node, ...source }: ClassSource): ClassModel | undefined {
  const fields: { readonly name: string; readonly value: number | boolean | undefined }[] = []
  const getters = new Set<string>()
  let construct: FunctionNode | undefined
  const base = node.superClass == null ? undefined : baseOf(f)
  if (node.superClass != null && base === undefined) return undefined
  for (const member of node.body.body) {
    if (member.type === 'StaticBlock' || member.static) continue
    if (member.key.type !== 'Identifier' || member.computed) return undefined
    if (member.type === 'PropertyDefinition') {
      const value = constantOf(member.value)
      if (value === 'other') return undefined
      fields.push({ name: member.key.name, value })
    } else if (member.kind === 'get') getters.add(member.key.name)
    else if (member.kind === 'set') return undefined
    else if (member.kind === 'constructor') construct = isFunctionNode(member.value) ? member.value : undefined
  }
  if (construct !== undefined && !isStraight(construct, base !== undefined)) return undefined
  // What has a getter cannot be assigned, unless it is declared as a field; and a prototype is no field.
  const isField = (name: string): boolean => name !== '__proto__' && (!getters.has(name) || fields.some((field) => field.name === name))
  const names = [...fields.map(({ name }) => name), ...namesGiven(construct)]
  if (!names.every(isField)) return undefined
  const meets = base !== undefined && (names.some((name) => base.getters.has(name)) || [...getters].some((name) => base.names.has(name)))
  if (meets) return undefined
  const unit = unitOfNode(f, { ...source, node: construct ?? EMPTY })
  const all = { names: new Set([...names, ...(base?.names ?? [])]), getters: new Set([...getters, ...(base?.getters ?? [])]) }
  return { fields, unit, construct, base, ...all }
}

/** What a class extends, as it is now; undefined for what is no class of the program, or more than is written out here. */
function baseOf(f: AnyFunction): ClassModel | undefined {
  const base: unknown = Object.getPrototypeOf(f)
  return typeof base === 'function' && !hasTraps(base) ? classOf(base as AnyFunction) : undefined
}

/** Fields that the constructor gives values. */
function namesGiven(construct: FunctionNode | undefined): readonly string[] {
  const statements = construct?.body.type === 'BlockStatement' ? construct.body.body : []
  return statements.flatMap((one) => fieldGiven(one as Statement)?.name ?? [])
}

/** A class without a constructor of its own captures nothing by it. */
const EMPTY: FunctionNode = {
  type: 'FunctionExpression',
  params: [],
  body: { type: 'BlockStatement', body: [], start: 0, end: 0 },
  async: false,
  generator: false,
  expression: false,
  start: 0,
  end: 0,
} as unknown as FunctionNode // what is looked at of it

function constantOf(value: AnyNode | null | undefined): number | boolean | undefined | 'other' {
  if (value == null) return undefined
  if (value.type === 'Literal' && (typeof value.value === 'number' || typeof value.value === 'boolean')) return value.value
  const operand = value.type === 'UnaryExpression' && value.operator === '-' ? constantOf(value.argument) : 'other'
  return typeof operand === 'number' ? -operand : 'other'
}

/** Whether fields are given values by statements of the constructor itself, it returns nothing, and nobody else is given the object. */
function isStraight(f: FunctionNode, extends_: boolean): boolean {
  const [called, statements] = bodyOf(f, extends_)
  if (f.body.type !== 'BlockStatement' || (called !== undefined) !== extends_) return false
  if (called !== undefined && namesSelf(called, { asObject: true })) return false
  return statements.every((one) => {
    const given = fieldGiven(one)
    return given === undefined ? !namesSelf(one, { asObject: true }) && !returns(one) : !namesSelf(given.value) && !assignsSelf(given.value)
  })
}

function returns(node: AnyNode): boolean {
  return someNode(node, ({ type }) => type === 'ReturnStatement', { intoFunctions: false })
}

function assignsSelf(node: AnyNode): boolean {
  const assigns = (one: AnyNode): boolean =>
    (one.type === 'AssignmentExpression' && isOwnField(one.left)) || (one.type === 'UpdateExpression' && isOwnField(one.argument))
  return someNode(node, assigns, { intoFunctions: true })
}

/** Whether `this` stands for itself, and not for the object of `this.name`; or for that too. */
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

/** What an object of a class has that is none of its own fields; undefined where its class has no such method or getter. */
export function inherited(l: Lowering, object: Instance, name: string, node: AnyNode): Value | undefined {
  const own = memberOf(prototypeOf(object), name)
  if (own === undefined || name === 'constructor') return undefined
  const f = own.get ?? (own.value as unknown)
  if (typeof f !== 'function') return l.refuse('unknown-method', node, name)
  const closure = fromOutside(l, f, name, 'capture', node)
  if (closure.kind !== 'closure') return l.refuse('unknown-method', node, name)
  const method = { ...closure, self: object }
  return own.get === undefined ? method : inlineCall(l, method, [], node)
}

/** Of a class, or of what it extends; what all objects have is not asked for. */
function memberOf(prototype: object | undefined, name: string): PropertyDescriptor | undefined {
  if (hasTraps(prototype)) return undefined
  for (let one = prototype ?? null; one !== null && one !== Object.prototype; one = Object.getPrototypeOf(one) as object | null) {
    const own = Object.getOwnPropertyDescriptor(one, name)
    if (own !== undefined) return own
  }
  return undefined
}

export function prototypeOf(object: Instance): object | undefined {
  if (object.kind === 'record') return object.prototype
  return object.storage.kind === 'fields' ? object.storage.prototype : undefined
}
