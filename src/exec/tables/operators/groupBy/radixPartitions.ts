/** Radix partitions of a group-by: where their rows and groups lie, and how workers take them. */
import type { ComparedPart } from '../../../kernels/tables/partitionKernels.ts'
import type { Arena } from '../../../memory/arena.ts'

/** Where a column lies that is hashed and compared; addresses that it does not need are 0. */
export interface ComparedColumn extends ComparedPart {
  readonly values: number
  readonly offsets: number
  readonly bits: number
}

/** Partitions lie one after the other; what lies beside each other for their groups begins where their rows begin. */
export interface Partitions {
  /** Of the next partition that somebody takes. */
  readonly claims: number
  /** Where the rows of each begin, and those of the last end. */
  readonly starts: Int32Array
  readonly rows: number
  /** Codes, which become the numbers of groups in their partition. */
  readonly codes: number
  /** The first row of each group. */
  readonly firsts: number
  readonly counts: number
  /** How many groups each partition has. */
  readonly sizes: number
}

/** A partition that has rows. */
export interface Partition {
  readonly number: number
  readonly from: number
  readonly to: number
}

/** Partitions that nobody has taken, taken one after the other. */
export function* claimed({ claims, starts }: Partitions, arena: Arena): Generator<Partition> {
  const next = arena.view('i32', claims, 1) as Int32Array
  for (let number = Atomics.add(next, 0, 1); number < starts.length - 1; number = Atomics.add(next, 0, 1)) {
    const [from, to] = [starts[number] as number, starts[number + 1] as number] // below the last
    if (from < to) yield { number, from, to }
  }
}

/** The places of a table for so many rows: half of them stay free. */
export function tableSlots(rows: number): number {
  return 2 ** Math.max(4, Math.ceil(Math.log2(2 * rows)))
}

/** Rows between two calls of a kernel, so that V8 can replace it while it warms up. */
export const STRIDE = 16_384

export function eachStride(from: number, to: number, run: (from: number, to: number) => void): void {
  for (let at = from; at < to; at += STRIDE) run(at, Math.min(at + STRIDE, to))
}
