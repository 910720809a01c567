import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { Bug, MemoryError, PlanError, SourceError, TaskError } from '../../core/errors.ts'
import { leaseBlocks } from '../memory/lease.ts'
import { createArena, type SharedArena } from '../memory/sharedArena.ts'
import { createPool } from './pool.ts'
import type { Handlers } from './runTask.ts'
import type { WorkerPool } from './worker.ts'

/** What the workers of these tests can do; plain JavaScript, since it is loaded in other threads. */
const SOURCE = `
export const HANDLERS = {
  echo: (payload) => payload,
  double: async (payload) => { await new Promise((r) => setTimeout(r, payload.ms ?? 0)); return payload.n * 2 },
  who: (payload, context) => { const end = performance.now() + payload; while (performance.now() < end); return context.worker },
  count: (payload, context) => { const n = (context.cache.get('n') ?? 0) + 1; context.cache.set('n', n); return n },
  fail: (payload) => { throw payload.text === undefined ? new RangeError('too far', { cause: new Error('inner') }) : payload.text },
  exit: () => process.exit(3),
  later: () => { setTimeout(() => { throw new Error('later') }, 0); return new Promise(() => {}) },
  spin: () => { for (;;); },
  polite: (payload, context) => { while (Atomics.load(context.abortFlag, 0) === 0) Atomics.wait(context.abortFlag, 0, 0, 20); return 'stopped by itself' },
  write: ({ bytes, value }, context) => {
    const offset = context.arena.allocate(bytes, 'write')
    const view = context.arena.view('u8', offset, bytes)
    view.fill(value)
    return view
  },
  allocateAndFail: ({ bytes, times }, context) => { for (let i = 0; i < times; i++) context.arena.allocate(bytes, 'fillUp'); throw new Error('after allocating') },
  meet: ({ words, parties }) => {
    Atomics.add(words, 0, 1); Atomics.notify(words, 0)
    for (let n = Atomics.load(words, 0); n < parties; n = Atomics.load(words, 0)) if (Atomics.wait(words, 0, n, 20000) === 'timed-out') throw new Error('alone')
    return true
  },
  hammer: ({ seed, rounds }, context) => {
    const { arena } = context
    let state = seed
    const random = (below) => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return state % below }
    const held = []
    for (let i = 0; i < rounds; i++) {
      if (held.length < 20 && random(2) === 0) {
        const length = random(40)
        const offset = arena.allocate(length * 4, 'hammer')
        const view = arena.view('i32', offset, length)
        if (view.some((x) => x !== 0)) throw new Error('not zeroed')
        view.fill(seed)
        held.push({ offset, view })
      } else if (held.length > 0) {
        const [block] = held.splice(random(held.length), 1)
        if (block.view.some((x) => x !== seed)) throw new Error('somebody else wrote here')
        arena.free(block.offset)
      }
    }
    for (const { offset } of held) arena.free(offset)
    return rounds
  },
  typed: () => ({ list: [new Float64Array(1000).fill(1.5)], none: null, map: new Map([['a', new Uint8Array(3)]]) }),
  part: () => { const whole = new Uint8Array(10); globalThis.kept = whole; return whole.subarray(2, 4) },
  keptLength: () => globalThis.kept.length,
  leave: () => { globalThis.left ??= []; left.push(new WeakRef(new ArrayBuffer(2 ** 24))) },
  isLeft: () => left.map((one) => one.deref() !== undefined),
}`
const url = `data:text/javascript,${encodeURIComponent(SOURCE)}`

let pool: WorkerPool
let arena: SharedArena
const seen: string[] = []
async function start(workers: number, budgetBytes = 2 ** 26): Promise<void> {
  const { HANDLERS } = (await import(/* @vite-ignore */ url)) as { readonly HANDLERS: Handlers }
  arena = createArena({ budgetBytes })
  seen.length = 0
  pool = createPool({ workers, arena, handlers: { url, table: HANDLERS }, events: (e) => seen.push(`${e.phase} ${e.worker}`) })
}
afterEach(() => pool.stop())

