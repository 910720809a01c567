import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { LoopError, MemoryError, PlanError } from '../../../core/errors.ts'
import type { LoopOptions } from '../../../core/loop/loopSpec.ts'
import type { SessionEvent } from '../../../core/sessionEvent.ts'
import { Session } from '../../../session/session.ts'
import { DistinctPromise } from './raceCheckPromise.ts'
import { brokenPromiseError, type Race, raceError } from './raceCheckText.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1 })
})
afterAll(() => session.stop())

/** The values of x are taken as places of w. */
function scatter(values: readonly number[], options: LoopOptions, from: Session = session) {
  const w = from.fill([8], 1)
  const x = from.fromRows([...values])
  const loop = from.loop(
    from.range(values.length),
    { w, x },
    ([i], { w, x }) => {
      w.set(x.get(i), i)
    },
    { assume: { distinct: ['x'] }, ...options },
  )
  return { loop, w, x }
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  return await promise.then(
    () => {
      throw new Error('It did not fail.')
    },
    (error: unknown) => error as Error, // errors are Errors
  )
}

const BROKEN = `The loop over range(4) promises that the values of x differ between iterations (assume.distinct), and they do not.
  (1) reads x[1] = 7
  (3) reads x[3] = 7
The pass was not run; no array was changed. Make the values of x differ, or leave x out of assume.distinct.`

describe('a broken promise', () => {
  test('rejects the run before any array changes, and names iterations, elements and value', async () => {
    const { loop, w } = scatter([0, 7, 3, 7], { checkRaces: true })
    expect(loop.plan.schedule.kind).toBe('independent')
    const error = await failure(loop.run())
    expect(error).toBeInstanceOf(LoopError)
    expect(error.message).toBe(BROKEN)
    expect([...(await w.toTypedArray())]).toEqual(new Array(8).fill(1))
  })

  test('is found on a small first run under test, unless it is switched off', async () => {
    expect(process.env.NODE_ENV).toBe('test')
    expect((await failure(scatter([0, 7, 3, 7], {}).loop.run())).message).toBe(BROKEN)
    const { loop, w } = scatter([0, 7, 3, 7], { checkRaces: false })
    await loop.run()
    expect((await w.toTypedArray())[7]).toBe(3)
  })

  test('is not looked for unasked where a check takes long', async () => {
    const spin = (checkRaces: LoopOptions) => {
      const w = session.zeros([4])
      const x = session.fromRows([1, 1])
      const turns = 300_000
      return session.loop(
        session.range(2),
        { w, x },
        ([i], { w, x }) => {
          let k = 0
          while (k < turns) k = k + 1
          w.set(x.get(i), k)
        },
        { assume: { distinct: ['x'] }, ...checkRaces },
      )
    }
    await spin({}).run()
    expect((await failure(spin({ checkRaces: true }).run())).message).toBe(
      `The loop over range(2) promises that the values of x differ between iterations (assume.distinct), and they do not.
  (0) reads x[0] = 1
  (1) reads x[1] = 1
The pass was not run; no array was changed. Make the values of x differ, or leave x out of assume.distinct.`,
    )
  })

  test('is left to the user elsewhere', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    try {
      await scatter([0, 7, 3, 7], {}).loop.run()
    } finally {
      vi.unstubAllEnvs()
    }
  })

  test('is found by a session that checks, and not by a loop of it that does not', async () => {
    await using checking = await Session.start({ workers: 1, checkRaces: true })
    expect((await failure(scatter([0, 7, 3, 7], {}, checking).loop.run())).message).toBe(BROKEN)
    await scatter([0, 7, 3, 7], { checkRaces: false }, checking).loop.run()
  })

  test('is found in a later pass, when the array has changed since', async () => {
    const { loop, x } = scatter([0, 2, 3, 7], { checkRaces: true })
    const seen: number[] = []
    const run = async () => {
      for await (const pass of loop.passes(3)) {
        seen.push(pass.number)
        if (pass.number === 2) await x.set([1], 7)
      }
    }
    expect((await failure(run())).message).toBe(BROKEN)
    expect(seen).toEqual([1, 2])
  })

  test('is found in loops that run serially for another reason', async () => {
    const sum = session.zeros([1])
    const x = session.fromRows([0, 7, 3, 7])
    const loop = session.loop(
      session.range(4),
      { sum, x },
      ([i], { sum, x }) => {
        sum.set(0, sum.get(0) * 2 + x.get(i))
      },
      { assume: { distinct: ['x'] }, checkRaces: true },
    )
    expect(loop.plan.schedule.kind).toBe('serial')
    expect((await failure(loop.run())).message).toBe(BROKEN)
  })

  test('a promise that holds costs nothing but the check', async () => {
    const { loop, w } = scatter([4, 7, 3, 0], { checkRaces: true })
    await loop.run({ passes: 2 })
    expect([...(await w.toTypedArray())]).toEqual([3, 1, 1, 2, 0, 1, 1, 1])
  })
})

