import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { count, type FileFormat, PlanError, Session, SourceError, sum } from '../index.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-formats-'))
const path = join(folder, 'numbers.txt')
let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, memory: '64MB' })
  writeFileSync(path, '1 one\n2 two\n3 three\n')
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

const PAIRS: FileFormat = {
  name: 'pairs',
  open: () => ({ columns: { id: 'i32', name: 'utf8' }, pieces: [{}] }),
  async read(file) {
    const lines = Buffer.from(await file.bytes())
      .toString()
      .trim()
      .split('\n')
    return lines.map((line) => ({ id: Number(line.split(' ')[0]), name: line.split(' ')[1] }))
  },
}

test('a table of a format is one like others', async () => {
  const table = await session.readFiles<{ id: number; name: string }>(path, PAIRS)
  expect(
    await table
      .filter((r) => r.id > 1)
      .map((r) => r.name)
      .collect(),
  ).toEqual(['two', 'three'])
  expect(await table.explain({ analyze: true })).toContain('Scan numbers.txt [id, name]')
  expect(await table.explain({ analyze: true })).toContain('1 of 1 pieces')
})

test('folders say columns, and { expect } what they are', async () => {
  const lake = join(folder, 'lake')
  const { mkdirSync } = await import('node:fs')
  for (const year of [2024, 2025]) {
    mkdirSync(join(lake, `year=${year}`), { recursive: true })
    writeFileSync(join(lake, `year=${year}`, 'part.txt'), `${year} y\n`)
  }
  const table = await session.readFiles<{ id: number; name: string; year: number }>(lake, PAIRS, { expect: { year: 'number' } })
  expect(await table.filter((r) => r.year === 2025).collect()).toEqual([{ id: 2025, name: 'y', year: 2025 }])
  await expect(session.readFiles(lake, PAIRS, { expect: { id: 'string' } })).rejects.toEqual(
    new SourceError('lake is not what { expect } says:\n  id: it is number | null (i32), and string was expected.', 'lake'),
  )
})

test('bytes that a program has, packed or not, are as the format reads them', async () => {
  const packed = gzipSync('7 seven\n')
  const { gunzipSync } = await import('node:zlib')
  const format: FileFormat = {
    ...PAIRS,
    read: async (file, piece, columns) => {
      const plain = gunzipSync(await file.bytes())
      return await PAIRS.read({ ...file, bytes: () => Promise.resolve(plain) }, piece, columns)
    },
  }
  expect(await (await session.readFiles(packed, format)).collect()).toEqual([{ id: 7, name: 'seven' }])
})

test('many counted rows go through the kernels of workers', async () => {
  const [pieces, each] = [40, 5_000]
  let reads = 0
  const format: FileFormat<{ rows: number; at: number }> = {
    name: 'made up',
    open: () => ({
      columns: { id: 'f64', kind: 'utf8' },
      pieces: Array.from({ length: pieces }, (_, i) => ({ rows: each, at: i * each })),
    }),
    read(_file, { at }) {
      reads++
      return {
        id: Float64Array.from({ length: each }, (_, i) => at + i),
        kind: Array.from({ length: each }, (_, i) => ['tea', 'rice', null][(at + i) % 3] ?? null),
      }
    },
  }
  const table = await session.readFiles<{ id: number; kind: string | null }>(path, format)
  expect(await table.count()).toBe(pieces * each)
  expect(reads).toBe(0)
  const groups = table
    .filter((r) => r.id % 2 === 0)
    .groupBy((r) => r.kind)
    .agg({ n: count(), ids: sum((r) => r.id) })
  const ids = Array.from({ length: pieces * each }, (_, i) => i).filter((i) => i % 2 === 0)
  const expected = [0, 2, 1].map((rest) => {
    const own = ids.filter((i) => i % 3 === rest)
    return { key: ['tea', 'rice', null][rest], n: own.length, ids: own.reduce((a, b) => a + b, 0) }
  })
  expect(await groups.collect()).toEqual(expected)
  expect(await groups.explain({ analyze: true })).toContain('SIMD')
  expect(await table.take(1)).toEqual([{ id: 0, kind: 'tea' }])
})

test('arrays that a format fills again for the next piece are copied', async () => {
  const scratch = new Float64Array(1000)
  const format: FileFormat<{ rows: number; at: number }> = {
    name: 'one buffer',
    open: () => ({ columns: { id: 'f64' }, pieces: Array.from({ length: 50 }, (_, i) => ({ rows: 1000, at: i * 1000 })) }),
    read(_file, { at }) {
      for (let i = 0; i < 1000; i++) scratch[i] = at + i
      return { id: scratch }
    },
  }
  const table = await session.readFiles<{ id: number }>(path, format)
  const doubled = await table.map((r) => r.id * 2).collect()
  const listed = await table.flatMap((r) => [r.id]).collect()
  expect([doubled.length, doubled.findIndex((value, i) => value !== 2 * i)]).toEqual([50_000, -1])
  expect([listed.length, listed.findIndex((value, i) => value !== i)]).toEqual([50_000, -1])
})

