import { expect, test } from 'vitest'
import { denseArray, parseLoop, rangeOver, type TestLoop } from '../../../property-tests/arbitraries/parseBody.ts'
import { accessesOf } from './accesses/accesses.ts'
import { analyzeLoop } from './analyze.ts'
import { conflictsOf } from './dependence/dependence.ts'
import { formText } from './dependence/forms.ts'
import { withFewReaches } from './dependence/knownSteps.ts'
import type { Vector } from './dependence/reach.ts'
import { notParallelError } from './report/requireParallel.ts'
import { chooseSchedule, distinctVectors } from './schedule.ts'

const any = { options: { order: 'any' } } as const
const env = {
  a: denseArray('a', 100),
  b: denseArray('b', 100),
  m: denseArray('m', 100, 100),
  c: denseArray('c', 100, 100, 100),
  x: denseArray('x', 100),
}
const line: TestLoop = { over: rangeOver(100), env }
const plane: TestLoop = { over: rangeOver(100, 100), env }
const space: TestLoop = { over: rangeOver(100, 100, 100), env }

function schedule(source: string, loop: TestLoop): string {
  const { kind, axes, steps } = analyzeLoop(parseLoop(source, loop)).plan.schedule
  return `${kind}${steps === undefined ? '' : ' in steps'} ${axes.join(',')}`
}

const FACTORS = '([u, v], { a, b }) => { const e = a.get(u) * b.get(v); a.set(u, e); b.set(v, e) }'

