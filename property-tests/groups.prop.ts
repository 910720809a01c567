/**
 * Laws 1 and 9 for groups: ids of keys, and group-by shared by workers in every way there is, give what the dullest
 * grouping gives; sums with the bits of the fixed tree.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Column } from '../src/core/column.ts'
import { columnFromValues } from '../src/core/columnBuilder.ts'
import { rowReader } from '../src/core/columnReaders.ts'
import { sliceColumn } from '../src/core/columnSlices.ts'
import type { ColumnType } from '../src/core/schema.ts'
import { groupedRows } from '../src/exec/groupRun.ts'
import { createArena, type SharedArena } from '../src/exec/memory/arena.ts'
import { arenaTables } from '../src/exec/operators/arenaIds.ts'
import { type ExecBatch, hiddenBatch } from '../src/exec/operators/batches.ts'
import { rangeGroups } from '../src/exec/operators/groupCodes.ts'
import { GroupMemory } from '../src/exec/operators/groupMemory.ts'
import type { GroupTask } from '../src/exec/operators/groupTasks.ts'
import { KeyIds } from '../src/exec/operators/keyIds.ts'
import { placesIn, windowsOf } from '../src/exec/operators/keyWindows.ts'
import { type Block, runStageTask, type StageTask } from '../src/exec/stageTask.ts'
import type { Aggregate } from '../src/planner/physical/physicalPlan.ts'
import { cuts, keys, pieces } from './arbitraries/keys.ts'
import { expectedGroups } from './expectedGroups.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { equal } from './reference.ts'

const LAW = announcedRun('groups.prop.ts')
const arena = lawArena(2 ** 28)
const HELD = arena.usedBytes

test('ids count up in order of first appearance, one for equal keys; what was not seen has none', () => {
  fc.assert(
    fc.property(keys, fc.integer({ min: 0, max: 300 }), cuts, ({ type, at }, length, sizes) => {
      const values = Array.from({ length }, (_, i) => at(i))
      const column = columnFromValues(values, type)
      const seen: unknown[] = []
      const expected = values.map((value) => {
        const known = seen.findIndex((other) => equal(other, value))
        return known >= 0 ? known : seen.push(value) - 1
      })
      const half = Math.floor(length / 2)
      const memory = new GroupMemory(arena)
      for (const ids of [new KeyIds(type), new KeyIds(type, arenaTables(memory))]) {
        const firstHalf = pieces(half, sizes).flatMap(([from, to]) => [...ids.encode(sliceColumn(column, from, to))])
        expect(firstHalf).toEqual(expected.slice(0, half))
        const size = ids.size
        expect([...ids.lookUp(column)]).toEqual(expected.map((id) => (id < size ? id : -1)))
        expect(ids.size).toBe(size)
        expect([...ids.encode(column)]).toEqual(expected)
      }
      memory.end()
      expect(arena.usedBytes).toBe(HELD)
    }),
    LAW,
  )
})

test('a table of keys grows, and whole numbers beyond its window are told apart', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 30_000 }),
      fc.constantFrom(1, 3, 65_537, 2 ** 20 + 7),
      fc.integer({ min: -9, max: 9 }),
      (length, stride, first) => {
        const values = Int32Array.from({ length }, (_, i) => Math.imul(i, stride) + first)
        const known = new Map<number, number>()
        const expected = values.map((value) => {
          const id = known.get(value) ?? known.size
          known.set(value, id)
          return id
        })
        const memory = new GroupMemory(arena)
        for (const ids of [new KeyIds({ kind: 'i32' }), new KeyIds({ kind: 'i32' }, arenaTables(memory))]) {
          const encoded = ids.encode({ type: { kind: 'i32' }, length, values }).slice()
          expect(Buffer.compare(Buffer.from(encoded.buffer), Buffer.from(expected.buffer))).toBe(0)
        }
        memory.end()
      },
    ),
    { ...LAW, numRuns: Math.ceil(LAW.numRuns / 10) },
  )
})

const numbers = fc.array(
  fc.oneof(fc.double({ noNaN: true, min: -1e6, max: 1e6 }), fc.constantFrom(0.1, 1e16, -1e16, -0, 1e-300, NaN, Infinity)),
  { minLength: 1, maxLength: 50 },
)
const lengths = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 400 }) },
  { weight: 2, arbitrary: fc.integer({ min: 4_000, max: 9_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 12_000, max: 40_000 }) },
)

const AGGREGATES: readonly Aggregate[] = [
  { name: 'sum', kind: 'sum', column: 0 },
  { name: 'mean', kind: 'mean', column: 0 },
  { name: 'min', kind: 'min', column: 0 },
  { name: 'max', kind: 'max', column: 0 },
  { name: 'count', kind: 'count', column: 0 },
  { name: 'rows', kind: 'count' },
  { name: 'other', kind: 'sum', column: 1 },
  { name: 'least', kind: 'min', column: 1 },
  { name: 'last', kind: 'last', column: 1 },
  { name: 'median', kind: 'quantile', column: 0, q: 0.5 },
  { name: 'most', kind: 'quantile', column: 0, q: 1 },
  { name: 'third', kind: 'quantile', column: 1, q: 1 / 3 },
  { name: 'variance', kind: 'variance', column: 0 },
  { name: 'deviation', kind: 'stddev', column: 1 },
  { name: 'different', kind: 'countDistinct', column: 0 },
]

const reached = new Map<string, number>()

function note(task: StageTask, results: readonly ExecBatch[]): void {
  const how =
    task.kind === 'sort'
      ? `sort ${task.work.kind}`
      : task.kind === 'groupFold'
        ? `fold ${task.part.kind}`
        : task.kind === 'groupCodes'
          ? codesText(task, results)
          : task.kind
  reached.set(how, (reached.get(how) ?? 0) + 1)
}

function codesText({ windows }: Extract<GroupTask, { kind: 'groupCodes' }>, results: readonly ExecBatch[]): string {
  if (windows === undefined) return 'codes hashed'
  return `codes direct${windows.length > 1 ? ' by parts' : ''}${results.length === 0 ? ', a key outside' : ''}`
}

/** With the result in ordinary memory. */
async function resultOf(task: StageTask, arena: SharedArena): Promise<readonly ExecBatch[]> {
  return (await runStageTask(task, { arena, readSplit: () => Promise.resolve([]), sharedFromBytes: Number.POSITIVE_INFINITY })).batches
}

