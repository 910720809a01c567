import { expect, test } from 'vitest'
import { lowerFunction } from '../../planner/function/userFunction.ts'
import { iterationCost } from './iterationCost.ts'
import { nominalNs } from './nominal.ts'
import { turnsBetween, UNKNOWN_TURNS } from './turns.ts'

test('a loop turns finitely often, whatever its ends are', () => {
  expect(turnsBetween(0, 10, 2)).toBe(5)
  expect(turnsBetween(10, 0, 1)).toBe(0)
  expect(turnsBetween(0, Number.NaN, 1)).toBe(0)
  expect(turnsBetween(Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, 1)).toBe(0)
  expect(turnsBetween(0, Number.POSITIVE_INFINITY, 1)).toBe(UNKNOWN_TURNS)
  expect(turnsBetween(-1e308, 1e308, 1)).toBe(UNKNOWN_TURNS)
})

test('estimates of loops inside one another stay finite, with no turns around infinitely many as well', () => {
  const deep = (bound: number, depth: number): ((key: number[]) => void) => {
    const loops = Array.from({ length: depth }, (_, at) => `for (let k${at} = 0; k${at} < bound; k${at}++)`).join(' ')
    return new Function('bound', `return ([i]) => { let s = 0; ${loops} s += i }`)(bound) as (key: number[]) => void // the text is a function
  }
  for (const bound of [1e12, Number.NaN, Number.POSITIVE_INFINITY, 1e308, -1e308]) {
    const { fn } = lowerFunction(deep(bound, 40), { kind: 'loop', isRange: true, rank: 1, env: {}, classify: () => undefined })
    const { ir } = fn
    if (ir === undefined) throw new Error(fn.refusals[0]?.message)
    const kernel = { target: 'js', lanes: 1, nested: false, inner: new Map() } as const
    const { ns, runNs } = iterationCost({ ir, extents: [10], isRun: true, kernel, arrayOf: () => undefined })
    expect([ns, runNs, nominalNs(ir, () => undefined)].map(Number.isFinite)).toEqual([true, true, true])
  }
})
