import { expect, test } from 'vitest'
import { denseArray, parseLoop, rangeOver } from '../../../../property-tests/arbitraries/parseBody.ts'
import { analyzeLoop } from '../analyze.ts'

/** What is read of `x` by iteration i of 100, as bounds that go with it or do not: `i - 1 … i + 1`, `0 … 4`. */
function readsOf(statements: string): string[] {
  const loop = parseLoop(`([i], { x, y }) => { ${statements} }`, {
    over: rangeOver(100),
    env: { x: denseArray('x', 100), y: denseArray('y', 100) },
  })
  const { footprints = [], spec } = analyzeLoop(loop)
  const x = spec.env.x
  const at = (key: number, offset: number): string =>
    key === 0 ? `${offset}` : `${key === 1 ? '' : `${key} `}i ${offset < 0 ? '-' : '+'} ${Math.abs(offset)}`
  return footprints.flatMap(({ array, along: [reach] }) => {
    if (x?.kind !== 'array' || array !== x.array || reach === undefined) return []
    return reach === 'any' ? 'any' : `${at(reach.key[0] ?? 0, reach.low)} … ${at(reach.key[0] ?? 0, reach.high)}`
  })
}

test.each<[string, string, string[]]>([
  ['a neighbour', 'y.set(i, x.get(i + 1))', ['i + 1 … i + 1']],
  ['around the end', 'y.set(i, x.get((i + 1) % 100))', ['i + 1 … i + 1', 'i - 99 … i - 99']],
  ['around the beginning', 'y.set(i, x.get((i + 99) % 100))', ['i + 99 … i + 99', 'i - 1 … i - 1']],
  ['around the end by a condition', 'y.set(i, x.get(i === 99 ? 0 : i + 1))', ['0 … 0', 'i + 1 … i + 1']],
  ['clamped', 'y.set(i, x.get(Math.max(0, Math.min(99, i - 3))))', ['0 … 0', '99 … 99', 'i - 3 … i - 3']],
  ['a window', 'let s = 0; for (let d = -2; d < 3; d++) s += x.get(i + d); y.set(i, s)', ['i - 2 … i + 2']],
  [
    'a window by its ends',
    'let s = 0; for (let k = i - 2; k < i + 3; k++) if (k >= 0 && k < 100) s += x.get(k); y.set(i, s)',
    ['i - 2 … i + 2'],
  ],
  [
    'a window by clamped ends',
    'let s = 0; for (let k = Math.max(0, i - 2); k < Math.min(100, i + 3); k++) s += x.get(k); y.set(i, s)',
    ['i - 2 … i + 2'],
  ],
  [
    'a window that ends where another begins',
    'let s = 0; for (let k = 3 * i; k < 3 * i + 3; k++) s += x.get(99 - k); y.set(i, s)',
    ['-3 i + 97 … -3 i + 99'],
  ],
  [
    'a window inside',
    'let s = 0; for (let d = -2; d < 3; d++) if (i + d >= 0 && i + d < 100) s += x.get(i + d); y.set(i, s)',
    ['i - 2 … i + 2'],
  ],
  ['all before', 'let s = 0; for (let k = 0; k < i; k++) s += x.get(k); y.set(i, s)', ['0 … 98']],
  ['a third', 'y.set(i, x.get(Math.floor(i / 3)))', ['0 … 33']],
  ['anything', 'y.set(i, x.get(i * i))', ['any']],
])('%s', (_, statements, expected) => {
  expect(readsOf(statements)).toEqual(expected)
})
