import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PlanError, SourceError } from '../../core/errors.ts'
import { Session } from '../../session/session.ts'
import type { NdjsonOptions } from './ndjson.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-ndjson-'))
const path = join(folder, 'log.jsonl')
let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, memory: '64MB' })
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

async function load(text: string | Uint8Array, options: NdjsonOptions = {}) {
  writeFileSync(path, text)
  return await session.readNdjson<object>(path, options)
}

test('fields of all lines are columns, null where a line does not have them', async () => {
  const table = await load(
    '\ufeff{"at":"2024-03-01T10:00:00Z","level":"warn","tags":["a",null],"user":{"id":7}}\r\n\n{"at":"2024-03-02T00:00:00.5Z","ms":1.5,"user":{"id":8,"vip":true},"tags":[]}',
    { types: { at: 'timestamp' } },
  )
  expect(String(table.schema)).toBe(
    'Schema<{ 0: at: Timestamp<MILLISECOND>, 1: level: Utf8, 2: tags: List<Utf8>, 3: user: Struct<{id:Float64, vip:Bool}>, 4: ms: Float64 }>',
  )
  expect(await table.collect()).toEqual([
    { at: new Date('2024-03-01T10:00:00Z'), level: 'warn', tags: ['a', null], user: { id: 7, vip: null }, ms: null },
    { at: new Date('2024-03-02T00:00:00.500Z'), level: null, tags: [], user: { id: 8, vip: true }, ms: 1.5 },
  ])
})

test('whole numbers of lists beside bigints are bigints, also in lines that the engine parses', async () => {
  // a name that comes twice is left to the engine
  const table = await load(
    '{"a":[9007199254740993]}\n{"a":[],"a":[1152921504606846976,3]}\n{"b":{"x":[1]}}\n{"b":0,"b":{"x":[9007199254740993]}}\n',
  )
  expect(await table.collect()).toEqual([
    { a: [2n ** 53n + 1n], b: null },
    { a: [2n ** 60n, 3n], b: null },
    { a: null, b: { x: [1n] } },
    { a: null, b: { x: [2n ** 53n + 1n] } },
  ])
})

test('counting reads nothing, as opening has counted, and refuses a file that has changed since', async () => {
  const text = '{"id":1}\n{"id":2}\n\n{"other":3}'
  const put = (bytes: string): void => {
    writeFileSync(path, bytes)
    utimesSync(path, 1, 1)
  }
  put(text)
  const table = await session.readNdjson(path)
  put('?'.repeat(text.length))
  expect(await table.count()).toBe(3)
  writeFileSync(path, '{"id":1}\n')
  await expect(table.count()).rejects.toThrow(new SourceError(`${path} changed since it was opened. Open it again.`, path))
})

test('the last line may tell what a column is; many pieces are read by workers, packed ones too', async () => {
  const rows = 400_000
  const text = Array.from(
    { length: rows },
    (_, id) => `{"id":${id},"name":"name ${id % 100}"${id === rows - 1 ? ',"last":[9007199254740993]' : ''}}\n`,
  )
  const table = (await load(gzipSync(text.join('')))) as never as Awaited<
    ReturnType<typeof session.readNdjson<{ id: number; last: bigint[] | null }>>
  >
  expect(await table.count()).toBe(rows)
  expect(await table.map((r) => r.id).sum()).toBe((rows * (rows - 1)) / 2)
  expect(await table.filter((r) => r.last !== null).collect()).toEqual([{ id: rows - 1, name: 'name 99', last: [2n ** 53n + 1n] }])
})

test('whatever a column is, it may be taken as JSON text; folders are columns', async () => {
  mkdirSync(join(folder, 'logs/day=2024-03-01'), { recursive: true })
  writeFileSync(join(folder, 'logs/day=2024-03-01/a.json'), '{"x":1,"n":3}\n{"x":{"y":[12345678901234567890]},"n":4}\n{"x":"a\\n"}\n')
  const table = await session.readNdjson<{ x: string; day: Date }>(join(folder, 'logs'), { types: { x: 'json', n: 'i32' } })
  expect(await table.collect()).toEqual([
    { x: '1', n: 3, day: new Date('2024-03-01') },
    { x: '{"y":[12345678901234567890]}', n: 4, day: new Date('2024-03-01') },
    { x: '"a\\n"', n: null, day: new Date('2024-03-01') },
  ])
})

