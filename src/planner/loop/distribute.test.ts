import { expect, test } from 'vitest'
import { denseArray, parseLoop, rangeOver, type TestLoop } from '../../../property-tests/arbitraries/parseBody.ts'
import { nestedOf } from '../../core/ir/functionIr.ts'
import type { LoopSpec } from '../../core/loop/loopSpec.ts'
import { analyzeLoop } from './analyze.ts'

const n = 100
const line: TestLoop = {
  over: rangeOver(n),
  env: {
    a: denseArray('a', n),
    b: denseArray('b', n),
    c: denseArray('c', n),
    x: denseArray('x', n),
    total: { kind: 'accumulator', combine: 'sum' },
  },
}

/** Each part on a line: its schedule and the source of its statements. */
function partsText(spec: LoopSpec): string {
  const { plan } = analyzeLoop(spec)
  const text = plan.parts?.map(({ schedule, statements }) => `${schedule.kind}: ${statements.map((span) => span.text).join('; ')}`)
  return text?.join('\n') ?? `whole, ${plan.schedule.kind}`
}

const partsOf = (source: string, loop: TestLoop = line) => partsText(parseLoop(source, loop))

test('a recurrence and what it does not need are two loops', () => {
  expect(
    partsOf(`([i], { a, b, x }) => {
      a.set(i, (i > 0 ? a.get(i - 1) : 0) + x.get(i))
      b.set(i, Math.sqrt(x.get(i)))
    }`),
  ).toMatchInlineSnapshot(`
    "serial: a.set(i, (i > 0 ? a.get(i - 1) : 0) + x.get(i))
    independent: b.set(i, Math.sqrt(x.get(i)))"
  `)
})

test('a later statement comes first where an earlier one reads what it is going to write', () => {
  expect(
    partsOf(`([i], { a, b, x }) => {
      a.set(i, (i > 0 ? a.get(i - 1) : 0) + (i > 1 ? b.get(i - 2) : 0))
      b.set(i, x.get(i) * 2)
    }`),
  ).toMatchInlineSnapshot(`
    "independent: b.set(i, x.get(i) * 2)
    serial: a.set(i, (i > 0 ? a.get(i - 1) : 0) + (i > 1 ? b.get(i - 2) : 0))"
  `)
})

test('statements on a cycle stay together', () => {
  expect(
    partsOf(`([i], { a, b }) => {
      a.set(i, i > 0 ? b.get(i - 1) : 0)
      b.set(i, a.get(i) + 1)
    }`),
  ).toBe('whole, serial')
})

test('what is alike goes into one part, unless that would order it', () => {
  expect(
    partsOf(`([i], { a, b, c, x, total }) => {
      b.set(i, x.get(i))
      a.set(i, (i > 0 ? a.get(i - 1) : 0) + b.get(i))
      total.add(x.get(i))
      c.set(i, i > 0 ? b.get(i - 1) : 0)
    }`),
  ).toMatchInlineSnapshot(`
    "independent: b.set(i, x.get(i)); total.add(x.get(i))
    serial: a.set(i, (i > 0 ? a.get(i - 1) : 0) + b.get(i))
    independent: c.set(i, i > 0 ? b.get(i - 1) : 0)"
  `)
})

test('a local of constants is computed by every part that uses it, others bind their statements', () => {
  const body = (from: string) => `([i], { a, b, x }) => {
    const v = ${from}.get(i) * 2
    a.set(i, (i > 0 ? a.get(i - 1) : 0) + v)
    b.set(i, v)
  }`
  expect(partsOf(body('x'))).toMatchInlineSnapshot(`
    "serial: const v = x.get(i) * 2; a.set(i, (i > 0 ? a.get(i - 1) : 0) + v)
    independent: const v = x.get(i) * 2; b.set(i, v)"
  `)
  expect(partsOf(body('a'))).toBe('whole, serial')
})

