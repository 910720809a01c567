/**
 * Reading and writing files against DuckDB and Polars: as many threads each, in one process but for Polars, which has a
 * Python of its own.
 *
 *     distarray   read*().materialize().count(), sum(), count(), write*()
 *     duckdb      CREATE TABLE AS, SELECT, COPY through @duckdb/node-api
 *     polars      read_*, scan_*().select().collect(), write_*
 *
 * A million rows of six columns (two of whole numbers, doubles of all digits, hundredths, dates, and texts of which some are
 * unlike all others), and TPC-H's lineitem and orders. Answers are compared once, before anything is timed.
 *
 *     npm run bench -- files --threads 2 --only CSV
 */
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { type DistArray, Session, sum } from 'distarray'
import { type Pass, suite, timed } from './harness.ts'
import { startPolars } from './python.ts'
import { createMix, sameAnswer } from './tablesData.ts'
import { type Lineitem, type Order, tpchFolder } from './tpch/tables.ts'

const bench = suite('files', { rows: 1_000_000, threads: 2, scale: 1 })
const { rows, threads, scale } = bench.options

interface Sale {
  readonly id: number
  readonly product: number
  readonly price: number
  readonly cost: number
  readonly day: Date
  readonly note: string
}

const folder = join(tmpdir(), 'distarray-files')
mkdirSync(folder, { recursive: true })
const session = await Session.start({ workers: threads, progress: false, memory: '3.5GB' })
const instance = await DuckDBInstance.create(':memory:', { threads: String(threads) })
const duckdb = await instance.connect()
const polars = await startPolars({ threads, busy: bench.busy })
const found = tpchFolder(scale, process.env.TPCH_FOLDER ?? join(tmpdir(), 'distarray-tpch'))
if ('absent' in found) console.log(`LEFT OUT lineitem and orders: ${found.absent}`)

const out = (name: string): string => join(folder, `out-${name}`)
const sales = { parquet: join(folder, `sales-${rows}.parquet`), csv: join(folder, `sales-${rows}.csv`) }
await createMix(duckdb)
await duckdb.run(`CREATE TABLE sales AS SELECT
  i::INTEGER AS id,
  (mix(i, 200000000) % 100000)::INTEGER AS product,
  (mix(i, 500000000)::DOUBLE / 4294967296.0) * 100 AS price,
  (mix(i, 600000000) % 100000)::DOUBLE / 100 AS cost,
  DATE '2015-01-01' + (mix(i, 300000000) % 3650)::INTEGER AS day,
  CASE WHEN mix(i, 400000000) % 4 = 0 THEN 'note ' || mix(i, 700000000) ELSE 'shop number ' || (mix(i, 100000000) % 100) END AS note
  FROM range(${rows}) t(i)`)
if (!existsSync(sales.parquet)) await duckdb.run(`COPY sales TO '${sales.parquet}' (ROW_GROUP_SIZE 122880)`)
if (!existsSync(sales.csv)) await duckdb.run(`COPY sales TO '${sales.csv}' (HEADER)`)

interface Work {
  readonly name: string
  readonly rows: number
  readonly ours: () => Promise<unknown>
  /** Absent where DuckDB does not read such files. */
  readonly duck?: string
  readonly polars: string
  /** Whether both say the same, where there is something to say. */
  readonly compared?: boolean
}

async function ask({ name, rows, ours, duck, polars: python, compared = false }: Work): Promise<void> {
  if (!bench.wanted(name)) return
  if (compared) {
    const said = [await ours(), duck && (await duckdb.runAndReadAll(duck)).getRows()[0]?.[0], (await polars?.run(python))?.answer]
    for (const other of said.slice(1))
      if (other !== undefined && !sameAnswer(said[0], other)) throw new Error(`${name}: ${said.join(' against ')}`)
  }
  await bench.ask({
    name,
    unit: 'row',
    units: rows,
    contenders: {
      distarray: timed(ours),
      duckdb: duck === undefined ? undefined : timed(() => duckdb.run(duck)),
      polars: polars && ((async () => (await polars.run(python)).ms) satisfies Pass),
    },
    peers: ['duckdb', 'polars'],
  })
}

