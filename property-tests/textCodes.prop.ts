/** Codes of text: one for each different text, in order of first appearance, exactly where there are few. */
import {
  Dictionary,
  Field,
  type Int,
  Int8,
  Int16,
  Int32,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Table,
  tableFromIPC,
  tableToIPC,
  Uint8,
  Uint32,
  Utf8,
  vectorFromArray,
} from 'apache-arrow'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Column } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { valueReader } from '../src/core/data/columnReaders.ts'
import { sliceColumn } from '../src/core/data/columnSlices.ts'
import { indicesOf } from '../src/core/data/textIndices.ts'
import type { TableMemory } from '../src/core/ports.ts'
import { freeColumn, shareColumn } from '../src/exec/memory/shareColumns.ts'
import { createArena } from '../src/exec/memory/sharedArena.ts'
import { tableMemory } from '../src/exec/tables/columns/tableMemory.ts'
import { codeColumn, codeOf, codesOf, codeTexts, decoded } from '../src/exec/tables/columns/texts/textCodes.ts'
import { batchesOfTable } from '../src/io/arrow/arrowColumns.ts'
import { sourceFromArrow } from '../src/io/memory/memory.ts'
import { announcedRun } from './lawRuns.ts'

const LAW = announcedRun('textCodes.prop.ts')
const arena = createArena({ budgetBytes: 2 ** 28 })

const drawn = fc.record({
  length: fc.oneof(
    { weight: 12, arbitrary: fc.integer({ min: 1, max: 300 }) },
    { weight: 4, arbitrary: fc.integer({ min: 2_000, max: 2_600 }) },
    { weight: 2, arbitrary: fc.integer({ min: 65_530, max: 70_000 }) },
  ),
  /** About so many texts; with the last, each row has another. */
  texts: fc.constantFrom(1, 3, 20, 255, 256, 257, 300, 2 ** 17),
  /** Whether there are only few of them before the rows that are coded next. */
  late: fc.boolean(),
  nulls: fc.constantFrom(0, 0, 1, 2, 5),
  prefix: fc.constantFrom('', 'ž', 'a longer text '),
})

test('a text has one code, and a code one text', () => {
  const reached = { none: 0, bytes: 0, wide: 0, nulls: 0 }
  fc.assert(
    fc.property(drawn, ({ length, texts, late, nulls, prefix }) => {
      const at = (i: number): string | null =>
        nulls > 0 && i % nulls === 0
          ? null
          : `${prefix}${(Math.imul(i, 0x9e3779b1) >>> 5) % (late && i < 65_536 ? Math.min(texts, 200) : texts)}`.slice(
              texts === 1 ? length : 0,
            )
      const values = Array.from({ length }, (_, i) => at(i))
      const column = shareColumn(columnFromValues(values, { kind: 'utf8' }), arena, 'law')
      const held = arena.usedBytes
      const order = [...new Set(values.filter((value) => value !== null))]
      const block = codeTexts(column, arena)
      const codes = codesOf(column)
      if (order.length > Math.max(256, Math.floor(length / 8))) {
        reached.none++
        expect([block, codes, arena.usedBytes]).toEqual([undefined, undefined, held])
      } else {
        if (codes === undefined) throw new Error('no codes')
        reached[order.length > 256 ? 'wide' : 'bytes']++
        if (nulls > 0) reached.nulls++
        expect(codes.codes instanceof Uint16Array).toBe(order.length > 256)
        const coded = codeColumn(column, codes)
        expect(valuesOf(coded)).toEqual(values.map((value) => (value === null ? null : order.indexOf(value))))
        const [from, to] = [Math.floor(length / 3), Math.ceil(length / 2)]
        expect(valuesOf(decoded(sliceColumn(coded, from, to), column, codes))).toEqual(values.slice(from, to))
        for (const text of [...order.slice(0, 5), ...order.slice(-3), 'none', `${prefix}x`]) {
          expect(codeOf(text, column, codes)).toBe(order.indexOf(text))
        }
        arena.free(block as number)
      }
      freeColumn(column, arena)
      expect(arena.usedBytes).toBe(0)
    }),
    LAW,
  )
  for (const [how, times] of Object.entries(reached)) expect(times, how).toBeGreaterThan(LAW.numRuns / 200)
})

test('codes that were bytes stay when there are more than 256 texts', () => {
  const values = Array.from({ length: 70_000 }, (_, i) => `t${i < 65_536 ? i % 200 : i % 500}`)
  const column = shareColumn(columnFromValues(values, { kind: 'utf8' }), arena, 'law')
  const block = codeTexts(column, arena)
  const codes = codesOf(column)?.codes
  expect(codes).toBeInstanceOf(Uint16Array)
  expect(codes?.every((code, i) => `t${code}` === values[i])).toBe(true)
  arena.free(block as number)
  freeColumn(column, arena)
})

test('codes of more than 65,536 texts take four bytes', () => {
  const texts = 65_537
  const values = Array.from({ length: 8 * texts }, (_, i) => `t${i < 4 * texts ? i % 500 : i % texts}`)
  const order = [...new Set(values)]
  const column = shareColumn(columnFromValues(values, { kind: 'utf8' }), arena, 'law')
  const block = codeTexts(column, arena)
  const codes = codesOf(column)
  if (codes === undefined) throw new Error('no codes')
  expect(codes.codes).toBeInstanceOf(Int32Array)
  expect(codes.codes.every((code, i) => order[code] === values[i])).toBe(true)
  const last = order.length - 1
  expect(codeOf(order[last] as string, column, codes)).toBe(last)
  expect(valuesOf(decoded(sliceColumn(codeColumn(column, codes), values.length - 5, values.length), column, codes))).toEqual(
    values.slice(-5),
  )
  arena.free(block as number)
  freeColumn(column, arena)
})

