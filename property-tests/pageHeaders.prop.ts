/** Law: a page header that is read quickly is what the reader of any header reads; what writers write is read quickly. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { headerAt, quickHeader } from '../src/io/parquet/pages.ts'
import {
  BINARY,
  encodeThrift,
  FALSE,
  I32,
  I64,
  STRUCT,
  type ThriftField,
  ThriftReader,
  type ThriftStruct,
  TRUE,
} from '../src/io/parquet/thrift.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('pageHeaders.prop.ts')

const integer = fc
  .oneof(fc.nat(9), fc.nat(), fc.integer({ min: -9, max: -1 }), fc.integer())
  .map((value): ThriftField => ({ type: I32, value }))
const other = fc.oneof(
  fc.boolean().map((value): ThriftField => ({ type: value ? TRUE : FALSE, value })),
  fc.bigInt(-9n, 2n ** 40n).map((value): ThriftField => ({ type: I64, value })),
  fc.uint8Array({ maxLength: 4 }).map((value): ThriftField => ({ type: BINARY, value })),
  fc
    .array(integer, { maxLength: 2 })
    .map((fields): ThriftField => ({ type: STRUCT, value: new Map(fields.map((field, i) => [i + 1, field])) })),
)
const truth = fc.boolean().map((value): ThriftField => ({ type: value ? TRUE : FALSE, value }))
const rarely = (field: fc.Arbitrary<ThriftField>) =>
  fc.oneof({ weight: 20, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: field })
const mostly = (field: fc.Arbitrary<ThriftField>) => fc.option(field, { freq: 40, nil: undefined })

/** A struct of fields that are there. */
const structOf = (fields: Readonly<Record<number, fc.Arbitrary<ThriftField | undefined>>>): fc.Arbitrary<ThriftStruct> =>
  fc
    .tuple(...Object.entries(fields).map(([id, field]) => field.map((value) => [Number(id), value] as const)))
    .map((pairs) => new Map(pairs.flatMap(([id, field]): [number, ThriftField][] => (field === undefined ? [] : [[id, field]]))))
const below = (fields: Parameters<typeof structOf>[0]) => structOf(fields).map((value): ThriftField => ({ type: STRUCT, value }))
const first = below({ 1: mostly(integer), 2: mostly(integer), 3: mostly(integer), 4: mostly(integer), 5: rarely(other) })
const second = below({
  ...{ 1: mostly(integer), 2: mostly(integer), 3: mostly(integer), 4: mostly(integer), 5: mostly(integer), 6: mostly(integer) },
  ...{ 7: fc.option(truth, { nil: undefined }), 8: rarely(other), 9: rarely(other) },
})
const size = fc.nat(2 ** 31 - 1).map((value): ThriftField => ({ type: I32, value }))
const header = fc.constantFrom(0, 0, 1, 2, 3, 3, 4).chain((type) =>
  structOf({
    1: mostly(fc.constant<ThriftField>({ type: I32, value: type })),
    ...{
      2: mostly(size),
      3: mostly(fc.oneof({ weight: 9, arbitrary: size }, { weight: 1, arbitrary: integer })),
      4: fc.option(integer, { nil: undefined }),
    },
    ...{ 5: type === 0 ? mostly(first) : rarely(first), 6: rarely(other), 7: type === 2 ? mostly(first) : rarely(first) },
    ...{ 8: type === 3 ? mostly(second) : rarely(second), 9: rarely(integer) },
  }),
)
const damage = fc.option(fc.record({ at: fc.nat(), byte: fc.nat(255), cut: fc.boolean() }), { freq: 1 }) // of every other header

test('a header that is read quickly is read rightly', () => {
  const counts = { quick: 0, left: 0, refused: 0, second: 0 }
  fc.assert(
    fc.property(header, damage, fc.nat(3), (fields, odd, before) => {
      let bytes = Uint8Array.from([...new Uint8Array(before).fill(37), ...encodeThrift(fields), 9, 9])
      if (odd !== null) bytes[odd.at % bytes.length] = odd.byte
      if (odd?.cut === true) bytes = bytes.slice(0, odd.at % bytes.length)
      const quick = quickHeader(bytes, before)
      let any: unknown
      try {
        any = headerAt(new ThriftReader(bytes), before, (what) => new RangeError(what))
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError)
        counts.refused++
      }
      if (quick === undefined) counts.left++
      else {
        expect(quick).toStrictEqual(any)
        counts.quick++
        if (quick.second !== undefined) counts.second++
      }
    }),
    run,
  )
  console.log(`page headers: ${JSON.stringify(counts)}`)
  if (run.numRuns >= 500) expect(Math.min(...Object.values(counts))).toBeGreaterThan(run.numRuns / 20)
})
