/**
 * Timestamps of every unit, written as text and read back: CSV and NDJSON give the counts that were written, whether `{ types }`
 * names the unit or the digits tell it. Their values in a program are the Dates of whole milliseconds.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { msOfTimestamp } from '../src/core/data/fixedValues.ts'
import type { TimeUnit } from '../src/core/data/schema.ts'
import { csvKernels } from '../src/exec/kernels/csv/csvKernels.ts'
import { openCsv } from '../src/io/csv/csv.ts'
import { openNdjson } from '../src/io/json/ndjson.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { announcedRun } from './lawRuns.ts'

const settings = announcedRun('timestampTexts.prop.ts')
const folder = mkdtempSync(join(tmpdir(), 'distarray-timestamp-texts-'))
afterAll(() => rmSync(folder, { recursive: true }))

const UNIT = { ms: 3, us: 6, ns: 9 } as const
type Unit = keyof typeof UNIT

/** A time as digits: milliseconds since 1970, and what follows them. */
const instant = fc.record({
  ms: fc.oneof(
    fc.integer({ min: Date.UTC(1678, 0, 1), max: Date.UTC(2261, 11, 31) }),
    fc.integer({ min: Date.UTC(1969, 11, 31), max: Date.UTC(1970, 0, 2) }),
  ),
  finer: fc.integer({ min: 0, max: 999_999 }).map((n) => String(n).padStart(6, '0')),
})
const column = fc.record({
  unit: fc.constantFrom<Unit>('ms', 'us', 'ns'),
  times: fc.array(fc.option(instant), { minLength: 1, maxLength: 20 }),
  form: fc.constantFrom('T', ' ', 'Z', '+00:00'),
})

test('timestamps of any unit that are written as text are read as they were', async () => {
  let read = 0
  await fc.assert(
    fc.asyncProperty(column, fc.boolean(), fc.boolean(), async ({ unit, times: drawn, form }, isNamed, isTrimmed) => {
      const digits = UNIT[unit]
      // one with all its digits says the unit, wherever it stands
      const times = isTrimmed ? [...drawn.slice(0, 3), { ms: 1, finer: '123456' }, ...drawn.slice(3)] : drawn
      fc.pre(times.some((time) => time !== null))
      const texts = times.map((time) => {
        if (time === null) return null
        const text = `${new Date(time.ms).toISOString().slice(0, -1)}${time.finer}`
          .slice(0, 20 + digits)
          .replace(isTrimmed ? /\.?0*$/ : '', '')
        return form === ' ' ? text.replace('T', ' ') : form === 'T' ? text : `${text}${form}`
      })
      const perMs = 10n ** BigInt(digits - 3)
      const counts = times.map((time) => (time === null ? 0n : BigInt(time.ms) * perMs + BigInt(time.finer.slice(0, digits - 3) || '0')))
      const types = { at: isNamed ? (`timestamp(${unit})` as const) : ('timestamp' as const) }
      writeFileSync(join(folder, 'any.csv'), `id,at\n${texts.map((text) => `1,${text ?? ''}\n`).join('')}`)
      writeFileSync(join(folder, 'any.ndjson'), texts.map((text) => `${JSON.stringify({ at: text })}\n`).join(''))
      const csv = await openCsv(join(folder, 'any.csv'), { types }, csvKernels)
      for (const source of [csv, await openNdjson(join(folder, 'any.ndjson'), { types })]) {
        const [batch] = await readSplit(source, source.splits[0] as never, ['at'], undefined, { csv: csvKernels })
        const found = batch?.columns[0]
        expect(found?.type).toStrictEqual({ kind: 'timestamp', unit })
        expect(found?.values).toStrictEqual(BigInt64Array.from(counts))
        for (const [row, time] of times.entries()) {
          if (time !== null) expect(msOfTimestamp(counts[row] as bigint, unit as TimeUnit)).toBe(time.ms)
        }
        read++
      }
    }),
    settings,
  )
  expect(read).toBeGreaterThan(0)
})