test.each<[string, string, TestLoop, string]>([
  ['nothing shared', '([i], { a, b }) => { a.set(i, b.get(i + 1)) }', line, 'independent 0'],
  ['a chain, in any order', '([i], { a }) => { a.set(i, a.get(i - 1)) }', { ...line, ...any }, 'serial '],
  ['rows are chains', '([i, j], { m }) => { m.set(i, j, m.get(i, j - 1)) }', plane, '1d 0'],
  ['columns are chains', '([i, j], { m }) => { m.set(i, j, m.get(i - 1, j)) }', plane, '1d 1'],
  ['two factors, any order', FACTORS, { ...plane, ...any }, '2d 0,1'],
  ['two factors, serial order', FACTORS, plane, 'wavefront 0,1'],
  ['a stencil', '([i, j], { m }) => { m.set(i, j, m.get(i - 1, j) + m.get(i, j - 1) + m.get(i - 1, j - 1)) }', plane, 'wavefront 0,1'],
  [
    'a stencil in any order',
    '([i, j], { m }) => { m.set(i, j, m.get(i - 1, j - 1) + m.get(i, j - 1)) }',
    { ...plane, ...any },
    'wavefront 0,1',
  ],
  ['chains along the other diagonal', '([i, j], { m }) => { m.set(i, j, m.get(i - 1, j + 1)) }', plane, '1d 0,1'],
  ['the same in any order', '([i, j], { m }) => { m.set(i, j, m.get(i - 1, j + 1)) }', { ...plane, ...any }, '1d 0,1'],
  ['both diagonals', '([i, j], { m }) => { m.set(i, j, m.get(i - 1, j + 1) + m.get(i - 1, j - 1)) }', plane, 'skewed 0,1'],
  ['one array over time', '([t, i], { a }) => { a.set(i, a.get(i - 1) + a.get(i + 1)) }', plane, 'skewed 0,1'],
  ['an element for each diagonal', '([i, j], { a }) => { if (i + j < 100) a.set(i + j, a.get(i + j) + 1) }', plane, '1d 0,1'],
  ['the same, slanted', '([i, j], { a }) => { if (2 * i + 3 * j < 100) a.set(2 * i + 3 * j, 1) }', plane, '1d 0,1'],
  [
    'in three axes, an element for each plane',
    '([i, j, k], { a }) => { if (i + 2 * j + k < 100) a.set(i + 2 * j + k, 1) }',
    { ...space, over: rangeOver(9, 9, 9) },
    '1d 0,1,2',
  ],
  [
    'neighbours of the row before, by an inner loop',
    '([i, j], { m }) => { let s = 0; for (let k = -2; k < 3; k++) s = s + m.get(i - 1, j + k); m.set(i, j, s) }',
    plane,
    'skewed 0,1',
  ],
  ['steps that go together', '([i, j], { m }) => { for (let k = 1; k < 9; k++) m.set(i, j, m.get(i - k, j + k)) }', plane, '1d 0,1'],
  [
    'steps back that are never longer than those ahead',
    '([i, j], { m }) => { for (let k = 1; k < i; k++) for (let l = 0; l < k; l++) m.set(i, j, m.get(i - k, j + l)) }',
    plane,
    'skewed 0,1',
  ],
  [
    'the same entries that go together in two ways',
    '([i, j], { big }) => { big.set(i < 50 ? i + j : 2 * i + j + 300, 1) }',
    { ...plane, env: { big: denseArray('big', 1_000) } },
    'skewed 0,1',
  ],
  [
    'a quotient beside a test on both axes: j goes back by 1 at most',
    '([i, j], { m }) => { if (j >= i) m.set(Math.ceil(i / 2), Math.trunc(j / 2), 1) }',
    plane,
    'skewed 0,1',
  ],
  [
    'a quotient that ends an inner loop, below the diagonal',
    '([i, j], { a }) => { if (i >= j) for (let k = i - 2; k < Math.floor(j / 2) + 1; k++) a.set(0, 1) }',
    plane,
    'skewed 0,1',
  ],
  [
    'more ways to go than are kept apart',
    `([i, j], { a }) => {
      for (let k = 3; k > j; k--) {
        a.set(0, 0)
        if (k !== i) { a.set(j, a.get(i % 2)); a.set(i % 1, 0) }
      }
    }`,
    plane,
    'skewed 0,1',
  ],
  ['what is surely far makes up for what may be', '([i, j], { m }) => { m.set(i, j, 0); m.set(99, 3 - i, 0) }', plane, 'skewed 0,1'],
  [
    'bits that tell the elements apart',
    '([i, j, l], { a, c }) => { a.set(j, c.get(i, -i, l)); c.add(99, Math.ceil(j / 2), j & 5, 1) }',
    { ...space, over: rangeOver(11, 11, 11) },
    '1d 1',
  ],
  [
    'a test that leaves one index: the other decides',
    `([i, j], { a }) => {
      if (i !== j && Math.ceil(i / 3) < j % 2) for (let k = 1; k > i; k--) a.set(3 * j - i, 0)
    }`,
    { ...plane, over: rangeOver(24, 24) },
    'independent 0',
  ],
  [
    'one colour after another',
    '([c, i, j], { m }) => { if ((i + j) % 2 === c) m.set(i, j, m.get(i - 1, j)) }',
    { ...space, over: rangeOver(2, 100, 100) },
    '1d 2',
  ],
  ['a whole row over time', '([t, i], { m, x }) => { m.set(t, i, m.get(t - 1, x.get(i))) }', plane, 'wavefront in steps 0,1'],
  ['a chain in every row over time', '([t, i], { m, x }) => { m.set(t, i, m.get(t - 1, x.get(i)) + m.get(t, i - 1)) }', plane, 'colored '],
  [
    'whole rows over two axes',
    '([s, t, i], { c, x }) => { c.set(s, t, i, c.get(s, t - 1, x.get(i)) + c.get(s - 1, x.get(t), i)) }',
    space,
    'wavefront in steps 0,1,2',
  ],
  [
    'a chain in every plane over time',
    '([t, i, j], { c, x }) => { c.set(t, i, j, c.get(t - 1, x.get(i), x.get(j)) + c.get(t, i, j - 1)) }',
    space,
    'wavefront in steps 0,1',
  ],
  [
    'one index in order is none',
    '([t, i], { m, x }) => { m.set(t, i, m.get(t - 1, x.get(i)) + m.get(t, i - 1)) }',
    { ...plane, over: rangeOver(1, 100) },
    'serial ',
  ],
  ['in three axes', '([i, j, k], { c }) => { c.set(i, j, k, c.get(i - 1, j + 1, k)) }', { ...space, over: rangeOver(20, 20, 20) }, '1d 2'],
  ['in three larger axes, rows stay whole', '([i, j, k], { c }) => { c.set(i, j, k, c.get(i - 1, j + 1, k)) }', space, '1d 0,1'],
  [
    'many narrow slices of columns, or few of whole rows',
    '([k, i, j], { c }) => { if (i > 0) c.set(k, i, j, c.get(k, i - 1, j) * 0.5 + 1) }',
    { over: rangeOver(8, 200, 2000), env: { c: denseArray('c', 8, 200, 2000) } },
    '1d 0',
  ],
  [
    'three planes apart keep their rows',
    '([k, i, j], { c }) => { c.set(k, i, j, c.get(k, i - 1, j) + c.get(k, i, j - 1)) }',
    { over: rangeOver(3, 1200, 1200), env: { c: denseArray('c', 3, 1200, 1200) } },
    '1d 0',
  ],
  ['unknown subscripts', '([i], { a, x }) => { a.set(x.get(i), 1) }', { ...line, ...any }, 'colored '],
  ['a chain', '([i], { a, x }) => { if (i > 0) a.set(i, a.get(i - 1) + x.get(i)) }', line, 'serial '],
  ['chains apart', '([i], { a }) => { if (i > 3) a.set(i, a.get(i - 4)) }', line, 'colored '],
  ['everybody needs all before', '([i], { a }) => { for (let k = 0; k < i; k++) a.set(i, a.get(k)) }', line, 'serial '],
  ['a subscript that the loop computes', '([i], { a }) => { a.set(a.get(i), 1) }', line, 'serial '],
  [
    'an axis of one index is not cut',
    '([i, j], { m }) => { m.set(i, j, m.get(i, j - 1)) }',
    { ...plane, over: rangeOver(1, 100) },
    'serial ',
  ],
  [
    'a narrow outer axis gives way',
    '([i, j, k], { c }) => { c.set(i, j, k, c.get(i, j, k - 1)) }',
    { ...space, over: rangeOver(2, 100, 100) },
    '1d 1',
  ],
])('%s', (_, source, loop, expected) => {
  expect(schedule(source, loop)).toBe(expected)
})

