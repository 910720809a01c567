/**
 * Facts about row lambdas for rules: the columns they read, and whether running them on other rows can be noticed.
 *
 * In doubt the answer is the safe one: a function that was refused reads everything, but where it names all that it sees of a row, and may fail.
 */

import type { ColumnType, ElementType } from '../core/data/schema.ts'
import type { BinaryOperator, Callee, Expr, FunctionIr, LibraryCall, Method, Stmt, UserFunction } from '../core/ir/functionIr.ts'
import { expressionsOf, isLibraryCall, visitExpr, visitStmts } from '../core/ir/functionIr.ts'
import { inferTypes } from '../core/ir/irTypes.ts'
import { isKnown, valueClassOf } from '../core/plan/elements.ts'

/** Calls `visit` on every expression of a function, outer ones first. */
export function visitExpressions(ir: FunctionIr, visit: (expr: Expr) => void): void {
  visitStmts(ir.body, (stmt) => {
    for (const expr of expressionsOf(stmt)) visitExpr(expr, visit)
  })
}

/** Whether a function was lowered and depends on its arguments and constants alone. */
export function isPure<F extends Pick<UserFunction, 'ir'>>(f: F): f is F & { readonly ir: FunctionIr } {
  if (f.ir === undefined || f.ir.uses.length > 0) return false
  let pure = true
  visitStmts(f.ir.body, (stmt) => {
    pure &&= stmt.kind !== 'Write' && stmt.kind !== 'Add' && stmt.kind !== 'Accumulate'
  })
  visitExpressions(f.ir, (expr) => {
    pure &&= expr.kind !== 'Read' && expr.kind !== 'Has' && expr.kind !== 'Extent' && expr.kind !== 'Draw'
  })
  return pure
}

/**
 * Whether a pure function returns for every element of its inputs, so that it cannot be noticed on which it ran. Functions with loops count
 * as not returning.
 */
export function cannotFail(f: Pick<UserFunction, 'ir'>, inputs: readonly ElementType[]): boolean {
  if (!isPure(f)) return false
  const types: Types = { ir: f.ir, inputs, bigintLocals: false }
  let bigints = false
  visitExpressions(f.ir, (expr) => {
    bigints ||= expr.kind !== 'Local' && isLeaf(expr) && mayBeBigint(expr, types)
  })
  const withLocals = { ...types, bigintLocals: bigints }
  let safe = true
  visitStmts(f.ir.body, (stmt) => {
    safe &&= isSafeStatement(stmt)
  })
  visitExpressions(f.ir, (expr) => {
    safe &&= isSafe(expr, withLocals)
  })
  return safe && !(makesDates(f.ir) && mayReturnDates(f.ir, inputs))
}

function makesDates(ir: FunctionIr): boolean {
  let makes = false
  visitExpressions(ir, (expr) => {
    makes ||= expr.kind === 'Call' && (expr.callee === 'new Date' || expr.callee === 'bucket')
  })
  return makes
}

/** Whether the value returned may contain Dates: storing an invalid one in a column throws. */
function mayReturnDates(ir: FunctionIr, inputs: readonly ElementType[]): boolean {
  const typeOf = inferTypes(ir.body, {
    input: (argument) => inputs[argument] ?? { kind: 'unknown' },
    parameter: (name) => ir.parameters.find((one) => one.name === name)?.value,
    table: (name) => ir.tables.find((one) => one.name === name)?.value,
    dtype: () => undefined,
  })
  let may = false
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Return' && stmt.value !== undefined) may ||= mayHoldDates(typeOf(stmt.value)?.type ?? { kind: 'null' })
  })
  return may
}

function mayHoldDates(type: ColumnType): boolean {
  if (type.kind === 'list') return mayHoldDates(type.item)
  if (type.kind === 'struct') return type.fields.some((field) => mayHoldDates(field.type))
  const is = valueClassOf(type)
  return is === 'Date' || (is === 'unknown' && type.kind !== 'null')
}

interface Types {
  readonly ir: FunctionIr
  readonly inputs: readonly ElementType[]
  /** Whether a local might hold a bigint. */
  readonly bigintLocals: boolean
}

function isLeaf(expr: Expr): boolean {
  return expr.kind !== 'Unary' && expr.kind !== 'Binary' && expr.kind !== 'Logical' && expr.kind !== 'Conditional'
}

