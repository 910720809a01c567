/** The questions of `tables.bench.ts`: each as a chain and as SQL, with answers that can be compared. */
import type { DuckDBConnection } from '@duckdb/node-api'
import type { Session } from 'distarray'
import type { Sales } from './tablesData.ts'

export interface Question {
  readonly name: string
  readonly distarray: () => Promise<unknown>
  readonly duckdb: () => Promise<unknown>
}

export function questions(session: Session, columns: Sales, duckdb: DuckDBConnection): readonly Question[] {
  const sales = session.fromColumns({ ...columns })
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
  ]
}