async function errorOf(promise: Promise<unknown>): Promise<Error> {
  try {
    await promise
  } catch (error) {
    return error as Error // tests look at what it is
  }
  throw new Error('nothing was thrown')
}

for (const workers of [1, 2]) {
  const where = workers === 1 ? 'inline' : 'threads'
  test(`${where}: results, async handlers, errors with class and cause, thrown text`, async () => {
    await start(workers)
    expect(await pool.run('echo', { a: [1, 'x', null], d: new Date(5) })).toEqual({ a: [1, 'x', null], d: new Date(5) })
    expect(await Promise.all([3, 4, 5].map((n) => pool.run('double', { n, ms: 5 - n })))).toEqual([6, 8, 10])
    const error = await errorOf(pool.run('fail', {}))
    expect(error).toBeInstanceOf(RangeError)
    expect(error.message).toBe('too far')
    expect((error.cause as Error).message).toBe('inner')
    expect(await errorOf(pool.run('fail', { text: 'text' }))).toBe('text')
    const bug = await errorOf(pool.run('juggle', {}))
    expect(bug).toBeInstanceOf(Bug)
    expect(bug.message.split('\n')[0]).toContain('No worker can run a task of kind "juggle". There are: echo, double, ')
  })

  test(`${where}: memory written by a task is seen here; what a failed task allocated is freed`, async () => {
    await start(workers)
    const view = (await pool.run('write', { bytes: 1000, value: 7 })) as Uint8Array
    expect(arena.owns(view)).toBe(true)
    expect(view.every((x) => x === 7)).toBe(true)
    const used = arena.usedBytes
    expect((await errorOf(pool.run('allocateAndFail', { bytes: 10_000, times: 5 }))).message).toBe('after allocating')
    expect(arena.usedBytes).toBe(used)
    const full = await errorOf(pool.run('allocateAndFail', { bytes: 2 ** 23, times: 50 }))
    expect(full).toBeInstanceOf(MemoryError)
    expect(full).toMatchObject({ operator: 'fillUp', bytes: 2 ** 23 })
    expect(arena.usedBytes).toBe(used)
    arena.free(view.byteOffset)
    expect(arena.usedBytes).toBe(0)
  })

  test(`${where}: a stopped pool rejects what is asked and what waits`, async () => {
    await start(workers)
    const waiting = Array.from({ length: 4 }, () => errorOf(pool.run('double', { n: 1, ms: 200 })))
    await pool.stop()
    for (const error of [...(await Promise.all(waiting)), await errorOf(pool.run('echo', 1))]) {
      expect(error).toBeInstanceOf(PlanError)
      expect(error.message).toBe('The session was stopped. Start another one with Session.start(), or move stop() behind the last use.')
    }
  })

  test(`${where}: an aborted task is dropped from the queue, or told to stop`, async () => {
    await start(workers)
    const controller = new AbortController()
    const busy = Array.from({ length: workers }, () => pool.run('double', { n: 1, ms: 60 }))
    const queued = errorOf(pool.run('count', {}, { signal: controller.signal }))
    controller.abort(new Error('enough'))
    expect((await queued).message).toBe('enough')
    expect((await errorOf(pool.run('count', {}, { signal: controller.signal }))).message).toBe('enough')
    await Promise.all(busy)
    expect(await pool.run('count', {})).toBe(1)
  })
}

test('the first workers start when they are needed, and stay warm', async () => {
  await start(3)
  expect(seen).toEqual([])
  expect(await pool.run('count', {})).toBe(1)
  expect(await pool.run('count', {})).toBe(2)
  expect(seen).toEqual(['started 0'])
  const who = await Promise.all([pool.run('who', 100), pool.run('who', 100)])
  expect(who).toEqual([0, 1])
  expect(seen).toEqual(['started 0', 'started 1'])
})

