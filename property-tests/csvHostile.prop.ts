/**
 * CSV of any characters: what is written comes back, and what others wrote is read as the dullest parser reads it, or
 * refused by a sentence that names the file and the line.
 *
 * Texts are made of what means something to CSV, to JavaScript's objects or to UTF-8, as each of these was read wrongly
 * by somebody.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Batch } from '../src/core/data/column.ts'
import { rowReader } from '../src/core/data/columnReaders.ts'
import { fieldsOf } from '../src/core/data/schema.ts'
import { SourceError } from '../src/core/errors.ts'
import type { ArraySource } from '../src/core/plan/logicalPlan.ts'
import type { CsvKernels } from '../src/core/ports.ts'
import { csvKernels } from '../src/exec/kernels/csv/csvKernels.ts'
import { type CsvOptions, openCsv } from '../src/io/csv/csv.ts'
import { writeCsv } from '../src/io/csv/writeCsv.ts'
import { sourceFromColumns, sourceFromRows } from '../src/io/memory/memory.ts'
import { readSplit } from '../src/io/readSplit.ts'
import { announcedRun } from './lawRuns.ts'

const settings = announcedRun('csvHostile.prop.ts')
const folder = mkdtempSync(join(tmpdir(), 'distarray-csv-law-'))
afterAll(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'any.csv')

const PIECES = [
  '"',
  '""',
  ',',
  ';',
  '\n',
  '\r',
  '\r\n',
  '\0',
  '\0""',
  ' ',
  '\t',
  '\ufeff',
  'a',
  '1',
  '-0',
  'é',
  '😀',
  'null',
  'NaN',
  'true',
]
const hostileText = fc.array(fc.constantFrom(...PIECES), { maxLength: 4 }).map((pieces) => pieces.join(''))
const NAMES = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'column1', 'length', '0']
const name = fc.oneof({ arbitrary: hostileText, weight: 3 }, { arbitrary: fc.constantFrom(...NAMES), weight: 1 })

interface TextTable {
  readonly names: readonly string[]
  readonly rows: readonly (readonly (string | null)[])[]
}

/** Names as the reader gives them: a blank one is called by its number, and no two are the same. */
const textTable: fc.Arbitrary<TextTable> = fc
  .array(name, { minLength: 1, maxLength: 4 })
  .filter((names) => new Set(names.map(nameRead)).size === names.length && new Set(names).size === names.length)
  .chain((names) =>
    fc
      .array(fc.array(fc.option(hostileText), { minLength: names.length, maxLength: names.length }), { maxLength: 5 })
      .map((rows) => ({ names, rows })),
  )

function nameRead(written: string, i: number): string {
  return written.trim() === '' ? `column${i + 1}` : written
}

/** With kernels and without, which is the same. */
async function batchesOf(source: ArraySource): Promise<readonly Batch[]> {
  const names = fieldsOf(source.element).map((field) => field.name)
  const read = (csv?: CsvKernels) => Promise.all(source.splits.map((split) => readSplit(source, split, names, undefined, { csv })))
  const [plain, byKernels] = await Promise.allSettled([read(), read(csvKernels)])
  expect(byKernels).toStrictEqual(plain)
  if (plain.status === 'rejected') throw plain.reason
  return plain.value.flat()
}

async function rowsOf(source: ArraySource): Promise<unknown[]> {
  return (await batchesOf(source)).flatMap((batch) => Array.from({ length: batch.length }, (_, i) => rowReader(batch)(i)))
}

/** The entries of a row in order, `__proto__` among them if it is the row's own. */
const entriesOf = (row: unknown): unknown => Object.entries(row as object)

