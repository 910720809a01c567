/** What comes before a block: all that it waits for, and all that these wait for, in whatever order it is asked. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { precedence } from '../src/exec/gang/movement/transfers.ts'
import { releases } from '../src/exec/loops/blocks/schedule.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('precedence.prop.ts')

const graphs = fc.integer({ min: 1, max: 30 }).chain((count) =>
  fc.record({
    waitsFor: fc.tuple(
      ...Array.from({ length: count }, (_, block) => fc.uniqueArray(fc.nat(Math.max(0, block - 1)), { maxLength: block === 0 ? 0 : 3 })),
    ),
    asked: fc.array(fc.tuple(fc.nat(count - 1), fc.nat(count - 1)), { maxLength: 60 }),
  }),
)

test('a block precedes all that wait for it, near or far', () => {
  fc.assert(
    fc.property(graphs, ({ waitsFor, asked }) => {
      const before = waitsFor.map(() => new Set<number>())
      for (const [block, own] of waitsFor.entries())
        for (const one of own) for (const known of [one, ...(before[one] ?? [])]) before[block]?.add(known)
      const precedes = precedence(
        waitsFor.length,
        releases(waitsFor.length, (block) => waitsFor[block] ?? []),
      )
      for (const [a, b] of asked) {
        const [earlier, later] = [Math.min(a, b), Math.max(a, b)]
        if (earlier !== later) expect(precedes(earlier, later)).toBe(before[later]?.has(earlier))
      }
    }),
    RUN,
  )
})
