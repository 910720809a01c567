/**
 * A day's work with a lake: price lists of a spreadsheet and logs of a server are cleaned, sales get the price of their time and the page that was
 * looked at before, and what comes of it goes back into the lake. `LAKE=s3://bucket` with the usual AWS_ variables names an object store; without
 * it the lake is a folder, with the same digits.
 */
import { mkdirSync } from 'node:fs'
import { count, parseTime, rank, Session, sum } from 'distarray'
import { fillLake } from './support/rawLake.ts'

const lake = process.env.LAKE ?? 'lake'
await using session = await Session.start({ progress: false })
if (process.env.LAKE === undefined) mkdirSync('lake/reports', { recursive: true })
await fillLake(session, lake)

// Price lists: gzipped, German numbers and times, a line before the header, prices that nobody knows.
interface Price {
  Artikel: string
  'Gültig ab': string
  Preis: number | null
}
const prices = (await session.readCsv<Price>(`${lake}/raw/prices/*.csv.gz`, { delimiter: ';', decimal: ',', skip: 1, nullValues: 'k.A.' }))
  .filter((p) => p.Preis !== null)
  .map((p) => ({
    article: p.Artikel,
    at: parseTime(p['Gültig ab'], '%d.%m.%Y %H:%M', { zone: 'Europe/Berlin' }),
    price: (p.Preis ?? 0) / 1000, // lists are per thousand
  }))
console.log(`${await prices.count()} prices, from ${(await prices.map((p) => p.price).min())?.toFixed(3)}`)

// Logs: a JSON object a line, objects in objects, fields that are not in all.
interface Request {
  at: Date
  user: number
  request: { path: string; ms: number }
  campaign: string | null
}
const views = (await session.readNdjson<Request>(`${lake}/raw/logs/`, { types: { at: 'timestamp' } })).map((r) => ({
  at: r.at,
  user: r.user,
  page: r.request.path.slice(1),
  fromCampaign: r.campaign !== null,
}))

// Sales of one month: of the other folders nothing is read.
interface Sale {
  at: Date
  user: number
  shop: string
  article: string
  pieces: number | null
  year: number
  month: number
}
const march = (await session.readParquet<Sale>(`${lake}/sales/`)).filter((s) => s.year === 2026 && s.month === 3)
console.log(march.explain().match(/files: \d+ of \d+/)?.[0])

// The price at the time of each sale, and what its buyer looked at in the half hour before.
const sold = march
  .fillNull({ pieces: 1 })
  .joinAsof(prices, { on: 'at', by: 'article' })
  .joinAsof(views, { on: 'at', by: 'user', tolerance: 30 * 60_000 })
  .map((s) => ({
    day: s.at.toISOString().slice(0, 10),
    shop: s.shop,
    article: s.article,
    revenue: s.pieces * (s.price ?? 0),
    looked: s.page,
  }))

// Revenue of each shop and day, of the week that ends there, and the shop's place on that day.
const daily = sold
  .groupBy((s) => ({ day: s.day, shop: s.shop }))
  .agg({ revenue: sum((s) => s.revenue), sales: count() })
  .window({ by: (d) => d.shop, orderBy: (d) => d.day, frame: { rows: [-6, 0] } }, { week: sum((d) => d.revenue) })
  .map((d) => ({ ...d, revenue: Math.round(d.revenue * 100) / 100, week: Math.round(d.week * 100) / 100 }))
  .window({ by: (d) => d.day, orderBy: (d) => d.revenue, descending: true }, { place: rank() })
  .sortBy((d) => [d.day, d.shop])
console.log((await daily.tail(3).collect()).map((d) => `${d.day} ${d.shop}: ${d.revenue} (${d.place}.), in a week ${d.week}`).join('\n'))
const looked = sold.filter((s) => s.looked !== null)
console.log(
  `${await looked.count()} of ${await sold.count()} sales after a look, ${await looked.filter((s) => s.looked === s.article.toLowerCase()).count()} at what was bought`,
)

// Back into the lake: by shop, for programs; as a table of days and shops, for a spreadsheet; as Feather, for a notebook.
console.log(await daily.writeParquet(`${lake}/daily`, { partitionBy: ['shop'], compression: 'zstd' }))
const report = await daily.pivot({ rows: ['day'], columns: 'shop', values: 'revenue', agg: 'sum' })
await report.writeCsv(`${lake}/reports/umsatz.csv`, { delimiter: ';', decimal: ',' })
await daily.writeArrow(`${lake}/reports/daily.arrow`, { compression: 'zstd' })
console.log((await (await session.readText(`${lake}/reports/umsatz.csv`)).take(2)).join('\n'))

// prints:
// 32 prices, from 1.200
// files: 1 of 3
// 2026-03-31 Berlin: 1289.44 (1.), in a week 8648.36
// 2026-03-31 Köln: 1198.3 (2.), in a week 8541.62
// 2026-03-31 München: 1153.92 (3.), in a week 8497.1
// 3152 of 15762 sales after a look, 784 at what was bought
// { rows: 93, bytes: 6907, files: 3 }
// day;Berlin;Köln;München
// 2026-03-01;1139,96;1036,9;938,15
