import { expect, test } from 'vitest'
import { denseArray, parseLoop, rangeOver, type TestLoop } from '../../../../property-tests/arbitraries/parseBody.ts'
import { analyzeLoop } from '../analyze.ts'

const a = denseArray('a', 100)
const b = denseArray('b', 100)
const m = denseArray('m', 100, 100)
const w = denseArray('w', 100, 8)
const x = denseArray('x', 100)
const env = { a, b, m, w, x }
const line: TestLoop = { over: rangeOver(100), env }
const plane: TestLoop = { over: rangeOver(100, 100), env }

/** The distinct vectors of a body, as text. */
function vectors(source: string, loop: TestLoop): string[] {
  const { dependences } = analyzeLoop(parseLoop(source, loop)).plan
  return [...new Set(dependences.map(({ array, kind, vector }) => `${array} ${kind} [${vector.join(', ')}]`))].sort()
}

test.each<[string, string, TestLoop, string[]]>([
  ['each iteration has its own element', '([i], { a, b }) => { a.set(i, b.get(i)) }', line, []],
  ['a chain', '([i], { a }) => { a.set(i, a.get(i - 1)) }', line, ['a flow [1]']],
  ['an anti dependence', '([i], { a }) => { a.set(i, a.get(i + 2)) }', line, ['a anti [2]']],
  ['two writes are a conflict', '([i], { a }) => { a.set(i, 1); a.set(i + 1, 2) }', line, ['a output [1]']],
  ['everybody writes one element', '([i], { a, b }) => { if (b.get(i) > 0) a.set(3, b.get(i)) }', line, ['a output [+]']],
  ['one writes what all read', '([i], { a, b }) => { b.set(i, a.get(3)); if (i === 3) a.set(3, 1) }', line, ['a anti [+]', 'a flow [+]']],
  ['different constants never meet', '([i], { a, b }) => { a.set(3, a.get(4)) }', line, ['a output [+]']],
  ['c - i is not i + c', '([i], { a }) => { a.set(i, a.get(99 - i)) }', line, ['a anti [+]', 'a flow [+]']],
  ['too far apart', '([i], { a }) => { a.set(i, a.get(i + 50)) }', { over: rangeOver(50), env }, []],
  ['just near enough', '([i], { a }) => { a.set(i, a.get(i + 49)) }', { over: rangeOver(50), env }, ['a anti [49]']],
  ['a constant local leaves no trace', '([i], { a }) => { const j = i - 1; const k = j - 1; a.set(i, a.get(k)) }', line, ['a flow [2]']],
  [
    'an assigned local is unknown',
    '([i], { a, b }) => { let j = i; for (let k = 0; k < 3; k++) { a.set(j, 1); j = j + 1 } }',
    line,
    ['a output [+]'],
  ],
  ['until it is assigned, it is known', '([i], { a }) => { let j = i; a.set(j, 1); j = j + 1; a.set(j, 1) }', line, ['a output [1]']],
  ['captured numbers are constants', '([i], { a }) => { a.set(i, a.get(i - d)) }', { ...line, captured: { d: 3 } }, ['a flow [3]']],
  [
    'a captured fraction is not',
    '([i], { a }) => { a.set(i, a.get(i - d)) }',
    { ...line, captured: { d: 0.5 } },
    ['a anti [+]', 'a flow [+]'],
  ],
  ['a guard rules out', '([i], { a }) => { if (i > 50) a.set(i, a.get(i - 50)) }', { over: rangeOver(80), env }, []],
  ['but not everything', '([i], { a }) => { if (i > 20) a.set(i, a.get(i - 50)) }', { over: rangeOver(80), env }, ['a flow [50]']],
  ['a guard that leaves nothing', '([i], { a }) => { if (i < 50) a.set(i, a.get(i + 50)) }', line, []],
  ['an early return is a guard', '([i], { a }) => { if (i >= 50) return; a.set(i, a.get(i + 50)) }', line, []],
  ['only one iteration', '([i], { a, b }) => { if (i === 0) { a.set(5, b.get(i)) } }', line, []],
  ['a captured flag', '([i], { a }) => { if (flag) a.set(i, a.get(i - 1)) }', { ...line, captured: { flag: false } }, []],
  [
    'a captured flag that is on',
    '([i], { a }) => { if (flag) a.set(i, a.get(i - 1)) }',
    { ...line, captured: { flag: 1 } },
    ['a flow [1]'],
  ],
  ['not the first', '([i], { a, b }) => { if (i !== 0) { a.set(0, 1) } }', { over: rangeOver(2), env }, []],
  ['rows are chains', '([i, j], { m }) => { m.set(i, j, m.get(i, j - 1)) }', plane, ['m flow [0, 1]']],
  ['a stencil', '([i, j], { m }) => { m.set(i, j, m.get(i - 1, j) + m.get(i, j - 1)) }', plane, ['m flow [0, 1]', 'm flow [1, 0]']],
  ['the other diagonal', '([i, j], { m }) => { m.set(i, j, m.get(i - 1, j + 1)) }', plane, ['m flow [1, -1]']],
  ['a transpose', '([i, j], { m }) => { if (i < j) m.set(i, j, m.get(j, i)) }', plane, []],
  ['all j of one i', '([i, j], { a }) => { a.set(i, a.get(i) + 1) }', plane, ['a anti [0, +]', 'a flow [0, +]', 'a output [0, +]']],
  ['a leading * is split', '([i, j], { a }) => { a.set(j, 1) }', plane, ['a output [+, 0]']],
  ['and again', '([i, j], { a, b }) => { if (b.get(i) > 0) a.set(0, 1) }', plane, ['a output [+, *]', 'a output [0, +]']],
  [
    'a whole row',
    '([u, v], { w }) => { for (let k = 0; k < 8; k++) w.set(u, k, w.get(u, k) + 1) }',
    plane,
    ['w anti [0, +]', 'w flow [0, +]', 'w output [0, +]'],
  ],
  [
    'parts of a row that do not meet',
    '([i, j], { w }) => { for (let k = 0; k < 4; k++) w.set(i, k, w.get(i, k + 4)) }',
    plane,
    ['w output [0, +]'],
  ],
  [
    'an inner loop from the index on',
    '([i], { a, b }) => { for (let k = i + 1; k < 100; k++) b.set(i, a.get(k)); a.set(i, 1) }',
    line,
    ['a anti [+]'],
  ],
  ['unknown in its axis only', '([i, j], { m, x }) => { m.set(i, x.get(j), 1) }', plane, ['m output [0, +]']],
  ['the first of two axes alone', '([i, j], { m }) => { m.set(i, 0, 1) }', plane, ['m output [0, +]']],
])('%s', (_, source, loop, expected) => {
  expect(vectors(source, loop)).toEqual(expected)
})

