/**
 * Aggregates of the groups of a partition. Its rows are in row order, so every sum follows the fixed tree of its group. Results go to
 * columns that all partitions share, at the ranks of the groups.
 */
import { CHUNK, combinePairwise } from '../../../../core/arrays/fixedTree.ts'
import type { Aggregate } from '../../../../planner/physical/physicalPlan.ts'
import { FRAME, frameBytes, type KernelType } from '../../../kernels/tables/groupFrame.ts'
import { foldKernel, type KernelFold, LOG_ENTRY_BYTES, type RecordLayout, recordLayout } from '../../../kernels/tables/groupKernels.ts'
import {
  distinctKernel,
  groupOfKernel,
  numbersKernel,
  type ResultForm,
  rankedKernel,
  resultsKernel,
} from '../../../kernels/tables/partitionKernels.ts'
import { addressAt, putAddress } from '../../../memory/addressWords.ts'
import type { Arena } from '../../../memory/arena.ts'
import { arenaKernel } from '../arenaKernels.ts'
import { fill, foldWord } from './groupMemory.ts'
import { statisticOf } from './groupStatistics.ts'
import { type ComparedColumn, eachStride, type Partition, type Partitions, tableSlots } from './radixPartitions.ts'

/** Addresses of an aggregate's results by rank: doubles in `out`, and in `present` the number of values (0 where no group can be without). */
export interface ResultPlace {
  readonly out: number
  readonly present: number
}

/** The addresses of a column of numbers. */
interface NumbersColumn {
  readonly type: KernelType
  readonly values: number
  /** The validity bitmap; 0 where no value is null. */
  readonly bits: number
}

export interface PartitionFold extends NumbersColumn, ResultPlace {
  readonly kind: 'sum' | 'mean' | 'min' | 'max' | 'count'
}

export interface PartitionNumbers extends NumbersColumn {
  readonly calls: readonly (ResultPlace & { readonly call: Aggregate })[]
}

export interface PartitionDistinct extends ComparedColumn {
  /** The address of the hash of each row's value. */
  readonly hashes: number
  readonly out: number
}

export interface PartitionFolds extends Partitions {
  readonly kind: 'folds'
  readonly ranks: number
  readonly folds: readonly PartitionFold[]
  /** The addresses to which the number of rows of each group goes, as doubles by rank. */
  readonly rowCounts: readonly number[]
  /** The address to which they go as integers; 0 where they are not needed. */
  readonly listCounts: number
  readonly numbers: readonly PartitionNumbers[]
  readonly distinct: readonly PartitionDistinct[]
  /** The address to which the group of each row goes; 0 where it is not needed. */
  readonly groupOf: number
  readonly scratch: FoldScratch
}

/** The addresses of a worker's scratch memory. */
export interface FoldScratch {
  readonly frame: number
  readonly records: number
  readonly log: number
  readonly numbers: number
  readonly next: number
  readonly table: number
}

/** The bytes of each part of the scratch memory for partitions of at most so many rows and groups. */
export function scratchSizes(
  { folds, numbers, distinct }: Pick<PartitionFolds, 'folds' | 'numbers' | 'distinct'>,
  { rows, groups }: { readonly rows: number; readonly groups: number },
): { readonly [K in keyof FoldScratch]: number } {
  return {
    frame: frameBytes(folds.length),
    records: recordLayout(folds.map(kernelFold)).bytes * groups,
    log: (Math.floor(rows / CHUNK) + 1) * LOG_ENTRY_BYTES * folds.length,
    numbers: numbers.length === 0 ? 0 : 8 * rows,
    next: numbers.length + distinct.length === 0 ? 0 : 4 * groups,
    table: distinct.length === 0 ? 0 : 4 * tableSlots(rows),
  }
}

export function kernelFold({ kind, type, bits }: Pick<PartitionFold, 'kind' | 'type' | 'bits'>): KernelFold {
  const nulls = bits !== 0
  return { kind: kind === 'mean' ? 'sum' : kind, type, nulls, counts: nulls && kind !== 'sum' }
}

export function foldPartitions(work: PartitionFolds, partitions: Iterable<Partition>, arena: Arena): void {
  for (const partition of partitions) new Folding(work, partition, arena).run()
}

