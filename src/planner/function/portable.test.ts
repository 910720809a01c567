import { expect, test } from 'vitest'
import type { PortableFunction } from '../../core/ir/functionIr.ts'
import type { Refusal } from '../../core/span.ts'
import { portableOf } from './portable.ts'
import { unitOf } from './unit.ts'

// biome-ignore lint/suspicious/noExplicitAny: the functions here stand for any user's
type Untyped = (...args: any[]) => any

function portable(f: Untyped): PortableFunction | Refusal {
  const unit = unitOf(f as never)
  if (typeof unit === 'string') throw new Error(unit)
  return portableOf(unit)
}

/** The function as it runs in another thread. */
function there(f: Untyped): Untyped {
  const printed = portable(f)
  if (!('source' in printed)) throw new Error(printed.message)
  return new Function('captures', printed.source)(structuredClone(printed.captures)) as Untyped
}

const why = (f: Untyped): string => {
  const printed = portable(f)
  return 'source' in printed ? 'portable' : printed.message
}

const limit = 3
const lookup = new Map([['a', 1]])
const nested = { list: [{ n: 1 }], byName: { a: { n: 1 } } }
const counts = [0, 0, 0]
const isOdd = (n: number): boolean => (n === 0 ? false : isEven(n - 1))
const isEven = (n: number): boolean => (n === 0 ? true : isOdd(n - 1))
const fibonacci = (n: number): number => (n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2))
class Point {
  x = 1
}

test('captured values, helpers, helpers of helpers, functions that need each other', () => {
  expect(there((x) => x > limit && lookup.get('a') === 1)(4)).toBe(true)
  expect([0, 1, 2, 7].map(there((n) => isOdd(n)))).toEqual([false, true, false, true])
  expect(there((n) => fibonacci(n))(10)).toBe(55)
  const { sqrt } = Math
  expect(there((x) => sqrt(x))(9)).toBe(3)
  expect(there((r) => ({ ...r, n: nested.byName.a.n, total: nested.list.reduce((s, one) => s + one.n, 0) }))({ x: 1 })).toEqual({
    x: 1,
    n: 1,
    total: 1,
  })
})

test('generators, methods, async functions, regular expressions, new Date', async () => {
  expect([
    ...there(function* (values) {
      for (const v of values) if (v > limit) yield v * 2
    })([1, 5, 9]),
  ]).toEqual([10, 18])
  expect(
    there(
      {
        m(s: string) {
          return s.replace(/a+/g, 'b').split('')
        },
      }.m,
    )('caat'),
  ).toEqual(['c', 'b', 't'])
  expect(await there(async (x) => (await x) + limit)(1)).toBe(4)
  expect(there((r) => new Date(r.t).getTime())({ t: 5 })).toBe(5)
  expect(
    there((xs) => {
      const seen = new Set()
      for (const x of xs) seen.add(x)
      return seen.size
    })([1, 1, 2]),
  ).toBe(2)
})

test('names of different modules do not meet', () => {
  const make =
    (captures: number): Untyped =>
    (x) =>
      x + captures
  const [one, two] = [make(1), make(2)]
  const $0 = 5
  expect(there((x) => one(x) * two(x) + $0)(1)).toBe(11)
})

test('what assigns or may change a capture stays in its thread', () => {
  let total = 0
  const alias = counts
  const bump = (list: number[], i: number): void => {
    list[i] = (list[i] ?? 0) + 1
  }
  const read = (list: readonly number[], i: number): number => list[i] ?? 0
  const remember = (x: number): number => (total += x)
  expect(why((x) => (total += x))).toBe('It assigns the captured variable total.')
  expect(why((x) => remember(x))).toBe('It assigns the captured variable total.')
  expect(
    why((x) => {
      counts[x] = 1
    }),
  ).toBe('It changes the captured object counts.')
  expect(why((x) => counts.push(x))).toBe('It may change the captured object counts.')
  expect(
    why((x) => {
      const mine = counts
      mine[x] = 1
    }),
  ).toBe('It changes the captured object counts.')
  expect(
    why((x) => {
      bump(alias, x)
    }),
  ).toBe('It changes the captured object alias.')
  expect(why((x) => read(counts, x))).toBe('portable')
  expect(
    why(() => {
      nested.list.forEach((one) => {
        one.n = 2
      })
    }),
  ).toBe('It changes the captured object nested.')
  expect(
    why(() => {
      for (const one of nested.list) one.n++
    }),
  ).toBe('It changes the captured object nested.')
  expect(
    why(() => {
      const {
        byName: { a },
      } = nested
      a.n = 3
    }),
  ).toBe('It changes the captured object nested.')
  expect(why(() => Object.assign(nested.byName, { b: 1 }))).toBe('It may change the captured object nested.')
  expect(why((x) => lookup.set('b', x))).toBe('It may change the captured object lookup.')
  expect(why((x) => [...counts, x].sort())).toBe('portable')
  expect(why((x) => counts.map((c) => c + x))).toBe('portable')
  expect(why((x) => Math.max(...counts, x))).toBe('portable')
  expect(
    why((r) => {
      r.x = 1
      return r
    }),
  ).toBe('portable')
  expect(total).toBe(0)
})

test('what cannot be cloned, and what belongs to its place, stays in its thread', () => {
  const point = new Point()
  const symbol = Symbol('s')
  const withFunction = {
    f() {
      return this
    },
  }
  expect(why(() => point.x)).toBe('The captured value point cannot be sent to another thread.')
  expect(why(() => symbol)).toBe('The captured value symbol cannot be sent to another thread.')
  expect(why(() => new Point())).toBe('The captured value Point cannot be sent to another thread.')
  expect(why(() => withFunction.f())).toBe('The captured value withFunction cannot be sent to another thread.')
  expect(why(() => process.pid)).toBe('It changes or needs the global process, which other threads do not share.')
})