const n = 100
const tens: TestLoop = { over: rangeOver(10, 10), env }

test.each<[string, string, TestLoop, string[]]>([
  [
    'one place alone is left by the tests',
    '([i, j], { a }) => { if (Math.ceil(j / 2) <= j) for (let k = j; k > i; k -= 2) if (Math.trunc(i / 1) < j) a.set(k, 0) }',
    { over: rangeOver(2, 2), env },
    [],
  ],
  ['even and odd', '([i], { a }) => { a.set(2 * i, a.get(2 * i + 1)) }', line, []],
  ['a multiple', '([i], { a }) => { a.set(2 * i, a.get(i)) }', line, ['a flow [+]']],
  ['only so far', '([i], { a }) => { if (i < 50) a.set(i, a.get(i + i + 2)) }', line, ['a anti [+]']],
  ['a reversal', '([i], { a }) => { a.set(i, a.get(n - 1 - i)) }', { ...line, captured: { n } }, ['a anti [+]', 'a flow [+]']],
  ['a reversal of one half', '([i], { a }) => { if (2 * i < n - 1) a.set(i, a.get(n - 1 - i)) }', { ...line, captured: { n } }, []],
  ['the middle meets itself alone', '([i], { a }) => { if (i <= 50) a.set(i, a.get(100 - i)) }', { over: rangeOver(51), env }, []],
  ['an antidiagonal', '([i, j], { a }) => { a.set(i + j, 1) }', tens, ['a output [+, -]']],
  ['of distance one', '([i, j], { a }) => { a.set(i + j, 1) }', { over: rangeOver(2, 10), env }, ['a output [1, -1]']],
  ['interleaved', '([i, j], { a }) => { a.set(10 * j + i, a.get(10 * j + i) + 1) }', tens, []],
  ['flattened too narrowly', '([i, j], { a }) => { a.set(9 * i + j, 1) }', tens, ['a output [1, -9]']],
  ['strided', '([i], { a }) => { for (let k = 0; k < 4; k++) a.set(k * 25 + i, 1) }', { over: rangeOver(25), env }, []],
  ['strided by another loop', '([i], { a }) => { for (let k = i; k < 100; k += 4) a.set(k, 1) }', { over: rangeOver(4), env }, []],
  ['and too close', '([i], { a }) => { for (let k = i; k < 100; k += 4) a.set(k, 1) }', { over: rangeOver(5), env }, ['a output [4]']],
  ['blocks', '([i], { a }) => { for (let k = 0; k < 4; k++) a.set(4 * i + k, 1) }', { over: rangeOver(25), env }, []],
  [
    'overlapping blocks',
    '([i], { a }) => { for (let k = 0; k < 5; k++) a.set(4 * i + k, 1) }',
    { over: rangeOver(24), env },
    ['a output [1]'],
  ],
  [
    'a transpose in place',
    '([i, j], { m }) => { if (j > i) { const t = m.get(i, j); m.set(i, j, m.get(j, i)); m.set(j, i, t) } }',
    plane,
    [],
  ],
  ['a transpose of all', '([i, j], { m }) => { m.set(i, j, m.get(j, i)) }', plane, ['m anti [+, -]', 'm flow [+, -]']],
  ['a clamp below', '([i], { a }) => { a.set(i, a.get(Math.max(0, i - 1))) }', line, ['a flow [1]']],
  ['a clamp above', '([i], { a }) => { a.set(i, a.get(Math.min(i + 1, 99))) }', line, ['a anti [1]']],
  ['a clamp by a condition', '([i], { a }) => { a.set(i, a.get(i > 0 ? i - 1 : 0)) }', line, ['a flow [1]']],
  ['a choice of the data', '([i], { a, b }) => { a.set(i, a.get(b.get(i) > 0 ? i - 1 : i)) }', line, ['a flow [1]']],
  ['one of two guards', '([i], { a }) => { if (i < 10 || i >= 90) a.set(i, a.get(i + 85)) }', line, ['a anti [85]']],
  ['none of two', '([i], { a }) => { if (i < 10 || i >= 90) a.set(i, a.get(i + 50)) }', line, []],
  ['not the pivot', '([i], { a }) => { if (i !== k) a.set(i, a.get(k)) }', { ...line, captured: { k: 7 } }, []],
  [
    'a triangular solve',
    '([i], { x, m, b }) => { let s = b.get(i); for (let k = 0; k < i; k++) s = s - m.get(i, k) * x.get(k); x.set(i, s / m.get(i, i)) }',
    line,
    ['x flow [+]'],
  ],
  [
    'a Gauss step',
    '([i, j], { m }) => { if (i > k && j > k) m.set(i, j, m.get(i, j) - m.get(i, k) * m.get(k, j)) }',
    { ...plane, captured: { k: 3 } },
    [],
  ],
  ['a remainder', '([i, j], { m }) => { m.set(i, j % 4, 1) }', plane, ['m output [0, +]']],
  ['remainders that never meet', '([i], { a }) => { a.set(4 * i, a.get(4 * i + 1 + (i % 3))) }', { over: rangeOver(24), env }, []],
  ['both quotient and remainder', '([i], { m }) => { m.set(Math.floor(i / 10), i % 10, m.get((i - (i % 10)) / 10, i % 10)) }', line, []],
  ['a quotient alone', '([i], { a }) => { a.set(i >> 1, a.get(Math.floor(i / 2))) }', line, ['a anti [1]', 'a flow [1]', 'a output [1]']],
  ['a quotient by what is not known', '([i, j], { m }) => { m.set(i, Math.floor(i / j), 1) }', plane, ['m output [0, +]']],
  ['one colour', '([i, j], { m }) => { if ((i + j) % 2 === c) m.set(i, j, m.get(i - 1, j)) }', { ...plane, captured: { c: 1 } }, []],
  ['the other colour', '([i, j], { m }) => { if (((i + j) & 1) === 0) m.set(i, j, m.get(i + 1, j)) }', plane, []],
  ['odd ones, as a number', '([i], { a }) => { if (i & 1) a.set(i, a.get(i - 1)) }', line, []],
  ['even ones, as no number', '([i], { a }) => { if (!(i % 2)) a.set(i, a.get(i + 1)) }', line, []],
  ['both kinds', '([i], { a }) => { if (i % 2 === 0) a.set(i, 1); else a.set(i, a.get(i - 1)) }', line, ['a flow [1]']],
  [
    'a bitonic step',
    '([i], { a }) => { const k = i ^ 8; if (k > i) { const t = a.get(i); a.set(i, a.get(k)); a.set(k, t) } }',
    { over: rangeOver(64), env },
    [],
  ],
  ['a torus, written as one must with negative numbers', '([i], { a, b }) => { a.set((((i - 1) % 100) + 100) % 100, b.get(i)) }', line, []],
  ['negative remainders count as such', '([i], { a, b }) => { a.set((i - 50) % 50, b.get(i)) }', line, ['a output [50]']],
  ['a distance to the middle', '([i], { a, b }) => { a.set(Math.abs(i - 50), b.get(i)) }', line, ['a output [+]']],
  ['a fraction is not a number of an element', '([i], { a }) => { a.set(i, a.get(i / 2)) }', line, ['a anti [+]', 'a flow [+]']],
  ['a product of indices is unknown in its axis only', '([i, j], { m }) => { m.set(i, i * j, 1) }', plane, ['m output [0, +]']],
  [
    'a shape that is not known',
    '([i], { o }) => { o.set(o.shape[0] - 1 - i, o.get(i)) }',
    { over: rangeOver(9), env: { o: denseArray('o', undefined) } },
    ['o anti [+]', 'o flow [+]'],
  ],
])('%s', (_, source, loop, expected) => {
  expect(vectors(source, loop)).toEqual(expected)
})

