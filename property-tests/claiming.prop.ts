/**
 * However workers take turns, each block is claimed once, not before all blocks it waits for are done, and none is left
 * over while a claim is possible. Any homes, any number of workers, several blocks under way at once, blocks claimed one by
 * one or in groups. One thread alone runs the blocks in plan order, neighbours together: the same iterations in the same
 * order, with the same ranks. So do several that share groups, taken in their order.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { aloneBlocks } from '../src/exec/loops/blocks/aloneBlocks.ts'
import { type ClaimedBlocks, firstOf, groupBlocks, groupsOf, shareBlocks } from '../src/exec/loops/blocks/claimedBlocks.ts'
import { cutBlocks } from '../src/exec/loops/blocks/cutBlocks.ts'
import { piecesOf } from '../src/exec/loops/blocks/pieces.ts'
import type { BlockSchedule, StaticSchedule } from '../src/exec/loops/blocks/schedule.ts'
import { allClaimed, type Claimer, claimBlock, createClaimer, finishBlock, leaveBlocks, takeReady } from '../src/exec/loops/claims/claim.ts'
import { claimOrder } from '../src/exec/loops/claims/claimOrder.ts'
import { type ClaimState, resetClaims, startWords } from '../src/exec/loops/claims/claimWords.ts'
import { runShare } from '../src/exec/loops/claims/runBlocks.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('claiming.prop.ts')

const blocks: fc.Arbitrary<BlockSchedule> = fc
  .record({
    schedule: fc.constantFrom<StaticSchedule[]>(
      { kind: 'independent' },
      { kind: '1d', axis: 1 },
      { kind: '2d', axes: [0, 1] },
      { kind: 'wavefront', axes: [0, 1] },
      { kind: 'skewed', forms: [[1, 0, 0], [1, 1, 0]] }, // biome-ignore format: two forms
      { kind: 'stepped', outer: 1, inner: { kind: 'independent' } },
      { kind: 'stepped', outer: 1, inner: { kind: 'wavefront', axes: [1, 2] } },
      { kind: 'stepped', outer: 2, inner: { kind: '1d', axis: 2 } },
    ),
    extents: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 4 })),
    partitions: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })),
  })
  .map(({ schedule, extents, partitions }) =>
    cutBlocks(schedule, { kind: 'box', extents }, { order: schedule.kind === '2d' ? 'any' : 'serial', partitions }),
  )

/** What to do next: finish the oldest or the youngest block under way, have a worker leave what it has kept, or have it claim another. */
const turns = fc.array(fc.record({ worker: fc.nat(8), does: fc.constantFrom('nothing', 'oldest', 'youngest', 'leave') }), { minLength: 20 })

/** What is claimed: groups of at most so many blocks. */
function claimedOf(schedule: BlockSchedule, size: number, homes: number): ClaimedBlocks {
  if (size === 1 || schedule.steps !== undefined) return schedule
  const firsts = groupsOf(schedule, size, homes)
  return { ...groupBlocks(schedule, firsts), firsts }
}

/** What blocks are said to have taken: much the same, or not. */
const tookOf = fc.oneof(fc.constant([1]), fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1 }))

function stateOf(schedule: ClaimedBlocks, homes: number, some: readonly number[]): ClaimState {
  const inStep = schedule.steps?.blocks ?? schedule.count
  const took = Float64Array.from({ length: inStep }, (_, block) => some[block % some.length] as number)
  const start = startWords(schedule, homes, schedule.steps === undefined ? claimOrder(schedule, took) : undefined)
  const state = { words: new Int32Array(new SharedArrayBuffer(4 * start.length)), failure: new BigInt64Array(1), took, homes, start }
  resetClaims(state)
  return state
}

