/**
 * The static types of locals and expressions, where they are certain.
 *
 * Flow-insensitive: a local has the join of everything assigned to it. `unknown` is always allowed and says nothing;
 * any other type is a promise about every value the expression can give (null and undefined are `nullable`).
 */

import { type ColumnType, type ElementType, numberOfBoth, sameType } from '../data/schema.ts'
import { BIGINTS, BOOL, DATE, F64, I64, NULL, NUMBERS, typeOfCall, typeOfMethod, UNKNOWN, UTF8, type ValueType } from './callTypes.ts'
import { surelyAssigned } from './definiteAssignment.ts'
import { type Expr, expressionsOf, type Primitive, type Stmt, visitExpr, visitStmts } from './functionIr.ts'
import { isSurePart } from './methodText.ts'

export { BIGINTS, type ValueType } from './callTypes.ts'

/** The types and values of the names that a body reads from outside. */
export interface TypeSources {
  readonly input: (argument: number) => ElementType
  readonly parameter: (name: string) => Primitive | undefined
  readonly table: (name: string) => ArrayLike<Primitive> | undefined
  readonly dtype: (array: string) => string | undefined
}

/** Gives an expression's type; undefined where it is never evaluated, since it depends on a local that nothing declares. */
export type TypeOf = (expr: Expr) => ValueType | undefined

/** Infers the types of all locals of a body; the answer types any of its expressions. */
export function inferTypes(body: readonly Stmt[], sources: TypeSources): TypeOf {
  const locals = new Map<string, ValueType>()
  const assigned: { readonly local: string; readonly typed: () => ValueType | undefined }[] = []
  const typeOf = (expr: Expr): ValueType | undefined => typeOfExpr(expr, locals, sources)
  const neverUndefined = surelyAssigned(body)
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'Let' && !neverUndefined.has(stmt)) {
      const { init } = stmt
      assigned.push({ local: stmt.local, typed: () => (init === undefined ? NULL : typeOf(init)) })
    }
    if (stmt.kind === 'Assign') assigned.push({ local: stmt.local, typed: () => typeOf(stmt.value) })
    for (const top of expressionsOf(stmt))
      visitExpr(top, (expr) => void (expr.kind === 'OfList' && assigned.push(...ofElements(expr, typeOf))))
  })
  // types only grow, and a chain of joins is short: null, X, nullable X, unknown
  for (let changed = true; changed; ) {
    changed = false
    for (const { local, typed } of assigned) {
      const next = typed()
      if (next === undefined) continue
      const before = locals.get(local)
      const joined = before === undefined ? next : join(before, next)
      if (before === undefined || !sameType(before.type, joined.type) || before.nullable !== joined.nullable) {
        locals.set(local, joined)
        changed = true
      }
    }
  }
  return typeOf
}

/** What the locals of a function of an element are given. */
function ofElements(
  { list, args: [first], each }: Extract<Expr, { kind: 'OfList' }>,
  typeOf: TypeOf,
): readonly { readonly local: string; readonly typed: () => ValueType | undefined }[] {
  if (each === undefined) return []
  const item = (): ValueType | undefined => typeOfListItem(typeOf(list))
  const own = [
    { local: each.item, typed: item },
    { local: each.index, typed: () => F64 },
  ]
  const { sofar, value } = each
  if (sofar === undefined) return own
  return [
    ...own,
    { local: sofar, typed: () => (first === undefined ? item() : typeOf(first)) },
    { local: sofar, typed: () => typeOf(value) },
  ]
}

export function isNumberType(type: ColumnType): boolean {
  return NUMBERS.has(type.kind)
}

/** The least type that holds both; unknown when there is none. */
export function join(a: ValueType, b: ValueType): ValueType {
  const nullable = a.nullable || b.nullable
  if (sameType(a.type, b.type)) return { type: a.type, nullable }
  if (a.type.kind === 'null') return { type: b.type, nullable: true }
  if (b.type.kind === 'null') return { type: a.type, nullable: true }
  if (isNumberType(a.type) && isNumberType(b.type)) return { type: numberOfBoth(a.type, b.type), nullable }
  if (a.type.kind === 'utf8' && b.type.kind === 'utf8') return { type: { kind: 'utf8' }, nullable }
  // timestamps of two units, or dates and timestamps, join to JavaScript's Dates, which count milliseconds
  if (isDateType(a.type) && isDateType(b.type)) return { ...DATE, nullable }
  return UNKNOWN
}

function isDateType({ kind }: ColumnType): boolean {
  return kind === 'timestamp' || kind === 'date'
}

type Locals = ReadonlyMap<string, ValueType>

