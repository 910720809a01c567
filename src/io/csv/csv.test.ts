import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { rowReader } from '../../core/data/columnReaders.ts'
import { fieldsOf, typeText } from '../../core/data/schema.ts'
import { PlanError, SourceError } from '../../core/errors.ts'
import { readSplit } from '../readSplit.ts'
import { openText } from '../text.ts'
import { type CsvOptions, openCsv } from './csv.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-csv-'))
afterAll(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'data.csv')

async function load(
  text: string | Uint8Array,
  options: CsvOptions = {},
  at: string | string[] = path,
): Promise<{ types: string; rows: unknown[]; splits: number }> {
  if (typeof at === 'string') writeFileSync(at, text)
  const source = await openCsv(at, options)
  const fields = fieldsOf(source.element)
  const rows: unknown[] = []
  for (const split of source.splits) {
    for (const batch of await readSplit(
      source,
      split,
      fields.map((field) => field.name),
    )) {
      const read = rowReader(batch)
      for (let i = 0; i < batch.length; i++) rows.push(read(i))
    }
  }
  return { types: fields.map((field) => `${field.name} ${typeText(field.type)}`).join(', '), rows, splits: source.splits.length }
}

test('types are inferred, empty is null', async () => {
  expect(await load('id,price,ok,name,none,zip\n1,1.5,true,a,,007\n-2,,false,"b, c",,12\n3e2,NaN,,"d ""e""",,1\n')).toStrictEqual({
    types: 'id f64, price f64, ok bool, name utf8, none null, zip utf8',
    rows: [
      { id: 1, price: 1.5, ok: true, name: 'a', none: null, zip: '007' },
      { id: -2, price: null, ok: false, name: 'b, c', none: null, zip: '12' },
      { id: 300, price: Number.NaN, ok: null, name: 'd "e"', none: null, zip: '1' },
    ],
    splits: 1,
  })
})

test('integers beyond 2^53 make a column i64; dates stay text unless { types } says timestamp', async () => {
  const text = 'id,at\n9007199254740993,2024-02-29T12:00:00Z\n2,2024-03-01\n'
  expect(await load(text)).toStrictEqual({
    types: 'id i64, at utf8',
    rows: [
      { id: 9007199254740993n, at: '2024-02-29T12:00:00Z' },
      { id: 2n, at: '2024-03-01' },
    ],
    splits: 1,
  })
  expect((await load(text, { types: { at: 'timestamp', id: 'utf8' } })).rows).toStrictEqual([
    { id: '9007199254740993', at: new Date('2024-02-29T12:00:00Z') },
    { id: '2', at: new Date('2024-03-01T00:00:00Z') },
  ])
})

test('delimiter, no header, \\r\\n, byte order mark, no last line end, empty lines', async () => {
  expect(await load('\ufeffa;b\r\n1;x\r\n\r\n2;y', { delimiter: ';' })).toStrictEqual({
    types: 'a f64, b utf8',
    rows: [
      { a: 1, b: 'x' },
      { a: 2, b: 'y' },
    ],
    splits: 1,
  })
  expect(await load('1,x\n2,y\n', { header: false })).toStrictEqual({
    types: 'column1 f64, column2 utf8',
    rows: [
      { column1: 1, column2: 'x' },
      { column1: 2, column2: 'y' },
    ],
    splits: 1,
  })
  expect((await load('a\n1\n\n3\n')).rows).toStrictEqual([{ a: 1 }, { a: null }, { a: 3 }])
  expect((await load('a,b\n')).rows).toStrictEqual([])
  expect((await load('a,b\n"",\n')).rows).toStrictEqual([{ a: '', b: null }])
})

