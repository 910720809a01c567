/** Handles and views where they do not belong: after the pass, outside of bodies, in bodies of loops that do not know them. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PlanError, Session } from '../../src/index.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false })
})
afterAll(() => session.stop())

const over = (name: string): string =>
  `This view of ${name} belongs to a pass of a loop that is over. Views are good inside the body only: read the array with at(), row() or toTypedArray().`

test('views that a body keeps are dead when its pass is over', async () => {
  const a = session.zeros([2, 3])
  const s = session.sparse([4])
  const total = session.accumulator('sum')
  const rng = session.rng(1)
  const w = session.zeros([2]).buffer()
  const kept: (() => unknown)[] = []
  const env = { a, s, total, rng, w }
  const loop = session.loop(session.range(1), env, ([i], { a, s, total, rng, w }) => {
    const row = a.row(i)
    const { get } = a
    const pieces = row as unknown as number[]
    const [first] = pieces.values()
    expect([first, pieces.map((v) => v + 1), 2 in row, 3 in row, [...pieces]]).toEqual([0, [1, 1, 1], true, false, [0, 0, 0]])
    kept.push(() => row[0])
    kept.push(() => pieces.fill(7))
    kept.push(() => row.set(0, 1))
    kept.push(() => a.row(0))
    kept.push(() => a.set(0, 0, 1))
    kept.push(() => get(1, 1))
    kept.push(() => s.get(0))
    kept.push(() => s.row()[0])
    kept.push(() => total.add(1))
    kept.push(() => rng.uniform())
    kept.push(() => w.add(0, 1))
  })
  await loop.run()
  const names = ['a', 'a', 'a', 'a', 'a', 'a', 's', 's', 'total', 'rng', 'w']
  for (const [at, use] of kept.entries()) expect(use).toThrow(new PlanError(over(names[at] as string)))
  expect(await a.toTypedArray()).toEqual(new Float64Array(6))
})

test('a row in a body that runs as it stands has the bounds that it has in a compiled one', async () => {
  const a = session.zeros([2, 3])
  for (const [at, text] of [
    [3, '3'],
    [-1, '-1'],
    [0.5, '0.5'],
    [Number.NaN, 'NaN'],
  ] as const) {
    let calls = 0
    const writing = session.loop(session.range(1), { a }, ([i], { a }) => {
      calls++
      a.row(i)[at] = 1
    })
    await expect(writing.run()).rejects.toThrow(`The key [0, ${text}] is outside a, whose shape is [2, 3].`)
    await a.assign([null, null], 0)
    expect(calls).toBe(1)
  }
})

test('what only bodies call says so elsewhere', () => {
  const a = session.zeros([2]) as unknown as { get(i: number): number; add(i: number, x: number): void; has(i: number): boolean }
  const message = (name: string) =>
    `${name}() of an array is for loop bodies, where it acts at once. Elsewhere there are at(), row(), set() and update().`
  expect(() => a.get(0)).toThrow(new PlanError(message('get')))
  expect(() => a.add(0, 1)).toThrow(new PlanError(message('add')))
  expect(() => a.has(0)).toThrow(new PlanError(message('has')))
  expect(() => session.accumulator('sum').add(1)).toThrow(
    new PlanError('add() of an accumulator is for loop bodies, where it acts at once. Its value is that of the last pass.'),
  )
  expect(() => session.zeros([2]).buffer().get(0)).toThrow(
    new PlanError('get() of an update buffer is for loop bodies, where it acts at once. Put it in env.'),
  )
})

test('a handle that comes to a body in a Map is not known to the loop, and the error has the cure', async () => {
  const box = new Map([['a', session.zeros([2, 2])]])
  let calls = 0
  const loop = session.loop(session.range(2), {}, ([i]) => {
    calls++
    box.get('a')?.row(i)
  })
  await expect(loop.run()).rejects.toThrow(
    'A loop body that runs as it stands uses row() of an array that the loop does not know: only what is in env, or captured by name, is locked for it. Pass it in env, as { a }, and take it from there.',
  )
  expect(calls).toBe(1)
})

test('one accumulator has one name in env, and may be captured besides', async () => {
  const total = session.accumulator('sum')
  expect(() => session.loop(session.range(2), { one: total, two: total }, () => undefined)).toThrow(
    new PlanError('The env of loop() has one accumulator under two names, one and two, and what is added counts by name. Pass it once.'),
  )
  const both = session.loop(session.range(3), { sum: total }, (_, { sum }) => {
    sum.add(1)
    total.add(10)
  })
  expect((await both.run()).passes[0]?.accumulators).toEqual({ sum: 33 })
  expect([both.plan.kernel.target, total.value]).not.toContain('as-is')
  expect(total.value).toBe(33)
})

test('what env inherits is there in a body that runs as it stands', async () => {
  const y = session.zeros([2])
  const env = Object.assign(Object.create({ rate: 3 }) as { readonly rate: number }, { y })
  await session.loop(session.range(2), env, ([i], { y, rate }) => y.set(i, rate * i)).run()
  expect(await y.toTypedArray()).toEqual(Float64Array.of(0, 3))
})
