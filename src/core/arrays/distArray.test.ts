import { expect, test } from 'vitest'
import { planEngine, tableOf } from '../../../property-tests/plans.ts'
import { PlanError, Session, TaskError } from '../../index.ts'
import { type Aggregate, any, argMax, argMin, collect, correlation, count, mean, median, quantile, sum } from '../plan/aggregates.ts'
import { elementText, keysText } from '../plan/elements.ts'
import { planText } from '../plan/tree.ts'
import { type DistArray, engineOf, isDistArray, planOf } from './distArray.ts'

interface Order {
  id: number
  shop: string
  price: number
  big: bigint
  at: Date
  note: string | null
}
const orders = tableOf<Order>('orders.parquet', { id: 'i32', shop: 'utf8', price: 'f64', big: 'i64', at: 'timestamp', note: 'utf8?' })
const shops = tableOf<{ shop: number; city: string }>('shops.parquet', { shop: 'f64', city: 'utf8' })

/** The whole message of a PlanError. */
function messageOf(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    if (error instanceof PlanError) return error.message
    throw error
  }
  return 'nothing thrown'
}

// as programs without types would call it
const loose = orders as unknown as Record<string, (...args: unknown[]) => unknown>
const looseCall =
  (method: string, ...args: unknown[]): (() => unknown) =>
  () =>
    loose[method]?.(...args)

test('a handle gives its plan and engine to the session, and to no one else', () => {
  expect(planOf(orders).kind).toBe('Scan')
  expect(engineOf(orders)).toBe(planEngine)
  expect(isDistArray(orders)).toBe(true)
  expect(isDistArray({})).toBe(false)
  expect(Object.keys(orders)).toEqual([])
  expect(messageOf(() => planOf({} as never))).toBe('This takes a DistArray of a session; it was given an object.')
})

function types(array: object): string {
  const plan = planOf(array as DistArray<unknown>)
  return `${elementText(plan.element)} by ${keysText(plan.keys)}`
}

test('elements and keys of the chain are known before anything runs', () => {
  expect(types(orders.map((r) => ({ id: r.id, twice: r.price * 2, note: r.note })))).toBe(
    '{ id: i32, twice: f64, note: utf8? } by row number',
  )
  expect(types(orders.map((r) => r.at))).toBe('timestamp(ms) by row number')
  expect(types(orders.map((r) => (/x/g.test(r.shop) ? 1 : 2)))).toBe('unknown by row number')
  expect(types(orders.withColumns((r) => ({ price: String(r.price), n: 1 })))).toBe(
    '{ id: i32, shop: utf8, price: utf8, big: i64, at: timestamp(ms), note: utf8?, n: f64 } by row number',
  )
  expect(types(orders.select('note', 'id'))).toBe('{ note: utf8?, id: i32 } by row number')
  expect(types(orders.flatMap((r) => [r.price, 1]))).toBe('f64 by row number')
  const matrix = orders.index((r) => [r.id, r.price], { shape: [3, 4], storage: 'dense' }).map((r) => r.price)
  expect(types(matrix)).toBe('f64 by [3, 4] dense')
  expect(types(matrix.filter((p) => p > 1))).toBe('f64 by [3, 4] sparse')
  expect(types(matrix.cast('i32').materialize())).toBe('i32 by [3, 4] dense')
  expect(types(matrix.sortBy((p) => p))).toBe('f64 by row number')
  expect(types(matrix.groupBy({ axis: 1 }).agg({ n: count() }))).toBe('{ key: f64, n: f64 } by row number')
  const grouped = orders.groupBy((r) => ({ shop: r.shop, year: r.at.getFullYear() }))
  expect(types(grouped.agg({ total: sum((r) => r.price), ids: collect((r) => r.id), average: mean((r) => r.price) }))).toBe(
    '{ shop: utf8, year: f64, total: f64, ids: list<i32>, average: f64? } by row number',
  )
  expect(
    types(
      orders
        .map((r) => r.price)
        .groupBy((p) => p > 1)
        .reduce((a, b) => a + b),
    ),
  ).toBe('{ key: bool, value: f64 } by row number')
  const joined = orders.join(tableOf<{ id: number; price: number }>('other', { id: 'i32', price: 'f32' }), 'id', { how: 'full' })
  expect(types(joined)).toBe(
    '{ id: i32, shop: utf8?, price: f64?, big: i64?, at: timestamp(ms)?, note: utf8?, price_right: f32? } by row number',
  )
  expect(types(orders.select('id', 'price').union(orders.select('price', 'id') as never))).toBe('{ id: i32, price: f64 } by row number')
})

