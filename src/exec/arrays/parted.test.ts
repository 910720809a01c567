import { expect, test } from 'vitest'
import type { DenseStorage } from '../../core/arrays/storage.ts'
import { createArena } from '../memory/sharedArena.ts'
import { type Parts, partedStorage, partsOf } from './parted.ts'

test('while passes reach the piece it stays where it is, whoever asks for a larger one; then its memory is given back', () => {
  const arena = createArena({ budgetBytes: 2 ** 22 })
  const spec = { name: 'x', shape: [1_000, 8], dtype: 'f64', init: { kind: 'random', distribution: 'uniform', scale: 1, seed: 3 } } as const
  const storage: DenseStorage = partedStorage(spec, arena)
  const parts = partsOf(storage) as Parts // partedStorage made it
  parts.hold(0, 10)
  const leaves = [parts.stay(), parts.stay()]
  const { data } = parts.lying
  const before = data.slice()
  parts.hold(0, 20)
  parts.whole()
  const used = arena.usedBytes
  leaves.pop()?.()
  const others = Array.from({ length: 40 }, () => arena.view('u8', arena.allocate(data.byteLength, 'others'), data.byteLength))
  for (const other of others) (other as Uint8Array).fill(7)
  expect(data).toEqual(before)
  expect(storage.data.subarray(0, data.length)).toEqual(before)
  for (const other of others) arena.free(other.byteOffset)
  leaves.pop()?.()
  expect(arena.usedBytes).toBeLessThan(used - 30 * 8 * 8)
})
