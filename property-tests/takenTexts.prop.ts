/**
 * Texts that a kernel puts in another order are those that `takeColumn` gives: slices, nulls, texts of any length and bytes, rows several
 * times or not at all, and -1.
 */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Column } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { sliceColumn, takeColumn } from '../src/core/data/columnSlices.ts'
import { takenColumn } from '../src/exec/tables/operators/gather/takenTexts.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('takenTexts.prop.ts')

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('', 'abcdefg', 'abcdefgh', 'abcdefghi'),
)
/** From a few on the kernel is worth its call. */
const ROWS = 512

interface Case {
  readonly values: readonly (string | null)[]
  readonly cut: readonly [number, number]
  readonly places: readonly number[]
  readonly isStruct: boolean
}

const drawn: fc.Arbitrary<Case> = fc.record({
  values: fc.array(fc.option(text, { freq: 6 }), { minLength: 1, maxLength: 60 }),
  cut: fc.tuple(fc.nat(5), fc.nat(5)),
  places: fc.array(fc.integer({ min: -1, max: 59 }), { minLength: 1, maxLength: 40 }),
  isStruct: fc.boolean(),
})

function columnOf({ values, cut: [front, behind], isStruct }: Case): Column {
  const texts = columnFromValues([...values, 'x'])
  const whole: Column = isStruct
    ? { type: { kind: 'struct', fields: [{ name: 'a', type: texts.type, nullable: true }] }, length: texts.length, children: [texts] }
    : texts
  const from = Math.min(front, values.length - 1)
  return sliceColumn(whole, from, Math.max(from + 1, values.length - behind))
}

test('texts in any order', () => {
  fc.assert(
    fc.property(drawn, (one) => {
      const column = columnOf(one)
      const { length } = column
      const rows = Int32Array.from({ length: ROWS }, (_, i) => {
        const place = one.places[i % one.places.length] as number // there is one
        return place < 0 ? -1 : (place + i) % length
      })
      // expect() takes a hundred times as long to compare arrays
      expect(isDeepStrictEqual(takenColumn(column, rows), takeColumn(column, rows))).toBe(true)
    }),
    RUN,
  )
})
