/**
 * A worker's part of a column program: it claims units of rows until none is left and runs kernels over them.
 *
 *     blocks     a kernel over blocks of rows: it selects, or writes values to their final place
 *     sum        values of all rows added by the fixed tree: a unit is some chunks
 *     selectedSum   the same of selected rows, which it selects: see `selectedSum.ts`
 *     reduce     the least or the most of the selected values, or the sum of integers: in any order
 *     compact    values of selected rows end to end
 *     ends, texts   the same of text, in two passes: see `textTask.ts`
 *     groups     aggregates by group: see `groupPass.ts`
 *
 * The result of a unit does not depend on the worker: sums go to the place of their chunk, compacted values to the place that the
 * counts of the blocks before give.
 */
import { CHUNK } from '../../../core/arrays/fixedTree.ts'
import { once } from '../../../core/once.ts'
import { bucketStart } from '../../../core/time/bucket.ts'
import { localClock } from '../../../core/time/zone.ts'
import { importedBucket } from '../../kernels/columns/columnBuckets.ts'
import { isLocalImport } from '../../kernels/columns/columnCalendar.ts'
import { BLOCK_ROWS } from '../../kernels/columns/wasmColumns.ts'
import { functionOfNumbers } from '../../kernels/expressions/imported.ts'
import { FOLD_STATE, FOLD_STATE_BYTES, type FoldName } from '../../kernels/tables/foldKernels.ts'
import { putAddress } from '../../memory/addressWords.ts'
import type { TaskHandler, WorkerContext } from '../../workers/worker.ts'
import { type ComputedColumn, type GroupPass, type GroupPassPart, groupPassPart } from './groups/groupPass.ts'
import { type SelectedSum, type SelectedSumPart, selectedSumPart } from './selectedSum.ts'
import type { BoundKernel, Selection, SentKernel, Values } from './sentKernel.ts'
import { type CompactedText, textBytes, textEnds } from './texts/textTask.ts'

/** A column (and its bitmap), or an output of the kernel, and the addresses to which the values and bits of its selected rows go. */
export interface Compacted {
  readonly from: { readonly address: number; readonly validity?: number } | { readonly output: number }
  /** The width of values and the address they go to; absent for text, whose bytes `textTask.ts` puts end to end. */
  readonly values?: { readonly log2Bytes: number; readonly to: number }
  /** The address of a zeroed bitmap for the bits of values that are not null; absent where none can be null. */
  readonly validity?: number
}

/** Reductions whose result does not depend on the order of the values. */
export type Reduction = 'least' | 'most' | 'least64' | 'most64' | 'sum64'

export type ColumnWork =
  | { readonly kind: 'blocks'; readonly kernel: BoundKernel }
  | { readonly kind: 'sum'; readonly values: Values; readonly sums: number }
  | ({ readonly kind: 'selectedSum' } & SelectedSum)
  | { readonly kind: 'reduce'; readonly which: Reduction; readonly values: Values; readonly selection: Selection }
  | { readonly kind: 'compact'; readonly kernel?: BoundKernel; readonly columns: readonly Compacted[]; readonly selection: Selection }
  | ({ readonly kind: 'groups' } & GroupPass)
  | { readonly kind: 'ends' | 'texts'; readonly columns: readonly CompactedText[]; readonly selection: Selection }

export function kernelOf(work: ColumnWork): BoundKernel | undefined {
  if ('values' in work) return 'kernel' in work.values ? work.values.kernel : undefined
  return 'kernel' in work ? work.kernel : undefined
}

export interface ColumnTask {
  readonly work: ColumnWork
  readonly folds: Readonly<Partial<Record<FoldName, SentKernel>>>
  readonly rows: number
  /** Rows, or selected values, of a unit: a multiple of four blocks. */
  readonly unitRows: number
  readonly units: number
  /** The address of the counter of the next unit to claim. */
  readonly claims: number
  /** The address of the worker's scratch memory: see `scratchBytes`. */
  readonly scratch: number
  /** The worker's number, from 0 on. */
  readonly number: number
  /** The most units of the task; fewer than all on the caller's thread, where it has to return to the event loop. */
  readonly most: number
}

/** Blocks whose values are computed before they are added: `sum4` adds four at a time. */
const BLOCKS_AT_ONCE = 4

/** Bytes of a block's bitmap, and of the word in which its bits are counted. */
const BITS_BYTES = BLOCK_ROWS / 8 + 8

