import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DistArray, Session } from '../../../index.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2, progress: false })
})
afterAll(() => session.stop())

interface Big {
  get(i: number): bigint
  set(i: number, value: bigint): void
  add(i: number, value: bigint): void
}

/** Elements of i64 arrays are bigints. */
function bigints(n: number): DistArray<bigint, readonly [number]> {
  return session.zeros([n], { dtype: 'i64' }) as unknown as DistArray<bigint, readonly [number]>
}

test('a hash of 64 bits without a sign is compiled, and does what JavaScript does', async () => {
  const [a, b] = [bigints(100), bigints(100)]
  const seed = 0x9e3779b97f4a7c15n
  const loop = session.loop(session.range(100), { a, b }, ([i], { a, b }) => {
    let z = BigInt.asUintN(64, a.get(i) + seed * BigInt(i))
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n)
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn)
    b.set(i, z ^ (z >> 31n))
    a.add(i, b.get(i) as never)
  })
  expect((await loop.verify()).identical).toBe(true)
  await loop.run()
  expect(loop.plan.kernel).toEqual({ target: 'wasm' })
  expect(loop.explain({ kernel: true })).toContain('iterations: not vectorized, its elements are i64')
  expect(await b.at(1)).toBe(-2152535657050944081n)
})

test('bigints from turn to turn: a sum, whose bounds do not settle, is stored', async () => {
  const [a, b] = [bigints(40), bigints(40)]
  await a.assign(
    [null],
    BigInt64Array.from({ length: 40 }, (_, i) => 2n ** 62n + BigInt(i)),
  )
  const loop = session.loop(session.range(40), { a, b }, ([i], { a, b }) => {
    let sum = 0n
    for (let k = 0; k <= i; k++) sum += a.get(k)
    b.set(i, sum)
  })
  expect((await loop.verify()).identical).toBe(true)
  await loop.run()
  expect(loop.plan.kernel?.target).toBe('wasm')
  expect(await b.at(3)).toBe(6n)
})

const LEAVES =
  'a bigint that may leave 64 bits is compared, divided, shifted to the right or made a number, before BigInt.asIntN(64, …) or BigInt.asUintN(64, …) brings it back'
const REFUSED: readonly (readonly [string, string, (key: readonly [number], env: { readonly a: Big }) => void])[] = [
  [
    'a comparison of what may leave 64 bits',
    LEAVES,
    ([i], { a }) => {
      if (a.get(i) + 1n > 5n) a.set(i, 0n)
    },
  ],
  [
    'squares of squares, which JavaScript cannot hold for long',
    'it multiplies bigints that may grow without end, before BigInt.asIntN(64, …) brings them back',
    ([i], { a }) => {
      let x = a.get(i)
      for (let k = 0; k < 40; k++) x = x * x
      a.set(i, x)
    },
  ],
  [
    'a bigint with a sign beside one without',
    'a bigint that may be negative meets one that may be 2n ** 63n or more',
    ([i], { a }) => {
      if (BigInt.asUintN(64, a.get(i)) > a.get(0)) a.set(i, 0n)
    },
  ],
  ['the quotient of the least i64 and -1n', LEAVES, ([i], { a }) => a.set(i, a.get(i) / -1n > 0n ? 1n : 0n)],
  [
    'a shift that may need any number of bits',
    'it may shift a bigint to the left by more than 128 bits',
    ([i], { a }) => a.set(i, 1n << a.get(i)),
  ],
  [
    'a comparison with a fraction',
    'it compares a bigint with a number that need not be an integer',
    ([i], { a }) => {
      if (a.get(i) > 2.5) a.set(i, 0n)
    },
  ],
]
for (const [name, message, body] of REFUSED) {
  test(`${name} is JavaScript's`, async () => {
    const a = bigints(9)
    const loop = session.loop(session.range(9), { a }, body as never)
    expect(loop.plan.kernel).toMatchObject({ target: 'js', because: [{ message: `Its kernel is JavaScript, because ${message}.` }] })
    if (!name.startsWith('squares')) expect((await loop.verify()).identical).toBe(true)
  })
}

test('what fails in JavaScript fails, with its message, at its key', async () => {
  const a = bigints(9)
  await a.assign([null], BigInt64Array.of(5n, 4n, 3n, 2n, 1n, 0n, 1n, 2n, 3n))
  const divided = session.loop(session.range(9), { a }, ([i], { a }) => {
    for (let k = 0; k < 3; k++) a.set(i, 100n / a.get(i))
  })
  await expect(divided.run()).rejects.toThrow('key [5]: Division by zero')
  expect(divided.plan.kernel?.target).toBe('wasm')
  const b = bigints(9)
  const made = session.loop(session.range(9), { b }, ([i], { b }) => b.set(i, BigInt(i / 4)))
  await expect(made.run()).rejects.toThrow('key [1]: The number 0.25 cannot be converted to a BigInt because it is not an integer')
  expect(made.plan.kernel?.target).toBe('wasm')
})

test('a quotient in a loop of no turns does not fail', async () => {
  const [x, turns] = [session.zeros([4, 3]), session.zeros([2], { dtype: 'i32' })]
  const zero = bigints(1)
  const loop = session.loop(session.range(2), { x, turns, zero }, ([i], { x, turns, zero }) => {
    const divisor = zero.get(0)
    for (let k = 0; k < turns.get(i); k++) x.set(Number((5n / divisor) & 3n), 1, k)
  })
  await loop.run()
  expect(loop.plan.kernel?.target).toBe('wasm')
  await turns.set([0], 1)
  await expect(loop.run()).rejects.toThrow('key [0]: Division by zero')
})
