/** What sources and files are given that makes no sense, and the sentence that says so: whole, with the cure. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { PlanError, SourceError } from '../core/errors.ts'
import { Session } from '../session/session.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-misuse-'))
const session = await Session.start({ workers: 1, memory: '64MB', progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})
const at = (name: string): string => join(folder, name)
writeFileSync(at('a.csv'), 'a,b\n1,2\n')
symlinkSync('round', at('round'))

/** FOLDER stands for the test's own. */
const told = (message: string): string => message.replaceAll('FOLDER', folder)

async function refusal(ask: () => unknown): Promise<unknown> {
  try {
    return await ask()
  } catch (error) {
    return error
  }
}

const READERS = ['readParquet', 'readArrow', 'readCsv', 'readText'] as const
const NAMED = 'Files are named by a path, a URL or an array of them; they were given as'

const PLACES: readonly (readonly [unknown, PlanError | SourceError])[] = [
  ...([5, undefined, null, {}, true, [5]] as const).map(
    (given) =>
      [
        given,
        new PlanError(`${NAMED} ${Array.isArray(given) ? 'an array with 5' : typeof given === 'object' && given ? 'an object' : given}.`),
      ] as const,
  ),
  [Symbol('x'), new PlanError(`${NAMED} a symbol.`)],
  [[], new SourceError('No file was named: the list of paths is empty.', '')],
  ['', new PlanError('The path of a file is empty. Name the file, a glob or an address.')],
  ['a\0b', new PlanError('The path "a\\u0000b" has a character of code 0, which no file\'s name has.')],
  ['FOLDER', new SourceError('There is no file FOLDER/round: its links go in circles.', 'FOLDER')],
  ['FOLDER/none', new SourceError('There is no file FOLDER/none.', 'FOLDER/none')],
  ['FOLDER/a.csv/x', new SourceError('There is no file FOLDER/a.csv/x: a part of the path is not a directory.', 'FOLDER/a.csv/x')],
  ['FOLDER/round', new SourceError('There is no file FOLDER/round: its links go in circles.', 'FOLDER/round')],
  [
    `FOLDER/${'n'.repeat(300)}`,
    new SourceError(`There is no file FOLDER/${'n'.repeat(300)}: the name is too long.`, `FOLDER/${'n'.repeat(300)}`),
  ],
  ['FOLDER/*.none', new SourceError('No file matches FOLDER/*.none.', 'FOLDER/*.none')],
  ['FOLDER/[z-a]', new PlanError('The part "[z-a]" of a glob makes no sense. Ranges go up, as in [a-z], and every { has its }.')],
  ['file://host/x', new PlanError('The address "file://host/x" makes no sense: File URL host must be "localhost" or empty on linux.')],
  ['file:///%zz', new PlanError('The address "file:///%zz" makes no sense: URI malformed.')],
  ['file:///a%00b', new PlanError('The address "file:///a%00b" makes no sense: it has a character of code 0, which no file\'s name has.')],
  ['http://', new PlanError('The address "http://" makes no sense: Invalid URL.')],
  ['http://[', new PlanError('The address "http://[" makes no sense: Invalid URL.')],
  ['http://localhost:99999/', new PlanError('The address "http://localhost:99999/" makes no sense: Invalid URL.')],
  ['http:x', new PlanError('The address "http:x" makes no sense. It begins with http://.')],
  [
    'gs://bucket/*.parquet',
    new SourceError(
      'gs://bucket/*.parquet cannot be read: object stores are not read by their own addresses. Give a signed address of https, as gcloud storage sign-url makes, or copy the file here first with gcloud storage cp.',
      'gs://bucket/*.parquet',
    ),
  ],
  [
    new URL('az://container/x'),
    new SourceError(
      'az://container/x cannot be read: object stores are not read by their own addresses. Give a signed address of https, as az storage blob generate-sas --full-uri --blob-url makes, or copy the file here first with azcopy copy.',
      'az://container/x',
    ),
  ],
  [new URL('ftp://x/y'), new PlanError('The address "ftp://x/y" is not read. Name a file, or an address of http, https or file.')],
  [
    'https://me:secret@localhost/x',
    new PlanError(
      "The address https://localhost/x was given with a user's name or password, which are not sent. Have the server take a signed address.",
    ),
  ],
  ['http://me:secret@[x/y?sig=secret', new PlanError('The address "http://…@[x/y?…" makes no sense: Invalid URL.')],
  ['ftp://me:secret@x/y', new PlanError('The address "ftp://…@x/y" is not read. Name a file, or an address of http, https or file.')],
  [
    'az://container/x?sig=secret',
    new SourceError(
      'az://container/x?… cannot be read: object stores are not read by their own addresses. Give a signed address of https, as az storage blob generate-sas --full-uri --blob-url makes, or copy the file here first with azcopy copy.',
      'az://container/x?…',
    ),
  ],
  [
    's3://AKID:sec/ret@bucket/x',
    new PlanError(
      'The address s3://…@bucket/x was given with keys, which are not read there. Give them as { s3: { accessKeyId, secretAccessKey } }, or in the environment.',
    ),
  ],
]

