/** Rounds of a pass as workers claim them: the blocks of one and no others, each after those that it waits for. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { claimBlock, createClaimer, finishBlock } from '../src/exec/loops/claims/claim.ts'
import { resetClaimsTo, startWords } from '../src/exec/loops/claims/claimWords.ts'
import { cutRounds } from '../src/exec/loops/reductions/rounds.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('rounds.prop.ts')

test('what is claimed of a round are its blocks, each after those that it waits for', () => {
  fc.assert(
    fc.property(
      fc.record({
        rows: fc.integer({ min: 1, max: 30 }),
        columns: fc.integer({ min: 1, max: 30 }),
        rounds: fc.integer({ min: 2, max: 9 }),
        side: fc.integer({ min: 1, max: 6 }),
        homes: fc.integer({ min: 1, max: 3 }),
      }),
      ({ rows, columns, rounds, side, homes }) => {
        const space = { kind: 'box', extents: [rows, columns] } as const
        const blocks = cutRounds({ kind: '2d', axes: [0, 1] }, space, { order: 'any', rounds, lanes: 16, partitions: side })
        const start = startWords(blocks, homes)
        const words = new Int32Array(start.length)
        const state = { words, failure: new BigInt64Array(1), took: new Float64Array(blocks.count), homes, start }
        const claimed: number[] = []
        const { rounds: firsts = [] } = blocks
        for (let round = 0; round + 1 < firsts.length; round++) {
          const [from, to] = [firsts[round] as number, firsts[round + 1] as number]
          resetClaimsTo(state, blocks, from, to)
          const claimer = createClaimer(0)
          const own: number[] = []
          for (let block = claimBlock(state, claimer); block >= 0; block = claimBlock(state, claimer)) {
            own.push(block)
            finishBlock(state, blocks, block, claimer)
          }
          expect([...own].sort((a, b) => a - b)).toEqual(Array.from({ length: to - from }, (_, i) => from + i))
          claimed.push(...own)
        }
        const place = new Map(claimed.map((block, i) => [block, i]))
        for (let block = 0; block < blocks.count; block++) {
          for (const next of blocks.successors.subarray(blocks.successorStart[block], blocks.successorStart[block + 1]))
            expect(place.get(block)).toBeLessThan(place.get(next) as number)
        }
      },
    ),
    RUN,
  )
})
