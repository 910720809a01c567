/** Law: values that are packed, sent and unpacked are those that would have been sent as they are. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type PackedValues, packed, unpacked } from '../src/exec/tables/packedValues.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('packedValues.prop.ts')

const names = fc.uniqueArray(fc.constantFrom('rows', 'bytes', '__proto__', 'kind', '0', ''), { minLength: 1, maxLength: 3 })
const leaf = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, 0, -0, Number.NaN, 1.5, 7n, 'text', true),
  fc.integer(),
  fc.uint8Array({ maxLength: 3 }),
  fc.constantFrom<unknown>({}, [], new Map(), new Date(5)),
)
/** Values of one shape: lists of a length, objects and maps with the same names. */
const { shape } = fc.letrec<{ shape: fc.Arbitrary<unknown> }>((tie) => ({
  shape: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(leaf),
    fc.constant(fc.constantFrom<unknown>(0, -0)),
    fc
      .constantFrom(
        () => ({}),
        () => [],
        () => new Map(),
      )
      .map((make) => fc.constant(0).map(make)),
    leaf.map((value) => fc.constant(value)),
    fc.tuple(names, fc.array(tie('shape'), { minLength: 3, maxLength: 3 }), fc.boolean()).map(([keys, parts, isMap]) =>
      fc.tuple(...keys.map((_, i) => parts[i] as fc.Arbitrary<unknown>)).map((values) => {
        const pairs = keys.map((key, i) => [key, values[i]] as const)
        return isMap ? new Map(pairs) : Object.fromEntries(pairs)
      }),
    ),
    fc.array(tie('shape'), { minLength: 1, maxLength: 2 }).map((parts) => fc.tuple(...(parts as fc.Arbitrary<unknown>[]))),
  ),
}))
const lists = fc.array(shape as fc.Arbitrary<fc.Arbitrary<unknown>>, { minLength: 1, maxLength: 2 }).chain((shapes) =>
  fc.array(
    fc.oneof(
      { weight: 20, arbitrary: shapes[0] as fc.Arbitrary<unknown> },
      { weight: 1, arbitrary: shapes.at(-1) as fc.Arbitrary<unknown> },
    ),
    {
      minLength: 1,
      maxLength: 5,
    },
  ),
)

test('values that were packed are what they were', () => {
  const counts: Record<PackedValues['kind'], number> = { same: 0, objects: 0, maps: 0, lists: 0, others: 0 }
  fc.assert(
    fc.property(lists, (values) => {
      const all = packed(values)
      counts[all.kind]++
      expect(unpacked(structuredClone(all))).toStrictEqual(structuredClone(values))
    }),
    run,
  )
  console.log(`packed values: ${JSON.stringify(counts)}`)
  if (run.numRuns >= 500) expect(Math.min(...Object.values(counts))).toBeGreaterThan(run.numRuns / 50)
})
