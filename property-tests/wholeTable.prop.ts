/**
 * Law: pieces put end to end in the arena by workers' tasks are what they are end to end in JavaScript, and who copies slices of a
 * column out of the arena has their values and no others.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Batch } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { valueReader } from '../src/core/data/columnReaders.ts'
import type { ColumnType, Field } from '../src/core/data/schema.ts'
import { shareBatch, shareColumn } from '../src/exec/memory/shareColumns.ts'
import { Blocks } from '../src/exec/tables/blocks.ts'
import { place } from '../src/exec/tables/columns/loadTask.ts'
import { sliceBatch } from '../src/exec/tables/operators/batches.ts'
import { wholeTable } from '../src/exec/tables/wholeTable.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('wholeTable.prop.ts')

const KINDS = {
  f64: fc.double({ noNaN: true }),
  i32: fc.integer(),
  bool: fc.boolean(),
  i64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  utf8: fc.string({ unit: 'binary', maxLength: 6 }),
  null: fc.constant(null),
  struct: fc.record(
    {
      a: fc.option(fc.integer(), { freq: 3 }),
      in: fc.option(fc.record({ s: fc.option(fc.string({ maxLength: 4 }), { freq: 3 }) }, { noNullPrototype: true }), { freq: 3 }),
    },
    { noNullPrototype: true },
  ),
} as const
const TYPES: Partial<Readonly<Record<Kind, ColumnType>>> = {
  struct: {
    kind: 'struct',
    fields: [
      { name: 'a', type: { kind: 'i32' }, nullable: true },
      { name: 'in', type: { kind: 'struct', fields: [{ name: 's', type: { kind: 'utf8' }, nullable: true }] }, nullable: true },
    ],
  },
}
type Kind = keyof typeof KINDS

interface Given {
  readonly kind: Kind
  readonly nullable: boolean
  readonly values: readonly unknown[]
}
const ROWS = 60
const columns: fc.Arbitrary<readonly Given[]> = fc.array(
  fc.constantFrom(...(Object.keys(KINDS) as Kind[])).chain((kind) =>
    fc.boolean().chain((nullable) =>
      fc
        .array(nullable ? fc.option<unknown>(KINDS[kind], { freq: 3 }) : (KINDS[kind] as fc.Arbitrary<unknown>), {
          minLength: ROWS,
          maxLength: ROWS,
        })
        .map((values) => ({ kind, nullable, values })),
    ),
  ),
  { minLength: 1, maxLength: 4 },
)
/** Where pieces end; the rows from the first on are not taken. */
const cuts = fc.uniqueArray(fc.nat(ROWS), { minLength: 2, maxLength: 6 }).map((at) => at.sort((a, b) => a - b))

const valuesOf = ({ columns: all, length }: Batch): unknown[][] =>
  all.map((column) => {
    const read = valueReader(column)
    return Array.from({ length }, (_, i) => read(i))
  })

function tableOf(given: readonly Given[]): Batch {
  const fields = given.map(({ kind, nullable }, i): Field => ({ name: `c${i}`, type: TYPES[kind] ?? ({ kind } as ColumnType), nullable }))
  return {
    element: { kind: 'row', fields },
    length: ROWS,
    columns: given.map(({ values }, i) => columnFromValues(values, (fields[i] as Field).type)),
  }
}

test('pieces end to end in the arena are their rows one after another', async () => {
  await fc.assert(
    fc.asyncProperty(columns, cuts, async (given, at) => {
      const arena = lawArena(2 ** 24)
      const table = tableOf(given)
      const inside = shareBatch(table, arena, 'law')
      const pieces = at.slice(1).map((end, i) => sliceBatch(inside, at[i] as number, end))
      // slices have one buffer for all texts, and bitmaps in ordinary buffers
      const placed = pieces.map((piece) => shareBatch(piece, arena, 'law'))
      const held = arena.usedBytes
      const whole = await wholeTable(placed, {
        arena,
        run: async (task) => {
          if (task.kind === 'place') for (const column of task.columns) place(column, arena)
        },
      })
      if (placed.length === 1) return void expect(whole).toBe(undefined)
      expect(whole?.batch.length).toBe((at.at(-1) as number) - (at[0] as number))
      const [from, to] = [at[0] as number, at.at(-1) as number]
      expect(whole && valuesOf(whole.batch)).toStrictEqual(valuesOf(table).map((values) => values.slice(from, to)))
      for (const { offset } of whole?.blocks ?? []) arena.free(offset)
      expect(arena.usedBytes).toBe(held)
    }),
    run,
  )
})

test('pieces that differ, or lie elsewhere, are not put together', async () => {
  const arena = lawArena(2 ** 24)
  const services = { arena, run: async () => undefined }
  const pieceOf = (name: string, values: readonly unknown[]): Batch => {
    const column = columnFromValues(values)
    return { element: { kind: 'row', fields: [{ name, type: column.type, nullable: false }] }, length: values.length, columns: [column] }
  }
  const inside = (piece: Batch) => shareBatch(piece, arena, 'law')
  const first = inside(pieceOf('a', [1.5, 2]))
  expect(await wholeTable([first, inside(pieceOf('a', [3.5]))], services)).toBeDefined()
  expect(await wholeTable([first, inside(pieceOf('b', [3.5]))], services)).toBeUndefined()
  expect(await wholeTable([first, inside(pieceOf('a', ['x']))], services)).toBeUndefined()
  expect(await wholeTable([first, pieceOf('a', [3.5])], services)).toBeUndefined()
})

test('slices that are copied out of the arena have their values, and no others', () => {
  fc.assert(
    fc.property(columns, cuts, (given, at) => {
      const arena = lawArena(2 ** 24)
      const table = tableOf(given)
      const blocks = new Blocks(arena)
      const inside = {
        ...table,
        columns: table.columns.map((column) => {
          const shared = shareColumn(column, arena, 'law')
          for (const buffer of [shared.values, shared.offsets, shared.validity])
            if (buffer !== undefined && arena.owns(buffer)) blocks.add([{ offset: buffer.byteOffset, bytes: buffer.byteLength }])
          return shared
        }),
      }
      for (const [i, end] of at.slice(1).entries()) {
        const [from, to] = [at[i] as number, end]
        const copy = blocks.copiedOut(sliceBatch(inside, from, to))
        expect(valuesOf(copy)).toStrictEqual(valuesOf(table).map((values) => values.slice(from, to)))
        for (const { values, offsets } of copy.columns) {
          expect(values !== undefined && values.length > 0 && arena.owns(values)).toBe(false)
          if (offsets !== undefined) expect(values?.length).toBe(offsets[to - from])
        }
      }
    }),
    run,
  )
})
