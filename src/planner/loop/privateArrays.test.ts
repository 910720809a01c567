import { describe, expect, test } from 'vitest'
import { denseArray, parseLoop, rangeOver, type TestLoop } from '../../../property-tests/arbitraries/parseBody.ts'
import { analyzeLoop } from './analyze.ts'
import { LARGEST_PRIVATE_BYTES } from './privateArrays.ts'
import { explainLoop } from './report/explain.ts'
import { notParallelError } from './report/requireParallel.ts'

const a = denseArray('a', 100, 16)
const b = denseArray('b', 100, 16)
const s = denseArray('s', 16)
const x = denseArray('x', 100)
const line: TestLoop = { over: rangeOver(100), env: { a, b, s, x } }

function analyzed(statements: string, loop: TestLoop = line) {
  return analyzeLoop(parseLoop(`([i], { ${Object.keys(loop.env ?? {}).join(', ')} }) => { ${statements} }`, loop))
}

/** Statements, and whether the kinds of dependences of `s` have a flow among them. */
describe('a read sees what its own iteration wrote', () => {
  const fill = 'for (let k = 0; k < 16; k++) s.set(k, a.get(i, k));'
  test.each<[string, string, boolean]>([
    ['the same element', 'if (x.get(i) > 0) { s.set(3, 1); b.set(i, 0, s.get(3)) }', true],
    ['another element', 'if (x.get(i) > 0) { s.set(3, 1); b.set(i, 0, s.get(4)); s.set(4, 1) }', false],
    ['an element that moves with the index', 's.set(i % 16, 1); b.set(i, 0, s.get(i % 16))', true],
    ['afterwards', 'b.set(i, 0, s.get(i % 16)); s.set(i % 16, 1)', false],
    ['a loop before', `${fill} b.set(i, 0, s.get(x.get(i))); if (x.get(i) > 0) s.set(3, 1)`, true],
    ['all but one', 'for (let k = 1; k < 16; k++) s.set(k, i); b.set(i, 0, s.get(x.get(i)))', false],
    ['all but one, and that one', 's.set(0, 1); for (let k = 1; k < 16; k++) s.set(k, i); b.set(i, 0, s.get(x.get(i)))', true],
    ['the same turn', 'for (let k = 0; k < i % 16; k++) { s.set(k, i); b.set(i, k, s.get(k)) }', true],
    ['the turn before', 's.set(0, 1); for (let k = 1; k < i % 16; k++) s.set(k, s.get(k - 1))', true],
    ['the turn before, without a first one', 'for (let k = 1; k < i % 16; k++) s.set(k, s.get(k - 1))', false],
    ['a turn that comes after', 'for (let k = 0; k < 15; k++) { b.set(i, k, s.get(k)); s.set(k + 1, 1) } s.set(0, 1)', false],
    ['downward', 's.set(15, 1); for (let k = 14; k > i % 15; k--) s.set(k, s.get(k + 1))', true],
    ['upward in place of downward', 's.set(15, 1); for (let k = i % 15; k < 15; k++) s.set(k, s.get(k + 1))', false],
    ['every other', 'for (let k = 0; k < 16; k += 2) s.set(k, i); for (let k = 0; k < 16; k++) b.set(i, k, s.get(k))', false],
    ['even and odd', 'for (let k = 0; k < 8; k++) { s.set(2 * k, i); s.set(2 * k + 1, i) } b.set(i, 0, s.get(x.get(i)))', true],
    ['flat', 'for (let p = 0; p < 4; p++) for (let q = 0; q < 4; q++) s.set(4 * p + q, i); b.set(i, 0, s.get(x.get(i)))', true],
    ['flat with gaps', 'for (let p = 0; p < 4; p++) for (let q = 0; q < 3; q++) s.set(4 * p + q, i); b.set(i, 0, s.get(x.get(i)))', false],
    ['on one path', 'if (x.get(i) > 0) s.set(3, 1); b.set(i, 0, s.get(3))', false],
    ['on both paths', 'if (i > 5) s.set(3, 1); else s.set(3, 2); if (x.get(i) > 0) s.set(4, 0); b.set(i, 0, s.get(3))', true],
    ['where the guard is the same', 'if (i > 5) s.set(3, 1); if (i > 6) b.set(i, 0, s.get(3))', true],
    ['where it is wider', 'if (i > 5) s.set(3, 1); if (i > 4) b.set(i, 0, s.get(3))', false],
    [
      'a loop that leaves some out',
      'for (let k = 0; k < 16; k++) { if (x.get(k) > 3) continue; s.set(k, i) } b.set(i, 0, s.get(3))',
      false,
    ],
    [
      'the same turn of it',
      'for (let k = 0; k < 16; k++) { if (x.get(k) > 3) continue; s.set(i % 16, i); b.set(i, k, s.get(i % 16)) }',
      true,
    ],
    ['another turn of it', 'for (let k = 0; k < 15; k++) { if (x.get(k) > 3) continue; b.set(i, k, s.get(k)); s.set(k + 1, i) }', false],
    ['under one test of the data', 'if (x.get(i) > 0) { s.set(i % 16, 1); b.set(i, 0, s.get(i % 16)) }', true],
    ['under two of them', 'if (x.get(i) > 0) s.set(i % 16, 1); if (x.get(i) > 0) b.set(i, 0, s.get(i % 16))', false],
    ['an add', 's.set(i % 16, 0); s.add(i % 16, 2); b.set(i, 0, s.get(i % 16))', true],
    ['an add alone', 's.add(i % 16, 2); b.set(i, 0, s.get(i % 16))', false],
  ])('%s', (_, statements, own) => {
    const { plan, privateArrays } = analyzed(statements)
    const kinds = plan.dependences.filter(({ array }) => array === 's').map(({ kind }) => kind)
    expect(kinds.includes('flow')).toBe(!own)
    if (!own) expect(privateArrays).toEqual([])
  })
})