test('a local that takes a loop is computed once', () => {
  expect(
    partsOf(`([i], { a, b, x }) => {
      let sum = 0
      for (let k = 0; k < i; k++) { sum = sum + x.get(k) }
      a.set(i, (i > 0 ? a.get(i - 1) : 0) + sum)
      b.set(i, sum)
    }`),
  ).toBe('whole, serial')
})

test('all that may fail is one part: what fails first stays first', () => {
  const body = (at: string) => `([i], { a, b, x }) => {
    a.set(i, (i > 0 ? a.get(i - 1) : 0) + x.get(i + 1))
    b.set(i, x.get(${at}))
  }`
  expect(partsOf(body('i + 2'))).toBe('whole, serial')
  expect(partsOf(body('i'))).toMatchInlineSnapshot(`
    "serial: a.set(i, (i > 0 ? a.get(i - 1) : 0) + x.get(i + 1))
    independent: b.set(i, x.get(i))"
  `)
})

test('guards and inner loops prove that accesses lie inside', () => {
  expect(
    partsOf(`([i], { a, b, c, x }) => {
      a.set(i, i > 0 ? a.get(i - 1) + a.get(Math.max(0, i - 2)) : 1)
      if (i > 2 && i < 97) { for (let k = 0; k < 3; k++) { b.set(i, b.get(i) + x.get(i + k)) } }
      c.set(i, x.get(Math.min(i + 1, 99)))
    }`),
  ).toMatchInlineSnapshot(`
    "serial: a.set(i, i > 0 ? a.get(i - 1) + a.get(Math.max(0, i - 2)) : 1)
    independent: if (i > 2 && i < 97) { for (let k = 0; k < 3; k++) { b.set(i, b.get(i) + x.get(i + k)) } }; c.set(i, x.get(Math.min(i + 1, 99)))"
  `)
})

test('additions to one accumulator, or to one array, stay in one part', () => {
  expect(
    partsOf(`([i], { a, b, x, total }) => {
      a.set(i, (i > 0 ? a.get(i - 1) : 0) + x.get(i))
      total.add(a.get(i))
      b.set(i, x.get(i))
      total.add(b.get(i))
    }`),
  ).toMatchInlineSnapshot(`
    "serial: a.set(i, (i > 0 ? a.get(i - 1) : 0) + x.get(i))
    independent: total.add(a.get(i)); b.set(i, x.get(i)); total.add(b.get(i))"
  `)
  expect(
    partsOf(`([i], { a, b, x }) => {
      a.set(i, (i > 0 ? a.get(i - 1) : 0) + b.get(i))
      b.add(i, x.get(i))
    }`),
  ).toBe('whole, serial')
})

test('a body that ends early somewhere inside, or uses a buffer, stays whole', () => {
  expect(
    partsOf(`([i], { a, b, x }) => {
      a.set(i, (i > 0 ? a.get(i - 1) : 0) + x.get(i))
      for (let k = 0; k < 3; k++) if (i + k === 4) return
      b.set(i, x.get(i))
    }`),
  ).toBe('whole, serial')
  const env: TestLoop['env'] = { ...line.env, u: { kind: 'buffer', array: 90, dtype: 'f64', rank: 1, shape: [n], label: 'u' } }
  expect(
    partsOf(
      `([i], { a, b, x, u }) => {
        a.set(i, (i > 0 ? a.get(i - 1) : 0) + u.get(i))
        b.set(i, x.get(i))
      }`,
      { ...line, env },
    ),
  ).toBe('whole, serial')
})

test('a loop that is parallel as a whole stays whole', () => {
  expect(partsOf('([i], { a, b, x }) => { a.set(i, x.get(i))\n b.set(i, a.get(i)) }')).toBe('whole, independent')
})

test('the parts of a loop in any order have key order', () => {
  const loop = analyzeLoop(
    parseLoop(
      `([i], { a, b, x }) => {
        a.set(i, (i > 0 ? a.get(i - 1) : 0) + x.get(i))
        b.set(i, x.get(i))
      }`,
      { ...line, options: { order: 'any' } },
    ),
  )
  expect(loop.plan.parts?.map(({ schedule }) => schedule.kind)).toEqual(['serial', 'independent'])
  expect(loop.parts?.loops.map(({ plan }) => plan.order)).toEqual(['serial', 'serial'])
  expect(loop.schedule.kind).toBe('serial')
})