test('decimal commas are no numbers, other dates no dates, and the messages say what to do', async () => {
  await expect(load('a\n3/4/2024\n', { types: { a: 'timestamp' } })).rejects.toThrow(
    new SourceError(
      `${path}, line 2, column "a": "3/4/2024" is not timestamp(ms), which { types } asks for. Dates are ISO 8601, as 2024-03-01: take the column as 'utf8', and convert it in map().`,
      path,
    ),
  )
  await expect(load('a;b\n-1.234,50;1\n', { delimiter: ';', types: { a: 'f64' } })).rejects.toThrow(
    new SourceError(
      `${path}, line 2, column "a": "-1.234,50" is not f64, which { types } asks for. Numbers are read without commas, with a decimal point: with decimal commas read them with { decimal: ',' }, or take the column as 'utf8', and convert it in map().`,
      path,
    ),
  )
})

test('a name with another delimiter in it is asked about, unless the delimiter is given or the name in quotes', async () => {
  const asked = (what: string, name: string, delimiter: string) =>
    new SourceError(
      `${path} has ${what} in its first line: ${name}. If that is what stands between fields, read it with { delimiter: '${delimiter}' }; if it is part of a column's name, with { delimiter: ',' }.`,
      path,
    )
  await expect(load('a;b\n1;2\n')).rejects.toThrow(asked('a semicolon', '"a;b"', ';'))
  await expect(load('a\tb\n1\t2\n')).rejects.toThrow(asked('a tab', '"a\\tb"', '\\t'))
  await expect(load('a|b\n1|2\n')).rejects.toThrow(asked('a bar', '"a|b"', '|'))
  // a comma in the name and one in the number: as many fields in both lines
  await expect(load('price, net;amount\n1,20;3\n')).rejects.toThrow(asked('a semicolon', '"net;amount"', ';'))
  expect(await load('a;b\n1;2\n', { delimiter: ';' })).toStrictEqual({ types: 'a f64, b f64', rows: [{ a: 1, b: 2 }], splits: 1 })
  expect((await load('a;b\n1;2\n', { delimiter: ',' })).rows).toStrictEqual([{ 'a;b': '1;2' }])
  expect((await load('"a;b"\n1;2\n')).rows).toStrictEqual([{ 'a;b': '1;2' }])
  expect((await load('a;b\n1;2\n', { header: false })).rows).toStrictEqual([{ column1: 'a;b' }, { column1: '1;2' }])
  expect((await load('price|net,\tamount\t\n1,2\n')).rows).toStrictEqual([{ 'price|net': 1, amount: 2 }])
})

test('a header of two quotes is none, a name in quotes stands as it is, and no text is taken for a mark', async () => {
  expect((await load('"","x"," y ", z \n"1",5.1,"\0""""",""\n')).rows).toStrictEqual([{ column1: 1, x: 5.1, ' y ': '\0""', z: '' }])
  expect((await load('a\n"\0"""""\n"\0"\n\0\n')).rows).toStrictEqual([{ a: '\0""' }, { a: '\0' }, { a: '\0' }])
})

test('a record of the wrong length names its line', async () => {
  await expect(load('a,b\n1,2\n"x\ny",3\n4,5,6\n')).rejects.toThrow(
    new SourceError(`${path}, line 5: the record has 3 fields, and the table 2 columns.`, path),
  )
  await expect(load('a,b\n1,2\n3\n')).rejects.toThrow(
    new SourceError(`${path}, line 3: the record has 1 fields, and the table 2 columns.`, path),
  )
})

test('a value that contradicts the inferred type is an error with its line and the cure', async () => {
  const many = `n,big\n${'12345,1\n'.repeat(150_000)}`
  await expect(load(`${many}n/a,1\n`)).rejects.toThrow(
    new SourceError(
      `${path}, line 150002, column "n": "n/a" is not f64, which the first MiB of the file suggests. Say what it is: { types: { n: 'utf8' } }.`,
      path,
    ),
  )
  await expect(load(`${many}1,9007199254740993\n`)).rejects.toThrow(
    new SourceError(
      `${path}, line 150002, column "big": "9007199254740993" is not f64, which the first MiB of the file suggests. Say what it is: { types: { big: 'i64' } }.`,
      path,
    ),
  )
  await expect(load(`${many}007,1\n`)).rejects.toThrow(
    new SourceError(
      `${path}, line 150002, column "n": "007" is not f64, which the first MiB of the file suggests. Say what it is: { types: { n: 'utf8' } }.`,
      path,
    ),
  )
})

