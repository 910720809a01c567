/** What explain() says of functions is what runs: the kernels where the executor runs them, and the reason where it does not. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { type DistArray, Session, sum } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'explain-'))
const session = await Session.start({ workers: 2, progress: false })
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly a: number
  readonly s: string
  readonly d: Date
  readonly n: number | null
}
const rows = (count: number): Row[] =>
  Array.from({ length: count }, (_, i) => ({ a: i, s: `s${i % 9}`, d: new Date(i * 1000), n: i % 3 === 0 ? null : i }))
const large = session.fromRows(rows(30_000))

function functions(array: DistArray<never>): readonly unknown[] {
  const found = JSON.parse(array.explain({ format: 'json' })).functions as readonly { step: string; runs: string; because?: string }[]
  return found.map(({ step, runs, because }) => [step, runs, ...(because === undefined ? [] : [because])])
}
const explained = (array: DistArray<unknown>) => functions(array as DistArray<never>)

test('each function is said to run as the executor runs it', async () => {
  const path = join(folder, 'rows.parquet')
  await large.writeParquet(path, { rowGroupRows: 10_000 })
  const file = await session.readParquet<Row>(path)
  const small = session.fromRows(rows(10))
  let seen = 0
  expect(explained(large.filter((r) => r.a > 1).map((r) => r.a * 2))).toStrictEqual([
    ['FilterExec', 'WebAssembly'],
    ['MapExec', 'WebAssembly'],
  ])
  expect(explained(large.filter((r) => (r.n ?? 0) > 1))).toStrictEqual([['FilterExec', 'WebAssembly']])
  expect(explained(large.filter((r) => r.d > new Date(5000)))).toStrictEqual([['FilterExec', 'WebAssembly']])
  expect(explained(large.map((r) => ({ a: r.a })))).toStrictEqual([['MapExec', 'nothing', 'columns are handed on as they are']])
  const whole = 'they are read whole first'
  expect(explained(file.filter((r) => r.a > 1).map((r) => r.a * 2))).toStrictEqual([
    ['FilterExec', 'WebAssembly', whole],
    ['MapExec', 'WebAssembly', whole],
  ])
  expect(
    explained(
      file
        .filter((r) => r.a > 1)
        .groupBy((r) => r.s)
        .agg({ a: sum((r) => r.a) }),
    ),
  ).toStrictEqual([
    ['FilterExec', 'WebAssembly', whole],
    ['EvaluateExec', 'WebAssembly', whole],
    ['EvaluateExec', 'WebAssembly', whole],
  ])
  await session.fromRows(rows(10)).writeCsv(join(folder, 'rows.csv'))
  const csv = await session.readCsv<Row>(join(folder, 'rows.csv'))
  expect(explained(csv.map((r) => r.a * 2))).toStrictEqual([['MapExec', 'JavaScript', 'the file is small']])
  await session.fromRows(rows(30_000)).writeCsv(join(folder, 'large.csv'))
  const parsed = await session.readCsv<Row>(join(folder, 'large.csv'))
  expect(explained(parsed.map((r) => r.a * 2))).toStrictEqual([['MapExec', 'WebAssembly', whole]])
  expect(explained(file.filter((r) => r.a > 25_000).map((r) => r.a * 2))).toStrictEqual([
    ['FilterExec', 'JavaScript', 'only 10000 of its rows are read'],
    ['MapExec', 'JavaScript', 'only 10000 of its rows are read'],
  ])
  expect(explained(small.map((r) => r.a * 2))).toStrictEqual([['MapExec', 'JavaScript', 'the table has only 10 rows']])
  expect(explained(large.filter((r) => r.a > 2).limit(3))).toStrictEqual([
    ['FilterExec', 'JavaScript', 'a limit takes partition after partition'],
  ])
  expect(explained(large.map((r, [i]) => r.a + i))).toStrictEqual([['MapExec', 'JavaScript', 'a function reads row numbers']])
  expect(explained(large.filter((r) => /1/g.test(r.s)).map((r) => r.a))).toStrictEqual([
    ['FilterExec', 'copy', 'It uses a regular expression.'],
    ['MapExec', 'JavaScript', 'another function of its stage is not compiled'],
  ])
  expect(explained(large.map((r) => seen++ + r.a))).toStrictEqual([['MapExec', 'as it stands', 'It assigns the captured variable seen.']])
  expect(explained(large.groupBy((r) => r.s).agg({ a: sum((r) => r.a) }))).toStrictEqual([
    ['EvaluateExec', 'nothing', 'columns are handed on as they are'],
    ['EvaluateExec', 'nothing', 'columns are handed on as they are'],
  ])
  expect(explained(large.groupBy((r) => r.s).reduce((a, b) => (a.a > b.a ? a : b)))).toMatchObject([
    ['EvaluateExec', 'nothing', 'columns are handed on as they are'],
    ['GroupReduceExec', 'JavaScript', 'it is called with pairs or groups of rows'],
  ])
  expect(large.filter((r) => r.a > 1).explain({ verbose: true })).toContain(
    '\nFunctions\n  FilterExec r => r.a > 1: WebAssembly over columns\n',
  )
})

test('functions are explained as an action would find them', () => {
  let count = 0
  const chain = large
    .filter(() => {
      count++
      return true
    })
    .map((r) => r.a + count)
  expect(chain.explain()).toContain(
    "runs as it stands on the caller's thread: 1:1 (r) => r.a + count: It reads count, which another function of the chain may change.",
  )
})
