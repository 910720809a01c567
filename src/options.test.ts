/**
 * No option is swallowed: every public method that takes options refuses one that it does not know. Methods are listed
 * from the classes themselves, so that a new one without an entry here fails; so does one, or an option, that the
 * documents do not show.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { DistArray } from './core/arrays/distArray.ts'
import { PlanError } from './core/errors.ts'
import type { Accumulator } from './core/loop/accumulator.ts'
import * as library from './index.ts'
import { Session } from './session/session.ts'
import * as testing from './testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-options-'))
const session = await Session.start({ workers: 1, memory: '64MB', progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})
const file = join(folder, 'a.csv')
writeFileSync(file, 'a,b\n1,2\n')

interface Row {
  readonly a: number
  readonly name: string
}
const table = session.fromRows<Row>([
  { a: 1, name: 'x' },
  { a: 2, name: 'y' },
])
const matrix = session.zeros([2, 2])
const space = session.range(2)
const loop = session.loop(space, { matrix }, () => {})
const wrong = { misspelt: true } as never

/** `none`: the method takes no options. Otherwise a call with one that there is not, and what the message calls the method. */
type Entry = 'none' | ((...args: never[]) => unknown)

const ARRAY: Readonly<Record<string, Entry>> = {
  map: () => table.map((r) => r.a, wrong),
  filter: () => table.filter((r) => r.a > 1, wrong),
  flatMap: () => table.flatMap((r) => [r.a], wrong),
  mapPartitions: 'none',
  withColumns: () => table.withColumns((r) => ({ b: r.a }), wrong),
  select: 'none',
  rename: 'none',
  drop: 'none',
  fillNull: 'none',
  agg: 'none',
  index: () => table.index((r) => [r.a], wrong),
  groupBy: () => table.groupBy((r) => r.a, wrong),
  join: () => table.join(table, 'a', wrong),
  joinAsof: () => table.joinAsof(table, wrong),
  pivot: () => table.pivot({ rows: [], columns: 'a', agg: 'count', names: [1], ...(wrong as object) }),
  unpivot: () => table.unpivot({ columns: ['a'], ...(wrong as object) }),
  sortBy: () => table.sortBy((r) => r.a, wrong),
  window: () => table.window(wrong, { n: library.rowNumber() }),
  distinct: () => table.distinct(wrong),
  union: () => table.union(table, { columns: 'all', ...(wrong as object) }),
  sample: () => table.sample(0.5, wrong),
  limit: () => table.limit(1, wrong),
  tail: 'none',
  repartition: () => table.repartition(wrong),
  shuffleKeys: () => matrix.shuffleKeys(wrong),
  cast: 'none',
  materialize: 'none',
  release: 'none',
  at: 'none',
  row: 'none',
  slice: 'none',
  set: 'none',
  assign: 'none',
  update: 'none',
  buffer: () => matrix.buffer(wrong),
  collect: () => table.collect(wrong),
  take: 'none',
  first: 'none',
  count: 'none',
  reduce: 'none',
  sum: 'none',
  min: 'none',
  max: 'none',
  mean: 'none',
  forEach: 'none',
  shape: 'none',
  toArrow: 'none',
  toTypedArray: 'none',
  batches: 'none',
  writeParquet: () => table.writeParquet(join(folder, 'x'), wrong),
  writeArrow: () => table.writeArrow(join(folder, 'x'), wrong),
  writeCsv: () => table.writeCsv(join(folder, 'x'), wrong),
  writeNdjson: () => table.writeNdjson(join(folder, 'x'), wrong),
  save: () => matrix.save(join(folder, 'x'), wrong),
  writeNpy: () => matrix.writeNpy(join(folder, 'x'), wrong),
  schema: 'none',
  explain: () => table.explain(wrong),
  preview: 'none',
  describe: 'none',
  // of views in bodies
  get: 'none',
  add: 'none',
  has: 'none',
}
const SESSION: Readonly<Record<string, Entry>> = {
  stop: 'none',
  readParquet: () => session.readParquet(file, wrong),
  readArrow: () => session.readArrow(file, wrong),
  readCsv: () => session.readCsv(file, wrong),
  readNdjson: () => session.readNdjson(file, wrong),
  readText: () => session.readText(file, wrong),
  readFiles: () => session.readFiles(file, { name: 'x', open: () => ({ columns: {}, pieces: [] }), read: () => [] }, wrong),
  load: () => session.load(file, wrong),
  readNpy: () => session.readNpy(file, wrong),
  table: () => session.table('sales', wrong),
  fromRows: () => session.fromRows([1], wrong),
  fromColumns: 'none',
  fromArrow: 'none',
  fromBatches: () => session.fromBatches([], wrong as never),
  zeros: () => session.zeros([2], wrong),
  fill: () => session.fill([2], 1, wrong),
  random: () => session.random([2], wrong),
  sparse: () => session.sparse([2], wrong),
  fromTypedArray: 'none',
  range: 'none',
  accumulator: () => session.accumulator({ init: 0, combine: (a: number, b: number) => a + b, misspelt: true } as never),
  rng: 'none',
  loop: () => session.loop(space, {}, () => {}, wrong),
  parallelFor: () => session.parallelFor(space, {}, () => {}, wrong),
}
const LOOP: Readonly<Record<string, Entry>> = {
  plan: 'none',
  explain: () => loop.explain(wrong),
  run: () => loop.run(wrong),
  passes: async () => {
    for await (const _ of loop.passes(1, wrong)) return
  },
  serialOrder: 'none',
  simulate: () => loop.simulate(wrong as never),
  verify: 'none',
}
const GROUPED: Readonly<Record<string, Entry>> = { agg: 'none', reduce: 'none', map: 'none', count: 'none' }
const STATIC: Readonly<Record<string, Entry>> = { start: () => Session.start(wrong) }
const TESTING: Readonly<Record<string, Entry>> = {
  schemas: () => testing.schemas(wrong),
  tables: () => testing.tables(wrong),
  arrays: () => testing.arrays(wrong),
  arrowSchemaOf: 'none',
  arrayEquals: () => testing.arrayEquals([1], [1], wrong),
  tableEquals: () => testing.tableEquals([], [], wrong),
  plans: () => testing.plans(wrong),
  loopBodies: () => testing.loopBodies(wrong),
  assertParallel: 'none',
  expectSerialEqualsParallel: () => testing.expectSerialEqualsParallel(() => 1, wrong),
}
const AGGREGATES = [
  ...[
    'aggregate',
    'all',
    'any',
    'approxCountDistinct',
    'approxMedian',
    'approxQuantile',
    'argMax',
    'argMin',
    'collect',
    'correlation',
    'count',
    'countDistinct',
    'covariance',
    'first',
    'kurtosis',
    'last',
  ],
  ...['max', 'mean', 'median', 'min', 'mode', 'quantile', 'skew', 'stddev', 'sum', 'variance'],
]
const TIMES = ['bucket', 'duration', 'formatTime', 'parseTime']
const WINDOWS = ['denseRank', 'firstValue', 'lag', 'lastValue', 'lead', 'ntile', 'percentRank', 'rank', 'rowNumber']
const CLASSES = [
  'DistArray',
  'Session',
  'Bug',
  'CheckpointError',
  'GangError',
  'LoopError',
  'MemoryError',
  'PlanError',
  'SourceError',
  'SpillError',
  'TaskError',
  'interfaceOf',
]

