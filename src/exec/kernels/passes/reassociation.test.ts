import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Precision } from '../../../core/loop/loopSpec.ts'
import { Session } from '../../../session/session.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, progress: false })
})
afterAll(() => session.stop())

interface View {
  get(i: number): number
}
type Value = (x: View, y: View, i: number, a: number, b: number) => number

/** What lanes make of a value of two elements and two numbers, and whether it is nearly what is meant. */
async function ofLanes(text: string, precision: Precision) {
  const [x, y, z] = [1, 2, 3].map((seed) => session.random([64], { dtype: 'f32', seed })) as [Row, Row, Row]
  const [a, b] = [0.3, 0.7]
  const value = new Function('x', 'y', 'i', 'a', 'b', `return ${text}`) as Value
  const body = new Function(`return ([i], { x, y, z, a, b }) => z.set(i, ${text})`)() as never // of the same text
  const loop = session.loop(session.range(64), { x, y, z, a, b }, body, { precision })
  await loop.run()
  const explained = loop.explain({ kernel: true })
  const [first = [], second = [], results = []] = await Promise.all(
    [x, y, z].map(async (array) => Array.from(await array.toTypedArray(), Number)),
  )
  for (const array of [x, y, z]) await array.release()
  const view = (values: readonly number[]): View => ({ get: (i) => values[i] ?? Number.NaN })
  const off = results.map((result, i) => Math.abs(result - value(view(first), view(second), i, a, b)))
  // The first of the vectors that are computed at a time.
  const [, vector = ''] = explained.split('v128.store')
  return {
    line: /iterations: .*/.exec(explained)?.[0],
    operations: (vector.match(/f32x4\.(?:add|sub|mul|neg)/g) ?? []).map((operation) => operation.slice(6)).sort(),
    isNear: Math.max(...off) < 1e-6,
  }
}
type Row = ReturnType<typeof session.random<[number]>>

const REGROUPED = 'iterations: 4 lanes of f32, factors multiplied out'

test.each([
  ['x.get(i) + a * (b * y.get(i) - a * x.get(i))', 'add mul mul'],
  ['x.get(i) + 0.001 * (b * y.get(i) - 0.1 * x.get(i))', 'add mul mul'],
  ['a * (b * x.get(i))', 'mul'],
  ['a * ((x.get(i) - y.get(i)) * b)', 'mul sub'],
  ['a * (b * x.get(i)) + (y.get(i) - x.get(i))', 'add mul sub'],
  ['x.get(i) - -(a * x.get(i))', 'mul'],
  ['(x.get(i) - a * (b * y.get(i))) - y.get(i) * b', 'mul sub'],
])('%s takes %s', async (text, operations) => {
  expect(await ofLanes(text, 'fast')).toEqual({ line: REGROUPED, operations: operations.split(' '), isNear: true })
})

test.each([
  ['a * (x.get(i) - y.get(i))', 'mul sub'],
  ['x.get(i) + a * (y.get(i) - x.get(i))', 'add mul sub'],
  ['a * (b * (x.get(i) - y.get(i)) + y.get(i))', 'add mul mul sub'],
  ['((x.get(i) + y.get(i)) - x.get(i)) - y.get(i)', 'add sub sub'],
  ['a * x.get(i) - (a * x.get(i) - x.get(i))', 'mul mul sub sub'],
  ['(x.get(i) + 1e6) - 1e6', 'add sub'],
  ['4097 * x.get(i) - (4097 * x.get(i) - x.get(i))', 'mul mul sub sub'],
  ['2 * x.get(i) + y.get(i) - x.get(i)', 'add mul sub'],
  ['a * (0.5 * x.get(i) - 0.5 * y.get(i))', 'mul mul mul sub'],
  ['a * (i * b) + x.get(i)', 'add mul mul'],
])('%s is left as it stands', async (text, operations) => {
  const { line, operations: found } = await ofLanes(text, 'fast')
  expect([line, found.join(' ')]).toEqual(['iterations: 4 lanes of f32', operations])
})

test('what a local has read is not read again after it was written', async () => {
  const [x, z] = [session.fill([64], 2, { dtype: 'f32' }), session.zeros([64], { dtype: 'f32' })]
  const loop = session.loop(
    session.range(64),
    { x, z, a: 0.5, b: 4 },
    ([i], { x, z, a, b }) => {
      const part = a * x.get(i)
      const whole = b * part - a * a + a * b - b
      x.set(i, 10)
      z.set(i, a * whole)
    },
    { precision: 'fast' },
  )
  await loop.run()
  expect([await x.at(63), await z.at(63)]).toEqual([10, 0.875])
})

test('steps that locals name are multiplied out as if they stood in one expression', async () => {
  const [w, h] = [1, 2].map((seed) => session.random([2, 64], { dtype: 'f32', seed })) as [Matrix, Matrix]
  const loop = session.loop(
    session.range(2),
    { w, h, penalty: 0.1, rate: 0.01, turns: session.fill([2], 64, { dtype: 'i32' }) },
    ([i], { w, h, penalty, rate, turns }) => {
      // Not a constant: what is computed from it is not inlined when the body is read.
      let error = 0
      error += turns.get(i) / 128
      for (let k = 0; k < turns.get(i); k++) {
        const [wk, hk] = [w.get(i, k), h.get(i, k)]
        const ofW = error * hk - penalty * wk
        const ofH = error * wk - penalty * hk
        w.set(i, k, wk + rate * ofW)
        h.set(i, k, hk + rate * ofH)
      }
    },
    { precision: 'fast' },
  )
  const text = loop.explain({ kernel: true })
  expect(text).toContain('4 lanes of f32, factors multiplied out')
  const [, first = ''] = text.split('f32x4.splat').at(-1)?.split('(loop') ?? []
  const operations = first.slice(0, first.indexOf('i32.const 64')).match(/f32x4\.(?:add|sub|mul)/g) ?? []
  expect(operations.length).toBe(4 * 2 * 3)
})
type Matrix = ReturnType<typeof session.random<[number, number]>>

test('in exact precision nothing is multiplied out', async () => {
  const { line } = await ofLanes('x.get(i) + a * (b * y.get(i) - a * x.get(i))', 'exact')
  expect(line).toBe('iterations: 2 lanes of f64')
})
