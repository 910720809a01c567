/** The ten group-by questions of db-benchmark, each as a chain and as SQL. */
import { collect, count, type DistArray, max, mean, min, quantile, stddev, sum } from 'distarray'

export interface Row {
  readonly id1: string
  readonly id2: string
  readonly id3: string
  readonly id4: number
  readonly id5: number
  readonly id6: number
  readonly v1: number
  readonly v2: number
  readonly v3: number
}

export interface Question {
  readonly name: string
  readonly chain: (x: DistArray<Row>) => DistArray<object>
  readonly sql: string
  /** The columns that are compared by their sums. */
  readonly checked: readonly string[]
}

export const QUESTIONS: readonly Question[] = [
  {
    name: 'q1 sum v1 by id1',
    chain: (x) => x.groupBy((r) => ({ id1: r.id1 })).agg({ v1: sum((r) => r.v1) }),
    sql: 'SELECT id1, sum(v1) AS v1 FROM x GROUP BY id1',
    checked: ['v1'],
  },
  {
    name: 'q2 sum v1 by id1 and id2',
    chain: (x) => x.groupBy((r) => ({ id1: r.id1, id2: r.id2 })).agg({ v1: sum((r) => r.v1) }),
    sql: 'SELECT id1, id2, sum(v1) AS v1 FROM x GROUP BY id1, id2',
    checked: ['v1'],
  },
  {
    name: 'q3 sum v1, mean v3 by id3',
    chain: (x) => x.groupBy((r) => ({ id3: r.id3 })).agg({ v1: sum((r) => r.v1), v3: mean((r) => r.v3) }),
    sql: 'SELECT id3, sum(v1) AS v1, avg(v3) AS v3 FROM x GROUP BY id3',
    checked: ['v1', 'v3'],
  },
  {
    name: 'q4 mean v1, v2, v3 by id4',
    chain: (x) => x.groupBy((r) => ({ id4: r.id4 })).agg({ v1: mean((r) => r.v1), v2: mean((r) => r.v2), v3: mean((r) => r.v3) }),
    sql: 'SELECT id4, avg(v1) AS v1, avg(v2) AS v2, avg(v3) AS v3 FROM x GROUP BY id4',
    checked: ['v1', 'v2', 'v3'],
  },
  {
    name: 'q5 sum v1, v2, v3 by id6',
    chain: (x) => x.groupBy((r) => ({ id6: r.id6 })).agg({ v1: sum((r) => r.v1), v2: sum((r) => r.v2), v3: sum((r) => r.v3) }),
    sql: 'SELECT id6, sum(v1) AS v1, sum(v2) AS v2, sum(v3) AS v3 FROM x GROUP BY id6',
    checked: ['v1', 'v2', 'v3'],
  },
  {
    name: 'q6 median v3, deviation v3 by id4 and id5',
    chain: (x) => x.groupBy((r) => ({ id4: r.id4, id5: r.id5 })).agg({ m: quantile((r) => r.v3, 0.5), s: stddev((r) => r.v3) }),
    sql: 'SELECT id4, id5, quantile_cont(v3, 0.5) AS m, stddev(v3) AS s FROM x GROUP BY id4, id5',
    checked: ['m', 's'],
  },
  {
    name: 'q7 max v1 - min v2 by id3',
    chain: (x) =>
      x
        .groupBy((r) => ({ id3: r.id3 }))
        .agg({ most: max((r) => r.v1), least: min((r) => r.v2) })
        .map((g) => ({ id3: g.id3, range: (g.most ?? 0) - (g.least ?? 0) })),
    sql: 'SELECT id3, max(v1) - min(v2) AS range FROM x GROUP BY id3',
    checked: ['range'],
  },
  {
    name: 'q8 largest two v3 by id6',
    chain: (x) =>
      x
        .groupBy((r) => ({ id6: r.id6 }))
        .agg({ all: collect((r) => r.v3) })
        .flatMap((g) => {
          let first = -1
          let second = -1
          for (const v of g.all) {
            if (v > first) {
              second = first
              first = v
            } else if (v > second) second = v
          }
          return second < 0
            ? [{ id6: g.id6, v3: first }]
            : [
                { id6: g.id6, v3: first },
                { id6: g.id6, v3: second },
              ]
        }),
    sql: `SELECT id6, v3 FROM (SELECT id6, v3, row_number() OVER (PARTITION BY id6 ORDER BY v3 DESC) AS n FROM x) WHERE n <= 2`,
    checked: ['v3'],
  },
  {
    name: 'q9 regression v1, v2 by id2 and id4',
    chain: (x) =>
      x
        .groupBy((r) => ({ id2: r.id2, id4: r.id4 }))
        .agg({
          n: count(),
          a: sum((r) => r.v1),
          b: sum((r) => r.v2),
          aa: sum((r) => r.v1 * r.v1),
          bb: sum((r) => r.v2 * r.v2),
          ab: sum((r) => r.v1 * r.v2),
        })
        .map((g) => ({
          id2: g.id2,
          id4: g.id4,
          r2: (g.n * g.ab - g.a * g.b) ** 2 / ((g.n * g.aa - g.a * g.a) * (g.n * g.bb - g.b * g.b)),
        })),
    sql: 'SELECT id2, id4, pow(corr(v1, v2), 2) AS r2 FROM x GROUP BY id2, id4',
    checked: ['r2'],
  },
  {
    name: 'q10 sum v3, count by id1 to id6',
    chain: (x) =>
      x
        .groupBy((r) => ({ id1: r.id1, id2: r.id2, id3: r.id3, id4: r.id4, id5: r.id5, id6: r.id6 }))
        .agg({ v3: sum((r) => r.v3), count: count() }),
    sql: 'SELECT id1, id2, id3, id4, id5, id6, sum(v3) AS v3, count(*) AS count FROM x GROUP BY id1, id2, id3, id4, id5, id6',
    checked: ['v3', 'count'],
  },
]