const EVERY = { ...ARRAY, ...SESSION, ...LOOP, ...GROUPED, ...STATIC }

const namesOf = (holder: object): string[] => Object.getOwnPropertyNames(holder).filter((name) => name !== 'constructor')
const chainOf = (prototype: object): readonly object[] =>
  prototype === Object.prototype ? [] : [prototype, ...chainOf(Object.getPrototypeOf(prototype) as object)]
const methodsOf = (holder: object): string[] => namesOf(holder).filter((name) => !['length', 'name', 'prototype'].includes(name))

test('every public method has an entry', () => {
  const sorted = (names: readonly string[]): string[] => [...names].sort()
  // with those that a handle has of what it is made upon
  expect([...new Set(sorted(chainOf(DistArray.prototype).flatMap(namesOf)))]).toEqual(sorted(Object.keys(ARRAY)))
  expect(sorted(namesOf(Session.prototype))).toEqual(sorted(Object.keys(SESSION)))
  expect(sorted(namesOf(Object.getPrototypeOf(loop) as object))).toEqual(sorted(Object.keys(LOOP)))
  expect(sorted(namesOf(table.groupBy((r) => r.a)))).toEqual(sorted(Object.keys(GROUPED)))
  expect(sorted(methodsOf(Session))).toEqual(sorted(Object.keys(STATIC)))
  expect(sorted(Object.keys(testing))).toEqual(sorted(Object.keys(TESTING)))
  expect(sorted(Object.keys(library))).toEqual(sorted([...AGGREGATES, ...WINDOWS, ...TIMES, ...CLASSES]))
})

