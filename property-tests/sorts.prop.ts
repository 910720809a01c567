/**
 * Sorting by the bits of numbers gives the order of the numbers: NaN after all others, zeros equal, nulls last, equal keys as they came.
 * Keys of several axes are sorted axis by axis.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Column } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { valueReader } from '../src/core/data/columnReaders.ts'
import type { ColumnType } from '../src/core/data/schema.ts'
import { sortOrder } from '../src/exec/arrays/sortKeys.ts'
import { radixRows } from '../src/exec/kernels/js/radixSort.ts'
import type { Block } from '../src/exec/tables/block.ts'
import { rowBatch } from '../src/exec/tables/operators/batches.ts'
import { sortedRows } from '../src/exec/tables/operators/sort/order.ts'
import type { StageTask } from '../src/exec/tables/stage.ts'
import { runStageTask } from '../src/exec/tables/stageTask.ts'
import { sortedBatches } from '../src/exec/tables/wide/sortedBatches.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'

const LAW = announcedRun('sorts.prop.ts')

const NUMBERS: readonly { readonly type: ColumnType; readonly values: fc.Arbitrary<number | bigint | boolean> }[] = [
  {
    type: { kind: 'f64' },
    values: fc.oneof(fc.double(), fc.constantFrom(0, -0, NaN, Infinity, -Infinity, 5e-324, -5e-324), fc.integer({ min: -3, max: 3 })),
  },
  { type: { kind: 'f32' }, values: fc.oneof(fc.float(), fc.constantFrom(0, -0, NaN, Infinity, -Infinity)) },
  { type: { kind: 'i32' }, values: fc.oneof(fc.integer(), fc.integer({ min: -3, max: 3 }), fc.constantFrom(2 ** 31 - 1, -(2 ** 31))) },
  { type: { kind: 'u32' }, values: fc.oneof(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(0, 2 ** 31, 2 ** 31 - 1)) },
  { type: { kind: 'i16' }, values: fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 }) },
  { type: { kind: 'u8' }, values: fc.integer({ min: 0, max: 255 }) },
  { type: { kind: 'bool' }, values: fc.boolean() },
  { type: { kind: 'i64' }, values: fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -3n, max: 3n })) },
  { type: { kind: 'u64' }, values: fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt({ min: 0n, max: 3n })) },
]

/** Many values out of few drawn ones. */
const column = fc.constantFrom(...NUMBERS).chain(({ type, values }) =>
  fc
    .record({
      some: fc.array(fc.option<number | bigint | boolean>(values, { freq: 10, nil: null }), { minLength: 1, maxLength: 60, size: 'max' }),
      length: fc.nat(400),
      step: fc.integer({ min: 1, max: 59 }),
    })
    .map(({ some, length, step }) => ({
      type,
      drawn: Array.from({ length }, (_, i) => some[((i * step) ^ (i >> 4)) % some.length] ?? null),
    })),
)

type Value = number | bigint | boolean | null

function compare(a: Part, b: Part, descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  const [x, y] = descending ? [b, a] : [a, b]
  if (x < y) return -1
  if (x > y) return 1
  return Number(Number.isNaN(x)) - Number(Number.isNaN(y))
}

test('rows sorted by the bits of their keys are in the order of the keys', () => {
  let bits = 0
  fc.assert(
    fc.property(column, fc.boolean(), fc.option(fc.nat(100), { nil: undefined }), ({ type, drawn }, descending, limit) => {
      const key = columnFromValues(drawn, type)
      const expected = [...drawn.keys()].sort((a, b) => compare(drawn[a] as Value, drawn[b] as Value, descending)).slice(0, limit)
      expect([...sortedRows(key, limit === undefined ? { descending } : { descending, limit })]).toEqual(expected)
      if (radixRows(key, descending) !== undefined) bits++
    }),
    LAW,
  )
  expect(bits).toBeGreaterThan(LAW.numRuns / 4)
})

/** Characters on both sides of where UTF-8 and UTF-16 differ, and what begins alike for long. */
const PIECES = [
  '',
  'a',
  'b',
  'ab',
  '\0',
  'é',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '𐀀',
  '\u{10ffff}',
  'same begin',
  'sevenby',
  'eight by',
] as const
const texts = fc
  .record({
    begin: fc.constantFrom('', '', 'shared by all '),
    ends: fc.array(fc.array(fc.constantFrom(...PIECES), { maxLength: 4 }), { minLength: 1 }),
  })
  .map(({ begin, ends }) => ends.map((pieces) => begin + pieces.join('')))

type Part = Value | string

const part: fc.Arbitrary<{ readonly type: ColumnType; readonly some: readonly Part[] }> = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...NUMBERS).chain(({ type, values }) => listOf<Part>(values).map((some) => ({ type, some }))) },
  texts.chain((all) => listOf<Part>(fc.constantFrom(...all)).map((some) => ({ type: { kind: 'utf8' } as const, some }))),
)

function listOf<T>(values: fc.Arbitrary<T>): fc.Arbitrary<readonly (T | null)[]> {
  return fc.oneof(
    fc.array(values, { minLength: 1, maxLength: 60, size: 'max' }),
    fc.array(fc.option(values, { freq: 10, nil: null }), { minLength: 1, maxLength: 60, size: 'max' }),
  )
}