describe('promises', () => {
  test('one place may be read by many iterations, and one value by one iteration at many places', () => {
    const promise = new DistinctPromise()
    const read = (position: number, place: number, value: unknown = 5) => promise.note({ position, place, value })
    expect(read(0, 0)).toBeUndefined()
    expect(read(1, 0)).toBeUndefined()
    expect(read(1, 3)?.position).toBe(0)
    expect(read(2, 9, 6)).toBeUndefined()
    expect(read(2, 8, 6)).toBeUndefined()
    expect(read(3, 9, 6)?.place).toBe(8)
    expect(promise.size).toBe(2)
  })

  test('a value of another type is printed as it is written', () => {
    const base = {
      loop: 'the loop scatter',
      array: 'x',
      iterations: [[0], [1]],
      elements: [[2], [3]],
      span: { line: 1, column: 1, text: '' },
    } as const
    const lineOf = (value: unknown) => brokenPromiseError({ ...base, value }).message.split('\n')[1]
    expect([7n, 'a"b', null].map(lineOf)).toEqual(['  (0) reads x[2] = 7n', '  (0) reads x[2] = "a\\"b"', '  (0) reads x[2] = null'])
  })
})

describe('the message of a race', () => {
  const race: Race = {
    loop: 'the loop over range(8)',
    schedule: { kind: 'independent' },
    order: 'any',
    accesses: [
      { name: 'w', verb: 'writes', span: { line: 2, column: 5, text: 'w.set(idx.get(i), i)' }, iteration: [3] },
      { name: 'w', verb: 'reads', span: { line: 3, column: 14, text: 'w.get(7)' }, iteration: [5] },
    ],
    element: [7],
    promised: true,
    isPrivate: false,
  }

  test('names both places, both iterations, the element, and what the schedule does', () => {
    expect(raceError(race).message).toBe(`The loop over range(8) has a race: its independent schedule may run them together.
  (3) writes w[7] at 2:5  w.set(idx.get(i), i)
  (5) reads w[7] at 3:14  w.get(7)
The pass was not run; no array was changed. The schedule rests on assume.distinct: leave that out, or keep iterations from sharing the element.`)
  })

  test('of a private array', () => {
    expect(raceError({ ...race, promised: false, isPrivate: true }).message.split('\n')[0]).toBe(
      'The loop over range(8) has a race: each worker has a copy of w, and may have run one of them only.',
    )
  })

  test('two names, key order and the blame', () => {
    const accesses = [
      { ...race.accesses[0], iteration: [3, 1] },
      { ...race.accesses[1], name: 'v', verb: 'adds to', iteration: [4, 0] },
    ] as const
    const error = raceError({ ...race, schedule: { kind: 'wavefront', axes: [0, 1] }, order: 'serial', accesses, promised: false })
    expect(
      error.message,
    ).toBe(`The loop over range(8) has a race: its wavefront schedule on axes 0 and 1 may run them together, or (4, 0) first.
  (3, 1) writes w[7] at 2:5    w.set(idx.get(i), i)
  (4, 0) adds to v[7] at 3:14  w.get(7)
  w and v are one array.
The pass was not run; no array was changed. The schedule is wrong, which is a fault in the library, not in your program. Please report it with the text above.`)
    expect(error.refusals.map((refusal) => [refusal.code, refusal.message, refusal.span?.line])).toEqual([
      ['race', '(3, 1) writes w[7]', 2],
      ['race', '(4, 0) adds to v[7]', 3],
    ])
  })
})