class Folding {
  private readonly work: PartitionFolds
  private readonly partition: Partition
  private readonly arena: Arena
  private readonly size: number
  /** Addresses of the first row of each of the partition's groups, and of the groups' numbers of rows. */
  private readonly firsts: number
  private readonly counts: number

  constructor(work: PartitionFolds, partition: Partition, arena: Arena) {
    this.work = work
    this.partition = partition
    this.arena = arena
    this.size = arena.view('i32', work.sizes + 4 * partition.number, 1)[0] as number
    this.firsts = work.firsts + 4 * partition.from
    this.counts = work.counts + 4 * partition.from
  }

  run(): void {
    const { work, arena, size, firsts, partition } = this
    const ranked = arenaKernel(arena, 'partition ranked', rankedKernel)
    eachStride(0, size, (a, b) => ranked(firsts, a, b, work.ranks))
    for (const out of work.rowCounts) this.put('number', { source: this.counts, step: 4, out })
    if (work.listCounts !== 0) this.put('count', { source: this.counts, step: 4, out: work.listCounts })
    if (work.folds.length > 0) this.folds()
    for (const numbers of work.numbers) this.statistics(numbers)
    for (const distinct of work.distinct) this.different(distinct)
    if (work.groupOf === 0) return
    const groupOf = arenaKernel(arena, 'partition group of', groupOfKernel)
    eachStride(partition.from, partition.to, (a, b) => groupOf(work.rows, work.codes, a, b, firsts, work.groupOf))
  }

  private put(
    form: ResultForm,
    { source, step, out, counts = 0, countStep = 0 }: { source: number; step: number; out: number; counts?: number; countStep?: number },
  ): void {
    const put = arenaKernel(this.arena, `partition results ${form}`, () => resultsKernel(form))
    eachStride(0, this.size, (a, b) => put(this.firsts, a, b, source + step * a, step, out, counts + countStep * a, countStep))
  }

  private folds(): void {
    const { work, arena, partition } = this
    const { folds, scratch } = work
    const kernels = folds.map(kernelFold)
    const layout = recordLayout(kernels)
    this.prepare(layout)
    const words = arena.view('i32', scratch.frame, frameBytes(folds.length) / 4) as Int32Array
    fill(words, { records: scratch.records, log: scratch.log })
    fill(words, { codes: work.codes + 4 * partition.from, selection: work.rows + 4 * partition.from })
    for (const [f, { values, bits }] of folds.entries()) {
      putAddress(words, foldWord(f), values)
      putAddress(words, foldWord(f) + 2, bits)
    }
    const fold = arenaKernel(arena, `partition fold ${JSON.stringify(kernels)}`, () => foldKernel(kernels))
    eachStride(0, partition.to - partition.from, (a, b) => fold(scratch.frame, a, b))
    this.combineChunks(layout, (addressAt(words, FRAME.log / 4) - scratch.log) / LOG_ENTRY_BYTES)
    const step = layout.bytes
    for (const [f, { kind, out, present }] of folds.entries()) {
      const own = layout.count[f]
      const counts = own === undefined ? { counts: this.counts, countStep: 4 } : { counts: scratch.records + own, countStep: step }
      const source = scratch.records + (layout.value[f] ?? 0)
      if (kind === 'count') this.put('number', { source: counts.counts, step: counts.countStep, out })
      else this.put(kind === 'mean' ? 'mean' : 'value', { source, step, out, ...counts })
      if (present !== 0) this.put('count', { source: counts.counts, step: counts.countStep, out: present })
    }
  }

  private prepare(layout: RecordLayout): void {
    const { work, arena, size } = this
    const { records } = work.scratch
    const words = arena.view('i32', records, (layout.bytes * size) / 4) as Int32Array
    const numbers = arena.view('f64', records, (layout.bytes * size) / 8) as Float64Array
    words.fill(0)
    for (const [f, { kind }] of work.folds.entries()) {
      if (kind !== 'min' && kind !== 'max') continue
      const first = kind === 'min' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
      for (let at = (layout.value[f] ?? 0) / 8; at < numbers.length; at += layout.bytes / 8) numbers[at] = first
    }
    for (const left of [layout.sharedLeft, ...layout.left]) {
      if (left === undefined) continue
      for (let at = left / 4; at < words.length; at += layout.bytes / 4) words[at] = CHUNK
    }
  }