function isSafeStatement(stmt: Stmt): boolean {
  switch (stmt.kind) {
    case 'Let':
    case 'Assign':
    case 'If':
    case 'Labeled':
    case 'Break':
    case 'Return':
    case 'Evaluate':
      return true
    case 'Write':
    case 'Add':
    case 'Accumulate':
    case 'For':
    case 'Continue':
    case 'Throw':
      return false
  }
}

/** Whether evaluating this node, given its operands' values, cannot throw. */
function isSafe(expr: Expr, types: Types): boolean {
  switch (expr.kind) {
    case 'Literal':
    case 'Local':
    case 'Parameter':
    case 'Input':
    case 'Key':
    case 'Logical':
    case 'Conditional':
    case 'Lookup':
    case 'LookupLength':
    case 'Find':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      return true
    case 'Field':
      return expr.optional || (expr.of.kind === 'Input' && types.inputs[expr.of.argument]?.kind === 'row')
    case 'Unary':
      return expr.operator === '!' || expr.operator === 'typeof' || !mayBeBigint(expr.operand, types)
    case 'Binary':
      return COMPARISONS.has(expr.operator) || (!mayBeBigint(expr.left, types) && !mayBeBigint(expr.right, types))
    case 'Call':
      if (isLibraryCall(expr.callee)) return isSafeLibraryCall(expr.callee, expr.args, types)
      return isSafeCall(expr.callee) || (!expr.callee.startsWith('BigInt') && !expr.args.some((arg) => mayBeBigint(arg, types)))
    case 'MethodCall':
      return isSafeMethod(expr.method, typeOf(expr.object, types), expr.optional) && !expr.args.some((arg) => mayBeBigint(arg, types))
    case 'OfList': {
      // an empty list has no first element to begin with
      const begins = expr.asks !== 'reduce' || expr.args.length > 0
      return begins && columnOf(expr.list, types)?.nullable === false && !mayBeBigint(expr, types)
    }
    case 'Matches':
      return true
    case 'Read':
    case 'Has':
    case 'Extent':
    case 'Draw':
      return false
  }
}

/** Operators that give true or false for any operands, and never throw. */
export const COMPARISONS: ReadonlySet<BinaryOperator> = new Set(['==', '!=', '===', '!==', '<', '<=', '>', '>='])

/** Whether a builtin takes any arguments, bigints included. */
function isSafeCall(callee: Callee): boolean {
  return [
    'Number',
    'String',
    'Boolean',
    'Object.is',
    'Number.isNaN',
    'Number.isFinite',
    'Number.isInteger',
    'Number.isSafeInteger',
  ].includes(callee)
}

/** Whether a library call cannot throw: its value has the right type, and its options are constants, which were checked at the call. */
function isSafeLibraryCall(callee: LibraryCall, [of, ...options]: readonly Expr[], types: Types): boolean {
  const takes = callee === 'parseTime' ? 'string' : callee === 'duration' ? undefined : 'Date'
  const isTaken = of !== undefined && takes !== undefined && typeOf(of, types)?.is === takes
  return isTaken && options.every(({ kind }) => kind === 'Literal' || kind === 'Parameter')
}

/** Methods that throw for some arguments, or for an invalid date. */
const PICKY: ReadonlySet<Method> = new Set([
  'repeat',
  'normalize',
  'padStart',
  'padEnd',
  'toFixed',
  'toPrecision',
  'toString',
  'toISOString',
  'concat',
  'localeCompare',
])

function isSafeMethod(method: Method, object: KnownType | undefined, optional: boolean): boolean {
  if (object === undefined || (object.nullable && !optional) || PICKY.has(method)) return false
  const isDateMethod = method.startsWith('get')
  return isDateMethod ? object.is === 'Date' : object.is === 'string' && method !== 'valueOf'
}

interface KnownType {
  readonly is: 'string' | 'Date'
  readonly nullable: boolean
}