test.skipIf(process.platform !== 'linux').each(PLACES)('a file named %s', async (place, expected) => {
  const given = typeof place === 'string' ? told(place) : place
  for (const reader of READERS) {
    const got = await refusal(() => session[reader](given as string))
    expect([(got as Error).constructor, (got as Error).message]).toStrictEqual([expected.constructor, told(expected.message)])
  }
})

test.each([
  [
    'http://me:secret@host/x.csv?sig=secret',
    'http://…@host/x.csv?… cannot be written: writers take paths, and this is an address. Write a file, and send it there.',
  ],
  [
    'gs://me:secret@host/x.csv',
    'gs://…@host/x.csv cannot be written: object stores are not written to by their own addresses. Write a file, and copy it there with gcloud storage cp.',
  ],
])('nothing is written to %s, and no error tells what is secret', async (address, message) => {
  const table = session.fromColumns({ a: [1], b: [2] })
  for (const write of [() => table.writeCsv(address), () => table.writeParquet(address, { partitionBy: ['a'] })]) {
    const got = await refusal(write)
    expect((got as Error).message).toBe(message)
    expect(inspect(got)).not.toContain('secret')
  }
})

test.skipIf(process.platform !== 'linux')('what is no file, or does not say how long it is', async () => {
  execFileSync('mkfifo', [at('pipe')])
  for (const path of [at('pipe'), '/dev/zero']) {
    await expect(session.readText(path)).rejects.toThrow(
      new SourceError(`${path} is not a regular file, which could be read in pieces. Copy what it gives to a file, and read that.`, path),
    )
  }
  await expect(session.readText('/proc/self/status')).rejects.toThrow(
    new SourceError('/proc/self/status does not say how long it is. Copy it to a file, and read that.', '/proc/self/status'),
  )
})

test.skipIf(process.getuid?.() === 0)('what may not be read or written (skipped as root, who may)', async () => {
  mkdirSync(at('closed'))
  writeFileSync(at('closed/x'), 'x')
  chmodSync(at('closed'), 0o000)
  await expect(session.readText(at('closed/x'))).rejects.toThrow(
    new SourceError(`${at('closed/x')} may not be read: permission denied.`, at('closed/x')),
  )
  await expect(session.fromColumns({ a: [1] }).writeCsv(at('closed/y'))).rejects.toThrow(
    new SourceError(`${at('closed/y')} cannot be written: permission denied.`, at('closed/y')),
  )
  chmodSync(at('closed'), 0o700)
})

const CSV_TYPES =
  'Types are f64, f32, i64, i32, u32, i16, u16, i8, u8, bool, u64, utf8, timestamp, timestamp(ms), timestamp(us), timestamp(ns), date.'

test.each<[unknown, string]>([
  [5, 'The options of readCsv() are an object; it was given 5.'],
  [null, 'The options of readCsv() are an object; it was given null.'],
  [
    { delimeter: ';' },
    'readCsv() has no option "delimeter". Did you mean "delimiter"? Its options are delimiter, header, types, quote, comment, skip, nullValues, decimal, partitions, expect, signal, timeoutMs, headers, retries, s3.',
  ],
  [{ delimiter: 5 }, 'The delimiter 5 is not one character.'],
  [{ delimiter: ';;' }, 'The delimiter ";;" is not one character.'],
  [{ delimiter: '"' }, 'The delimiter "\\"" has a meaning of its own in CSV. Name the character that stands between fields.'],
  [{ header: 'no' }, 'The header of readCsv() is true or false; it was given "no".'],
  [{ types: 5 }, "The types of readCsv() are an object, as { id: 'i32' }; they were given as 5."],
  [{ types: { a: 'foo' } }, `{ types } says that column "a" is "foo", which is no type. ${CSV_TYPES}`],
  [{ types: { a: 'f63' } }, `{ types } says that column "a" is "f63", which is no type. Did you mean 'f64'? ${CSV_TYPES}`],
  [{ types: { c: 'f64' } }, 'There is no column "c" in FOLDER/a.csv. The columns are a, b. { types } asks for it.'],
  [{ types: { toString: 'f64' } }, 'There is no column "toString" in FOLDER/a.csv. The columns are a, b. { types } asks for it.'],
  [{ signal: {} }, 'The signal of readCsv() is an AbortSignal; it was given an object.'],
  [{ timeoutMs: 0 }, 'The timeoutMs of readCsv() is an integer of at least 1; it was given 0.'],
  [{ timeoutMs: 1e12 }, 'The timeoutMs of readCsv() is an integer of at most 2147483647; it was given 1000000000000.'],
])('readCsv with the options %j', async (options, message) => {
  await expect(session.readCsv(at('a.csv'), options as never)).rejects.toThrow(new PlanError(told(message)))
})

