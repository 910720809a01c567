/** What `spill.bench.ts` asks: of a table of many more bytes than either contender may keep, from file to file. */
import { count, type DistArray, sum } from 'distarray'

export interface Visit {
  /** 0, 1, 2 … in no order. */
  readonly id: number
  /** One of a quarter as many as there are rows. */
  readonly place: number
  readonly value: number
  readonly weight: number
  /** Hardly one of them twice, as "visitor 3735928559". */
  readonly name: string
  /** One of a hundred. */
  readonly tag: string
}

export interface SpillQuestion {
  readonly name: string
  readonly distarray: (visits: DistArray<Visit>, others: DistArray<Visit>) => Pick<DistArray<unknown>, 'writeParquet'>
  /** Over views `visits` and `others`. */
  readonly sql: string
  /** Numbers that are alike for both, over the rows of the file `answer`. */
  readonly compared: string
}

/** Of a result in order: the key at each place counts. */
const placed = (key: string): string => `count(*)::DOUBLE, sum((hash(${key}) % 1000003) * (file_row_number % 1009))::DOUBLE, sum(value)`
const sums = (columns: string): string => `count(*)::DOUBLE, sum((hash(${columns}) % 1000003))::DOUBLE`

export const QUESTIONS: readonly SpillQuestion[] = [
  {
    name: 'sort by a number',
    distarray: (visits) => visits.sortBy((v) => v.value),
    sql: 'SELECT * FROM visits ORDER BY value',
    compared: placed('value'),
  },
  {
    name: 'sort by a text',
    distarray: (visits) => visits.sortBy((v) => v.name),
    sql: 'SELECT * FROM visits ORDER BY name',
    compared: placed('name'),
  },
  {
    name: 'group by a number',
    distarray: (visits) => visits.groupBy((v) => v.place).agg({ rows: count(), total: sum((v) => v.weight) }),
    sql: 'SELECT place AS key, count(*) AS rows, sum(weight) AS total FROM visits GROUP BY place',
    compared: `${sums('key, rows::DOUBLE')}, sum(total)`,
  },
  {
    name: 'group by a text',
    distarray: (visits) => visits.groupBy((v) => v.name).agg({ rows: count(), total: sum((v) => v.weight) }),
    sql: 'SELECT name AS key, count(*) AS rows, sum(weight) AS total FROM visits GROUP BY name',
    compared: `${sums('key, rows::DOUBLE')}, sum(total)`,
  },
  {
    name: 'join',
    distarray: (visits, others) => visits.join(others.select('id', 'name').rename({ name: 'other' }), 'id'),
    sql: 'SELECT visits.*, others.name AS other FROM visits JOIN others USING (id)',
    compared: `${sums('id, place, name, other')}, sum(value)`,
  },
  {
    name: 'distinct',
    distarray: (visits) => visits.select('place', 'value', 'name').distinct(),
    sql: 'SELECT DISTINCT place, value, name FROM visits',
    compared: sums('place, value, name'),
  },
  {
    // where a repeated key is an error, which DuckDB does not look for
    name: 'index',
    distarray: (visits) => visits.index((v) => [v.id]),
    sql: 'SELECT * FROM visits ORDER BY id',
    compared: placed('id'),
  },
]
