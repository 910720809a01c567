import { expect, test } from 'vitest'
import { Session } from './index.ts'

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
