/**
 * What comes from other processes, in any order and before a pass has begun or later, releases the blocks that wait for it, and none
 * other; what is told of failures is the smallest rank.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Edges } from '../src/exec/gang/movement/edges.ts'
import { movesOf } from '../src/exec/gang/movement/moves.ts'
import { blocksOfLanes, cutUnstepped } from '../src/exec/loops/blocks/blockSchedule.ts'
import { BlockGate } from '../src/exec/loops/claims/blockGate.ts'
import { createClaimer, finishBlock, takeReady } from '../src/exec/loops/claims/claim.ts'
import { claimWords, NO_FAILURE, startWords } from '../src/exec/loops/claims/claimWords.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('edges.prop.ts')

const cases = fc.record({
  kind: fc.constantFrom('2d' as const, 'wavefront' as const),
  extents: fc.tuple(fc.integer({ min: 2, max: 12 }), fc.integer({ min: 2, max: 12 })),
  partitions: fc.integer({ min: 2, max: 6 }),
  rank: fc.constantFrom(0, 1),
  /** In which order they come. */
  order: fc.infiniteStream(fc.nat()),
  early: fc.nat(20),
  failures: fc.array(fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined, freq: 3 }), { minLength: 1, maxLength: 10 }),
})

test('blocks run when all that they wait for has come, whenever it comes, and tell of the first failure', () => {
  fc.assert(
    fc.property(cases, ({ kind, extents, partitions, rank, order, early, failures }) => {
      const whole = cutUnstepped({ kind, axes: [0, 1] }, { kind: 'box', extents }, { order: kind === '2d' ? 'any' : 'serial', partitions })
      if (whole.laneCount < 2) return
      const half = whole.laneCount >> 1
      const owners = Int32Array.from(whole.lanes, (lane) => (lane < half ? 0 : 1))
      const moves = movesOf(whole, owners, 2, [])[rank] as ReturnType<typeof movesOf>[number] // of two
      const { blocks, numbers } = rank === 0 ? blocksOfLanes(whole, 0, half) : blocksOfLanes(whole, half, whole.laneCount)
      const [failure, start] = [BigInt64Array.of(NO_FAILURE), startWords(blocks, 1)]
      const claims = { words: new Int32Array(claimWords(blocks.count, 1)), failure, start, homes: 1, took: new Float64Array(blocks.count) }
      const told: (number | undefined)[] = []
      const edges = new Edges(1, moves, numbers, {
        storageOf: () => expect.unreachable('Nothing is moved.'),
        putRows: () => expect.unreachable('Nothing is served.'),
        send: (_, { failed }) => told.push(failed),
      })
      const gate = new BlockGate({ blocks, work: { schedule: blocks, claimed: blocks }, claims, numbers }, edges)

      const expected: (number | undefined)[] = []
      const came = new Set<number>()
      let smallest: number | undefined
      const left = [...moves.takes]
      const take = (): boolean => {
        const [next] = left.splice((order.next().value as number) % Math.max(1, left.length), 1)
        if (next === undefined) return false
        const failed = failures[came.size % failures.length]
        came.add(next.block)
        edges.take({ head: { run: 1, block: next.block, ...(failed === undefined ? {} : { failed }) }, parts: [] })
        if (failed !== undefined) smallest = Math.min(failed, smallest ?? failed)
        return true
      }
      while (came.size < early && take());
      gate.open()
      const [claimer, ran] = [createClaimer(0), new Set<number>()]
      do {
        for (let place = takeReady(claims, claimer); place >= 0; place = takeReady(claims, claimer)) {
          const block = numbers[place] as number
          for (let before = 0; before < block; before++) {
            const isWaitedFor = whole.successors.slice(whole.successorStart[before], whole.successorStart[before + 1]).includes(block)
            if (isWaitedFor) expect(owners[before] === rank ? ran.has(before) : came.has(before), `${block} after ${before}`).toBe(true)
          }
          ran.add(block)
          for (const { block: sent } of moves.sends) if (sent === block) expected.push(smallest)
          gate.finished(place)
          finishBlock(claims, blocks, place, claimer)
        }
      } while (take())
      expect(ran.size).toBe(blocks.count)
      expect(told).toEqual(expected)
    }),
    RUN,
  )
})
