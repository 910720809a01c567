/**
 * The sum of selected values in one pass over the rows. The worker that claims a unit of rows selects, waits until it is known how
 * many rows the units before keep, tells the next unit, and adds the chunks that lie in its unit while the columns are
 * still in its cache. A chunk of the fixed tree that a border between units cuts is added in the end, when all rows have their
 * places; claims 0 to n - 1 are units, n to 2n - 1 the borders at their ends.
 *
 * Units are claimed in order, so the unit before is done or being done, and the wait is for its selection alone: a prefix
 * sum with look-back, after Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (2016), with
 * a chain of prefixes where they add up what is missing, since there are few workers.
 */
import { CHUNK } from '../../../core/arrays/fixedTree.ts'
import { BLOCK_ROWS } from '../../kernels/columns/wasmColumns.ts'
import { FOLD_STATE } from '../../kernels/tables/foldKernels.ts'
import { addressAt, putAddress } from '../../memory/addressWords.ts'
import type { WorkerContext } from '../../workers/worker.ts'
import { rowAfter } from './bitmap.ts'
import type { Selection, SentKernel, Values } from './sentKernel.ts'

export interface SelectedSum {
  /** The kernels that select rows, to run one after another, each with the address of its frame. */
  readonly selects: readonly { readonly kernel: SentKernel; readonly frame: number }[]
  /** Addresses: of the number of selected rows of each block; and of a word for each unit, 1 once its rows have their places. */
  readonly counts: number
  readonly placed: number
  /** The selection, which is filled unit by unit. */
  readonly selection: Selection
  readonly values: Values
  /** The address of the sums of chunks. */
  readonly sums: number
}

/** A worker's part: its memory and the functions by which it selects and adds. */
export interface SelectedSumPart {
  readonly context: WorkerContext
  readonly rows: number
  readonly unitRows: number
  /** The fold's state: the sum of the chunk, and all of it as words. */
  readonly state: { readonly value: Float64Array; readonly words: Int32Array }
  /** Selects the rows of a block: writes its bits and its count. */
  readonly select: (from: number, to: number) => void
  /** Adds the selected values of rows of one block. */
  readonly add: (from: number, to: number) => void
}

/** The longest sleep between two checks whether the task was aborted. */
const SLEEP_MS = 20

export function selectedSumPart(work: SelectedSum, part: SelectedSumPart, claim: number): void {
  const { rows, unitRows, context } = part
  const units = Math.ceil(rows / unitRows)
  const blocks = Math.ceil(rows / BLOCK_ROWS)
  const unit = claim % units
  const first = (unit * unitRows) / BLOCK_ROWS
  const last = Math.min(first + unitRows / BLOCK_ROWS, blocks)
  const before = context.arena.view('i32', work.selection.prefix, blocks + 1) as Int32Array
  const placed = context.arena.view('i32', work.placed, units) as Int32Array
  if (claim < units) {
    for (let block = first; block < last; block++) part.select(block * BLOCK_ROWS, Math.min((block + 1) * BLOCK_ROWS, rows))
    if (unit > 0 && !isPlaced(placed, unit - 1, context)) return
    const counts = context.arena.view('i32', work.counts, blocks) as Int32Array
    for (let block = first; block < last; block++) before[block + 1] = (before[block] as number) + (counts[block] as number)
    Atomics.store(placed, unit, 1)
    Atomics.notify(placed, unit)
    const [from, to] = [before[first] as number, before[last] as number]
    addChunks(work, part, { from: Math.ceil(from / CHUNK) * CHUNK, to: Math.floor(to / CHUNK) * CHUNK, first, last })
    return
  }
  if (!isPlaced(placed, units - 1, context)) return
  const border = before[last] as number
  const from = Math.floor(border / CHUNK) * CHUNK
  // where several borders cut a chunk, the first one adds it
  if (from === border || (before[first] as number) > from) return
  addChunks(work, part, { from, to: Math.min(from + CHUNK, before[blocks] as number), first, last: blocks })
}

/** Waits until the rows of a unit have their places; false where the task was aborted. */
function isPlaced(placed: Int32Array, unit: number, { abortFlag }: WorkerContext): boolean {
  while (Atomics.load(placed, unit) === 0) {
    if (Atomics.load(abortFlag, 0) !== 0) return false
    Atomics.wait(placed, unit, 0, SLEEP_MS)
  }
  return true
}

/** Adds the selected values `from` to `to`, beginning at a chunk, which lie in the blocks from `first` to `last`. */
function addChunks(
  { selection, sums }: SelectedSum,
  { context, rows, state, add }: SelectedSumPart,
  { from, to, first, last }: { readonly from: number; readonly to: number; readonly first: number; readonly last: number },
): void {
  if (from >= to) return
  const { arena } = context
  const before = arena.view('i32', selection.prefix, Math.ceil(rows / BLOCK_ROWS) + 1) as Int32Array
  const bits = arena.view('u32', selection.bitmap, Math.ceil(rows / 32)) as Uint32Array
  const { value, words } = state
  value[0] = 0
  words[FOLD_STATE.filled / 4] = 0
  putAddress(words, FOLD_STATE.out / 4, sums + 8 * (from / CHUNK))
  let at = from
  for (let block = blockOf(before, at, first, last); at < to; block++) {
    const start = block * BLOCK_ROWS
    const inBlock = (before[block + 1] as number) - at // block < last while values are missing
    if (inBlock === 0) continue
    const taken = Math.min(inBlock, to - at)
    const skipped = at - (before[block] as number)
    const firstRow = skipped === 0 ? start : rowAfter(bits, start, skipped)
    const endRow = taken === inBlock ? Math.min(start + BLOCK_ROWS, rows) : rowAfter(bits, start, skipped + taken)
    add(firstRow, endRow)
    at += taken
  }
  // the last chunk may not be full
  if (words[FOLD_STATE.filled / 4] !== 0) arena.view('f64', addressAt(words, FOLD_STATE.out / 4), 1)[0] = value[0] as number
}

/** The block, between `first` and `last`, that has the selected value number `at`. */
function blockOf(before: Int32Array, at: number, first: number, last: number): number {
  let [low, high] = [first, last]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((before[middle] as number) <= at) low = middle
    else high = middle
  }
  return low
}