test('each block is claimed once, after all it waits for, and none is left over', () => {
  fc.assert(
    fc.property(
      blocks,
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 5 }),
      tookOf,
      turns,
      (schedule, homes, size, took, all) => {
        const shared = claimedOf(schedule, size, homes)
        const state = stateOf(shared, homes, took)
        const inStep = schedule.steps?.blocks ?? schedule.count
        const waits = Int32Array.from(
          { length: schedule.count },
          (_, block) => (schedule.waitsFor[block % inStep] ?? 0) + (block < inStep ? 0 : inStep),
        )
        const blocksOf = (group: number): number[] => {
          const first = firstOf(shared, group)
          return Array.from({ length: firstOf(shared, group + 1) - first }, (_, i) => first + i)
        }
        const claimed = new Set<number>()
        const claimers = Array.from({ length: 9 }, (_, worker) => createClaimer(worker))
        const underWay: { readonly group: number; readonly claimer: Claimer }[] = []
        const release = (block: number): void => {
          const first = block - (block % inStep)
          for (let i = schedule.successorStart[block - first] ?? 0; i < (schedule.successorStart[block - first + 1] ?? 0); i++) {
            waits[first + (schedule.successors[i] ?? 0)]!--
          }
          for (let next = first + inStep; next < Math.min(schedule.count, first + 2 * inStep); next++) waits[next]!--
        }
        const finish = (one: (typeof underWay)[number] | undefined): void => {
          if (one === undefined) return
          finishBlock(state, shared, one.group, one.claimer)
          for (const block of blocksOf(one.group)) release(block)
        }
        /** Blocks of a group run in their order: they wait for what is not of the group. */
        const waitOutside = (group: number): number => {
          const own = blocksOf(group)
          let waiting = 0
          for (const block of own) waiting += waits[block] ?? 0
          for (const block of own.length > 1 ? own : []) {
            for (let i = schedule.successorStart[block] ?? 0; i < (schedule.successorStart[block + 1] ?? 0); i++) {
              if (own.includes(schedule.successors[i] ?? -1)) waiting--
            }
          }
          return waiting
        }
        for (let turn = 0; claimed.size < shared.count || underWay.length > 0; turn++) {
          const { worker, does } = all[turn % all.length] ?? { worker: 0, does: 'nothing' }
          const claimer = claimers[worker] as Claimer // of nine
          if (does === 'leave') leaveBlocks(state, shared, claimer)
          else if (does !== 'nothing') finish(does === 'oldest' ? underWay.shift() : underWay.pop())
          const keeper = claimers.find(({ kept }) => kept >= 0)
          const own = takeReady(state, claimer)
          const by = own < 0 && keeper !== undefined ? keeper : claimer
          const group = by === claimer ? own : takeReady(state, by)
          if (group < 0) {
            const ready = Array.from({ length: shared.count }, (_, one) => one).filter((one) => !claimed.has(one) && waitOutside(one) === 0)
            if (ready.length > 0) throw new Error(`Blocks ${ready.join()} are ready, and none can be claimed.`)
            finish(underWay.shift())
            continue
          }
          if (claimed.has(group)) throw new Error(`Block ${group} is claimed again.`)
          if (waitOutside(group) !== 0) throw new Error(`Block ${group} is claimed while it waits for ${waitOutside(group)}.`)
          claimed.add(group)
          const kept = claimers.filter((one) => one.kept >= 0).length
          if (allClaimed(state) && claimed.size + kept < shared.count)
            throw new Error(`All are said to be claimed, but ${claimed.size + kept} are.`)
          underWay.push({ group, claimer: by })
        }
        if (shared.count > 0 && firstOf(shared, shared.count) !== schedule.count) throw new Error('Not all blocks are in a group.')
        if (!allClaimed(state)) throw new Error('All blocks are claimed, but workers would wait for more.')
        if (claimBlock(state, createClaimer(0)) !== -1) throw new Error('More blocks can be claimed than there are.')
      },
    ),
    RUN,
  )
})

