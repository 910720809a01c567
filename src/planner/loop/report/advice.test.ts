import { expect, test } from 'vitest'
import { denseArray, parseLoop, rangeOver, type TestLoop } from '../../../../property-tests/arbitraries/parseBody.ts'
import { analyzeLoop } from '../analyze.ts'
import { notParallelError } from './requireParallel.ts'

const env = { a: denseArray('a', 100), b: denseArray('b', 100), m: denseArray('m', 100, 100), x: denseArray('x', 100) }
const line: TestLoop = { over: rangeOver(100), env }
const plane: TestLoop = { over: rangeOver(100, 100), env }
const any = { options: { order: 'any' } } as const

function edits(source: string, loop: TestLoop): string[] {
  return analyzeLoop(parseLoop(source, loop)).plan.rejected.map(({ kind, edit }) => `${kind}: ${edit ?? 'nothing'}`)
}

const tokens: TestLoop = {
  over: rangeOver(100),
  env: {
    d: denseArray('d', 100),
    w: denseArray('w', 100),
    z: denseArray('z', 100),
    D: denseArray('D', 9, 4),
    W: denseArray('W', 9, 4),
    n: env.a,
  },
}

test.each<[string, string, TestLoop, string[]]>([
  [
    'a sum in one element',
    '([i], { a, x }) => { a.set(0, a.get(0) + x.get(i)) }',
    line,
    [
      'scan: nothing',
      "independent: sum into an accumulator, loss = session.accumulator('sum') and loss.add(…), instead of a.set(0, a.get(0) + x.get(i))",
    ],
  ],
  [
    'sums in many elements',
    '([i], { a, x }) => { a.set(x.get(i), a.get(x.get(i)) - 1) }',
    line,
    ['independent: write a.add(…) instead of a.set(x.get(i), a.get(x.get(i)) - 1)'],
  ],
  [
    'a scatter',
    '([i], { a, x }) => { a.set(x.get(i), i) }',
    line,
    ["independent: promise { assume: { distinct: ['x'] } } if the values of x differ between iterations"],
  ],
  ['reads ahead', '([i], { a }) => { a.set(i, a.get(i + 1)) }', line, ['independent: write to another array than a']],
  [
    'reads back',
    '([i], { a }) => { a.set(i, a.get(i - 1)) }',
    line,
    ['independent: write to another array than a, if reads may see its values from before the loop'],
  ],
  [
    'factors in key order',
    '([u, v], { a, b }) => { const e = a.get(u) * b.get(v); a.set(u, e); b.set(v, e) }',
    plane,
    ['independent: nothing', '1d: nothing', "2d: ask for { order: 'any' }"],
  ],
  ['a chain in one axis', '([i, j], { m }) => { m.set(i, j, m.get(i, j - 1)) }', plane, ['independent: nothing']],
  ['a skewed stencil', '([i, j], { m }) => { m.set(i, j, m.get(i - 1, j + 1)) }', { ...plane, ...any }, ['independent: nothing']],
  [
    'whole rows over time',
    '([t, i], { m, x }) => { m.set(t, i, m.get(t - 1, x.get(i)) + m.get(t, i - 1)) }',
    { ...plane, ...any },
    [
      'independent: write to another array than m, if reads may see its values from before the loop',
      '1d: write to another array than m, if reads may see its values from before the loop',
      '2d: write to another array than m, if reads may see its values from before the loop',
      'wavefront: write to another array than m, if reads may see its values from before the loop',
      'skewed: write to another array than m, if reads may see its values from before the loop',
      'wavefront: write to another array than m, if reads may see its values from before the loop',
    ],
  ],
  ['the last write wins', '([i], { a, x }) => { if (x.get(i) > 0) a.set(0, i) }', line, ['independent: nothing']],
  [
    'sums that are read elsewhere',
    '([i], { a, x }) => { const old = a.get(0); a.set(x.get(i), a.get(x.get(i)) + old) }',
    line,
    ['independent: use a.buffer() in env and add to it, if reads may see the last flush'],
  ],
  [
    'a counter that says where to write',
    '([i], { a, b, x }) => { if (x.get(i) > 0) { b.set(a.get(0), x.get(i)); a.set(0, a.get(0) + 1) } }',
    line,
    ['independent: nothing'],
  ],
  [
    'topics of the words of documents',
    `([t], { d, w, z, D, W, n }) => {
      const k = z.get(t)
      D.set(d.get(t), k, D.get(d.get(t), k) - 1)
      W.set(w.get(t), k, W.get(w.get(t), k) - 1)
      n.set(k, n.get(k) - 1)
      z.set(t, D.get(d.get(t), 0) * W.get(w.get(t), 0) / n.get(0))
    }`,
    tokens,
    [
      "independent: loop over rows.index((r) => [r.d, r.w]) with { order: 'any' }, so that D and W are read at their keys, and use n.buffer() in env and add to it, if reads may see the last flush",
      'colored: Compute what decides it before the loop, into an array that the loop only reads.',
    ],
  ],
  ['a recurrence', '([i], { a, x }) => { a.set(0, a.get(0) * 2 + x.get(i)) }', line, ['scan: nothing', 'independent: nothing']],
])('%s', (_, source, loop, expected) => {
  expect(edits(source, loop)).toEqual(expected)
})