/** Bytes of a worker's scratch memory: a fold's state, a frame, bits and values of a block for each output (four blocks for a sum), a group pass's frame. */
export function scratchBytes(work: ColumnWork): number {
  return passFrameAt(work) + (work.kind === 'groups' ? 4 * (work.placing?.frame.length ?? 0) : 0)
}

/** The offset of the frame of a group pass in the scratch memory. */
function passFrameAt(work: ColumnWork): number {
  const { frame, outputs } = kernelOf(work) ?? { frame: [], outputs: [] }
  const values = 8 * BLOCK_ROWS * (outputs.length === 1 ? BLOCKS_AT_ONCE : outputs.length)
  return FOLD_STATE_BYTES + 8 * (frame.length + (frame.length % 2)) + BITS_BYTES * outputs.length + values
}

type Run = (...args: number[]) => void

/** The result of `reduce` over this worker's values: a double or a 64-bit integer, for a sum an integer of any size. */
export type ColumnResult = number | bigint | undefined

export const columnTask: TaskHandler = (payload, context) => new ColumnWorker(payload as ColumnTask, context).run()

// the driver sends nothing else

class ColumnWorker {
  private readonly task: ColumnTask
  private readonly context: WorkerContext
  private readonly frame: number
  private readonly buffers: number
  private readonly kernel: Run
  private readonly outputs: BoundKernel['outputs']
  private readonly bits: number
  private readonly slots: Int32Array
  private readonly folds = new Map<FoldName, Run>()

  constructor(task: ColumnTask, context: WorkerContext) {
    this.task = task
    this.context = context
    const { work } = task
    const kernel = kernelOf(work)
    const length = kernel?.frame.length ?? 0
    this.frame = task.scratch + FOLD_STATE_BYTES
    this.bits = this.frame + 8 * (length + (length % 2))
    this.buffers = this.bits + BITS_BYTES * (kernel?.outputs.length ?? 0)
    this.slots = context.arena.view('i32', this.frame, 2 * length) as Int32Array
    if (kernel !== undefined) (context.arena.view('f64', this.frame, length) as Float64Array).set(kernel.frame)
    this.outputs = kernel?.outputs ?? []
    this.kernel = kernel === undefined ? () => undefined : instance(kernel, context)
    for (const [name, fold] of Object.entries(task.folds)) this.folds.set(name as FoldName, instance(fold, context))
  }

  run(): ColumnResult {
    const { task, context } = this
    const { work } = task
    const claims = context.arena.view('i32', task.claims, 1) as Int32Array
    if (work.kind === 'groups') {
      groupPassPart(work, this.passOf(work, claims))
      return undefined
    }
    if (work.kind === 'reduce') this.start(work.which)
    for (let done = 0; done < task.most; done++) {
      if (Atomics.load(context.abortFlag, 0) !== 0) return undefined
      const unit = Atomics.add(claims, 0, 1)
      if (unit >= task.units) break
      this.unit(unit)
    }
    return work.kind === 'reduce' ? this.found(work.which) : undefined
  }

  private start(which: Reduction): void {
    const big = this.context.arena.view('i64', this.task.scratch, 2) as BigInt64Array
    switch (which) {
      case 'least':
      case 'most':
        this.state().value[0] = which === 'least' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
        break
      case 'least64':
      case 'most64':
        big[0] = which === 'least64' ? 2n ** 63n - 1n : -(2n ** 63n)
        break
      case 'sum64':
        big.fill(0n)
    }
  }

  private found(which: Reduction): ColumnResult {
    const [low = 0n, high = 0n] = this.context.arena.view('i64', this.task.scratch, 2) as BigInt64Array
    if (which === 'sum64') return (high << 32n) + low
    return which === 'least64' || which === 'most64' ? low : this.state().value[0]
  }

  private unit(unit: number): void {
    const { work } = this.task
    switch (work.kind) {
      case 'blocks':
        this.eachBlock(unit, (from, to) => this.kernel(this.frame, from, to))
        break
      case 'sum':
        this.sumAll(unit, work.values, work.sums)
        break
      case 'selectedSum':
        selectedSumPart(work, this.partOf(work), unit)
        break
      case 'groups':
        break // units are claimed in `groupPass.ts`
      case 'reduce':
        this.eachBlock(unit, (from, to) => {
          this.fold(work.which)(this.valuesOf(work.values, from, to), work.selection.bitmap, from, to, this.task.scratch)
        })
        break
      case 'compact':
        this.compact(unit, work.columns, work.selection)
        break
      case 'ends':
      case 'texts':
        this.texts(unit, work.columns, work.selection, work.kind === 'ends' ? textEnds : textBytes)
    }
  }

