import { expect, test } from 'vitest'
import { planEngine } from '../../../property-tests/plans.ts'
import { keyRankOf } from './keyRank.ts'

/** The rank of a function whose source is given, as if the front end had refused it. */
function refused(source: string): number | undefined {
  const original = new Function('f', `return ${source}`)(Math.abs) as (...args: never[]) => unknown
  return keyRankOf({ original, text: source, span: { line: 1, column: 1, text: source }, refusals: [] })
}

test('a lowered function says it itself', () => {
  const lowered = planEngine.lowerRowLambda((r: { a: number }) => (r.a > 1 ? [r.a, 1] : [2, 3]), {
    method: 'index',
    inputs: [{ kind: 'row', fields: [{ name: 'a', type: { kind: 'f64' }, nullable: false }] }],
  })
  expect(keyRankOf(lowered)).toBe(2)
  const direct = planEngine.lowerRowLambda((r: { a: number }) => [r.a, 1, 2], {
    method: 'index',
    inputs: [{ kind: 'row', fields: [{ name: 'a', type: { kind: 'f64' }, nullable: false }] }],
  })
  expect(keyRankOf(direct)).toBe(3)
})

test('the source of a refused function says it', () => {
  expect(refused('(r) => [f(r.a), f(r.b)]')).toBe(2)
  expect(refused('r=>[f(r.a,[1,2]),{x:[1,2,3]},"a,b]"]')).toBe(3)
  expect(refused('(r) => { const x = f(r); return [x, /* one, two */ 1] }')).toBe(2)
  expect(refused('function (r) { if (r.a) return [1, 2]\n return [f(r), 3,] }')).toBe(2)
  expect(refused('(r) => ([f(r)])')).toBe(1)
})

test('what cannot be seen is not guessed', () => {
  expect(refused('(r) => f(r)')).toBe(undefined)
  expect(refused('(r) => [...f(r)]')).toBe(undefined)
  expect(refused('(r) => { if (r.a) return [1]; return [1, 2] }')).toBe(undefined)
  expect(refused('(r) => r.list.map((x) => [x, 1])')).toBe(undefined)
})
