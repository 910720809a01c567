/** A session whose tables are on a server: what it answers, explains and refuses. On Sail, and on Spark where it is. */
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { QUERIES } from '../bench/tpch/queries.ts'
import type { Tables } from '../bench/tpch/tables.ts'
import { approxCountDistinct, approxMedian, count, max, mean, min, mode, rowNumber, Session, type SessionEvent, sum } from '../src/index.ts'
import { differenceOfRows } from './sameRows.ts'
import { type SparkServer, startSail, startSpark } from './sparkServers.ts'

interface Rating {
  readonly user: number
  readonly movie: number
  readonly stars: number
  readonly note: string | null
}

const servers = (await Promise.all([startSail(), startSpark()])).filter((one) => one !== undefined)
const folder = mkdtempSync(join(tmpdir(), 'distarray-spark-test-'))
const file = join(folder, 'ratings.parquet')
const ratings = Array.from(
  { length: 200 },
  (_, i): Rating => ({ user: i % 20, movie: Math.floor(i / 20), stars: 1 + ((i * 7) % 5), note: i % 3 === 0 ? null : `n${i % 7}` }),
)
const here = await Session.start({ workers: 1 })
await here.fromRows(ratings).writeParquet(file)
afterAll(async () => {
  await here.stop()
  for (const server of servers) await server.stop()
  rmSync(folder, { recursive: true })
})

async function withSession<T>({ address }: SparkServer, use: (session: Session) => Promise<T>, fallback?: 'local'): Promise<T> {
  const session = await Session.start({ tables: address, workers: 1, progress: false, ...(fallback === undefined ? {} : { fallback }) })
  try {
    return await use(session)
  } finally {
    await session.stop()
  }
}

if (servers.length === 0) test.skip('neither Sail nor Spark is here: tables on a server are not tested', () => {})

