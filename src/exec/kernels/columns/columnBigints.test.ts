import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../../../index.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, progress: false })
})
afterAll(() => session.stop())

test('bits, remainders and quotients of bigints are part of a compiled chain', async () => {
  const rows = session.fromRows(Array.from({ length: 20_000 }, (_, i) => ({ id: BigInt(i) * 2n ** 38n - 7n, x: i })))
  const chain = rows.filter((r) => (r.id & 3n) === 1n && r.id >> 50n < 3n).map((r) => Number(r.id % 1000n) + r.x)
  const expected = Array.from({ length: 20_000 }, (_, i) => ({ id: BigInt(i) * 2n ** 38n - 7n, x: i }))
    .filter((r) => (r.id & 3n) === 1n && r.id >> 50n < 3n)
    .map((r) => Number(r.id % 1000n) + r.x)
  expect(await chain.collect()).toEqual(expected)
  expect(chain.explain({ verbose: true })).toContain('(i64.rem_s')
})

test('a comparison of bigints that may leave 64 bits is asked in JavaScript, with what to do', async () => {
  const rows = session.fromRows(Array.from({ length: 20_000 }, (_, i) => ({ id: BigInt(i) })))
  const chain = rows.filter((r) => r.id * 3n > 600n)
  expect(await chain.count()).toBe(19_799)
  expect(chain.explain({ verbose: true })).toContain('before BigInt.asIntN(64, …) or BigInt.asUintN(64, …) brings it back')
})

test('null and a bigint together are an error, as in JavaScript', async () => {
  const rows = session.fromRows(Array.from({ length: 20_000 }, (_, i) => ({ id: i === 7 ? null : BigInt(i) })))
  const chain = rows.filter((r) => ((r.id as bigint) & 1n) === 0n)
  await expect(chain.count()).rejects.toThrow('Cannot mix BigInt and other types')
})