const ENTRIES = ['x', '', 'ž', 'xx', 'x', 'text of some length', null, 'y\0', '😀', '\ufffd']
const dictionary = fc.array(fc.oneof(fc.constantFrom(...ENTRIES), fc.integer({ min: 0, max: 400 }).map(String)), {
  minLength: 1,
  maxLength: 40,
})

const dictionaries = fc.record({
  indexType: fc.constantFrom<() => Int>(...[() => new Int8(), () => new Uint8(), () => new Int16(), () => new Uint32(), () => new Int32()]),
  /** Of each record batch its dictionary, the same for some, and picks from it; -1 is null. */
  batches: fc.array(fc.record({ from: fc.nat(2), picks: fc.array(fc.integer({ min: -1, max: 39 }), { maxLength: 60 }) }), {
    minLength: 1,
    maxLength: 4,
  }),
  choice: fc.tuple(
    dictionary,
    dictionary,
    fc.constantFrom(100, 300, 500).map((size) => Array.from({ length: size }, (_, i) => `${i % 290}`)),
  ),
  repeated: fc.constantFrom(1, 1, 30, 90, 300),
  stream: fc.boolean(),
})

/** The law frees its tables itself. */
const memory: TableMemory = {
  place: (columns, rows) => {
    const placed = tableMemory(arena, { fewestRows: 1 }).place(columns, rows)
    return placed && { ...placed, hold: () => {} }
  },
}

test('codes of texts from dictionaries are those of the texts', () => {
  const reached = { indices: 0, few: 0, wide: 0, none: 0, duplicates: 0, nulls: 0, different: 0 }
  fc.assert(
    fc.property(dictionaries, ({ indexType, batches, choice, repeated, stream }) => {
      const index = indexType()
      const vectors = choice.map((entries) => vectorFromArray(entries.slice(0, index.bitWidth === 8 ? 100 : 500), new Utf8()))
      const type = new Dictionary<Utf8, Int32>(new Utf8(), index as Int32, 7) // any of them
      const values: (string | null)[] = []
      const made = batches.map(({ from, picks }) => {
        const entries = vectors[from] as (typeof vectors)[number]
        const spread = Math.max(1, Math.floor(entries.length / 40))
        const all = Array.from({ length: repeated }, (_, k) =>
          picks.map((pick) => (pick < 0 ? -1 : (spread * pick + k) % entries.length)),
        ).flat()
        for (const pick of all) values.push(pick < 0 ? null : entries.get(pick))
        const nullBitmap = new Uint8Array((all.length + 7) >> 3)
        for (const [i, pick] of all.entries()) if (pick >= 0) nullBitmap[i >> 3] = (nullBitmap[i >> 3] as number) | (1 << (i & 7))
        const data = (index as Int32).ArrayType.from(all.map((pick) => Math.max(0, pick)))
        const column = makeData({ type, length: all.length, nullBitmap, data, dictionary: entries })
        return new RecordBatch(
          new Schema([new Field('a', type, true)]),
          makeData({ type: new Struct([new Field('a', type, true)]), length: all.length, children: [column] }),
        )
      })
      const table = new Table(made)
      const source = sourceFromArrow(stream ? tableFromIPC(tableToIPC(table, 'stream')) : table, { memory })
      const column = source.columns?.[0] as Column // the one field
      expect(valuesOf(column)).toEqual(values)
      const texts = values.filter((value) => value !== null)
      const order = [...new Set(texts)]
      const codes = codesOf(column)
      if (values.length === 0) return
      if (order.length > Math.max(256, Math.floor(values.length / 8))) {
        reached.none++
        expect(codes).toBeUndefined()
      } else {
        if (codes === undefined) throw new Error('no codes')
        const rank = new Map(order.map((value, i) => [value, i]))
        expect(valuesOf(codeColumn(column, codes))).toEqual(values.map((value) => (value === null ? null : rank.get(value))))
        expect([...codes.firsts]).toEqual(order.map((value) => values.indexOf(value)))
        expect(codes.codes instanceof Uint16Array).toBe(order.length > 256)
        reached[order.length > 256 ? 'wide' : 'few']++
        arena.free(codes.codes.byteOffset)
      }
      if (indicesOf(batchesOfTable(table, source.element as never, 'law')[0]?.columns[0]) !== undefined) reached.indices++
      if (batches.some(({ from }) => from < 2 && choice[from]?.some((entry, i, all) => entry !== null && all.indexOf(entry) < i)))
        reached.duplicates++
      if (texts.length < values.length) reached.nulls++
      if (new Set(batches.map(({ from }) => from)).size > 1) reached.different++
      freeColumn(column, arena)
      expect(arena.usedBytes).toBe(0)
    }),
    LAW,
  )
  if (LAW.numRuns < 500) return
  for (const [how, times] of Object.entries(reached)) expect(times, how).toBeGreaterThan(LAW.numRuns / 200)
})

function valuesOf(column: Column): unknown[] {
  const read = valueReader(column)
  return Array.from({ length: column.length }, (_, i) => read(i))
}
