import { afterAll, expect, test } from 'vitest'
import type { SparseStorage } from '../../core/arrays/storage.ts'
import { Session } from '../../index.ts'
import { differenceOf } from './verify.ts'

const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

function sparse(elements: readonly (readonly [key: number, value: number])[]): SparseStorage {
  return {
    kind: 'sparse',
    shape: [100],
    element: { kind: 'scalar', type: { kind: 'f64' }, nullable: false },
    length: elements.length,
    keys: [Int32Array.from(elements, ([key]) => key)],
    columns: [{ type: { kind: 'f64' }, length: elements.length, values: Float64Array.from(elements, ([, value]) => value) }],
  }
}

test('of two keys that only one side has, the lower one is told, as a number', () => {
  const both = [10, 1] as const
  expect(differenceOf(sparse([[2, 7], both]), sparse([both]))).toEqual({ key: [2], serial: 7, parallel: undefined })
  expect(differenceOf(sparse([both]), sparse([[2, 7], both]))).toEqual({ key: [2], serial: undefined, parallel: 7 })
  expect(differenceOf(sparse([both]), sparse([both, [11, 3]]))).toEqual({ key: [11], serial: undefined, parallel: 3 })
  expect(differenceOf(sparse([both]), sparse([[10, -0]]))).toEqual({ key: [10], serial: 1, parallel: -0 })
  expect(differenceOf(sparse([both]), sparse([both]))).toBeUndefined()
})

test('verify() compares no arrays that a body makes: nobody reads what an iteration has left there', async () => {
  const out = session.zeros([64])
  const loop = session.loop(session.range(64), { out }, ([i], { out }) => {
    const list: number[] = []
    for (let k = 0; k < 300 + (i % 7); k++) list.push((i * 7 + k * 1301) % 977)
    list.sort((a, b) => b - a)
    out.set(i, (list[0] as number) + list.length)
  })
  expect(await loop.verify()).toMatchObject({ identical: true })
})
