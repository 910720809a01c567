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