test('a value that does not fit the type asked for is an error with its line', async () => {
  const cases: [string, CsvOptions['types'], string][] = [
    ['300', { a: 'u8' }, '"300" is not u8'],
    ['1.5', { a: 'i32' }, '"1.5" is not i32'],
    ['1.5', { a: 'i64' }, '"1.5" is not i64'],
    ['9223372036854775808', { a: 'i64' }, '"9223372036854775808" is not i64'],
    ['1e999', { a: 'f64' }, '"1e999" is not f64'],
    ['yes', { a: 'bool' }, '"yes" is not bool'],
    ['2024-02-30', { a: 'timestamp' }, '"2024-02-30" is not timestamp(ms)'],
  ]
  for (const [field, types, message] of cases) {
    await expect(load(`a\n\n${field}\n`, { types: types ?? {} })).rejects.toThrow(
      new SourceError(`${path}, line 3, column "a": ${message}, which { types } asks for.`, path),
    )
  }
})

test('timestamps keep all digits that their texts have, and one with more than the first MiB shows says what would hold it', async () => {
  const text = 'at\n2024-02-29 12:00:00\n2024-02-29 12:00:00.433581\n'
  const { types, rows } = await load(text, { types: { at: 'timestamp' } })
  expect(types).toBe('at timestamp(us)')
  expect(rows).toStrictEqual([{ at: new Date('2024-02-29T12:00:00Z') }, { at: new Date('2024-02-29T12:00:00.433Z') }])
  await expect(load(text, { types: { at: 'timestamp(ms)' } })).rejects.toThrow(
    new SourceError(
      `${path}, line 3, column "at": "2024-02-29 12:00:00.433581" is not timestamp(ms), which { types } asks for. It has more digits of a second: take the column as 'timestamp(us)'.`,
      path,
    ),
  )
})

test('wrong options and wrong files', async () => {
  await expect(load('a,b\n1,2\n', { types: { total: 'f64' } })).rejects.toThrow(
    new PlanError(`There is no column "total" in ${path}. The columns are a, b. { types } asks for it.`),
  )
  await expect(load('a,b\n', { delimiter: '\ud83d' })).rejects.toThrow(PlanError)
  await expect(load('a,b\n', { delimiter: '' })).rejects.toThrow(new PlanError('The delimiter "" is not one character.'))
  await expect(load('a,b\r1,2\r')).rejects.toThrow(
    new SourceError(`${path} ends its lines with \\r alone. Lines end with \\n or \\r\\n.`, path),
  )
  await expect(load('')).rejects.toThrow(new SourceError(`${path} is empty.`, path))
  await expect(load('a,a\n1,2\n')).rejects.toThrow(
    new SourceError(`${path}, column "a": there are two columns of this name. Rename one, or read it with { header: false }.`, path),
  )
  await expect(load(new Uint8Array([97, 10, 255, 254, 10]))).rejects.toThrow(
    new SourceError(`${path} is not text in UTF-8. Convert it first, for example with iconv -t UTF-8.`, path),
  )
  await expect(load('a,b\n\n1,"2\n3,4\n')).rejects.toThrow(
    new SourceError(
      `${path}, line 3: the quote that opens a field here is not closed. Close it, or double the quotes that belong to the text.`,
      path,
    ),
  )
  await expect(load('a,b\n"x\ny"z,4\n')).rejects.toThrow(
    new SourceError(
      `${path}, line 3: a closing quote is followed by more than a delimiter or the end of the line. Double the quotes that belong to the text.`,
      path,
    ),
  )
  await expect(load('a,b\n1,5"\n')).rejects.toThrow(
    new SourceError(
      `${path}, line 2: a quote stands in the middle of a field that does not begin with one. Put the field in quotes, and double those that belong to the text.`,
      path,
    ),
  )
  await expect(openCsv(join(folder, 'none.csv'))).rejects.toThrow(
    new SourceError(`There is no file ${join(folder, 'none.csv')}.`, join(folder, 'none.csv')),
  )
})

