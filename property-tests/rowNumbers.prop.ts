/** Rows by the numbers that they got before they were spilled are in the order that a sort gives, equal numbers in their own. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MOST_ROWS, rowsInOrder } from '../src/exec/tables/spill/rowNumbers.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('rowNumbers.prop.ts')

/** Close together, far apart, and those of right rows, which come behind all others. */
const number = fc
  .tuple(fc.constantFrom(0, 1, 2, 700, 2 ** 21), fc.oneof(fc.nat(20), fc.nat(100_000), fc.constantFrom(MOST_ROWS - 1, MOST_ROWS - 2)))
  .map(([partition, row]) => partition * MOST_ROWS + row)

test('rows in the order of their numbers', () => {
  fc.assert(
    fc.property(fc.array(number, { maxLength: 60 }), (drawn) => {
      const expected = drawn.map((_, i) => i).sort((a, b) => (drawn[a] as number) - (drawn[b] as number) || a - b)
      expect([...rowsInOrder(Float64Array.from(drawn))]).toEqual(expected)
    }),
    RUN,
  )
})