describe('what is not checked', () => {
  async function because(run: (checking: Session) => Promise<unknown>): Promise<(string | undefined)[]> {
    await using checking = await Session.start({ workers: 1, checkRaces: true })
    const events: SessionEvent[] = []
    checking.events.subscribe((event) => events.push(event))
    await run(checking)
    return events.flatMap((event) => (event.kind === 'fallback' && event.what === 'checkRaces' ? [event.because] : []))
  }

  test('a body that runs as it stands, and a serial loop, run one iteration after another, and events say so', async () => {
    const seen: number[] = []
    const asIs = await because((checking) => checking.parallelFor(checking.range(3), {}, ([i]) => void seen.push(i)))
    expect(asIs).toEqual(['Nothing was checked: the body of the loop over range(3) runs as it stands, one iteration after another.'])
    expect(seen).toEqual([0, 1, 2])
    const serial = await because(async (checking) => {
      const a = checking.zeros([4])
      await checking.parallelFor(checking.range(3), { a }, ([i], { a }) => {
        a.set(i + 1, a.get(i) + 1)
      })
    })
    expect(serial).toEqual(['Nothing was checked: the loop over range(3) runs serially.'])
  })

  test('an array too large for shadow words is a named limit', async () => {
    await using large = await Session.start({ workers: 1, memory: '512MB', checkRaces: true })
    const bits = large.zeros([70_000_000], { dtype: 'u8' })
    const loop = large.loop(large.range(10), { bits }, ([i], { bits }) => {
      bits.set(i, 1)
    })
    const error = await failure(loop.run())
    expect(error).toBeInstanceOf(MemoryError)
    expect(error.message).toBe(
      'checkRaces of the loop over range(10) needs 1069 MB for shadow words; its limit is 1024 MB. Check a smaller instance of the loop, and run this one without checkRaces.',
    )
  })

  test('a body that throws ends the check, and the run tells', async () => {
    const { loop } = scatter([0, 1, 9, 0], { checkRaces: true })
    expect((await failure(loop.run())).message).toBe(
      'The body of the loop over range(4) threw at key [2]: The key [9] is outside w, whose shape is [8]. Keys run from 0 to extent - 1; negative keys do not wrap.',
    )
  })
})

test('checkRaces is true or false', async () => {
  const error = await failure(Session.start({ checkRaces: 'yes' as never }))
  expect(error).toBeInstanceOf(PlanError)
  expect(error.message).toBe('checkRaces is true or false; it was given "yes".')
  expect(() => scatter([0], { checkRaces: 1 as never })).toThrow('The checkRaces of loop() is true or false; it was given 1.')
})

test('the check draws the random numbers of its pass, and leaves those of the pass alone', async () => {
  const totals: number[] = []
  for (const checkRaces of [true, false]) {
    const a = session.zeros([20])
    const rng = session.rng(3)
    await session.parallelFor(
      session.range(20),
      { a, rng },
      ([i], { a, rng }) => {
        a.set(i, rng.uniform())
      },
      { checkRaces, passes: 2 },
    )
    totals.push(await a.sum())
  }
  expect(totals[0]).toBe(totals[1])
})

test('buffers, accumulators and arrays that are only added to make no race', async () => {
  const w = session.fill([4], 1)
  const counts = session.zeros([2], { dtype: 'i32' })
  const total = session.accumulator('sum')
  const steps = w.buffer()
  const loop = session.loop(
    session.range(100),
    { counts, total, steps },
    ([i], { counts, total, steps }) => {
      counts.add(i % 2, 1)
      total.add(i)
      steps.add(i % 4, steps.get((i + 1) % 4))
    },
    { checkRaces: true },
  )
  expect(loop.plan.schedule.kind).toBe('independent')
  await loop.run()
  expect([...(await counts.toTypedArray())]).toEqual([50, 50])
  expect([...(await w.toTypedArray())]).toEqual([26, 26, 26, 26])
})

test('elements of a sparse array that the body returns are followed', async () => {
  const cells = session
    .fromRows([0, 1, 2, 3, 4, 5].map((k) => ({ i: k, j: (k * 2) % 3, v: k })))
    .index((r) => [r.i, r.j])
    .map((r) => r.v)
  const loop = session.loop(cells, {}, (value) => value * 2, { checkRaces: true })
  expect(loop.plan.schedule.kind).toBe('independent')
  await loop.run()
  expect(await cells.sum()).toBe(30)
})