describe('a private array', () => {
  const isPrivate = (statements: string, loop?: TestLoop) =>
    analyzed(statements, loop).plan.variables.some((one) => one.private !== undefined)

  test('is filled alike by every iteration', () => {
    expect(isPrivate('s.set(0, x.get(i))')).toBe(true)
    expect(isPrivate('for (let k = 0; k < 16; k++) s.set(k, i); if (x.get(i) > 0) s.set(x.get(i), 1)')).toBe(true)
    expect(isPrivate('for (let k = 0; k < 16; k++) s.set(k, i); s.set(i % 16, 1)')).toBe(true)
    expect(isPrivate('s.set(i % 16, 1); b.set(i, 0, s.get(i % 16))')).toBe(false)
    expect(isPrivate('for (let k = 0; k < i; k++) s.set(k, i)')).toBe(false)
    expect(isPrivate('if (x.get(i) > 0) s.set(0, 1)')).toBe(false)
    expect(isPrivate('if (i > 0) s.set(0, 1)')).toBe(false)
    expect(isPrivate('if (x.get(i) > 0) return; s.set(0, 1)')).toBe(false)
    expect(isPrivate('s.set(0, 1); if (x.get(i) > 0) s.set(1, 1)')).toBe(false)
  })

  test('is of known shape, and makes a freer schedule', () => {
    const fills = 'for (let k = 0; k < 16; k++) s.set(k, i)'
    expect(isPrivate(fills)).toBe(true)
    expect(isPrivate(fills, { ...line, env: { s: denseArray('s', undefined) } })).toBe(false)
    expect(isPrivate(`${fills}; x.set(i, x.get(i - 1))`)).toBe(false)
    expect(isPrivate(`${fills}; x.set(i, x.get(i - 4))`)).toBe(true)
  })

  test('is named in the plan, with its size', () => {
    const { plan, schedule } = analyzed('s.set(0, x.get(i)); b.set(i, 0, s.get(0))', { ...line, env: { b, s, x } })
    expect(schedule).toEqual({ kind: 'independent' })
    expect(plan.dependences).toEqual([])
    expect(plan.variables).toContainEqual({ name: 's', class: 'local', origin: 'env', private: { sizeBytes: 128 } })
    expect(plan.schedule.reason).toBe('no two iterations depend on each other, once each worker has a copy of s')
  })

  test('that is too large is named among what was rejected', () => {
    const large = denseArray('s', LARGEST_PRIVATE_BYTES / 8 + 1)
    const loop = analyzed('for (let k = 0; k < 2; k++) s.set(k, x.get(i)); b.set(i, 0, s.get(0))', {
      ...line,
      env: { b, s: large, x },
      options: { require: 'parallel' },
    })
    expect(loop.privateArrays).toEqual([])
    expect(explainLoop(loop)).toContain(
      'independent: every iteration starts s anew, but at 1 MiB it is too large for a copy for each worker',
    )
    expect(notParallelError(loop)?.message).toBe(
      [
        'The loop over range(100) cannot run in parallel.',
        '  every iteration starts s anew, but at 1 MiB it is too large for a copy for each worker',
        '       Make s no larger than 1 MiB, or give each iteration a part of it.',
      ].join('\n'),
    )
  })
})