test('in three axes, a pair of axes that 2d may cut is not one that a wavefront of key order may', () => {
  const vectors = [
    [1, -1, 0],
    [0, 0, 1],
    [0, 1, 0],
  ] as const
  const extents = [9, 9, 9]
  expect(chooseSchedule(vectors, { extents, order: 'serial' }).schedule).toEqual({ kind: 'wavefront', axes: [0, 2] })
  const forms = [
    [1, 0, 0],
    [1, 1, 0],
  ]
  expect(chooseSchedule([...vectors, [1, 0, -1]], { extents, order: 'serial' }).schedule).toEqual({ kind: 'skewed', forms })
  expect(chooseSchedule([...vectors, [1, 0, -1]], { extents, order: 'any' }).schedule).toEqual({ kind: '2d', axes: [1, 2] })
})

test('the schedule does not depend on partitions, and blocks follow from them', () => {
  const options = { order: 'any', partitions: [3, 4] } as const
  const { plan } = analyzeLoop(parseLoop(FACTORS, { ...plane, options }))
  expect(plan.schedule.blocks).toEqual([3, 4])
  expect(analyzeLoop(parseLoop(FACTORS, { ...plane, over: { ...plane.over, kind: 'sparse' }, options })).plan.schedule.blocks).toEqual([])
})

test('a buffer that flushes in the middle of a pass makes the loop serial, with the cure', () => {
  const buffer = { kind: 'buffer', array: 7, dtype: 'f64', rank: 1, shape: [100], label: 'w', maxDelay: 10 } as const
  const analyzed = analyzeLoop(parseLoop('([i], { w }) => { w.add(0, w.get(i)) }', { over: rangeOver(100), env: { w: buffer } }))
  const { plan } = analyzed
  const message = 'w flushes after every 10 iterations of the serial order, so iterations run one by one'
  expect(plan.schedule).toEqual({ kind: 'serial', axes: [], blocks: [], reason: message })
  const cure = 'Leave out maxDelay: the buffer then flushes once, at the end of the pass.'
  expect(plan.rejected).toEqual([{ kind: 'independent', because: [{ code: 'buffer-flushes', message, cure }], edit: cure }])
  expect(notParallelError(analyzed)?.message).toBe(`The loop over range(100) cannot run in parallel.\n  ${message}\n       ${cure}`)
})

test.each<[string, readonly Vector[], readonly number[], string]>([
  [
    'the heat equation',
    [
      [1, -1],
      [1, 0],
      [1, 1],
    ],
    [99, 99],
    't and i + t',
  ],
  [
    'reads two to the right',
    [
      [1, -2],
      [0, 1],
    ],
    [99, 99],
    't and i + 2 t',
  ],
  [
    'steps of two',
    [
      [2, -3],
      [0, 1],
    ],
    [99, 99],
    't and i + 2 t',
  ],
  [
    'Gauss-Seidel over time',
    [
      [0, 0, 1],
      [0, 1, 0],
      ['+', -1, 0],
      ['+', 0, -1],
      ['+', 0, 0],
    ],
    [9, 99, 99],
    'i + t and j + t',
  ],
  ['the other way round', [['+', '-']], [99, 99], 't and -i'],
  [
    'back by any distance, and forward',
    [
      ['+', '*'],
      [0, 1],
    ],
    [99, 99],
    'serial',
  ],
  [
    'only along the last axes',
    [
      [0, 1, -1],
      [0, 1, 1],
      ['+', '*', '*'],
    ],
    [99, 99, 99],
    't in order, i and j + i',
  ],
])('the skew of %s', (_, vectors, extents, expected) => {
  const { schedule } = chooseSchedule(vectors, { extents, order: 'serial' })
  const names = ['t', 'i', 'j']
  const inner = schedule.kind === 'stepped' ? schedule.inner : schedule
  const forms = inner.kind === 'skewed' ? inner.forms.map((form) => formText(form, names)).join(' and ') : inner.kind
  expect(`${schedule.kind === 'stepped' ? 't in order, ' : ''}${forms}`).toBe(expected)
})

