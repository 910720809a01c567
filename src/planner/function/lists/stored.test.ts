import { expect, test } from 'vitest'
import { irListing } from '../irText.ts'
import type { LowerContext } from '../lower/context.ts'
import { lowerFunction } from '../userFunction.ts'

type Cells = { get(i: number): number; set(i: number, value: number): void }
const CONTEXT: LowerContext = {
  kind: 'loop',
  isRange: true,
  rank: 1,
  env: { x: { kind: 'array', dtype: 'f64' } },
  localArray: (local) => local,
}

function lowered(body: (key: readonly [number], env: { x: Cells }) => void): string {
  const { fn } = lowerFunction(body as never, CONTEXT)
  return fn.ir === undefined ? fn.refusals.map(({ code, message }) => `${code}: ${message}`).join('\n') : irListing(fn.ir)
}

test('a variable that is given one object after another is a local for each field', () => {
  expect(
    lowered(([i], { x }) => {
      let best = { distance: Number.POSITIVE_INFINITY, at: -1 }
      for (let k = 0; k < 3; k++) if (x.get(k) < best.distance) best = { distance: x.get(k), at: k }
      x.set(i, best.at)
    }),
  ).toMatchInlineSnapshot(`
    "let best_distance = Infinity
    let best_at = -1
    for k from 0 to 3 by 1
      if (x[k] < best_distance)
        let temp = x[k]
        best_distance = temp
        best_at = k
    x[@0] = best_at"
  `)
})

test('what is changed of an object is changed under every name', () => {
  expect(
    lowered(([i], { x }) => {
      const moved = (p: { at: { v: number } }): void => {
        p.at.v += 1
      }
      const point = { at: { v: x.get(i) } }
      const same = point
      moved(same)
      x.set(i, point.at.v)
    }),
  ).toMatchInlineSnapshot(`
    "let object_v = x[@0]
    object_v = (object_v + 1)
    x[@0] = object_v"
  `)
})

test('objects that several returns give are one variable', () => {
  expect(
    lowered(([i], { x }) => {
      const split = (v: number): { sign: number; size: number } => {
        if (v < 0) {
          const size = -v
          return { sign: -1, size }
        }
        return { sign: 1, size: v }
      }
      const { sign, size } = split(x.get(i))
      x.set(i, sign * size)
    }),
  ).toMatchInlineSnapshot(`
    "let temp = x[@0]
    let result_sign
    let result_size
    if (temp < 0)
      result_sign = -1
      result_size = -temp
    else
      result_sign = 1
      result_size = temp
    let sign = result_sign
    let size = result_size
    x[@0] = (sign * size)"
  `)
})

test('an object that could be told from a copy lies in memory, and whoever has it has its place', () => {
  expect(
    lowered(([i], { x }) => {
      const p = { v: 1 }
      let q = p
      p.v = 2
      x.set(i, q.v)
      q = { v: 3 }
      x.set(i, q.v)
    }),
  ).toMatchInlineSnapshot(`
    "let p_used = 0
    if (p_used >= 32768)
      throw RangeError("There are more than 32,768 objects like p. Give each its number, and keep the fields in arrays, as new Float64Array(n).")
    let p = p_used
    p_used = (p_used + 1)
    p_v[p] = 1
    let q = p
    p_v[p] = 2
    let list = q
    if (list < 0)
      if (list === -2)
        throw TypeError("Cannot read properties of null (reading 'v')")
      else
        throw TypeError("Cannot read properties of undefined (reading 'v')")
    x[@0] = p_v[list]
    if (p_used >= 32768)
      throw RangeError("There are more than 32,768 objects like p. Give each its number, and keep the fields in arrays, as new Float64Array(n).")
    let object = p_used
    p_used = (p_used + 1)
    p_v[object] = 3
    q = object
    let list$1 = q
    if (list$1 < 0)
      if (list$1 === -2)
        throw TypeError("Cannot read properties of null (reading 'v')")
      else
        throw TypeError("Cannot read properties of undefined (reading 'v')")
    x[@0] = p_v[list$1]"
  `)
  expect(
    lowered(([i], { x }) => {
      const p: { v: number; w?: number } = { v: 1 }
      p.w = 2
      x.set(i, p.v)
    }),
  ).toMatchInlineSnapshot(`"adds-part: It assigns p.w, which the object or array did not have when it was made."`)
})

test('one object under two names is told by the next turn, by a list and by a part', () => {
  expect(
    lowered(([i], { x }) => {
      const p = { v: 1 }
      let q = { v: 0 }
      for (let k = 0; k < 2; k++) {
        x.set(i, q.v)
        p.v += 1
        q = p
      }
    }),
  ).toContain('p_v[p] = (p_v[p] + 1)')
  expect(
    lowered(([i], { x }) => {
      const list = [1, 2]
      const o = { list, n: 0 }
      o.n = 1
      x.set(i, (list[0] ?? 0) + o.n)
    }),
  ).toMatchInlineSnapshot(`
    "let o_n = 0
    o_n = 1
    x[@0] = (1 + o_n)"
  `)
  expect(
    lowered(([i], { x }) => {
      const p = { at: { v: 1 } }
      const q = p.at
      p.at = { v: 2 }
      x.set(i, q.v)
    }),
  ).toMatch(/^reassigns-value: It assigns p\.at, /)
})