/** A call as JavaScript allows it. */
function loose(receiver: object, method: string, ...args: readonly unknown[]): unknown {
  return (Reflect.get(receiver, method) as (...args: unknown[]) => unknown).apply(receiver, [...args])
}

async function errorOf(ask: () => unknown): Promise<unknown> {
  try {
    await ask()
    return 'nothing was thrown'
  } catch (error) {
    return error
  }
}

describe.each([
  ['DistArray', ARRAY],
  ['Session', SESSION],
  ['Loop', LOOP],
  ['Session', STATIC],
  ['distarray/testing', TESTING],
])('%s', (holder, entries) => {
  const calls = Object.entries(entries).flatMap(([name, entry]) => (entry === 'none' ? [] : [[name, entry] as const]))
  test.each(calls)('%s refuses an option that there is not', async (name, call) => {
    const error = await errorOf(call)
    expect(error).toBeInstanceOf(PlanError)
    const method = name === 'start' ? `${holder}.start()` : `${name}()`
    expect((error as Error).message).toMatch(`${method} has no option "misspelt". Its options are `)
  })
})

test.each<[string, () => unknown, string]>([
  [
    'descending has other names elsewhere',
    () => table.sortBy((r) => r.a, { desc: true } as never),
    'sortBy() has no option "desc". Did you mean "descending"? Its options are descending, env.',
  ],
  [
    'ascending is the opposite',
    () => table.sortBy((r) => r.a, { ascending: false } as never),
    'sortBy() has no option "ascending". Did you mean "descending"? Its options are descending, env.',
  ],
  [
    'orders are not mixed',
    () => table.sortBy((r) => [r.name, r.a], { descending: [true, false] } as never),
    'The descending of sortBy() is true or false, for all values of the key; it was given an array.\n' +
      "Give each value its order, as in sortBy([{ by: (row) => row.name }, { by: (row) => row.price, order: 'descending' }]).",
  ],
  [
    'an order that is no boolean',
    () => table.sortBy((r) => r.a, { descending: 'yes' } as never),
    'The descending of sortBy() is true or false; it was given "yes".',
  ],
  [
    'nulls',
    () => table.sortBy((r) => r.a, { nulls: 'first' } as never),
    'sortBy() has no option "nulls". Nulls come last unless a key says otherwise, as in sortBy([{ by: (row) => row.price, nulls: \'first\' }]). Its options are descending, env.',
  ],
  [
    'what to cut by',
    () => table.repartition({ partitionBy: (r: Row) => r.a } as never),
    'repartition() has no option "partitionBy". Did you mean "by"? Its options are partitions, by.',
  ],
  [
    'the delimiter',
    () => session.readCsv(file, { sep: ';' } as never),
    'readCsv() has no option "sep". Did you mean "delimiter"? Its options are delimiter, header, types, quote, comment, skip, nullValues, decimal, partitions, expect, signal, timeoutMs, headers, retries, s3.',
  ],
  [
    'workers',
    () => Session.start({ threads: 2 } as never),
    'Session.start() has no option "threads". Did you mean "workers"? Its options are workers, memory, seed, progress, checkRaces, require, checkpoint, spillFolder, tables, fallback.',
  ],
  [
    'what to join on',
    () => table.join(table, 'a', { on: 'a' } as never),
    'join() has no option "on". What to join on is the second argument, as in join(other, \'id\'). Its options are how, suffix.',
  ],
  ['a suffix that is none', () => table.join(table, 'a', { suffix: 1 } as never), 'The suffix of join() is a string; it was given 1.'],
  [
    'options of both',
    () => session.parallelFor(space, {}, () => {}, { epochs: 2 } as never),
    'parallelFor() has no option "epochs". Did you mean "passes"? Its options are order, precision, require, partitions, balance, assume, checkRaces, atomic, name, passes, signal.',
  ],
  [
    'groups by an axis',
    () => matrix.groupBy({ axis: 0, axes: [1] } as never),
    'groupBy() has no option "axes". Did you mean "axis"? Its options are axis.',
  ],
  [
    'an env of an axis',
    () => loose(matrix, 'groupBy', { axis: 0 }, { env: { rate: 2 } }),
    'groupBy() by an axis has no option "env". It takes none.',
  ],
  [
    'options that are no object',
    () => table.sortBy((r) => r.a, true as never),
    'The options of sortBy() are an object; it was given true.',
  ],
  ['options in a list', () => table.sample(0.5, [1] as never), 'The options of sample() are an object; it was given an array.'],
  [
    'an accumulator without a start',
    () => session.accumulator({ combine: (a: number) => a } as never),
    'accumulator() needs an init, which counts once, as in accumulator({ init: 1, combine: (a, b) => a * b }).',
  ],
  ['a shape that is none', () => table.index((r) => [r.a], { shape: 3 } as never), 'The shape of index() is an array; it was given 3.'],
  [
    'sortBy of a name',
    () => table.sortBy('a' as never),
    'sortBy() takes a function of (value); it was given "a".\nWrite sortBy((row) => row.a).',
  ],
  [
    'sortBy of names',
    () => table.sortBy(['name', 'a'] as never),
    'sortBy() takes a function of (value); it was given an array.\nWrite sortBy((row) => [row.name, row.a]).',
  ],
  [
    'sortBy of a value and its order',
    () => table.sortBy({ by: (r: { a: number }) => r.a, order: 'descending' } as never),
    "sortBy() takes a function, or a list of values with an order each; it was given one of such values without its list.\nWrite sortBy([{ by: (row) => row.price, order: 'descending' }]).",
  ],
  [
    'sortBy of a comparison',
    () => table.sortBy(((a: { a: number }, b: { a: number }) => a.a - b.a) as never),
    'sortBy() takes a function of one row, which returns what to sort by; it was given one of two, which compares rows.\n' +
      "Write sortBy((row) => row.price), or where larger ones come first sortBy([{ by: (row) => row.price, order: 'descending' }]).",
  ],
  [
    'sortBy of a comparison in a list',
    () => table.sortBy([{ by: (a: { a: number }, b: { a: number }) => b.a - a.a }] as never),
    'sortBy() takes a function of one row, which returns what to sort by; it was given one of two, which compares rows.\n' +
      "Write sortBy((row) => row.price), or where larger ones come first sortBy([{ by: (row) => row.price, order: 'descending' }]).",
  ],
  [
    'an orderBy that is a value and its order',
    () => table.window({ orderBy: { by: (r: { a: number }) => r.a, order: 'descending' } } as never, { n: library.rowNumber() }),
    'The orderBy of window() takes a function, or a list of values with an order each; it was given one of such values without its list.\n' +
      "Write orderBy: [{ by: (row) => row.price, order: 'descending' }].",
  ],
  [
    'an orderBy that compares',
    () => table.window({ orderBy: (a: { a: number }, b: { a: number }) => a.a - b.a } as never, { n: library.rowNumber() }),
    'The orderBy of window() takes a function of one row, which returns what to sort by; it was given one of two, which compares rows.\n' +
      "Write orderBy: (row) => row.price, or where larger ones come first orderBy: [{ by: (row) => row.price, order: 'descending' }].",
  ],
  [
    'groupBy of a name',
    () => table.groupBy('a' as never),
    'groupBy() takes a function of (value, key); it was given "a".\nWrite groupBy((row) => row.a).',
  ],
  [
    'groupBy of names',
    () => table.groupBy(['a', 'name'] as never),
    'groupBy() takes a function of (value, key); it was given an array.\nWrite groupBy((row) => ({ a: row.a, name: row.name })).',
  ],
  [
    'filter of a text',
    () => table.filter('a > 1' as never),
    'filter() takes a function of (value, key); it was given "a > 1".\nWrite filter((row) => row.price > 9).',
  ],
  [
    'map of names',
    () => table.map(['a', 'name'] as never),
    "map() takes a function of (value, key); it was given an array.\nWrite select('a', 'name').",
  ],
  [
    'index of a name',
    () => table.index('a' as never),
    'index() takes a function of (value, key); it was given "a".\nWrite index((row) => [row.a]).',
  ],
  [
    'select of a list',
    () => table.select(['a', 'name'] as never),
    "select() takes names of columns, one after another; it was given an array. Write select('a', 'name').",
  ],
  [
    'select of a function',
    () => table.select(((r: Row) => r.a) as never),
    'select() takes names of columns, one after another; it was given a function. For what a function returns use map().',
  ],
  ['join on no column', () => table.join(table, 'nope' as never), 'There is no column "nope" in fromRows. The columns are a, name.'],
  [
    'join on nothing',
    () => table.join(table, undefined as never),
    "join() takes the name of a column of both sides, a list of such, or two functions, as in join(other, 'id'), join(other, ['shop', 'day']) or join(other, { left: (row) => row.id, right: (row) => row.userId }).",
  ],
  [
    'join on two functions, one after the other',
    () => table.join(table, ((row: Row) => row.a) as never, ((row: Row) => row.a) as never),
    "join() takes the name of a column of both sides, a list of such, or two functions, as in join(other, 'id'), join(other, ['shop', 'day']) or join(other, { left: (row) => row.id, right: (row) => row.userId }).",
  ],
  ['join with rows', () => table.join([{ a: 1 }] as never, 'a' as never), 'join() takes another DistArray; it was given an array.'],
  [
    'union of a list',
    () => table.union([table] as never),
    'union() takes another DistArray; it was given an array. Write union(a, b), without a list.',
  ],
  [
    'distinct of a column',
    () => loose(table, 'distinct', 'a'),
    'distinct() takes nothing, or what tells rows apart, as in distinct({ by: (row) => row.id }); it was given "a". For different values of some columns write select(…).distinct().',
  ],
  [
    'count of a predicate',
    () => loose(table, 'count', (r: Row) => r.a > 1),
    'count() takes no arguments, and was given a function. Write filter((row) => …).count().',
  ],
  [
    'first of a predicate',
    () => loose(table, 'first', (r: Row) => r.a > 1),
    'first() takes no arguments, and was given a function. Write filter((row) => …).first(), or take(n).',
  ],
  ['limit from further on', () => loose(table, 'limit', 1, 2), 'The options of limit() are an object; it was given 2.'],
  [
    'sum of a function',
    () => loose(matrix, 'sum', (x: number) => x),
    'sum() takes no arguments, and was given a function. Write map((row) => row.price).sum().',
  ],
  [
    'count of groups',
    () =>
      loose(
        table.groupBy((r) => r.a),
        'count',
        'a',
      ),
    'count() of groups takes no arguments, and was given "a". Write agg({ count: count((row) => row.price) }).',
  ],
])('%s', async (_, ask, message) => {
  const error = await errorOf(ask)
  expect([(error as Error).constructor, (error as Error).message]).toStrictEqual([PlanError, message])
})

