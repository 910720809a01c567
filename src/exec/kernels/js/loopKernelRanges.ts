/**
 * Range analysis of integer expressions, which proves subscripts in bounds so that the kernel need not check them.
 *
 * A range promises that the value is an integer (or -0) within its bounds; undefined promises nothing. Captured
 * numbers are taken at their value: the kernel's text then depends on how they compare with extents, not on the values.
 */

import { INTEGER_RANGES, type IntegerRange, integerRangeOf } from '../../../core/data/integerRanges.ts'
import type { ColumnType, DType, ElementType } from '../../../core/data/schema.ts'
import { type CountedLoop, type Expr, type FunctionIr, type Primitive, visitStmts } from '../../../core/ir/functionIr.ts'

export interface RangeScope {
  /** The extents of the iteration space. */
  readonly keyExtents: readonly number[]
  readonly parameters: ReadonlyMap<string, Primitive>
  /** Returns the extent of an array, by its name in `env`; undefined where it is unknown. */
  extentOf(array: string, axis: number): number | undefined
  /** The dtype of an array's elements; undefined where that is unknown. */
  dtypeOf(array: string): DType | undefined
  /** The type of the iterated element, where it is known. */
  readonly element?: ElementType | undefined
  /** Ranges of locals that have a single value wherever they are read. */
  readonly locals: Map<string, IntegerRange>
}

/** The bound of ranges: beyond it integer arithmetic in doubles may round. */
const SAFE = 2 ** 52

export function integerRange(expr: Expr, scope: RangeScope): IntegerRange | undefined {
  switch (expr.kind) {
    case 'Literal':
      return exactly(expr.value)
    case 'Parameter':
      return exactly(scope.parameters.get(expr.name))
    case 'Key': {
      const extent = scope.keyExtents[expr.axis]
      return extent === undefined ? undefined : { low: 0, high: Math.max(0, extent - 1) }
    }
    case 'Extent': {
      const extent = scope.extentOf(expr.array, expr.axis)
      return exactly(extent)
    }
    case 'Local':
      return scope.locals.get(expr.name)
    case 'Read': {
      const dtype = scope.dtypeOf(expr.array)
      return dtype === undefined ? undefined : integerRangeOf(dtype)
    }
    case 'Input':
      return expr.argument === 0 && scope.element?.kind === 'scalar' ? columnRange(scope.element) : undefined
    case 'Field': {
      if (expr.of.kind !== 'Input' || scope.element?.kind !== 'row') return undefined
      const field = scope.element.fields.find(({ name }) => name === expr.name)
      return field === undefined ? undefined : columnRange(field)
    }
    case 'Unary': {
      const range = integerRange(expr.operand, scope)
      if (range === undefined) return undefined
      if (expr.operator === '-') return { low: -range.high, high: -range.low }
      return expr.operator === '+' ? range : expr.operator === '~' ? INTEGER_RANGES.i32 : undefined
    }
    case 'Conditional':
      return both(integerRange(expr.then, scope), integerRange(expr.else, scope))
    case 'Binary': {
      const left = integerRange(expr.left, scope)
      const right = integerRange(expr.right, scope)
      // beside a number a bigint throws; any other operand gives a 32-bit integer
      if (BITS.has(expr.operator)) return bitsRange(expr.operator, left, right)
      return left === undefined || right === undefined ? undefined : binaryRange(expr.operator, left, right)
    }
    default:
      return undefined
  }
}

function bitsRange(operator: string, a: IntegerRange | undefined, b: IntegerRange | undefined): IntegerRange | undefined {
  if (a === undefined && b === undefined) return undefined
  const masks = [a, b].flatMap((range) => (range !== undefined && range.low >= 0 && range.high < 2 ** 31 ? [range.high] : []))
  return operator === '&' && masks.length > 0 ? { low: 0, high: Math.min(...masks) } : INTEGER_RANGES.i32
}

const BITS: ReadonlySet<string> = new Set(['&', '|', '^', '<<', '>>'])

function columnRange({ type, nullable }: { readonly type: ColumnType; readonly nullable: boolean }): IntegerRange | undefined {
  return nullable || type.kind === 'bool' ? undefined : integerRangeOf(type.kind)
}

function both(a: IntegerRange | undefined, b: IntegerRange | undefined): IntegerRange | undefined {
  return a === undefined || b === undefined ? undefined : { low: Math.min(a.low, b.low), high: Math.max(a.high, b.high) }
}

/** Returns the locals that may hold more than one value: assigned, or declared twice. */
export function assignedLocals(ir: FunctionIr): ReadonlySet<string> {
  const declared = new Set<string>()
  const assigned = new Set<string>()
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Assign' || (stmt.kind === 'Let' && declared.has(stmt.local))) assigned.add(stmt.local)
    if (stmt.kind === 'Let') declared.add(stmt.local)
  })
  return assigned
}

/**
 * Returns the first of some arrays to which the body adds values that may be no integers; undefined where there is none: sums of
 * integers are exact in any order.
 */
export function addedInFractions(ir: FunctionIr, arrays: ReadonlySet<string>, scope: RangeScope): string | undefined {
  const assigned = assignedLocals(ir)
  let found: string | undefined
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'For' && stmt.counted !== undefined) learn(stmt.counted.local, countedRange(stmt.counted, scope))
    if (stmt.kind === 'Let' && stmt.init !== undefined && !assigned.has(stmt.local)) learn(stmt.local, integerRange(stmt.init, scope))
    if (stmt.kind === 'Add' && arrays.has(stmt.array) && integerRange(stmt.value, scope) === undefined) found ??= stmt.array
  })
  return found

  function learn(local: string, range: IntegerRange | undefined): void {
    if (range !== undefined) scope.locals.set(local, range)
  }
}

function exactly(value: Primitive): IntegerRange | undefined {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < SAFE ? { low: value, high: value } : undefined
}

function binaryRange(operator: string, a: IntegerRange, b: IntegerRange): IntegerRange | undefined {
  switch (operator) {
    case '+':
      return within(a.low + b.low, a.high + b.high)
    case '-':
      return within(a.low - b.high, a.high - b.low)
    case '*': {
      const products = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high]
      return within(Math.min(...products), Math.max(...products))
    }
    case '%':
      return b.low > 0 && a.low >= 0 ? { low: 0, high: Math.min(a.high, b.high - 1) } : undefined
    default:
      return undefined
  }
}

function within(low: number, high: number): IntegerRange | undefined {
  return low > -SAFE && high < SAFE ? { low, high } : undefined
}

/** Returns the range of a counted loop's index inside the body; undefined where a bound of the loop has none. */
export function countedRange(loop: CountedLoop, scope: RangeScope): IntegerRange | undefined {
  const from = integerRange(loop.from, scope)
  const to = integerRange(loop.to, scope)
  if (from === undefined || to === undefined) return undefined
  // an empty loop has an empty range, which proves anything about a body that never runs
  return loop.step > 0 ? { low: from.low, high: to.high - 1 } : { low: to.low + 1, high: from.high }
}