test('the error of a loop that must be parallel names the dependence in the way, not another one', () => {
  const source = '([i, j], { m, x }) => { m.set(i, j, m.get(i, j - 1) + m.get(i - 1, x.get(j))); x.set(j, 0) }'
  const error = notParallelError(analyzeLoop(parseLoop(source, plane)))
  expect(`${error}`).toMatchInlineSnapshot(`
    "LoopError: The loop over range(100, 100) cannot run in parallel.
      m has a flow dependence [0, 1] between
      1:25  m.set(i, j, m.get(i, j - 1) + m.get(i - 1, x.get(j)))
      1:37  m.get(i, j - 1)
      (0, 0) writes m[0, 0] which (0, 1) reads
      1:68  The first run cannot inspect which iterations depend on each other: a subscript of m depends on x.get(j), and the loop changes x.
           Compute what decides it before the loop, into an array that the loop only reads.
    To free it: write to another array than m, if reads may see its values from before the loop."
  `)
  expect(notParallelError(analyzeLoop(parseLoop('([i], { a }) => { a.set(i, 1) }', line)))).toBe(undefined)
})

test("objects and rows in env keep a loop on the caller's thread, with the reason", () => {
  const objects = { ...env.a, dtype: 'object' } as const
  const rows = { ...env.b, dtype: 'row' } as const
  const analyzed = analyzeLoop(parseLoop('([i], { a, b }) => { a.set(i, b.get(i)) }', { over: rangeOver(9), env: { a: objects, b: rows } }))
  expect(analyzed.schedule).toEqual({ kind: 'serial' })
  expect(analyzed.plan.kernel).toMatchInlineSnapshot(`
    {
      "because": [
        {
          "code": "object-array",
          "cure": "Keep numbers in an array with a numeric dtype.",
          "message": "a holds objects, which live on the caller's thread.",
        },
        {
          "code": "row-array",
          "cure": "Put the columns that the body needs into arrays of their own, as b.map((row) => row.column).",
          "message": "b holds rows, which have no place in a numeric array.",
        },
      ],
      "target": "as-is",
    }
  `)
  expect(`${notParallelError(analyzed)}`).toMatchInlineSnapshot(`
    "LoopError: The loop over range(9) cannot run in parallel.
      a holds objects, which live on the caller's thread.
           Keep numbers in an array with a numeric dtype.
      b holds rows, which have no place in a numeric array.
           Put the columns that the body needs into arrays of their own, as b.map((row) => row.column)."
  `)
})
