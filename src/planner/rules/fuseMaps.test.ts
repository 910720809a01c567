import { expect, test } from 'vitest'
import { optimizedText, tableOf } from '../../../property-tests/plans.ts'
import { planOf } from '../../core/arrays/distArray.ts'
import { optimize } from '../optimize.ts'
import { fuseMaps } from './fuseMaps.ts'

const table = tableOf<{ a: number; b: number | null; s: string }>('table', { a: 'f64', b: 'f64?', s: 'utf8' })

test('two maps become one function', () => {
  const chain = table.map((r) => ({ sum: r.a + 1, s: r.s })).map((r) => r.sum * 2)
  expect(optimizedText(chain, [fuseMaps])).toMatchInlineSnapshot(`
    "Map r => r.sum * 2 of r => ({ sum: r.a + 1, s: r.s })
      Scan table [a, b, s]"
  `)
})

test('captured values of one name stay two values', () => {
  const times = (k: number) => (x: number) => x * k
  const chain = table
    .map((r) => r.a)
    .map(times(2))
    .map(times(5))
  const { plan } = optimize(planOf(chain), [fuseMaps])
  if (plan.kind !== 'Map') throw new Error('not fused')
  expect(plan.f.ir?.parameters.map((one) => one.value)).toEqual([2, 5])
  const fused = plan.f.original as unknown as (row: object, key: number[]) => number
  expect(fused({ a: 3 }, [0])).toBe(30)
})

test('a map over withColumns reads what it adds and what was there', () => {
  const chain = table.withColumns((r) => ({ a: r.a * 2 })).map((r) => `${r.s}: ${r.a}`)
  expect(optimizedText(chain, [fuseMaps])).toMatchInlineSnapshot(`
    "Map r => \`\${r.s}: \${r.a}\` of r => ({ a: r.a * 2 })
      Scan table [a, b, s]"
  `)
})

test('computed text stays a column: a column repairs lone surrogates', () => {
  const chain = table.map((r) => ({ head: r.s.slice(0, 1) })).map((r) => r.head === '\ud83d')
  expect(optimize(planOf(chain), [fuseMaps]).plan).toBe(planOf(chain))
})

test('a first map that may fail or was refused stays', () => {
  const failing = table.map((r) => ({ n: (r.b as number).toFixed(2), a: r.a })).map((r) => r.a)
  const refused = table.map((r) => ({ a: /x/g.test(r.s) ? r.a : 0 })).map((r) => r.a)
  for (const chain of [failing, refused]) expect(optimize(planOf(chain), [fuseMaps]).plan).toBe(planOf(chain))
})
