/**
 * The tables of `dbJoins.bench.ts`: those of db-benchmark's joins, made by the same arithmetic here and in SQL. Keys of the
 * tables on the right are unique; nine in ten rows of `x` find one.
 */
import type { DuckDBConnection } from '@duckdb/node-api'
import { createMix, mix } from './tablesData.ts'

/** Keys of `x`: so many values in each column of numbers, and of the texts of the same numbers. */
export interface Sizes {
  readonly rows: number
  /** Of `small`: rows / 1,000,000. */
  readonly small: number
  /** Of `medium`: rows / 1,000. */
  readonly medium: number
}

export function sizesOf(rows: number): Sizes {
  return { rows, small: Math.max(10, rows / 1e6), medium: rows / 1e3 }
}

/** A number without a divisor in common with any number of rows of a bench. */
const STRIDE = 611_953

export interface Tables {
  readonly x: Readonly<Record<'id1' | 'id2' | 'id3', Int32Array> & Record<'id4' | 'id5' | 'id6', readonly string[]>> & {
    readonly v1: Float64Array
  }
  readonly small: Readonly<{ id1: Int32Array; id4: readonly string[]; v2: Float64Array }>
  readonly medium: Readonly<Record<'id1' | 'id2', Int32Array> & Record<'id4' | 'id5', readonly string[]>> & { readonly v2: Float64Array }
  readonly big: Readonly<Record<'id1' | 'id2' | 'id3', Int32Array> & Record<'id4' | 'id5' | 'id6', readonly string[]>> & {
    readonly v2: Float64Array
  }
}

export function tablesOf({ rows, small, medium }: Sizes): Tables {
  const drawn = (of: number, salt: number, below: number) => Int32Array.from({ length: of }, (_, i) => 1 + (mix(i, salt) % below))
  /** Each number once, in an order like chance's, moved by a tenth, so that a tenth of the keys of `x` is not there. */
  const unique = (of: number) => Int32Array.from({ length: of }, (_, i) => 1 + Math.floor(of / 10) + ((i * STRIDE) % of))
  const texts = (numbers: Int32Array) => Array.from(numbers, (number) => `id${number}`)
  const values = (of: number, salt: number) => Float64Array.from({ length: of }, (_, i) => (mix(i, salt) / 2 ** 32) * 100)
  const x = { id1: drawn(rows, 1e8, small), id2: drawn(rows, 2e8, medium), id3: drawn(rows, 3e8, rows) }
  const s = { id1: unique(small) }
  const m = { id1: drawn(medium, 4e8, small), id2: unique(medium) }
  const b = { id1: drawn(rows, 5e8, small), id2: drawn(rows, 6e8, medium), id3: unique(rows) }
  return {
    x: { ...x, id4: texts(x.id1), id5: texts(x.id2), id6: texts(x.id3), v1: values(rows, 7e8) },
    small: { ...s, id4: texts(s.id1), v2: values(small, 8e8) },
    medium: { ...m, id4: texts(m.id1), id5: texts(m.id2), v2: values(medium, 9e8) },
    big: { ...b, id4: texts(b.id1), id5: texts(b.id2), id6: texts(b.id3), v2: values(rows, 10e8) },
  }
}

/** Tables `x`, `small`, `medium` and `big` of the same rows. */
export async function createDuckTables(duckdb: DuckDBConnection, { rows, small, medium }: Sizes): Promise<void> {
  await createMix(duckdb)
  const drawn = (salt: number, below: number) => `(1 + mix(i, ${salt}) % ${below})::INTEGER`
  const unique = (of: number) => `(1 + ${Math.floor(of / 10)} + (i * ${STRIDE}) % ${of})::INTEGER`
  const value = (salt: number) => `(mix(i, ${salt})::DOUBLE / 4294967296.0) * 100`
  const create = async (name: string, of: number, ids: Readonly<Record<string, string>>, v: string): Promise<void> => {
    const numbers = Object.entries(ids).map(([id, expression]) => `${expression} AS id${id}`)
    const texts = Object.keys(ids).map((id) => `'id' || id${id} AS id${Number(id) + 3}`)
    await duckdb.run(`CREATE TABLE ${name} AS SELECT ${numbers.join()}, ${texts.join()}, ${v} FROM range(${of}) t(i)`)
  }
  await create('x', rows, { 1: drawn(1e8, small), 2: drawn(2e8, medium), 3: drawn(3e8, rows) }, `${value(7e8)} AS v1`)
  await create('small', small, { 1: unique(small) }, `${value(8e8)} AS v2`)
  await create('medium', medium, { 1: drawn(4e8, small), 2: unique(medium) }, `${value(9e8)} AS v2`)
  await create('big', rows, { 1: drawn(5e8, small), 2: drawn(6e8, medium), 3: unique(rows) }, `${value(10e8)} AS v2`)
}