test('CSV: read(write(x)) = x for any names and texts, from rows and from columns', async () => {
  await fc.assert(
    fc.asyncProperty(textTable, fc.boolean(), async ({ names, rows }, byRows) => {
      const entries = (values: readonly (string | null)[]) => names.map((one, i) => [one, values[i] ?? null] as const)
      const source =
        byRows && rows.length > 0
          ? sourceFromRows(rows.map((row) => Object.fromEntries(entries(row))))
          : sourceFromColumns(Object.fromEntries(names.map((one, i) => [one, rows.map((row) => row[i] ?? null)])))
      expect((await rowsOf(source)).map(entriesOf)).toStrictEqual(rows.map((row) => ordered(entries(row))))
      const own = fieldsOf(source.element).map((field) => field.name)
      const element = { kind: 'row' as const, fields: fieldsOf(source.element) }
      await writeCsv({ batches: await batchesOf(source), element, path })
      const types = Object.fromEntries(own.map((one, i) => [nameRead(one, i), 'utf8'])) as NonNullable<CsvOptions['types']>
      const read = await openCsv(path, { types })
      expect(fieldsOf(read.element).map((field) => field.name)).toStrictEqual(own.map(nameRead))
      const expected = rows.map((row) => {
        const byName = new Map(entries(row))
        return ordered(own.map((one, i) => [nameRead(one, i), byName.get(one) ?? null] as const))
      })
      expect((await rowsOf(read)).map(entriesOf)).toStrictEqual(expected)
    }),
    settings,
  )
})

/** Entries as an object has them: those whose names are indexes first. */
function ordered(entries: readonly (readonly [string, unknown])[]): unknown {
  return Object.entries(Object.fromEntries(entries))
}

type Field = string | null

/**
 * Records character by character; instead the line of the first quote that makes no sense, or `returns` where the first
 * record has `\\r` outside of quotes. Null is an empty field without quotes.
 */
function dullRecords(
  text: string,
  delimiter: string,
): { readonly records: readonly (readonly Field[])[]; readonly lines: readonly number[] } | number | 'returns' {
  const records: Field[][] = []
  const lines: number[] = []
  let line = 1
  let at = 0
  while (at < text.length) {
    const record: Field[] = []
    let returns = false
    lines.push(line)
    for (;;) {
      let field = ''
      const quoted = text[at] === '"'
      const opened = line
      if (quoted) {
        at++
        while (at < text.length && (text[at] !== '"' || text[at + 1] === '"')) {
          if (text[at] === '"') at++
          if (text[at] === '\n') line++
          field += text[at++]
        }
        if (at >= text.length) return opened
        at++
        if (text[at] === '\r' && text[at + 1] === '\n') at++
        if (at < text.length && text[at] !== delimiter && text[at] !== '\n') return line
      } else {
        while (at < text.length && text[at] !== delimiter && text[at] !== '\n') {
          if (text[at] === '"') return line
          field += text[at++]
        }
        if (text[at] === '\n') field = field.replace(/\r$/, '')
        if (field.includes('\r')) returns = true
      }
      record.push(field === '' && !quoted ? null : field)
      if (text[at] === delimiter) {
        at++
        continue
      }
      if (text[at] === '\n') line++
      at++
      break
    }
    if (returns && records.length === 0) return 'returns'
    records.push(record)
  }
  return { records, lines }
}

/** Fields in quotes and without, lines of their own, and now and then something that is no CSV. */
const someField = fc.oneof(
  { arbitrary: hostileText.map((text) => `"${text.replaceAll('"', '""')}"`), weight: 4 },
  { arbitrary: fc.constantFrom('', 'a', '1', ' x ', '\0', 'é', 'è', '\r'), weight: 5 },
  { arbitrary: hostileText, weight: 1 },
)
const someCsv = fc
  .tuple(
    fc.array(fc.array(someField, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 5 }),
    fc.constantFrom(',', ';', '\t', ' ', '\0', 'a', 'é'),
    fc.constantFrom('\n', '\r\n'),
    fc.boolean(),
  )
  .map(([rows, delimiter, end, ended]) => ({ delimiter, text: rows.map((row) => row.join(delimiter)).join(end) + (ended ? end : '') }))

test('CSV of others: the fields of the dullest parser, or the line of what is wrong', async () => {
  await fc.assert(
    fc.asyncProperty(someCsv, async ({ text, delimiter }) => {
      fc.pre(text !== '' && !text.startsWith('\ufeff'))
      writeFileSync(path, text)
      const dull = dullRecords(text, delimiter)
      const read = async () => {
        const width = typeof dull !== 'object' ? 0 : (dull.records[0]?.length ?? 0)
        const types = Object.fromEntries(Array.from({ length: width }, (_, i) => [`column${i + 1}`, 'utf8' as const]))
        return (await rowsOf(await openCsv(path, { header: false, delimiter, types }))).map((row) => Object.values(row as object))
      }
      if (typeof dull === 'number') await expect(read()).rejects.toThrow(`${path}, line ${dull}: `)
      else if (dull === 'returns')
        await expect(read()).rejects.toThrow(new SourceError(`${path} ends its lines with \\r alone. Lines end with \\n or \\r\\n.`, path))
      else {
        const [first = []] = dull.records
        const empty = (record: readonly Field[]) => record.length === 1 && record[0] === null && first.length > 1
        const odd = dull.records.findIndex((record) => record.length !== first.length && !empty(record))
        if (odd >= 0) {
          await expect(read()).rejects.toThrow(
            new SourceError(
              `${path}, line ${dull.lines[odd]}: the record has ${dull.records[odd]?.length} fields, and the table ${first.length} columns.`,
              path,
            ),
          )
        } else expect(await read()).toStrictEqual(dull.records.filter((record) => !empty(record)))
      }
    }),
    settings,
  )
})

