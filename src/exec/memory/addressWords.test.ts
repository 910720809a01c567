import { expect, test } from 'vitest'
import { addressAt, putAddress } from './addressWords.ts'

test('an address has its lower half first, and comes back, whatever was there before', () => {
  const words = new Int32Array(4)
  for (const address of [0, 64, 2 ** 31, 2 ** 32 - 64, 2 ** 32, 5 * 2 ** 30 + 8, 2 ** 34 - 1, -8, -(2 ** 33) - 16]) {
    words.fill(-1)
    putAddress(words, 1, address)
    expect(addressAt(words, 1)).toBe(address)
    expect(new BigInt64Array(words.slice(1, 3).buffer)[0]).toBe(BigInt(address))
    expect([words[0], words[3]]).toEqual([-1, -1])
  }
})
