import { expect, test } from 'vitest'
import { xxHash64 } from './xxHash64.ts'

test('hashes are those that XXH64 is known to give', () => {
  const hashOf = (text: string): string => xxHash64(new TextEncoder().encode(text)).toString(16)
  expect(hashOf('')).toBe('ef46db3751d8e999')
  expect(hashOf('a')).toBe('d24ec4f1a98c6e5b')
  expect(hashOf('abc')).toBe('44bc2cf5ad770999')
  expect(hashOf('Nobody inspects the spammish repetition')).toBe('fbcea83c8a378bf1')
})
