import { expect, test } from 'vitest'
import { optimizedText, tableOf } from '../../../property-tests/plans.ts'
import { planOf } from '../../core/arrays/distArray.ts'
import { predicateText } from '../../core/plan/predicate.ts'
import { optimize } from '../optimize.ts'
import { pushPredicateIntoScan } from './pushPredicateIntoScan.ts'

interface Row {
  stars: number
  maybe: number | null
  name: string | null
  big: bigint
  ok: boolean
}
const table = tableOf<Row>('ratings', { stars: 'f64', maybe: 'f64?', name: 'utf8?', big: 'i64', ok: 'bool' })
const days = tableOf<{ day: Date; at: Date | null }>('days', { day: 'date', at: 'timestamp?' })

function pushed(predicate: (row: Row, key: readonly [number]) => boolean): string {
  const { plan } = optimize(planOf(table.filter(predicate)), [pushPredicateIntoScan])
  return plan.kind === 'Filter' && plan.input.kind === 'Scan' ? predicateText(plan.input.predicate ?? []) : '?'
}

test('comparisons of columns with constants and captured values go to the source, the filter stays', () => {
  const least = 3
  const chain = table.filter((r) => r.stars > least && 5 >= r.stars && r.stars !== 4 && r.ok === true)
  expect(optimizedText(chain, [pushPredicateIntoScan])).toMatchInlineSnapshot(`
    "Filter r => r.stars > least && 5 >= r.stars && r.stars !== 4 && r.ok === true
      Scan ratings [stars, maybe, name, big, ok] where stars > 3 and stars <= 5 and ok === true"
  `)
})

test('what null satisfies is marked, as null < 1 is true in JavaScript', () => {
  const marked = (predicate: (row: Row) => boolean): string => {
    const { plan } = optimize(planOf(table.filter(predicate)), [pushPredicateIntoScan])
    const [only] = (plan.kind === 'Filter' && plan.input.kind === 'Scan' && plan.input.predicate) || []
    return only === undefined ? '' : `${predicateText([only])}${only.isOfNull === true ? ' or null' : ''}`
  }
  expect(marked((r) => (r.maybe as number) > 0)).toBe('maybe > 0')
  expect(marked((r) => (r.maybe as number) >= 0)).toBe('maybe >= 0 or null')
  expect(marked((r) => (r.maybe as number) < 1)).toBe('maybe < 1 or null')
  expect(marked((r) => (r.maybe as number) <= -1)).toBe('maybe <= -1')
  expect(marked((r) => r.maybe === 0)).toBe('maybe === 0')
  expect(marked((r) => (r.name as string) < 'm')).toBe('name < "m"')
  expect(marked((r) => (r.name as string) < '5')).toBe('name < "5" or null')
  expect(marked((r) => r.stars < 5)).toBe('stars < 5') // has no nulls
})

test('text above the surrogates is ordered otherwise in files, and is left to the filter', () => {
  expect(pushed((r) => (r.name as string) > '\ue000')).toBe('')
  expect(pushed((r) => r.name === '\u{1f600}')).toBe('')
})

test('bigints compare with bigints and numbers', () => {
  expect(pushed((r) => r.big > 3n)).toBe('big > 3')
  expect(pushed((r) => r.big > 3)).toBe('big > 3')
})

test('not under or, not after what may fail, not with NaN, not when row numbers are read', () => {
  const nan = Number.NaN
  expect(pushed((r) => r.stars > 1 || r.ok)).toBe('')
  expect(pushed((r) => (r.name as string).startsWith('a') && r.stars > 1)).toBe('')
  expect(pushed((r) => r.stars > 1 && (r.name as string).startsWith('a'))).toBe('stars > 1')
  expect(pushed((r) => r.stars > nan)).toBe('')
  expect(pushed((r, [i]) => r.stars > 1 && i > 3)).toBe('')
})

test('dates compare with captured and written Dates, as milliseconds', () => {
  const from = new Date('1994-01-01')
  const invalid = new Date(Number.NaN)
  const of = (predicate: (row: { day: Date; at: Date | null }) => boolean): string => {
    const { plan } = optimize(planOf(days.filter(predicate)), [pushPredicateIntoScan])
    return plan.kind === 'Filter' && plan.input.kind === 'Scan' ? predicateText(plan.input.predicate ?? []) : '?'
  }
  expect(of((r) => r.day >= from && r.day < new Date('1995-01-01'))).toBe('day >= 757382400000 and day < 788918400000')
  expect(of((r) => from < r.day)).toBe('day > 757382400000')
  expect(of((r) => (r.at as Date) >= from)).toBe('at >= 757382400000')
  expect(of((r) => (r.at as Date) < from)).toBe('at < 757382400000')
  expect(of((r) => r.day > invalid)).toBe('')
  expect(of((r) => (r.day as unknown) === from.getTime())).toBe('')
})