test.each<[string, string, NdjsonOptions?]>([
  ['{"a":1}\n{"a":\n', 'PATH, line 2: "{\\"a\\":" is no JSON. Each line holds one object, as {"id": 1}.'],
  ['{"a":1}\n5\n', 'PATH, line 2: "5" is no object. Each line holds one object, as {"id": 1}.'],
  ['[{"a":1}]', "PATH begins with a list, and readNdjson() reads an object a line. Make it such, for example with jq -c '.[]'."],
  [
    '{"a":1}\n\n{"a":"x"}\n',
    "PATH, line 3: a is a text, and in line 1 it is a number. A column holds values of one kind. Take it as text with { types: { a: 'json' } }.",
  ],
  [
    '{"a b":[{"c":1}]}\n{"a b":[{"c":[]}]}\n',
    `PATH, line 2: a b[].c is a list, and in line 1 (a b[].c) it is a number. A column holds values of one kind. Take it as text with { types: { "a b": 'json' } }.`,
  ],
  [
    '{"a":9007199254740993}\n{"a":0.5}\n',
    `PATH, column "a": the integer 9007199254740993 in line 1 is not exactly a number, and not all of its values are integers of 64 bits. Say what it is: { types: { a: 'f64' } } rounds it, 'json' keeps its digits as text.`,
  ],
  ['{"a":"\\ud800"}\n', 'PATH, line 1: a has half of a surrogate pair, which UTF-8 cannot write.'],
  ['{"a":1.5}\n', 'PATH, line 1: a is 1.5, and no i32, which { types } asks for.', { types: { a: 'i32' } }],
  ['{"a":"x"}\n', 'PATH, line 1: a is "x", and no date, which { types } asks for.', { types: { a: 'date' } }],
  ['', 'PATH has no objects with fields in it.'],
  [
    `{"a":${'['.repeat(200)}${']'.repeat(200)}}`,
    `PATH, line 1: a${'[]'.repeat(29)}[… has more than 100 lists and objects inside one another.`,
  ],
])('what is no table: %j', async (text, message, options) => {
  await expect(load(text, options).then((table) => table.collect())).rejects.toThrow(new SourceError(message.replace('PATH', path), path))
})

test('options that make no sense', async () => {
  await expect(load('{"a":1}', { types: { b: 'f64' } })).rejects.toThrow(
    new PlanError(`No line of ${path} has a field "b", which { types } names.`),
  )
  await expect(load('{"a":1}', { types: { a: 'jsn' as never } })).rejects.toThrow(
    `{ types } says that column "a" is "jsn", which is no type. Did you mean 'json'? Types are`,
  )
})

test('what is written: all columns in each line, dates as ISO 8601, lists and objects', async () => {
  const rows = [
    { id: 1n, when: new Date(0), tags: ['a', 'b'], inner: { x: null as number | null, y: 'ü' }, n: -0 },
    { id: 2n ** 60n, when: null, tags: [], inner: { x: 1e21, y: '"' }, n: 0.1 },
  ]
  await session.fromRows(rows).writeNdjson(path)
  expect(readFileSync(path, 'utf8')).toBe(
    '{"id":1,"when":"1970-01-01T00:00:00.000Z","tags":["a","b"],"inner":{"x":null,"y":"ü"},"n":-0}\n' +
      '{"id":1152921504606846976,"when":null,"tags":[],"inner":{"x":1e+21,"y":"\\""},"n":0.1}\n',
  )
  await expect(session.fromRows([{ a: Number.NaN }]).writeNdjson(path)).rejects.toThrow(
    new PlanError('Column "a" has the value NaN, which JSON has no word for. Make null of it first, or write Parquet.'),
  )
  await expect(session.fromRows([{ a: new Uint8Array(1) }]).writeNdjson(path)).rejects.toThrow(
    new PlanError('Column "a" is binary, which JSON cannot hold. Convert it with map, for example to text, or write Parquet.'),
  )
})

test('a field that is null in all lines is of no kind: what it would have is null, and it goes together with any other', async () => {
  interface Line {
    readonly id: number
    readonly address: { readonly city: string; readonly zip?: number } | null
    readonly home: { readonly geo: { readonly lat: number } | null }
    readonly note: string | null
  }
  writeFileSync(path, '{"id":1,"address":null,"home":{"geo":null},"note":null}\n')
  const none = await session.readNdjson<Line>(path)
  const city = (r: Line): string => r.address?.city ?? 'nowhere'
  const north = (r: Line): boolean => (r.home.geo?.lat ?? -1) > 0
  expect(await none.map((r) => ({ id: r.id, city: city(r), north: north(r), note: r.note?.trim() ?? '' })).collect()).toEqual([
    { id: 1, city: 'nowhere', north: false, note: '' },
  ])
  const expected = { address: 'null', note: 'string | null', id: 'number' }
  await session.readNdjson<Line>(path, { expect: expected })
  const other = join(folder, 'other.ndjson')
  writeFileSync(other, '{"id":2,"address":{"city":"Rome"},"home":{"geo":{"lat":42}},"note":"x"}\n')
  const more = await session.readNdjson<Line>(other)
  expect(
    await none
      .union(more)
      .map((r) => ({ id: r.id, city: city(r), north: north(r), note: r.note }))
      .collect(),
  ).toEqual([
    { id: 1, city: 'nowhere', north: false, note: null },
    { id: 2, city: 'Rome', north: true, note: 'x' },
  ])
})
