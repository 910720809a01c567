/** What links of a gang cost is measured once, between bounds, and counts when a pass is foreseen. */
import { afterAll, expect, test } from 'vitest'
import { NOMINAL_COST } from '../../src/exec/gang/linkCost.ts'
import { measuredLinks } from '../../src/exec/gang/measuredLinks.ts'
import { Session } from '../../src/index.ts'
import { runningWith, shortPassesOnWorkers } from '../../src/session/runtime.ts'
import { memoryGang, stopPlaces } from '../memoryGang.ts'

afterAll(stopPlaces)

test('links cost what was measured, up to four times more or less than the nominal', async () => {
  const { gang, stop } = memoryGang(2, [], 1)
  const { messageMs, msPerByte } = await measuredLinks(gang.members)
  for (const [measured, nominal] of [
    [messageMs, NOMINAL_COST.messageMs],
    [msPerByte, NOMINAL_COST.msPerByte],
  ] as const) {
    expect(measured).toBeGreaterThanOrEqual(nominal / 4)
    expect(measured).toBeLessThanOrEqual(nominal * 4)
  }
  await stop()
})

test('where the process that is asked is lost, or there is none, they cost the nominal', async () => {
  const [lost, alone] = [memoryGang(2, [{ at: 3, rank: 1, how: 'killed', lasts: 1 }], 1), memoryGang(1, [], 1)]
  expect(await measuredLinks(lost.gang.members)).toEqual(NOMINAL_COST)
  expect(await measuredLinks(alone.gang.members)).toEqual(NOMINAL_COST)
  await Promise.all([lost.stop(), alone.stop()])
})

test('dearer links make foreseen passes longer by what their messages take', async () => {
  const { gang, stop } = memoryGang(2, [], 1)
  await using session = await Session.start({ workers: 1, memory: '64MB', progress: false, ...runningWith(gang), ...shortPassesOnWorkers })
  const [W, H] = [session.random([200, 4], { seed: 1 }), session.random([100, 4], { seed: 2 })]
  const loop = session.loop(session.range(200, 100), { W, H }, ([u, m], { W, H }) => void H.set(m, 0, H.get(m, 0) * 0.5 + W.get(u, 1)), {
    order: 'any',
  })
  const foreseen = async (messageMs: number): Promise<number> => {
    gang.members.linkCost = { ...NOMINAL_COST, messageMs }
    return (await loop.simulate({ nodes: 2, threads: 1 })).milliseconds
  }
  const [near, far] = [await foreseen(1), await foreseen(101)]
  expect(far - near).toBeGreaterThanOrEqual(100)
  await stop()
})
