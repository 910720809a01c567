/** Where bytes go: files with their mode, links, pipes, devices; and what an abort leaves behind. */
import { execFileSync, spawn } from 'node:child_process'
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
import { afterAll, expect, test } from 'vitest'
import { PlanError, SourceError } from '../core/errors.ts'
import { Session } from '../session.ts'
import { writeAtomically } from './atomicFile.ts'

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
