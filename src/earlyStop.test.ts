/** What actions read of a file that want its first rows only: counted by the server that has it. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DistArray, Session } from './index.ts'

interface Row {
  readonly a: number
  readonly s: string
}
type Rows = DistArray<Row>

const GROUPS = 20
const folder = mkdtempSync(join(tmpdir(), 'early-'))
const path = join(folder, 'rows.parquet')
let served = 0
const server = createServer((request, response) => {
  const bytes = readFileSync(path)
  const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? []
  if (from === undefined) {
    response.writeHead(200, { 'content-length': bytes.length }).end()
    return
  }
  const part = bytes.subarray(Number(from), Number(to) + 1)
  served += part.length
  response.writeHead(206, { 'content-range': `bytes ${from}-${to}/${bytes.length}`, 'content-length': part.length }).end(part)
})
let url = ''

beforeAll(async () => {
  await using session = await Session.start({ workers: 1, progress: false })
  const rows = Array.from({ length: GROUPS * 2000 }, (_, i) => ({ a: i, s: `s${(i * 7919) % 40_009}` }))
  await session.fromRows(rows).writeParquet(path, { rowGroupRows: 2000, compression: 'none' })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  url = `http://localhost:${(server.address() as AddressInfo).port}/rows.parquet`
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

let calls = 0
const CHAINS: Readonly<Record<string, (t: Rows) => DistArray<unknown>>> = {
  'no function': (t) => t,
  compiled: (t) => t.filter((r) => r.a >= 0),
  'a copy': (t) => t.map((r) => r.s.replace(/s/, '')),
  'copies, one above the other': (t) => t.map((r) => ({ x: /x/.test(r.s), s: r.s })).map((r) => r.s.replace(/s/, String(r.x))),
  'a copy below a compiled function': (t) => t.map((r) => ({ x: /x/.test(r.s) })).filter((r) => !r.x),
  'by row number': (t) => t.map((r, [i]) => r.s.replace(/s/, String(i))),
  mapPartitions: (t) =>
    t.mapPartitions(function* (rows) {
      for (const r of rows) yield r.s
    }),
  'as it stands': (t) =>
    t.map((r) => {
      calls++
      return r.s
    }),
}

const ACTIONS: Readonly<Record<string, (t: DistArray<unknown>) => Promise<unknown>>> = {
  take: (t) => t.take(3),
  first: (t) => t.first(),
  'limit, collected': (t) => t.limit(3).collect(),
  'limit, below another function': (t) =>
    t
      .limit(3)
      .map((v) => [v])
      .collect(),
  'limit, sorted': (t) =>
    t
      .limit(3)
      .sortBy((v) => String(v))
      .collect(),
  break: async (t) => {
    for await (const _ of t) break
  },
}

test.each([1, 2])('the first rows cost the row groups that they come from: %i workers', async (workers) => {
  await using session = await Session.start({ workers, progress: false })
  const table = await session.readParquet<Row>(url)
  const size = readFileSync(path).length
  for (const [chain, made] of Object.entries(CHAINS)) {
    for (const [action, run] of Object.entries(ACTIONS)) {
      served = 0
      calls = 0
      await run(made(table))
      // iteration reads ahead, by a group for each worker and two
      const groups = action === 'break' ? workers + 4 : 1
      expect([chain, action, served / size < (groups + 0.5) / GROUPS || served / size]).toStrictEqual([chain, action, true])
      expect([chain, action, calls]).toStrictEqual([chain, action, chain === 'as it stands' ? 2000 : 0])
    }
  }
})

test('functions that share variables have all rows one after the other, also of files and with any number of workers', async () => {
  for (const workers of [1, 2]) {
    await using session = await Session.start({ workers, progress: false })
    const table = await session.readParquet<Row>(url)
    let seen = 0
    const chain = table
      .filter((r) => {
        seen++
        return r.a % 2 === 0
      })
      .map(() => seen)
    expect(await chain.take(2)).toStrictEqual([40_000, 40_000])
    seen = 0
    expect(new Set(await chain.collect())).toStrictEqual(new Set([40_000]))
    seen = 0
    for await (const value of chain) {
      expect(value).toBe(40_000)
      break
    }
  }
})

test('what a function returns of the rows that were read decides on columns; kinds that do not fit are an error all the same', async () => {
  await using session = await Session.start({ workers: 2, progress: false })
  const table = await session.readParquet<Row>(url)
  const later = table.map((r) => (r.a < 3000 ? { a: [r.a][0] } : { a: [r.a][0], late: [1][0] }))
  expect(await later.take(1)).toStrictEqual([{ a: 0 }])
  expect((await later.collect())[0]).toStrictEqual({ a: 0, late: null })
  expect(await (later as unknown as DistArray<{ late: number }>).select('late').take(1)).toStrictEqual([{ late: null }])
  const mixed = table.map((r) => (r.a < 3000 ? [r.a][0] : [r.s][0]))
  const message =
    'Column "value" mixes number and string. A column holds values of one kind: convert one of them, for example with String(…).'
  expect(await mixed.first()).toBe(0)
  await expect(mixed.collect()).rejects.toThrow(message)
  const iterated = async () => {
    for await (const _ of mixed);
  }
  await expect(iterated()).rejects.toThrow(message)
})