/** Computes all of a table, and lets it go. */
async function whole(table: DistArray<unknown>): Promise<number> {
  const stored = table.materialize()
  const count = await stored.count()
  await stored.release()
  return count
}

/** The same for those that can be compared by a count. */
function reading(
  name: string,
  rows: number,
  { ours, duck, polars }: Omit<Work, 'name' | 'rows'> & { readonly duck: string },
): Promise<void> {
  return ask({ name, rows, ours, duck: `CREATE OR REPLACE TEMP TABLE answer AS ${duck}`, polars })
}

const three = ['id', 'price', 'note'] as const
await reading(`Parquet, ${rows} x 6: all columns`, rows, {
  ours: async () => whole(await session.readParquet<Sale>(sales.parquet)),
  duck: `FROM '${sales.parquet}'`,
  polars: `pl.read_parquet('${sales.parquet}')`,
})
await reading(`Parquet, ${rows} x 6: 3 columns`, rows, {
  ours: async () => whole((await session.readParquet<Sale>(sales.parquet)).select(...three)),
  duck: `SELECT ${three.join()} FROM '${sales.parquet}'`,
  polars: `pl.read_parquet('${sales.parquet}', columns=['${three.join("', '")}'])`,
})
const types = { day: 'date' } as const
await reading(`CSV, ${rows} x 6: all columns`, rows, {
  ours: async () => whole(await session.readCsv<Sale>(sales.csv, { types })),
  duck: `FROM '${sales.csv}'`,
  polars: `pl.read_csv('${sales.csv}', try_parse_dates=True)`,
})
await ask({
  name: `CSV, ${rows} x 6: sum of a column`,
  rows,
  ours: async () => (await session.readCsv<Sale>(sales.csv, { types })).map((sale) => sale.price).sum(),
  duck: `SELECT sum(price) FROM '${sales.csv}'`,
  polars: `answer = pl.scan_csv('${sales.csv}').select(pl.col('price').sum()).collect().item()`,
  compared: true,
})

const visits = join(folder, `visits-${12 * rows}.parquet`)
if (!existsSync(visits))
  await duckdb.run(`COPY (SELECT
    (mix(i, 100000000) % 1000)::INTEGER AS shop,
    (mix(i, 200000000)::DOUBLE / 4294967296.0) * 100 AS spent,
    'town ' || (mix(i, 300000000) % 100) AS town
    FROM range(${12 * rows}) t(i)) TO '${visits}' (ROW_GROUP_SIZE 122880)`)
interface Visit {
  readonly shop: number
  readonly spent: number
  readonly town: string
}
const visited = () => session.readParquet<Visit>(visits)
await ask({
  name: `Parquet, ${12 * rows} x 3: sum of what a filter keeps`,
  rows: 12 * rows,
  ours: async () =>
    (await visited())
      .filter((v) => v.shop < 300)
      .map((v) => v.spent)
      .sum(),
  duck: `SELECT sum(spent) FROM '${visits}' WHERE shop < 300`,
  polars: `answer = pl.scan_parquet('${visits}').filter(pl.col('shop') < 300).select(pl.col('spent').sum()).collect().item()`,
  compared: true,
})
await ask({
  name: `Parquet, ${12 * rows} x 3: sums by group`,
  rows: 12 * rows,
  ours: async () => {
    const groups = (await visited()).groupBy((v) => v.shop).agg({ spent: sum((v) => v.spent) })
    return groups.map((g) => g.spent).max()
  },
  duck: `SELECT max(spent) FROM (SELECT sum(spent) AS spent FROM '${visits}' GROUP BY shop)`,
  polars: `answer = pl.scan_parquet('${visits}').group_by('shop').agg(pl.col('spent').sum()).select(pl.col('spent').max()).collect().item()`,
  compared: true,
})
await ask({
  name: `Parquet, ${12 * rows} x 3: rows of one text`,
  rows: 12 * rows,
  ours: async () => (await visited()).filter((v) => v.town === 'town 7').count(),
  duck: `SELECT count(*)::DOUBLE FROM '${visits}' WHERE town = 'town 7'`,
  polars: `answer = pl.scan_parquet('${visits}').filter(pl.col('town') == 'town 7').select(pl.len()).collect().item()`,
  compared: true,
})

