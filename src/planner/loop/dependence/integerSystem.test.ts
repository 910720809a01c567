/** The integer test against the definition: all points of a small box are tried. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { IntegerSystem } from './integerSystem.ts'
import { type Row, TooLarge } from './rows.ts'

/** Every variable runs from 0 to here. */
const SIDE = 5

/** Systems of four variables, the first two watched, with a few equations and inequalities. */
const row = fc.array(fc.integer({ min: -4, max: 4 }), { minLength: 5, maxLength: 5 })
const systems = fc.record({ equations: fc.array(row, { maxLength: 2 }), inequalities: fc.array(row, { maxLength: 3 }) })

const box: readonly Row[] = [0, 1, 2, 3].flatMap((column) => [unit(column, 1, 0), unit(column, -1, SIDE)])

function unit(column: number, factor: number, constant: number): Row {
  return [0, 1, 2, 3].map((other) => (other === column ? factor : 0)).concat(constant)
}

function solutions({ equations, inequalities }: { readonly equations: readonly Row[]; readonly inequalities: readonly Row[] }): number[][] {
  const found: number[][] = []
  const value = (point: readonly number[], one: Row) => one.reduce((sum, factor, column) => sum + factor * (point[column] ?? 1), 0)
  for (let n = 0; n < (SIDE + 1) ** 4; n++) {
    const point = [216, 36, 6, 1].map((place) => Math.floor(n / place) % (SIDE + 1))
    if (equations.every((one) => value(point, one) === 0) && inequalities.every((one) => value(point, one) >= 0)) found.push(point)
  }
  return found
}

test('ranges are reached, and the least solution is least, as if all points were tried', () => {
  fc.assert(
    fc.property(systems, ({ equations, inequalities }) => {
      const system = IntegerSystem.of(4, 2, equations, [...box, ...inequalities])
      const points = solutions({ equations, inequalities })
      const budget = { left: 100_000 }
      const [first] = points
      expect(system.least(budget)).toEqual(first === undefined ? 'none' : first.slice(0, 2))
      if (first === undefined) return
      const steps = points.map(([p = 0, q = 0]) => q - p)
      expect(system.range(1, 0, budget)).toEqual({ least: Math.min(...steps), greatest: Math.max(...steps) })
      const forward = points.filter(([p = 0, q = 0]) => q > p)
      expect(system.copy().atLeast(1, 0, 1).least(budget)).toEqual(forward[0]?.slice(0, 2) ?? 'none')
      const still = points.filter(([p = 0, q = 0]) => q === p)
      expect(system.copy().equal(1, 0, 0).least(budget)).toEqual(still[0]?.slice(0, 2) ?? 'none')
    }),
    { numRuns: 2_000 },
  )
})

test('what the shadows of the projection miss is found by searching: 3x and 7y never differ by 1 or 2 here', () => {
  // 1 <= 3x - 7y <= 2 with 0 <= x <= 4, 1 <= y <= 1: real points, no whole ones.
  const rows = [
    [3, -7, -1],
    [-3, 7, 2],
    [1, 0, 0],
    [-1, 0, 2],
    [0, 1, -1],
    [0, -1, 1],
  ]
  expect(IntegerSystem.of(2, 2, [], rows).least({ left: 1_000 })).toBe('none')
})

test('an equation whose factors have a divisor that its constant has not is told at once, however large the space', () => {
  expect(IntegerSystem.of(2, 2, [[6, -4, 1]], []).feasible).toBe(false)
  expect(
    IntegerSystem.of(
      2,
      2,
      [[6, -4, 2]],
      [
        [1, 0, 0],
        [0, 1, 0],
      ],
    ).least({ left: 100 }),
  ).toEqual([1, 2])
})

test('when the budget ends the answer says so', () => {
  const rows = [
    [5, -7, -1],
    [-5, 7, 3],
    [1, 0, 0],
    [0, 1, 0],
    [-1, 0, 2 ** 30],
  ]
  expect(IntegerSystem.of(2, 2, [], rows).least({ left: 0 })).toBe('unknown')
  expect(IntegerSystem.of(2, 2, [], rows).least({ left: 1_000 })).toEqual([2, 1])
})

test('numbers that a double cannot hold are refused, not rounded', () => {
  const large = 2 ** 30 + 1
  expect(() =>
    IntegerSystem.of(
      3,
      3,
      [
        [large, -(2 ** 31), 1, 0],
        [2 ** 31 + 1, large + 2, 0, 5],
      ],
      [],
    ),
  ).toThrow(TooLarge)
})
