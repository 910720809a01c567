/**
 * Laws 1 and 9 for groups: ids of keys, and group-by shared by workers in every way there is, give what the dullest
 * grouping gives; sums with the bits of the fixed tree.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Column, isValid } from '../src/core/data/column.ts'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { rowReader } from '../src/core/data/columnReaders.ts'
import { sliceColumn } from '../src/core/data/columnSlices.ts'
import type { ColumnType } from '../src/core/data/schema.ts'
import { distinctKernel } from '../src/exec/kernels/tables/partitionKernels.ts'
import { createArena, type SharedArena } from '../src/exec/memory/sharedArena.ts'
import type { Block } from '../src/exec/tables/block.ts'
import { arenaKernel } from '../src/exec/tables/operators/arenaKernels.ts'
import { concatBatches, type ExecBatch, hiddenBatch } from '../src/exec/tables/operators/batches.ts'
import { GroupMemory } from '../src/exec/tables/operators/groupBy/groupMemory.ts'
import { runPartitionTask } from '../src/exec/tables/operators/groupBy/partitionTask.ts'
import { tableSlots } from '../src/exec/tables/operators/groupBy/radixPartitions.ts'
import { arenaTables } from '../src/exec/tables/operators/hashing/arenaIds.ts'
import { KeyIds } from '../src/exec/tables/operators/hashing/keyIds.ts'
import { runWide } from '../src/exec/tables/operators/index.ts'
import type { StageTask } from '../src/exec/tables/stage.ts'
import { runStageTask } from '../src/exec/tables/stageTask.ts'
import { groupedRows } from '../src/exec/tables/wide/groupRun.ts'
import { comparedColumn } from '../src/exec/tables/wide/wantedFolds.ts'
import type { Aggregate } from '../src/planner/physical/physicalPlan.ts'
import { cuts, keys, pieces } from './arbitraries/keys.ts'
import { expectedGroups } from './expectedGroups.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'
import { equal } from './reference.ts'

const LAW = announcedRun('groups.prop.ts')
const arena = lawArena(2 ** 28)
const HELD = arena.usedBytes

/** The type with another logical type, where it has one. */
function ofFile(type: ColumnType): ColumnType {
  if (type.kind === 'utf8') return { kind: 'utf8', category: 'i16' }
  return type.kind === 'f64' ? { kind: 'f64', integers: 'i64' } : type
}

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
        // a file may number its texts, or have 64-bit integers
        expect([...ids.encode({ ...column, type: ofFile(type) })]).toEqual(expected)
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
  { name: 'keyed', kind: 'count', column: 3 },
  { name: 'told', kind: 'count', column: 2 },
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
  { name: 'often', kind: 'mode', column: 0 },
  { name: 'skewed', kind: 'skew', column: 1 },
  { name: 'peaked', kind: 'kurtosis', column: 0 },
  { name: 'together', kind: 'covariance', column: 0, second: 1 },
  { name: 'alike', kind: 'correlation', column: 1, second: 0 },
  { name: 'where', kind: 'argMin', column: 1, second: 0 },
  { name: 'at', kind: 'argMax', column: 0, second: 1 },
  { name: 'some', kind: 'any', column: 2 },
  { name: 'every', kind: 'all', column: 2 },
  { name: 'list', kind: 'collect', column: 0 },
  { name: 'truths', kind: 'collect', column: 2 },
  { name: 'keys', kind: 'collect', column: 3 },
]

const reached = new Map<string, number>()

