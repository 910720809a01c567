import { expect, test } from 'vitest'
import { Session } from '../../index.ts'

test('a run locks the arrays that env holds now', async () => {
  await using session = await Session.start({ workers: 1, progress: false })
  const [first, second] = [session.zeros([4]), session.zeros([4])]
  const env = { into: first }
  const loop = session.loop(session.range(4), env, ([i], { into }) => {
    into.set(i, into.get(i) + i)
  })
  for (const array of [first, second, second, first]) {
    env.into = array
    await loop.run()
  }
  expect(await first.collect()).toEqual([0, 2, 4, 6])
  expect(await second.collect()).toEqual([0, 2, 4, 6])
})

test('arrays of env have names of their own', async () => {
  await using session = await Session.start({ workers: 1, progress: false })
  const A = session.zeros([2])
  const loop = (env: object) => () => session.loop(session.range(2), env as never, () => undefined)
  const what = 'The env of loop() holds arrays, buffers, accumulators and generators by names of their own; its entry'
  const besides = 'Besides these, env holds numbers, booleans, strings, typed arrays, functions, and constant objects.'
  expect(loop({ model: { rate: 2, A } })).toThrow(
    `${what} "model" is an object with one inside, at model.A.\nName it in env, as { A: model.A }. ${besides}`,
  )
  expect(loop({ all: [{ 'a b': A }] })).toThrow(
    `${what} "all" is an array with one inside, at all[0]["a b"].\nName it in env, as { a: all[0]["a b"] }. ${besides}`,
  )
  expect(loop({ model: { A }, A })).not.toThrow()
  expect(loop({ model: { rate: 2, list: [1, 2] } })).not.toThrow()
})

test('options that do not exist are named, with the nearest that do', async () => {
  await using session = await Session.start({ workers: 1, progress: false })
  const loop = (options: object) => session.loop(session.range(2), {}, () => undefined, options)
  expect(() => loop({ ordre: 'any' })).toThrow(
    'loop() has no option "ordre". Did you mean "order"? Its options are order, precision, require, partitions, balance, assume, checkRaces, atomic, name.',
  )
  expect(() => loop({ assume: { distict: ['a'] } })).toThrow(
    'assume of loop() has no option "distict". Did you mean "distinct"? Its options are distinct.',
  )
  await expect(loop({}).run({ pass: 2 } as object)).rejects.toThrow(
    'run() has no option "pass". Did you mean "passes"? Its options are passes, signal.',
  )
})

test('the more there is to add, the more copies there are to add to, as long as joining them is next to nothing', async () => {
  await using session = await Session.start({ workers: 2, progress: false })
  const blocksOf = async (iterations: number, elements: number): Promise<readonly number[]> => {
    const into = session.zeros([elements])
    const loop = session.loop(session.range(iterations), { into }, ([i], { into }) => {
      into.add(i % elements, 0.5)
    })
    await loop.simulate({ nodes: 1 }) // readies the loop, and runs nothing
    return loop.plan.schedule.blocks
  }
  expect(await blocksOf(1000, 10)).toEqual([1])
  expect(await blocksOf(1_000_000, 10)).toEqual([244])
  expect(await blocksOf(100_000_000, 10)).toEqual([256])
  expect(await blocksOf(100_000_000, 100_000)).toEqual([16])
  expect(await blocksOf(5, 0)).toEqual([1])
})

test('the blocks of a loop that has not run are those that a run cuts, by what an iteration takes', async () => {
  await using session = await Session.start({ workers: 1, progress: false })
  const grid = session.fill([401, 401], 1)
  const loop = session.loop(session.range(400, 400), { grid }, ([i, j], { grid }) => {
    let value = grid.get(i, j + 1) * 0.5 + grid.get(i + 1, j) * 0.5
    for (let k = 0; k < 20; k++) value = Math.sqrt(value + grid.get(i + 1, j + 1))
    grid.set(i + 1, j + 1, value / 2)
  })
  const foreseen = loop.plan.schedule.blocks
  expect(foreseen).toEqual([16, 16])
  await loop.run()
  expect(loop.plan.schedule.blocks).toEqual(foreseen)
})
