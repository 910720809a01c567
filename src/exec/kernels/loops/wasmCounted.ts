/**
 * The values of a counted loop's index.
 */
import type { CountedLoop } from '../../../core/ir/functionIr.ts'
import { someExpr } from '../../../core/ir/irFacts.ts'
import { HIGHEST, integerType, isInteger, LOWEST, type WasmType } from '../expressions/types.ts'
import { LARGEST_STEP } from './wasmCounters.ts'
import type { KernelWriter } from './wasmWriter.ts'

/** The types of a counted loop's index: in the body, and with the value that ends the loop. */
export interface CountedRange {
  readonly seen: WasmType
  readonly held: WasmType
}

export function countedRange(w: KernelWriter, counted: CountedLoop): CountedRange | undefined {
  const from = w.expr(counted.from).type
  const to = w.expr(counted.to).type
  if (from.kind !== 'i32' || to.kind !== 'i32' || !Number.isInteger(counted.step)) return undefined
  const { step } = counted
  const [low, high] = step > 0 ? [from.low, to.high - 1] : [to.low + 1, from.high]
  const held = step > 0 ? integerType(from.low, Math.max(from.high, high + step)) : integerType(Math.min(from.low, low + step), from.high)
  const seen = integerType(Math.max(low, LOWEST), Math.min(high, HIGHEST))
  return held?.kind !== 'i32' || seen?.kind !== 'i32' ? undefined : { seen, held }
}

/**
 * Whether the index of a loop is an integer although its range is not known: 32 bits do not hold its bounds, or it ends at a double, as
 * `for (let d = 2; d <= x.get(i); d++)` does. Then it is a counter (`wasmCounters.ts`).
 */
export function isCounter(w: KernelWriter, { from, to, step }: CountedLoop): boolean {
  if (!isInteger(w.expr(from).type) || !Number.isInteger(step)) return false
  return Math.abs(step) <= LARGEST_STEP || isInteger(w.expr(to).type)
}

/** Whether the bound of a loop takes longer to compute than to keep. */
export function isCostly({ to }: CountedLoop): boolean {
  return someExpr(to, (expr) => expr.kind === 'Call' || (expr.kind === 'Binary' && (expr.operator === '%' || expr.operator === '/')))
}

/** Returns the values of an index that takes at most `most`; undefined for more, or where they are not constant. */
export function fewValues(w: KernelWriter, counted: CountedLoop, most: number): readonly number[] | undefined {
  const from = w.expr(counted.from).type
  const to = w.expr(counted.to).type
  if (from.kind !== 'i32' || to.kind !== 'i32' || from.low !== from.high || to.low !== to.high) return undefined
  const count = Math.max(0, Math.ceil((to.low - from.low) / counted.step))
  return count > most ? undefined : Array.from({ length: count }, (_, i) => from.low + i * counted.step)
}