test('two names of one array are one array, and so is the array iterated over', () => {
  const loop: TestLoop = { over: rangeOver(100), env: { a, b: a } }
  expect(vectors('([i], { a, b }) => { a.set(i, b.get(i - 1)) }', loop)).toEqual(['a flow [1]'])
  const over = { kind: 'dense', array: a.array, rank: 1, extents: [100], label: 'a' } as const
  expect(vectors('(value, [i], { b }) => b.get(i + 1) + value', { over, env: { b: a } })).toEqual(['b anti [1]'])
  expect(vectors('(value, [i], { b }) => b.get(i) + value', { over, env: { b: a } })).toEqual([])
})

test('unknown extents are the same extent in all iterations', () => {
  const open = denseArray('open', undefined)
  const loop: TestLoop = { over: { kind: 'dense', rank: 1, extents: [undefined], label: 'rows' }, env: { open } }
  expect(vectors('(v, [i], { open }) => { open.set(open.shape[0] - 1, open.get(open.shape[0] - 2)) }', loop)).toEqual(['open output [+]'])
})

test('adds to an array that is only added to are a reduction; otherwise they read and write', () => {
  const only = analyzeLoop(parseLoop('([i], { a, x }) => { a.add(x.get(i), 1); a.add(0, 1) }', line))
  expect(only.plan.dependences).toEqual([])
  expect(only.reducedArrays).toEqual([a.array])
  expect(only.writtenArrays).toEqual([a.array])
  expect(vectors('([i], { a }) => { a.add(0, 1); a.get(1) > 0 }'.replace('a.get(1) > 0', 'a.set(1, a.get(1))'), line)).toEqual([
    'a anti [+]',
    'a flow [+]',
    'a output [+]',
  ])
  expect(vectors('([i], { a }) => { a.add(i, a.get(i + 1)) }', line)).toEqual(['a anti [1]'])
})