const arrow = join(folder, `visits-${4 * rows}.arrow`)
if (!existsSync(arrow)) await (await visited()).limit(4 * rows).writeArrow(arrow)
const seen = () => session.readArrow<Visit>(arrow)
await ask({
  name: `Arrow, ${4 * rows} x 3: sums by a text`,
  rows: 4 * rows,
  ours: async () => {
    const groups = (await seen()).groupBy((v) => v.town).agg({ spent: sum((v) => v.spent) })
    return groups.map((g) => g.spent).max()
  },
  polars: `answer = pl.scan_ipc('${arrow}').group_by('town').agg(pl.col('spent').sum()).select(pl.col('spent').max()).collect().item()`,
  compared: true,
})
await ask({
  name: `Arrow, ${4 * rows} x 3: rows by a text of two columns`,
  rows: 4 * rows,
  ours: async () => {
    const groups = (await seen()).groupBy((v) => `${v.town}, ${v.shop}`).count()
    return groups.map((g) => g.count).max()
  },
  polars: `answer = pl.scan_ipc('${arrow}').group_by(pl.format('{}, {}', 'town', 'shop')).len().select(pl.col('len').max()).collect().item()`,
  compared: true,
})

const orderLines = join(folder, `orders-${rows / 5}.ndjson`)
if (!existsSync(orderLines))
  await duckdb.run(`COPY (SELECT
    i::INTEGER AS id,
    {'town': 'town ' || (mix(i, 300000000) % 100), 'zip': (mix(i, 100000000) % 1000)::INTEGER} AS place,
    list_transform(range((mix(i, 200000000) % 4)::BIGINT), lambda k: {'name': 'item ' || ((i + 3 * k) % 50), 'count': k}) AS items,
    (mix(i, 400000000)::DOUBLE / 4294967296.0) * 100 AS price
    FROM range(${rows / 5}) t(i)) TO '${orderLines}' (FORMAT JSON)`)
interface OrderLine {
  readonly place: { readonly town: string }
  readonly items: readonly { readonly name: string; readonly count: number }[] | null
  readonly price: number
}
await ask({
  name: `NDJSON, ${rows / 5} nested: sums by a field`,
  rows: rows / 5,
  ours: async () => {
    const groups = (await session.readNdjson<OrderLine>(orderLines)).groupBy((o) => o.place.town).agg({ price: sum((o) => o.price) })
    return groups.map((g) => g.price).max()
  },
  duck: `SELECT max(price) FROM (SELECT sum(price) AS price FROM '${orderLines}' GROUP BY place.town)`,
  polars: `answer = pl.scan_ndjson('${orderLines}').group_by(pl.col('place').struct.field('town')).agg(pl.col('price').sum()).select(pl.col('price').max()).collect().item()`,
  compared: true,
})

const places = join(folder, `places-${rows}.parquet`)
if (!existsSync(places))
  await duckdb.run(`COPY (SELECT
    i::INTEGER AS id,
    {'land': 'land ' || (mix(i, 300000000) % 8), 'height': mix(i, 200000000)::DOUBLE / 4294967296.0, 'zone': (mix(i, 100000000) % 1000)::INTEGER} AS place
    FROM range(${rows}) t(i)) TO '${places}' (ROW_GROUP_SIZE 122880)`)
