import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { expect, test, vi } from 'vitest'
import { Session } from './session/session.ts'

const STOPPED = 'PlanError: The session was stopped. Start another one with Session.start(), or move stop() behind the last use.'

async function outcome(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'resolved'
  } catch (error) {
    return String(error)
  }
}

/** A body that takes some hundred turns of its inner loop, and one that never ends. */
const dear = ([i]: readonly [number], { a }: { readonly a: { set(i: number, x: number): void } }): void => {
  let x = 0
  for (let k = 0; k < 20_000; k++) x += Math.sin(k + i)
  a.set(i, x)
}
const endless = ([i]: readonly [number], { a }: { readonly a: { set(i: number, x: number): void } }): void => {
  let x = i
  while (x >= 0) x = x + 1 - 1
  a.set(i, x)
}

test('loops on the caller end with their session: compiled, as they stand, and in passes', async () => {
  const session = await Session.start({ workers: 1, progress: false })
  const ends: string[] = []
  session.events.subscribe({ complete: () => ends.push('events') })
  const [a, b, c] = [session.zeros([100_000]), session.zeros([3_000_000]), session.zeros([100_000])]
  const options = { passes: 1, checkRaces: false }
  const log: number[] = []
  const runs = [
    session.parallelFor(session.range(100_000), { a }, dear, options),
    session.parallelFor(
      session.range(3_000_000),
      { a: b },
      ([i], env) => {
        log[i % 7] = i
        env.a.set(i, log.length)
      },
      options,
    ),
    (async () => {
      for await (const _ of session.loop(session.range(100_000), { a: c }, dear, { checkRaces: false }).passes(1));
    })(),
  ].map(outcome)
  for (const run of runs) void run.then((end) => ends.push(end))
  for (let i = 0; i < 3; i++) await setImmediate()
  await session.stop()
  expect([...ends].sort()).toEqual([STOPPED, STOPPED, STOPPED, 'events'])
})

test('a body or a row function that never ends runs on a worker, where a signal and the end of the session end it', async () => {
  const session = await Session.start({ workers: 2, progress: false, memory: '16MB' })
  const [a, b] = [session.zeros([10]), session.zeros([10])]
  const few = (): Promise<readonly number[]> =>
    session
      .fromColumns({ v: [7, 2] })
      .map((row) => {
        let x = row.v
        while (x > 3) x -= 3
        return x
      })
      .collect()
  expect(await few()).toEqual([1, 2])
  const loop = session.loop(session.range(1), { a }, endless, { checkRaces: false })
  const aborted = new AbortController()
  const first = outcome(loop.run({ signal: aborted.signal }))
  await setImmediate()
  await few() // on the other worker; the loop has begun by now
  aborted.abort(new Error('enough'))
  expect(await first).toBe('Error: enough')
  expect(loop.plan.execution).toEqual({
    where: 'workers',
    because: 'No bound is known of an inner loop, in line 3 of the body: on a worker it can be ended.',
  })
  expect(await outcome(a.sum())).toMatch(/^TaskError: .* was being written by a loop that failed \(enough\)/)
  // the session works as before
  expect(
    await session.parallelFor(
      session.range(10),
      { a: b },
      ([i], env) => {
        let x = i
        while (x > 3) x -= 3
        env.a.set(i, x)
      },
      { checkRaces: false },
    ),
  ).toMatchObject({ workers: 2 })
  expect(await b.collect()).toEqual([0, 1, 2, 3, 1, 2, 3, 1, 2, 3])
  const left = [
    session.parallelFor(session.range(10), { a: b }, endless, { checkRaces: false }),
    session
      .fromColumns({ v: [1, 2] })
      .map((row) => {
        let x = row.v
        while (x >= 0) x = x + 1 - 1
        return x
      })
      .collect(),
  ].map(outcome)
  await setImmediate()
  await session.stop()
  expect(await Promise.all(left)).toEqual([STOPPED, STOPPED])
})

test('a session that is dropped without stop() ends its threads', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void // what the flag puts into new contexts
  const ended = vi.spyOn(Worker.prototype, 'terminate')
  const use = async (): Promise<void> => {
    const session = await Session.start({ workers: 2, progress: false, memory: '16MB' })
    session.events.subscribe(() => session.workers)
    expect(
      await session
        .fromColumns({ v: [1, 2] })
        .map((row) => {
          let x = row.v
          while (x > 1) x -= 1
          return x
        })
        .collect(),
    ).toEqual([1, 1])
  }
  await use()
  for (let i = 0; i < 1_000 && ended.mock.calls.length === 0; i++) {
    await setImmediate()
    if (i % 10 === 0) collect()
  }
  expect(ended).toHaveBeenCalled()
  vi.restoreAllMocks()
})
