import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../../../index.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, progress: false })
})
afterAll(() => session.stop())

/** Lines about loops along rows. */
function linesOf(text: string): string[] {
  return [...text.matchAll(/^ *for [\w$]+ at .*?\d+:\d+: (.*)$/gm)].map(([, what = '']) => what)
}

test('a product takes four turns of the loop over k at a time, whether it sets or adds', async () => {
  const n = 23
  const A = session.random([n, n], { seed: 1 })
  const B = session.random([n, n], { seed: 2 })
  const C = session.zeros([n, n])
  const sets = session.loop(session.range(n), { A, B, C }, ([i], { A, B, C }) => {
    for (let k = 0; k < n; k++) {
      const a = A.get(i, k)
      for (let j = 0; j < n; j++) C.set(i, j, C.get(i, j) + a * B.get(k, j))
    }
  })
  const adds = session.loop(session.range(n), { A, B, C }, ([i], { A, B, C }) => {
    for (let k = 0; k < n; k++) for (let j = 0; j < n; j++) C.add(i, j, A.get(i, k) * B.get(k, j))
  })
  for (const loop of [sets, adds]) {
    expect((await loop.verify()).identical).toBe(true)
    expect(linesOf(loop.explain({ kernel: true }))).toEqual(['2 lanes of f64, for 4 iterations of k at a time'])
  }
})

test('turns that write rows of their own, leave each other, or read what the row gets run one after another', async () => {
  const n = 23
  const A = session.random([n, n], { seed: 1 })
  const B = session.random([n, n], { seed: 2 })
  const C = session.zeros([n, n])
  const loops = [
    session.loop(session.range(1), { A, B, C }, (_, { A, B, C }) => {
      for (let k = 0; k < n; k++) for (let j = 0; j < n; j++) C.set(k, j, C.get(k, j) + A.get(0, k) * B.get(k, j))
    }),
    session.loop(session.range(n), { A, B, C }, ([i], { A, B, C }) => {
      for (let k = 0; k < n; k++) {
        const a = A.get(i, k) + C.get(i, k)
        for (let j = 0; j < n; j++) C.set(i, j, C.get(i, j) + a * B.get(k, j))
      }
    }),
    session.loop(session.range(n), { A, B, C }, ([i], { A, B, C }) => {
      for (let k = 0; k < n; k++) for (let j = k; j < n; j++) C.set(i, j, C.get(i, j) + A.get(i, k) * B.get(k, j))
    }),
    session.loop(session.range(n), { A, B, C }, ([i], { A, B, C }) => {
      for (let k = 0; k < n; k++) {
        const a = A.get(i, k)
        if (a > 0.9) continue
        for (let j = 0; j < n; j++) C.set(i, j, C.get(i, j) + a * B.get(k, j))
      }
    }),
  ]
  for (const loop of loops) {
    expect((await loop.verify()).identical).toBe(true)
    expect(linesOf(loop.explain({ kernel: true }))).toEqual(['2 lanes of f64'])
  }
})

test('where a later turn would fail before the loop inside, an earlier one that fails in it comes first', async () => {
  for (const columns of [2, 40]) {
    const A = session.fill([columns], 1.5)
    const C = session.zeros([20])
    const loop = session.loop(session.range(1), { A, C }, (_, { A, C }) => {
      for (let k = 0; k < 9; k++) {
        const a = A.get(k)
        for (let j = 0; j < 30; j++) C.set(j, C.get(j) + a * j)
      }
    })
    await expect(loop.run()).rejects.toThrow('The key [20] is outside C')
  }
})

test('rows that lie outside from some turn on are reached until then', async () => {
  const B = session.random([6, 30], { seed: 3 })
  const C = session.zeros([30])
  const loop = session.loop(session.range(1), { B, C }, (_, { B, C }) => {
    for (let k = 0; k < 9; k++) for (let j = 0; j < 30; j++) C.set(j, C.get(j) + 0.5 * B.get(k, j))
  })
  expect(linesOf(loop.explain({ kernel: true }))).toEqual(['2 lanes of f64, for 4 iterations of k at a time'])
  await expect(loop.run()).rejects.toThrow('The key [6, 0] is outside B')
})