test('the row of each kind of join, which the types of rowTypes.ts follow', () => {
  const left = tableOf<{ id: number; name: string }>('left', { id: 'i32', name: 'utf8' })
  const right = tableOf<{ id: number; name: string; city: string }>('right', { id: 'i32', name: 'utf8', city: 'utf8' })
  const rows = (['inner', 'left', 'right', 'full', 'semi', 'anti', 'cross'] as const).map(
    (how) => `${how} ${types(left.join(right, 'id', { how }))}`,
  )
  expect(rows).toEqual([
    'inner { id: i32, name: utf8, name_right: utf8, city: utf8 } by row number',
    'left { id: i32, name: utf8, name_right: utf8?, city: utf8? } by row number',
    'right { id: i32, name: utf8?, name_right: utf8, city: utf8 } by row number',
    'full { id: i32, name: utf8?, name_right: utf8?, city: utf8? } by row number',
    'semi { id: i32, name: utf8 } by row number',
    'anti { id: i32, name: utf8 } by row number',
    'cross { id: i32, name: utf8, id_right: i32, name_right: utf8, city: utf8 } by row number',
  ])
})

test('columns that do not exist, with the nearest names', () => {
  expect(messageOf(looseCall('select', 'prize'))).toBe(
    'There is no column "prize" in orders.parquet. Did you mean "price"? The columns are id, shop, price, big, at, note.',
  )
  expect(messageOf(looseCall('join', shops, 'id'))).toBe('There is no column "id" in shops.parquet. The columns are shop, city.')
  expect(messageOf(looseCall('select'))).toBe("select() needs at least one column, as in select('id').")
  expect(messageOf(looseCall('select', 'id', 'id'))).toBe('select() was given the column "id" twice.')
})

test('joins of sides that cannot be compared', () => {
  expect(messageOf(looseCall('join', shops, 'shop'))).toBe(
    'Cannot join orders.parquet and shops.parquet on "shop": utf8 on the left, f64 on the right.\n' +
      'Convert one side, for example orders.withColumns((row) => ({ shop: Number(row.shop) })).',
  )
  // of a file's name a variable is made, of a method's not
  const rows = tableOf<{ shop: string }>('fromRows', { shop: 'utf8' })
  expect(messageOf(() => rows.join(shops as never, 'shop' as never))).toBe(
    'Cannot join fromRows and shops.parquet on "shop": utf8 on the left, f64 on the right.\n' +
      'Convert one side, for example left.withColumns((row) => ({ shop: Number(row.shop) })).',
  )
  expect(messageOf(() => orders.join(shops, { left: (o) => o.big, right: (s) => s.shop }))).toBe(
    'Cannot join orders.parquet and shops.parquet by the given functions: i64 on the left, f64 on the right.\nConvert one side, so that both are of one kind.',
  )
  const other = tableOf<{ id: number; shop: string; shop_right: string }>('other', { id: 'i32', shop: 'utf8', shop_right: 'utf8' })
  const left = tableOf<{ id: number; shop: string; shop_right: string }>('left', { id: 'i32', shop: 'utf8', shop_right: 'utf8' })
  expect(messageOf(() => left.join(other, 'id'))).toBe(
    'Cannot join left and other: both have a column "shop", and "shop_right" is taken too.\nChoose another suffix, as in { suffix: \'_other\' }.',
  )
  expect(messageOf(looseCall('join', shops, 'shop', { how: 'outer' }))).toBe(
    `The how of join() is one of 'inner', 'left', 'right', 'full', 'semi', 'anti', 'cross'; it was given "outer".`,
  )
  expect(messageOf(looseCall('join', shops, { left: 1 }))).toBe(
    "join() takes the name of a column of both sides, a list of such, or two functions, as in join(other, 'id'), join(other, ['shop', 'day']) or join(other, { left: (row) => row.id, right: (row) => row.userId }).",
  )
  expect(messageOf(looseCall('join', [], 'id'))).toBe('join() takes another DistArray; it was given an array.')
})

test('unions of different columns', () => {
  expect(messageOf(() => orders.select('id', 'shop').union(orders.select('id', 'price') as never))).toBe(
    'Cannot put orders.parquet after orders.parquet with union(): the elements are { id: i32, shop: utf8 } and { id: i32, price: f64 }.\n' +
      "Give both the same columns with select() or map(), or take those of all with { columns: 'all' }.",
  )
})