test('several files have one type for a column', async () => {
  const other = join(folder, 'other.csv')
  writeFileSync(path, 'a,b\n1,x\n')
  writeFileSync(other, 'a,b\nz,y\n')
  expect((await load('', {}, [path, other])).rows).toStrictEqual([
    { a: '1', b: 'x' },
    { a: 'z', b: 'y' },
  ])
  writeFileSync(other, 'a,c\n1,y\n')
  await expect(load('', {}, [path, other])).rejects.toThrow(
    new SourceError(`${other} has the columns a, c, and ${path} has a, b. Files read together need the same columns.`, other),
  )
})

test('large files are cut between records, also where fields hold line ends', async () => {
  const records = Array.from({ length: 300_000 }, (_, i) => `${i},"line ${i}\nand ""more"", text",${i / 4}`)
  const { rows, splits, types } = await load(`id,text,x\n${records.join('\n')}\n`)
  expect([splits, types, rows.length]).toStrictEqual([2, 'id f64, text utf8, x f64', 300_000])
  for (const i of [0, 217_000, 299_999]) expect(rows[i]).toStrictEqual({ id: i, text: `line ${i}\nand "more", text`, x: i / 4 })
  expect(rows.every((row, i) => (row as { id: number }).id === i)).toBe(true)
  const broken = `id,text,x\n${records.join('\n')}\nlate,"a",1\n`
  await expect(load(broken)).rejects.toThrow(
    new SourceError(
      `${path}, line 600002, column "id": "late" is not f64, which the first MiB of the file suggests. Say what it is: { types: { id: 'utf8' } }.`,
      path,
    ),
  )
})

test('wide tables: first records of more than a MiB say the types, and there is an end to columns', async () => {
  const width = 60_000
  const names = Array.from({ length: width }, (_, i) => `a column whose number is ${i}`)
  const { rows } = await load(`${names.join()}\n${names.map((_, i) => i).join()}\n`)
  expect(rows).toHaveLength(1)
  expect(Object.values(rows[0] as object).every((value, i) => value === i)).toBe(true)
  await expect(load(`${','.repeat(100_000)}\n`)).rejects.toThrow(
    new SourceError(
      `${path} has 100001 columns in its first record, and more than 100000 are not read. Has it line ends, and is the delimiter the right one?`,
      path,
    ),
  )
})

test('a record or a line without an end is refused before it fills the memory', async () => {
  const much = Buffer.alloc(66 * 2 ** 20, 'a')
  await expect(load(Buffer.concat([Buffer.from('a,b\n1,2\n1,"'), much, Buffer.from('\n')]))).rejects.toThrow(
    new SourceError(
      `${path}, line 3: the record that begins here does not end within 64 MiB, and longer ones are not read. Is it CSV, and are its quotes closed?`,
      path,
    ),
  )
  writeFileSync(path, Buffer.concat([much, much.subarray(0, 9 * 2 ** 20)]))
  await expect(openCsv(path)).rejects.toThrow(SourceError)
  await expect(openText(path)).rejects.toThrow(
    new SourceError(
      `${path} has a line of more than 64 MiB behind byte 0, and longer ones are not read. Is it text, with a line an element?`,
      path,
    ),
  )
})

test('a column without values has no type where all of the file was seen, and is text in a longer one', async () => {
  expect((await load('id,none\n1,\n2,NA\n', { nullValues: ['NA'] })).types).toBe('id f64, none null')
  expect((await load('id,none\n')).types).toBe('id null, none null')
  expect((await load('id,none\n1,""\n')).types).toBe('id f64, none utf8')
  const long = await load(`id,none\n${'1,\n'.repeat(400_000)}`)
  expect(long.types).toBe('id f64, none utf8')
  const other = join(folder, 'other.csv')
  writeFileSync(other, 'id,none\n3,4\n')
  expect((await load('id,none\n1,\n', {}, path)).rows).toEqual([{ id: 1, none: null }])
  expect(await load('', {}, [path, other])).toMatchObject({
    types: 'id f64, none f64',
    rows: [
      { id: 1, none: null },
      { id: 3, none: 4 },
    ],
  })
})