test('a function that fails when a signal has come fails nothing else', async () => {
  const abort = new AbortController()
  const format: FileFormat = {
    ...PAIRS,
    open: async () => {
      abort.abort(new Error('enough'))
      throw new Error('for nobody')
    },
  }
  await expect(session.readFiles(path, format, { signal: abort.signal })).rejects.toThrow('enough')
})

test('a column of Arrow that may be null and holds none is one that may not', async () => {
  const { Field, Float64, RecordBatch, Schema, Struct, makeData } = await import('apache-arrow')
  const schema = new Schema([new Field('id', new Float64(), false)])
  const id = makeData({ type: new Float64(), length: 3, nullCount: 0, nullBitmap: Uint8Array.of(7), data: Float64Array.of(1, 2, 3) })
  const batch = new RecordBatch(schema, makeData({ type: new Struct(schema.fields), length: 3, nullCount: 0, children: [id] }))
  const format: FileFormat = { name: 'arrow', open: () => ({ columns: schema, pieces: [{}] }), read: () => batch }
  expect(await (await session.readFiles(path, format)).collect()).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }])
})

describe('what a format does wrong', () => {
  const reading = (format: unknown) => session.readFiles(path, format as FileFormat)
  const opened = (contents: unknown) => reading({ ...PAIRS, open: () => contents })
  const given = async (rows: unknown, piece = {}) =>
    await (await reading({ ...PAIRS, open: () => ({ columns: { id: 'i32', name: 'utf8' }, pieces: [piece] }), read: () => rows })).collect()

  test.each<[string, () => Promise<unknown>, string]>([
    [
      'no format',
      () => reading({ name: 'x' }),
      "The format of readFiles() is an object with a name and functions open and read, as { name: 'access log', open(file) { … }, read(file, piece, columns) { … } }; it was given an object.",
    ],
    [
      'no contents',
      () => opened(undefined),
      "open() of pairs gives what a file has, as { columns: { id: 'i32' }, pieces: [{}] }; it gave undefined.",
    ],
    ['no pieces', () => opened({ columns: { id: 'i32' } }), 'The pieces of pairs is an array; it was given undefined.'],
    [
      'no columns',
      () => opened({ columns: {}, pieces: [] }),
      "open() of pairs gave no columns. It gives one at least, as { columns: { id: 'i32' }, pieces: [{}] }.",
    ],
    [
      'a type that is none',
      () => opened({ columns: { id: 'i23' }, pieces: [] }),
      `pairs says that column "id" is "i23", which is no type. Did you mean 'i32'? Types are f64, f32, i64, i32, u32, i16, u16, i8, u8, bool, u64, utf8, timestamp, timestamp(ms), timestamp(us), timestamp(ns), date.`,
    ],
    [
      'a piece that is none',
      () => opened({ columns: { id: 'i32' }, pieces: [1] }),
      'A piece of pairs is an object, as { rows: 1000 }; it is 1.',
    ],
    [
      'rows that are no number',
      () => opened({ columns: { id: 'i32' }, pieces: [{ rows: 1.5 }] }),
      'The rows of a piece of pairs are a whole number; they are 1.5.',
    ],
    [
      'statistics of another kind',
      () => opened({ columns: { id: 'i32' }, pieces: [{ statistics: { id: { min: '1', max: '2' } } }] }),
      'The statistics of column "id" of pairs are of kind number, as its values; one is "1". Leave out what is not known.',
    ],
    [
      'statistics of no column',
      () => opened({ columns: { id: 'i32' }, pieces: [{ statistics: { it: { min: 1, max: 2 } } }] }),
      'The statistics of a piece of pairs name a column "it", and its columns are id.',
    ],
  ])('%s', async (_, call, message) => {
    await expect(call()).rejects.toEqual(new PlanError(message))
  })

  test.each<[string, () => Promise<unknown>, string]>([
    ['open() throws', () => reading({ ...PAIRS, open: () => Promise.reject(new Error('no magic bytes')) }), 'no magic bytes'],
    ['rows of another type', () => given([{ id: 'x' }]), 'Column "id" is i32, and the value "x" at row 0 does not fit it.'],
    ['a row that is none', () => given([1]), 'Row 0 that read() gave is 1, and rows are objects.'],
    [
      'a column that is missing',
      () => given({ id: [1] }),
      'read() gave no column "name", which open() names: its third argument says which are wanted.',
    ],
    [
      'columns of several lengths',
      () => given({ id: [1], name: ['a', 'b'] }),
      'read() gave columns of different lengths: "id" has 1 values, and "name" has 2.',
    ],
    [
      'neither rows nor columns',
      () => given('text'),
      'read() gives rows, as [{ id: 1 }], or columns, as { id: [1] }, or a record batch of Arrow; it gave "text".',
    ],
    [
      'another number of rows',
      () => given([{ id: 1, name: 'a' }], { rows: 2 }),
      'read() gave 1 rows of a piece that has 2. Say the right number in open(), or none.',
    ],
    [
      'a value that its type has not',
      () => given({ id: Float64Array.of(1.5), name: ['a'] }),
      'Column "id": Cannot cast 1.5 at row 0 to i32. Values of i32 are integers from -2147483648 to 2147483647.',
    ],
  ])('%s', async (_, call, said) => {
    const error = await call().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(SourceError)
    expect(error).toMatchObject({ message: `${path} could not be read as pairs: ${said}`, source: path, cause: { message: said } })
  })

  test('files of other columns, and one that changed', async () => {
    const other = join(folder, 'other.txt')
    writeFileSync(other, '1 one\n')
    const format: FileFormat = { ...PAIRS, open: (file) => ({ columns: { [file.path === path ? 'id' : 'it']: 'i32' }, pieces: [{}] }) }
    await expect(session.readFiles([path, other], format)).rejects.toEqual(
      new SourceError(
        `${other} has the columns it, and ${path} has id. Files read together need the same columns with the same types.`,
        other,
      ),
    )
    const table = await session.readFiles(other, PAIRS)
    writeFileSync(other, '1 one\n2 two\n')
    await expect(table.collect()).rejects.toEqual(new SourceError(`${other} changed since it was opened. Open it again.`, other))
  })

  test('a signal ends opening, and reading', async () => {
    const never: FileFormat = { ...PAIRS, open: ({ bytes }) => bytes().then(() => new Promise<never>(() => {})) }
    await expect(session.readFiles(path, PAIRS, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough')
    const signal = AbortSignal.timeout(20)
    await expect(session.readFiles(path, never, { signal })).rejects.toMatchObject({ name: 'TimeoutError' })
    const endless = await session.readFiles(path, { ...PAIRS, read: () => new Promise<never>(() => {}) })
    await expect(endless.collect({ signal: AbortSignal.timeout(20) })).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})

test('forEach reads the columns that its function names, and all where it may see others', async () => {
  const asked: string[] = []
  const format: FileFormat = {
    name: 'rows',
    open: () => ({ columns: { a: 'f64', s: 'utf8', t: 'utf8' }, pieces: [{}] }),
    read(_file, _piece, columns) {
      asked.push(columns.join())
      return [0, 1].map((i) => ({ a: i, s: `s${i}`, t: `t${i}` }))
    },
  }
  type Row = { a: number; s: string; t: string }
  const table = await session.readFiles<Row>(Buffer.from('any'), format)
  const seen: unknown[] = []
  const see = (value: unknown): void => {
    seen.push(value)
  }
  const cases: readonly (readonly [(row: Row, key: readonly number[]) => void, string, readonly unknown[]])[] = [
    [(r) => see(r.s), 's', ['s0', 's1']],
    [({ t, a }) => see(`${t}${a}`), 'a,t', ['t00', 't11']],
    [(r) => see(`${r.t?.length} ${'a' in r}`), 'a,s,t', ['2 true', '2 true']],
    [(r) => see({ ...r }), 'a,s,t', [0, 1].map((i) => ({ a: i, s: `s${i}`, t: `t${i}` }))],
    [({ a, ...others }) => see(others), 'a,s,t', [0, 1].map((i) => ({ s: `s${i}`, t: `t${i}` }))],
    [(r) => see(Object.keys(r).length), 'a,s,t', [3, 3]],
    [(_, [i]) => see(i), 'a', [0, 1]],
    [see, 'a,s,t', [0, 1].map((i) => ({ a: i, s: `s${i}`, t: `t${i}` }))],
  ]
  for (const [f, columns, values] of cases) {
    await table.forEach(f)
    expect([asked.splice(0).at(-1), seen.splice(0)], String(f)).toEqual([columns, values])
  }
  await table
    .filter((r) => r.a > 0)
    .map((r) => ({ x: r.a, s: r.s, t: r.t }))
    .forEach((r) => {
      see(r.x)
    })
  expect([asked.splice(0), seen]).toEqual([['a'], [1]])
})