test('the statements under a test have a test each', () => {
  expect(
    partsOf(`([i], { a, b, x }) => {
      if (i > 0) {
        a.set(i, a.get(i - 1) + x.get(i))
        b.set(i, Math.sqrt(x.get(i)))
      } else b.set(i, a.get(i))
    }`),
  ).toMatchInlineSnapshot(`
    "serial: a.set(i, a.get(i - 1) + x.get(i)); b.set(i, a.get(i))
    independent: b.set(i, Math.sqrt(x.get(i)))"
  `)
})

test('what happens at a border only is no reason for a loop of its own', () => {
  const body = (more: string) =>
    `([i], { a, b, x }) => { if (i === 0) a.set(0, x.get(0)); else { a.set(i, a.get(i - 1) + x.get(i));${more} } }`
  expect(partsOf(body(''))).toBe('whole, serial')
  expect(partsOf(body('b.set(i, a.get(i))'))).toMatchInlineSnapshot(`
    "serial: a.set(0, x.get(0)); a.set(i, a.get(i - 1) + x.get(i))
    independent: b.set(i, a.get(i))"
  `)
})

test('what comes after an early return is under a test, and computes its own locals', () => {
  expect(
    partsOf(`([i], { a, b, x }) => {
      if (i === 0) return
      const before = x.get(i - 1)
      const step = x.get(i) - before
      a.set(i, a.get(i - 1) + step)
      b.set(i, Math.abs(step))
    }`),
  ).toMatchInlineSnapshot(`
    "serial: a.set(i, a.get(i - 1) + step)
    independent: b.set(i, Math.abs(step))"
  `)
})

test('a test is not repeated where it would not say the same again, nor a local computed again', () => {
  const under = (test: string, first = 'b.set(i, 1)') =>
    partsOf(`([i], { a, b, c, x }) => { if (${test}) { ${first}; a.set(i, a.get(i - 1) + c.get(i)); b.set(i, x.get(i)) } }`)
  expect(under('i > 0')).toMatchInlineSnapshot(`
    "independent: b.set(i, 1); b.set(i, x.get(i))
    serial: a.set(i, a.get(i - 1) + c.get(i))"
  `)
  expect(under('i > c.get(0)', 'c.set(0, 1)')).toBe('whole, serial')
  const local = (value: string) =>
    partsOf(`([i], { a, b, x }) => { if (i > 0) { const v = ${value}; a.set(i, a.get(i - 1) + v); b.set(i, v) } }`)
  expect(local('x.get(i) * 2')).toMatchInlineSnapshot(`
    "serial: a.set(i, a.get(i - 1) + v)
    independent: b.set(i, v)"
  `)
  expect(local('a.get(i) * 2')).toBe('whole, serial')
  expect(partsOf('([i], { a, b, x }) => { if (i > 0) { let v = x.get(i); a.set(i, a.get(i - 1) + v); v = v + 1; b.set(i, v) } }')).toBe(
    'whole, serial',
  )
  // may fail, and then before anything is written
  expect(local('x.get(i + 1) * 2')).toBe('whole, serial')
  expect(partsOf('([i], { a, b, x }) => { let v = i; if (v > 0) { a.set(i, a.get(i - 1) * 2); v = x.get(i); b.set(i, v) } }')).toBe(
    'whole, serial',
  )
})

test('what fails is not left out because nobody needs it', () => {
  const source = '([i], { a, b, x }) => { if (i > 0) { const v = x.get(i + 1); a.set(i, a.get(i - 1) + 1); b.set(i, 1) } }'
  const { parts } = analyzeLoop(parseLoop(source, line))
  const texts = parts?.loops.map(({ ir }) => ir?.body.flatMap(nestedOf).map(({ span }) => span.text))
  expect(texts).toEqual([['const v = x.get(i + 1);', 'a.set(i, a.get(i - 1) + 1)'], ['b.set(i, 1)']])
})