test('tasks that run together do run together, and none starves', async () => {
  await start(3)
  const words = (): Int32Array => new Int32Array(new SharedArrayBuffer(4))
  const jobs: Promise<unknown>[] = []
  for (let i = 0; i < 5; i++) {
    jobs.push(pool.run('who', 5), pool.run('who', 20))
    const shared = words()
    jobs.push(pool.runTogether('meet', Array(3).fill({ words: shared, parties: 3 })))
  }
  await Promise.all(jobs)
  expect(await pool.runTogether('meet', [])).toEqual([])
  expect((await errorOf(pool.runTogether('meet', [1, 2, 3, 4]))).message.split('\n')[0]).toBe('4 tasks were to run together on 3 workers.')
})

test('a worker that exits rejects its task and is replaced', async () => {
  await start(2)
  const error = await errorOf(pool.run('exit', {}))
  expect(error).toBeInstanceOf(TaskError)
  expect(error.message).toBe(
    'Worker 0 was lost while it ran a task of kind "exit": the thread exited with code 3. A function it ran may have called process.exit().',
  )
  expect(seen).toEqual(['started 0', 'lost 0'])
  expect(await pool.run('count', {})).toBe(1)
  const later = await errorOf(pool.run('later', {}))
  expect(later).toBeInstanceOf(TaskError)
  expect(later.message).toBe(
    'Worker 0 was lost while it ran a task of kind "later": an error was thrown outside of the task, in a callback or an unawaited promise: later',
  )
  expect((later.cause as Error).message).toBe('later')
})

test('one failure of tasks that run together ends the others', async () => {
  await start(2)
  const words = new Int32Array(new SharedArrayBuffer(4))
  const one = errorOf(pool.runTogether('meet', [{ words, parties: 2 }, null]))
  expect(await one).toBeInstanceOf(TypeError)
  expect(await pool.run('echo', 1)).toBe(1)
})

test('an aborted task that will not stop loses its thread; one that polls does not', async () => {
  await start(2)
  const controller = new AbortController()
  const spinning = errorOf(pool.run('spin', {}, { signal: controller.signal }))
  const polite = errorOf(pool.run('polite', {}, { signal: controller.signal, onAbort: 'finish' }))
  setTimeout(() => controller.abort(new Error('enough')), 150)
  expect((await spinning).message).toBe('enough')
  expect((await polite).message).toBe('enough')
  expect(seen).toEqual(['started 0', 'started 1'])
  expect(await pool.run('count', {})).toBe(1)
})

test('what tasks leave is collected beside a small budget, and is left to the engine beside a large one', async () => {
  for (const [budgetBytes, isLeft] of [
    [2 ** 26, false],
    [2 ** 31, true],
  ] as const) {
    await start(2, budgetBytes)
    for (let times = 0; times < 2; times++) await pool.run('leave', {})
    expect(await pool.run('isLeft', {})).toEqual([isLeft, true])
    await pool.stop()
  }
})

test('whole buffers change threads, parts of buffers are copied', async () => {
  await start(2)
  expect(await pool.run('typed', {})).toEqual({
    list: [new Float64Array(1000).fill(1.5)],
    none: null,
    map: new Map([['a', new Uint8Array(3)]]),
  })
  expect(await pool.run('part', {})).toEqual(new Uint8Array(2))
  expect(await pool.run('keptLength', {})).toBe(10)
  const uncloneable = await errorOf(pool.run('echo', { f: () => 1 }))
  expect(uncloneable.name).toBe('DataCloneError')
  expect(await pool.run('echo', 5)).toBe(5)
})

test('threads allocate and free in one arena at the same time', async () => {
  await start(3)
  const before = arena.usedBytes
  expect(
    await pool.runTogether(
      'hammer',
      [11, 22, 33].map((seed) => ({ seed, rounds: 20_000 })),
    ),
  ).toEqual([20_000, 20_000, 20_000])
  expect(arena.usedBytes).toBe(before)
  arena.free(arena.allocate(arena.budgetBytes - 64, 'all of it'))
})

