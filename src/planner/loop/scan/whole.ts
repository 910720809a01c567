/** Ranges of numbers that a body computes, where they are surely whole and not large. */
import { INTEGER_RANGES, type IntegerRange, integerRangeOf } from '../../../core/data/integerRanges.ts'
import type { ElementType } from '../../../core/data/schema.ts'
import type { Expr, FunctionIr } from '../../../core/ir/functionIr.ts'
import type { LoopSpec } from '../../../core/loop/loopSpec.ts'

/** Largest absolute value: thousands of such numbers can be added exactly. */
const MOST = 2 ** 34

/** Returns a function for the range of an expression; undefined where it may not be a whole number, or is too large. */
export function wholeRange(
  spec: LoopSpec,
  ir: FunctionIr,
  definitions: ReadonlyMap<string, Expr>,
): (expr: Expr) => IntegerRange | undefined {
  const parameters = new Map(ir.parameters.map(({ name, value }) => [name, value]))
  const tables = new Map(ir.tables.map(({ name, value }) => [name, value]))
  const exactly = (value: unknown): IntegerRange | undefined =>
    Number.isInteger(value) && !Object.is(value, -0) ? { low: value as number, high: value as number } : undefined
  const rangeOf = (expr: Expr): IntegerRange | undefined => {
    const range = rawRange(expr)
    return range !== undefined && range.low >= -MOST && range.high <= MOST ? range : undefined
  }
  const rawRange = (expr: Expr): IntegerRange | undefined => {
    switch (expr.kind) {
      case 'Literal':
        return typeof expr.value === 'boolean' ? INTEGER_RANGES.bool : exactly(expr.value)
      case 'Parameter':
        return exactly(parameters.get(expr.name))
      case 'Key': {
        const extent = spec.over.extents[expr.axis]
        return extent === undefined ? undefined : { low: 0, high: extent }
      }
      case 'Local': {
        const value = definitions.get(expr.name)
        return value === undefined ? undefined : rangeOf(value)
      }
      case 'Read': {
        const binding = spec.env[expr.array]
        return binding?.kind === 'array' ? dtypeRange(binding.dtype) : undefined
      }
      case 'Input':
        return elementRange(spec.over.element)
      case 'Lookup':
        return undefined // a lookup outside of the table is undefined
      case 'Unary': {
        const of = rangeOf(expr.operand)
        if (expr.operator === '!') return INTEGER_RANGES.bool
        if (expr.operator === '~') return INTEGER_RANGES.i32
        // negating 0 gives -0, which is no whole number here
        if (expr.operator === '-') return of === undefined || (of.low <= 0 && of.high >= 0) ? undefined : { low: -of.high, high: -of.low }
        return expr.operator === '+' ? of : undefined
      }
      case 'Binary': {
        const [left, right] = [rangeOf(expr.left), rangeOf(expr.right)]
        switch (expr.operator) {
          case '|':
          case '^':
          case '<<':
          case '>>':
            return INTEGER_RANGES.i32
          case '&':
            return right !== undefined && right.low >= 0 && right.high < 2 ** 31 ? { low: 0, high: right.high } : INTEGER_RANGES.i32
          case '>>>':
            return INTEGER_RANGES.u32
          case '<':
          case '<=':
          case '>':
          case '>=':
          case '==':
          case '!=':
          case '===':
          case '!==':
            return INTEGER_RANGES.bool
          case '+':
            return left && right && { low: left.low + right.low, high: left.high + right.high }
          case '-':
            return left && right && { low: left.low - right.high, high: left.high - right.low }
          default:
            return undefined
        }
      }
      case 'Conditional': {
        const [a, b] = [rangeOf(expr.then), rangeOf(expr.else)]
        return a && b && { low: Math.min(a.low, b.low), high: Math.max(a.high, b.high) }
      }
      case 'LookupLength':
        return exactly(tables.get(expr.table)?.length)
      case 'Call':
        return expr.callee === 'Math.imul' ? INTEGER_RANGES.i32 : undefined
      default:
        return undefined
    }
  }
  return rangeOf
}

function dtypeRange(dtype: string): IntegerRange | undefined {
  return integerRangeOf(dtype)
}

function elementRange(element: ElementType | undefined): IntegerRange | undefined {
  return element?.kind === 'scalar' && !element.nullable ? dtypeRange(element.type.kind) : undefined
}
