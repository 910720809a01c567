/** Codes of text: one for each different text, in order of first appearance, exactly where there are few. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Column } from '../src/core/column.ts'
import { columnFromValues } from '../src/core/columnBuilder.ts'
import { valueReader } from '../src/core/columnReaders.ts'
import { sliceColumn } from '../src/core/columnSlices.ts'
import { codeColumn, codeOf, codesOf, codeTexts, decoded } from '../src/exec/columns/textCodes.ts'
import { createArena } from '../src/exec/memory/arena.ts'
import { freeColumn, shareColumn } from '../src/exec/memory/shareColumns.ts'
import { announcedRun } from './lawRuns.ts'

const LAW = announcedRun('textCodes.prop.ts')
const arena = createArena({ budgetBytes: 2 ** 28 })

const drawn = fc.record({
  length: fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 300 }) },
    { weight: 4, arbitrary: fc.integer({ min: 2_000, max: 2_600 }) },
    { weight: 2, arbitrary: fc.integer({ min: 65_530, max: 70_000 }) },
  ),
  /** About so many texts; with the last, each row has another. */
  texts: fc.constantFrom(1, 3, 20, 255, 256, 257, 300, 2 ** 17),
  /** Whether there are only few of them before the rows that are coded next. */
  late: fc.boolean(),
  nulls: fc.constantFrom(0, 0, 1, 2, 5),
  prefix: fc.constantFrom('', 'ž', 'a longer text '),
})

test('a text has one code, and a code one text', () => {
  const reached = { none: 0, bytes: 0, wide: 0, nulls: 0 }
  fc.assert(
    fc.property(drawn, ({ length, texts, late, nulls, prefix }) => {
      const at = (i: number): string | null =>
        nulls > 0 && i % nulls === 0
          ? null
          : `${prefix}${(Math.imul(i, 0x9e3779b1) >>> 5) % (late && i < 65_536 ? Math.min(texts, 200) : texts)}`.slice(
              texts === 1 ? length : 0,
            )
      const values = Array.from({ length }, (_, i) => at(i))
      const column = shareColumn(columnFromValues(values, { kind: 'utf8' }), arena, 'law')
      const held = arena.usedBytes
      const order = [...new Set(values.filter((value) => value !== null))]
      const block = codeTexts(column, arena)
      const codes = codesOf(column)
      if (order.length > Math.max(256, Math.floor(length / 8))) {
        reached.none++
        expect([block, codes, arena.usedBytes]).toEqual([undefined, undefined, held])
      } else {
        if (codes === undefined) throw new Error('no codes')
        reached[order.length > 256 ? 'wide' : 'bytes']++
        if (nulls > 0) reached.nulls++
        expect(codes.codes instanceof Uint16Array).toBe(order.length > 256)
        const coded = codeColumn(column, codes)
        expect(valuesOf(coded)).toEqual(values.map((value) => (value === null ? null : order.indexOf(value))))
        const [from, to] = [Math.floor(length / 3), Math.ceil(length / 2)]
        expect(valuesOf(decoded(sliceColumn(coded, from, to), column, codes))).toEqual(values.slice(from, to))
        for (const text of [...order.slice(0, 5), ...order.slice(-3), 'none', `${prefix}x`]) {
          expect(codeOf(text, column, codes)).toBe(order.indexOf(text))
        }
        arena.free(block as number)
      }
      freeColumn(column, arena)
      expect(arena.usedBytes).toBe(0)
    }),
    LAW,
  )
  for (const [how, times] of Object.entries(reached)) expect(times, how).toBeGreaterThan(LAW.numRuns / 50)
})

function valuesOf(column: Column): unknown[] {
  const read = valueReader(column)
  return Array.from({ length: column.length }, (_, i) => read(i))
}
