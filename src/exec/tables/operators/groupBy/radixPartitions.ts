/** Radix partitions of a group-by: the addresses of their rows and groups, and how workers claim them. */
import type { ComparedPart } from '../../../kernels/tables/partitionKernels.ts'
import type { Arena } from '../../../memory/arena.ts'

/** The addresses of a column that is hashed and compared; those that its type does not need are 0. */
export interface ComparedColumn extends ComparedPart {
  readonly values: number
  readonly offsets: number
  readonly bits: number
}

/** The addresses of radix partitions, which lie end to end; the arrays by group have their groups from the partition's first row on. */
export interface Partitions {
  /** The address of the counter of the next partition to claim. */
  readonly claims: number
  /** The position of the first row of each partition, and the end of the last. */
  readonly starts: Int32Array
  readonly rows: number
  /** The address of the rows' codes, which are overwritten by the numbers of their groups in the partition. */
  readonly codes: number
  /** The address of the first row of each group; after the folds' first step, of its rank. */
  readonly firsts: number
  readonly counts: number
  /** The address of the number of groups of each partition. */
  readonly sizes: number
}

/** A partition that has rows. */
export interface Partition {
  readonly number: number
  readonly from: number
  readonly to: number
}

/** Claims partitions one after another, as long as there are unclaimed ones, and yields those with rows. */
export function* claimed({ claims, starts }: Partitions, arena: Arena): Generator<Partition> {
  const next = arena.view('i32', claims, 1) as Int32Array
  for (let number = Atomics.add(next, 0, 1); number < starts.length - 1; number = Atomics.add(next, 0, 1)) {
    const [from, to] = [starts[number] as number, starts[number + 1] as number] // below the last
    if (from < to) yield { number, from, to }
  }
}

/** The slots of a hash table for so many rows: at most half full. */
export function tableSlots(rows: number): number {
  return 2 ** Math.max(4, Math.ceil(Math.log2(2 * rows)))
}

/** Rows between two calls of a kernel, so that V8 can replace it while it warms up. */
export const STRIDE = 16_384

export function eachStride(from: number, to: number, run: (from: number, to: number) => void): void {
  for (let at = from; at < to; at += STRIDE) run(at, Math.min(at + STRIDE, to))
}
