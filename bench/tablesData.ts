/** The rows of `tables.bench.ts`: made by the same arithmetic here and in SQL, so that nothing has to be copied between the two. */
import type { DuckDBConnection } from '@duckdb/node-api'

/** A table of sales: two keys, what a filter looks at, what a sum adds. */
export interface Sales {
  /** 0 … 99 */
  readonly shop: Int32Array
  /** 0 … 99,999 */
  readonly product: Int32Array
  /** 0 … 364 */
  readonly day: Int32Array
  /** 1 … 20 */
  readonly quantity: Int32Array
  /** From 0 to below 100. */
  readonly price: Float64Array
  /** From 0 to below 1. */
  readonly discount: Float64Array
  /** A text for each shop, as "shop number 7". */
  readonly name: readonly string[]
}

/** What `duckdb` does by `mix`: 32 well mixed bits of a row number and the column's salt. */
export function mix(row: number, salt: number): number {
  let x = Math.imul(row + salt, 0x9e3779b1)
  x = Math.imul(x ^ (x >>> 15), 0x85ebca6b)
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
  return (x ^ (x >>> 16)) >>> 0
}

export function salesOf(rows: number): Sales {
  const integers = (salt: number, below: number, from = 0) => {
    const values = new Int32Array(rows)
    for (let i = 0; i < rows; i++) values[i] = from + (mix(i, salt) % below)
    return values
  }
  const fractions = (salt: number, scale: number) => {
    const values = new Float64Array(rows)
    for (let i = 0; i < rows; i++) values[i] = (mix(i, salt) / 2 ** 32) * scale
    return values
  }
  const shop = integers(1e8, 100)
  const names = Array.from({ length: 100 }, (_, i) => `shop number ${i}`)
  return {
    shop,
    product: integers(2e8, 100_000),
    day: integers(3e8, 365),
    quantity: integers(4e8, 20, 1),
    price: fractions(5e8, 100),
    discount: fractions(6e8, 1),
    name: Array.from(shop, (number) => names[number] as string), // shops are below 100
  }
}

/** The macro `mix`, which is what the function is. */
export async function createMix(duckdb: DuckDBConnection): Promise<void> {
  const multiply = (x: string, by: number) => `((${x}) * ${by}::UBIGINT) % 4294967296::UBIGINT`
  await duckdb.run(`CREATE MACRO mix0(i, salt) AS ${multiply('(i + salt)::UBIGINT', 0x9e3779b1)}`)
  await duckdb.run(`CREATE MACRO mix1(x) AS ${multiply('xor(x, x >> 15)', 0x85ebca6b)}`)
  await duckdb.run(`CREATE MACRO mix2(x) AS ${multiply('xor(x, x >> 13)', 0xc2b2ae35)}`)
  await duckdb.run('CREATE MACRO mix3(x) AS xor(x, x >> 16)')
  await duckdb.run('CREATE MACRO mix(i, salt) AS mix3(mix2(mix1(mix0(i, salt))))')
}

/** Table `sales` of the same rows, and `chosen` of 10,000 products. */
export async function createDuckTable(duckdb: DuckDBConnection, rows: number): Promise<void> {
  await createMix(duckdb)
  await duckdb.run(`CREATE TABLE sales AS SELECT
    (mix(i, 100000000) % 100)::INTEGER AS shop,
    (mix(i, 200000000) % 100000)::INTEGER AS product,
    (mix(i, 300000000) % 365)::INTEGER AS day,
    (1 + mix(i, 400000000) % 20)::INTEGER AS quantity,
    (mix(i, 500000000)::DOUBLE / 4294967296.0) * 100 AS price,
    (mix(i, 600000000)::DOUBLE / 4294967296.0) AS discount,
    'shop number ' || (mix(i, 100000000) % 100) AS name
    FROM range(${rows}) t(i)`)
  await duckdb.run('CREATE TABLE chosen AS SELECT (10 * i)::INTEGER AS product FROM range(10000) t(i)')
}

/** Numbers agree to 9 digits: DuckDB adds in another order. Lists agree item by item. */
export function sameAnswer(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => sameAnswer(item, b[i]))
  const [x, y] = [Number(a), Number(b)]
  return x === y || Math.abs(x - y) <= 1e-9 * Math.max(Math.abs(x), Math.abs(y))
}
