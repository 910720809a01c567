import { afterAll, expect, test } from 'vitest'
import { Session } from './session/session.ts'

const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

test('what a list in a list gave up is asked for as a key by a kernel, also where it had nothing to give', async () => {
  const y = session.zeros([4])
  const asked = (i: number): number => {
    const lists: number[][] = [[], [3, i]]
    const seen = new Set<number | undefined>()
    seen.add(i)
    return seen.has((lists[i % 2] as number[]).pop()) ? 1 : 2
  }
  const loop = session.loop(session.range(4), { y }, ([i], { y }) => y.set(i, asked(i)))
  await loop.run()
  expect(loop.plan.kernel?.because).toBeUndefined()
  expect(await y.collect()).toEqual([0, 1, 2, 3].map(asked))
})