test('arguments that make no sense', () => {
  expect(messageOf(looseCall('map', 3))).toBe('map() takes a function of (value, key); it was given 3.')
  expect(messageOf(looseCall('sortBy', 'id'))).toBe(
    'sortBy() takes a function of (value); it was given "id".\nWrite sortBy((row) => row.id).',
  )
  expect(messageOf(() => orders.limit(-1))).toBe('The number of elements of limit() is an integer of at least 0; it was given -1.')
  expect(messageOf(() => orders.limit(1.5))).toBe('The number of elements of limit() is an integer of at least 0; it was given 1.5.')
  expect(messageOf(() => orders.sample(2))).toBe('The fraction of sample() is a number from 0 to 1; it was given 2.')
  expect(messageOf(() => orders.sample(0.5, { seed: 0.5 }))).toBe('The seed of sample() is an integer; it was given 0.5.')
  expect(messageOf(() => orders.sample({ n: 0.5 }))).toBe('The n of sample() is an integer of at least 0; it was given 0.5.')
  expect(messageOf(() => orders.sample({ n: 5, seed: 0.5 }))).toBe('The seed of sample() is an integer; it was given 0.5.')
  expect(messageOf(looseCall('sample', { n: 5 }, { seed: 1 }))).toBe(
    'sample() by a number of elements takes its seed beside n, as in sample({ n: 1000, seed: 7 }).',
  )
  expect(messageOf(looseCall('cast', 'int'))).toBe(
    `The dtype of cast() is one of 'f64', 'f32', 'i64', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8', 'bool'; it was given "int".`,
  )
  expect(messageOf(looseCall('cast', 'i32'))).toBe(
    "cast('i32') works on numbers; the elements of this array are { id: i32, shop: utf8, price: f64, big: i64, at: timestamp(ms), note: utf8? }.\n" +
      'Take a column first, as in map((row) => row.price).',
  )
  expect(messageOf(() => orders.repartition({}))).toBe(
    'repartition() needs the number of partitions, a function to cut by, or both, as in repartition({ partitions: 8 }).',
  )
  expect(messageOf(() => orders.repartition({ partitions: 0 }))).toBe(
    'The number of partitions of repartition() is an integer of at least 1; it was given 0.',
  )
  expect(messageOf(() => orders.shuffleKeys({ axes: [1], seed: 1 }))).toBe('shuffleKeys() names axis 1; the only key axis is 0.')
  expect(messageOf(() => orders.groupBy({ axis: 2 }))).toBe('groupBy() names axis 2; the only key axis is 0.')
  expect(messageOf(() => orders.buffer())).toBe(
    'buffer() works on arrays of numbers; the elements of this array are { id: i32, shop: utf8, price: f64, big: i64, at: timestamp(ms), note: utf8? }.',
  )
})

test('functions that return something else than the method takes', () => {
  expect(messageOf(() => orders.withColumns((r) => r.price))).toBe(
    'withColumns() takes a function that returns an object of columns; this one returns f64: r => r.price\n' +
      'Name the column, as in withColumns((row) => ({ total: row.price * row.quantity })).',
  )
  expect(messageOf(() => orders.map((r) => r.price).withColumns((p) => ({ p })))).toBe(
    'withColumns() works on rows with columns; the elements of this array are f64.\nMake rows of them first, as in map((value) => ({ value })).',
  )
  expect(messageOf(() => orders.index((r) => r.id as never))).toBe(
    'index() takes a function that returns an array of integers, the key; this one returns i32: r => r.id\n' +
      'A key of one axis is an array too, as in index((row) => [row.id]).',
  )
  expect(messageOf(() => orders.index((r) => [r.id], { shape: [3, 4] }))).toBe(
    'index() was given a shape of 2 axes, and a function that returns keys of 1 axis: r => [r.id]',
  )
  expect(messageOf(() => orders.flatMap((r) => r.id as never))).toBe(
    'flatMap() takes a function that returns an array; this one returns i32: r => r.id\nUse map() for one element each.',
  )
  expect(messageOf(() => orders.sortBy((r) => ({ a: r.id }) as never))).toBe(
    'sortBy() takes a function that returns a number, bigint, string, boolean or Date, or an array of them; this one returns { a: i32 }: r => ({ a: r.id })\n' +
      'To sort by several values, return them in an array, the most important first.',
  )
})