test.each<[(typeof READERS)[number], unknown, string]>([
  [
    'readParquet',
    { colums: [] },
    'readParquet() has no option "colums". Did you mean "columns"? Its options are columns, int64, partitions, expect, signal, timeoutMs, headers, retries, s3.',
  ],
  ['readParquet', { columns: 'a' }, 'The columns of readParquet() is an array; it was given "a".'],
  ['readParquet', { int64: 'x' }, "The int64 of readParquet() is one of 'number', 'bigint'; it was given \"x\"."],
  [
    'readArrow',
    { columns: [] },
    'readArrow() has no option "columns". Its options are int64, partitions, expect, signal, timeoutMs, headers, retries, s3.',
  ],
  ['readArrow', { int64: null }, "The int64 of readArrow() is one of 'number', 'bigint'; it was given null."],
  [
    'readText',
    { timeout: 5 },
    'readText() has no option "timeout". Did you mean "timeoutMs"? Its options are signal, timeoutMs, headers, retries, s3.',
  ],
])('%s with the options %j', async (reader, options, message) => {
  await expect(session[reader](at('a.csv'), options as never)).rejects.toThrow(new PlanError(message))
})

const detached = new Float64Array(2)
structuredClone(detached, { transfer: [detached.buffer] })

test.each<[string, () => unknown, string]>([
  ['5', () => session.fromColumns(5 as never), 'fromColumns() takes an object of columns, as { id: [1, 2] }; it was given 5.'],
  [
    'an array',
    () => session.fromColumns([[1]] as never),
    'fromColumns() takes an object of columns, as { id: [1, 2] }; it was given an array.',
  ],
  [
    'a map',
    () => session.fromColumns(new Map() as never),
    'fromColumns() takes an object of columns, as { id: [1, 2] }; it was given an instance of Map.',
  ],
  [
    'options',
    () => (session.fromColumns as (columns: object, options: object) => unknown).call(session, { a: [1] }, { schema: {} }),
    "fromColumns() takes columns and nothing else; it was given an object as well.\nA typed array says its column's type, as in { id: Int32Array.of(1, 2) }; fromRows(rows, { schema }) takes a schema.",
  ],
  [
    'a set',
    () => session.fromColumns({ a: new Set() } as never),
    'Column "a" of fromColumns is an instance of Set. Columns are typed arrays or arrays of values.',
  ],
  [
    'columns of two lengths',
    () => session.fromColumns({ a: [1], b: [1, 2] }),
    'The columns of fromColumns differ in length: "a" has 1 values and "b" has 2.',
  ],
  [
    'memory that went elsewhere',
    () => session.fromColumns({ a: detached }),
    'Column "a" of fromColumns has no memory any more: its buffer was sent to another thread. Take the column before that, or send a copy.',
  ],
  [
    'half a character as a name',
    () => session.fromRows([{ '\ud800': 1 }]),
    'The column name "\\ud800" of fromRows has half a surrogate pair, which no file can hold.',
  ],
  ['no rows', () => session.fromRows({} as never), 'fromRows() takes an array of rows, or another iterable; it was given an object.'],
  [
    'rows of two kinds',
    () => session.fromRows([{ a: 1 }, 2]),
    'Row 1 of fromRows is 2, and the first row is an object. Give rows of one kind.',
  ],
  ['no schema', () => session.fromRows([{ a: 1 }], { schema: 5 } as never), "The schema of fromRows() is one of Arrow's; it was given 5."],
  [
    'an option',
    () => session.fromRows([{ a: 1 }], { shema: 5 } as never),
    'fromRows() has no option "shema". Did you mean "schema"? Its options are schema.',
  ],
  [
    'no table',
    () => session.fromArrow({ schema: {} } as never),
    'fromArrow() takes an Arrow table or record batch; it was given an object.',
  ],
  [
    'collect',
    () => session.fromRows([1]).collect({ singal: 5 } as never),
    'collect() has no option "singal". Did you mean "signal"? Its options are signal.',
  ],
])('tables in memory: %s', async (_, ask, message) => {
  const got = await refusal(ask)
  expect([(got as Error).constructor, (got as Error).message]).toStrictEqual([PlanError, message])
})

test('rows have columns of any name', async () => {
  const rows = [JSON.parse('{ "__proto__": 1, "constructor": 2, "": 3, "toString": 4 }') as Record<string, number>]
  const columns = JSON.parse('{ "__proto__": [1], "constructor": [2], "": [3], "toString": [4] }') as Record<string, number[]>
  for (const table of [session.fromRows(rows), session.fromColumns(columns)]) {
    for (const same of [table, table.materialize(), table.filter(() => true), table.union(table).limit(1), table.distinct()]) {
      expect((await same.collect()).map((row) => Object.entries(row))).toStrictEqual(rows.map((row) => Object.entries(row)))
    }
  }
})
