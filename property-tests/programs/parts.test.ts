/** Loops that run in parts, from the public API alone, at 1, 2 and 3 workers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Session, TaskError } from '../../src/index.ts'

const n = 5000

async function errorOf(promise: Promise<unknown>): Promise<Error> {
  const error = await promise.then(
    () => new Error('nothing was thrown'),
    (reason: unknown) => reason,
  )
  return error as Error // of promises that reject with errors
}

describe.each([1, 2, 3])('%i workers', (workers) => {
  let session: Session
  beforeAll(async () => {
    session = await Session.start({ workers })
  })
  afterAll(() => session.stop())

  test('a parallel part is enough for require, and passes follow one another', async () => {
    const x = session.random([n], { seed: 1 })
    const [sums, roots] = [session.zeros([n]), session.zeros([n])]
    const total = session.accumulator('sum')
    const loop = session.loop(
      session.range(n),
      { x, sums, roots, total },
      ([i], { x, sums, roots, total }) => {
        sums.set(i, (i > 0 ? sums.get(i - 1) : 0) + x.get(i))
        roots.set(i, roots.get(i) + Math.sqrt(sums.get(i)))
        total.add(roots.get(i))
      },
      { require: 'parallel', checkRaces: true },
    )
    expect(loop.plan.parts?.map(({ schedule, statements }) => [schedule.kind, statements.length])).toEqual([
      ['serial', 1],
      ['independent', 2],
    ])
    expect(JSON.parse(JSON.stringify(loop.plan))).toEqual(loop.plan)
    const report = await loop.run({ passes: 3 })
    expect(report.schedule).toBe('independent')
    expect(report.passes.map(({ iterations }) => iterations)).toEqual([n, n, n])
    const xs = await x.toTypedArray()
    const [plainSums, plainRoots] = [new Float64Array(n), new Float64Array(n)]
    for (let pass = 0; pass < 3; pass++) {
      for (let i = 0; i < n; i++) {
        plainSums[i] = (i > 0 ? plainSums[i - 1]! : 0) + (xs[i] as number)
        plainRoots[i]! += Math.sqrt(plainSums[i]!)
      }
    }
    expect(await sums.toTypedArray()).toEqual(plainSums)
    expect(await roots.toTypedArray()).toEqual(plainRoots)
    expect(await loop.verify()).toEqual({ identical: true, iterations: n })
    expect([...(await loop.serialOrder()).subarray(0, 4)]).toEqual([0, 1, 2, 3])
    expect(loop.plan.parts?.map(({ schedule }) => schedule.blocks.length)).toEqual([0, 1])
  })

  test('a captured number that changes is the new one in every part', async () => {
    const [a, b] = [session.zeros([n]), session.zeros([n])]
    let rate = 1
    const loop = session.loop(session.range(n), { a, b }, ([i], { a, b }) => {
      a.set(i, (i > 0 ? a.get(i - 1) : 0) + rate)
      b.set(i, b.get(i) + rate)
    })
    expect(loop.plan.parts?.length).toBe(2)
    for await (const pass of loop.passes(3)) rate = 10 ** pass.number
    expect([await a.at(9), await b.at(9)]).toEqual([1000, 111])
  })

  test('the error is the one that the plain loop meets first, and all that is written is lost', async () => {
    const x = session.random([n], { seed: 2 })
    const [a, b, c] = [session.zeros([n]), session.zeros([n]), session.zeros([n])]
    const loop = session.loop(session.range(n), { x, a, b, c }, ([i], { x, a, b, c }) => {
      a.set(i, (i > 0 ? a.get(i - 1) : 0) + x.get(i + 20))
      b.set(i, x.get(i))
      c.set(i, x.get(i + 70))
    })
    expect(loop.plan.parts?.map(({ statements }) => statements.length)).toEqual([2, 1])
    const error = await errorOf(loop.run())
    expect(error).toBeInstanceOf(TaskError)
    expect((error as TaskError).key).toEqual([n - 70])
    for (const array of [a, b, c]) expect((await errorOf(array.at(0))).message).toContain('The body of the loop')
  })

  test('a part that fails is undone with those before it where the loop is atomic', async () => {
    const [a, b] = [session.zeros([n]), session.fill([n], 3)]
    const loop = session.loop(
      session.range(n),
      { a, b },
      ([i], { a, b }) => {
        a.set(i, (i > 0 ? a.get(i - 1) : 0) + 1)
        if (a.get(i) > 4000) throw new RangeError('far enough')
        b.set(i, a.get(i))
      },
      { atomic: true },
    )
    expect(loop.plan.parts?.map(({ schedule }) => schedule.kind)).toEqual(['serial', 'independent'])
    const error = await errorOf(loop.run())
    expect(error).toBeInstanceOf(TaskError)
    expect((error as TaskError).key).toEqual([4000])
    expect([await a.at(100), await b.at(100)]).toEqual([0, 3])
  })
})
