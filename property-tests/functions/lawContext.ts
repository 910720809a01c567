/**
 * The rows that random functions get.
 */
import fc from 'fast-check'
import type { LowerContext } from '../../src/planner/function/lower/context.ts'

export const CONTEXT: LowerContext = {
  kind: 'row',
  method: 'map',
  inputs: [
    {
      kind: 'row',
      fields: [
        { name: 'a', type: { kind: 'f64' }, nullable: false },
        { name: 'b', type: { kind: 'i32' }, nullable: false },
        { name: 'n', type: { kind: 'f64' }, nullable: true },
        { name: 's', type: { kind: 'utf8' }, nullable: true },
        { name: 't', type: { kind: 'bool' }, nullable: false },
      ],
    },
  ],
  key: { argument: 1, rank: 2 },
}

const numbers = fc.oneof(fc.integer({ min: -3, max: 5 }), fc.constantFrom(Number.NaN, -0, 0.5, Infinity, -Infinity, 5e-324, 2 ** 53, 1e308))
export const row: fc.Arbitrary<Readonly<Record<string, unknown>>> = fc.record({
  a: numbers,
  b: fc.integer({ min: -2, max: 3 }),
  n: fc.option(numbers),
  s: fc.option(fc.constantFrom('', 'x', 'Ümlaut')),
  t: fc.boolean(),
})
