import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../../../index.ts'

let session: Session
beforeAll(async () => {
  // a check of races would run the body as plain JavaScript first
  session = await Session.start({ workers: 1, progress: false, checkRaces: false })
})
afterAll(() => session.stop())

const K = 20

/** What `explain` says of a loop that moves the rows that `u` names of an array of so many rows. */
async function explained(count: number, u: readonly number[]): Promise<{ readonly text: string; readonly lines: readonly string[] }> {
  const rows = session.fromColumns({ u: Int32Array.from(u) })
  const W = session.fill([count, K], 0.5, { dtype: 'f32' })
  const loop = session.loop(rows, { W }, ({ u }, _, { W }) => {
    for (let k = 0; k < K; k++) W.set(u, k, 2 * W.get(u, k))
  })
  await loop.run()
  const text = loop.explain({ kernel: true })
  return { text, lines: text.split('\n').filter((line) => line.includes('software prefetch')) }
}

test('rows of a large array are touched ahead, all of their lines', async () => {
  const { text, lines } = await explained(10_000, [1, 9_999, 0])
  expect(lines).toEqual(['  iterations: software prefetch of rows of W, 32 iterations at a time'])
  // 80 bytes a row: it need not begin where a line does
  const touches = text.split('\n').filter((line) => line.includes('i32.load8_u'))
  expect(touches.map((line) => /offset=(\d+)/.exec(line)?.[1] ?? '0')).toEqual(['0', '64', '76'])
})

test('rows of an array that a cache holds are not', async () => {
  expect((await explained(1_000, [1, 999, 0])).lines).toEqual([])
})

/** The lines of a loop over sparse keys that reads a row at each of both. */
async function ofKeys(shape: readonly [number, number], keys: readonly (readonly [number, number])[]): Promise<readonly string[]> {
  const over = session.fromRows(keys.map(([u, m]) => ({ u, m, x: 1 }))).index(({ u, m }) => [u, m] as const, { shape, storage: 'sparse' })
  const W = session.fill([shape[0], 16], 0.5)
  const H = session.fill([shape[1], 16], 0.5)
  const loop = session.loop(over, { W, H }, ({ x }, [u, m], { W, H }) => {
    for (let k = 0; k < 16; k++) W.set(u, k, x * H.get(m, k))
  })
  await loop.run()
  const text = loop.explain({ kernel: true })
  return text.split('\n').filter((line) => line.includes('software prefetch'))
}

test('rows that follow one another are left to the processor', async () => {
  const [rows, columns] = [20_000, 30_000]
  const few = Array.from({ length: 1000 }, (_, i) => [i * 19, (i * 7919) % columns] as const)
  expect(await ofKeys([rows, columns], few)).toEqual(['  iterations: software prefetch of rows of H and W, 32 iterations at a time'])
  const many = Array.from({ length: rows }, (_, i) => [i, (i * 7919) % columns] as const)
  expect(await ofKeys([rows, columns], many)).toEqual(['  iterations: software prefetch of rows of H, 32 iterations at a time'])
})
