/**
 * A program that is killed at any moment and started again with the same checkpoint ends as one that was never killed: what it read on
 * its way, its accumulators, its arrays. To be killed means that nothing more is written; each start goes on until then.
 */
import fc from 'fast-check'
import { afterAll, expect, test, vi } from 'vitest'
import { CheckpointError } from '../src/index.ts'
import { checkpointInSmallSteps } from '../src/session/checkpoint.ts'
import { type Course, course, killedAfter, kills, started, steps, type Variant, withFolder } from './courses.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('checkpoints.prop.ts')
vi.setConfig({ testTimeout: 1_000 * RUN.numRuns + 60_000 })

let [ran, skipped] = [0, 0]
afterAll(() => expect(skipped, `${ran} passes ran`).toBeGreaterThan(ran / 20)) // otherwise nothing was gone on with

test('a program that is killed at any moment and started again ends as one that never was', async () => {
  await fc.assert(
    fc.asyncProperty(steps, kills, async (list, moments) => {
      const expected = await course(list, {})
      await withFolder(async (checkpoint) => {
        let before: Course | undefined
        for (const moment of [...moments, Number.POSITIVE_INFINITY]) {
          const found = await started(list, { checkpoint, ...killedAfter(moment) })
          if (found === undefined) continue
          expect(found.seen).toEqual(expected.seen)
          ran += found.times.length
          skipped += found.times.filter((time, i) => time === before?.times[i]).length
          before = found
        }
      })
    }),
    RUN,
  )
})

const variants: fc.Arbitrary<Variant> = fc.record({
  seed: fc.constantFrom(3, 3, 4),
  rate: fc.constantFrom(0.5, 0.5, 0.75),
  assigned: fc.constantFrom(0.25, 0.25, 0.125),
})

let [refused, allowed] = [0, 0]

test('another program, or other data, is refused or ends as if nothing had been kept', async () => {
  await fc.assert(
    fc.asyncProperty(steps, steps, fc.nat(6), kills, variants, async (list, others, same, [moment], variant) => {
      const other = [...list.slice(0, same), ...others]
      const expected = await course(other, {}, variant)
      await withFolder(async (checkpoint) => {
        await started(list, { checkpoint, ...killedAfter(moment as number) }) // there is one at least
        try {
          const found = await course(other, { checkpoint, ...checkpointInSmallSteps() }, variant)
          expect(found.seen).toEqual(expected.seen)
          allowed++
        } catch (error) {
          if (!(error instanceof CheckpointError) || error.fault !== 'differs') throw error
          refused++
        }
      })
    }),
    RUN,
  )
  expect(Math.min(refused, allowed), `${refused} refused, ${allowed} allowed`).toBeGreaterThan((refused + allowed) / 20)
})
