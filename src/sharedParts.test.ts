/** Parts of a query that several of its places read run once, say so, and leave no memory behind. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { count, Session, sum } from './index.ts'

const session = await Session.start({ workers: 2, progress: false })
const folder = mkdtempSync(join(tmpdir(), 'shared-parts-'))
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

const LENGTH = 300_000
const sales = session.fromColumns({
  item: Int32Array.from({ length: LENGTH }, (_, i) => (i * 7) % 1_000),
  day: Int32Array.from({ length: LENGTH }, (_, i) => i % 31),
  amount: Float64Array.from({ length: LENGTH }, (_, i) => i % 100),
})
const items = session.fromColumns({
  item: Int32Array.from({ length: 1_000 }, (_, i) => i),
  brand: Array.from({ length: 1_000 }, (_, i) => `brand ${i % 10}`),
})
const sold = sales.join(items, 'item')
const byBrand = sold.groupBy((r) => ({ brand: r.brand })).agg({ amount: sum((r) => r.amount), n: count() })
const all = sold.agg({ amount: sum((r) => r.amount), n: count() }).map((g) => ({ brand: null as string | null, amount: g.amount, n: g.n }))
const report = byBrand.map((g) => ({ brand: g.brand as string | null, amount: g.amount, n: g.n })).union(all)

test('the join runs once', async () => {
  let joins = 0
  const listener = session.events.subscribe((event) => {
    if (event.kind === 'stage' && event.phase === 'started' && event.stage === 'HashJoinExec') joins++
  })
  const rows = await report.collect()
  listener.unsubscribe()
  expect(joins).toBe(1)
  expect(rows).toHaveLength(11)
  expect(rows.at(-1)).toEqual({ brand: null, amount: (LENGTH / 100) * 4_950, n: LENGTH })
})

test('explain() has the part, and where it is read', async () => {
  const text = report.explain()
  const optimized = text.slice(text.indexOf('Optimized plan'), text.indexOf('Functions'))
  expect(optimized).toMatchInlineSnapshot(`
    "Optimized plan
      Union
        Map g => ({ brand: g.brand, amount: g.amount, n: g.n })  (pipelined)
          GroupBy r => ({ brand: r.brand }): amount = sum(r => r.amount), n = count()
            Stored shared 1 table
        Map g => ({ brand: null, amount: g.amount, n: g.n })  (pipelined)
          Project [amount, n]  (pipelined)
            GroupBy all rows: amount = sum(r => r.amount), n = count()
              Stored shared 1 table [amount]
    shared 1, which runs once for 2 places
      Project [amount, brand]
        Join inner on "item"
          Scan fromColumns [item, amount]
          Scan fromColumns [item, brand]
    Stages of shared 1
      stage 0: ScanExec fromColumns [item, amount]
      stage 1: ScanExec fromColumns [item, brand]
      stage 2: stage 0, stage 1 -> ExchangeExec right side to all -> HashJoinExec inner on "item" carrying [amount, brand]
      stage 3: stage 2 -> ProjectExec [amount, brand] -> streamed to the action
    Stages
      stage 0: StoredExec shared 1 table -> EvaluateExec [r => ({ brand: r.brand }), r => r.amount]
      stage 1: stage 0 -> ExchangeExec by group -> HashAggregateExec amount = sum, n = count
      stage 2: stage 1 -> MapExec g => ({ brand: g.brand, amount: g.amount, n: g.n }) -> streamed to stage 6
      stage 3: StoredExec shared 1 table [amount] -> EvaluateExec [all rows, r => r.amount]
      stage 4: stage 3 -> ExchangeExec by group -> HashAggregateExec amount = sum, n = count
      stage 5: stage 4 -> ProjectExec [amount, n] -> MapExec g => ({ brand: null, amount: g.amount, n: g.n }) -> streamed to stage 6
      stage 6: stage 2, stage 5 -> UnionExec
    "
  `)
  const { shared } = JSON.parse(report.explain({ format: 'json' })) as {
    readonly shared: readonly { readonly name: string; readonly places: number }[]
  }
  expect(shared.map(({ name, places }) => ({ name, places }))).toEqual([{ name: 'shared 1', places: 2 }])
  const ran = await report.explain({ analyze: true })
  expect(
    ran
      .slice(ran.indexOf('Ran in'))
      .split('\n')
      .slice(1, 3)
      .map((line) => line.replace(/:.*/, '')),
  ).toMatchInlineSnapshot(`
    [
      "  shared 1",
      "    ProjectExec [amount, brand]",
    ]
  `)
})

test('the join runs once for whoever takes the rows piece by piece, and for what is written', async () => {
  let joins = 0
  const listener = session.events.subscribe((event) => {
    if (event.kind === 'stage' && event.phase === 'started' && event.stage === 'HashJoinExec') joins++
  })
  const rows = await report.collect()
  const taken: unknown[] = []
  for await (const row of report) taken.push(row)
  const path = join(folder, 'report.parquet')
  await report.writeParquet(path)
  listener.unsubscribe()
  expect(joins).toBe(3)
  expect(taken).toEqual(rows)
  expect(await (await session.readParquet(path)).collect()).toEqual(rows)
})

test('nothing of it stays in memory', async () => {
  const used = (): string => /[\d.]+ \w+ of [\d.]+ \w+ of memory used/.exec(inspect(session))?.[0] ?? inspect(session)
  const before = used()
  for (let i = 0; i < 3; i++) await report.collect()
  for await (const _ of report) break
  expect(used()).toBe(before)
})
