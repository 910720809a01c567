/** Where bytes go: files with their mode, links, pipes, devices; and what an abort leaves behind. */
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { PlanError, SourceError } from '../core/errors.ts'
import { Session } from '../session/session.ts'
import { writeAtomically } from './bytes/atomicFile.ts'
import { packedByName } from './bytes/gzipOutput.ts'
import { type Encoding, encodedInOrder } from './encode.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-outputs-'))
const session = await Session.start({ workers: 1, memory: '64MB', progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})
const at = (name: string): string => join(folder, name)
const hello = (path: string): Promise<number> => writeAtomically(path, (append) => append(Buffer.from('hello')))
const onPosix = process.platform !== 'win32'

test.skipIf(!onPosix)('a file keeps its mode, and a new one has the usual', async () => {
  for (const mode of [0o600, 0o640, 0o755]) {
    writeFileSync(at('mode'), 'old')
    chmodSync(at('mode'), mode)
    await hello(at('mode'))
    expect([readFileSync(at('mode'), 'utf8'), statSync(at('mode')).mode & 0o7777]).toStrictEqual(['hello', mode])
  }
  await hello(at('fresh'))
  writeFileSync(at('usual'), '')
  expect(statSync(at('fresh')).mode).toBe(statSync(at('usual')).mode)
})

test.skipIf(!onPosix)('a link stays, and the file at its end is written, there or not', async () => {
  mkdirSync(at('deep'))
  writeFileSync(at('deep/target'), 'old')
  symlinkSync('deep/target', at('link'))
  symlinkSync('link', at('link2'))
  await hello(at('link2'))
  expect([readlinkSync(at('link')), readlinkSync(at('link2')), readFileSync(at('deep/target'), 'utf8')]).toStrictEqual([
    'deep/target',
    'link',
    'hello',
  ])
  symlinkSync('deep/new', at('dangling'))
  await hello(at('dangling'))
  expect([lstatSync(at('dangling')).isSymbolicLink(), readFileSync(at('deep/new'), 'utf8')]).toStrictEqual([true, 'hello'])
  symlinkSync('round', at('round'))
  await expect(hello(at('round'))).rejects.toThrow(
    new SourceError(`${at('round')} cannot be written: its links go in circles.`, at('round')),
  )
  expect(readdirSync(at('deep')).sort()).toStrictEqual(['new', 'target'])
})

test.skipIf(!onPosix)('a pipe and a device are written into', async () => {
  execFileSync('mkfifo', [at('pipe')])
  const reader = spawn('cat', [at('pipe')])
  const table = session.fromColumns({ a: Int32Array.from({ length: 100_000 }, (_, i) => i) })
  const [got, written] = await Promise.all([text(reader.stdout), table.writeCsv(at('pipe'))])
  expect(got).toBe(`a\n${Array.from({ length: 100_000 }, (_, i) => `${i}\n`).join('')}`)
  expect([written.bytes, lstatSync(at('pipe')).isFIFO()]).toStrictEqual([got.length, true])
  expect(await hello('/dev/null')).toBe(5)
  expect(lstatSync('/dev/null').isCharacterDevice()).toBe(true)
})

test.skipIf(!onPosix)('a pipe that nobody reads from, and one whose reader stops reading, let go of an aborted writer', async () => {
  execFileSync('mkfifo', [at('unread')])
  const reason = new Error('enough')
  const waiting = new AbortController()
  const unread = session.fromColumns({ a: [1] }).writeCsv(at('unread'), { signal: waiting.signal })
  setImmediate(() => waiting.abort(reason))
  await expect(unread).rejects.toBe(reason)
  const full = new AbortController()
  const reader = spawn('sh', ['-c', `exec 3<${at('unread')}; head -c 1 <&3; read line`])
  reader.stdout.once('data', () => full.abort(reason))
  const much = session.fromColumns({ a: new Float64Array(1_000_000) }).writeCsv(at('unread'), { signal: full.signal })
  await expect(much).rejects.toBe(reason)
  reader.stdin.end()
})

const WRITERS = ['writeParquet', 'writeArrow', 'writeCsv'] as const