/** Returns string or Date where an expression surely is one, as far as methods need it; undefined otherwise. */
function typeOf(expr: Expr, types: Types): KnownType | undefined {
  if (expr.kind === 'Literal') return typeof expr.value === 'string' ? { is: 'string', nullable: false } : undefined
  if (expr.kind === 'Call') {
    if (expr.callee === 'new Date') return { is: 'Date', nullable: false }
    if (expr.callee === 'bucket') return expr.args[0] && typeOf(expr.args[0], types)
    if (expr.callee === 'parseTime') return { is: 'Date', nullable: true }
    return expr.callee === 'String' ? { is: 'string', nullable: false } : undefined
  }
  const column = columnOf(expr, types)
  if (column === undefined) return undefined
  const is = valueClassOf(column.type)
  return is === 'string' || is === 'Date' ? { is, nullable: column.nullable } : undefined
}

/** Returns the column that an expression is; undefined where it is anything else. */
export function columnOf(
  expr: Expr,
  { inputs }: { readonly inputs: readonly ElementType[] },
): { readonly type: ColumnType; readonly nullable: boolean } | undefined {
  if (expr.kind === 'Input') {
    const element = inputs[expr.argument]
    return element?.kind === 'scalar' ? element : undefined
  }
  if (expr.kind !== 'Field' || expr.of.kind !== 'Input') return undefined
  const element = inputs[expr.of.argument]
  return element?.kind === 'row' ? element.fields.find((field) => field.name === expr.name) : undefined
}

/** Whether the value may be a bigint, which throws in arithmetic with numbers. */
function mayBeBigint(expr: Expr, types: Types): boolean {
  switch (expr.kind) {
    case 'Literal':
      return typeof expr.value === 'bigint'
    case 'Parameter':
      return types.ir.parameters.some((one) => one.name === expr.name && typeof one.value === 'bigint')
    case 'Local':
      return types.bigintLocals
    case 'Input':
    case 'Field': {
      const column = columnOf(expr, types)
      if (column === undefined) return !isAbsentColumn(expr, types)
      const is = valueClassOf(column.type)
      return is === 'bigint' || (is === 'unknown' && column.type.kind !== 'null')
    }
    case 'Unary':
      return expr.operator !== '!' && expr.operator !== 'typeof' && expr.operator !== '+' && mayBeBigint(expr.operand, types)
    case 'Binary':
      return !COMPARISONS.has(expr.operator) && (mayBeBigint(expr.left, types) || mayBeBigint(expr.right, types))
    case 'Logical':
      return mayBeBigint(expr.left, types) || mayBeBigint(expr.right, types)
    case 'Conditional':
      return mayBeBigint(expr.then, types) || mayBeBigint(expr.else, types)
    case 'Call':
      return expr.callee.startsWith('BigInt')
    case 'MethodCall':
      return expr.method === 'valueOf' && mayBeBigint(expr.object, types)
    case 'OfList':
      // lists of bigints are refused; with one as a subscript or a beginning, what goes on may throw
      return [...expr.args, ...(expr.each === undefined ? [] : [expr.each.value])].some((one) => mayBeBigint(one, types))
    case 'Lookup':
      return types.ir.tables.some((table) => table.name === expr.table && holdsBigints(table.value))
    case 'Find':
      return types.ir.tables.some((table) => table.name === expr.values && holdsBigints(table.value))
    case 'Read':
      return true
    case 'Key':
    case 'Has':
    case 'Extent':
    case 'LookupLength':
    case 'Draw':
    case 'Matches':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      return false
  }
}

/** Whether the expression is a column that a known row does not have, and so undefined. */
function isAbsentColumn(expr: Expr, { inputs }: Types): boolean {
  return expr.kind === 'Field' && expr.of.kind === 'Input' && inputs[expr.of.argument]?.kind === 'row'
}

function holdsBigints(values: ArrayLike<unknown>): boolean {
  if (ArrayBuffer.isView(values)) return values instanceof BigInt64Array || values instanceof BigUint64Array
  return Array.from(values).some((value) => typeof value === 'bigint')
}

/**
 * Whether it cannot be noticed on which elements the function of a map or of `withColumns` ran: it cannot fail, and what it returns is of
 * known types, so that no column can turn out to mix them.
 */
export function runsUnnoticed(node: {
  readonly f: UserFunction
  readonly input: { readonly element: ElementType }
  readonly element: ElementType
}): boolean {
  return isKnown(node.element) && cannotFail(node.f, [node.input.element])
}