test('threads ended while they allocate leave a heap that works', async () => {
  await start(3)
  for (let round = 0; round < 8; round++) {
    const controller = new AbortController()
    const jobs = [1, 2, 3].map((seed) => errorOf(pool.run('hammer', { seed, rounds: 1e9 }, { signal: controller.signal })))
    setTimeout(() => controller.abort(new Error('enough')), 60 + round * 7)
    for (const error of await Promise.all(jobs)) expect(error.message).toBe('enough')
    expect(arena.usedBytes).toBe(0)
    arena.free(arena.allocate(arena.budgetBytes - 64, 'all of it'))
  }
})

test('a repeatable task that found memory full of garbage runs again', async () => {
  await start(2)
  // held until memory was seen full: before that the collector may come at any time
  const owners = Array.from({ length: 7 }, () => ({}))
  for (const owner of owners) leaseBlocks(owner, arena, [arena.allocate(2 ** 23, 'garbage')])
  expect(await errorOf(pool.run('write', { bytes: 2 ** 24, value: 1 }))).toBeInstanceOf(MemoryError)
  owners.length = 0
  const view = (await pool.run('write', { bytes: 2 ** 24, value: 1 }, { repeatable: true })) as Uint8Array
  expect(view.length).toBe(2 ** 24)
})

test('a program that forgets stop() ends, one that awaits a task does not end before', () => {
  const here = new URL('.', import.meta.url).href
  const program = `
    import { createArena } from '${here}../memory/sharedArena.ts'
    import { createPool } from '${here}pool.ts'
    const pool = createPool({ workers: 2, arena: createArena(), handlers: { url: ${JSON.stringify(url)}, table: {} } })
    console.log(await pool.run('double', { n: 21, ms: 300 }))
    console.log((await Promise.all([pool.run('echo', 1), pool.run('echo', 2), pool.run('echo', 3)])).join())`
  const output = execFileSync(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], {
    encoding: 'utf8',
    timeout: 30_000,
  })
  expect(output).toBe('42\n1,2,3\n')
})

test('a handlers module that cannot be loaded says so', async () => {
  await start(2)
  await pool.stop()
  pool = createPool({ workers: 2, arena, handlers: { url: 'data:text/javascript,export const HANDLERS = {', table: {} } })
  expect((await errorOf(pool.run('echo', 1))).name).toBe('SyntaxError')
})

test('a number of workers that is none', async () => {
  await start(1)
  expect(() => createPool({ arena, workers: 0 })).toThrow('workers is 0. It is an integer from 1.')
  expect(new SourceError('x', 'y').source).toBe('y')
})

test('tasks that are aborted before their thread is up leave it as it is, and no descriptor open', async () => {
  const before = descriptors()
  await start(2)
  const reasons = await Promise.all(
    Array.from({ length: 200 }, async (_, i) => {
      const aborted = new AbortController()
      const task = pool.run('polite', undefined, { signal: aborted.signal, onAbort: i % 2 === 0 ? 'finish' : 'terminate' })
      setImmediate(() => aborted.abort(i))
      return await task.catch((reason: unknown) => reason)
    }),
  )
  expect(reasons).toEqual(Array.from({ length: 200 }, (_, i) => i))
  expect(await pool.runTogether('count', [0, 0])).toEqual([1, 1])
  await pool.stop()
  expect(descriptors()).toBeLessThanOrEqual(before)
  expect(seen).toEqual(['started 0', 'started 1'])
  await start(2)
  const left = errorOf(pool.run('echo', 1))
  await pool.stop()
  expect((await left).message).toMatch(/^The session was stopped/)
  expect(descriptors()).toBeLessThanOrEqual(before)
})

/** Of this process; 0 where that is not told. */
function descriptors(): number {
  return existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0
}
