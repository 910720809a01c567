import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LoopError, Session } from '../index.ts'
import { loopBodies, plans } from './programArbitraries.ts'
import { assertParallel, expectSerialEqualsParallel } from './serialEqualsParallel.ts'

/** The message of what a promise is rejected with. */
async function messageOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return 'nothing was thrown'
}

test('a program without inputs runs once for each number of workers and partitions', async () => {
  const seen: string[] = []
  await expectSerialEqualsParallel(
    (session, settings) => {
      seen.push(`${session.workers} ${settings.workers} ${settings.partitions}`)
      return 1
    },
    { workers: [1, 2], partitions: [1, 3] },
  )
  expect(seen).toEqual(['1 1 1', '2 2 1', '1 1 3', '2 2 3'])
})

test('options of a loop and of its run stay apart', async () => {
  await expectSerialEqualsParallel(
    async (session) => {
      const A = session.zeros([4])
      await session.parallelFor(session.range(4), { A }, ([i], { A }) => A.add(i, 1), { order: 'any', passes: 2 })
      return A
    },
    { workers: 2 },
  )
})

test('a difference names the workers, the place and both values', async () => {
  const program = (session: Session) => ({ rows: [{ total: 10 / session.workers }] })
  expect(await messageOf(expectSerialEqualsParallel(program, { workers: 2, partitions: 4 }))).toBe(
    '2 workers and 4 partitions give another result than 1 worker,\nat .rows[0].total\n  1 worker   10\n  2 workers  5',
  )
})

test('the counterexample is shrunk and shown', async () => {
  const program = (session: Session, n: number) => (n > 41 ? session.workers : 0)
  const message = await messageOf(expectSerialEqualsParallel(program, { arbitraries: [fc.nat(100)], workers: 2, runs: 100, seed: 3 }))
  expect(message).toContain('Counterexample: [[42]]')
  expect(message).toContain('2 workers give another result than 1 worker')
})

test('an error of the program is the error of the test', async () => {
  const program = () => {
    throw new Error('no such customer')
  }
  expect(await messageOf(expectSerialEqualsParallel(program, { workers: 2 }))).toBe('no such customer')
})

test('every run gets inputs of its own', async () => {
  const program = (_session: Session, list: number[]) => {
    list.push(1)
    return list.length
  }
  await expectSerialEqualsParallel(program, { arbitraries: [fc.array(fc.nat())], workers: [2, 3], runs: 2 })
})

test('results may be DistArrays: keys and values are compared', async () => {
  const program = async (session: Session) => {
    const a = session.zeros([3, session.workers + 1])
    return { a: [a] }
  }
  expect(await messageOf(expectSerialEqualsParallel(program, { workers: 2 }))).toBe(
    '2 workers give another result than 1 worker,\nat .a[0][2].key[0]\n  1 worker   1\n  2 workers  0',
  )
})

test('partitions reach loops that do not say', async () => {
  const blocks: number[] = []
  await expectSerialEqualsParallel(
    async (session) => {
      const a = session.zeros([64])
      await session.parallelFor(session.range(64), { a }, ([i], { a }) => a.set(i, i))
      const loop = session.loop(session.range(64), { a }, ([i], { a }) => a.set(i, i), { partitions: 5 })
      await loop.run()
      blocks.push(...loop.plan.schedule.blocks)
      return a
    },
    { workers: 2, partitions: 3 },
  )
  expect(blocks).toEqual([5, 5])
})

test('made-up chains give what plain arrays give, with every number of workers', async () => {
  await expectSerialEqualsParallel(
    async (session, plan) => {
      const rows = await plan.build(session).collect()
      expect(rows, plan.text).toEqual(plan.expected())
      return rows
    },
    { arbitraries: [plans()], runs: 60, workers: [2] },
  )
})

test('made-up loops give what plain loops give, with every number of workers and blocks', async () => {
  await expectSerialEqualsParallel(
    async (session, body) => {
      const { loop, arrays } = body.build(session)
      await loop.run()
      const values = await Promise.all(arrays.map((array) => array.toTypedArray()))
      if (body.order === 'serial') expect(values, body.text).toEqual(body.expected())
      return values
    },
    { arbitraries: [loopBodies()], runs: 30, workers: [2, 3], partitions: [1, 3] },
  )
})

describe('assertParallel', () => {
  let session: Session
  beforeAll(async () => {
    session = await Session.start({ workers: 2 })
  })
  afterAll(() => session.stop())

  test('passes a parallel loop', () => {
    const a = session.zeros([9])
    assertParallel(session.loop(session.range(9), { a }, ([i], { a }) => a.set(i, i)))
  })

  test('throws for a serial one, with its explanation', () => {
    const a = session.zeros([9])
    const loop = session.loop(session.range(8), { a }, ([i], { a }) => a.set(i + 1, a.get(i) / 2 + i))
    const refusals = [expect.objectContaining({ code: 'scan-operator' })]
    const message = `The loop does not run in parallel.\n${loop.explain()}`
    expect(() => assertParallel(loop)).toThrowError(expect.objectContaining({ name: 'LoopError', message, refusals }))
  })

  test('throws for one that runs as it stands, with the refusals', () => {
    let calls = 0
    const a = session.zeros([9])
    const loop = session.loop(session.range(9), { a }, ([i], { a }) => {
      calls++
      a.set(i, 1)
    })
    try {
      assertParallel(loop)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(LoopError)
      expect((error as LoopError).refusals.map((one) => one.code)).toContain('assigns-captured-variable')
    }
    expect(calls).toBe(0)
  })
})