test('what is passed on and undefined is not there', async () => {
  expect(await (loose(table, 'limit', 1, undefined) as DistArray<Row>).collect()).toEqual([{ a: 1, name: 'x' }])
  const total: Accumulator<number> = session.accumulator('sum')
  expect(total.value).toBe(0)
})

describe('docs/tables.md, docs/files.md, docs/loops.md, docs/bodies.md and docs/testing.md', () => {
  const text = (): string =>
    ['tables', 'files', 'loops', 'bodies', 'testing']
      .map((name) => readFileSync(new URL(`../docs/${name}.md`, import.meta.url), 'utf8'))
      .join()
  const missing = (names: Iterable<string>, shown: (name: string) => RegExp): string[] => {
    const pages = text()
    return [...new Set(names)].filter((name) => !shown(name).test(pages))
  }

  test('show every public method and function', () => {
    expect(missing(Object.keys(EVERY), (name) => new RegExp(`\\.${name}\\b`))).toEqual([])
    expect(missing([...AGGREGATES, ...WINDOWS, ...Object.keys(TESTING)], (name) => new RegExp(`\\b${name}\\(`))).toEqual([])
  })
  test('name every option', async () => {
    const names: string[] = []
    for (const entry of Object.values({ ...EVERY, ...TESTING })) {
      if (entry === 'none') continue
      const [, list = ''] = /Its options are (.*)\.$/.exec(((await errorOf(entry)) as Error).message) ?? []
      names.push(...list.split(', '))
    }
    expect(names.length).toBeGreaterThan(40)
    expect(missing(names, (name) => new RegExp(`\\b${name}:|\`${name}\`|[{,] ${name}[ ,]`))).toEqual([])
  })
})