test('the plan names the axes that run in order, and what is inside a step', () => {
  const source = '([t, i], { m, x }) => { m.set(t, i, m.get(t - 1, x.get(i))) }'
  const analyzed = analyzeLoop(parseLoop(source, { ...plane, over: rangeOver(50, 6000) }))
  expect(analyzed.schedule).toEqual({ kind: 'stepped', outer: 1, inner: { kind: 'independent' } })
  expect(analyzed.plan.schedule).toEqual({
    kind: 'wavefront',
    axes: [0, 1],
    blocks: [],
    reason: 't runs in order; within one t no two iterations depend on each other',
    steps: { axes: [0], inside: 'independent' },
  })
  expect(analyzed.plan.rejected.map(({ kind }) => kind)).toEqual(['independent', '1d', '2d', 'wavefront', 'skewed'])
  const chain = analyzeLoop(parseLoop('([t, i], { m, x }) => { m.set(t, i, m.get(t - 1, x.get(i)) + m.get(t, i - 1)) }', plane))
  const { kind, inSteps, because } = chain.plan.rejected.at(-1) ?? {}
  expect({ kind, inSteps, vectors: because?.flatMap((reason) => ('vector' in reason ? [reason.vector] : [])) }).toEqual({
    kind: 'wavefront',
    inSteps: true,
    vectors: [[0, 1]],
  })
})

test('a loop is inspected only where no static schedule is legal, or its steps are of a handful of iterations', () => {
  const inspected = (source: string, loop: TestLoop): boolean => {
    const analyzed = analyzeLoop(parseLoop(source, loop))
    expect(analyzed.slice !== undefined).toBe(analyzed.schedule.kind === 'colored')
    return analyzed.slice !== undefined
  }
  expect(inspected('([i, j], { m, x }) => { m.set(i, x.get(j), m.get(i, j) + 1) }', plane)).toBe(false)
  const steps = '([t, i], { m, x }) => { m.set(t, i, m.get(t - 1, x.get(i)) + 1) }'
  expect(inspected(steps, plane)).toBe(false)
  expect(inspected(steps, { ...plane, over: rangeOver(100, 8) })).toBe(false)
  expect(inspected(steps, { ...plane, over: rangeOver(100, 7) })).toBe(true)
})

test('an axis runs in order only if nothing steps back along it', () => {
  const space = { extents: [9, 9, 9], order: 'serial' } as const
  expect(chooseSchedule([['*', 1, 0]], space).schedule).toEqual({ kind: '1d', axis: 2 })
  expect(chooseSchedule([['*', '*', '*']], space).schedule).toEqual({ kind: 'serial' })
  expect(chooseSchedule([[0, '*', '*']], space).schedule).toEqual({ kind: '1d', axis: 0 })
  expect(
    chooseSchedule(
      [
        ['+', '*', '*'],
        [0, '*', '*'],
      ],
      space,
    ).schedule,
  ).toEqual({ kind: 'serial' })
  expect(
    chooseSchedule(
      [
        ['+', '*', '*'],
        [0, '+', '*'],
      ],
      space,
    ).schedule,
  ).toEqual({ kind: 'stepped', outer: 2, inner: { kind: 'independent' } })
})

test('the plan names the skew', () => {
  const { plan } = analyzeLoop(parseLoop('([t, i], { a }) => { a.set(i, a.get(i - 1) + a.get(i + 1)) }', plane))
  expect(plan.schedule).toEqual({
    kind: 'skewed',
    axes: [0, 1],
    blocks: [6, 6],
    reason: 'skewed by i + t, every dependence points forward, or nowhere, along t and i + t',
  })
  expect(plan.rejected.map(({ kind }) => kind)).toEqual(['independent', '1d', '2d', 'wavefront'])
  const diagonal = analyzeLoop(parseLoop('([i, j], { m }) => { m.set(i, j, m.get(i - 1, j + 1)) }', plane))
  expect(diagonal.plan.schedule.reason).toBe('no dependence crosses j + i')
  expect(diagonal.schedule).toEqual({ kind: '1d', form: [1, 1] })
})

test('vectors that are too many to be kept apart still say together how far they go', () => {
  const spec = parseLoop('([i, j], { m }) => { if (j >= i) m.set(Math.ceil(i / 2), Math.trunc(j / 2), 1) }', plane)
  if (spec.body.ir === undefined) throw new Error('The body was refused.')
  const { extents } = spec.over
  const conflicts = conflictsOf(spec, accessesOf(spec, spec.body.ir))
  const together = distinctVectors(withFewReaches(conflicts, extents, 0))
  expect(together.map((vector) => vector.join())).toEqual(['0,1', '1,*'])
  expect(chooseSchedule(together, { extents, order: 'serial' }).schedule.kind).toBe('skewed')
})
