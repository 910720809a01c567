import { expect, test } from 'vitest'
import type { ElementType } from '../../../core/data/schema.ts'
import { irListing } from '../irText.ts'
import { lowerFunction } from '../userFunction.ts'

const element: ElementType = {
  kind: 'row',
  fields: [
    { name: 'id', type: { kind: 'f64' }, nullable: false },
    { name: 'city', type: { kind: 'utf8' }, nullable: true },
  ],
}

function lowered(f: (r: { id: number; city: string | null }) => unknown): string {
  const { fn } = lowerFunction(f as never, { kind: 'row', method: 'map', inputs: [element] })
  return fn.ir === undefined ? fn.refusals.map(({ message }) => message).join('\n') : irListing(fn.ir)
}

test('Maps, Sets, lists and objects are looked up by tables of their keys', () => {
  const rates = new Map<string | null, number>([['Rome', 1.5]])
  const some = new Set([3, 4])
  const long = Array.from({ length: 40 }, (_, i) => i)
  const codes: Record<string, number> = { Rome: 1 }
  expect(lowered((r) => rates.get(r.city))).toBe('return $rates_values[find #0.city in $rates_keys]')
  expect(lowered((r) => some.has(r.id) || rates.has(r.city))).toBe('return ((find #0.id in $some_keys) || (find #0.city in $rates_keys))')
  expect(lowered((r) => long.includes(r.id))).toBe('return (find #0.id in $long_keys)')
  expect(lowered((r) => codes[String(r.city)])).toBe('return $codes_values[find String(#0.city) in $codes_keys]')
  expect(lowered((r) => String(r.city) in codes && Object.hasOwn(codes, r.id))).toBe(
    'return ((find String(#0.city) in $codes_keys) && (find #0.id in $codes_keys))',
  )
})

test('what is no plain collection of primitives is refused', () => {
  const lists = new Map([[1, [2]]])
  const odd = Object.defineProperty({ a: 1 }, 'b', { get: () => 2 }) as Record<string, number>
  const keyed = new Map([[{}, 1]])
  expect(lowered((r) => lists.get(r.id))).toBe('It calls the method lists.get.')
  expect(lowered((r) => keyed.has(r as never))).toBe('It calls the method keyed.has.')
  expect(lowered((r) => odd[String(r.city)])).toBe('The captured object odd is not a constant that the plan can read.')
  expect(lowered((r) => String(r.city) in odd)).toBe('It uses in.')
})
