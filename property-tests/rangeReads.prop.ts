/** Law: ranges of a file that are read side by side are the bytes that each would have been alone, in any order, with or without memory that is lent; no byte is read twice, and no long run at once. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Range, RangeReads } from '../src/io/bytes/rangeReads.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('rangeReads.prop.ts')
const SIZE = 5_000_000
const FILE = Uint8Array.from({ length: SIZE }, (_, i) => (i * 2654435761) >>> 11)
/** Ranges may overlap by so many bytes. */
const SLACK = 128
const LONGEST = 2 ** 21

const drawnRange = fc.record({
  gap: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 400 }) }),
  bytes: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 3000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 1_500_000 }) },
  ),
  isChecked: fc.boolean(),
})

test('ranges that are read at once are what each read alone gives', async () => {
  let together = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(drawnRange, { minLength: 1, maxLength: 12 }),
      fc.infiniteStream(fc.nat()),
      fc.boolean(),
      fc.constantFrom(0, 0, 3, 200),
      async (drawn, order, isLent, closeBytes) => {
        const ranges: Range[] = []
        let at = 4
        for (const { gap, bytes, isChecked } of drawn) {
          const start = at + gap
          if (start + bytes > SIZE) break
          ranges.push({ start, end: isChecked ? start + bytes : Math.min(SIZE, start + bytes + SLACK) })
          at = start + bytes
        }
        if (ranges.length === 0) return
        const asked: (readonly [number, number])[] = []
        const source = {
          ...{ size: SIZE, stamp: '', close: () => Promise.resolve() },
          read: (start: number, end: number, into?: Uint8Array) => {
            asked.push([start, end])
            into?.set(FILE.subarray(start, end))
            return Promise.resolve(into ?? FILE.slice(start, end))
          },
        }
        const shuffled = [...ranges].map((range) => [order.next().value, range] as const).sort(([a], [b]) => Number(a) - Number(b))
        const reads = new RangeReads(
          source,
          shuffled.map(([, range]) => range),
          { closeBytes, scratch: isLent ? { bytes: (length) => new Uint8Array(length) } : undefined },
        )
        for (const [, range] of shuffled) {
          const { start, end } = range
          expect(Buffer.compare(await reads.read(range), FILE.subarray(start, end))).toBe(0)
        }
        if (asked.length < ranges.length) together++
        const longest = Math.max(...ranges.map(({ start, end }) => end - start))
        for (const [start, end] of asked) expect(end - start).toBeLessThanOrEqual(Math.max(longest, LONGEST))
        const bytesRead = asked.reduce((sum, [start, end]) => sum + end - start, 0)
        expect(bytesRead).toBeLessThanOrEqual(ranges.reduce((sum, { start, end }) => sum + end - start, (ranges.length - 1) * closeBytes))
      },
    ),
    run,
  )
  if (run.numRuns >= 500) expect(together).toBeGreaterThan(run.numRuns * 0.2)
})
