/** The event loop has its turns while passes follow each other that are all over before one is due. */
import { afterAll, expect, test } from 'vitest'
import { Session } from './index.ts'

const session = await Session.start({ workers: 1, progress: false, checkRaces: false })
afterAll(() => session.stop())

const SIDE = 20_000
/** More passes than anybody's machine takes 12 milliseconds for. */
const MOST_PASSES = 20_000

/** Whether a timer of no time fires while the loop runs again and again. */
async function firesWhile(run: () => Promise<unknown>): Promise<boolean> {
  let hasFired = false
  const timer = setTimeout(() => (hasFired = true), 0)
  for (let pass = 0; pass < MOST_PASSES && !hasFired; pass++) await run()
  clearTimeout(timer)
  return hasFired
}

test('timers fire between short passes of a compiled loop', async () => {
  const y = session.zeros([SIDE])
  const loop = session.loop(session.range(SIDE), { y }, ([i], { y }) => y.set(i, y.get(i) * 0.5 + i))
  expect(await firesWhile(() => loop.run())).toBe(true)
})

test('timers fire between short passes of a loop that runs as it stands', async () => {
  const seen: number[] = []
  const loop = session.loop(session.range(200), {}, ([i]) => {
    seen[i] = Math.random() // no kernel has it
  })
  expect(await firesWhile(() => loop.run())).toBe(true)
})

test('an abort by a timer reaches passes that follow each other', async () => {
  const y = session.zeros([SIDE])
  const loop = session.loop(session.range(SIDE), { y }, ([i], { y }) => y.set(i, y.get(i) + 1))
  const signal = AbortSignal.timeout(1)
  const passes = async (): Promise<void> => {
    for (let pass = 0; pass < MOST_PASSES; pass++) await loop.run({ signal })
  }
  await expect(passes()).rejects.toThrow('timeout')
})