test('keys that only running the function tells', () => {
  const ids = new Map<string, number>()
  const lookedUp = orders.index((r) => [ids.get(r.shop) ?? 0, ids.get(r.note ?? '') ?? 0])
  expect(keysText(planOf(lookedUp).keys)).toBe('2 axes sparse')
  const keyOf = (r: Order): [number, number] => (/x/g.test(r.shop) ? [1, 2] : [3, 4])
  expect(messageOf(() => orders.index((r) => keyOf(r)))).toBe(
    'index() cannot see how many axes the keys have: r => keyOf(r)\n' +
      'Return an array literal, as in index((row) => [row.user, row.movie]), or give the shape: index(f, { shape: [users, movies] }).',
  )
  expect(keysText(planOf(orders.index((r) => keyOf(r), { shape: [4, 5] })).keys)).toBe('[4, 5] sparse')
})

test('aggregates', () => {
  const grouped = orders.groupBy((r) => ({ shop: r.shop }))
  expect(messageOf(() => grouped.agg({ shop: count() }))).toBe(
    'agg() names a column "shop", which is a column of the group key already. The key\'s columns: shop.\nGive the aggregate another name.',
  )
  expect(messageOf(() => orders.groupBy((r) => ({ count: r.id })).count())).toBe(
    'count() names a column "count", which is a column of the group key already. The key\'s columns: count.\nGive the field of the key another name in groupBy().',
  )
  expect(messageOf(() => grouped.agg({}))).toBe('agg() needs at least one aggregate, as in agg({ n: count() }).')
  expect(messageOf(() => grouped.agg({ n: ((r: Order) => r.id) as unknown as Aggregate<Order, number> }))).toBe(
    'agg() was given a function as "n", which is not an aggregate.\n' +
      'Use sum, mean, min, max, count, countDistinct, first, last, mode, argMin, argMax, any, all, variance, stddev, covariance, correlation, skew, kurtosis, quantile, median, approxCountDistinct, approxQuantile, approxMedian, collect or aggregate, as in agg({ total: sum((row) => row.price) }).',
  )
  expect(messageOf(() => grouped.agg({ n: sum((r) => r.shop as never) }))).toBe(
    'sum() takes numbers or bigints; this function returns utf8: r => r.shop\nConvert the value, as in sum((row) => Number(…)).',
  )
  expect(messageOf(() => median(undefined as never))).toBe('median() needs a function of (row), as in median((row) => row.price).')
  expect(messageOf(() => quantile((r: Order) => r.price, 1.5))).toBe('The q of quantile() is a number from 0 to 1; it was given 1.5.')
  expect(messageOf(() => sum(undefined as never))).toBe('sum() needs a function of (row), as in sum((row) => row.price).')
  expect(messageOf(() => argMin((r: Order) => r.shop, undefined as never))).toBe(
    'argMin() takes two functions of (row), as in argMin((row) => row.name, (row) => row.price).',
  )
  expect(messageOf(() => correlation((r: Order) => r.price, { env: {} } as never))).toBe(
    'correlation() takes two functions of (row), as in correlation((row) => row.age, (row) => row.price).',
  )
  expect(
    messageOf(() =>
      grouped.agg({
        n: correlation(
          (r) => r.price,
          (r) => r.shop as never,
        ),
      }),
    ),
  ).toBe('correlation() takes numbers; this function returns utf8: r => r.shop\nConvert the value, as in correlation((row) => Number(…)).')
  expect(
    messageOf(() =>
      grouped.agg({
        n: argMax(
          (r) => r.shop,
          (r) => [r.price] as never,
        ),
      }),
    ),
  ).toBe('argMax() takes numbers, bigints, strings or dates; this function returns list<f64>: r => [r.price]')
  expect(messageOf(() => grouped.agg({ n: any((r) => r.price as never) }))).toBe(
    'any() takes booleans; this function returns f64: r => r.price\nCompare the value, as in any((row) => row.price > 0).',
  )
  const plan = planText(
    planOf(
      grouped.agg({
        n: argMin(
          (r) => r.id,
          (r) => r.price,
        ),
      }),
    ),
  )
  expect(plan.split('\n')[0]).toBe('GroupBy r => ({ shop: r.shop }): n = argMin(r => r.id, r => r.price)')
})