test.each(WRITERS)('%s: an abort leaves the old file and nothing beside it', async (writer) => {
  const path = at(`aborted-${writer}`)
  writeFileSync(path, 'old')
  const table = session.fromColumns({ a: new Float64Array(500_000) }).map((row) => ({ b: row.a + 1 }))
  const reason = new Error('enough')
  const before = new AbortController()
  before.abort(reason)
  await expect(table[writer](path, { signal: before.signal })).rejects.toBe(reason)
  const during = new AbortController()
  const under = table[writer](path, { signal: during.signal })
  setImmediate(() => during.abort(reason))
  await expect(under).rejects.toBe(reason)
  expect(readFileSync(path, 'utf8')).toBe('old')
  expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toStrictEqual([])
  await expect(table[writer](path, { signal: 5 as never })).rejects.toThrow(
    new PlanError(`The signal of ${writer}() is an AbortSignal; it was given 5.`),
  )
  await expect(table[writer](path, { sgnal: 5 } as never)).rejects.toThrow(PlanError)
  await expect(table[writer]('a\0b')).rejects.toThrow(
    new PlanError(`The path of ${writer}() has a character of code 0, which no file's name has: "a\\u0000b".`),
  )
})

test('a name as long as names can be', async () => {
  const path = at('n'.repeat(255))
  await hello(path)
  expect(readFileSync(path, 'utf8')).toBe('hello')
  await expect(hello(`${path}n`)).rejects.toThrow(new SourceError(`${path}n cannot be written: the name is too long.`, `${path}n`))
})

test('texts are packed where the name of the file says so', async () => {
  const rows = Array.from({ length: 30_000 }, (_, i) => ({ i, name: `n${(i * 7919) % 10_007}`, x: i / 8 }))
  const table = session.fromRows(rows)
  for (const name of ['packed.csv.gz', 'packed.ndjson.GZ']) {
    const isCsv = name.includes('csv')
    const write = async (path: string): Promise<void> => void (isCsv ? await table.writeCsv(path) : await table.writeNdjson(path))
    await write(at(name))
    await write(at('plain'))
    const packed = readFileSync(at(name))
    expect(packed.subarray(0, 2)).toEqual(Buffer.of(0x1f, 0x8b))
    expect(gunzipSync(packed).equals(readFileSync(at('plain')))).toBe(true)
    expect(packed.length).toBeLessThan(statSync(at('plain')).size / 2)
    // the same bytes again
    await write(at(`again.${name}`))
    expect(readFileSync(at(`again.${name}`)).equals(packed)).toBe(true)
    const back = isCsv ? await session.readCsv(at(name)) : await session.readNdjson(at(name))
    expect(await back.collect()).toEqual(rows)
  }
  const failing = table.map((row) => {
    if (row.i === 20_000) throw new Error('no more')
    return row
  })
  await expect(failing.writeCsv(at('failed.csv.gz'))).rejects.toThrow('no more')
  expect(readdirSync(folder).filter((name) => name.startsWith('failed'))).toEqual([])
  await expect(
    writeAtomically(
      at('x.gz'),
      packedByName(at('x.gz'), async (append) => {
        await append(Buffer.alloc(1000))
        throw new Error('not written')
      }),
    ),
  ).rejects.toThrow('not written')
  const full = packedByName('full.gz', async (append) => {
    for (let i = 0; i < 200; i++) await append(randomBytes(100_000))
  })
  await expect(full(async () => Promise.reject(new Error('no space')))).rejects.toThrow('no space')
})

test('what workers encode takes no memory once it is written', async () => {
  await using small = await Session.start({ workers: 2, memory: '32MB', progress: false })
  const rows = 2 ** 17
  const table = small.fromColumns({ value: Float64Array.from({ length: rows }, (_, i) => Math.sqrt(i)) }) // a megabyte, which hardly compresses
  for (let turn = 0; turn < 12; turn++) await table.writeParquet(at('encoded.parquet'), { rowGroupRows: rows / 4 })
  const most = small.zeros([29 * 2 ** 17])
  expect(await most.sum()).toBe(0)
})

test('whoever encodes hears of all that nobody reads any more, also where writing ends early', async () => {
  const encodings = async function* (): AsyncGenerator<Encoding> {
    for (let n = 0; n < 5; n++) yield { task: { format: 'ndjson', parts: [], element: { kind: 'row', fields: [] } }, ended: [] }
  }
  for (const taken of [1, 3, 9]) {
    const made: Uint8Array[] = []
    const heard: Uint8Array[] = []
    const run = async (): Promise<Uint8Array> => {
      const bytes = Uint8Array.of(made.length)
      made.push(bytes)
      return bytes
    }
    let read = 0
    for await (const bytes of encodedInOrder(encodings(), { width: 2, run, appended: (bytes) => void heard.push(bytes) })) {
      expect(heard).not.toContain(bytes)
      if (++read === taken) break
    }
    expect(heard).toStrictEqual(made)
  }
})
