/** What stays in other processes, byte by byte: loops that take turns, and what a program does in between. */
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { GangError } from '../../src/core/errors.ts'
import { Session } from '../../src/index.ts'
import { runningWith, shortPassesOnWorkers } from '../../src/session/runtime.ts'
import { type MemoryGang, memoryGang, stopPlaces } from '../memoryGang.ts'

let gang: MemoryGang
let session: Session
beforeEach(async () => {
  gang = memoryGang(3, [], 1)
  session = await Session.start({
    workers: 1,
    memory: '64MB',
    progress: false,
    checkRaces: false,
    ...runningWith(gang.gang),
    ...shortPassesOnWorkers,
  })
})
afterEach(async () => {
  await session.stop()
  await gang.stop()
})
afterAll(stopPlaces)

const N = 300

async function sentBy(run: () => Promise<unknown>): Promise<number> {
  const before = gang.sent().planned
  await run()
  return gang.sent().planned - before
}

function takingTurns() {
  const [x, u, v] = [session.random([N], { seed: 1 }), session.zeros([N]), session.zeros([N])]
  const grow = session.loop(session.range(N), { x, u }, ([i], { x, u }) => u.set(i, u.get(i) * 0.5 + x.get(i)))
  const copy = session.loop(session.range(N), { u, v }, ([i], { u, v }) => v.set(i, u.get(i) + 1))
  return { x, u, v, grow, copy }
}

test('loops that take turns over the same rows send nothing from the second turn on; who reads an array brings it home', async () => {
  const { x, u, v, grow, copy } = takingTurns()
  expect(await sentBy(() => grow.run())).toBe(0) // each has made its rows of x and u
  expect(await sentBy(() => copy.run())).toBe(0)
  expect(await sentBy(() => grow.run({ passes: 3 }))).toBe(0)
  expect(await sentBy(() => copy.run())).toBe(0)
  const seen: number[] = []
  const others = (await sentBy(async () => seen.push(...((await v.toTypedArray()) as Float64Array)))) / 2 // u comes as well
  expect(others).toBeGreaterThan(0.6 * N * 8)
  const values = (await x.toTypedArray()) as Float64Array
  expect(seen).toEqual(Array.from(values, (value) => [1, 2, 3, 4].reduce((sum) => sum * 0.5 + value, 0) + 1))
  // those that have it have it still
  expect(await sentBy(() => grow.run())).toBe(0)
  await u.set([0], 5)
  expect(await sentBy(() => grow.run())).toBe(others)
})

test('an array that lies in several processes says so when it is looked at', async () => {
  const { u, grow } = takingTurns()
  await grow.run()
  expect(u.explain()).toContain('zeros')
  const { inspect } = await import('node:util')
  expect(inspect(u)).toContain('It lies in several processes, where loops have left it: reading it brings it here.')
  await u.count()
  expect(inspect(u)).not.toContain('It lies in several processes')
})

test('what was lost with a process is computed again', async () => {
  const { v, grow, copy } = takingTurns()
  await grow.run({ passes: 2 })
  await copy.run()
  gang.gang.members.lose(new GangError('Rank 2 was lost.', 'lost', { rank: 2 }))
  const found = await v.toTypedArray()
  await session.stop()
  session = await Session.start({ workers: 1, progress: false, checkRaces: false })
  const alone = takingTurns()
  await alone.grow.run({ passes: 2 })
  await alone.copy.run()
  expect(found).toEqual(await alone.v.toTypedArray())
})

test('arrays that are released or garbage take nothing home with them that others need', async () => {
  const { x, u, v, grow, copy } = takingTurns()
  await grow.run()
  await copy.run()
  await u.release()
  expect(((await v.toTypedArray()) as Float64Array)[0]).toBe((((await x.toTypedArray()) as Float64Array)[0] as number) + 1)
})

test('of an array that the data decides on, others are sent what their blocks read, from its second version on', async () => {
  const features = 3_000
  const places = Int32Array.from({ length: N }, (_, i) => (i * 7) % features) // all different
  const f = session.fromTypedArray(places, [N])
  const w = session.fromTypedArray(
    Float64Array.from({ length: features }, (_, i) => i * 0.5),
    [features],
  )
  const y = session.zeros([N])
  const loop = session.loop(session.range(N), { f, w, y }, ([i], { f, w, y }) => y.set(i, w.get(f.get(i)) + 1))
  expect(await sentBy(() => loop.run())).toBeGreaterThan(2 * features * 8)
  await w.set([7], -1)
  const second = await sentBy(() => loop.run())
  const keys = 8 // where each lies, and that it is one
  const read = second / (8 + keys)
  expect(read).toBeGreaterThan(0.6 * N)
  expect(read).toBeLessThan(0.7 * N)
  await w.set([7], -2)
  expect(await sentBy(() => loop.run())).toBe(read * 8) // the keys are known
  expect(await sentBy(() => loop.run())).toBe(0)
  expect(((await y.toTypedArray()) as Float64Array)[1]).toBe(-1)
  expect(loop.explain()).toMatch(
    /Of w the others are sent what their blocks read, \d+ and \d+ of 3,000 elements, before the pass: they are few\./,
  )
})
