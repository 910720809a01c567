/** Arrays that are made with their elements. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CheckpointError, MemoryError, PlanError, Session } from '../index.ts'
import { checkpointInSmallSteps } from './checkpoint.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, memory: '64MB', progress: false })
})
afterAll(async () => await session.stop())

test('a typed array with a shape is a dense array: queries, chains, loops and writes', async () => {
  const matrix = session.fromTypedArray(Float32Array.of(0.5, 1, 1.5, 2, 2.5, 3), [2, 3])
  expect(await matrix.at(1, 0)).toBe(2)
  expect(await matrix.row(0)).toEqual(Float32Array.of(0.5, 1, 1.5))
  expect(await matrix.map((x) => x * 2).sum()).toBe(21)
  const sums = session.zeros([2])
  await session.parallelFor(matrix, { sums }, (x, [i], { sums }) => {
    sums.add(i, x)
    return x + 1
  })
  expect(await sums.collect()).toEqual([3, 7.5])
  expect(await matrix.toTypedArray()).toEqual(Float32Array.of(1.5, 2, 2.5, 3, 3.5, 4))
  expect(await session.fromTypedArray(BigInt64Array.of(-(2n ** 63n), 5n), [2]).collect()).toEqual([-(2n ** 63n), 5n])
  expect(await session.fromTypedArray(new Uint8Array(0), [0, 5]).count()).toBe(0)
  const shared = new Float64Array(new SharedArrayBuffer(32), 8, 2)
  shared.set([4, 5])
  expect(await session.fromTypedArray(shared, [2]).collect()).toEqual([4, 5])
  expect(await session.fromTypedArray(Buffer.from('az'), [2, 1]).collect()).toEqual([97, 122])
})

test('how it looks, and its plan', () => {
  const matrix = session.fromTypedArray(Int32Array.of(1, 2, 3, 4), [2, 2])
  expect(inspect(matrix)).toBe('DistArray: dense array [2, 2] of i32, fromTypedArray\n  1  2\n  3  4')
  expect(matrix.map((x) => x + 1).explain()).toContain('fromTypedArray([2, 2])')
})

test('what was released is gone, since nothing makes it again', async () => {
  const list = session.fromTypedArray(Float64Array.of(1, 2), [2])
  const doubled = list.map((x) => x * 2)
  await list.release()
  const gone = new PlanError(
    'fromTypedArray([2]) was made with its elements and then released, so what it held is gone. Release it after its last use.',
  )
  await expect(list.at(0)).rejects.toThrow(gone)
  await expect(doubled.sum()).rejects.toThrow(gone)
})

test.each<[string, unknown, unknown, string]>([
  [
    'too few',
    Float64Array.of(1),
    [2, 3],
    'fromTypedArray([2, 3]) needs 6 values, the product of its extents, and was given 1. Give another shape, or the values that belong to it.',
  ],
  ['no shape', Float64Array.of(1), undefined, 'The shape of fromTypedArray() is an array; it was given undefined.'],
  ['no axis', Float64Array.of(1), [], 'fromTypedArray([]) needs at least one extent, as in fromTypedArray([10]).'],
  [
    'an extent below 0',
    Float64Array.of(1),
    [-1],
    'The extent of axis 0 of fromTypedArray([-1]) is -1. Extents are integers from 0 to 2147483647.',
  ],
  [
    'a list',
    [1, 2],
    [2],
    'fromTypedArray() takes one of Float64Array, Float32Array, BigInt64Array, Int32Array, Uint32Array, Int16Array, Uint16Array, Int8Array, Uint8Array; it was given an array. Write Float64Array.from(values) for numbers, BigInt64Array.from(values) for bigints.',
  ],
  [
    'unsigned integers of 64 bits',
    BigUint64Array.of(1n),
    [1],
    'fromTypedArray() takes one of Float64Array, Float32Array, BigInt64Array, Int32Array, Uint32Array, Int16Array, Uint16Array, Int8Array, Uint8Array; it was given an instance of BigUint64Array. Where they fit, BigInt64Array.from(values) has the same integers.',
  ],
  [
    'clamped bytes',
    Uint8ClampedArray.of(1),
    [1],
    'fromTypedArray() takes one of Float64Array, Float32Array, BigInt64Array, Int32Array, Uint32Array, Int16Array, Uint16Array, Int8Array, Uint8Array; it was given an instance of Uint8ClampedArray. Uint8Array.from(values) has the same integers.',
  ],
])('refused: %s', (_, values, shape, message) => {
  expect(() => session.fromTypedArray(values as never, shape as never)).toThrow(new PlanError(message))
})

test('more than the memory holds is a MemoryError at the call', () => {
  expect(() => session.fromTypedArray(new Float64Array(16 * 2 ** 20), [16 * 2 ** 20])).toThrow(MemoryError)
})

test('a checkpoint goes on with the same elements, and not with others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'distarray-given-'))
  const checkpoint = join(folder, 'kept')
  const run = async (start: number, passes: number): Promise<readonly number[]> => {
    await using session = await Session.start({ workers: 1, progress: false, checkpoint, ...checkpointInSmallSteps() })
    const x = session.fromTypedArray(Float64Array.of(start, 2), [2])
    const w = session.fromTypedArray(Float64Array.of(0, 1), [2])
    const loop = session.loop(session.range(2), { x, w }, ([i], { x, w }) => w.set(i, w.get(i) * 2 + x.get(i)))
    await loop.run({ passes: 1 })
    await loop.run({ passes })
    return await w.collect()
  }
  try {
    expect(await run(1, 2)).toEqual([7, 22])
    expect(await run(1, 3)).toEqual([15, 46])
    await expect(run(5, 3)).rejects.toThrow(CheckpointError)
    await expect(run(5, 3)).rejects.toThrow('found other values in fromTypedArray([2]) than when it was recorded')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
