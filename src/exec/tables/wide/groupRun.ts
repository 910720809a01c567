/**
 * A group-by on all workers: rows are partitioned by their key, and one worker does all of a partition, in row order.
 *
 *     codes     each worker, a range of the rows: the place of the key where keys are whole numbers in dense ranges
 *               (`keyWindows.ts`), else its hash; rows are counted by partition, the highest bits of the code
 *     scatter   each worker, a range of the rows: every row to its partition
 *     groups    partitions that are claimed: the group of every row, by a table that fits the caches
 *     ranks     each worker, a range of the rows: groups are numbered in order of first appearance
 *     folds     partitions that are claimed: aggregates, each to the place of its group (`exec/tables/operators/groupBy/partitionFolds.ts`)
 *     lists     partitions that are claimed: the rows of each group end to end, where values are collected; all workers then gather them
 *
 * A group lies in one partition, where its rows are in order, so sums follow the fixed tree of the group whichever worker takes
 * the partition, and nothing has to be merged. Aggregates without a kernel (modes, extremes of texts) are one task each, from
 * the group of every row.
 */
import type { Column } from '../../../core/data/column.ts'
import { concatColumns, isConcatFree } from '../../../core/data/columnConcat.ts'
import { convertColumn, unifyTypes } from '../../../core/data/columnConversions.ts'
import type { ColumnType } from '../../../core/data/schema.ts'
import { MemoryError } from '../../../core/errors.ts'
import type { Aggregate, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import { FRAME } from '../../kernels/tables/groupFrame.ts'
import { ResultBlocks } from '../columns/resultBlocks.ts'
import { type ExecBatch, hiddenBatch } from '../operators/batches.ts'
import { fill, fillParts, fillWindows, GroupMemory, kernelParts } from '../operators/groupBy/groupMemory.ts'
import { groupRows } from '../operators/groupBy/hashAggregate.ts'
import { scratchSizes } from '../operators/groupBy/partitionFolds.ts'
import type { PartitionWork } from '../operators/groupBy/partitionTask.ts'
import { type ComparedColumn, type Partitions, tableSlots } from '../operators/groupBy/radixPartitions.ts'
import { keyParts, placesIn, type Window, windowsOf } from '../operators/hashing/keyWindows.ts'
import { allOf } from '../scheduler.ts'
import { gatheredColumns } from './gatherRun.ts'
import type { SortedServices } from './sortedBatches.ts'
import { placesOf, type Range, rangesOf, SortRun } from './sortRun.ts'
import { comparedColumn, Wanted } from './wantedFolds.ts'

export interface GroupServices extends SortedServices {
  /** The size of the sample of keys that dense key ranges are guessed from. */
  readonly keysLookedAt?: number
  /** Rows of a partition, or places of dense key ranges. */
  readonly partitionRows?: number
}

/** Rows of a partition for which its hash table and its groups' records fit a core's cache. */
const PARTITION_ROWS = 2 ** 15
/** Binary logarithm of the most partitions: a scatter writes to each, and all their cache lines have to stay in the core's cache. */
const MOST_PARTITION_BITS = 9
/** The least number of partitions for each worker, so that all have about equal work. */
const PARTITIONS_PER_WORKER = 8

/** The groups of at least one row, in order of first appearance, with aggregates; undefined for keys that kernels do not compare, or where memory is short. */
export async function groupedRows(
  { aggregates, method, hasNullKeys }: Extract<WideOperator, { kind: 'HashAggregateExec' }>,
  batches: readonly ExecBatch[],
  services: GroupServices,
): Promise<ExecBatch | undefined> {
  const filled = batches.filter((batch) => batch.length > 0)
  if (!filled.every((batch) => isCompared(batch.hidden?.[0]))) return undefined
  const [key, ...columns] = await hiddenColumns(filled, services)
  if (key === undefined) return undefined
  const run = new GroupRun(key, services)
  const blocks = new ResultBlocks(services.arena, 'HashAggregateExec')
  try {
    const groups = await run.groups()
    const results = await run.aggregated(aggregates, columns, groups, blocks)
    const [found] = await gathered(key, groups, services, blocks)
    services.hold(blocks.handedOver())
    return groupRows(found as Column, { method: method ?? 'agg', named: aggregates, columns: results, hasNullKeys }) // gathered of one
  } catch (error) {
    blocks.freeAll()
    if (error instanceof MemoryError && services.isBounded !== true) return undefined // one task needs less at a time
    throw error
  } finally {
    run.end()
  }
}

/** Whether kernels can hash and compare the key, or it has nothing but nulls. */
export function isCompared(key: Column | undefined): boolean {
  if (key === undefined) return false
  if (key.type.kind === 'struct')
    return key.validity === undefined && (key.children ?? []).every((child) => child.type.kind !== 'struct' && isCompared(child))
  return key.type.kind !== 'list' && key.type.kind !== 'object'
}

/** Concatenates each hidden column of all batches; on a worker where that copies. */
export async function hiddenColumns(batches: readonly ExecBatch[], { run }: Pick<GroupServices, 'run'>): Promise<readonly Column[]> {
  const pieces = (batches[0]?.hidden ?? []).map((_, i) => {
    const parts = batches.map((batch) => batch.hidden?.[i] ?? { type: NULL_TYPE, length: batch.length })
    const type = parts.map((part) => part.type).reduce((a, b) => unifyTypes(a, b, 'key'), NULL_TYPE)
    return parts.map((part) => convertColumn(part, type))
  })
  if (batches.length === 1 || pieces.every(isConcatFree)) return pieces.map((parts) => concatColumns(parts, 'key'))
  const [whole] = await run({ kind: 'together', batches: batches.map((_, b) => hiddenBatch(pieces.map((parts) => parts[b] as Column))) })
  return whole?.hidden ?? []
}

const NULL_TYPE: ColumnType = { kind: 'null' }

async function gathered(key: Column, groups: Groups, services: GroupServices, blocks: ResultBlocks): Promise<readonly Column[]> {
  const run = new SortRun(services)
  try {
    return await gatheredColumns([key], { address: groups.order, length: groups.length }, run, { workers: services.workers, blocks })
  } finally {
    run.end()
  }
}

interface Groups {
  readonly length: number
  /** The address of the first row of each group, in order. */
  readonly order: number
  /** The address of the group number of each row that is the first of its group. */
  readonly ranks: number
  readonly partitions: Omit<Partitions, 'claims'>
  /** The most rows, and the most groups, that a partition has. */
  readonly most: { readonly rows: number; readonly groups: number }
}

/** The codes of the rows, and how they are partitioned by them. */
interface Coding {
  readonly how: { readonly kind: 'hashed'; readonly parts: readonly ComparedColumn[] } | { readonly kind: 'placed' }
  readonly shift: number
  readonly partitions: number
  readonly codes: number
  readonly counts: number
}

export class GroupRun {
  private readonly key: Column
  private readonly services: GroupServices
  private readonly memory: GroupMemory
  private readonly ranges: readonly Range[]
  constructor(key: Column, services: GroupServices, operator: WideOperator['kind'] = 'HashAggregateExec') {
    this.key = key
    this.services = services
    this.memory = new GroupMemory(services.arena, operator)
    this.ranges = rangesOf(key.length, services.workers)
  }

  end(): void {
    this.memory.end()
  }

  async groups(): Promise<Groups> {
    const { key, memory, ranges } = this
    const rows = key.length
    const coding = (await this.placed()) ?? (await this.hashed())
    const starts = placesOf(memory.integers(coding.counts, coding.partitions * ranges.length), coding.partitions)
    const [listed, codes] = [memory.room(4 * rows), memory.room(4 * rows)]
    await this.together(
      ranges.map((range, r) => ({
        ...{ kind: 'scatter', ...range, codes: coding.codes, shift: coding.shift, rows: listed, out: codes },
        places: coding.counts + 4 * coding.partitions * r,
      })),
    )
    const [firsts, counts, flags] = [memory.room(4 * rows), memory.room(4 * rows), memory.block(rows)]
    const sizes = memory.block(4 * coding.partitions)
    const partitions = { starts, rows: listed, codes, firsts, counts, sizes }
    const { how, shift } = coding
    const mostRows = starts.reduce((most, start, p) => (p === 0 ? most : Math.max(most, start - (starts[p - 1] as number))), 0)
    const claims = memory.block(4)
    const table = (): number => memory.room(4 * (how.kind === 'placed' ? 2 ** shift : tableSlots(mostRows)))
    const tables = ranges.map(() => ({ table: table(), hashes: how.kind === 'placed' ? 0 : memory.room(4 * mostRows) }))
    const found = how.kind === 'placed' ? ({ kind: 'placed', shift } as const) : how
    await this.together(tables.map((own) => ({ kind: 'groups', how: found, flags, claims, ...partitions, ...own })))
    for (const own of tables) for (const block of [own.table, own.hashes]) memory.release(block)
    const groups = memory.integers(sizes, coding.partitions)
    const { length, order } = await this.ranked(flags, coding.codes)
    memory.release(flags)
    return { length, order, ranks: coding.codes, partitions, most: { rows: mostRows, groups: groups.reduce((a, b) => Math.max(a, b), 0) } }
  }

  /** Lists the first rows of all groups in row order, and writes the rank of each to its place in `ranks`. */
  private async ranked(flags: number, ranks: number): Promise<{ readonly length: number; readonly order: number }> {
    const { memory, ranges } = this
    const next = memory.block(64 * ranges.length)
    await this.together(ranges.map((range, r) => ({ kind: 'ranks', flags, ...range, next: next + 64 * r })))
    let length = 0
    for (let r = 0; r < ranges.length; r++) {
      const word = memory.integers(next + 64 * r, 1)
      const found = word[0] as number // one word
      word[0] = length
      length += found
    }
    const order = memory.room(4 * length)
    await this.together(ranges.map((range, r) => ({ kind: 'ranks', flags, ...range, next: next + 64 * r, ranked: { ranks, order } })))
    return { length, order }
  }

  /** Codes that are places in dense key ranges; undefined where keys are not dense, or one lies outside of the guessed ranges. */
  private async placed(): Promise<Coding | undefined> {
    const { key, memory, ranges, services } = this
    const windows = windowsOf([key], key.type, { lookedAt: services.keysLookedAt, wide: true })
    const parts = windows && keyParts(key)
    if (windows === undefined || parts === undefined) return undefined
    const { shift, partitions } = this.placedPartitions(windows)
    const [codes, counts] = [memory.room(4 * key.length), memory.block(4 * partitions * ranges.length)]
    const frames = ranges.map(() => {
      const { at, words } = memory.frame(0)
      fillWindows(words, windows)
      fillParts(words, parts, memory)
      fill(words, { codes })
      return { at, words }
    })
    await this.together(
      ranges.map((range, r) => ({
        ...{ kind: 'codes', ...range, codes, shift, counts: counts + 4 * partitions * r },
        how: { kind: 'placed', frame: frames[r]?.at ?? 0, parts: kernelParts(parts) }, // one for each range
      })),
    )
    if (frames.every(({ words }) => words[FRAME.size / 4] === 0)) return { how: { kind: 'placed' }, shift, partitions, codes, counts }
    memory.release(codes)
    memory.release(counts)
    return undefined
  }

  private placedPartitions(windows: readonly Window[]): { readonly shift: number; readonly partitions: number } {
    const { workers, partitionRows = PARTITION_ROWS } = this.services
    const places = placesIn(windows)
    const even = Math.floor(Math.log2(places / (PARTITIONS_PER_WORKER * workers)))
    const shift = Math.max(0, Math.min(even, Math.log2(partitionRows)), Math.ceil(Math.log2(places)) - MOST_PARTITION_BITS)
    return { shift, partitions: Math.ceil(places / 2 ** shift) }
  }

  private async hashed(): Promise<Coding> {
    const { key, memory, ranges, services } = this
    const columns = key.type.kind === 'struct' ? (key.children ?? []) : [key]
    const parts = columns.flatMap((column) => comparedColumn(column, memory) ?? [])
    const even = Math.ceil(Math.log2(key.length / (services.partitionRows ?? PARTITION_ROWS)))
    const bits = Math.min(MOST_PARTITION_BITS, Math.max(even, Math.ceil(Math.log2(PARTITIONS_PER_WORKER * services.workers))))
    const [shift, partitions] = [32 - bits, 2 ** bits]
    const [codes, counts] = [memory.room(4 * key.length), memory.block(4 * partitions * ranges.length)]
    await this.together(
      ranges.map((range, r) => ({
        ...{ kind: 'codes', ...range, codes, shift, counts: counts + 4 * partitions * r },
        how: { kind: 'hashed', parts },
      })),
    )
    return { how: { kind: 'hashed', parts }, shift, partitions, codes, counts }
  }

  /** The column of each aggregate. */
  async aggregated(
    aggregates: readonly Aggregate[],
    columns: readonly Column[],
    groups: Groups,
    blocks: ResultBlocks,
  ): Promise<readonly Column[]> {
    if (aggregates.length === 0) return []
    const { memory, services } = this
    const wanted = new Wanted(groups, blocks, memory)
    const columnOf = (call: Aggregate): Column | undefined => (call.column === undefined ? undefined : columns[call.column])
    const results = aggregates.map((call) => wanted.result(call, columnOf(call)))
    const groupOf = results.includes(undefined) ? memory.room(4 * this.key.length) : 0
    const { folds, rowCounts, numbers, distinct, collected } = wanted
    const offsets = collected.size === 0 ? undefined : blocks.like(new Int32Array(), groups.length + 1)
    const listCounts = offsets === undefined ? 0 : offsets.byteOffset + offsets.BYTES_PER_ELEMENT
    await this.together(
      distinct.flatMap(({ hashes, ...column }) =>
        this.ranges.map((range) => ({
          kind: 'codes',
          ...range,
          codes: hashes,
          shift: 0,
          counts: 0,
          how: { kind: 'hashed', parts: [column] },
        })),
      ),
    )
    const claims = memory.block(4)
    const sizes = scratchSizes(wanted, groups.most)
    await this.together(
      this.ranges.map(() => ({
        ...{ kind: 'folds', claims, ...groups.partitions, ranks: groups.ranks, folds, rowCounts, listCounts, numbers, distinct, groupOf },
        scratch: {
          ...{ frame: memory.block(sizes.frame), records: memory.room(sizes.records), log: memory.room(sizes.log) },
          ...{ numbers: memory.room(sizes.numbers), next: memory.room(sizes.next), table: memory.room(sizes.table) },
        },
      })),
    )
    if (offsets !== undefined) await this.collect(collected, groups, { offsets, blocks })
    const codes = memory.integers(groupOf, groupOf === 0 ? 0 : this.key.length)
    const others = await allOf(
      aggregates.map(async (call, i) => {
        if (results[i] !== undefined) return undefined
        const given = [columnOf(call) ?? [], call.second === undefined ? [] : (columns[call.second] ?? [])].flat()
        const batch = hiddenBatch([{ type: { kind: 'i32' }, length: codes.length, values: codes }, ...given])
        return await services.run({ kind: 'groupValues', batch, call, groups: groups.length })
      }),
    )
    return results.map((result, i) => result?.() ?? (others[i]?.[0]?.hidden?.[0] as Column)) // the one or the other
  }

  /** Sets the lists of each collected column. `offsets` has the number of rows of each group, one place further on. */
  private async collect(
    collected: Map<Column, Column | undefined>,
    groups: Groups,
    { offsets, blocks }: { readonly offsets: Int32Array; readonly blocks: ResultBlocks },
  ): Promise<void> {
    const { memory, services, key } = this
    offsets[0] = 0
    for (let g = 1; g <= groups.length; g++) offsets[g] = (offsets[g] as number) + (offsets[g - 1] as number) // 1 <= g < length
    const [listed, next] = [memory.room(4 * key.length), memory.room(4 * groups.length)]
    memory.integers(next, groups.length).set(offsets.subarray(0, groups.length))
    const claims = memory.block(4)
    await this.together(this.ranges.map(() => ({ kind: 'lists', claims, ...groups.partitions, next, listed })))
    const run = new SortRun(services)
    try {
      const sources = [...collected.keys()]
      const rows = { address: listed, length: key.length }
      const values = await gatheredColumns(sources, rows, run, { workers: services.workers, blocks })
      for (const [i, source] of sources.entries()) {
        const own = i === 0 ? offsets : blocks.copyOf(offsets) // a column owns its buffers
        const type = { kind: 'list' as const, item: source.type }
        collected.set(source, { type, length: groups.length, offsets: own, children: [values[i] as Column] }) // one for each source
      }
    } finally {
      run.end()
    }
  }

  private async together(works: readonly PartitionWork[]): Promise<void> {
    await allOf(works.map((work) => this.services.run({ kind: 'partition', work })))
  }
}