function note(task: StageTask): void {
  const how =
    task.kind === 'sort'
      ? `sort ${task.work.kind}`
      : task.kind === 'partition'
        ? `${task.work.kind}${'how' in task.work ? ` ${task.work.how.kind}` : ''}`
        : task.kind
  reached.set(how, (reached.get(how) ?? 0) + 1)
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
        partitionRows: fc.constantFrom(8, 256, 2 ** 15),
        keysLookedAt: fc.constantFrom(64, 2 ** 16),
        aggregates: fc.oneof({ weight: 4, arbitrary: fc.subarray([...AGGREGATES], { minLength: 1 }) }, fc.constant([])),
        inArena: fc.boolean(),
      }),
      async ({ type, at }, length, sizes, { drawn, nulls, f32, workers, partitionRows, keysLookedAt, aggregates, inArena }) => {
        const keyValues = Array.from({ length }, (_, i) => at(i))
        const round = (value: number): number => (f32 ? Math.fround(value) : value)
        const x = keyValues.map((_, i) =>
          nulls > 0 && i % nulls === 3 ? null : round((drawn[i % drawn.length] as number) * (1 + (i % 97) / 3)),
        )
        const y = keyValues.map((_, i) => ((i * 7919) % 1001) - 500)
        const z = y.map((value, i) => (nulls > 0 && i % nulls === 2 ? null : Number(value % 3 === 0)))
        const columns = [
          columnFromValues(keyValues, type),
          columnFromValues(x, { kind: f32 ? 'f32' : 'f64' }),
          columnFromValues(y, { kind: 'i16' }),
          columnFromValues(
            z.map((value) => (value === null ? null : value === 1)),
            { kind: 'bool' },
          ),
          columnFromValues(keyValues, type),
        ].map((column) => (inArena ? inShared(column) : column))
        const batches = pieces(length, sizes).map(
          ([from, to]): ExecBatch => hiddenBatch(columns.map((column) => sliceColumn(column, from, to))),
        )
        const blocks: Block[] = []
        const operator = { kind: 'HashAggregateExec', aggregates, element: { kind: 'unknown' } } as const
        const shared = await groupedRows(operator, batches, {
          workers,
          arena,
          hold: (made) => void blocks.push(...made),
          partitionRows,
          keysLookedAt,
          run: async (task) => {
            note(task)
            return await resultOf(structuredClone(task), arena)
          },
        })
        if (shared === undefined) reached.set('one task', (reached.get('one task') ?? 0) + 1)
        const grouped = shared ?? runWide(operator, [concatBatches(batches)])[0]
        const read = rowReader(grouped as ExecBatch)
        expect(Array.from({ length: grouped?.length ?? 0 }, (_, i) => read(i))).toEqual(
          expectedGroups(keyValues, [x, y, z, keyValues], aggregates),
        )
        for (const { offset } of blocks) arena.free(offset)
        expect(arena.usedBytes).toBe(HELD)
      },
    ),
    LAW,
  )
  // the law means nothing for a way that no case took
  const codes = ['codes placed', 'codes hashed', 'groups placed', 'groups hashed', 'one task']
  for (const how of [...codes, 'scatter', 'ranks', 'folds', 'lists', 'groupValues', 'sort gather', 'together']) {
    expect(reached.get(how) ?? 0, how).toBeGreaterThanOrEqual(Math.floor(LAW.numRuns / 100))
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

test('keys of one hash are told apart by what they are, and so are values of a group', () => {
  fc.assert(
    fc.property(keys, fc.integer({ min: 1, max: 60 }), ({ type, at }, length) => {
      const column = columnFromValues(
        Array.from({ length }, (_, i) => at(i)),
        type,
      )
      const memory = new GroupMemory(arena)
      try {
        const part = comparedColumn(column, memory)
        if (part === undefined) return
        const room = (words: number): number => memory.block(4 * words)
        const [rows, codes, firsts, counts, sizes] = [room(length), room(length), room(length), room(length), room(1)]
        memory.integers(rows, length).set(Int32Array.from({ length }, (_, i) => i))
        const starts = Int32Array.of(0, length)
        const own = { table: room(tableSlots(length)), hashes: room(length), flags: memory.block(length) }
        const partitions = { claims: room(1), starts, rows, codes, firsts, counts, sizes }
        runPartitionTask(
          { kind: 'partition', work: { kind: 'groups', how: { kind: 'hashed', parts: [part] }, ...partitions, ...own } },
          arena,
        )
        const expected = [...new KeyIds(type).encode(column)]
        expect([...memory.integers(codes, length)]).toEqual(expected)
        expect([...memory.integers(counts, length)]).toEqual(expected.map((_, id) => expected.filter((other) => other === id).length))
        // all rows as one group: null is no value
        const [ones, found, table] = [room(length), room(1), room(tableSlots(length))]
        const { form, nullable, values, offsets, bits } = part
        const different = arenaKernel(arena, `distinct in a law ${form} ${nullable}`, () => distinctKernel({ form, nullable }))
        different(rows, ones, 0, length, tableSlots(length) - 1, table, ones, found, values, offsets, bits)
        const present = expected.filter((_, i) => isValid(column, i))
        expect(memory.integers(found, 1)[0]).toBe(new Set(present).size)
      } finally {
        memory.end()
      }
    }),
    LAW,
  )
})

test('where memory is short there is no result, and nothing is left in memory', async () => {
  const keysOf = Array.from({ length: 30_000 }, (_, i) => i % 7000)
  const columns = [
    columnFromValues(keysOf, { kind: 'i32' }),
    columnFromValues(keysOf, { kind: 'f64' }),
    columnFromValues(keysOf, { kind: 'f64' }),
    columnFromValues(
      keysOf.map((value) => value > 0),
      { kind: 'bool' },
    ),
    columnFromValues(keysOf.map(String), { kind: 'utf8' }),
  ]
  const operator = { kind: 'HashAggregateExec', aggregates: AGGREGATES, element: { kind: 'unknown' } } as const
  const outcomes = new Set<boolean>()
  for (let bytes = 2 ** 16; bytes <= 2 ** 23; bytes *= 1.5) {
    const small = createArena({ budgetBytes: Math.floor(bytes) })
    const blocks: Block[] = []
    const grouped = await groupedRows(operator, [hiddenBatch(columns)], {
      workers: 2,
      arena: small,
      hold: (made) => void blocks.push(...made),
      run: (task) => resultOf(task, small),
    })
    outcomes.add(grouped === undefined)
    for (const { offset } of blocks) small.free(offset)
    expect(small.usedBytes).toBe(0)
  }
  expect(outcomes.size).toBe(2)
})
