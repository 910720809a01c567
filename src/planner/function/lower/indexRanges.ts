/**
 * Ranges of index expressions while a body is lowered: components of the key are whole numbers from 0 on, and counters of loops
 * run from one number that is written out to another.
 *
 *     i % 3                                   0 to 2
 *     k of for (let k = 1; k < 5; k++)        1 to 4
 */
import type { AnyNode, ForStatement } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'

export interface IndexRange {
  readonly low: number
  readonly high: number
}

/** The ranges of loop counters, by their locals. */
export interface Counters {
  readonly counters: ReadonlyMap<string, IndexRange>
}

/** Whether the index is surely inside a list of this length. */
export function isWithin(l: Counters, index: Expr, length: number): boolean {
  const range = rangeOf(l, index)
  return range !== undefined && range.low >= 0 && range.high < length
}

/** Returns the range of whole numbers in which the expression surely lies, both ends inclusive; undefined where it may be anything. */
export function rangeOf(l: Counters, expr: Expr): IndexRange | undefined {
  switch (expr.kind) {
    case 'Literal':
      return typeof expr.value === 'number' && Number.isSafeInteger(expr.value) ? { low: expr.value, high: expr.value } : undefined
    case 'Key':
      return { low: 0, high: Number.MAX_SAFE_INTEGER }
    case 'Local':
      return l.counters.get(expr.name)
    case 'Binary': {
      const [a, b] = [rangeOf(l, expr.left), rangeOf(l, expr.right)]
      if (a === undefined || b === undefined) return undefined
      if (expr.operator === '+') return exact({ low: a.low + b.low, high: a.high + b.high })
      if (expr.operator === '-') return exact({ low: a.low - b.high, high: a.high - b.low })
      if (expr.operator === '%' && a.low >= 0 && b.low > 0) return { low: 0, high: Math.min(a.high, b.high - 1) }
      return undefined
    }
    default:
      return undefined
  }
}

/** Returns a range unless doubles cannot hold its low end exactly; the high end of a key's sums may lie beyond, as no list is that long. */
function exact({ low, high }: IndexRange): IndexRange | undefined {
  return low >= -Number.MAX_SAFE_INTEGER && low <= Number.MAX_SAFE_INTEGER ? { low, high } : undefined
}

/** Returns the range of a counter inside its loop; undefined where its bounds are not written out. */
export function counterRange({ init, test, update }: ForStatement, name: string): IndexRange | undefined {
  const declarator = init?.type === 'VariableDeclaration' && init.declarations.length === 1 ? init.declarations[0] : undefined
  if (test?.type !== 'BinaryExpression' || test.left.type !== 'Identifier' || test.left.name !== name) return undefined
  const [from, to] = [writtenNumber(declarator?.init), writtenNumber(test.right)]
  if (from === undefined || to === undefined || !Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return undefined
  if (update?.type !== 'UpdateExpression' || update.operator !== '++') return undefined
  if (test.operator !== '<' && test.operator !== '<=') return undefined
  return { low: from, high: test.operator === '<' ? to - 1 : to }
}

/** Returns a number that is written out, with or without a sign; undefined for any other expression. */
function writtenNumber(node: AnyNode | null | undefined): number | undefined {
  if (node?.type === 'Literal' && typeof node.value === 'number') return node.value
  const value = node?.type === 'UnaryExpression' && node.operator === '-' ? writtenNumber(node.argument) : undefined
  return value === undefined ? undefined : -value
}
