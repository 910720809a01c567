/** The questions of `sorts.bench.ts`: each as a chain and as SQL. An answer is a function, called when the clock has stopped. */
import type { DuckDBConnection } from '@duckdb/node-api'
import type { Table as ArrowTable } from 'apache-arrow'
import { countDistinct, type DistArray, quantile, type Session, stddev } from 'distarray'
import type { Events } from './sortsData.ts'

export type Answer = () => unknown

export interface Question {
  readonly name: string
  readonly distarray: () => Promise<Answer>
  readonly duckdb: () => Promise<Answer>
}

export interface Event {
  readonly id: number
  readonly kind: number
  readonly place: number
  readonly value: number
  readonly user: string
}

const TOP = 100

export function questions(session: Session, columns: Events, duckdb: DuckDBConnection): readonly Question[] {
  const rows = columns.id.length
  const events: DistArray<Event> = session.fromColumns({ ...columns })
  const rowsOf = async (sql: string) => (await duckdb.runAndReadAll(sql)).getRows()
  const places = [0, 1, Math.floor(rows / 3), Math.floor(rows / 2), rows - 1]

  const sorted = (name: string, by: (e: Event) => string | number | readonly (string | number)[], order: string): Question => {
    const keys = order.split(',').map((key) => key.trim().split(' ')[0] as keyof Event) // columns of the table
    const descending = order.includes('DESC')
    return {
      name: `sort by ${name}`,
      distarray: async () => {
        const table = events.sortBy(by, { descending }).materialize()
        await table.at(0)
        return async () => {
          const found = await Promise.all(places.map((place) => table.at(place)))
          await table.release()
          return found.map((row) => keys.map((key) => plainNumber(row?.[key])))
        }
      },
      duckdb: async () => {
        await duckdb.run(`CREATE OR REPLACE TEMP TABLE sorted AS SELECT * FROM events ORDER BY ${order}`)
        return async () => {
          const found: unknown[] = []
          for (const place of places)
            found.push((await rowsOf(`SELECT ${keys.join()} FROM sorted LIMIT 1 OFFSET ${place}`))[0]?.map(plainNumber))
          await duckdb.run('DROP TABLE sorted')
          return found
        }
      },
    }
  }

  const distinct = (name: string, table: DistArray<object>, select: string): Question => ({
    name: `distinct ${name}`,
    distarray: async () => {
      const found = table.distinct().materialize()
      await found.at(0)
      return async () => {
        const size = await found.count()
        await found.release()
        return size
      }
    },
    duckdb: async () => {
      await duckdb.run(`CREATE OR REPLACE TEMP TABLE found AS SELECT DISTINCT ${select}`)
      return async () => (await rowsOf('SELECT count(*) FROM found'))[0]?.[0]
    },
  })

  const grouped = (name: string, chain: () => Promise<ArrowTable>, sql: string): Question => ({
    name,
    distarray: async () => {
      const table = await chain()
      return () => inOrder(table.schema.fields.map((field) => Array.from(table.getChild(field.name) ?? [])))
    },
    duckdb: async () => {
      const reader = await duckdb.runAndReadAll(sql)
      return () => inOrder(reader.getColumns())
    },
  })

  return [
    sorted('an integer', (e) => e.id, 'id'),
    sorted('a float', (e) => e.value, 'value'),
    sorted('two keys', (e) => [e.place, e.value], 'place, value'),
    sorted('a text', (e) => e.user, 'user'),
    sorted('a text and a float, descending', (e) => [e.user, e.value], 'user DESC, value DESC'),
    {
      name: `top ${TOP}`,
      distarray: async () => {
        const found = await events
          .sortBy((e) => e.value, { descending: true })
          .limit(TOP)
          .collect()
        return () => found.map((e) => e.value)
      },
      duckdb: async () => {
        const found = await rowsOf(`SELECT * FROM events ORDER BY value DESC LIMIT ${TOP}`)
        return () => found.map((row) => row[3])
      },
    },
    distinct('integers', events.select('id'), 'id FROM events'),
    distinct('texts', events.select('user'), 'user FROM events'),
    distinct('rows of two columns', events.select('kind', 'place'), 'kind, place FROM events'),
    grouped(
      'count of distinct integers by 1,000 groups',
      () =>
        events
          .groupBy((e) => e.place)
          .agg({ n: countDistinct((e) => e.id) })
          .toArrow(),
      'SELECT place, count(DISTINCT id) FROM events GROUP BY place',
    ),
    grouped(
      'count of distinct texts by 1,000 groups',
      () =>
        events
          .groupBy((e) => e.place)
          .agg({ n: countDistinct((e) => e.user) })
          .toArrow(),
      'SELECT place, count(DISTINCT user) FROM events GROUP BY place',
    ),
    grouped(
      'median by 1,000 groups',
      () =>
        events
          .groupBy((e) => e.place)
          .agg({ m: quantile((e) => e.value, 0.5) })
          .toArrow(),
      'SELECT place, quantile_cont(value, 0.5) FROM events GROUP BY place',
    ),
    grouped(
      'deviation by 1,000 groups',
      () =>
        events
          .groupBy((e) => e.place)
          .agg({ s: stddev((e) => e.value) })
          .toArrow(),
      'SELECT place, stddev(value) FROM events GROUP BY place',
    ),
    grouped(
      'median and deviation by two keys',
      () =>
        events
          .groupBy((e) => ({ kind: e.kind, place: e.place }))
          .agg({ m: quantile((e) => e.value, 0.5), s: stddev((e) => e.value) })
          .toArrow(),
      'SELECT kind, place, quantile_cont(value, 0.5), stddev(value) FROM events GROUP BY kind, place',
    ),
  ]
}

/** Texts as the numbers at their end. */
function plainNumber(value: unknown): number {
  return typeof value === 'string' ? Number(value.slice(value.lastIndexOf(' '))) : Number(value)
}

/** The columns with their rows in the order of the first two: engines may give groups in any order. */
function inOrder(columns: readonly (readonly unknown[])[]): unknown {
  const [keys = [], others = []] = columns
  const order = keys.map((_, i) => i).sort((a, b) => Number(keys[a]) - Number(keys[b]) || Number(others[a]) - Number(others[b]))
  return columns.map((column) => order.map((i) => column[i]))
}
