/**
 * Laws: a list of any length that a body sorts by a function - of numbers, truth values or objects, filled, spread, grown, in part - has the
 * bits of plain JavaScript, also where the function contradicts itself; and the sort makes the comparisons that the platform makes, in its order.
 */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { gallop, MOST_RUNS, sortMany } from '../src/planner/function/lists/timsort.ts'
import { Session } from '../src/session/session.ts'
import { drawing } from './drawing.ts'
import type { DrawnBody } from './drawnBodies.ts'
import { expectBitsOfPlain } from './lawOfBodies.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('longSorts.prop.ts')
/** A sort is some hundred lines where it is written out, which take their time to compile. */
const FEWER = { ...RUN, numRuns: Math.ceil(RUN.numRuns / 10) }
const session = await Session.start({ workers: 2, progress: false })
afterAll(() => session.stop())

const ORDERS = [
  (a: number, b: number): number => a - b,
  (a: number, b: number): number => b - a,
  (a: number, b: number): number => (a > b ? 1 : -1),
  (a: number, b: number): number => Math.floor(a / 3) - Math.floor(b / 3),
  (a: number, b: number): number => (a > 5 ? Number.NaN : a - b),
  (a: number, b: number): number => ((a * 977 + b * 331) % 7) - 3,
  (): number => -1,
]

/** Stretches of numbers that ascend, descend, are the same, or follow no order: what decides on runs and gallops. */
const numbers = fc
  .array(
    fc.record({
      length: fc.integer({ min: 1, max: 260 }),
      first: fc.integer({ min: -50, max: 50 }),
      step: fc.constantFrom(0, 1, -1, 0.25, 37.7),
      below: fc.constantFrom(5, 40, 1000),
    }),
    { minLength: 1, maxLength: 9 },
  )
  .map((stretches) => stretches.flatMap(({ length, first, step, below }) => Array.from({ length }, (_, k) => first + ((step * k) % below))))

test('the sort makes the comparisons of the platform, in its order', () => {
  let long = 0
  fc.assert(
    fc.property(numbers, fc.constantFrom(...ORDERS), (list, order) => {
      const compared = (sort: (by: (a: number, b: number) => number) => void): number[] => {
        const pairs: number[] = []
        sort((a, b) => {
          pairs.push(a, b)
          return order(a, b)
        })
        return pairs
      }
      const [own, given] = [[...list], [...list]]
      const places = new Int32Array(list.length)
      const temp = new Int32Array(list.length)
      const pairs = compared((by) => sortMany(own, by, places, temp, new Int32Array(2 * MOST_RUNS), gallop))
      expect(pairs).toStrictEqual(compared((by) => given.sort(by)))
      expect(own).toStrictEqual(given)
      if (list.length > 500) long++
    }),
    RUN,
  )
  if (RUN.numRuns >= 500) expect(long).toBeGreaterThan(RUN.numRuns / 10)
})

function bodyText(drawn: readonly number[]): DrawnBody {
  const { below, of } = drawing(drawn)
  const count = String(64 + below(140))
  const value = of([
    '(k * 37 + i) % 101',
    'k - x.get(i)',
    'k % 2 === 0 ? k : -k',
    'Math.floor(k / 30) * (i - k % 30)',
    'k % 9',
    'k / (k % 5)',
  ])
  const pushed = (one: string): string => `const list = []; for (let k = 0; k < ${count}; k++) list.push(${one})`
  const [kind, made] = of([
    ['grown', `const list = []; for (let k = 0; k < ${count}; k++) if (k % 13 !== i % 5) list.push(${value})`],
    ['of places', `const list = Array.from({ length: ${count} }, (_, k) => ${value})`],
    ['a copy', `const list = [...Array.from({ length: ${count} }, (_, k) => ${value})]`],
    ['shifted', `${pushed(value)}; list.shift(); list.shift()`],
    ['objects', pushed(`{ a: ${value}, b: k }`)],
    ['pairs', pushed(`[${value}, k]`)],
  ] as const)
  const [part, other] = kind === 'objects' ? ['.a', '.b'] : kind === 'pairs' ? ['[0]', '[1]'] : ['', '']
  const [p, q] = [`p${part}`, `q${part}`]
  const [by, order] = of([
    ['up', `${p} - ${q}`],
    ['down', `${q} - ${p}`],
    ['of two', `${p} < ${q} ? -1 : 1`],
    ['contradicts itself', `((${p} * 977 + ${q} * 331) % 7) - 3`],
    ['may be NaN', `${p} > 40 ? NaN : ${p} - ${q}`],
    ['of quotients', `Math.floor(${p} / 3) - Math.floor(${q} / 3)`],
  ] as const)
  const sort = of([`list.sort((p, q) => ${order})`, `const sorted = list.sort((p, q) => ${order})`])
  const again = below(3) === 0 ? `; list.sort((p, q) => ${of([`p${other} - q${other}`, `q${part} - p${part}`])})` : ''
  const lines = [
    made,
    `${sort}${again}`,
    'let s = 0',
    `for (const p of list) s = s * 0.75 + (Math.abs(p${part}) < 1e9 ? p${part} : 3) + p${other} * 0.5`,
  ]
  return { text: `([i], { x, out }) => {\n${lines.join('\n;')}\nout.set(i, s)\n}`, used: new Set([kind, by]) }
}

test('bodies that sort long lists by a function are compiled, run in parallel, and give the bits of plain JavaScript', async () => {
  await expectBitsOfPlain(session, { name: 'long sorts', draw: bodyText, held: {}, run: FEWER, least: 50 })
})