/** The type of an expression so far; undefined while nothing is known yet about a local it depends on. */
function typeOfExpr(expr: Expr, locals: Locals, sources: TypeSources): ValueType | undefined {
  const of = (one: Expr): ValueType | undefined => typeOfExpr(one, locals, sources)
  switch (expr.kind) {
    case 'Literal':
      return typeOfPrimitive(expr.value)
    case 'Parameter':
      return typeOfPrimitive(sources.parameter(expr.name))
    case 'Local':
      return locals.get(expr.name)
    case 'Input': {
      const element = sources.input(expr.argument)
      if (element.kind === 'scalar') return { type: element.type, nullable: element.nullable }
      return element.kind === 'row' ? { type: { kind: 'struct', fields: element.fields }, nullable: false } : UNKNOWN
    }
    case 'Field': {
      const object = of(expr.of)
      if (object === undefined) return undefined
      if (object.type.kind !== 'struct') return UNKNOWN
      const field = object.type.fields.find((one) => one.name === expr.name)
      if (field === undefined) return NULL
      return { type: field.type, nullable: field.nullable || (expr.optional && object.nullable) }
    }
    case 'Key':
    case 'Extent':
    case 'LookupLength':
    case 'Draw':
      return F64
    case 'Has':
      return BOOL
    case 'Read':
      return typeOfElement(sources.dtype(expr.array))
    case 'Lookup':
      return typeOfLookup(sources.table(expr.table), expr.index)
    case 'Find':
      return expr.values === undefined ? BOOL : typeOfFound(sources.table(expr.values))
    case 'Unary':
      return unaryType(expr.operator, of(expr.operand))
    case 'Binary':
      return binaryType(expr.operator, of(expr.left), of(expr.right))
    case 'Logical': {
      const [left, right] = [of(expr.left), of(expr.right)]
      if (left === undefined || right === undefined) return undefined
      if (expr.operator === '&&') return join(left, right)
      return left.type.kind === 'null' ? right : join({ ...left, nullable: left.type.kind === 'unknown' }, right)
    }
    case 'Conditional': {
      const [then, other] = [of(expr.then), of(expr.else)]
      return then === undefined || other === undefined ? undefined : join(then, other)
    }
    case 'Call': {
      if (expr.callee !== 'bucket' && expr.callee !== 'formatTime') return typeOfCall(expr.callee)
      const [date] = expr.args.map(of)
      return date && { ...typeOfCall(expr.callee), nullable: date.nullable }
    }
    case 'MethodCall': {
      const object = of(expr.object)
      if (object === undefined) return undefined
      const result = typeOfMethod(expr.method, object)
      return { type: result.type, nullable: (result.nullable && !isSurePart(expr.method, expr.args)) || (expr.optional && object.nullable) }
    }
    case 'OfList':
      return typeOfList(expr, locals, sources)
    case 'Matches':
      return { type: { kind: 'bool' }, nullable: false }
    case 'ArrayLiteral':
      return typeOfItems(expr.items.map(of))
    case 'ObjectLiteral': {
      const fields = expr.fields.map((field) => ({ name: field.name, value: of(field.value) }))
      if (fields.some((field) => field.value === undefined)) return undefined
      return {
        type: {
          kind: 'struct',
          fields: fields.map(({ name, value }) => ({ name, type: value?.type ?? UNKNOWN.type, nullable: value?.nullable ?? true })),
        },
        nullable: false,
      }
    }
  }
}

/** The type of an answer of a list, whose elements may be null. */
function typeOfList({ asks, list, each }: Extract<Expr, { kind: 'OfList' }>, locals: Locals, sources: TypeSources): ValueType | undefined {
  switch (asks) {
    case 'length':
    case 'count':
    case 'indexOf':
    case 'findIndex':
    case 'findLastIndex':
    case 'Math.max':
    case 'Math.min':
      return F64
    case 'includes':
    case 'some':
    case 'every':
      return BOOL
    case 'join':
      return UTF8
    case 'reduce':
      return each?.sofar === undefined ? undefined : locals.get(each.sofar)
    case 'element':
    case 'at':
    case 'find':
    case 'findLast':
      return typeOfListItem(typeOfExpr(list, locals, sources))
    case 'filter':
    case 'slice':
    case 'reverse':
    case 'sort':
    case 'toReversed':
    case 'toSorted': {
      const of = typeOfExpr(list, locals, sources)
      return of && { type: of.type, nullable: false }
    }
    case 'map':
      return each && typeOfItems([typeOfExpr(each.value, locals, sources)])
  }
}

/** The type of an element of a list: numbers are f64. */
function typeOfListItem(list: ValueType | undefined): ValueType | undefined {
  if (list === undefined) return undefined
  if (list.type.kind !== 'list') return UNKNOWN
  return { type: isNumberType(list.type.item) ? F64.type : list.type.item, nullable: true }
}

