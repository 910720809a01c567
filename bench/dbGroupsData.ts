/** The rows of `dbGroups.bench.ts`: those of db-benchmark, made by the same arithmetic here and in SQL. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { createMix, mix } from './tablesData.ts'

/** Of `rows` rows, with 100 values in a small key and a hundredth as many values as rows in a large one. */
export interface Groups {
  /** 100 texts, as "id042". */
  readonly id1: readonly string[]
  readonly id2: readonly string[]
  /** A text for each 100 rows, as "id0000004711". */
  readonly id3: readonly string[]
  /** 1 … 100 */
  readonly id4: Int32Array
  readonly id5: Int32Array
  /** A number for each 100 rows. */
  readonly id6: Int32Array
  /** 1 … 5 */
  readonly v1: Int32Array
  /** 1 … 15 */
  readonly v2: Int32Array
  /** From 0 to below 100. */
  readonly v3: Float64Array
}

const FEW = 100

export function groupsOf(rows: number): Groups {
  const many = rows / FEW
  const integers = (salt: number, below: number) => Int32Array.from({ length: rows }, (_, i) => 1 + (mix(i, salt) % below))
  const texts = (salt: number, below: number, digits: number) => {
    const names = Array.from({ length: below }, (_, i) => `id${String(i + 1).padStart(digits, '0')}`)
    return Array.from({ length: rows }, (_, i) => names[mix(i, salt) % below] as string) // below is their number
  }
  return {
    id1: texts(1e8, FEW, 3),
    id2: texts(2e8, FEW, 3),
    id3: texts(3e8, many, 10),
    id4: integers(4e8, FEW),
    id5: integers(5e8, FEW),
    id6: integers(6e8, many),
    v1: integers(7e8, 5),
    v2: integers(8e8, 15),
    v3: Float64Array.from({ length: rows }, (_, i) => (mix(i, 9e8) / 2 ** 32) * 100),
  }
}

/** Table `x` of the same rows. */
export async function createDuckGroups(duckdb: DuckDBConnection, rows: number): Promise<void> {
  await createMix(duckdb)
  const many = rows / FEW
  const integer = (salt: number, below: number) => `(1 + mix(i, ${salt}) % ${below})::INTEGER`
  const text = (salt: number, below: number, digits: number) => `'id' || lpad((1 + mix(i, ${salt}) % ${below})::VARCHAR, ${digits}, '0')`
  await duckdb.run(`CREATE TABLE x AS SELECT
    ${text(1e8, FEW, 3)} AS id1, ${text(2e8, FEW, 3)} AS id2, ${text(3e8, many, 10)} AS id3,
    ${integer(4e8, FEW)} AS id4, ${integer(5e8, FEW)} AS id5, ${integer(6e8, many)} AS id6,
    ${integer(7e8, 5)} AS v1, ${integer(8e8, 15)} AS v2, (mix(i, 900000000)::DOUBLE / 4294967296.0) * 100 AS v3
    FROM range(${rows}) t(i)`)
}
