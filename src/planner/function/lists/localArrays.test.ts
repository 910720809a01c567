/** Arrays that bodies make, what they go through and what they look up, as IR, or why they are refused: whole texts. */
import { expect, test } from 'vitest'
import { irText } from '../irText.ts'
import type { LowerContext } from '../lower/context.ts'
import { lowerFunction } from '../userFunction.ts'

const RANGE: LowerContext = {
  kind: 'loop',
  isRange: true,
  rank: 1,
  env: { x: { kind: 'array', dtype: 'f64' }, y: { kind: 'array', dtype: 'f64' } },
  localArray: (local) => local,
}

// biome-ignore lint/suspicious/noExplicitAny: the functions here stand for any user's, whose types are gone by now
type Untyped = (...args: any[]) => unknown

function body(f: Untyped): string {
  const { fn } = lowerFunction(f as never, RANGE)
  return fn.ir === undefined ? fn.refusals.map((one) => `${one.message} ${one.cure}`).join('\n') : irText(fn.ir)
}

const size = 2
const grid = [
  [1, 2],
  [3, 4],
]
const ragged = [[1], [2, 3]]
const rates = new Map([
  [3, 0.5],
  [5, 0.25],
])
const names = new Map([['a', 1]])
const stops = new Set([7, 9])
class Scale {
  readonly factor = 2
  of(v: number): number {
    const twice = (w: number): number => w * this.factor
    return twice(v) + this.half(v)
  }
  half(v: number): number {
    return v / this.factor
  }
}
const scale = new Scale()

test('typed arrays, filled arrays and literals with computed subscripts', () => {
  expect(
    body(([i], { y }) => {
      const t = new Float64Array(size)
      ;(t[i % 2] as number) += 1
      y.set(i, (t[0] as number) + t.length)
    }),
  ).toMatchInlineSnapshot(`
    "t[0] = 0
    t[1] = 0
    t[(@0 % 2)] = (t[(@0 % 2)] + 1)
    y[@0] = (t[0] + t.shape[0])"
  `)
  expect(
    body(([i], { x, y }) => {
      const t = new Array(10).fill(x.get(i))
      y.set(i, t[i % 10])
    }),
  ).toMatchInlineSnapshot(`
    "let temp = x[@0]
    for at from 0 to 10 by 1
      t[at] = temp
    y[@0] = t[(@0 % 10)]"
  `)
  expect(
    body(([i], { y }) => {
      const m = [
        [1, i],
        [i, 2],
      ]
      ;(m[i % 2] as number[])[1] = 3
      const row = m[0] as number[]
      row.fill(0)
      y.set(i, (m[1] as number[])[i % 2])
    }),
  ).toMatchInlineSnapshot(`
    "m[0, 0] = 1
    m[0, 1] = @0
    m[1, 0] = @0
    m[1, 1] = 2
    m[(@0 % 2), 1] = 3
    m[0, 0] = 0
    m[0, 1] = 0
    y[@0] = m[1, (@0 % 2)]"
  `)
})

test('of a literal whose subscripts are all written out each element stays a variable', () => {
  expect(
    body(([i], { y }) => {
      const t = [1, i]
      t[0] = 2
      y.set(i, t[0] + t[1])
    }),
  ).toMatchInlineSnapshot(`
    "let t_0 = 1
    let t_1 = @0
    t_0 = 2
    y[@0] = (t_0 + t_1)"
  `)
})

test('what is not known of them is refused', () => {
  expect(
    body(([i], { x }) => {
      const t = new Float64Array(200_000)
      x.set(i, t[i])
    }),
  ).toMatchInlineSnapshot(
    `"The arrays that it makes take more than 1 MiB each or 4 MiB together, which each worker has, new Float64Array(2e5) among them. Put an array in env, and give each iteration a part of it."`,
  )
  expect(
    body(([i], { x }) => {
      const t = [0, 0]
      t[i % 2] = (x.get(i) > 0 ? undefined : 1) as number
    }),
  ).toMatchInlineSnapshot(`"It puts something into t that may not be a number. Convert it first, as Number(x)."`)
  expect(
    body(([i], { x }) => {
      let t: Float64Array | Float32Array = new Float64Array(2)
      t = new Float32Array(2)
      x.set(i, t[0])
    }),
  ).toMatchInlineSnapshot(
    `"It assigns t, which is a view, a function or an object. Use a const for each, or keep objects in a list, and the index of the present one in t."`,
  )
})

