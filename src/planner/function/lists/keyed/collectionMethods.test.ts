import { expect, test } from 'vitest'
import { hash } from './collectionMethods.ts'

const COUNT = 1000

/** How many of the slots that a table of these keys has are the first ones that a search looks at. */
function slots(key: (i: number) => number): number {
  return new Set(Array.from({ length: COUNT }, (_, i) => hash(key(i)) & 4095)).size
}

test('keys of any size and fineness are spread, so that searches are short', () => {
  const keys: Readonly<Record<string, (i: number) => number>> = {
    'whole numbers': (i) => i,
    'negative ones': (i) => -i,
    'multiples of 65536': (i) => i * 65536,
    'multiples of 2 ** 32': (i) => i * 2 ** 32,
    'instants in milliseconds': (i) => 1.7e12 + i * 1000,
    fractions: (i) => i / 7,
    'fine fractions': (i) => i * 1e-9,
    'random numbers': (i) => Math.abs(Math.sin(i * 12.9898) * 43758.5453) % 1,
  }
  for (const [name, key] of Object.entries(keys)) expect([name, slots(key) > COUNT / 4]).toEqual([name, true])
})

test('keys that are equal have one hash', () => {
  expect(Object.is(hash(-0), hash(0))).toBe(true)
  expect(hash(Number.NaN)).toBe(hash(0 / 0))
  expect(Number.isInteger(hash(Number.POSITIVE_INFINITY))).toBe(true)
})