interface Visited {
  readonly id: number
  readonly place: { readonly land: string; readonly height: number; readonly zone: number }
}
await ask({
  name: `Parquet, ${rows} structs: sums by a field`,
  rows,
  ours: async () => {
    const groups = (await session.readParquet<Visited>(places)).groupBy((v) => v.place.land).agg({ ids: sum((v) => v.id) })
    return groups.map((g) => g.ids).max()
  },
  duck: `SELECT max(ids)::DOUBLE FROM (SELECT sum(id) AS ids FROM '${places}' GROUP BY place.land)`,
  polars: `answer = pl.scan_parquet('${places}').group_by(pl.col('place').struct.field('land')).agg(pl.col('id').cast(pl.Float64).sum()).select(pl.col('id').max()).collect().item()`,
  compared: true,
})

const tagged = join(folder, `tagged-${rows}.parquet`)
if (!existsSync(tagged))
  await duckdb.run(`COPY (SELECT
    i::INTEGER AS id,
    list_transform(range((mix(i, 300000000) % 5)::BIGINT), lambda k: ((i + 17 * k) % 100)::DOUBLE) AS scores,
    list_transform(range((mix(i, 200000000) % 4)::BIGINT), lambda k: 'tag ' || ((i + 3 * k) % 10)) AS tags
    FROM range(${rows}) t(i)) TO '${tagged}' (ROW_GROUP_SIZE 122880)`)
interface Tagged {
  readonly id: number
  readonly scores: readonly number[]
  readonly tags: readonly string[]
}
await ask({
  name: `Parquet, ${rows} lists: rows with a tag, and sums of lists`,
  rows,
  ours: async () => {
    const kept = (await session.readParquet<Tagged>(tagged)).filter((r) => r.tags?.includes('tag 7') === true)
    return kept.map((r) => (r.scores === null ? 0 : r.scores.reduce((a, b) => a + b, 0))).sum()
  },
  duck: `SELECT sum(list_sum(scores)) FROM '${tagged}' WHERE list_contains(tags, 'tag 7')`,
  polars: `answer = pl.scan_parquet('${tagged}').filter(pl.col('tags').list.contains('tag 7')).select(pl.col('scores').list.sum().sum()).collect().item()`,
  compared: true,
})

await ask({
  name: `Parquet, ${rows} lists: rows for the tags of each, by tag`,
  rows,
  ours: async () => {
    const tags = (await session.readParquet<Tagged>(tagged)).flatMap((r) => (r.tags ?? []).map((tag) => ({ tag, id: r.id })))
    const groups = tags.groupBy((t) => t.tag).agg({ ids: sum((t) => t.id) })
    return groups.map((g) => g.ids).max()
  },
  duck: `SELECT max(ids)::DOUBLE FROM (SELECT sum(id) AS ids FROM (SELECT id, unnest(tags) AS tag FROM '${tagged}') GROUP BY tag)`,
  polars: `answer = pl.scan_parquet('${tagged}').explode('tags').drop_nulls('tags').group_by('tags').agg(pl.col('id').cast(pl.Float64).sum()).select(pl.col('id').max()).collect().item()`,
  compared: true,
})
await ask({
  name: `NDJSON, ${rows / 5} nested: a sum over lists of objects`,
  rows: rows / 5,
  ours: async () => (await session.readNdjson<OrderLine>(orderLines)).map((o) => (o.items ?? []).reduce((n, i) => n + i.count, 0)).sum(),
  duck: `SELECT sum(list_sum(list_transform(items, lambda i: i.count)))::DOUBLE FROM '${orderLines}'`,
  polars: `answer = float(pl.scan_ndjson('${orderLines}').select(pl.col('items').list.eval(pl.element().struct.field('count')).list.sum().sum()).collect().item())`,
  compared: true,
})
await ask({
  name: `Parquet, ${rows} x 6: different pairs of a number and a year`,
  rows,
  ours: async () => {
    const pairs = (await session.readParquet<Sale>(sales.parquet)).map((s) => ({ product: s.product, year: s.day.getUTCFullYear() }))
    return await pairs.distinct().count()
  },
  duck: `SELECT count(*)::DOUBLE FROM (SELECT DISTINCT product, year(day) FROM '${sales.parquet}')`,
  polars: `answer = float(pl.scan_parquet('${sales.parquet}').select('product', pl.col('day').dt.year()).unique().select(pl.len()).collect().item())`,
  compared: true,
})