test('of the blocks that are ready when a pass begins, those that most is left to do after are claimed first', () => {
  let uneven = 0
  fc.assert(
    fc.property(blocks, tookOf, (schedule, took) => {
      if (schedule.steps !== undefined) return
      const state = stateOf(schedule, 1, took)
      const left = (block: number): number => {
        const after = schedule.successors.slice(schedule.successorStart[block], schedule.successorStart[block + 1])
        return (state.took[block] ?? 0) + Math.max(0, ...[...after].map(left))
      }
      const ready = [...schedule.waitsFor.keys()].filter((block) => schedule.waitsFor[block] === 0)
      const ways = ready.map(left)
      const isUneven = Math.max(...ways) > (1.5 * ways.reduce((sum, way) => sum + way, 0)) / ways.length
      if (isUneven) uneven++
      const expected = isUneven ? ready.sort((a, b) => left(b) - left(a) || a - b) : ready
      const claimer = createClaimer(0)
      expect(ready.map(() => takeReady(state, claimer))).toEqual(expected)
    }),
    RUN,
  )
  // some 5 % of them are
  expect(uneven).toBeGreaterThan(RUN.numRuns / 100)
})

test('a worker notes what each block took, where it is asked to', () => {
  const schedule = cutBlocks({ kind: 'independent' }, { kind: 'rows', length: 40_000 }, { order: 'any', partitions: 4 })
  for (const measures of [true, false]) {
    const state = stateOf(schedule, 1, [-1])
    const run = { start: () => {}, step: () => false, forgetClock: () => {} }
    runShare({ claims: state, claimed: schedule }, run, createClaimer(0), measures)
    expect([...state.took].map((ms) => ms >= 0)).toEqual(Array(4).fill(measures))
  }
})

interface Cut {
  readonly schedule: StaticSchedule
  readonly extents: readonly [number, number]
  readonly elements: readonly number[] | null
  readonly partitions: readonly number[]
  readonly order: 'any' | 'serial'
}

const cuts: fc.Arbitrary<Cut> = fc.record({
  schedule: fc.constantFrom<StaticSchedule[]>(
    { kind: 'serial' },
    { kind: 'independent' },
    { kind: '1d', axis: 0 },
    { kind: '1d', axis: 1 },
    { kind: '2d', axes: [0, 1] },
    { kind: 'wavefront', axes: [0, 1] },
    { kind: 'skewed', forms: [[1, 0], [1, 1]] }, // biome-ignore format: two forms
    { kind: 'stepped', outer: 1, inner: { kind: '1d', axis: 1 } },
  ),
  extents: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })),
  elements: fc.option(fc.uniqueArray(fc.nat(80), { minLength: 1 })),
  partitions: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })),
  order: fc.constantFrom('any' as const, 'serial'),
})

/** A space and how it is cut. */
function cutOf({ schedule, extents, elements, partitions, order }: Cut): BlockSchedule {
  const [rows, columns] = extents
  const positions = (elements ?? []).filter((position) => position < rows * columns).sort((a, b) => a - b)
  const keys = [Int32Array.from(positions, (p) => Math.floor(p / columns)), Int32Array.from(positions, (p) => p % columns)]
  const space =
    positions.length === 0 ? ({ kind: 'box', extents } as const) : ({ kind: 'sparse', extents, keys, length: positions.length } as const)
  return cutBlocks(schedule, space, { order: schedule.kind === '2d' ? 'any' : order, partitions })
}

test('one thread alone runs the same iterations in the same order, and no block before one that it waits for', () => {
  fc.assert(
    fc.property(cuts, fc.boolean(), (cut, lanesMatter) => {
      const blocks = cutOf(cut)
      for (let block = 0; block < (blocks.steps?.blocks ?? blocks.count); block++) {
        for (let i = blocks.successorStart[block] ?? 0; i < (blocks.successorStart[block + 1] ?? 0); i++) {
          if ((blocks.successors[i] ?? 0) <= block) throw new Error(`Block ${blocks.successors[i]} waits for ${block}.`)
        }
      }
      const alone = aloneBlocks(blocks, { lanesMatter })
      expect(iterationsIn(alone, cut.extents, lanesMatter)).toEqual(iterationsIn(blocks, cut.extents, lanesMatter))
      const areMany = blocks.order !== undefined && blocks.keyOrder
      for (let block = 0; block < alone.count && areMany; block++) expect(alone.to[block]).toBe(blocks.to[block])
    }),
    RUN,
  )
})

