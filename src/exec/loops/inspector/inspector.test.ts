import { expect, test } from 'vitest'
import { cutColored } from '../blocks/coloredBlocks.ts'
import { Colors } from './colors.ts'
import { Components } from './components.ts'
import { countsText, type Finding, sizesOf } from './finding.ts'
import { Levels } from './levels.ts'

type Touch = readonly [element: number, how: 'reads' | 'writes']

/** The log of iterations that touch these elements. */
function logOf(iterations: readonly (readonly Touch[])[]): Float64Array {
  return Float64Array.from(iterations.flatMap((touches) => [-1, ...touches.map(([e, how]) => 2 * e + (how === 'writes' ? 1 : 0))]))
}

/** The rows of a sparse triangular solve, as docs/loops.md has them. */
const rows: readonly (readonly Touch[])[] = [[], [], [], [0, 1], [3], [2]].map((needs, row) => [
  ...needs.map((one): Touch => [one, 'reads']),
  [row, 'writes'],
])

test('levels of a triangular solve', () => {
  const levels = new Levels(6, 6)
  const log = logOf(rows)
  levels.take(log, log.length, 0)
  expect([...levels.of]).toEqual([0, 0, 0, 1, 2, 1])
  expect(levels.count).toBe(3)
})

test('an element that is read, then written, then read', () => {
  const levels = new Levels(4, 1)
  const log = logOf([[[0, 'reads']], [[0, 'reads']], [[0, 'writes']], [[0, 'reads']]])
  levels.take(log, log.length, 0)
  expect([...levels.of]).toEqual([0, 0, 1, 2])
})

test('touches outside all arrays are left out, and iterations may touch nothing', () => {
  const levels = new Levels(3, 1)
  const log = Float64Array.of(-1, 4_294_967_295, -1, -1, 1)
  levels.take(log, log.length, 0)
  expect([...levels.of]).toEqual([0, 0, 0])
})

test('components are joined by what somebody writes', () => {
  const levels = new Levels(6, 6)
  const log = logOf(rows)
  levels.take(log, log.length, 0)
  const components = new Components(6, levels.wrote)
  components.take(log, log.length, 0)
  const { of, sizes } = components.result()
  expect([...of]).toEqual([0, 0, 1, 0, 0, 1])
  expect([...sizes]).toEqual([4, 2])
})

test('readers of what nobody writes stay apart', () => {
  const components = new Components(3, new Int32Array(1))
  const log = logOf([[[0, 'reads']], [[0, 'reads']], [[0, 'reads']]])
  components.take(log, log.length, 0)
  expect([...components.result().of]).toEqual([0, 1, 2])
})

test('more colors than a round has', () => {
  const all = logOf(Array.from({ length: 70 }, () => [[0, 'writes']] as const))
  const colors = new Colors(70, 1)
  for (let round = 0; !colors.isDone; round++) {
    if (round > 0) colors.nextRound()
    colors.take(all, all.length, 0)
  }
  expect([...colors.of]).toEqual(Array.from({ length: 70 }, (_, i) => i))
  expect(colors.count).toBe(70)
})

test('many narrow levels are cut into tiles, few wide ones into steps', () => {
  const kindOf = (side: number, wide: number) => {
    const of = Int32Array.from({ length: side * wide }, (_, position) => (position % wide) + Math.floor(position / wide))
    const sizes = sizesOf(of, side + wide - 1)
    const finding: Finding = { kind: 'levels', of, sizes, text: '' }
    return cutColored(finding, { order: 'serial', iterationNs: 20 }).blocks.cuts.length === 2 ? 'tiles' : 'steps'
  }
  expect(kindOf(300, 300)).toBe('tiles')
  expect(kindOf(2, 100_000)).toBe('tiles')
  const of = Int32Array.from({ length: 100_000 }, (_, position) => position % 3)
  expect(cutColored({ kind: 'levels', of, sizes: sizesOf(of, 3), text: '' }, { order: 'serial', iterationNs: 20 }).blocks.cuts.length).toBe(
    1,
  )
})

test('numbers in words', () => {
  expect(countsText('levels', Int32Array.of(3, 1200), 1203)).toBe('2 levels, the widest of 1,200 of 1,203 iterations')
  expect(countsText('components', Int32Array.of(1_000_000), 1_000_000)).toBe(
    '1 component, the largest of 1,000,000 of 1,000,000 iterations',
  )
})
