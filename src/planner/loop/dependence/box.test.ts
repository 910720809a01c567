/** Boxes against the definition: all points of a small space are tried. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { boxOf, withoutImplied } from './box.ts'
import type { Row } from './rows.ts'

const SIDE = 4
const row = fc.array(fc.integer({ min: -5, max: 5 }), { minLength: 4, maxLength: 4 })
const ends: readonly Row[] = [0, 1, 2].flatMap((column) => [
  [...[0, 1, 2].map((other) => (other === column ? 1 : 0)), SIDE],
  [...[0, 1, 2].map((other) => (other === column ? -1 : 0)), SIDE],
])

/** Points from -SIDE to SIDE where no row is negative. */
function pointsOf(rows: readonly Row[]): number[][] {
  const wide = 2 * SIDE + 1
  return Array.from({ length: wide ** 3 }, (_, n) =>
    [n % wide, Math.floor(n / wide) % wide, Math.floor(n / wide ** 2)].map((k) => k - SIDE),
  ).filter((point) => rows.every((one) => one.reduce((sum, factor, column) => sum + factor * (point[column] ?? 1), 0) >= 0))
}

test('a box holds every whole point, and there is none only where there is no point; ends not given are open', () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 4 }), fc.subarray([...ends]), (rows, some) => {
      const box = boxOf([...rows, ...some], 3)
      const points = pointsOf([...rows, ...ends])
      if (box === undefined) {
        expect(points).toEqual([])
        return
      }
      for (const column of points.length === 0 ? [] : [0, 1, 2]) {
        const values = points.map((point) => point[column] ?? 0)
        expect(box.least[column]).toBeLessThanOrEqual(Math.min(...values))
        expect(box.greatest[column]).toBeGreaterThanOrEqual(Math.max(...values))
      }
    }),
    { numRuns: 2_000 },
  )
})

test('what is left out of rows is said by the others', () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 6 }), (rows) => {
      expect(pointsOf(withoutImplied([...ends, ...rows]))).toEqual(pointsOf([...ends, ...rows]))
    }),
    { numRuns: 1_000 },
  )
})

test('bounds follow from one another', () => {
  const rows = [
    [1, 0, 0, 0],
    [0, 1, 0, -1],
    [-2, -3, 0, 5],
  ]
  expect(boxOf(rows, 3)).toEqual({ least: [0, 1, -Infinity], greatest: [1, 1, Infinity] })
  expect(boxOf([...rows, [1, -1, 0, -1]], 3)).toBeUndefined()
})
