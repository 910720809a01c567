/**
 * What a Spark Connect server sends, pulled by this client and by PySpark's: the same query, whose columns are here at the
 * end. The server does the same for both; it is Sail, or Spark where SPARK_HOME names one.
 *
 *     npm run bench -- spark --rows 2000000
 */
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Session } from 'distarray'
import { startSail, startSpark } from '../property-tests/sparkServers.ts'
import { suite, timed } from './harness.ts'
import { startPySpark } from './python.ts'

const bench = suite('spark', { rows: 2_000_000 })
const { rows } = bench.options

interface Row {
  readonly user: number
  readonly stars: number
}

const file = join(tmpdir(), `distarray-spark-bench-${process.pid}.parquet`)
{
  await using here = await Session.start({ workers: 1, progress: false })
  const user = Float64Array.from({ length: rows }, (_, i) => (i * 7919) % 480_189)
  await here.fromColumns({ user, stars: user.map((value) => (value % 41) / 8) }).writeParquet(file)
}

for (const server of [await startSail(), await startSpark()]) {
  if (server === undefined) continue
  const session = await Session.start({ tables: server.address, workers: 1, progress: false })
  const python = await startPySpark(server.address, { busy: bench.busy })
  const ratings = await session.readParquet<Row>(file)
  const pulls = `t = spark.read.parquet('${file}').toArrow()`
  const said = (await python?.run(`${pulls}\nanswer = float(t.column('stars').to_pandas().sum())`))?.answer
  const sum = await ratings.map((row) => row.stars).sum()
  if (said !== undefined && said !== sum) throw new Error(`${server.name}: ${sum} against ${String(said)}`)
  await bench.ask({
    name: `pull from ${server.name}`,
    unit: 'row',
    units: rows,
    contenders: {
      distarray: timed(async () => {
        const pulled = ratings.materialize()
        await pulled.count()
        await pulled.release()
      }),
      pyspark: python && (async () => (await python.run(pulls)).ms),
    },
    peers: ['pyspark'],
  })
  await python?.stop() // its session ends on the server
  await session.stop()
  await server.stop()
}
rmSync(file)
bench.finish()