test('groups, however many workers share them, and in whichever way', async () => {
  await fc.assert(
    fc.asyncProperty(
      keys,
      lengths,
      cuts,
      fc.record({
        drawn: numbers,
        nulls: fc.constantFrom(0, 0, 7),
        f32: fc.boolean(),
        workers: fc.integer({ min: 1, max: 3 }),
        rowsPerGroup: fc.constantFrom(0, 0, Number.POSITIVE_INFINITY),
        keysLookedAt: fc.constantFrom(64, 2 ** 16),
        aggregates: fc.oneof({ weight: 4, arbitrary: fc.subarray([...AGGREGATES], { minLength: 1 }) }, fc.constant([])),
        shared: fc.boolean(),
      }),
      async ({ type, at }, length, sizes, { drawn, nulls, f32, workers, rowsPerGroup, keysLookedAt, aggregates, shared }) => {
        const keyValues = Array.from({ length }, (_, i) => at(i))
        const round = (value: number): number => (f32 ? Math.fround(value) : value)
        const x = keyValues.map((_, i) =>
          nulls > 0 && i % nulls === 3 ? null : round((drawn[i % drawn.length] as number) * (1 + (i % 97) / 3)),
        )
        const y = keyValues.map((_, i) => ((i * 7919) % 1001) - 500)
        const columns = [
          columnFromValues(keyValues, type),
          columnFromValues(x, { kind: f32 ? 'f32' : 'f64' }),
          columnFromValues(y, { kind: 'i16' }),
        ].map((column) => (shared ? inShared(column) : column))
        const batches = pieces(length, sizes).map(
          ([from, to]): ExecBatch => hiddenBatch(columns.map((column) => sliceColumn(column, from, to))),
        )
        const blocks: Block[] = []
        const grouped = await groupedRows({ kind: 'HashAggregateExec', aggregates, element: { kind: 'unknown' } }, batches, {
          workers,
          arena,
          hold: (made) => void blocks.push(...made),
          rowsPerGroup,
          keysLookedAt,
          run: async (task) => {
            const results = await resultOf(structuredClone(task), arena)
            note(task, results)
            return results
          },
        })
        const read = rowReader(grouped)
        expect(Array.from({ length: grouped.length }, (_, i) => read(i))).toEqual(expectedGroups(keyValues, [x, y], aggregates))
        for (const { offset } of blocks) arena.free(offset)
        expect(arena.usedBytes).toBe(HELD)
      },
    ),
    LAW,
  )
  // the law means nothing for a way that no case took
  const codes = [
    'codes direct',
    'codes direct, a key outside',
    'codes direct by parts',
    'codes direct by parts, a key outside',
    'codes hashed',
  ]
  for (const how of [...codes, 'fold all', 'fold slots', 'fold rows', 'groupValues', 'groupPlace', 'groupStatistics', 'sort firsts']) {
    expect(reached.get(how) ?? 0, how).toBeGreaterThanOrEqual(Math.floor(LAW.numRuns / (how.endsWith('outside') ? 400 : 100)))
  }
})