test('the plan of a chain, on one line a node', () => {
  const chain = orders
    .filter((r) => r.price > 1)
    .join(tableOf<{ shop: string; city: string }>('shops', { shop: 'utf8', city: 'utf8' }), 'shop', { how: 'left' })
    .groupBy((r) => r.city)
    .agg({ n: count(), half: median((r) => r.price) })
    .sortBy((r) => [r.n, r.key], { descending: true })
    .limit(3)
  expect(planText(planOf(chain))).toMatchInlineSnapshot(`
    "Limit 3
      Sort r => [r.n, r.key] descending
        GroupBy r => r.city: n = count(), half = quantile(r => r.price, 0.5)
          Join left on "shop"
            Filter r => r.price > 1
              Scan orders.parquet [id, shop, price, big, at, note]
            Scan shops [shop, city]"
  `)
})

test('queries name as many numbers as there are axes', async () => {
  const matrix = orders.index((r) => [r.id, r.price]).map((r) => r.price)
  await expect((matrix as unknown as DistArray<number>).at(1)).rejects.toThrow(
    new PlanError('at() takes one number per axis: this array has 2 axes, 1 was given.'),
  )
  await expect(matrix.slice([null])).rejects.toThrow(
    new PlanError('slice() takes one selector per axis (null for a whole axis): this array has 2 axes, 1 was given.'),
  )
  await expect(matrix.row(1, 2)).rejects.toThrow(
    new PlanError('row() takes fewer numbers than the keys have axes: 2 given, 2 axes. For one element use at(1, 2).'),
  )
})

test('actions on elements that have none', async () => {
  await using session = await Session.start({ workers: 1 })
  const table = session.fromRows([{ a: 1, s: 'x' }])
  await expect((table as unknown as DistArray<number>).sum()).rejects.toThrow(
    new PlanError(
      'sum() works on numbers; the elements of this array are { a: f64, s: utf8 }.\nTake a column first, as in map((row) => row.price).sum().',
    ),
  )
  const texts = table.map((r) => r.s) as unknown as DistArray<number>
  await expect(texts.mean()).rejects.toThrow(
    new PlanError(
      'mean() works on numbers; the elements of this array are utf8.\nConvert them first, as in map((value) => Number(value)).mean().',
    ),
  )
  await expect(texts.max()).rejects.toThrow(
    new PlanError(
      'max() works on numbers; the elements of this array are utf8.\nSort them, as in sortBy((value) => value, { descending: true }).first().',
    ),
  )
  const opaque = table.map((r) => (/x/g.test(r.s) ? 1 : 2))
  expect(() => opaque.schema).toThrow(
    new PlanError(
      'The schema is not known before the array is computed, because a function in its plan runs as JavaScript (explain() says which and why), or fromRows() was given no rows and no { schema }.\n' +
        'Use (await array.toArrow()).schema, or write the function so that it can be analysed.',
    ),
  )
  expect(await opaque.sum()).toBe(1)
  await expect(table.writeCsv('')).rejects.toThrow(new PlanError('writeCsv() needs the path of the file to write.'))
  await expect(table.take(-1)).rejects.toThrow(
    new PlanError('The number of elements of take() is an integer of at least 0; it was given -1.'),
  )
})

test('forEach and reduce run on this thread, in order, with keys, and name the key of what they throw', async () => {
  await using session = await Session.start({ workers: 1 })
  const table = session.fromRows([{ a: 1 }, { a: 2 }, { a: 3 }])
  const seen: unknown[] = []
  await table.forEach((r, [i]) => {
    seen.push([i, r.a])
  })
  expect(seen).toEqual([
    [0, 1],
    [1, 2],
    [2, 3],
  ])
  const failing = table.forEach((r) => {
    if (r.a === 2) throw new RangeError('two')
  })
  await expect(failing).rejects.toThrow(new TaskError('The function of forEach() threw at key [1]: two', { key: [1] }))
  await expect(failing).rejects.toMatchObject({ key: [1], cause: new RangeError('two') })
  expect(await table.reduce((a, b) => ({ a: a.a + b.a }))).toEqual({ a: 6 })
  const lists = await table.reduce<number[]>(
    (list, r) => {
      list.push(r.a)
      return list
    },
    [],
    (a, b) => [...a, ...b],
  )
  expect(lists).toEqual([1, 2, 3])
  expect(await table.filter((r) => r.a > 5).reduce((a) => a)).toBe(undefined)
  expect(
    await table
      .filter((r) => r.a > 5)
      .reduce(
        (n) => n + 1,
        7,
        (a, b) => a + b,
      ),
  ).toBe(7)
})
