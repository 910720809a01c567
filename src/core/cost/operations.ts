/**
 * The cost of a body's operations by kind: the instructions that each is worth, and its latency.
 * The processor does several instructions at a time, unless one waits for the result of another.
 */
import type { Expr } from '../ir/functionIr.ts'

export interface OperationCost {
  /** The throughput cost, in instructions as cheap as an addition. */
  readonly work: number
  /** Nanoseconds of calls to JavaScript functions. */
  readonly callNs: number
  /** Nanoseconds from operand to result. */
  readonly latencyNs: number
}

const CHEAP: OperationCost = { work: 1, callNs: 0, latencyNs: 1.1 }
const NOTHING: OperationCost = { work: 0, callNs: 0, latencyNs: 0 }
const EXTREME: OperationCost = { work: 3, callNs: 0, latencyNs: 1.8 }
const QUOTIENT: OperationCost = { work: 6, callNs: 0, latencyNs: 4 }
const REMAINDER: OperationCost = { work: 10, callNs: 0, latencyNs: 8 }
const CALL: OperationCost = { work: 0, callNs: 14, latencyNs: 14 }
/** The cost of a random number: the rounds of a counter-based generator, which carries no state. */
const DRAW: OperationCost = { work: 0, callNs: 55, latencyNs: 0 }

const EXTREMES: ReadonlySet<string> = new Set(['Math.max', 'Math.min', 'Math.round', 'Math.sign'])
const INSTRUCTIONS: ReadonlySet<string> = new Set([
  'Math.abs',
  'Math.floor',
  'Math.ceil',
  'Math.trunc',
  'Math.fround',
  'Math.imul',
  'Math.clz32',
])

/** The cost of the operation itself, without its operands. Address computations are part of an access. */
export function costOf(expr: Expr): OperationCost {
  switch (expr.kind) {
    case 'Literal':
    case 'Local':
    case 'Parameter':
    case 'Input':
    case 'Key':
    case 'Field':
    case 'Extent':
    case 'LookupLength':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      return NOTHING
    case 'Unary':
    case 'Logical':
    case 'Conditional':
    case 'Read':
      return CHEAP
    case 'Binary':
      return expr.operator === '/' ? QUOTIENT : expr.operator === '%' ? REMAINDER : expr.operator === '**' ? CALL : CHEAP
    case 'Call':
      if (INSTRUCTIONS.has(expr.callee)) return CHEAP
      return EXTREMES.has(expr.callee) ? EXTREME : expr.callee === 'Math.sqrt' ? QUOTIENT : CALL
    case 'MethodCall':
    case 'Matches':
    case 'Find':
    case 'OfList':
      return CALL
    case 'Draw':
      return DRAW
    case 'Lookup':
    case 'Has':
      return { work: 3, callNs: 0, latencyNs: 2 }
  }
}