  private eachBlock(unit: number, run: (from: number, to: number) => void): void {
    const end = Math.min((unit + 1) * this.task.unitRows, this.task.rows)
    for (let from = unit * this.task.unitRows; from < end; from += BLOCK_ROWS) run(from, Math.min(from + BLOCK_ROWS, end))
  }

  /** Computes the values of these rows, if they are no column; returns the address at which row 0 would lie. */
  private valuesOf(values: Values, from: number, to: number, into = 0): number {
    if ('address' in values) return values.address
    const first = from - (from % BLOCK_ROWS)
    const origin = this.buffers + 8 * BLOCK_ROWS * into - 8 * first
    putAddress(this.slots, 2 * (this.outputs[0]?.values ?? 0), origin)
    this.kernel(this.frame, from - (from % 32), to)
    return origin
  }

  /** Adds whole chunks four at a time, the rest one by one. */
  private sumAll(unit: number, values: Values, sums: number): void {
    const from = unit * this.task.unitRows
    const end = Math.min(from + this.task.unitRows, this.task.rows)
    for (let row = from; row < end; row += BLOCKS_AT_ONCE * BLOCK_ROWS) {
      const out = sums + 8 * (row / CHUNK)
      const blocks = Math.ceil(Math.min(end - row, BLOCKS_AT_ONCE * BLOCK_ROWS) / BLOCK_ROWS)
      for (let i = 0; i < blocks; i++) {
        const at = row + i * BLOCK_ROWS
        this.valuesOf(values, at, Math.min(at + BLOCK_ROWS, end), i)
      }
      const base = 'address' in values ? values.address + 8 * row : this.buffers
      if (end - row >= BLOCKS_AT_ONCE * BLOCK_ROWS) this.fold('sum4')(base, out)
      else this.sumRest(base, Math.min(end, row + BLOCKS_AT_ONCE * BLOCK_ROWS) - row, out)
    }
  }

  private sumRest(base: number, count: number, out: number): void {
    const values = this.context.arena.view('f64', base, count)
    const sums = this.context.arena.view('f64', out, Math.ceil(count / CHUNK))
    for (let from = 0; from < count; from += CHUNK) {
      let sum = 0
      for (let i = from; i < Math.min(from + CHUNK, count); i++) sum += values[i] as number // i < count
      sums[from / CHUNK] = sum
    }
  }

  /** The worker's part in a sum of selected values. */
  private partOf({ selects, values, selection }: SelectedSum): SelectedSumPart {
    const { context, task } = this
    const runs = selects.map(({ kernel, frame }) => [instance(kernel, context), frame] as const)
    return {
      context,
      rows: task.rows,
      unitRows: task.unitRows,
      state: this.state(),
      select: (from, to) => {
        for (const [run, frame] of runs) run(frame, from, to)
      },
      add: (from, to) => this.fold('sum')(this.valuesOf(values, from, to), selection.bitmap, from, to, task.scratch),
    }
  }

  /** The worker's part in a group pass. */
  private passOf(work: Extract<ColumnWork, { kind: 'groups' }>, claims: Int32Array): GroupPassPart {
    const { context, task } = this
    return {
      ...{ context, claims, rows: task.rows, units: task.units, number: task.number, most: task.most },
      placing: task.scratch + passFrameAt(work),
      run: (kernel) => instance(kernel, context),
      slots: this.slots,
      kernel: (from, to) => this.kernel(this.frame, from, to),
      compute: (computed, from, to) => {
        const origin = ({ output, log2Bytes }: ComputedColumn): number => this.buffers + 8 * BLOCK_ROWS * output - 2 ** log2Bytes * from
        for (const column of computed) putAddress(this.slots, 2 * (this.outputs[column.output]?.values ?? 0), origin(column))
        this.kernel(this.frame, from, to)
        return origin
      },
    }
  }