  /** Combines the chunk sums of the log pairwise, for groups that have full chunks; the open chunk is the last. */
  private combineChunks(layout: RecordLayout, entries: number): void {
    if (entries === 0) return
    const { work, arena, size } = this
    const { records, log } = work.scratch
    const words = arena.view('i32', records, (layout.bytes * size) / 4) as Int32Array
    const numbers = arena.view('f64', records, (layout.bytes * size) / 8) as Float64Array
    const [heads, sums] = [arena.view('i32', log, 4 * entries), arena.view('f64', log, 2 * entries)]
    const chunks = work.folds.map(() => new Map<number, number[]>())
    for (let i = 0; i < entries; i++) {
      const [group, f] = [heads[4 * i] as number, heads[4 * i + 1] as number] // i < entries
      const lists = chunks[f] as Map<number, number[]>
      const list = lists.get(group)
      if (list === undefined) lists.set(group, [sums[2 * i + 1] as number])
      else list.push(sums[2 * i + 1] as number)
    }
    for (const [f, lists] of chunks.entries()) {
      const left = layout.left[f] ?? layout.sharedLeft
      for (const [group, list] of lists) {
        const at = (group * layout.bytes + (layout.value[f] ?? 0)) / 8
        if ((words[(group * layout.bytes + left) / 4] as number) < CHUNK) list.push(numbers[at] as number) // inside the record
        numbers[at] = combinePairwise(list, (a, b) => a + b) as number // a list in the map is not empty
      }
    }
  }

  private statistics({ type, values, bits, calls }: PartitionNumbers): void {
    const { work, arena, size, partition } = this
    const { rows, codes, scratch } = work
    const next = arena.view('i32', scratch.next, size) as Int32Array
    const counts = arena.view('i32', this.counts, size) as Int32Array
    const starts = new Int32Array(size)
    for (let g = 1; g < size; g++) starts[g] = (starts[g - 1] as number) + (counts[g - 1] as number) // g < size
    next.set(starts)
    const place = arenaKernel(arena, `partition numbers ${type} ${bits !== 0}`, () => numbersKernel(type, bits !== 0))
    eachStride(partition.from, partition.to, (a, b) => place(rows, codes, a, b, values, bits, scratch.next, scratch.numbers))
    const numbers = arena.view('f64', scratch.numbers, partition.to - partition.from) as Float64Array
    const ranks = arena.view('i32', this.firsts, size) as Int32Array
    // quantiles change the order of the numbers, so they come last
    for (const { call, out, present } of [...calls].sort(
      (a, b) => Number(a.call.kind === 'quantile') - Number(b.call.kind === 'quantile'),
    )) {
      const statistic = statisticOf(call)
      let most = 0
      for (let g = 0; g < size; g++) most = Math.max(most, ranks[g] as number) // g < size
      const results = arena.view('f64', out, most + 1)
      const found = arena.view('i32', present, most + 1)
      for (let g = 0; g < size; g++) {
        const result = statistic?.(numbers.subarray(starts[g], next[g]))
        const rank = ranks[g] as number
        results[rank] = result ?? 0
        found[rank] = result === null || result === undefined ? 0 : 1
      }
    }
  }

  private different({ hashes, out, ...column }: PartitionDistinct): void {
    const { work, arena, size, partition } = this
    const { scratch } = work
    const { form, nullable, values, offsets, bits } = column
    const slots = tableSlots(partition.to - partition.from)
    ;(arena.view('i32', scratch.table, slots) as Int32Array).fill(0)
    ;(arena.view('i32', scratch.next, size) as Int32Array).fill(0)
    const find = arenaKernel(arena, `partition distinct ${form} ${nullable}`, () => distinctKernel({ form, nullable }))
    eachStride(partition.from, partition.to, (a, b) =>
      find(work.rows, work.codes, a, b, slots - 1, scratch.table, hashes, scratch.next, values, offsets, bits),
    )
    this.put('number', { source: scratch.next, step: 4, out })
  }
}