/** The values in shared memory, so that slices of them lie end to end. */
function inShared(column: Column): Column {
  const { values, ...rest } = column
  if (values === undefined) return column
  const bytes = new Uint8Array(new SharedArrayBuffer(values.byteLength + 64))
  bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
  const ArrayOfValues = values.constructor as new (buffer: ArrayBufferLike, offset: number, length: number) => NonNullable<Column['values']> // its own class
  return { ...rest, values: new ArrayOfValues(bytes.buffer, 0, values.length) }
}

test('places that take more memory than there is give way to a table of keys', async () => {
  const small = createArena({ budgetBytes: 3 * 2 ** 20 })
  // more than one place in two has a group, so that places are the slots
  const keysOf = Array.from({ length: 30_000 }, (_, i) => ({ a: i % 240, b: (i * 7) % 241 }))
  const type: ColumnType = {
    kind: 'struct',
    fields: ['a', 'b'].map((name) => ({ name, type: { kind: 'i32' }, nullable: false })),
  }
  const x = keysOf.map((_, i) => i / 3)
  const batches = [
    hiddenBatch([columnFromValues(keysOf, type), columnFromValues(x, { kind: 'f64' }), columnFromValues(x, { kind: 'f64' })]),
  ]
  const how: string[] = []
  const grouped = await groupedRows({ kind: 'HashAggregateExec', aggregates: AGGREGATES, element: { kind: 'unknown' } }, batches, {
    workers: 1,
    arena: small,
    hold: () => undefined,
    run: async (task) => {
      how.push(task.kind === 'groupCodes' ? `codes ${task.windows?.length ?? 'hashed'}` : task.kind)
      return await resultOf(task, small)
    },
  })
  expect(how.slice(0, 2)).toEqual(['codes 2', 'groupFold'])
  expect(how).toContain('codes hashed')
  const read = rowReader(grouped)
  expect(Array.from({ length: grouped.length }, (_, i) => read(i))).toEqual(expectedGroups(keysOf, [x, x], AGGREGATES))
  expect(small.usedBytes).toBe(0)
})

test('where the memory has no room for a table of keys, its groups are the same', () => {
  const full = createArena({ budgetBytes: 2 ** 16 })
  fc.assert(
    fc.property(keys, fc.integer({ min: 1, max: 12_000 }), cuts, ({ type, at }, length, sizes) => {
      const column = columnFromValues(
        Array.from({ length }, (_, i) => at(i)),
        type,
      )
      const batches = pieces(length, sizes).map(([from, to]) => hiddenBatch([sliceColumn(column, from, to)]))
      const groups = rangeGroups({ kind: 'groupCodes', batches, type }, arena)
      expect(rangeGroups({ kind: 'groupCodes', batches, type }, full)).toEqual(groups)
      const windows = windowsOf([column], type)
      // places that there is no room for: the keys are hashed instead
      if (windows !== undefined && placesIn(windows) > 2 ** 14) {
        expect(rangeGroups({ kind: 'groupCodes', batches, type, windows }, full)).toBeUndefined()
      }
      expect(full.usedBytes).toBe(0)
    }),
    { ...LAW, numRuns: Math.ceil(LAW.numRuns / 4) },
  )
})
