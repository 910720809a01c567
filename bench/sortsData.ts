/** The rows of `sorts.bench.ts`: made by the same arithmetic here and in SQL. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { createMix, mix } from './tablesData.ts'

export interface Events {
  /** As many different numbers as there are rows, some of them twice and some not at all. */
  readonly id: Int32Array
  /** 0 … 99 */
  readonly kind: Int32Array
  /** 0 … 999 */
  readonly place: Int32Array
  /** From 0 to below 1000. */
  readonly value: Float64Array
  /** One of a tenth as many texts as there are rows, as "user 4711". */
  readonly user: readonly string[]
}

export function eventsOf(rows: number): Events {
  const integers = (salt: number, below: number) => Int32Array.from({ length: rows }, (_, i) => mix(i, salt) % below)
  const users = Array.from({ length: rows / 10 }, (_, i) => `user ${i}`)
  return {
    id: integers(1e8, rows),
    kind: integers(2e8, 100),
    place: integers(3e8, 1000),
    value: Float64Array.from({ length: rows }, (_, i) => (mix(i, 4e8) / 2 ** 32) * 1000),
    user: Array.from(integers(5e8, rows / 10), (number) => users[number] as string), // numbers of users
  }
}

/** Table `events` of the same rows. */
export async function createDuckEvents(duckdb: DuckDBConnection, rows: number): Promise<void> {
  await createMix(duckdb)
  await duckdb.run(`CREATE TABLE events AS SELECT
    (mix(i, 100000000) % ${rows})::INTEGER AS id,
    (mix(i, 200000000) % 100)::INTEGER AS kind,
    (mix(i, 300000000) % 1000)::INTEGER AS place,
    (mix(i, 400000000)::DOUBLE / 4294967296.0) * 1000 AS value,
    'user ' || (mix(i, 500000000) % ${rows / 10}) AS user
    FROM range(${rows}) t(i)`)
}