/** What a column of numbers holds, and a field that is none: with its text for the message. */
const NUMBERS: readonly (readonly [string, number | null | { readonly odd: string }])[] = [
  ['1', 1],
  ['-2.5', -2.5],
  ['-0', -0],
  ['', null],
  [' 3 ', 3],
  ['"4"', 4],
  ['1e3', 1000],
  ['0.1234567890123456789', 0.12345678901234568],
  ['NaN', Number.NaN],
  ['x', { odd: '"x"' }],
  ['1,', { odd: 'a third' }],
  ['"1"1', { odd: 'a quote' }],
  ['""', { odd: '""' }],
]

test('CSV with numbers: the first field that is none, or what is wrong before it', async () => {
  const record = fc.tuple(
    fc.constantFrom('a', '', '"b\nc"'),
    fc.oneof(...NUMBERS.map((one, i) => ({ arbitrary: fc.constant(one), weight: i < 9 ? 20 : 1 }))),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(record, { maxLength: 20 }), async (records) => {
      writeFileSync(path, `t,n\n${records.map(([text, [number]]) => `${text},${number}\n`).join('')}`)
      const source = await openCsv(path, { types: { t: 'utf8', n: 'f64' } }).catch((error: unknown) => error as SourceError)
      const read = async () => {
        if (source instanceof Error) throw source
        return (await rowsOf(source)).map((row) => (row as { n: number | null }).n)
      }
      const broken = records.findIndex(([, [, value]]) => typeof value === 'object' && value?.odd === 'a quote')
      // quotes that make no sense in the first MiB are told of when the file is opened
      const at = broken >= 0 ? broken : records.findIndex(([, [, value]]) => typeof value === 'object' && value !== null)
      if (at < 0) {
        expect(await read()).toStrictEqual(records.map(([, [, value]]) => value))
        return
      }
      const lineOf = (text: string) =>
        2 +
        records.slice(0, at).filter(([before]) => before.includes('\n')).length +
        at +
        (text === 'a quote' && records[at]?.[0].includes('\n') === true ? 1 : 0)
      const [, [, value]] = records[at] as (typeof records)[number] // found above
      const { odd } = value as { readonly odd: string }
      const what =
        odd === 'a quote'
          ? 'a closing quote is followed by more than a delimiter or the end of the line. Double the quotes that belong to the text.'
          : odd === 'a third'
            ? 'the record has 3 fields, and the table 2 columns.'
            : `column "n": ${odd} is not f64, which { types } asks for.`
      await expect(read()).rejects.toThrow(
        new SourceError(`${path}, line ${lineOf(odd)}${what.startsWith('column') ? ', ' : ': '}${what}`, path),
      )
    }),
    settings,
  )
})

const WORDS: readonly (string | Uint8Array)[] = [
  ...PIECES,
  new Uint8Array([0xff]),
  new Uint8Array([0xc3]),
  new Uint8Array([0xed, 0xa0, 0x80]),
]

test('CSV of any bytes: rows, or a SourceError', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...WORDS), { maxLength: 30 }),
      fc.boolean(),
      fc.constantFrom(',', ';'),
      async (pieces, header, delimiter) => {
        writeFileSync(path, Buffer.concat(pieces.map((piece) => Buffer.from(piece as string)))) // from() takes both
        try {
          const source = await openCsv(path, { header, delimiter })
          await rowsOf(source)
        } catch (error) {
          expect(error).toBeInstanceOf(SourceError)
          expect((error as SourceError).source).toBe(path)
        }
      },
    ),
    settings,
  )
})
