/** A factorization whose arrays no process has memory for, on three that have it together. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { GangError } from '../../src/core/errors.ts'
import { bytesOf } from '../../src/exec/gang/movement/changes.ts'
import { type DistArray, type Loop, MemoryError, Session } from '../../src/index.ts'
import { runningWith, shortPassesOnWorkers } from '../../src/session/runtime.ts'
import { memoryGang, stopPlaces } from '../memoryGang.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-large-'))
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await stopPlaces()
})

const [USERS, MOVIES, RANK] = [16_384, 8, 16]
/** Two thirds of the users' rows. */
const BUDGET = Math.floor(1.3 * 2 ** 20)

interface Factorization {
  readonly session: Session
  readonly sum: Loop
  readonly W: DistArray<number, readonly [number, number]>
  readonly H: DistArray<number, readonly [number, number]>
  /** The losses of so many passes. */
  fit(passes: number): Promise<readonly unknown[]>
  /** A number that follows from all of W. */
  digest(): Promise<unknown>
}

async function factorization(options: object): Promise<Factorization> {
  const session = await Session.start({ workers: 1, progress: false, checkRaces: false, ...options })
  const [W, H] = [session.random([USERS, RANK], { seed: 1 }), session.random([MOVIES, RANK], { seed: 2 })]
  const total = session.accumulator('sum')
  const pass = session.loop(
    session.range(USERS, MOVIES),
    { W, H, total },
    ([u, m], { W, H, total }) => {
      let dot = 0
      for (let k = 0; k < RANK; k++) dot += W.get(u, k) * H.get(m, k)
      const error = ((u * 7 + m * 3) % 5) - dot
      for (let k = 0; k < RANK; k++) {
        const [w, h] = [W.get(u, k), H.get(m, k)]
        W.set(u, k, w + 0.01 * error * h)
        H.set(m, k, h + 0.01 * error * w)
      }
      total.add(error * error)
    },
    { order: 'any' },
  )
  const sum = session.loop(session.range(USERS), { W, total }, ([u], { W, total }) => {
    for (let k = 0; k < RANK; k++) total.add(W.get(u, k) * ((u * 5 + k) % 13))
  })
  const totals = async (loop: typeof pass | typeof sum, passes: number) =>
    (await loop.run({ passes })).passes.map(({ accumulators }) => accumulators.total)
  return { session, sum, W, H, fit: (passes) => totals(pass, passes), digest: async () => (await totals(sum, 1))[0] }
}

test('three processes fit arrays that none has memory for, with the bits of one that has', async () => {
  const one = await factorization({ memory: '64MB' })
  const expected = [await one.fit(2), await one.H.toTypedArray(), await one.fit(2), await one.digest(), await one.W.row(16_000)]
  const all = await one.W.toTypedArray()
  await one.W.save(join(folder, 'one'))
  await one.session.stop()
  const { gang, stop, sent, made } = memoryGang(3, [], 1, { budget: BUDGET })
  const three = await factorization({ memory: BUDGET, ...runningWith(gang), ...shortPassesOnWorkers })
  try {
    const found: unknown[] = [await three.fit(2)]
    expect(made()).toBeGreaterThan(0)
    expect(sent().planned).toBeLessThan((USERS * RANK * 8) / 32) // H goes round, and W stays
    found.push(await three.H.toTypedArray()) // W is put aside
    found.push(await three.fit(2))
    gang.members.lose(new GangError('Rank 2 was lost.', 'lost', { rank: 2 }))
    found.push(await three.digest())
    found.push(await three.W.row(16_000))
    expect(found).toEqual(expected)
    // copies of elements are the program's own memory
    expect(Buffer.from(bytesOf((await three.W.toTypedArray()) as Float64Array)).equals(bytesOf(all as Float64Array))).toBe(true)
    await three.W.save(join(folder, 'three'))
    expect(readFileSync(join(folder, 'three')).equals(readFileSync(join(folder, 'one')))).toBe(true)
    // to be written in place, all of it would have to be here
    const refusal = await three.W.set([0, 0], 1).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(MemoryError)
    expect((refusal as Error).message).toMatch(/^random\(\[16384, 16\]\) needs 2 MiB more, but of the session's memory of 1\.3 MiB only /)
    expect(await three.digest()).toBe(expected[3])
  } finally {
    await three.session.stop()
    await stop()
  }
})

test('a light pass runs on all of them where one has no memory for its arrays', async () => {
  const { gang, stop } = memoryGang(3, [], 1, { budget: BUDGET })
  const three = await factorization({ memory: BUDGET, ...runningWith(gang) })
  try {
    await three.digest()
    expect(three.sum.explain()).toContain('processes 3: All of W does not fit into the memory of one process.')
  } finally {
    await three.session.stop()
    await stop()
  }
})

test('one process alone says that it has no memory, and so do those that are left', async () => {
  const one = await factorization({ memory: BUDGET })
  await expect(one.fit(1)).rejects.toThrow(MemoryError)
  await one.session.stop()
  const { gang, stop } = memoryGang(3, [], 1, { budget: BUDGET })
  const three = await factorization({ memory: BUDGET, ...runningWith(gang), ...shortPassesOnWorkers })
  try {
    const losses = await three.fit(2)
    for (const rank of [1, 2]) gang.members.lose(new GangError(`Rank ${rank} was lost.`, 'lost', { rank }))
    for (const attempt of [three.digest, () => three.fit(1)]) {
      const error = (await attempt().catch((caught: unknown) => caught)) as GangError
      expect(error).toBeInstanceOf(GangError)
      expect([error.fault, error.rank]).toEqual(['lost', 2])
      expect(error.message).toMatch(
        /^What rank 2 had of arrays is lost, and cannot be computed again: random\(\[16384, 16\]\) needs 2 MiB more, but of the session's memory of 1\.3 MiB only /,
      )
    }
    expect(losses.length).toBe(2)
  } finally {
    await three.session.stop()
    await stop()
  }
})
