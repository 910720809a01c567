import { expect, test } from 'vitest'
import { planEngine } from '../../property-tests/plans.ts'
import type { ElementType } from '../core/data/schema.ts'
import type { UserFunction } from '../core/ir/functionIr.ts'
import { columnsRead, readsKey } from '../core/ir/functionUse.ts'
import { bucket } from '../core/time/bucket.ts'
import { duration, parseTime } from '../core/time/texts.ts'
import { cannotFail, isPure } from './lambdaFacts.ts'

interface Row {
  n: number
  maybe: string | null
  s: string
  big: bigint
  /** Only running tells what. */
  some: number
  at: Date
  list: number[]
  lists: number[] | null
}
const element: ElementType = {
  kind: 'row',
  fields: [
    { name: 'n', type: { kind: 'f64' }, nullable: false },
    { name: 'maybe', type: { kind: 'utf8' }, nullable: true },
    { name: 's', type: { kind: 'utf8' }, nullable: false },
    { name: 'big', type: { kind: 'i64' }, nullable: false },
    { name: 'some', type: { kind: 'unknown' }, nullable: false },
    { name: 'at', type: { kind: 'timestamp', unit: 'ms' }, nullable: false },
    { name: 'list', type: { kind: 'list', item: { kind: 'f64' } }, nullable: false },
    { name: 'lists', type: { kind: 'list', item: { kind: 'f64' } }, nullable: true },
  ],
}

function lowered(f: (row: Row, key: readonly number[]) => unknown): UserFunction {
  return planEngine.lowerRowLambda(f as never, { method: 'map', inputs: [element], key: { argument: 1, rank: 1 } })
}

test('the columns a function reads', () => {
  expect(columnsRead(lowered((r) => r.n + r.s.length))).toEqual(new Set(['n', 's']))
  expect(columnsRead(lowered(({ n, at }) => [n, at]))).toEqual(new Set(['n', 'at']))
  expect(columnsRead(lowered((r) => r))).toBe('all')
  expect(columnsRead(lowered((r) => /x/g.test(r.s)))).toEqual(new Set(['s']))
  expect(columnsRead(lowered((r) => /x/g.test(JSON.stringify(r))))).toBe('all')
})

test('whether it looks at the key', () => {
  expect(readsKey(lowered((r) => r.n))).toBe(false)
  expect(readsKey(lowered((r, [i]) => r.n + (i ?? 0)))).toBe(true)
  expect(readsKey(lowered((r) => /x/g.test(r.s)))).toBe(true)
})

test('what cannot fail', () => {
  const big = 5n
  for (const f of [
    lowered((r) => r.n / 0 > 1 && r.s.startsWith('a')),
    lowered((r) => (r.n > 1 ? r.maybe : null)),
    lowered((r) => r.big > 3 && r.big < big),
    lowered((r) => r.maybe?.length),
    lowered((r) => Math.sqrt(r.n) + r.at.getTime()),
    lowered((r) => new Date(r.n) > bucket(r.at, { every: '1 day' })),
    lowered((r) => ({ day: parseTime(r.maybe, '%Y-%m-%d') })),
    lowered((r) => {
      let x = r.n
      if (x > 1) x = 2
      return { x, s: r.s }
    }),
    lowered((r) => r.list.length > 1 && r.list.some((x) => x > r.n)),
    lowered((r) => (r.list.at(-1) ?? 0) * 2),
  ]) {
    expect([f.text, cannotFail(f, [element])]).toEqual([f.text, true])
  }
})

test('what may fail: null has no methods, bigints do not mix, loops may not end, exceptions', () => {
  for (const f of [
    lowered((r) => (r.maybe as string).length),
    lowered((r) => r.big + 1n),
    lowered((r) => r.some + 1),
    lowered((r) => Math.sqrt(r.some)),
    lowered((r) => BigInt(r.n)),
    lowered((r) => r.s.repeat(r.n)),
    lowered((r) => r.at.toISOString()),
    // no column holds an invalid Date
    lowered((r) => new Date(r.n)),
    lowered((r) => ({ day: bucket(r.at, { every: '1 day' }) })),
    lowered((r) => duration(r.s)),
    lowered((r) => bucket(r.some as unknown as Date, { every: '1 day' }) > r.at),
    lowered((r) => {
      let x = r.n
      while (x > 1) x = x / 2
      return x
    }),
    lowered((r) => {
      if (r.n > 1) throw new Error('too large')
      return r.n
    }),
    lowered((r) => /x/g.test(r.s)),
    lowered((r) => (r.lists as number[]).length),
    lowered((r) => r.list.reduce((a, b) => a + b)),
    lowered((r) => r.list.at(r.big as unknown as number)),
    lowered((r) => r.list.every((x) => x < (r.maybe as string).length)),
  ]) {
    expect([f.text, cannotFail(f, [element])]).toEqual([f.text, false])
  }
})

test('a refused function is not pure', () => {
  expect(isPure(lowered((r) => /x/g.test(r.s)))).toBe(false)
  expect(isPure(lowered((r) => r.n))).toBe(true)
})