test('an update buffer makes no dependence, unless the array behind it is accessed too', () => {
  const buffer = { kind: 'buffer', array: a.array, dtype: 'f64', rank: 1, shape: [100], label: 'a' } as const
  expect(vectors('([i], { u, x }) => { u.add(x.get(i), u.get(i + 1)) }', { over: rangeOver(100), env: { u: buffer, x } })).toEqual([])
  expect(vectors('([i], { u, b, a }) => { u.add(i, a.get(i)) }', { over: rangeOver(100), env: { u: buffer, a } })).toEqual([
    'a anti [+]',
    'u flow [+]',
  ])
})

test('assume.distinct frees subscripts read from an array, unless the loop writes it', () => {
  const options = { assume: { distinct: ['x'] } }
  expect(vectors('([i], { a, x }) => { const j = x.get(i); a.set(j + 1, a.get(j + 1) + 1) }', { ...line, options })).toEqual([])
  expect(vectors('([i], { a, x }) => { a.set(x.get(i), a.get(x.get(i) + 1)) }', { ...line, options })).toEqual(['a anti [+]', 'a flow [+]'])
  expect(vectors('([i], { a, x }) => { a.set(x.get(i), 1); x.set(i, 0) }', { ...line, options })).toEqual(['a output [+]'])
  // One value is read by all j of an i, and by all i.
  expect(vectors('([i, j], { a, x }) => { a.set(x.get(i), 1) }', { ...plane, options })).toEqual(['a output [0, +]'])
  expect(vectors('([i], { a, x }) => { a.set(x.get(3), 1) }', { ...line, options })).toEqual(['a output [+]'])
  expect(vectors('([i], { a, b, x }) => { a.set(x.get(b.get(i)), 1) }', { ...line, options })).toEqual([])
  expect(vectors('([i], { a, x }) => { for (let k = 0; k < 5; k++) a.set(x.get(k), 1) }', { ...line, options })).toEqual(['a output [+]'])
})

