/** What is done with a table by names of columns, by all of its rows, or by the rows of another. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import {
  all,
  any,
  argMax,
  argMin,
  collect,
  correlation,
  count,
  covariance,
  first,
  kurtosis,
  max,
  mean,
  mode,
  PlanError,
  rowNumber,
  Session,
  skew,
  sum,
  TaskError,
} from './index.ts'

const session = await Session.start({ workers: 2, memory: '128MB', progress: false })
const folder = mkdtempSync(join(tmpdir(), 'distarray-operations-'))
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

interface Reading {
  readonly id: number
  readonly day: string
  readonly value: number | null
  readonly at: Date | null
}
const readings = session.fromRows<Reading>([
  { id: 1, day: 'mo', value: null, at: new Date(0) },
  { id: 2, day: 'tu', value: 3, at: null },
  { id: 3, day: 'mo', value: null, at: null },
])

function messageOf(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    if (error instanceof PlanError) return error.message
    throw error
  }
  return 'nothing thrown'
}

describe('columns by name', () => {
  test('rename keeps the places, drop the order', async () => {
    const renamed = readings.rename({ day: 'weekday', id: 'key' })
    expect(Object.keys((await renamed.first()) ?? {})).toEqual(['key', 'weekday', 'value', 'at'])
    expect(await readings.drop('value', 'at').collect()).toEqual([
      { id: 1, day: 'mo' },
      { id: 2, day: 'tu' },
      { id: 3, day: 'mo' },
    ])
    // two may change their names
    expect(
      await readings
        .rename({ id: 'value', value: 'id' })
        .map((r) => r.id)
        .collect(),
    ).toEqual([null, 3, null])
  })

  test('what they refuse', () => {
    const opaque = readings.map((r) => JSON.parse(JSON.stringify(r)) as { id: number })
    expect(messageOf(() => readings.rename({ day: 'id' }))).toBe(
      'rename() would call two columns "id": "id" and "day".\nGive one of them another name, or take it away first, as in drop(\'id\').',
    )
    expect(messageOf(() => readings.rename({ da: 'x' } as never))).toBe(
      'There is no column "da" in fromRows. Did you mean "day"? The columns are id, day, value, at.',
    )
    expect(messageOf(() => readings.rename({ day: 3 } as never))).toBe(
      'rename() gives a column another name, as in rename({ old: \'new\' }); "day" was given 3.',
    )
    expect(messageOf(() => readings.rename('day' as never))).toBe(
      'rename() takes an object of columns, as in rename({ old: \'new\' }); it was given "day".',
    )
    expect(messageOf(() => opaque.rename({ id: 'x' }))).toBe(
      "rename() has to know the columns, and neither what a function returns that runs as JavaScript nor what fromRows() has without rows is known before the run.\nName the columns first, as in select('id', 'price').",
    )
    expect(messageOf(() => session.fromRows([1, 2]).drop('value' as never))).toBe(
      'drop() works on rows with columns; the elements of this array are f64.\nMake rows of them first, as in map((value) => ({ value })).',
    )
    expect(messageOf(() => readings.select('id').drop('id'))).toBe(
      'drop() would leave no column.\nKeep one, or count the rows with count().',
    )
    expect(messageOf(() => readings.drop())).toBe("drop() needs at least one column, as in drop('id').")
    expect(messageOf(() => readings.drop(['id'] as never))).toBe(
      "drop() takes names of columns, one after another, as in drop('id', 'price'); it was given an array.",
    )
  })

  test('nulls are filled with values, and with those of neighbours', async () => {
    const values = (table: { collect(): Promise<readonly { value: number | null }[]> }) =>
      table.collect().then((rows) => rows.map(({ value }) => value))
    expect(await values(readings.fillNull({ value: 0 }))).toEqual([0, 3, 0])
    expect(await values(readings.fillNull({ value: 'previous' }))).toEqual([null, 3, 3])
    expect(await values(readings.fillNull({ value: 'next' }))).toEqual([3, 3, null])
    const filled = await readings.fillNull({ at: new Date(7) }).collect()
    expect(filled.map(({ at }) => at.getTime())).toEqual([0, 7, 7])
    expect(messageOf(() => readings.fillNull({ value: 'zero' as never }))).toBe(
      'fillNull() takes a number, \'previous\' or \'next\' for "value", whose values are f64; it was given "zero".',
    )
    const lists = session.fromRows([{ tags: ['a'] as string[] | null }])
    expect(messageOf(() => lists.fillNull({ tags: [] }))).toBe(
      'fillNull() has no value for "tags", whose values are list<utf8>; it was given an array.\nWrite withColumns((row) => ({ tags: row.tags ?? … })).',
    )
  })

  test('a union of differing columns', async () => {
    const others = session.fromRows([{ id: 9, note: 'x' }])
    expect(await readings.select('id', 'day').limit(1).union(others, { columns: 'all' }).collect()).toEqual([
      { id: 1, day: 'mo', note: null },
      { id: 9, day: null, note: 'x' },
    ])
    expect(messageOf(() => readings.union(others as never, { columns: 'some' as never }))).toBe(
      'The columns of union() is one of \'all\'; it was given "some".',
    )
  })
})

describe('all rows', () => {
  test('agg is one row, of no rows as well', async () => {
    const aggregates = {
      n: count(),
      total: sum((r: Reading) => r.value),
      mean: mean((r: Reading) => r.value),
      days: collect((r: Reading) => r.day),
    }
    expect(await readings.agg(aggregates).collect()).toEqual([{ n: 3, total: 3, mean: 3, days: ['mo', 'tu', 'mo'] }])
    expect(
      await readings
        .filter((r) => r.id > 9)
        .agg(aggregates)
        .collect(),
    ).toEqual([{ n: 0, total: 0, mean: null, days: [] }])
    const opaque = readings.map((r) => JSON.parse(JSON.stringify(r)) as Reading).filter((r) => r.id > 9)
    expect(await opaque.agg({ n: count(), last: max((r) => r.id), day: first((r) => r.day) }).collect()).toEqual([
      { n: 0, last: null, day: null },
    ])
    expect(messageOf(() => readings.agg({}))).toBe('agg() needs at least one aggregate, as in agg({ n: count() }).')
  })

  test('a name may be empty', async () => {
    expect(await readings.agg({ '': count() }).collect()).toEqual([{ '': 3 }])
    const named = readings.withColumns(() => ({ kind: '' }))
    expect(await named.pivot({ rows: [], columns: 'kind', agg: 'count', names: [''] }).collect()).toEqual([{ '': 3 }])
  })

  test('the bits of a sum are those of sum()', async () => {
    const numbers = session.fromColumns({ x: Float64Array.from({ length: 100_000 }, (_, i) => Math.sin(i) * 10 ** (i % 7)) })
    const [row] = await numbers.agg({ total: sum((r) => r.x) }).collect()
    expect(row?.total).toBe(await numbers.map((r) => r.x).sum())
  })

  test('limit with an offset, and tail', async () => {
    const ids = (table: { map(f: (r: Reading) => number): { collect(): Promise<number[]> } }) => table.map((r) => r.id).collect()
    expect(await ids(readings.limit(1, { offset: 1 }))).toEqual([2])
    expect(await ids(readings.limit(9, { offset: 2 }))).toEqual([3])
    expect(await ids(readings.limit(9, { offset: 3 }))).toEqual([])
    expect(await ids(readings.tail(2))).toEqual([2, 3])
    expect(await ids(readings.filter((r) => r.id !== 2).tail(9))).toEqual([1, 3])
    expect(await readings.tail(0).count()).toBe(0)
    expect(messageOf(() => readings.limit(1, { offset: -1 }))).toBe('The offset of limit() is an integer of at least 0; it was given -1.')
    expect(messageOf(() => readings.tail(0.5))).toBe('The number of elements of tail() is an integer of at least 0; it was given 0.5.')
  })

  test('tail of a file reads its last pieces alone', async () => {
    const file = join(folder, 'rows.parquet')
    await session.fromColumns({ id: Int32Array.from({ length: 10_000 }, (_, i) => i) }).writeParquet(file, { rowGroupRows: 1000 })
    const table = await session.readParquet<{ id: number }>(file)
    expect(
      await table
        .tail(1500)
        .map((r) => r.id)
        .take(2),
    ).toEqual([8500, 8501])
    expect(await table.tail(3).collect()).toEqual([{ id: 9997 }, { id: 9998 }, { id: 9999 }])
    const explained = await table.tail(3).explain({ analyze: true })
    expect(explained).toContain('OffsetExec to the last 3')
  })

  test('sample of so many elements has them in their order, and the same ones for the same seed', async () => {
    const ids = session.fromColumns({ id: Int32Array.from({ length: 100 }, (_, i) => i) }).map((r) => r.id)
    const some = await ids.sample({ n: 5, seed: 1 }).collect()
    expect(some).toEqual([2, 33, 47, 48, 75])
    expect(await ids.sample({ n: 5, seed: 2 }).collect()).not.toEqual(some)
    expect(await ids.sample({ n: 200, seed: 1 }).count()).toBe(100)
    expect(await ids.sample({ n: 0 }).collect()).toEqual([])
    // arrays with keys keep them
    const keyed = ids.index((id) => [2 * id])
    expect(
      await keyed
        .sample({ n: 2, seed: 1 })
        .map((id, [key]) => [id, key])
        .collect(),
    ).toEqual([
      [48, 96],
      [75, 150],
    ])
    expect(ids.sample({ n: 5, seed: 1 }).explain()).toContain('PartialDrawExec 5 seed 1\n  stage 1: stage 0 -> ExchangeExec -> DrawExec 5')
  })

  test('distinct by a value keeps the first or the last row of each', async () => {
    expect(
      await readings
        .distinct({ by: (r) => r.day })
        .map((r) => r.id)
        .collect(),
    ).toEqual([1, 2])
    expect(
      await readings
        .distinct({ by: (r) => r.day, keep: 'last' })
        .map((r) => r.id)
        .collect(),
    ).toEqual([2, 3])
    expect(messageOf(() => readings.distinct({ by: (r) => r.day, keep: 'any' as never }))).toBe(
      "The keep of distinct() is one of 'first', 'last'; it was given \"any\".",
    )
    expect(messageOf(() => readings.distinct({ by: 'day' as never }))).toBe(
      'distinct() takes a function of (row); it was given "day".\nWrite distinct({ by: (row) => row.day }).',
    )
    expect(messageOf(() => readings.distinct({ by: ['day', 'id'] as never }))).toBe(
      'distinct() takes a function of (row); it was given an array.\nWrite distinct({ by: (row) => [row.day, row.id] }).',
    )
    expect(messageOf(() => readings.filter('id > 1' as never))).toBe(
      'filter() takes a function of (value, key); it was given "id > 1".\nWrite filter((row) => row.price > 9).',
    )
  })

  test('sortBy a list has an order for each value', async () => {
    const ids = (keys: unknown) =>
      readings
        .sortBy(keys as never)
        .map((r) => r.id)
        .collect()
    expect(await ids([{ by: (r: Reading) => r.day, order: 'descending' }, { by: (r: Reading) => r.id }])).toEqual([2, 1, 3])
    expect(await ids([{ by: (r: Reading) => r.value, nulls: 'first' }, (r: Reading) => -r.id])).toEqual([3, 1, 2])
    const factor = -1
    expect(await ids([{ by: (r: Reading) => r.id * factor, order: 'descending' }])).toEqual([1, 2, 3])
    // a function that runs as it stands
    const opaque = (r: Reading): number => [r.id].map((id) => id % 2)[0] ?? 0
    expect(
      await ids([
        { by: opaque, order: 'descending' },
        { by: (r: Reading) => r.id, order: 'descending' },
      ] as never),
    ).toEqual([3, 1, 2])
    expect(messageOf(() => readings.sortBy([]))).toBe(
      'sortBy() needs at least one value to sort by, as in sortBy([{ by: (row) => row.id }]).',
    )
    expect(messageOf(() => readings.sortBy([3 as never]))).toBe(
      "sortBy() takes a list of functions, or of { by, order, nulls }, as in sortBy([{ by: (row) => row.price, order: 'descending' }]); in it was 3.",
    )
    expect(messageOf(() => readings.sortBy([{ by: (r) => [r.id] as never }]))).toBe(
      'A value of sortBy([…]) is one number, bigint, string, boolean or Date; this function returns an array: r => [r.id]\nGive the list a function for each value.',
    )
    expect(messageOf(() => readings.sortBy([{ by: (r) => r.id, order: 'down' as never }]))).toBe(
      "The order of sortBy() is one of 'ascending', 'descending'; it was given \"down\".",
    )
  })
})

describe('the rows of another table', () => {
  test('a join by columns has them once, with the keys of whichever side there is', async () => {
    const left = session.fromRows([
      { shop: 'a', day: 1, x: 1 },
      { shop: 'a', day: 2, x: 2 },
    ])
    const right = session.fromRows([
      { shop: 'a', day: 2, y: 5 },
      { shop: 'b', day: 2, y: 6 },
    ])
    expect(await left.join(right, ['shop', 'day']).collect()).toEqual([{ shop: 'a', day: 2, x: 2, y: 5 }])
    expect(await left.join(right, ['shop', 'day'], { how: 'full' }).collect()).toEqual([
      { shop: 'a', day: 1, x: 1, y: null },
      { shop: 'a', day: 2, x: 2, y: 5 },
      { shop: 'b', day: 2, x: null, y: 6 },
    ])
    expect(messageOf(() => left.join(right, ['shop', 'shop']))).toBe('join() was given the column "shop" twice.')
    expect(messageOf(() => left.join(right, ['shop', 'dya' as 'day']))).toBe(
      'There is no column "dya" in fromRows. Did you mean "day"? The columns are shop, day, x.',
    )
  })

  const trades = session.fromRows([
    { at: 3, symbol: 'A', n: 1 },
    { at: 1, symbol: 'B', n: 2 },
    { at: 7, symbol: 'A', n: 3 },
    { at: 2, symbol: 'C', n: 4 },
  ])
  const quotes = session.fromRows([
    { at: 2, symbol: 'A', price: 10 },
    { at: 3, symbol: 'A', price: 11 },
    { at: 9, symbol: 'A', price: 12 },
    { at: 1, symbol: 'B', price: 5 },
  ])

  test('joinAsof takes the nearest row', async () => {
    const prices = (options: object) =>
      trades
        .joinAsof(quotes, { on: 'at', ...options })
        .map((r) => r.price)
        .collect()
    expect(await prices({ by: 'symbol' })).toEqual([11, 5, 11, null])
    expect(await prices({ by: ['symbol'], direction: 'forward' })).toEqual([11, 5, 12, null])
    expect(await prices({ direction: 'nearest', tolerance: 1 })).toEqual([11, 5, null, 10])
    const both = trades.joinAsof(quotes, { on: (r) => r.at, by: (r) => r.symbol, suffix: 'Then' })
    expect(await both.first()).toEqual({ at: 3, symbol: 'A', n: 1, atThen: 3, symbolThen: 'A', price: 11 })
    expect(
      await trades
        .joinAsof(quotes.limit(0), { on: 'at' })
        .map((r) => r.price)
        .collect(),
    ).toEqual([null, null, null, null])
    expect(await trades.limit(0).joinAsof(quotes, { on: 'at' }).collect()).toEqual([])
  })

  test('joinAsof matches arrays that a function returns, whatever their lengths, and no null', async () => {
    const lists: readonly (readonly (number | null)[])[] = [[1], [1, 2], [], [null], [1, null]]
    const sides = [0, 1].map(() => session.fromRows(lists.map((list, id) => ({ id, at: 0, list }))))
    // what a function calls that nobody can read runs as it stands
    const copied = (r: { list: readonly (number | null)[] }) => Reflect.apply(Array.prototype.slice, r.list, [])
    const joined = (sides[0] as (typeof sides)[0]).joinAsof(sides[1] as (typeof sides)[0], { on: 'at', by: copied, suffix: 'There' })
    expect(await joined.map((r) => [r.id, r.idThere]).collect()).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
      [3, null],
      [4, null],
    ])
  })

  test('what joinAsof refuses', async () => {
    const asof = (options: object): string => messageOf(() => trades.joinAsof(quotes, options as never))
    expect(asof({})).toBe(
      "joinAsof() needs one value of both sides that orders them, as in joinAsof(quotes, { on: 'at' }); its on was given undefined.",
    )
    expect(asof({ on: 'at', by: 3 })).toBe(
      "joinAsof() takes names of columns of both sides, or functions, as in { on: 'at', by: ['shop', 'symbol'] } or { on: { left: (row) => row.at, right: (row) => row.time } }.",
    )
    expect(asof({ on: 'symbol', tolerance: 3 })).toBe(
      'joinAsof() with a tolerance, or to the nearest, measures distances; this function returns utf8: (row) => row.symbol\nReturn a number, a bigint or a Date.',
    )
    expect(asof({ on: (r: { at: number }) => ({ at: r.at }) })).toBe(
      'The on of joinAsof() is one number, bigint, string or Date; this function returns { at: f64 }: r => ({ at: r.at })\n' +
        'What has to be equal goes into by, as in { on: (row) => row.at, by: (row) => row.symbol }.',
    )
    expect(asof({ on: 'at', tolerance: -1 })).toBe(
      'The tolerance of joinAsof() is a number from 0 on, of dates in milliseconds; it was given -1.',
    )
    expect(asof({ on: 'at', direction: 'up' })).toBe(
      "The direction of joinAsof() is one of 'backward', 'forward', 'nearest'; it was given \"up\".",
    )
    const opaque = quotes.map((r) => ({ ...JSON.parse(JSON.stringify(r)), at: String(r.at) }) as { at: unknown; symbol: string })
    await expect(trades.joinAsof(opaque as never, { on: 'at' as never }).collect()).rejects.toThrow(
      'Cannot join fromRows and fromRows as of those keys: the on is f64 on the left, utf8 on the right.\nConvert one side, for example with withColumns.',
    )
  })
})

describe('aggregates of values and of pairs', () => {
  const none = { value: null, at: null } as const
  const rows = [
    { id: 1, day: 'mo', value: 0.1, at: new Date(5) },
    { id: 2, day: 'mo', value: 0.1, at: new Date(7) },
    { id: 3, day: 'tu', ...none },
    { id: 4, day: 'mo', value: 0.1, at: null },
    { id: 5, day: 'tu', ...none },
    { id: 6, day: 'mo', value: 0.1, at: new Date(5) },
  ]

  test('of values that are all the same, and of none', async () => {
    const asked = {
      ...{
        mode: mode((r: Reading) => r.at),
        first: argMin(
          (r: Reading) => r.id,
          (r) => r.at,
        ),
        last: argMax(
          (r: Reading) => r.at,
          (r) => r.value,
        ),
      },
      ...{
        any: any((r: Reading) => (r.value === null ? null : r.value > 1)),
        all: all((r: Reading) => (r.value === null ? null : r.value > 0)),
      },
      ...{ skew: skew((r: Reading) => r.value), kurtosis: kurtosis((r: Reading) => r.value) },
      ...{
        covariance: covariance(
          (r: Reading) => r.id,
          (r) => r.value,
        ),
        correlation: correlation(
          (r: Reading) => r.id,
          (r) => r.value,
        ),
      },
    }
    const nothing = {
      mode: null,
      first: null,
      last: null,
      any: null,
      all: null,
      skew: null,
      kurtosis: null,
      covariance: null,
      correlation: null,
    }
    const table = session.fromRows<Reading>(rows)
    expect(
      await table
        .groupBy((r) => r.day)
        .agg(asked)
        .collect(),
    ).toEqual([
      {
        ...{ key: 'mo', mode: new Date(5), first: 1, last: new Date(5), any: false, all: true },
        // they are off their mean by nothing, though it is no sum of them
        ...{ skew: Number.NaN, kurtosis: Number.NaN, covariance: 0, correlation: Number.NaN },
      },
      { key: 'tu', ...nothing },
    ])
    expect(
      await table
        .filter((r) => r.id > 9)
        .agg(asked)
        .collect(),
    ).toEqual([nothing])
    const same = correlation(
      (r: Reading) => r.id,
      (r) => r.id,
    )
    expect(
      await table
        .agg({
          same,
          opposite: correlation(
            (r: Reading) => r.id,
            (r) => -r.id,
          ),
        })
        .collect(),
    ).toEqual([{ same: 1, opposite: -1 }])
  })

  test('of files they are the same, though nobody keeps the rows for some of them', async () => {
    const path = join(folder, 'truths.parquet')
    await session.fromRows<Reading>(rows).writeParquet(path, { rowGroupRows: 2 })
    const asked = {
      any: any((r: Reading) => r.id > 5),
      all: all((r: Reading) => (r.at === null ? null : r.id > 1)),
      rows: count<Reading>(),
    }
    const fromFile = (await session.readParquet<Reading>(path)).groupBy((r) => r.day).agg(asked)
    expect(await fromFile.collect()).toEqual([
      { key: 'mo', any: true, all: false, rows: 4 },
      { key: 'tu', any: false, all: null, rows: 2 },
    ])
    expect(fromFile.explain()).toContain('PartialGroupsExec any = any, all = all, rows = count')
  })

  test('pivots have them in their cells', async () => {
    const table = session.fromRows<Reading>(rows).withColumns((r) => ({ late: r.id > 3 }))
    expect(await table.pivot({ rows: [], columns: 'day', values: 'late', agg: 'all', names: ['mo', 'tu', 'we'] }).collect()).toEqual([
      { mo: false, tu: false, we: null },
    ])
    expect(await table.pivot({ rows: [], columns: 'day', values: 'at', agg: 'mode', names: ['mo', 'tu'] }).collect()).toEqual([
      { mo: new Date(5), tu: null },
    ])
  })

  test('of the frames of a window', async () => {
    const table = session.fromRows<Reading>(rows)
    const late = any((r: Reading) => (r.at === null ? null : r.id > 1))
    const framed = table.window({ by: (r) => r.day, frame: { rows: [-1, 0] } }, { late })
    expect(await framed.map((r) => r.late).collect()).toEqual([false, true, null, true, null, true])
  })

  test('what is no boolean is an error where only the values tell', async () => {
    const opaque = session.fromRows(rows).map((r) => JSON.parse(JSON.stringify({ id: r.id })) as { id: number })
    await expect(opaque.agg({ some: any((r) => r.id as never) }).collect()).rejects.toThrow(
      'any needs booleans, and the values of "some" are f64. Compare them in the function given to any.',
    )
  })
})

test('a filter above a join keeps the rows that it keeps of the joined ones, whatever it says of each side', async () => {
  const left = session.fromRows([0, 1, 2, 3, null].map((a, i) => ({ k: i % 3, a })))
  const right = session.fromRows([0, 1, 2, null].map((b, i) => ({ k: 1 + (i % 3), b })))
  type Both = { a: number | null; b: number | null }
  const predicates = [
    (r: Both) => (r.a === 1 && r.b === 0) || (r.a === 2 && r.b === 1),
    (r: Both) => (r.a === 1 && r.b === 0) || r.b === 1,
    (r: Both) => (r.a as number) < 3 && (r.b as number) < 1,
    (r: Both) => r.a !== 1 && (r.b === null || r.a === null),
    (r: Both) => (r.a === null || r.b === 2) && (r.b === null || r.a === 3),
  ]
  for (const how of ['inner', 'left', 'right', 'full', 'cross'] as const) {
    const on = { left: (r: { k: number }) => r.k, right: (r: { k: number }) => r.k }
    const joined = left.join(right, on, { how }).map((r) => ({ a: r.a as number | null, b: r.b as number | null }))
    const rows = await joined.collect()
    for (const predicate of predicates) expect(await joined.filter(predicate).collect(), how).toEqual(rows.filter(predicate))
  }
})

describe('pivot and unpivot', () => {
  test('names of a list made elsewhere leave the columns of `rows` their types', async () => {
    const names: string[] = ['mo', 'tu']
    const sold = session.fromRows([{ shop: 'north', day: 'mo', n: 2 }])
    const rows = await sold.pivot({ rows: ['shop'], columns: 'day', values: 'n', agg: 'sum', names }).collect()
    const [shop, monday]: [string | undefined, string | number | null | undefined] = [rows[0]?.shop, rows[0]?.mo]
    expect([shop, monday]).toEqual(['north', 2])
  })

  const cells = session.fromRows<{ day: string; kind: string | null; x: number | null; ok: boolean }>([
    { day: 'mo', kind: 'in', x: 1, ok: true },
    { day: 'tu', kind: 'out', x: -0, ok: true },
    { day: 'mo', kind: 'in', x: null, ok: false },
    { day: 'we', kind: null, x: 4, ok: true },
  ])

  test('a column for each value, null where there are no rows, and 0 of a count', async () => {
    const largest = cells.pivot({ rows: ['day'], columns: 'kind', values: 'x', agg: 'max', names: ['in', 'out', null] })
    expect(await largest.collect()).toEqual([
      { day: 'mo', in: 1, out: null, null: null },
      { day: 'tu', in: null, out: -0, null: null },
      { day: 'we', in: null, out: null, null: 4 },
    ])
    expect(await (await cells.pivot({ rows: ['day'], columns: 'ok', agg: 'count' })).collect()).toEqual([
      { day: 'mo', true: 1, false: 1 },
      { day: 'tu', true: 1, false: 0 },
      { day: 'we', true: 1, false: 0 },
    ])
    expect(await cells.pivot({ rows: [], columns: 'kind', values: 'day', agg: 'first', names: ['out', 'nowhere'] }).collect()).toEqual([
      { out: 'tu', nowhere: null },
    ])
  })

  test('of a table without elements a pivot has no rows, and without rows one: what aggregates of nothing are', async () => {
    const none = cells.filter((cell) => cell.day === 'never')
    const named = { columns: 'kind', values: 'x', agg: 'sum', names: ['in'] } as const
    expect(await none.pivot({ ...named, rows: ['day'] }).collect()).toEqual([])
    expect(await none.pivot({ ...named, rows: [] }).collect()).toEqual([{ in: null }])
    expect(await none.pivot({ ...named, rows: [], agg: 'count' }).collect()).toEqual([{ in: 0 }])
    const found = await none.pivot({ rows: ['day'], columns: 'kind', agg: 'count' })
    expect(await found.collect()).toEqual([])
    expect((await found.toArrow()).schema.names).toEqual(['day'])
    await expect(none.pivot({ rows: [], columns: 'kind', agg: 'count' })).rejects.toThrow(
      new PlanError(
        'pivot() without rows has a column for each value of "kind" and nothing else, and there is no value: the table has no elements.\n' +
          "Say which columns there are, as in pivot({ …, names: ['in', 'out'] }): then they hold what aggregates of nothing are.",
      ),
    )
  })

  test('unpivot puts one column under the other', async () => {
    const totals = session.fromRows([{ id: 7, a: 1, b: null as number | null }])
    expect(await totals.unpivot({ keep: ['id'], columns: ['a', 'b'] }).collect()).toEqual([
      { id: 7, column: 'a', value: 1 },
      { id: 7, column: 'b', value: null },
    ])
    expect(await totals.unpivot({ columns: ['b'], name: 'of', value: 'is' }).collect()).toEqual([{ of: 'b', is: null }])
  })

  test('what they refuse', async () => {
    const pivot = (options: object): string =>
      messageOf(() => cells.pivot({ rows: ['day'], columns: 'kind', agg: 'count', names: ['in'], ...options } as never))
    expect(pivot({ agg: 'sum' })).toBe(
      "pivot() needs values for sum, as in pivot({ …, values: 'amount', agg: 'sum' }); without, it counts rows: agg: 'count'.",
    )
    // at the call, though the names are only found by a run
    expect(pivot({ rows: [], agg: 'sum', names: undefined })).toBe(
      "pivot() needs values for sum, as in pivot({ …, values: 'amount', agg: 'sum' }); without, it counts rows: agg: 'count'.",
    )
    expect(pivot({ rows: undefined })).toBe('The rows of pivot() is an array; it was given undefined.')
    expect(pivot({ rows: ['day', 'x', 'day'] })).toBe('pivot() has "day" twice among its rows.\nName each column once.')
    expect(pivot({ columns: 'day' })).toBe('pivot() has "day" in its rows and as what names its columns.\nTake it out of one of them.')
    expect(pivot({ names: [] })).toBe('The names of pivot() are values of "kind"; there are none.')
    expect(pivot({ names: ['in', 'in'] })).toBe('pivot() has "in" twice among its names.\nName each value once.')
    expect(pivot({ names: ['1', 1] })).toBe('pivot() would call two columns "1": that of "1" and that of 1.\nRename one of them first.')
    expect(pivot({ names: ['day'] })).toBe(
      'pivot() would call two columns "day": a column of its rows and that of "day".\nRename one of them first.',
    )
    expect(pivot({ names: Array.from({ length: 1_200 }, (_, i) => String(i)) })).toBe(
      'pivot() makes 1,000 columns at most, and was given 1,200 names.',
    )
    expect(pivot({ names: ['in', 1] })).toBe('The names of pivot() are values of "kind", which are utf8; 1 is none.')
    expect(pivot({ columns: 'x', names: ['1'] })).toBe('The names of pivot() are values of "x", which are f64; "1" is none.')
    expect(pivot({ values: 'ok', agg: 'max' })).toBe(
      'The cells of pivot() are numbers, bigints, strings or dates; the max of "ok" is bool.\nMake a number of it first, as in withColumns((row) => ({ ok: Number(row.ok) })).',
    )
    const dated = messageOf(() => readings.pivot({ rows: [], columns: 'at', agg: 'count', names: [] }))
    expect(dated).toBe(
      'pivot() names columns after numbers, strings and booleans; the values of "at" are timestamp(ms).\nMake a string of them first, as in withColumns((row) => ({ at: row.at?.toISOString().slice(0, 10) })).',
    )
    const made = readings.map(({ at }) => ({ at: new Date(new Intl.DateTimeFormat('en', { timeZone: 'UTC' }).format(at ?? 0)) }))
    await expect(made.pivot({ rows: [], columns: 'at', agg: 'count' })).rejects.toThrow(
      new PlanError(
        'pivot() names columns after numbers, strings and booleans; the values of "at" are 1970-01-01T00:00:00.000Z.\nMake a string of them first, as in withColumns((row) => ({ at: row.at?.toISOString().slice(0, 10) })).',
      ),
    )
    const missing = made.pivot({ rows: ['it' as never], columns: 'at', agg: 'count', names: ['x' as never] })
    await expect(missing.collect()).rejects.toThrow(new PlanError('There is no column "it". The columns are at.'))
    expect(messageOf(() => made.pivot({ rows: [], columns: 'at', agg: 'count', names: ['x', 1] as never }))).toBe(
      'The names of pivot() are values of "at", of one kind; 1 is none.',
    )
    await expect(made.pivot({ rows: [], columns: 'at', agg: 'count', names: ['x' as never] }).collect()).rejects.toThrow(
      new TaskError('max: the function threw at row 0: the names of pivot() are values of "at", and of another kind than this one', {
        key: [0],
      }),
    )
    const texts = readings.map(({ at }) => ({ at: new Intl.DateTimeFormat('en', { timeZone: 'UTC' }).format(at ?? 0) }))
    await expect(texts.pivot({ rows: [], columns: 'at', values: 'at', agg: 'sum', names: ['1/1/1970'] }).collect()).rejects.toThrow(
      new PlanError('sum needs numbers, and the values of "at of the cells" are utf8. Convert them in the function given to sum.'),
    )
    const many = session.fromColumns({ n: Int32Array.from({ length: 1_001 }, (_, i) => i) })
    await expect(many.pivot({ rows: [], columns: 'n', agg: 'count' })).rejects.toThrow(
      'pivot() makes 1,000 columns at most; "n" has more different values.\nFilter first, or say which ones you want, as in pivot({ …, names: [1, 2] }).',
    )
    expect(messageOf(() => cells.unpivot({ columns: ['day', 'x'] }))).toBe(
      'unpivot() puts values of one kind under each other; those of "day" are utf8, those of "x" f64?.\nMake them one kind first, as with withColumns().',
    )
    expect(messageOf(() => cells.unpivot({ columns: [] }))).toBe(
      "unpivot() needs at least one column, as in unpivot({ keep: ['id'], columns: ['a', 'b'] }).",
    )
    expect(messageOf(() => cells.unpivot({ keep: ['x'], columns: ['x'], value: 'x' }))).toBe(
      "unpivot() would call two columns \"x\".\nGive those that it makes other names, as in unpivot({ …, name: 'measure', value: 'reading' }).",
    )
  })
})

test('arrays of values of different kinds tell rows apart, in distinct and in windows', async () => {
  const visits = Array.from({ length: 40_000 }, (_, i) => ({
    i,
    user: i % 7 === 0 ? null : i % 50,
    kind: ['view', 'cart', 'sale'][(i * 7) % 3] as string,
  }))
  const expected = new Map<string, number>()
  for (const { i, user, kind } of visits) if (!expected.has(`${user} ${kind}`)) expected.set(`${user} ${kind}`, i)
  for (const rows of [visits, visits.slice(0, 300)]) {
    const table = session.fromRows(rows)
    const first = await table.distinct({ by: (r) => [r.user, r.kind] }).collect()
    expect(first.map(({ i }) => i)).toEqual([...expected.values()].filter((i) => i < rows.length))
    const counted = await table.window({ by: (r) => [r.user, r.kind] }, { n: count() }).collect()
    expect(counted.slice(0, 5).map(({ n }) => n)).toEqual(
      rows.slice(0, 5).map(({ user, kind }) => rows.filter((one) => one.user === user && one.kind === kind).length),
    )
  }
  // arrays of another length are others, though null is what they lack
  const short = session.fromRows([{ a: 1 }, { a: 2 }, { a: 1 }]).distinct({ by: (r) => (r.a === 1 ? [1] : [1, null]) })
  expect(await short.collect()).toEqual([{ a: 1 }, { a: 2 }])
})

test('a struct inside one that is there may be null, and is read so', async () => {
  const geo = (i: number) => (i % 5 === 0 ? null : { cc: `c${i % 3}`, in: i % 7 === 0 ? null : { zone: i } })
  const table = session.fromRows(Array.from({ length: 5_000 }, (_, i) => ({ i, geo: geo(i) })))
  const there = table.filter((r) => r.geo !== null)
  const failing = there.map((r) => (r.geo as unknown as { in: { zone: number } }).in.zone)
  await expect(failing.collect()).rejects.toThrow(TaskError)
  const zones = table.filter((r) => r.geo !== null && r.geo.in !== null && r.geo.in.zone % 2 === 0)
  expect(await zones.count()).toBe(
    Array.from({ length: 5_000 }, (_, i) => i).filter((i) => i % 5 !== 0 && i % 7 !== 0 && i % 2 === 0).length,
  )
  const named = await table
    .map((r) => {
      if (r.geo === null) return 'none'
      return r.geo.cc
    })
    .collect()
  expect(named.slice(0, 4)).toEqual(['none', 'c1', 'c2', 'c0'])
})

test('structs of tables that a union puts together for kernels stay what they are', async () => {
  const rowsOf = (count: number, more: number) =>
    Array.from({ length: count }, (_, i) => ({ k: (i * 7919 + more) % 1000, at: i % 3 === 0 ? null : { x: i, s: `s${i % 50}` } }))
  const [some, others] = [rowsOf(30_000, 0), rowsOf(20_000, 17)]
  const both = session.fromRows(some).union(session.fromRows(others))
  const sorted = [...some, ...others].filter((r) => r.k > 500).sort((a, b) => a.k - b.k)
  expect(
    await both
      .filter((r) => r.k > 500)
      .sortBy((r) => r.k)
      .collect(),
  ).toEqual(sorted)
  const groups = await both
    .filter((r) => r.at !== null)
    .groupBy((r) => r.at?.s)
    .count()
    .collect()
  expect(groups.length).toBe(50)
  expect(groups.reduce((all, { count }) => all + Number(count), 0)).toBe([...some, ...others].filter((r) => r.at !== null).length)
})

test('what is asked of lists is answered by columns, each question with its captured value', async () => {
  const rows = Array.from({ length: 40_000 }, (_, i) => ({
    k: i % 3,
    scores: [i % 10, i % 7],
    tags: i % 5 === 0 ? null : ['a', String(i % 4)],
  }))
  const table = session.fromRows(rows)
  const above = (limit: number) => (r: { readonly scores: readonly number[] }) => r.scores.some((x) => x > limit)
  expect(await table.filter(above(1)).filter(above(8)).count()).toBe(4_000)
  // biome-ignore lint/complexity/useOptionalChain: programs are written so
  const kept = table.filter((r) => r.tags !== null && r.tags.includes('3') && r.scores[0] === 7)
  expect(await kept.count()).toBe(rows.filter((r) => r.tags?.includes('3') && r.scores[0] === 7).length)
  expect(await kept.map((r) => r.scores.length).explain({ analyze: true })).toContain('SIMD over columns')
  const sums = await table
    .groupBy((r) => r.scores.length + r.k)
    .agg({ n: sum((r) => r.scores.reduce((a, b) => a + b, 0)) })
    .collect()
  expect(sums.map(({ key }) => key)).toEqual([2, 3, 4])
  await expect(table.filter((r) => r.tags!.length > 1).count()).rejects.toThrow(TaskError)
})

test('chains over no rows, whose columns nobody knows, give none', async () => {
  interface Sale {
    readonly id: number
    readonly shop: string
    readonly price: number | null
    readonly at: Date
  }
  const sales = session.fromRows<Sale>([])
  const shops = session.fromRows([{ shop: 'Rome', rate: 2 }])
  const totals = sales.groupBy((r) => ({ shop: r.shop, day: r.at.getUTCDay() })).agg({ n: count(), total: sum((r) => r.price) })
  expect(await sales.filter((r) => r.price !== null && r.shop.startsWith('R')).collect()).toEqual([])
  expect(await totals.collect()).toEqual([])
  expect(await sales.window({ by: (r) => r.shop, orderBy: (r) => r.at }, { n: rowNumber() }).collect()).toEqual([])
  expect(
    await sales
      .sortBy([(r) => r.shop, { by: (r) => r.price, order: 'descending' }])
      .limit(3)
      .collect(),
  ).toEqual([])
  expect(await sales.join(shops, 'shop').collect()).toEqual([])
  expect(await shops.join(sales, 'shop', { how: 'left' }).select('shop', 'rate').collect()).toEqual([{ shop: 'Rome', rate: 2 }])
  expect(await sales.joinAsof(sales, { on: (r) => r.at, by: (r) => r.shop }).collect()).toEqual([])
  expect(await sales.distinct().collect()).toEqual([])
  expect(await sales.agg({ n: count(), total: sum((r) => r.price) }).collect()).toEqual([{ n: 0, total: 0 }])
  expect(await sales.map((r) => r.price ?? 0).sum()).toBe(0)
  expect(await sales.withColumns((r) => ({ net: (r.price ?? 0) * 0.8 })).collect()).toEqual([])
  expect(
    await (await sales.materialize())
      .groupBy((r) => r.shop)
      .count()
      .collect(),
  ).toEqual([])
  await expect(sales.writeCsv('sales.csv')).rejects.toThrow(
    new PlanError(
      "A CSV file needs at least one column, and this table has no rows that would tell its columns. Name them first, as in select('id', 'price'), or give fromRows() a { schema }.",
    ),
  )
})