test('arrays that variables and places of lists hold one after another are rows of one', () => {
  expect(
    body(([i], { x }) => {
      let [old, next] = [new Float64Array(9), new Float64Array(9)]
      for (let t = 0; t < 4; t++) {
        next[t] = old[t + 1] as number
        ;[old, next] = [next, old]
      }
      x.set(i, old[0])
    }),
  ).toMatchInlineSnapshot(`
    "for at from 0 to 9 by 1
      local_rows[0, at] = 0
    for at$1 from 0 to 9 by 1
      local_rows[1, at$1] = 0
    let old_row = 0
    let next_row = 1
    for t from 0 to 4 by 1
      local_rows[next_row, t] = local_rows[old_row, (t + 1)]
      let kept_row = next_row
      let kept_row$1 = old_row
      old_row = kept_row
      next_row = kept_row$1
    x[@0] = local_rows[old_row, 0]"
  `)
  expect(
    body(([i], { x }) => {
      let old = new Int32Array(9)
      for (let t = 0; t < 4; t++) {
        const next = new Int32Array(9)
        next[t] = old[t + 1] as number
        old = next
      }
      x.set(i, old[0])
    }),
  ).toMatchInlineSnapshot(`
    "let old_row = 0
    let next_row = 0
    for at from 0 to 9 by 1
      old_rows[3, at] = 0
    old_row = 3
    for t from 0 to 4 by 1
      next_row = 0
      if (next_row === old_row)
        next_row = 1
      for at$1 from 0 to 9 by 1
        old_rows[next_row, at$1] = 0
      old_rows[next_row, t] = old_rows[old_row, (t + 1)]
      old_row = next_row
    x[@0] = old_rows[old_row, 0]"
  `)
  expect(
    body(([i], { x, k }) => {
      const M = [
        [1, 2],
        [3, 4],
      ] as number[][]
      ;[M[k], M[1]] = [M[1], M[k]] as [number[], number[]]
      const row = M[k] as number[]
      row[0] = 5
      x.set(i, M[0]?.[i % 2])
    }),
  ).toMatchInlineSnapshot(`"There is no k in env. Add it to env, as { k }."`)
})

test('for … of over rows, lists and captured constants', () => {
  expect(
    body(([i], { x, y }) => {
      for (const v of x.row(i)) y.add(i, v)
    }),
  ).toMatchInlineSnapshot(`
    "for index from 0 to x.shape[1] by 1
      let v = x[@0, index]
      y[@0] += v"
  `)
  expect(
    body(([i], { x, y }) => {
      for (const [a, b] of [
        [0, 1],
        [i, 2],
      ]) {
        if (a === b) continue
        if (a > 5) break
        y.add(i, a * x.get(b))
      }
    }),
  ).toMatchInlineSnapshot(`
    "turns:
      turn:
        y[@0] += (x[1] * 0)
      turn$1:
        if (@0 === 2)
          break turn$1
        if (@0 > 5)
          break turns
        y[@0] += (@0 * x[2])"
  `)
  expect(body(([i], { x, y }) => y.set(i, Math.max(...x.row(i))))).toMatchInlineSnapshot(`
    "let sofar = -Infinity
    for index from 0 to x.shape[1] by 1
      let item = x[@0, index]
      sofar = Math.max(sofar, item)
    let temp = sofar
    y[@0] = temp"
  `)
  expect(
    body(([i], { x, y }) =>
      y.set(
        i,
        x.row(i).reduce((a: number, v: number, k: number) => a + v * k, 0),
      ),
    ),
  ).toMatchInlineSnapshot(`
    "let sofar = 0
    for index from 0 to x.shape[1] by 1
      let item = x[@0, index]
      let temp = sofar
      sofar = (temp + (item * index))
    let temp$1 = sofar
    y[@0] = temp$1"
  `)
  expect(
    body(([i], { y }) => {
      for (const [key, value] of rates) y.add(key, value * i)
    }),
  ).toMatchInlineSnapshot(
    `
    "y[$rates_entries[0][0]] += ($rates_entries[0][1] * @0)
    y[$rates_entries[1][0]] += ($rates_entries[1][1] * @0)"
  `,
  )
})

test('captured lists of lists, Maps and Sets', () => {
  expect(body(([i], { y }) => y.set(i, grid[i % 2]?.[1] ?? 0))).toMatchInlineSnapshot(
    `"y[@0] = (+$grid_values[(((@0 % 2) * 2) + 1)] ?? 0)"`,
  )
  expect(
    body(([i], { y }) => {
      const row = grid[i] as number[]
      for (let k = 0; k < 2; k++) y.add(i, row[k])
    }),
  ).toMatchInlineSnapshot(`
    "for k from 0 to 2 by 1
      if (@0 >= 2)
        throw TypeError("Cannot read properties of undefined")
      y[@0] += +$grid_values[((@0 * 2) + k)]"
  `)
  expect(body(([i], { y }) => y.set(i, ragged[i % 2]?.[0]))).toMatchInlineSnapshot(
    `
    "let starts = +$ragged_starts[(@0 % 2)]
    let lengths = +$ragged_lengths[(@0 % 2)]
    y[@0] = ((0 < lengths) ? +$ragged_values[(starts + 0)] : undefined)"
  `,
  )
  expect(body(([i], { y }) => y.set(i, (rates.get(i) ?? 1) + (stops.has(i + 1) ? 1 : 0)))).toMatchInlineSnapshot(
    `"y[@0] = ((($rates_keys[(@0 - 3)] > 0) ? +$rates_values[(@0 - 3)] : 1) + (($stops_keys[((@0 + 1) - 7)] > 0) ? 1 : 0))"`,
  )
  expect(body(([i], { y }) => y.set(i, names.get(String(i))))).toMatchInlineSnapshot(
    `"It calls the method names.get. Compute it before the call and capture the result, or use index reads and writes, get, set, add, and methods of strings, numbers and dates."`,
  )
})

test('methods of captured objects', () => {
  expect(body(([i], { x, y }) => y.set(i, scale.of(x.get(i))))).toMatchInlineSnapshot(`
    "let temp = x[@0]
    y[@0] = ((temp * $scale.factor) + (temp / $scale.factor))"
  `)
})
