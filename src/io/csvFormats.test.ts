/** CSV in other forms than with commas and points, and compressed text. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as zlib from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PlanError, SourceError } from '../core/errors.ts'
import { Session } from '../session/session.ts'
import { HOST, ownerHere } from './bytes/processStart.ts'
import type { CsvOptions } from './csv/csv.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-csvFormats-'))
const path = join(folder, 'data.csv')
let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, memory: '64MB' })
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

async function load(text: string | Uint8Array, options: CsvOptions = {}): Promise<unknown[]> {
  writeFileSync(path, text)
  return await (await session.readCsv(path, options)).collect()
}

test('German numbers: points between thousands, commas before decimals', async () => {
  const text = 'Tag;Preis;Menge;Nr\n01.03.2024;1.234,50;1.500;007\n02.03.2024;-0,5;12;008\n03.03.2024;;"2.000.000,25";009\n'
  expect(await load(text, { delimiter: ';', decimal: ',' })).toEqual([
    { Tag: '01.03.2024', Preis: 1234.5, Menge: 1500, Nr: '007' },
    { Tag: '02.03.2024', Preis: -0.5, Menge: 12, Nr: '008' },
    { Tag: '03.03.2024', Preis: null, Menge: 2000000.25, Nr: '009' },
  ])
  const types = { delimiter: ';', decimal: ',', types: { a: 'i32', b: 'f32' } } as const
  expect(await load('a;b\n1.000;0,5\n-7;1e3\n', types)).toEqual([
    { a: 1000, b: 0.5 },
    { a: -7, b: 1000 },
  ])
  // what is no number with decimal commas is not one with points
  expect(await load('a\n1.5\n1,5\n', { delimiter: ';', decimal: ',' })).toEqual([{ a: '1.5' }, { a: '1,5' }])
  await expect(load('a;b\n1;2,5\n2;1.5\n', { delimiter: ';', decimal: ',', types: { b: 'f64' } })).rejects.toThrow(
    new SourceError(
      `${path}, line 3, column "b": "1.5" is not f64, which { types } asks for. Points stand between thousands, and a comma before decimals.`,
      path,
    ),
  )
})

test('texts for null, comments, lines before the header, other quotes', async () => {
  expect(await load('a,b\nNA,1\n"NA",-\n,3\n', { nullValues: ['NA', '-'] })).toEqual([
    { a: null, b: 1 },
    { a: 'NA', b: null },
    { a: null, b: 3 },
  ])
  expect(await load('Report of "today\nmade by hand\n# it\'s 5"\na,b\n#x,y\n1,"#2"\n', { skip: 2, comment: '#' })).toEqual([
    { a: 1, b: '#2' },
  ])
  expect(await load("a,b\n'x, ''y''',5\" tall\n", { quote: "'" })).toEqual([{ a: "x, 'y'", b: '5" tall' }])
  expect(await load('a,b\n"x,y"\n', { quote: '' })).toEqual([{ a: '"x', b: 'y"' }])
  await expect(load('a\nb\n', { skip: 5 })).rejects.toThrow(
    new SourceError(`${path} has no lines behind those that { skip: 5 } passes over.`, path),
  )
  await expect(load('x\ny\na,b\n1\n', { skip: 2 })).rejects.toThrow(
    new SourceError(`${path}, line 4: the record has 1 fields, and the table 2 columns.`, path),
  )
})

test('files of many pieces with comments and quotes', async () => {
  const rows = 400_000
  const lines = Array.from({ length: rows }, (_, i) => `${i % 1000 === 7 ? `# it's "${i}\n` : ''}${i};'a ''${i}\n';${i % 10},5\n`)
  writeFileSync(path, `# head\nid;t;x\n${lines.join('')}`)
  const options = { delimiter: ';', comment: '#', quote: "'", decimal: ',' } as const
  const table = await session.readCsv<{ id: number; t: string; x: number }>(path, options)
  expect(await table.count()).toBe(rows)
  expect(await table.map((r) => r.id).sum()).toBe((rows * (rows - 1)) / 2)
  expect(await table.map((r) => r.x).sum()).toBe(rows * 5)
  expect(await table.filter((r) => r.id === 399_999).collect()).toEqual([{ id: 399_999, t: "a '399999\n", x: 9.5 }])
})

test('compressed text is unpacked, cut and read as any other', async () => {
  const rows = 500_000
  const text = `id,name\n${Array.from({ length: rows }, (_, i) => `${i},name ${i % 100}\n`).join('')}`
  const packed = join(folder, 'many.csv.gz')
  writeFileSync(packed, Buffer.concat([zlib.gzipSync(text.slice(0, 1_000_003)), zlib.gzipSync(text.slice(1_000_003))]))
  const table = await session.readCsv<{ id: number; name: string }>(packed)
  expect(await table.count()).toBe(rows)
  expect(await table.map((r) => r.id).sum()).toBe((rows * (rows - 1)) / 2)
  expect(table.explain()).toContain('Scan many.csv.gz [id, name]')
  expect(await (await session.readText(packed)).take(2)).toEqual(['id,name', '0,name 0'])
  const own = readdirSync(tmpdir()).filter((name) => name.startsWith(`distarray-unpacked-${ownerHere()}-`))
  expect(own.length).toBe(1)
  if (!('zstdCompressSync' in zlib)) return
  const { zstdCompressSync } = zlib as unknown as { readonly zstdCompressSync: (text: string) => Uint8Array }
  writeFileSync(packed, zstdCompressSync(text))
  expect(await (await session.readCsv(packed)).count()).toBe(rows)
})

test('what was unpacked goes with the process, and with the next one where it was killed', () => {
  const left = join(tmpdir(), `distarray-unpacked-${HOST}-999999999-1-x`)
  mkdirSync(left, { recursive: true })
  writeFileSync(path, zlib.gzipSync('a\n1\n'))
  const script = join(folder, 'unpack.mts')
  writeFileSync(
    script,
    `import { openPlain } from ${JSON.stringify(new URL('bytes/unpacked.ts', import.meta.url).href)}
const { unpacked } = await openPlain(${JSON.stringify(path)}, {})
console.log(unpacked.at)`,
  )
  const at = execFileSync(process.execPath, ['--import', import.meta.resolve('tsx'), script], { encoding: 'utf8' }).trim()
  expect(at).toContain('distarray-unpacked-')
  expect(existsSync(at)).toBe(false)
  expect(existsSync(left)).toBe(false)
})

test('a compressed file that is damaged is an error that names it', async () => {
  const packed = zlib.gzipSync('a,b\n1,2\n')
  const damaged = (why: string) => new SourceError(`${path} is damaged: what is compressed with gzip in it does not unpack (${why}).`, path)
  await expect(load(packed.subarray(0, packed.length - 6))).rejects.toThrow(damaged('unexpected end of file'))
  const flipped = Buffer.from(packed)
  flipped[flipped.length - 6] = (flipped[flipped.length - 6] ?? 0) ^ 1
  await expect(load(flipped)).rejects.toThrow(damaged('incorrect data check'))
})

test.each<[CsvOptions, string]>([
  [{ decimal: ',' }, `What stands before decimals, ",", also stands between fields. Name what does, for example with { delimiter: ';' }.`],
  [{ decimal: ' ' as never }, `The decimal of readCsv() is '.' or ','; it was given " ".`],
  [{ quote: 'ab' }, `The quote of readCsv() is one character of ASCII, or '' for none; it was given "ab".`],
  [{ comment: '"' }, `The comment of readCsv() is what lines begin with that are passed over, as '#'; it was given "\\"".`],
  [{ skip: -1 }, 'The skip of readCsv() is an integer of at least 0; it was given -1.'],
  [{ nullValues: [5 as never] }, 'The nullValues of readCsv() are texts; they were given 5.'],
])('readCsv with the options %j', async (options, message) => {
  await expect(load('a\n', options)).rejects.toThrow(new PlanError(message))
})

test('forms that cannot be written are refused', async () => {
  const rows = session.fromRows([{ a: 1.5 }])
  const path = join(folder, 'forms.csv')
  await expect(rows.writeCsv(path, { delimiter: '-' })).rejects.toThrow(
    new PlanError(
      "The delimiter of writeCsv() is one character of ASCII that is in no number or date, as ';' or '\\t'; it was given \"-\".",
    ),
  )
  await expect(rows.writeCsv(path, { decimal: ',' })).rejects.toThrow(
    new PlanError('What stands before decimals, ",", also stands between fields. Name what does, for example with { delimiter: \';\' }.'),
  )
  await expect(rows.writeCsv(path, { decimal: '·' as never })).rejects.toThrow(
    new PlanError("The decimal of writeCsv() is one of '.', ','; it was given \"·\"."),
  )
  await rows.writeCsv(path, { delimiter: ';', decimal: ',' })
  expect(readFileSync(path, 'utf8')).toBe('a\n1,5\n')
})
