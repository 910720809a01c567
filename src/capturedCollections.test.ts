import { afterAll, expect, test } from 'vitest'
import { Session } from './session/session.ts'

const session = await Session.start({ workers: 1, progress: false })
afterAll(async () => await session.stop())

test('collections that are too long to be compared are read anew by each action', async () => {
  const ids = new Set(Array.from({ length: 25_000 }, (_, i) => i))
  const rates = new Map(Array.from({ length: 25_000 }, (_, i) => [i, 1]))
  const table = session.fromColumns({ x: [1, 2] })
  const sums = table.map((r) => {
    let sum = r.x
    for (const id of ids) sum += id
    return sum
  })
  const looked = table.map((r) => (rates.get(r.x) ?? 0) + 0.5)
  expect([await sums.collect(), await looked.collect()]).toEqual([
    [312_487_501, 312_487_502],
    [1.5, 1.5],
  ])
  ids.delete(0)
  ids.delete(24_999)
  rates.set(1, 7)
  expect([await sums.collect(), await looked.collect()]).toEqual([
    [312_462_502, 312_462_503],
    [7.5, 1.5],
  ])
})

test('an inherited property is no element of a column', async () => {
  const codes: Record<string, number> = { a: 1 }
  const table = session.fromRows([{ s: 'a' }, { s: 'toString' }])
  expect(await table.map((r) => (codes[r.s] ?? 0) * 2).collect()).toEqual([2, Number.NaN])
  await expect(table.map((r) => codes[r.s]).collect()).rejects.toThrow()
  expect(await table.filter((r) => r.s in codes).count()).toBe(2)
  expect(await table.filter((r) => Object.hasOwn(codes, r.s)).count()).toBe(1)
})