const sorting = fc.record({
  parts: fc.array(fc.record({ part, step: fc.integer({ min: 1, max: 59 }) }), { minLength: 1, maxLength: 3 }),
  length: fc.oneof(
    { weight: 4, arbitrary: fc.nat(300) },
    { weight: 4, arbitrary: fc.nat(3000) },
    { weight: 1, arbitrary: fc.integer({ min: 4096, max: 9000 }) },
  ),
  descending: fc.boolean(),
  limit: fc.option(fc.nat(100), { nil: undefined }),
  workers: fc.integer({ min: 1, max: 4 }),
  isTuple: fc.boolean(),
})

test('a sort that workers share gives the sorted table, whatever the parts of its key', async () => {
  const found = { shared: 0, texts: 0, several: 0 }
  const arena = lawArena(2 ** 26)
  const empty = arena.usedBytes
  await fc.assert(
    fc.asyncProperty(sorting, async ({ parts, length, descending, limit, workers, isTuple }) => {
      const drawn = parts.map(({ part: { some }, step }) =>
        Array.from({ length }, (_, i) => some[((i * step) ^ (i >> 4)) % some.length] ?? null),
      )
      const columns = parts.map(({ part: { type } }, p) => columnFromValues(drawn[p] as Part[], type))
      const fields = columns.map(({ type }, p) => ({ name: String(p), type, nullable: true }))
      const [first = columnFromValues([])] = columns
      const key: Column = isTuple || columns.length > 1 ? { type: { kind: 'struct', fields }, length, children: columns } : first
      const rows = columnFromValues([...Array(length).keys()], { kind: 'i32' })
      const batch = { ...rowBatch(['row', ...fields.map(({ name }) => `k${name}`)], [rows, ...columns], length), hidden: [key] }
      const blocks: Block[] = []
      const services = {
        ...{ workers, arena },
        run: async (task: StageTask) => (await runStageTask(task, { arena, readSplit: () => Promise.resolve([]) })).batches,
        hold: (made: readonly Block[]) => void blocks.push(...made),
      }
      const pieces = await sortedBatches({ kind: 'SortExec', descending, ...(limit === undefined ? {} : { limit }) }, [batch], services)
      const expected = [...Array(length).keys()]
        .sort((a, b) => drawn.reduce((order, values) => order || compare(values[a] as Part, values[b] as Part, descending), 0) || a - b)
        .slice(0, limit)
      const sorted = pieces ?? []
      if (pieces === undefined)
        expect(length === 0 || parts.some(({ part: { type } }) => type.kind === 'i64' || type.kind === 'u64')).toBe(true)
      else {
        if (length > 0) found.shared++
        if (parts.some(({ part: { type } }) => type.kind === 'utf8')) found.texts++
        if (parts.length > 1) found.several++
        expect(sorted.flatMap((piece) => Array.from((piece.columns[0] as Column).values as Int32Array))).toEqual(expected)
        for (const [p, values] of drawn.entries()) {
          const [before, after] = [columns[p] as Column, ...sorted.map((piece) => piece.columns[p + 1] as Column)]
          const [was, is] = [valueReader(before), valueReader(after ?? before)]
          expect(expected.map((_, i) => is(i))).toEqual(expected.map(was))
          expect(values.length).toBe(length)
        }
      }
      for (const { offset } of blocks) arena.free(offset)
      expect(arena.usedBytes).toBe(empty)
    }),
    LAW,
  )
  expect(Math.min(found.shared, found.several, found.texts), JSON.stringify(found)).toBeGreaterThan(LAW.numRuns / 4)
})

/** Axes of keys below an extent each, many of them the same. */
const axes = fc
  .record({
    length: fc.nat(300),
    extents: fc.array(fc.constantFrom(1, 2, 7, 300, 5000, 2 ** 16, 2 ** 31 - 1), { minLength: 1, maxLength: 4 }),
  })
  .chain(({ length, extents }) =>
    fc.tuple(
      ...extents.map((extent) =>
        fc
          .array(fc.oneof(fc.nat(extent - 1), fc.constantFrom(0, extent - 1)), { minLength: 1, maxLength: 20, size: 'max' })
          .map((some) => Int32Array.from({ length }, (_, i) => some[(i * 7 + (i >> 3)) % some.length] as number)),
      ),
    ),
  )

test('keys of several axes are sorted axis by axis, equal ones as they came', () => {
  const found = { words: 0, sorted: 0 }
  fc.assert(
    fc.property(axes, (keys) => {
      const length = keys[0]?.length ?? 0
      const expected = [...Array(length).keys()].sort((a, b) => {
        const axis = keys.find((column) => column[a] !== column[b])
        return axis === undefined ? a - b : (axis[a] as number) - (axis[b] as number)
      })
      const order = sortOrder(keys, length)
      expect([...(order ?? Array(length).keys())]).toEqual(expected)
      if (order === undefined) found.sorted++
      else if (length > 64 && keys.reduce((product, column) => product * (1 + Math.max(...column)), 1) > 2 ** 32) found.words++
    }),
    LAW,
  )
  expect(Math.min(found.words, found.sorted), JSON.stringify(found)).toBeGreaterThan(LAW.numRuns / 50)
})
