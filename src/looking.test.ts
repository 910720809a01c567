/** What consoles and notebooks print of handles: whole texts; looking runs nothing, throws nothing, and has an end. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DistArray } from './core/arrays/distArray.ts'
import { Session } from './session/session.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-looking-'))
let session: Session
let ran = 0
beforeAll(async () => {
  session = await Session.start({ workers: 1, memory: '64MB', progress: false })
  session.events.subscribe(({ kind }) => kind === 'stage' && ran++)
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly id: number
  readonly name: string | null
  readonly when: Date
}
const rowsOf = (n: number): Row[] =>
  Array.from({ length: n }, (_, id) => ({ id, name: [null, 'x', '漢字', ''][id % 4] ?? null, when: new Date(Date.UTC(2020, 0, 1 + id)) }))
const html = (handle: object): string =>
  (Reflect.get(handle, Symbol.for('Jupyter.display')) as () => { 'text/html': string }).call(handle)['text/html']

test('a table in memory shows its first rows', () => {
  expect(inspect(session.fromRows(rowsOf(12)))).toBe(
    [
      'DistArray: table of 12 rows, in memory (fromRows)',
      '   id  name   when',
      '  f64  utf8?  timestamp(ms)',
      '    0  null   2020-01-01T00:00:00.000Z',
      '    1  x      2020-01-02T00:00:00.000Z',
      '    2  漢字   2020-01-03T00:00:00.000Z',
      '    3  ""     2020-01-04T00:00:00.000Z',
      '    4  null   2020-01-05T00:00:00.000Z',
      '    5  x      2020-01-06T00:00:00.000Z',
      '    6  漢字   2020-01-07T00:00:00.000Z',
      '    7  ""     2020-01-08T00:00:00.000Z',
      '    8  null   2020-01-09T00:00:00.000Z',
      '    9  x      2020-01-10T00:00:00.000Z',
      'and 2 more rows',
    ].join('\n'),
  )
  expect(inspect(session.fromRows(rowsOf(3)).select('name', 'id').limit(2))).toBe(
    [
      'DistArray: table of 2 rows, 2 lazy steps over fromRows (select, limit)',
      '  name    id',
      '  utf8?  f64',
      '  null     0',
      '  x        1',
    ].join('\n'),
  )
  expect(inspect(session.fromRows([1.5, -0]))).toBe(
    ['DistArray: table of 2 rows, in memory (fromRows)', '  value', '    f64', '    1.5', '     -0'].join('\n'),
  )
})

test('what is lazy shows its columns and its steps, and runs nothing', async () => {
  const table = session.fromRows(rowsOf(5))
  const before = ran
  const lazy = table.filter((r) => r.id > 1).map((r) => ({ key: r.id % 2, name: r.name }))
  expect(inspect(lazy)).toBe(
    [
      'DistArray: table, rows not counted yet, 2 lazy steps over fromRows (filter, map)',
      '  column  type',
      '  key     f64',
      '  name    utf8?',
      'Nothing has run; preview() shows rows.',
    ].join('\n'),
  )
  const refused = table.map((r) => JSON.parse(JSON.stringify(r)) as Row)
  expect(inspect(refused)).toBe(
    'DistArray: table of 5 rows, 1 lazy step over fromRows (map)\nIts columns are known when it has run: preview() shows them.',
  )
  const kept = lazy.materialize()
  expect(inspect(kept)).toMatch('DistArray: table, rows not counted yet, 3 lazy steps over fromRows (filter, map, materialize)\n')
  expect(ran).toBe(before)
  await kept.count()
  expect(inspect(kept)).toBe(
    [
      'DistArray: table of 3 rows, in memory (materialized fromRows)',
      '  key  name',
      '  f64  utf8?',
      '    0  漢字',
      '    1  ""',
      '    0  null',
    ].join('\n'),
  )
  await kept.release()
  expect(inspect(kept)).toMatch('DistArray: table, rows not counted yet, 3 lazy steps over fromRows (filter, map, materialize)\n')
})

test('a file is not read to be looked at', async () => {
  const path = join(folder, 'a.csv')
  writeFileSync(path, 'a,b\n1,x\n')
  const table = await session.readCsv(path)
  rmSync(path)
  expect(inspect(table)).toBe(
    [
      'DistArray: table, rows not counted yet, not read yet (a.csv)',
      '  column  type',
      '  a       f64?',
      '  b       utf8?',
      'Nothing has run; preview() shows rows.',
    ].join('\n'),
  )
})

test('arrays show their shape, their type and a corner', async () => {
  const zeros = session.zeros([7, 8])
  await zeros.set([0, 1], 2.5)
  expect(inspect(zeros)).toBe(
    [
      'DistArray: dense array [7, 8] of f64, zeros',
      '  0  2.5  0  0  0  0  …',
      '  0    0  0  0  0  0  …',
      '  0    0  0  0  0  0  …',
      '  0    0  0  0  0  0  …',
      '  0    0  0  0  0  0  …',
      '  0    0  0  0  0  0  …',
      'and one more row',
    ]
      .join('\n')
      .replace('one more row', '1 more row'),
  )
  expect(inspect(session.fill([2, 1, 2], 7n))).toBe('DistArray: dense array [2, 1, 2] of i64, fill\n  7  7\nat [0, …]')
  expect(inspect(session.zeros([0, 3]))).toBe('DistArray: dense array [0, 3] of f64, zeros\nIt has no elements.')
  expect(inspect(session.random([3], { dtype: 'f32' }))).toBe('DistArray: dense array [3] of f32, random\nIt is filled at its first use.')
  const sparse = session.sparse([4, 4])
  expect(inspect(sparse)).toBe('DistArray: sparse array [4, 4] of f64, sparse\nIt has no elements yet.')
  await sparse.set([3, 2], 1)
  expect(inspect(sparse)).toBe(
    'DistArray: sparse array [4, 4] of f64 with 1 element, sparse\n  key     value\n            f64\n  [3, 2]      1',
  )
  expect(inspect(session.fromRows(rowsOf(3)).index((r) => [r.id, 0]))).toBe(
    'DistArray: sparse array [?, ?] of rows {id: f64, name: utf8?, when: timestamp(ms)}, 1 lazy step over fromRows (index)\nNothing has run; preview() shows elements.',
  )
})

test('what hangs on a session', async () => {
  const A = session.zeros([2, 3])
  const total = session.accumulator('sum')
  const loop = session.loop(
    session.range(2, 3),
    { A, total },
    ([i, j], { A, total }) => {
      A.set(i, j, i)
      total.add(j)
    },
    { name: 'fill' },
  )
  const lines = [
    '  variable  is         from',
    '  A         local      env',
    '  total     reduction  env',
    'schedule: no two iterations depend on each other',
  ]
  expect(inspect(loop)).toBe(
    ['Loop: fill: independent on axis 0', ...lines, 'execution: decided by run()', 'It has not run; explain() says more.'].join('\n'),
  )
  await loop.run()
  expect(inspect(loop)).toBe(
    [
      `Loop: fill: independent on axis 0, kernel ${loop.plan.kernel.target}, on the caller's thread`,
      ...lines,
      'execution: the session has one worker',
      '1 pass ran; explain() says more.',
    ]
      .join('\n')
      .replace('the session has one worker', loop.plan.execution.because),
  )
  expect(inspect(total)).toBe('Accumulator: sum 6')
  expect(inspect(session.accumulator({ init: [''], combine: (a) => a }))).toBe('Accumulator: custom [""]')
  expect(inspect(session.rng(3))).toBe('Rng: seed 3')
  expect(inspect(A.buffer({ maxDelay: 1000 }))).toBe('UpdateBuffer: sums updates, flushed after 1,000 iterations')
  expect(inspect(session.range(2, 3))).toBe("{ kind: 'IndexSpace', extents: [ 2, 3 ] }")
  expect(inspect(session.fromRows(rowsOf(1)).groupBy((r) => ({ month: r.when.getUTCMonth() })))).toBe(
    [
      'Grouped: elements of fromRows by r => ({ month: r.when.getUTCMonth() })',
      '  column  type',
      '  month   f64',
      'Nothing has run; agg({ … }), count(), reduce(f) and map(f) give an array.',
    ].join('\n'),
  )
})

test('inside of other objects, and where one line is asked for, it is one line', () => {
  const table = session.fromRows(rowsOf(1))
  expect(inspect({ table, n: [table] }, { breakLength: 200 })).toBe(
    '{ table: [DistArray: table of 1 row, in memory (fromRows)], n: [ [DistArray: table of 1 row, in memory (fromRows)] ] }',
  )
  expect(inspect(table, { compact: true })).toBe('[DistArray: table of 1 row, in memory (fromRows)]')
  expect(inspect(table, { depth: 0 }).split('\n').length).toBe(4)
})

test('it has an end, whatever the array holds', () => {
  const wide = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`column${i}`, 'v'.repeat(10_000)]))
  const text = inspect(session.fromRows(Array.from({ length: 50 }, () => wide)))
  expect(text.split('\n').length).toBe(16)
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThan(130)
  expect(text).toMatch(/\n48 more columns: column2, column3, column4, column5, column6, …\nand 40 more rows\nand 250 more of 300 columns$/)
  let doubled = session.fromRows([1])
  for (let i = 0; i < 40; i++) doubled = doubled.union(doubled)
  expect(inspect(doubled).split('\n')[0]).toBe(
    'DistArray: table of 1,099,511,627,776 rows, 40 lazy steps over fromRows (…, union, union, union, union, union, union)',
  )
  let chain: DistArray<number> = session.fromRows([1])
  for (let i = 0; i < 100; i++) chain = chain.filter((x) => x > 0)
  expect(inspect(chain).split('\n')[0]).toBe(
    'DistArray: table, rows not counted yet, 100 lazy steps over fromRows (…, filter, filter, filter, filter, filter, filter)',
  )
})

test('values inside of values, names and types are cut short', () => {
  expect(inspect(session.accumulator<unknown>({ init: [[[[1]]], 2, 3, 4, 5, 6], combine: (a) => a }))).toBe(
    'Accumulator: custom [[[[…]]], 2, 3, 4, 5, … (6)]',
  )
  expect(inspect(session.fromRows([{ o: { a: { b: { c: { d: 1 } } } }, bytes: new Uint8Array([1, 255]), no: { f: '' } }]))).toBe(
    [
      'DistArray: table of 1 row, in memory (fromRows)',
      '  o                                                bytes    no',
      '  struct<a: struct<b: struct<c: struct<d: f64>>>>  binary   struct<f: utf8>',
      '  {a: {b: {c: {…}}}}                               <01 ff>  {f: ""}',
    ].join('\n'),
  )
  class Custom {
    readonly n = 1
  }
  expect(inspect(session.accumulator({ init: new Custom(), combine: (a) => a }))).toBe('Accumulator: custom an instance of Custom')
  const long = inspect(session.fromRows([{ ['n'.repeat(1000)]: 1 }]).map((r) => ({ ...r })))
  expect(long.length).toBeLessThan(300)
})

test('notebooks get markup in which nothing of the data is markup', () => {
  expect(html(session.fromRows([{ '<b>': '<script>alert("&")</script>' }]))).toBe(
    '<div><p>DistArray: table of 1 row, in memory (fromRows)</p><table><thead><tr><th style="text-align:left">&lt;b&gt;<br><small>utf8</small></th></tr></thead>' +
      '<tbody><tr><td style="text-align:left">&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;</td></tr></tbody></table></div>',
  )
  expect(html(session.zeros([1, 2]))).toBe(
    '<div><p>DistArray: dense array [1, 2] of f64, zeros</p><table><tbody><tr><td style="text-align:right">0</td><td style="text-align:right">0</td></tr></tbody></table></div>',
  )
})

test('looking never throws', async () => {
  const other = await Session.start({ workers: 1, memory: '16MB', progress: false })
  const table = other.fromRows(rowsOf(2))
  const array = other.zeros([2])
  await array.set([0], 1)
  const loop = other.loop(array, {}, (_, [i]) => {
    if (i === 1) throw new Error('no')
    return 1
  })
  await expect(loop.run()).rejects.toThrow()
  expect(inspect(array)).toBe(
    'DistArray: dense array [2] of f64, zeros\nWhat it held is gone: it was released, or a loop that wrote it failed.',
  )
  await other.stop()
  expect(inspect(other)).toBe("Session: 1 worker, the caller's thread, stopped")
  expect(inspect(table)).toBe('DistArray: table of 2 rows, in memory (fromRows)\nIts session was stopped.')
  expect(inspect(Object.create(DistArray.prototype))).toBe('distarray: cannot be looked at now')
  expect(inspect(session)).toMatch(/^Session: 1 worker, the caller's thread, \d+ MB of 64 MB of memory used$/)
})

test('preview() gives the first elements, as values, text and HTML', async () => {
  const table = session.fromRows(rowsOf(4))
  const preview = await table.preview(2)
  const text = [
    'Preview: the first 2 of 4 rows',
    '   id  name   when',
    '  f64  utf8?  timestamp(ms)',
    '    0  null   2020-01-01T00:00:00.000Z',
    '    1  x      2020-01-02T00:00:00.000Z',
  ]
  expect(inspect(preview)).toBe(text.join('\n'))
  expect({ ...preview, html: html(preview) === preview.html }).toEqual({
    columns: [
      { name: 'id', type: 'f64' },
      { name: 'name', type: 'utf8?' },
      { name: 'when', type: 'timestamp(ms)' },
    ],
    rows: rowsOf(2),
    total: 4,
    text: text.join('\n'),
    html: true,
  })
  const refused = await table.map((r) => JSON.parse(JSON.stringify({ id: r.id })) as { id: number }).preview()
  expect(inspect(refused)).toBe(['Preview: 4 rows', '   id', '  f64', '    0', '    1', '    2', '    3'].join('\n'))
  expect(
    inspect(
      await table
        .index((r) => [r.id, 1])
        .map((r) => r.id)
        .preview(1),
    ),
  ).toBe('Preview: 1 element\n  key     value\n            f64\n  [0, 1]      0')
  await expect(table.preview(-1)).rejects.toThrow('The number of elements of preview() is an integer of at least 0; it was given -1.')
})

test('describe() sums up each column, as data and as a table', async () => {
  const ends = (from: number, width: number) => ({ from, width, counts: [1, 0, 0, 0, 0, 0, 0, 0, 1] })
  const table = session.fromRows([
    { n: 3, big: 2n ** 62n, text: 'b', flag: true, when: new Date(5), list: [1] },
    { n: -1, big: 2n ** 62n, text: 'a', flag: false, when: new Date(3), list: [1] },
    { n: null, big: 2n ** 62n, text: 'b', flag: false, when: null, list: [] },
  ])
  const description = await table.describe()
  expect(JSON.parse(JSON.stringify(description, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)))).toEqual({
    rows: 3,
    columns: [
      { name: 'n', type: 'f64?', nulls: 1, min: -1, max: 3, mean: 1, histogram: ends(-1, 0.5), distinct: 2, isDistinctExact: true },
      {
        ...{ name: 'big', type: 'i64', nulls: 0, min: `${2n ** 62n}n`, max: `${2n ** 62n}n`, mean: 2 ** 62 },
        ...{ histogram: { from: 2 ** 62, width: 0, counts: [3] }, distinct: 1, isDistinctExact: true },
      },
      { name: 'text', type: 'utf8', nulls: 0, min: 'a', max: 'b', mean: null, histogram: null, distinct: 2, isDistinctExact: true },
      { name: 'flag', type: 'bool', nulls: 0, min: false, max: true, mean: null, histogram: null, distinct: 2, isDistinctExact: true },
      {
        name: 'when',
        type: 'timestamp(ms)?',
        nulls: 1,
        min: new Date(3).toISOString(),
        max: new Date(5).toISOString(),
        mean: null,
        histogram: ends(3, 0.25),
        distinct: 2,
        isDistinctExact: true,
      },
      {
        name: 'list',
        type: 'list<f64>',
        nulls: 0,
        min: null,
        max: null,
        mean: null,
        histogram: null,
        distinct: null,
        isDistinctExact: true,
      },
    ],
  })
  expect(inspect(await table.select('n', 'text', 'list').describe())).toBe(
    [
      'Description: 3 rows',
      '  column  type       nulls  distinct  min  max  mean  histogram',
      '  n       f64?           1         2   -1    3     1  █       █',
      '  text    utf8           0         2    a    b',
      '  list    list<f64>      0',
    ].join('\n'),
  )
  expect(await session.zeros([3]).describe()).toEqual({
    rows: 3,
    columns: [
      {
        name: 'value',
        type: 'f64',
        nulls: 0,
        min: 0,
        max: 0,
        mean: 0,
        histogram: { from: 0, width: 0, counts: [3] },
        distinct: 1,
        isDistinctExact: true,
      },
    ],
  })
})

test('different values are counted up to a limit', async () => {
  const many = session.fromColumns({
    n: Float64Array.from({ length: 100_001 }, (_, i) => i),
    text: Array.from({ length: 100_001 }, (_, i) => `x${i % 100_000}`),
  })
  const { columns } = await many.describe()
  expect(columns.map(({ distinct, isDistinctExact }) => [distinct, isDistinctExact])).toEqual([
    [100_000, false],
    [100_000, true],
  ])
  expect(inspect(await many.select('n').describe())).toBe(
    [
      'Description: 100,001 rows',
      '  column  type  nulls   distinct  min     max   mean  histogram',
      '  n       f64       0  > 100,000    0  100000  50000  ██████▁',
    ].join('\n'),
  )
})