/** Wavefronts over boxes as well as all others. */
const sharedCuts = fc.oneof(
  cuts,
  cuts.map((cut): Cut => ({ ...cut, schedule: { kind: 'wavefront', axes: [0, 1] }, extents: [9, 9], elements: null, partitions: [9, 9] })),
)

test('groups that workers share run the same iterations in the same order, and are as many as even out what they take', () => {
  let boxes = 0
  fc.assert(
    fc.property(
      sharedCuts,
      fc.boolean(),
      fc.integer({ min: 1, max: 4 }),
      fc.constantFrom(0.001, 0.03, 1),
      (cut, lanesMatter, workers, aloneMs) => {
        const blocks = cutOf(cut)
        const { schedule, claimed } = shareBlocks(blocks, { workers, aloneMs, lanesMatter })
        const areBoxes = blocks.boxes !== undefined && schedule.count < blocks.count
        if (areBoxes) {
          boxes++
          // as one box they run row by row
          expect(ranksIn(schedule, cut.extents).flat().sort(byNumber)).toEqual(ranksIn(blocks, cut.extents).flat().sort(byNumber))
          for (const ranks of ranksIn(schedule, cut.extents)) expect(ranks).toEqual([...ranks].sort(byNumber))
        } else expect(iterationsIn(schedule, cut.extents, lanesMatter)).toEqual(iterationsIn(blocks, cut.extents, lanesMatter))
        expect(firstOf(claimed, claimed.count)).toBe(schedule.count)
        for (let one = 0; one < claimed.count; one++) expect(firstOf(claimed, one)).toBeLessThan(firstOf(claimed, one + 1))
        if (claimed.count < blocks.count) expect(claimed.count).toBeGreaterThanOrEqual(8 * workers)
        if (blocks.order !== undefined && blocks.keyOrder) expect(schedule.count).toBe(blocks.count) // ranks do not grow from block to block
      },
    ),
    RUN,
  )
  expect(boxes).toBeGreaterThan(RUN.numRuns / 100)
})

const byNumber = (a: number, b: number): number => a - b

/** The place in key order of each iteration of each block of a box, as kernels walk it. */
function ranksIn(blocks: BlockSchedule, [, columns]: readonly [number, number]): number[][] {
  return Array.from({ length: blocks.count }, (_, block) => {
    const [top, , left, right] = blocks.boxes?.slice(4 * block, 4 * block + 4) ?? []
    const width = (right ?? 0) - (left ?? 0)
    const size = blocks.to[block] ?? 0
    return Array.from({ length: size }, (_, place) => ((top ?? 0) + Math.floor(place / width)) * columns + (left ?? 0) + (place % width))
  })
}

/** The place and rank of each iteration, its block's lane, and how wide its box is, in the order of the blocks. */
function iterationsIn(blocks: BlockSchedule, extents: readonly number[], lanesMatter: boolean): string[] {
  const found: string[] = []
  for (let block = 0; block < blocks.count; block++) {
    const at = block % (blocks.steps?.blocks ?? blocks.count)
    for (const { box, from, to, before } of piecesOf(blocks, extents, block)) {
      const rank = (blocks.base[blocks.order === undefined ? at : block] ?? 0) + before - from
      for (let place = from; place < to; place++)
        found.push(`${place} ${rank + place} ${lanesMatter ? blocks.lanes[at] : ''} ${box.join()}`)
    }
  }
  return found
}
