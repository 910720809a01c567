/**
 * CSV in other forms: what a dull writer has written with any delimiter, quote, comment, decimal sign and texts for null is read back, with
 * kernels and without, packed or not; types that are given are those that are inferred.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { rowReader } from '../src/core/data/columnReaders.ts'
import { fieldsOf, typeText } from '../src/core/data/schema.ts'
import type { ArraySource } from '../src/core/plan/logicalPlan.ts'
import { csvKernels } from '../src/exec/kernels/csv/csvKernels.ts'
import { type CsvOptions, openCsv } from '../src/io/csv/csv.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('csvFormats.prop.ts')
const LIMIT_MS = 300_000
const folder = mkdtempSync(join(tmpdir(), 'distarray-csvFormats-'))
afterAll(() => rmSync(folder, { recursive: true }))

type Value = number | string | null
interface Form {
  readonly delimiter: string
  readonly quote: string
  readonly comment: string
  readonly decimal: '.' | ','
  readonly nullValues: readonly string[]
  readonly grouped: boolean
  readonly end: string
}

const NUMBERS = fc.oneof(
  fc.integer({ min: -5_000_000, max: 5_000_000 }),
  fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }).map((n) => n / 100),
  fc.double({ min: -1e9, max: 1e9, noNaN: true }).filter((n) => !/e/.test(String(n))),
)
const TEXTS = fc.oneof(
  fc.string({ maxLength: 6, unit: fc.constantFrom('a', 'ü', ';', ',', "'", '"', '#', '\n', '.', '1', ' ', 'N', '|') }),
  fc.constantFrom('NA', '-', '', '1.234', '1,5', '#x', "it's", '5"'),
)
const FORMS: fc.Arbitrary<Form> = fc
  .record({
    delimiter: fc.constantFrom(';', '\t', '|', ',', '§'),
    quote: fc.constantFrom('"', '"', "'", ''),
    comment: fc.constantFrom('', '', '#', '//'),
    decimal: fc.constantFrom('.' as const, ',' as const),
    nullValues: fc.subarray(['NA', '-', 'n/a', '0'], { minLength: 0 }),
    grouped: fc.boolean(),
    end: fc.constantFrom('\n', '\r\n'),
  })
  .filter(({ delimiter, decimal }) => delimiter !== decimal)

function numberText(value: number, { decimal, grouped }: Form): string {
  if (decimal === '.') return String(value)
  const [whole = '', fraction] = String(value).split('.')
  const digits = grouped ? whole.replace(/\B(?=(\d{3})+$)/g, '.') : whole
  return fraction === undefined ? digits : `${digits},${fraction}`
}

/** Undefined for texts that the form cannot say. */
function fieldText(value: Value, form: Form, isFirst: boolean): string | undefined {
  if (value === null) return form.nullValues[0] ?? ''
  if (typeof value === 'number') return numberText(value, form)
  const { quote, delimiter, comment, nullValues } = form
  const isOdd =
    value === '' ||
    value.trim() !== value ||
    /[\r\n]/.test(value) ||
    value.includes(delimiter) ||
    (quote !== '' && value.includes(quote)) ||
    nullValues.includes(value) ||
    (comment !== '' && isFirst && value.startsWith(comment))
  if (!isOdd) return value
  return quote === '' ? undefined : `${quote}${value.replaceAll(quote, quote + quote)}${quote}`
}

async function rowsOf(source: ArraySource, withKernels: boolean): Promise<unknown[]> {
  const rows: unknown[] = []
  const names = fieldsOf(source.element).map(({ name }) => name)
  for (const split of source.splits)
    for (const batch of await readSplit(source, split, names, undefined, withKernels ? { csv: csvKernels } : {})) {
      const read = rowReader(batch)
      for (let i = 0; i < batch.length; i++) rows.push(read(i))
    }
  return rows
}

test(
  'CSV in any form has the values that were written, with kernels and without',
  async () => {
    const seen = { tables: 0, packed: 0, decimals: 0, comments: 0 }
    await fc.assert(
      fc.asyncProperty(
        FORMS,
        fc.array(fc.record({ t: fc.option(TEXTS, { freq: 4 }), x: fc.option(NUMBERS, { freq: 4 }), u: fc.option(TEXTS, { freq: 4 }) }), {
          maxLength: 12,
        }),
        fc.integer({ min: 0, max: 2 }),
        fc.boolean(),
        fc.nat(),
        async (form, wanted, skip, packed, salt) => {
          const rows = wanted.filter((row) => [row.t, row.x, row.u].every((value, i) => fieldText(value, form, i === 0) !== undefined))
          const lines = [
            ['t', 'x', 'u'].join(form.delimiter),
            ...rows.map((row) => [row.t, row.x, row.u].map((value, i) => fieldText(value, form, i === 0)).join(form.delimiter)),
          ]
          const commented =
            form.comment === ''
              ? lines
              : lines.flatMap((line, i) =>
                  (i + salt) % 3 === 0 ? [`${form.comment} it's 5"${form.delimiter} not x${form.delimiter}1`, line] : [line],
                )
          const passed = Array.from({ length: skip }, (_, i) => `Report "${i}" of 'today';`)
          const text = Buffer.from([...passed, ...commented].map((line) => line + form.end).join(''))
          const path = join(folder, 'table.csv')
          writeFileSync(path, packed ? gzipSync(text) : text)
          const { grouped: _, end: __, ...format } = form
          const options: CsvOptions = { ...format, skip, types: { t: 'utf8', x: 'f64', u: 'utf8' } }
          const source = await openCsv(path, options, csvKernels)
          // nothing between delimiters is null, and so is a field that says so
          const expected = rows.map(({ t, x, u }) => ({
            t,
            x: x === null || form.nullValues.includes(numberText(x, form)) ? null : x + 0,
            u,
          }))
          expect(await rowsOf(source, true)).toEqual(expected)
          expect(await rowsOf(source, false)).toEqual(expected)
          const { types: ___, ...inferring } = options
          const inferred = await openCsv(path, inferring, csvKernels)
          if (expected.some(({ x }) => x !== null)) {
            expect(typeText(fieldsOf(inferred.element)[1]?.type ?? { kind: 'null' })).toBe('f64')
            expect((await rowsOf(inferred, true)).map((row) => (row as { x: unknown }).x)).toEqual(expected.map(({ x }) => x))
          }
          seen.tables++
          if (packed) seen.packed++
          if (form.decimal === ',') seen.decimals++
          if (form.comment !== '') seen.comments++
        },
      ),
      run,
    )
    console.log(`CSV in any form: ${JSON.stringify(seen)}`)
    expect(Math.min(seen.packed, seen.decimals, seen.comments)).toBeGreaterThan(seen.tables / 5)
  },
  LIMIT_MS,
)
