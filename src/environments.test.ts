/** Programs in processes that lack something: each works, or says in one sentence what is missing. */
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'

const INDEX = new URL('./index.ts', import.meta.url).href
const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href

/** One line for each kind of work: what came out, or the error. */
const PROGRAM = `
const { Session } = await import('${INDEX}')
const tell = async (ask) => { try { console.log(JSON.stringify(await ask())) } catch (e) { console.log(String(e)) } }
const three = 3
await tell(async () => {
  const s = await Session.start({ workers: Number(process.env.WORKERS), progress: false, memory: '16MB' })
  const v = Float64Array.from({ length: 30_000 }, (_, i) => i % 10)
  await tell(async () => await s.fromColumns({ v }).filter((r) => r.v > three).count())
  await tell(async () => (await s.fromColumns({ v }).map((r) => JSON.stringify(r.v)).collect()).length)
  await tell(async () => (await s.fromColumns({ v }).groupBy((r) => r.v).count().collect()).length)
  await tell(async () => { const a = s.zeros([100]); await s.parallelFor(s.range(100), { a }, ([i], e) => { e.a.set(i, i * three) }); return await a.sum() })
  await tell(async () => { const a = s.zeros([10]); await s.parallelFor(s.range(10), { a }, ([i], e) => { e.a.set(i, Number(JSON.stringify(i))) }); return await a.sum() })
  await s.stop()
  return 'stopped'
})`

function lines(
  flags: readonly string[],
  { workers, before = '' }: { readonly workers: number; readonly before?: string },
): readonly string[] {
  const rest = [...flags, '--import', TSX, '--input-type=module', '-e', `${before}\n${PROGRAM}`]
  const env = { ...process.env, WORKERS: String(workers), NODE_OPTIONS: '' }
  const { stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', ...rest], { encoding: 'utf8', env })
  const told = stdout.trim().split('\n')
  return told[0] === '' ? [stderr] : told
}

/** What loads TypeScript needs what is taken away. */
const LOADED = `await import('${INDEX}');`
const WORKS = ['18000', '30000', '10', '14850', '45', '"stopped"']

test('everything works where code must not be made from text, in threads as well', () => {
  expect(lines(['--disallow-code-generation-from-strings'], { workers: 2 })).toEqual(WORKS)
})

test('everything works where the intrinsics are frozen', () => {
  // frozen here, since the loader of these sources would not survive the flag
  const before = `await import('${INDEX}'); Object.freeze(Error); Object.freeze(Array.prototype); Object.freeze(Function.prototype)`
  expect(lines([], { workers: 1, before })).toEqual(WORKS)
})

test('a process without what arrays lie in is told so when a session starts', () => {
  expect(lines([], { workers: 1, before: `${LOADED} delete globalThis.WebAssembly` })).toEqual([
    'PlanError: There is no WebAssembly in this process, and arrays lie in its memory. Start Node without --jitless or --no-expose-wasm, and leave globalThis.WebAssembly where it is.',
  ])
  expect(lines([], { workers: 1, before: `${LOADED} delete globalThis.SharedArrayBuffer` })).toEqual([
    'PlanError: There is no SharedArrayBuffer in this process, and all threads share arrays by it. Leave globalThis.SharedArrayBuffer where it is.',
  ])
})

test('so is one without address space', () => {
  const before = `${LOADED} WebAssembly.Memory = class { constructor() { throw new RangeError('WebAssembly.Memory(): could not allocate memory') } }`
  expect(lines([], { workers: 1, before })).toEqual([
    "PlanError: The system gives no address space for the session's memory: V8 reserves 10 GB of it for each, of which it uses what arrays take. Raise the limit (ulimit -v unlimited), or start Node with --disable-wasm-trap-handler, which reserves 4 GB.",
  ])
})

test('where threads are not permitted, what needs them says so', () => {
  const before = `
import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'
threads.Worker = class { constructor() { throw Object.assign(new Error('Access to this API has been restricted'), { code: 'ERR_ACCESS_DENIED' }) } }
syncBuiltinESMExports()`
  const refusal =
    'PlanError: The permission model of this process allows no worker threads. Start Node with --allow-worker, or the session with { workers: 1 }, which needs none.'
  const told = lines([], { workers: 2, before })
  expect(told).toContain(refusal)
  expect(told.map((line, i) => (line === refusal ? WORKS[i] : line))).toEqual(WORKS)
  expect(lines([], { workers: 1, before })).toEqual(WORKS)
})