if ('folder' in found) {
  const lineitem = join(found.folder, 'lineitem.parquet')
  const orders = join(found.folder, 'orders.parquet')
  const ordersCsv = join(folder, `orders-${scale}.csv`)
  if (!existsSync(ordersCsv)) await duckdb.run(`COPY (FROM '${orders}') TO '${ordersCsv}' (HEADER)`)
  const [lines, ordered] = await Promise.all(
    [lineitem, orders].map(async (path) => Number((await duckdb.runAndReadAll(`SELECT count(*) FROM '${path}'`)).getRows()[0]?.[0])),
  )
  if (lines === undefined || ordered === undefined) throw new Error('There are no rows.')
  const read = () => session.readParquet<Lineitem>(lineitem)
  const some = ['l_orderkey', 'l_extendedprice', 'l_shipmode'] as const
  await reading('Parquet, lineitem: all columns', lines, {
    ours: async () => whole(await read()),
    duck: `FROM '${lineitem}'`,
    polars: `pl.read_parquet('${lineitem}')`,
  })
  await reading('Parquet, lineitem: 3 columns', lines, {
    ours: async () => whole((await read()).select(...some)),
    duck: `SELECT ${some.join()} FROM '${lineitem}'`,
    polars: `pl.read_parquet('${lineitem}', columns=['${some.join("', '")}'])`,
  })
  await ask({
    name: 'Parquet, lineitem: sum of a column',
    rows: lines,
    ours: async () => (await read()).map((line) => line.l_extendedprice).sum(),
    duck: `SELECT sum(l_extendedprice)::DOUBLE FROM '${lineitem}'`,
    polars: `answer = float(pl.scan_parquet('${lineitem}').select(pl.col('l_extendedprice').sum()).collect().item())`,
    compared: true,
  })
  await ask({
    name: 'Parquet, lineitem: count()',
    rows: lines,
    ours: async () => (await read()).count(),
    duck: `SELECT count(*)::DOUBLE FROM '${lineitem}'`,
    polars: `answer = pl.scan_parquet('${lineitem}').select(pl.len()).collect().item()`,
    compared: true,
  })
  const lastKeys = 5_900_000 * scale
  await ask({
    name: 'Parquet, lineitem: a filter that statistics decide for most row groups',
    rows: lines,
    ours: async () =>
      (await read())
        .filter((line, _, { lastKeys }) => line.l_orderkey > lastKeys, { env: { lastKeys } })
        .map((line) => line.l_quantity)
        .sum(),
    duck: `SELECT sum(l_quantity)::DOUBLE FROM '${lineitem}' WHERE l_orderkey > ${lastKeys}`,
    polars: `answer = float(pl.scan_parquet('${lineitem}').filter(pl.col('l_orderkey') > ${lastKeys}).select(pl.col('l_quantity').sum()).collect().item())`,
    compared: true,
  })
  await ask({
    name: 'Parquet, lineitem: a range of an ordered column, by the page index',
    rows: lines,
    ours: async () =>
      (await read())
        .filter((line, _, { lastKeys }) => line.l_orderkey > lastKeys && line.l_orderkey < lastKeys + 20_000, { env: { lastKeys } })
        .map((line) => line.l_quantity)
        .sum(),
    duck: `SELECT sum(l_quantity)::DOUBLE FROM '${lineitem}' WHERE l_orderkey > ${lastKeys} AND l_orderkey < ${lastKeys + 20_000}`,
    polars: `answer = float(pl.scan_parquet('${lineitem}').filter((pl.col('l_orderkey') > ${lastKeys}) & (pl.col('l_orderkey') < ${lastKeys + 20_000})).select(pl.col('l_quantity').sum()).collect().item())`,
    compared: true,
  })
  await reading('Parquet, lineitem: few rows with all columns', lines, {
    ours: async () => (await (await read()).filter((line) => line.l_partkey === 1234).collect()).length,
    duck: `FROM '${lineitem}' WHERE l_partkey = 1234`,
    polars: `pl.scan_parquet('${lineitem}').filter(pl.col('l_partkey') == 1234).collect()`,
  })
  await ask({
    name: 'Parquet, lineitem twice: sums by group of a union',
    rows: 2 * lines,
    ours: async () => {
      const [some, others] = [(await read()).filter((line) => line.l_tax > 0.04), (await read()).filter((line) => line.l_tax < 0.02)]
      const groups = some
        .union(others)
        .groupBy((line) => line.l_shipmode)
        .agg({ price: sum((line) => line.l_extendedprice) })
      return groups.map((group) => group.price).max()
    },
    duck: `SELECT max(price)::DOUBLE FROM (SELECT sum(l_extendedprice) AS price FROM (FROM '${lineitem}' WHERE l_tax > 0.04 UNION ALL FROM '${lineitem}' WHERE l_tax < 0.02) GROUP BY l_shipmode)`,
    polars: `answer = float(pl.concat([pl.scan_parquet('${lineitem}').filter(pl.col('l_tax') > 0.04), pl.scan_parquet('${lineitem}').filter(pl.col('l_tax') < 0.02)]).group_by('l_shipmode').agg(pl.col('l_extendedprice').sum()).select(pl.col('l_extendedprice').max()).collect().item())`,
    compared: true,
  })
  await reading('CSV, orders: all columns', ordered, {
    ours: async () => whole(await session.readCsv<Order>(ordersCsv, { types: { o_orderdate: 'date' } })),
    duck: `FROM '${ordersCsv}'`,
    polars: `pl.read_csv('${ordersCsv}', try_parse_dates=True)`,
  })
  await ask({
    name: 'write lineitem as Parquet, from Parquet',
    rows: lines,
    ours: async () => (await read()).writeParquet(out('lineitem.parquet')),
    duck: `COPY (FROM '${lineitem}') TO '${out('lineitem-duckdb.parquet')}'`,
    polars: `pl.scan_parquet('${lineitem}').sink_parquet('${out('lineitem-polars.parquet')}', compression='snappy')`,
  })
}

