/** The questions of `tables.bench.ts`: each as a chain and as SQL, with answers that can be compared. */
import type { DuckDBConnection } from '@duckdb/node-api'
import type { Table as ArrowTable } from 'apache-arrow'
import { count, type Session, sum } from 'distarray'
import type { Sales } from './tablesData.ts'

/** What is asked; an answer that is a function is called when the clock has stopped, to bring it into a form that can be compared. */
export interface Question {
  readonly name: string
  readonly distarray: () => Promise<unknown>
  readonly duckdb: () => Promise<unknown>
}

export function questions(session: Session, columns: Sales, duckdb: DuckDBConnection): readonly Question[] {
  const sales = session.fromColumns({ ...columns })
  const chosen = session.fromColumns({ product: Int32Array.from({ length: 10_000 }, (_, i) => 10 * i) })
  const first = async (sql: string): Promise<unknown> => (await duckdb.runAndReadAll(sql)).getRows()[0]?.[0]
  return [
    {
      name: 'filter on 3 conditions, sum of a product',
      distarray: () =>
        sales
          .filter((s) => s.day < 180 && s.quantity > 5 && s.discount >= 0.1)
          .map((s) => s.price * s.discount)
          .sum(),
      duckdb: () => first('SELECT sum(price * discount) FROM sales WHERE day < 180 AND quantity > 5 AND discount >= 0.1'),
    },
    {
      name: 'materialize a product column',
      distarray: async () => {
        const products = sales.map((s) => s.price * s.discount).materialize()
        const value = await products.at(12_345)
        await products.release()
        return value
      },
      duckdb: async () => {
        await duckdb.run('CREATE OR REPLACE TEMP TABLE products AS SELECT price * discount AS p FROM sales')
        return await first('SELECT p FROM products LIMIT 1 OFFSET 12345')
      },
    },
    {
      name: 'sums of 2 columns by 100 keys',
      distarray: async () =>
        byKey(
          await sales
            .groupBy((s) => s.shop)
            .agg({ a: sum((s) => s.price), b: sum((s) => s.discount) })
            .toArrow(),
        ),
      duckdb: async () => {
        const reader = await duckdb.runAndReadAll('SELECT shop, sum(price) AS a, sum(discount) AS b FROM sales GROUP BY shop')
        return () => sortedByKey(reader.getColumns())
      },
    },
    {
      name: 'sums of 2 columns by 100,000 keys',
      distarray: async () =>
        byKey(
          await sales
            .groupBy((s) => s.product)
            .agg({ a: sum((s) => s.price), b: sum((s) => s.discount) })
            .toArrow(),
        ),
      duckdb: async () => {
        const reader = await duckdb.runAndReadAll('SELECT product, sum(price) AS a, sum(discount) AS b FROM sales GROUP BY product')
        return () => sortedByKey(reader.getColumns())
      },
    },
    {
      name: 'filter, sum of a product by 100 keys',
      distarray: async () =>
        byKey(
          await sales
            .filter((s) => s.quantity > 10)
            .groupBy((s) => s.shop)
            .agg({ a: sum((s) => s.price * s.discount), b: count() })
            .toArrow(),
        ),
      duckdb: async () => {
        const reader = await duckdb.runAndReadAll(
          'SELECT shop, sum(price * discount) AS a, count(*) AS b FROM sales WHERE quantity > 10 GROUP BY shop',
        )
        return () => sortedByKey(reader.getColumns())
      },
    },
    {
      name: 'sums of 2 columns by a computed key',
      distarray: async () =>
        byKey(
          await sales
            .groupBy((s) => s.product % 1000)
            .agg({ a: sum((s) => s.price), b: sum((s) => s.discount) })
            .toArrow(),
        ),
      duckdb: async () => {
        const reader = await duckdb.runAndReadAll('SELECT product % 1000 AS k, sum(price) AS a, sum(discount) AS b FROM sales GROUP BY k')
        return () => sortedByKey(reader.getColumns())
      },
    },
    {
      name: 'sums of 2 columns by 100 texts',
      distarray: async () => {
        const table = await sales
          .groupBy((s) => s.name)
          .agg({ a: sum((s) => s.price), b: sum((s) => s.discount) })
          .toArrow()
        return () => sortedByKey(['key', 'a', 'b'].map((name) => numbersOfTexts(Array.from(table.getChild(name) ?? []))))
      },
      duckdb: async () => {
        const reader = await duckdb.runAndReadAll('SELECT name, sum(price) AS a, sum(discount) AS b FROM sales GROUP BY name')
        return () => sortedByKey(reader.getColumns().map(numbersOfTexts))
      },
    },
    {
      name: 'filtered, by text',
      distarray: async () => {
        const table = await sales
          .filter((s) => s.quantity > 10)
          .groupBy((s) => s.name)
          .agg({ a: sum((s) => s.price), b: count() })
          .toArrow()
        return () => sortedByKey(['key', 'a', 'b'].map((name) => numbersOfTexts(Array.from(table.getChild(name) ?? []))))
      },
      duckdb: async () => {
        const reader = await duckdb.runAndReadAll(
          'SELECT name, sum(price) AS a, count(*) AS b FROM sales WHERE quantity > 10 GROUP BY name',
        )
        return () => sortedByKey(reader.getColumns().map(numbersOfTexts))
      },
    },
    {
      name: 'sums of 2 columns by 2 keys',
      distarray: async () => {
        const table = await sales
          .groupBy((s) => ({ shop: s.shop, day: s.day }))
          .agg({ a: sum((s) => s.price), b: sum((s) => s.discount) })
          .toArrow()
        return () => byBoth(['shop', 'day', 'a', 'b'].map((name) => Array.from(table.getChild(name) ?? [])))
      },
      duckdb: async () => {
        const reader = await duckdb.runAndReadAll('SELECT shop, day, sum(price) AS a, sum(discount) AS b FROM sales GROUP BY shop, day')
        return () => byBoth(reader.getColumns())
      },
    },
    {
      name: 'semi-join to 10,000 keys, sum',
      distarray: () =>
        sales
          .join(chosen, 'product', { how: 'semi' })
          .map((s) => s.price)
          .sum(),
      duckdb: () => first('SELECT sum(price) FROM sales SEMI JOIN chosen USING (product)'),
    },
  ]
}

/** Columns key, a, b of an Arrow table, later: when the clock has stopped. */
function byKey(table: ArrowTable): () => unknown {
  return () => sortedByKey(['key', 'a', 'b'].map((name) => Array.from(table.getChild(name)?.toArray() as Float64Array))) // columns of numbers
}

/** Texts as the numbers at their end. */
function numbersOfTexts(column: readonly unknown[]): readonly unknown[] {
  return column.map((value) => (typeof value === 'string' ? Number(value.slice(value.lastIndexOf(' '))) : value))
}

/** The shop and the day as one key. */
function byBoth([shops = [], days = [], ...sums]: readonly (readonly unknown[])[]): unknown {
  return sortedByKey([shops.map((shop, i) => Number(shop) * 1000 + Number(days[i])), ...sums])
}

/** The columns with their rows in the order of the first: engines may give groups in any order. */
function sortedByKey(columns: readonly (readonly unknown[])[]): unknown {
  const [keys = []] = columns
  const order = keys.map((_, i) => i).sort((a, b) => Number(keys[a]) - Number(keys[b]))
  return columns.map((column) => order.map((i) => column[i]))
}
