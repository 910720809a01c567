import { afterAll, beforeAll, expect, test } from 'vitest'
import { Session } from '../../../index.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false })
})
afterAll(() => session.stop())

type Numbers = { set(i: number, value: number): void }
type Body = (key: readonly [number], env: { readonly out: Numbers }) => void

/** What the body sets `out` to, and the text of its kernel. */
async function ran(body: Body): Promise<{ readonly out: readonly number[]; readonly kernel: string }> {
  const out = session.zeros([4])
  const loop = session.loop(session.range(4), { out }, body as never)
  await loop.run()
  const [, kernel = ''] = loop.explain({ kernel: true }).split('WebAssembly\n')
  return { out: [...(await out.toTypedArray())].map(Number), kernel }
}

test('a counter that nothing bounds is an integer, and its subscripts are not asked again', async () => {
  const { out, kernel } = await ran(([i], { out }) => {
    const cols = new Int32Array(6)
    let row = 0
    let found = 0
    cols[0] = -1
    while (row >= 0) {
      cols[row] = (cols[row] as number) + 1
      if ((cols[row] as number) >= 6) {
        row--
        continue
      }
      let ok = true
      for (let k = 0; k < row; k++) {
        const [a, b] = [cols[k] as number, cols[row] as number]
        if (a === b || Math.abs(a - b) === row - k) ok = false
      }
      if (!ok) continue
      if (row === 5) found++
      else {
        row++
        cols[row] = -1
      }
    }
    out.set(i, found + i)
  })
  expect(out).toEqual([4, 5, 6, 7])
  expect(kernel).not.toContain('trunc_sat')
  expect(kernel).not.toContain('$outside')
})

test('elements of a list that is given whole numbers are integers, and inside where they are subscripts', async () => {
  const { out, kernel } = await ran(([i], { out }) => {
    const parent = Array.from({ length: 12 }, (_, k) => k)
    const find = (of: number): number => {
      let a = of
      while (parent[a] !== a) {
        parent[a] = parent[parent[a] as number] as number
        a = parent[a] as number
      }
      return a
    }
    let parts = 12
    for (let k = 0; k < 12; k++) {
      const a = find((k * 5 + i) % 12)
      const b = find((k * k) % 12)
      if (a === b) continue
      parent[a] = b
      parts--
    }
    out.set(i, parts)
  })
  expect(out).toEqual([4, 2, 2, 2])
  expect(kernel).not.toContain('trunc_sat')
  expect(kernel).not.toContain('$outside')
})

test('a remainder of a product that doubles round is one of integers', async () => {
  const { out, kernel } = await ran(([i], { out }) => {
    let seed = i + 1
    for (let k = 0; k < 9; k++) seed = (seed * 1103515245 + 12345) % 2147483648
    out.set(i, seed)
  })
  const wanted = [1, 2, 3, 4].map((first) => {
    let seed = first
    for (let k = 0; k < 9; k++) seed = (seed * 1103515245 + 12345) % 2147483648
    return seed
  })
  expect(out).toEqual(wanted)
  expect(kernel).toContain('i64.and')
  expect(kernel).not.toContain('(call ')
})

test('what differs from one of two values may be the other', async () => {
  const { out } = await ran(([i], { out }) => {
    let k = 2
    if (i === 3) k = 6
    let e = 4
    if (i % 2 === 0) e = 5
    let seen = 7
    if (2 * k !== e) seen = k > 2 ? 10 : 20
    out.set(i, seen)
  })
  expect(out).toEqual([20, 7, 20, 10])
})