const table: DistArray<Sale> = (await session.readParquet<Sale>(sales.parquet)).materialize()
await table.count()
await polars?.run(`sales = pl.read_parquet('${sales.parquet}')`)
await ask({
  name: `write ${rows} x 6 as Parquet`,
  rows,
  ours: () => table.writeParquet(out('sales.parquet')),
  duck: `COPY sales TO '${out('sales-duckdb.parquet')}'`,
  polars: `sales.write_parquet('${out('sales-polars.parquet')}', compression='snappy')`,
})
await ask({
  name: `write ${rows} x 6 as CSV`,
  rows,
  ours: () => table.writeCsv(out('sales.csv')),
  duck: `COPY sales TO '${out('sales-duckdb.csv')}' (HEADER)`,
  polars: `sales.write_csv('${out('sales-polars.csv')}')`,
})
for (const name of ['sales', 'sales-duckdb', 'sales-polars', 'lineitem', 'lineitem-duckdb', 'lineitem-polars'])
  for (const ending of ['parquet', 'csv']) {
    const path = out(`${name}.${ending}`)
    if (!existsSync(path)) continue
    console.log(`${name}.${ending}: ${(statSync(path).size / 2 ** 20).toFixed(1)} MiB`)
    rmSync(path)
  }
await polars?.stop()
await session.stop()
duckdb.closeSync()
instance.closeSync()
bench.finish()