  private compact(unit: number, columns: readonly Compacted[], { bitmap, prefix }: Selection): void {
    const before = this.context.arena.view('i32', prefix, Math.ceil(this.task.rows / BLOCK_ROWS) + 1) as Int32Array
    this.eachBlock(unit, (from, to) => {
      const block = from / BLOCK_ROWS
      if (before[block] === before[block + 1]) return
      for (const [output, { values, validity, counts }] of this.outputs.entries()) {
        putAddress(this.slots, 2 * values, this.origin(columns, output, from))
        if (validity !== undefined) putAddress(this.slots, 2 * validity, this.bitsOrigin(output, from))
        if (counts !== undefined) putAddress(this.slots, 2 * counts, this.bits + BITS_BYTES * output + BLOCK_ROWS / 8 - 4 * block)
      }
      this.kernel(this.frame, from, to)
      for (const { from: source, values, validity } of columns) {
        if (values !== undefined) {
          const base = 'address' in source ? source.address : this.origin(columns, source.output, from)
          const place = values.to + (before[block] as number) * 2 ** values.log2Bytes
          this.fold(compactFold(values))(base, bitmap, from, to, place)
        }
        if (validity === undefined) continue
        const { words: state } = this.state()
        putAddress(state, FOLD_STATE.target / 4, validity)
        state[FOLD_STATE.at / 4] = before[block] as number
        const bits = 'address' in source ? (source.validity ?? 0) : this.bitsOrigin(source.output, from)
        this.fold('compactBits')(bits, bitmap, from, to, this.task.scratch)
      }
    })
  }

  private texts(unit: number, columns: readonly CompactedText[], { bitmap, prefix }: Selection, copy: typeof textEnds): void {
    const { arena } = this.context
    const selected = arena.view('i32', prefix, Math.ceil(this.task.rows / BLOCK_ROWS) + 1) as Int32Array
    this.eachBlock(unit, (from, to) => {
      const block = from / BLOCK_ROWS
      const before = selected[block] as number
      const count = (selected[block + 1] as number) - before // block is one of the blocks
      if (count > 0) for (const column of columns) copy(arena, column, { bitmap, block, from, to, before, count })
    })
  }

  /** The address at which row 0 of an output's values would lie when those of the block at `from` are in its buffer. */
  private origin(columns: readonly Compacted[], output: number, from: number): number {
    const bytes = 2 ** (columns.find((column) => 'output' in column.from && column.from.output === output)?.values?.log2Bytes ?? 3)
    return this.buffers + 8 * BLOCK_ROWS * output - bytes * from
  }

  /** The address at which the bit of row 0 would lie. */
  private bitsOrigin(output: number, from: number): number {
    return this.bits + BITS_BYTES * output - from / 8
  }

  private fold(name: FoldName): Run {
    return this.folds.get(name) as Run // the driver sends those its work needs
  }

  /** The fold's state: its value, and all of it as words. */
  private state(): { readonly value: Float64Array; readonly words: Int32Array } {
    const { arena } = this.context
    const { scratch } = this.task
    return { value: arena.view('f64', scratch, 1) as Float64Array, words: arena.view('i32', scratch, FOLD_STATE_BYTES / 4) as Int32Array }
  }
}

const COMPACT = ['compact1', 'compact2', 'compact4', 'compact8'] as const

/** The fold that puts values of this size end to end. */
export function compactFold({ log2Bytes }: { readonly log2Bytes: number }): FoldName {
  return COMPACT[log2Bytes] ?? 'compact8'
}

const KEPT_INSTANCES = 256

/** Instantiates the kernel on this thread. */
export function runsHere({ module, functions }: SentKernel, { memory }: WorkerContext['arena']): Run {
  const imports: Record<string, WebAssembly.ImportValue> = { memory }
  for (const imported of functions) imports[imported] = importedFunction(imported)
  return new WebAssembly.Instance(module, { k: imports }).exports.run as Run // what every kernel exports
}

function instance(kernel: SentKernel, { cache, arena }: WorkerContext): Run {
  const name = `columns ${kernel.key}`
  let run = cache.get(name) as Run | undefined // nothing else has such a name
  if (run === undefined) {
    run = runsHere(kernel, arena)
    const old = [...cache.keys()].filter((other) => other.startsWith('columns '))
    if (old.length >= KEPT_INSTANCES) cache.delete(old[0] as string)
    cache.set(name, run)
  }
  return run
}

/** The clock in local time of this thread, with what it has found out, for all kernels. */
const localTime = once(localClock)

/** The function that a kernel imports: JavaScript's own, what clocks show in local time, or the library's for buckets in a time zone. */
function importedFunction(name: string): (...args: number[]) => number {
  if (isLocalImport(name)) return localTime() as (...args: number[]) => number
  const bucket = importedBucket(name.slice(0, name.lastIndexOf('/')))
  return bucket === undefined ? functionOfNumbers(name) : (bucketStart(...bucket) as (...args: number[]) => number)
}
