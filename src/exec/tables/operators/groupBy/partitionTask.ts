/**
 * The tasks of a group-by on all workers, over addresses of the arena: `exec/tables/wide/groupRun.ts` says in which order they come.
 *
 *     codes      the codes (hashes or dense places) of a range of rows, counted by partition
 *     scatter    the rows of a range, each to its partition, in their order
 *     groups     partitions that are claimed: the group of each row
 *     ranks      a range of the rows: the rank of each row that is the first of its group
 *     folds      partitions that are claimed: what is computed of each group (`partitionFolds.ts`)
 *     lists      partitions that are claimed, behind the folds: the rows of each group end to end
 */
import { FRAME, type KeyPart } from '../../../kernels/tables/groupFrame.ts'
import { hashKernel } from '../../../kernels/tables/idKernels.ts'
import {
  codePlacesKernel,
  countCodesKernel,
  countFlagsKernel,
  hashedGroupsKernel,
  listsKernel,
  placedGroupsKernel,
  ranksKernel,
  scatterCodesKernel,
} from '../../../kernels/tables/partitionKernels.ts'
import type { Arena } from '../../../memory/arena.ts'
import { arenaKernel } from '../arenaKernels.ts'
import { foldPartitions, type PartitionFolds } from './partitionFolds.ts'
import { type ComparedColumn, claimed, eachStride, type Partition, type Partitions, STRIDE, tableSlots } from './radixPartitions.ts'

export interface PartitionTask {
  readonly kind: 'partition'
  readonly work: PartitionWork
}

export type PartitionWork = CodesWork | ScatterWork | GroupsWork | RanksWork | PartitionFolds | ListsWork

interface Range {
  readonly from: number
  readonly to: number
}

interface CodesWork extends Range {
  readonly kind: 'codes'
  readonly how: { readonly kind: 'hashed'; readonly parts: readonly ComparedColumn[] } | PlacedCodes
  readonly codes: number
  readonly shift: number
  /** The address of a count for each partition; 0 where rows are hashed but not partitioned. */
  readonly counts: number
}

/** Codes that are places in dense key ranges; the frame has the addresses of the key's parts and their ranges. */
interface PlacedCodes {
  readonly kind: 'placed'
  readonly frame: number
  readonly parts: readonly KeyPart[]
}

interface ScatterWork extends Range {
  readonly kind: 'scatter'
  readonly codes: number
  readonly shift: number
  /** The address of the place of the next row, for each partition. */
  readonly places: number
  readonly rows: number
  readonly out: number
}

export interface GroupsWork extends Partitions {
  readonly kind: 'groups'
  /** `shift` is the binary logarithm of the number of places in a partition. */
  readonly how: { readonly kind: 'hashed'; readonly parts: readonly ComparedColumn[] } | { readonly kind: 'placed'; readonly shift: number }
  /** The address of a byte for each row, 0 before, 1 for the first row of a group. */
  readonly flags: number
  /** The worker's scratch memory: a hash table for the largest partition, and the hashes of its groups. */
  readonly table: number
  readonly hashes: number
}

interface RanksWork extends Range {
  readonly kind: 'ranks'
  readonly flags: number
  /** The address of a word: the number of first rows in the range when these are counted; after that the rank of the next one. */
  readonly next: number
  /** The addresses of the results; absent where first rows are only counted. */
  readonly ranked?: { readonly ranks: number; readonly order: number }
}

interface ListsWork extends Partitions {
  readonly kind: 'lists'
  /** The address of the next place of each group's list, by its rank. */
  readonly next: number
  /** The address of the rows in the order of the lists. */
  readonly listed: number
}

export function runPartitionTask({ work }: PartitionTask, arena: Arena): void {
  switch (work.kind) {
    case 'codes':
      runCodes(work, arena)
      return
    case 'scatter': {
      const { codes, from, to, shift, places, rows, out } = work
      const scatter = arenaKernel(arena, 'partition scatter', scatterCodesKernel)
      eachStride(from, to, (a, b) => scatter(codes, a, b, shift, places, rows, out))
      return
    }
    case 'groups':
      for (const partition of claimed(work, arena)) groupsOf(work, partition, arena)
      return
    case 'ranks': {
      const { flags, from, to, next, ranked } = work
      if (ranked === undefined) {
        const count = arenaKernel(arena, 'partition flags', countFlagsKernel)
        eachStride(from, to, (a, b) => count(flags, a, b, next))
        return
      }
      const rank = arenaKernel(arena, 'partition ranks', ranksKernel)
      eachStride(from, to, (a, b) => rank(flags, a, b, ranked.ranks, ranked.order, next))
      return
    }
    case 'folds':
      foldPartitions(work, claimed(work, arena), arena)
      return
    case 'lists': {
      const list = arenaKernel(arena, 'partition lists', listsKernel)
      const { rows, codes, firsts, next, listed } = work
      for (const { from, to } of claimed(work, arena))
        eachStride(from, to, (a, b) => list(rows, codes, a, b, firsts + 4 * from, next, listed))
    }
  }
}

function runCodes({ how, codes, from, to, shift, counts }: CodesWork, arena: Arena): void {
  const count = arenaKernel(arena, 'partition count', countCodesKernel)
  if (how.kind === 'placed') {
    const places = arenaKernel(arena, `partition places ${JSON.stringify(how.parts)}`, () => codePlacesKernel(how.parts))
    const size = arena.view('i32', how.frame + FRAME.size, 1)
    for (let at = from; at < to && size[0] === 0; at += STRIDE) {
      places(how.frame, at, Math.min(at + STRIDE, to))
      if (size[0] === 0) count(codes, at, Math.min(at + STRIDE, to), shift, counts)
    }
    return
  }
  const hashes = how.parts.map(({ form, nullable, values, offsets, bits }, p) => {
    const options = { nullable, first: p === 0 }
    const run = arenaKernel(arena, `partition hash ${form} ${JSON.stringify(options)}`, () => hashKernel(form, options))
    return (a: number, b: number): void => run(0, a, b, values, offsets, bits, codes)
  })
  if (hashes.length === 0) (arena.view('i32', codes, to) as Int32Array).fill(0, from, to)
  eachStride(from, to, (a, b) => {
    for (const hash of hashes) hash(a, b)
    if (counts !== 0) count(codes, a, b, shift, counts)
  })
}

function groupsOf(work: GroupsWork, { number, from, to }: Partition, arena: Arena): void {
  const { how, rows, codes, table, hashes, flags } = work
  const slots = how.kind === 'placed' ? 2 ** how.shift : tableSlots(to - from)
  ;(arena.view('i32', table, slots) as Int32Array).fill(0)
  const [firsts, counts, size] = [work.firsts + 4 * from, work.counts + 4 * from, work.sizes + 4 * number]
  if (how.kind === 'placed') {
    const find = arenaKernel(arena, 'partition placed', placedGroupsKernel)
    eachStride(from, to, (a, b) => find(rows, codes, a, b, number * slots, table, firsts, counts, flags, size))
    return
  }
  const parts = how.parts.map(({ form, nullable }) => ({ form, nullable }))
  const find = arenaKernel(arena, `partition hashed ${JSON.stringify(parts)}`, () => hashedGroupsKernel(parts))
  const places = how.parts.flatMap(({ values, offsets, bits }) => [values, offsets, bits])
  eachStride(from, to, (a, b) => find(rows, codes, a, b, slots - 1, table, firsts, counts, flags, size, hashes, ...places))
}