/** The type of an array literal: numbers in a list are f64; the type of a list without items, or of mixed ones, is unknown. */
function typeOfItems(items: readonly (ValueType | undefined)[]): ValueType | undefined {
  let item: ValueType | undefined
  for (const one of items) {
    if (one === undefined) return undefined
    item = item === undefined ? one : join(item, one)
  }
  if (item === undefined || item.type.kind === 'null' || holdsUnknown(item.type)) return UNKNOWN
  return { type: { kind: 'list', item: isNumberType(item.type) ? { kind: 'f64' } : item.type }, nullable: false }
}

export function holdsUnknown(type: ColumnType): boolean {
  if (type.kind === 'unknown' || type.kind === 'object') return true
  if (type.kind === 'list') return holdsUnknown(type.item)
  return type.kind === 'struct' && type.fields.some((field) => holdsUnknown(field.type))
}

function typeOfPrimitive(value: Primitive): ValueType {
  if (value === null || value === undefined) return NULL
  if (typeof value === 'number') return F64
  if (typeof value === 'bigint') return I64
  return typeof value === 'boolean' ? BOOL : UTF8
}

function typeOfElement(dtype: string | undefined): ValueType {
  if (dtype === undefined || dtype === 'object' || dtype === 'row' || dtype === 'unknown') return UNKNOWN
  return dtype === 'i64' ? I64 : F64
}

/** The type of a table's element: not nullable only where a literal index is inside a table of numbers. */
function typeOfLookup(table: ArrayLike<Primitive> | undefined, index: Expr): ValueType {
  const found = typeOfTable(table)
  const at = index.kind === 'Literal' ? index.value : undefined
  const isNumber = typeof at === 'number' && typeof table?.[at] === 'number'
  return isNumber && found.type.kind === 'f64' ? { ...found, nullable: false } : found
}

/** The type of a lookup's value; unknown for an empty collection, which the program may fill before an action. */
function typeOfFound(values: ArrayLike<Primitive> | undefined): ValueType {
  return values === undefined || values.length === 0 ? UNKNOWN : { ...typeOfTable(values), nullable: true }
}

function typeOfTable(table: ArrayLike<Primitive> | undefined): ValueType {
  if (table === undefined || table instanceof BigUint64Array) return UNKNOWN
  if (ArrayBuffer.isView(table)) return { ...(table instanceof BigInt64Array ? I64 : F64), nullable: true }
  let item: ValueType = NULL
  for (let i = 0; i < table.length; i++) item = join(item, typeOfPrimitive(table[i]))
  return { ...item, nullable: true }
}

/** Whether a value is certainly no bigint: arithmetic on it gives a number, or throws. */
function isNeverBigint(value: ValueType): boolean {
  const { kind } = value.type
  return NUMBERS.has(kind) || kind === 'bool' || kind === 'null' || kind === 'utf8' || kind === 'timestamp' || kind === 'date'
}

function isAlwaysBigint(value: ValueType): boolean {
  return BIGINTS.has(value.type.kind) && !value.nullable
}

function unaryType(operator: string, operand: ValueType | undefined): ValueType | undefined {
  if (operator === '!') return BOOL
  if (operator === 'typeof') return UTF8
  if (operator === '+') return F64
  if (operand === undefined) return undefined
  return isNeverBigint(operand) ? F64 : isAlwaysBigint(operand) ? I64 : UNKNOWN
}

function binaryType(operator: string, left: ValueType | undefined, right: ValueType | undefined): ValueType | undefined {
  switch (operator) {
    case '==':
    case '!=':
    case '===':
    case '!==':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return BOOL
    case '>>>':
      return F64
    case '+':
      return left === undefined || right === undefined ? undefined : plusType(left, right)
    default:
      if (left === undefined || right === undefined) return undefined
      // mixing a bigint and a number throws, so one side decides
      if (isNeverBigint(left) || isNeverBigint(right)) return F64
      return isAlwaysBigint(left) || isAlwaysBigint(right) ? I64 : UNKNOWN
  }
}

/** The type of `+`, which concatenates where a side is a string or a date. */
function plusType(left: ValueType, right: ValueType): ValueType {
  const isText = (value: ValueType): boolean => /^(utf8|timestamp|date)$/.test(value.type.kind) && !value.nullable
  if (isText(left) || isText(right)) return UTF8
  const isNumeric = (value: ValueType): boolean => NUMBERS.has(value.type.kind) || value.type.kind === 'bool' || value.type.kind === 'null'
  if (isNumeric(left) && isNumeric(right)) return F64
  const isBigint = (value: ValueType): boolean => BIGINTS.has(value.type.kind)
  if ((isAlwaysBigint(left) && (isBigint(right) || isNumeric(right))) || (isAlwaysBigint(right) && (isBigint(left) || isNumeric(left))))
    return I64
  return UNKNOWN
}
