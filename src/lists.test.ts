import { afterAll, expect, test } from 'vitest'
import { Session } from './session/session.ts'

const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const failure = async (body: (key: readonly [number], env: { y: { set: (i: number, v: number) => void } }) => void): Promise<string> => {
  const y = session.zeros([4])
  return session.parallelFor(session.range(4), { y }, body).then(String, (error: Error) => error.message)
}

test('functions that never come back, and subscripts behind the last element, are errors of the run', async () => {
  const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))
  expect(await failure(([i], { y }) => y.set(i, gcd(Number.NaN, 3)))).toMatchInlineSnapshot(
    `"The body of the loop over range(4) threw at key [0]: gcd calls itself more than 10,000 deep. Write it as a loop."`,
  )
  const deep = (n: number): number => (n < 0 ? 0 : 1 + deep(n + 1))
  expect(await failure(([i], { y }) => y.set(i, deep(i)))).toMatchInlineSnapshot(
    `"The body of the loop over range(4) threw at key [0]: deep calls itself more than 10,000 deep. Write it as a loop."`,
  )
  const behind = await failure(([i], { y }) => {
    const kept = []
    for (let k = 0; k < 3; k++) if (k < i) kept.push(k)
    y.set(i, kept[2] as number)
  })
  expect(behind).toMatchInlineSnapshot(
    `"The body of the loop over range(4) threw at key [0]: A subscript of kept is not below its length. Ask first, as k < kept.length ? kept[k] : 0."`,
  )
  const first = await failure(([i], { y }) => {
    const kept: number[] = []
    for (let k = 0; k < 3; k++) if (k < i) kept.push(k)
    const sum = kept.reduce((a, b) => a + b)
    y.set(i, sum)
  })
  expect(first).toMatchInlineSnapshot(`"The body of the loop over range(4) threw at key [0]: Reduce of empty array with no initial value"`)
})

test('recursion goes as deep as JavaScript has room for', async () => {
  const y = session.zeros([4])
  const sum = (n: number): number => (n === 0 ? 0 : n + sum(n - 1))
  const loop = session.loop(session.range(4), { y }, ([i], { y }) => y.set(i, sum(i * 2_000)))
  expect(loop.plan.kernel?.target).toBe('wasm')
  await loop.run()
  expect(await y.collect()).toEqual([0, 2_001_000, 8_002_000, 18_003_000])
})

test('a function that calls itself in a loop is no loop, and gives what it gives as JavaScript', async () => {
  const y = session.zeros([6], { dtype: 'i32' })
  const loop = session.loop(session.range(6), { y }, ([i], { y }) => {
    const all = (1 << (i + 1)) - 1
    const queens = (columns: number, left: number, right: number): number => {
      if (columns === all) return 1
      let count = 0
      for (let free = all & ~(columns | left | right); free !== 0; free &= free - 1) {
        const one = free & -free
        count += queens(columns | one, (left | one) << 1, (right | one) >> 1)
      }
      return count
    }
    y.set(i, queens(0, 0, 0))
  })
  expect(loop.explain()).toContain('kernel as-is: queens calls itself.')
  await loop.run()
  expect(Array.from((await y.toTypedArray()) as Int32Array)).toEqual([1, 0, 0, 2, 10, 4])
})

test('an array of arrays has rows of its own; of one that was there all rows would be the same, and the body runs as it stands', async () => {
  const y = session.zeros([3])
  const own = session.loop(session.range(3), { y }, ([i], { y }) => {
    const m = Array.from({ length: 2 }, (_, r) => new Float64Array(2).fill(r))
    ;(m[0] as Float64Array)[1] = 5 + i
    y.set(i, (m[0] as Float64Array)[1]! + 10 * m[1]![1]!)
  })
  await own.run()
  expect(own.plan.kernel?.target).toBe('wasm-simd')
  expect(await y.collect()).toEqual([15, 16, 17])
  const shared = session.loop(session.range(3), { y }, ([i], { y }) => {
    const row = new Float64Array(2)
    const m = Array.from({ length: 2 }, () => row)
    ;(m[0] as Float64Array)[1] = 5 + i
    y.set(i, m[1]![1]!)
  })
  await shared.run()
  expect(shared.plan.kernel?.target).toBe('as-is')
  expect(await y.collect()).toEqual([5, 6, 7])
})