describe.each(servers)('on $name', (server) => {
  test('a chain of a file runs there and gives what it gives here', async () => {
    await withSession(server, async (session) => {
      const chain = async (from: Session) => {
        const table = await from.readParquet<Rating>(file)
        return await table
          .filter((r) => r.stars > 1 && (r.note ?? '') < 'n5')
          .groupBy((r) => ({ user: r.user }))
          .agg({ n: count(), mean: mean((r) => r.stars / 2), least: min((r) => r.note), most: max((r) => r.movie) })
          .withColumns((r) => ({ share: Math.round(r.n * 10) / 10 }))
          .sortBy((r) => [-r.n, r.user])
          .collect()
      }
      expect(await chain(session)).toEqual(await chain(here))
    })
  })

  test('sums, counts and extremes are computed there', async () => {
    await withSession(server, async (session) => {
      const table = await session.readParquet<Rating>(file)
      const stars = table.map((r) => r.stars)
      expect([await table.count(), await stars.sum(), await stars.mean(), await stars.min(), await stars.max()]).toEqual([
        200, 600, 3, 1, 5,
      ])
    })
  })

  test('a loop goes over what was prepared there', async () => {
    await withSession(server, async (session) => {
      const trained = async (from: Session) => {
        const table = await from.readParquet<Rating>(file)
        const stars = table
          .filter((r) => r.stars > 1)
          .index((r) => [r.user, r.movie])
          .map((r) => r.stars)
        const totals = from.zeros([20])
        await from.parallelFor(stars, { totals }, (value, [user], env) => {
          env.totals.add(user, value)
        })
        return [...(await totals.toTypedArray())]
      }
      expect(await trained(session)).toEqual(await trained(here))
    })
  })

  test('files of JSON and CSV are read there', async () => {
    const [json, csv] = [join(folder, 'ratings.ndjson'), join(folder, 'ratings.csv')]
    await here.fromRows(ratings).writeNdjson(json)
    await here.fromRows(ratings).writeCsv(csv)
    await withSession(server, async (session) => {
      for (const read of [
        async (from: Session) => await from.readNdjson<Rating>(json),
        async (from: Session) => await from.readCsv<Rating>(csv),
      ]) {
        const chain = async (from: Session) =>
          await (await read(from))
            .filter((r) => r.note !== null)
            .map((r) => ({ user: r.user, movie: r.movie, stars: r.stars, note: r.note }))
            .sortBy((r) => [r.movie, r.user])
            .collect()
        expect(await chain(session)).toEqual(await chain(here))
      }
      await expect(session.readNdjson(json, { types: { user: 'f64' } })).rejects.toThrow(
        'Spark reads JSON without the option "types" of readNdjson(). Make a table of the file in Spark, and open that by session.table().',
      )
    })
  })

  test('samples and approximate aggregates are those of the server', async () => {
    await withSession(server, async (session) => {
      const table = await session.readParquet<Rating>(file)
      const drawn = table.sample(0.4, { seed: 3 }).sortBy((r) => [r.movie, r.user])
      const rows = await drawn.collect()
      expect(rows.length).toBeGreaterThan(30)
      expect(rows.length).toBeLessThan(140)
      expect(await drawn.collect()).toEqual(rows)
      expect(ratings).toEqual(expect.arrayContaining(rows))
      const [about] = await table
        .agg({
          users: approxCountDistinct((r) => r.user),
          middle: approxMedian((r) => r.movie),
          most: mode((r) => r.user % 2 === 0 || r.movie > 2),
        })
        .collect()
      expect(about?.users).toBeGreaterThan(17)
      expect(about?.users).toBeLessThan(23)
      expect(about?.middle).toBeGreaterThan(3)
      expect(about?.middle).toBeLessThan(6)
      expect(about?.most).toBe(true)
    })
  })

  test('a table of this process goes along with the query', async () => {
    await withSession(server, async (session) => {
      const table = await session.readParquet<Rating>(file)
      const names = session.fromRows([
        { movie: 1, title: 'Ada 😀' },
        { movie: 3, title: 'Bo' },
      ])
      const rows = await table
        .join(names, 'movie')
        .groupBy((r) => r.title)
        .agg({ n: count(), stars: sum((r) => r.stars) })
        .sortBy((r) => r.key)
        .collect()
      expect(rows).toEqual([
        { key: 'Ada 😀', n: 20, stars: 60 },
        { key: 'Bo', n: 20, stars: 60 },
      ])
    })
  })

  test('windows and distinct rows', async () => {
    await withSession(server, async (session) => {
      const chain = async (from: Session) =>
        await (await from.readParquet<Rating>(file))
          .window({ by: (r) => r.user, orderBy: (r) => r.movie }, { n: rowNumber(), running: sum((r: Rating) => r.stars) })
          .filter((r) => r.n <= 3)
          .map((r) => ({ user: r.user, running: r.running }))
          .distinct()
          .sortBy((r) => [r.user, r.running])
          .collect()
      expect(await chain(session)).toEqual(await chain(here))
    })
  })

  test('explain() shows one node for what runs there', async () => {
    await withSession(server, async (session) => {
      const table = await session.readParquet<Rating>(file)
      const plan = table.filter((r) => r.stars > 3).index((r) => [r.user, r.movie])
      expect(plan.explain()).toContain(`Optimized plan
  Index r => [r.user, r.movie]
    SparkExec ${server.address} [user, movie, stars, note]
        runs there; sums of numbers have Spark's bits, and rows come in its order
        Filter r => r.stars > 3
          Scan ratings.parquet [user, movie, stars, note] where stars > 3`)
      expect(await table.filter((r) => r.stars > 3).explain({ analyze: true, verbose: true })).toContain('== Physical Plan ==')
    })
  })

  test('what Spark cannot run is refused with place, reason and cure', async () => {
    await withSession(server, async (session) => {
      const table = await session.readParquet<Rating>(file)
      const numbered = table.filter((_, [i]) => i % 2 === 0)
      await expect(numbered.count()).rejects.toThrow(
        new RegExp(
          `^Spark at ${server.address} cannot run Filter \\(_, \\[i\\]\\) => i % 2 === 0: it asks for the number of the row, and tables of Spark have no order\\.\n {2}.*\\d+:\\d+ i\nNumber the rows by window\\(\\) with an orderBy, and rowNumber\\(\\)\\.$`,
        ),
      )
      await expect(table.sample({ n: 5 }).count()).rejects.toThrow('Draw a fraction of them, as in sample(0.1, { seed }).')
      await expect(table.flatMap((r) => [r, r]).collect()).rejects.toThrow('Join a table, or use fallback: "local".')
    })
  })

  test("with fallback: 'local' it runs here, and an event says what came", async () => {
    await withSession(
      server,
      async (session) => {
        const events: SessionEvent[] = []
        session.events.subscribe((event) => events.push(event))
        const table = await session.readParquet<Rating>(file)
        const doubled = table.filter((r) => r.user < 2).flatMap((r) => [r.stars, r.stars])
        expect(await doubled.count()).toBe(40)
        const told = events.flatMap((event) => (event.kind === 'fallback' ? [event.because] : []))
        expect(told[0]).toMatch(/^it calls a function that gives any number of elements: Spark sent \d+ bytes$/)
      },
      'local',
    )
  })

  test('what the server says is in the error', async () => {
    await withSession(server, async (session) => {
      await expect(session.table('nobody.knows')).rejects.toThrow(/^Spark at .* says: .*TABLE_OR_VIEW_NOT_FOUND/)
      await expect(session.readParquet(join(folder, 'absent.parquet'))).rejects.toThrow(
        /^Spark at .* says: .*PATH_NOT_FOUND|^absent.parquet has no columns: nothing lies where Spark at .* looks for it, or nothing that it reads.$/,
      )
    })
  })

  test('the example prints what it prints without a server, on one process and on two', { timeout: 120_000 }, async () => {
    const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
    const tsx = [at('node_modules/.bin/tsx'), '--tsconfig', at('tsconfig.json')]
    const program = [...tsx, at('examples/spark.ts')]
    const expected = readFileSync(at('examples/spark.ts'), 'utf8').split('// prints:\n')[1] ?? ''
    for (const [command = '', ...args] of [program, [...tsx, at('src/cli.ts'), 'run', '--processes', '2', '--', ...program]]) {
      const printed = await promisify(execFile)(command, args, { cwd: folder, env: { ...process.env, SPARK_CONNECT: server.address } })
      expect(printed.stdout).toBe(expected.replaceAll(/^\/\/ /gm, ''))
    }
  })

  const tables = '/tmp/distarray-tpch/tpch-0.1'
  test.skipIf(!existsSync(join(tables, 'lineitem.parquet')))(
    'the 22 queries of TPC-H give what they give here',
    { timeout: 300_000 },
    async () => {
      await withSession(server, async (session) => {
        const [ours, theirs] = [await tpch(here, tables), await tpch(session, tables)]
        const differences: string[] = []
        for (const { name, chain } of QUERIES) {
          const rows = async (from: Tables): Promise<readonly object[]> => {
            const answer = await chain(from, 0.1)
            return 'collect' in answer ? await answer.collect() : answer
          }
          const difference = differenceOfRows(await rows(ours), await rows(theirs))
          if (difference !== undefined) differences.push(`${name}: ${difference}`)
        }
        expect(differences).toEqual([])
      })
    },
  )
})

async function tpch(session: Session, tables: string): Promise<Tables> {
  const names = ['customer', 'lineitem', 'nation', 'orders', 'part', 'partsupp', 'region', 'supplier']
  const opened = await Promise.all(names.map(async (name) => [name, await session.readParquet(join(tables, `${name}.parquet`))] as const))
  return Object.fromEntries(opened) as unknown as Tables // each is read from the file of its name
}