test('witnesses are the smallest iterations, and certain where nothing but indices decides', () => {
  const source = '([i, j], { m, a, b }) => { m.set(i, j, m.get(i - 1, j + 1)); if (b.get(i) > 0) a.set(0, 1) }'
  const { plan, notes } = analyzeLoop(parseLoop(source, plane))
  const told = plan.dependences.map(({ array, vector, witness }, i) => [array, vector, witness, notes[i]])
  expect(told).toEqual([
    [
      'm',
      [1, -1],
      [
        [0, 1],
        [1, 0],
      ],
      { sentence: '(0, 1) writes m[0, 1] which (1, 0) reads', certain: true },
    ],
    [
      'a',
      ['+', '*'],
      [
        [0, 0],
        [1, 0],
      ],
      { sentence: '(0, 0) may write a[0] which (1, 0) may write too', certain: false },
    ],
    [
      'a',
      [0, '+'],
      [
        [0, 0],
        [0, 1],
      ],
      { sentence: '(0, 0) may write a[0] which (0, 1) may write too', certain: false },
    ],
  ])
})

test('numbers beyond what a double holds end the exact test, and the dependence is assumed', () => {
  const captured = { p: 2 ** 30 + 3, q: 2 ** 30 + 7, r: 2 ** 30 + 9, s: 2 ** 30 + 1 }
  const source = '([i, j], { m }) => { if (p * i < q * j && r * j < s * i) m.set(0, 0, 1) }'
  const { plan, notes } = analyzeLoop(parseLoop(source, { ...plane, captured }))
  expect(plan.dependences.map(({ vector, witness }) => [vector, witness])).toEqual([
    [['+', '*'], undefined],
    [[0, '+'], undefined],
  ])
  expect(notes[0]).toEqual({
    sentence: 'm[0, 0] can be one element in different iterations: the exact test was given up, so they are taken to meet',
    certain: false,
  })
})

test('a body of many hard subscripts is analysed in bounded work', () => {
  const hard = [2, 3, 5, 7, 11, 13].map(
    (f, k) => `if (${f + 1} * i - ${f} * j < 3 * l + ${k}) a.set(${f} * i + ${f + 2} * j - ${k + 1} * l, 1)`,
  )
  const source = `([i, j, l], { a }) => { ${hard.join('; ')} }`
  const { plan } = analyzeLoop(parseLoop(source, { over: rangeOver(1_000, 1_000, 1_000), env }))
  expect(plan.dependences.every(({ vector }) => vector.length === 3)).toBe(true)
})

test('subscripts as text', () => {
  const texts = (source: string, captured = {}) =>
    analyzeLoop(parseLoop(source, { ...plane, captured })).plan.accesses.map(({ subscripts }) => subscripts.join(', '))
  expect(texts('([i, j], { m }) => { m.set(2 * i - j + 1, n - 1 - i, 1) }', { n: 100 })).toEqual(['2 * i - j + 1, 99 - i'])
  expect(texts('([i, j], { m }) => { m.set(0 - i, 1 * j + 0, 1) }')).toEqual(['-i, j'])
  expect(texts('([i, j], { m }) => { m.set(i + j - 2, 3, 1) }')).toEqual(['i + j - 2, 3'])
  expect(texts('([i, j], { m }) => { for (let k = 0; k < 4; k++) m.set(4 * i + k, k, 1) }')).toEqual(['4 * i:4 * i + 4, 0:4'])
  expect(texts('([i, j], { m }) => { for (let k = j; k < 100; k++) m.set(2 * k, i % 4, 1) }')).toEqual(['2 * k, i % 4'])
  expect(texts('([i, j], { m }) => { m.set(Math.max(0, i - 1) + 1, i > 0 ? j : 0, 1) }')).toEqual([
    'Math.max(0, i - 1) + 1, (i > 0 ? j : 0)',
  ])
})
