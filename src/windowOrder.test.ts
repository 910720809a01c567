import { afterAll, beforeAll, expect, test } from 'vitest'
import { denseRank, rank, rowNumber, Session, sum } from './index.ts'

let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 2 })
})
afterAll(() => session.stop())

const rows = [
  { shop: 'b', total: 5, name: 'x' },
  { shop: 'a', total: 7, name: 'z' },
  { shop: 'a', total: null, name: 'q' },
  { shop: 'a', total: 7, name: 'y' },
  { shop: 'b', total: 9, name: 'w' },
]

test('a window in the order of several values, each of which goes its own way', async () => {
  const table = session.fromRows(rows)
  const ranked = table.window(
    { by: (r) => r.shop, orderBy: [{ by: (r) => r.total, order: 'descending', nulls: 'first' }, (r) => r.name] },
    { n: rowNumber(), running: sum((r) => r.total) },
  )
  expect((await ranked.collect()).map(({ n, running }) => [n, running])).toEqual([
    [2, 14],
    [3, 14],
    [1, 0],
    [2, 7],
    [1, 9],
  ])
  const all = table.window({ orderBy: [{ by: (r) => r.total, order: 'descending' }] }, { rank: rank(), dense: denseRank() })
  expect((await all.collect()).map((r) => [r.rank, r.dense])).toEqual([
    [4, 3],
    [2, 2],
    [5, 4],
    [2, 2],
    [1, 1],
  ])
  expect(String(ranked.explain())).toContain('order [r => r.total, r => r.name] ascending, descending, ascending')
})

test('distances are those of a list of one value, and values take the env of the window', async () => {
  const over = { orderBy: [{ by: (r: (typeof rows)[number], { sign }: { sign: number }) => sign * (r.total ?? 0) }], env: { sign: -1 } }
  const near = session.fromRows(rows).window({ ...over, frame: { range: [-2, 0] } }, { near: sum((r) => r.total) })
  expect((await near.collect()).map((r) => r.near)).toEqual([19, 23, 0, 23, 9])
})

test('arrays that may be null go down item by item', async () => {
  const pairs = session.fromRows([
    { at: 1, to: 1 },
    { at: 1, to: 2 },
    { at: null, to: 3 },
  ])
  const ranked = pairs.window({ orderBy: (r) => (r.at === null ? null : [r.at, r.to]), descending: true }, { rank: rank() })
  expect((await ranked.collect()).map((r) => r.rank)).toEqual([2, 1, 3])
})

test('what makes no order is refused where it is written', () => {
  const table = session.fromRows(rows)
  const window = (over: object) => () => table.window(over as never, { n: rowNumber() })
  expect(window({ orderBy: [] })).toThrow(
    'The orderBy of window() needs at least one value to sort by, as in orderBy: [{ by: (row) => row.id }].',
  )
  expect(window({ orderBy: ['total'] })).toThrow(
    'The orderBy of window() takes a list of functions, or of { by, order, nulls }, as in orderBy: [{ by: (row) => row.price, order: \'descending\' }]; in it was "total".',
  )
  expect(window({ orderBy: [{ by: (r: { name: string }) => r.name, order: 'down' }] })).toThrow('The order of window()')
  expect(window({ orderBy: [(r: { name: string }) => [r.name]] })).toThrow('A value of orderBy: […] is one number')
  expect(window({ orderBy: [(r: { name: string }) => r.name], descending: true })).toThrow(
    "The orderBy of window() is a list, whose values have an order each. Write it there, as in orderBy: [{ by: (row) => row.price, order: 'descending' }].",
  )
  const two = [(r: { total: number }) => r.total, (r: { name: string }) => r.name]
  expect(window({ orderBy: two, frame: { range: [-2, 0] } })).toThrow('A frame by range needs an orderBy that returns one number or Date')
})
