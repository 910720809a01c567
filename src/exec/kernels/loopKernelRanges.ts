/**
 * Integer ranges of expressions: which subscripts are proved inside their array, so that the kernel need not ask.
 *
 * A range promises that the value is an integer (or -0) within its bounds. `undefined` promises nothing. Captured
 * numbers count with their value: the kernel's text then depends on how they compare with extents, not on what they are.
 */
import type { CountedLoop, Expr, Primitive } from '../../core/functionIr.ts'

export interface IntegerRange {
  readonly low: number
  readonly high: number
}

export interface RangeScope {
  /** Extents of the iteration space. */
  readonly keyExtents: readonly number[]
  readonly parameters: ReadonlyMap<string, Primitive>
  /** Extents of the arrays, by env name. */
  extentOf(array: string, axis: number): number | undefined
  /** Ranges of locals that hold one value wherever they are asked for. */
  readonly locals: Map<string, IntegerRange>
}

/** Beyond this, integer arithmetic in doubles rounds. */
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
    case 'Binary': {
      const left = integerRange(expr.left, scope)
      const right = integerRange(expr.right, scope)
      return left === undefined || right === undefined ? undefined : binaryRange(expr.operator, left, right)
    }
    default:
      return undefined
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

/** The values a counted loop's index takes inside the body. */
export function countedRange(loop: CountedLoop, scope: RangeScope): IntegerRange | undefined {
  const from = integerRange(loop.from, scope)
  const to = integerRange(loop.to, scope)
  if (from === undefined || to === undefined) return undefined
  // An empty loop has an empty range, which proves anything about a body that never runs.
  return loop.step > 0 ? { low: from.low, high: to.high - 1 } : { low: to.low + 1, high: from.high }
}
