import { expect, test } from 'vitest'
import { planEngine, tableOf } from '../../property-tests/plans.ts'
import { DistArray, planOf } from '../core/arrays/distArray.ts'
import { count } from '../core/plan/aggregates.ts'
import type { LogicalPlan } from '../core/plan/logicalPlan.ts'
import { type ExplainedPlan, explainPlan } from './explain.ts'

interface Rating {
  user: number
  movie: number
  stars: number
  note: string | null
}
const ratings = tableOf<Rating>('ratings.parquet', { user: 'i32', movie: 'i32', stars: 'f64', note: 'utf8?' })

test('the plan as written, the rules, the plan that runs, and its stages', () => {
  const chain = ratings
    .map((r) => ({ movie: r.movie, half: r.stars / 2 }))
    .filter((r) => r.half > 1)
    .groupBy((r) => r.movie)
    .agg({ n: count() })
    .sortBy((r) => r.n, { descending: true })
    .limit(3)
  expect(explainPlan(planOf(chain))).toMatchInlineSnapshot(`
    "Plan
      Limit 3
        Sort r => r.n descending
          GroupBy r => r.movie: n = count()
            Filter r => r.half > 1
              Map r => ({ movie: r.movie, half: r.stars / 2 })
                Scan ratings.parquet [user, movie, stars, note]
    Rules: pushFilterDown, topK, pruneColumns, partialAggregation, markPipelined
    Optimized plan
      Limit 3
        Sort r => r.n descending first 3
          GroupBy r => r.movie: n = count() per partition first
            Map r => ({ movie: r.movie, half: r.stars / 2 }) [movie]  (pipelined)
              Filter r => r.half > 1 of r => ({ movie: r.movie, half: r.stars / 2 })  (pipelined)
                Scan ratings.parquet [movie, stars]
    Stages
      stage 0: ScanExec ratings.parquet [movie, stars] -> FilterExec r => r.half > 1 of r => ({ movie: r.movie, half: r.stars / 2 }) -> MapExec r => ({ movie: r.movie, half: r.stars / 2 }) [movie] -> EvaluateExec [r => r.movie] -> PartialAggregateExec n = count
      stage 1: stage 0 -> ExchangeExec by group -> HashAggregateExec n = sum
      stage 2: stage 1 -> EvaluateExec [r => r.n] -> TopKExec 3 descending
      stage 3: stage 2 -> ExchangeExec -> SortExec descending first 3
      stage 4: stage 3 -> LimitExec 3 -> streamed to stage 5
      stage 5: stage 4 -> LimitExec 3 -> streamed to the action"
  `)
})

test('a function that was refused, with the place and the reason', () => {
  const seen = new Map([['', [0]]])
  const chain = ratings.filter((r) => /good/g.test(r.note ?? '')).map((r) => seen.get(r.note ?? '')?.[0] ?? 0)
  expect(explainPlan(planOf(chain))).toMatchInlineSnapshot(`
    "Plan
      Map r => seen.get(r.note ?? "")?.[0] ?? 0
          runs as JavaScript in the workers: 1:8 seen.get(r.note ?? ""): It calls the method seen.get. Compute it before the call and capture the result, or use index reads and writes, get, set, add, and methods of strings, numbers and dates.
        Filter r => (/good/g).test(r.note ?? "")
            runs as JavaScript in the workers: 1:8 /good/g: It uses a regular expression. Use test and exec without the flags g and y; with g, write it out in replace, replaceAll, match or split of a text.
          Scan ratings.parquet [user, movie, stars, note]
    Rules: pruneColumns, markPipelined
    Optimized plan
      Map r => seen.get(r.note ?? "")?.[0] ?? 0
          runs as JavaScript in the workers: 1:8 seen.get(r.note ?? ""): It calls the method seen.get. Compute it before the call and capture the result, or use index reads and writes, get, set, add, and methods of strings, numbers and dates.
        Filter r => (/good/g).test(r.note ?? "")  (pipelined)
            runs as JavaScript in the workers: 1:8 /good/g: It uses a regular expression. Use test and exec without the flags g and y; with g, write it out in replace, replaceAll, match or split of a text.
          Scan ratings.parquet [note]
    Stages
      stage 0: ScanExec ratings.parquet [note] -> FilterExec r => (/good/g).test(r.note ?? "") -> streamed to stage 1
      stage 1: stage 0 -> MapExec r => seen.get(r.note ?? "")?.[0] ?? 0"
  `)
})

test('a function that changes what it captures stays on the thread of the caller', () => {
  let calls = 0
  const chain = ratings.filter((r) => {
    calls++
    return r.stars > 1
  })
  expect(explainPlan(planOf(chain))).toMatchInlineSnapshot(`
    "Plan
      Filter r => { calls++; return r.stars > 1 }
          runs as it stands on the caller's thread: 2:3 calls: It assigns the captured variable calls. Use an accumulator in env, as { total: session.accumulator('sum') }, and total.add(x).
        Scan ratings.parquet [user, movie, stars, note]
    Rules: none changed it
    Stages
      stage 0: ScanExec ratings.parquet [user, movie, stars, note] -> FilterExec r => { calls++; return r.stars > 1 } -> streamed to the action  (on the caller's thread: r => { calls++; return r.stars > 1 }: It assigns the captured variable calls.)"
  `)
  expect(calls).toBe(0)
})

test('nothing to improve', () => {
  expect(explainPlan(planOf(ratings.distinct()))).toMatchInlineSnapshot(`
    "Plan
      Distinct
        Scan ratings.parquet [user, movie, stars, note]
    Rules: none changed it
    Stages
      stage 0: ScanExec ratings.parquet [user, movie, stars, note] -> PartialDistinctExec
      stage 1: stage 0 -> ExchangeExec -> DistinctExec"
  `)
})

test('queries on an array with keys of its own use an index', () => {
  const matrix = ratings.index((r) => [r.user, r.movie]).map((r) => r.stars)
  const queries = (text: string): string => text.slice(text.indexOf('Queries'))
  expect(queries(explainPlan(planOf(matrix)))).toMatchInlineSnapshot(`
    "Queries
      stage 0: ScanExec ratings.parquet [user, movie, stars] -> KeysExec r => [r.user, r.movie]
      stage 1: stage 0 -> ExchangeExec -> IndexExec
      stage 2: stage 1 -> MapExec r => r.stars
      stage 3: stage 2 -> IndexBuildExec -> IndexLookupExec [:, :]"
  `)
  const stored: LogicalPlan = {
    ...{ kind: 'Stored', name: 'matrix', element: planOf(matrix).element, keys: planOf(matrix).keys },
    storage: { kind: 'sparse', shape: [4, 4], element: planOf(matrix).element, length: 0, keys: [], columns: [] },
  }
  expect(queries(explainPlan(planOf(matrix), { index: { storage: 'kept', built: 1, queries: 2, array: stored } }))).toMatchInlineSnapshot(`
    "Queries
      stage 0: StoredExec matrix sparse -> IndexLookupExec [:, :]
      The index was built once and answered 2 queries."
  `)
})

test('arrays without storage yet have stages too; verbose tells elements and keys', () => {
  const zeros: LogicalPlan = {
    kind: 'Array',
    name: 'zeros([3, 4])',
    shape: [3, 4],
    dtype: 'f32',
    init: { kind: 'zeros' },
    element: { kind: 'scalar', type: { kind: 'f32' }, nullable: false },
    keys: { kind: 'explicit', rank: 2, shape: [3, 4], dense: true },
  }
  const chain = new DistArray<number, readonly [number, number]>(planEngine, zeros).map((v, [i]) => v + i)
  expect(explainPlan(planOf(chain), { verbose: true })).toMatchInlineSnapshot(`
    "Plan
      Map (v, [i]) => v + i
          yields f64, keys [3, 4] dense
          IR return (#0 + @0)
        Array zeros([3, 4]) f32
            yields f32, keys [3, 4] dense
    Rules: none changed it
    Stages
      stage 0: StoredExec zeros([3, 4]) dense -> MapExec (v, [i]) => v + i
    Queries
      stage 0: StoredExec zeros([3, 4]) dense -> MapExec (v, [i]) => v + i
      stage 1: stage 0 -> IndexBuildExec -> IndexLookupExec [:, :]"
  `)
})

test('the machine form says the same', () => {
  const explained = JSON.parse(
    explainPlan(planOf(ratings.filter((r) => r.stars > 3).map((r) => r.user)), { format: 'json' }),
  ) as ExplainedPlan // written by explainPlan
  expect(explained.rules).toEqual(['pruneColumns', 'pushPredicateIntoScan', 'markPipelined'])
  expect(explained.plan).toMatchObject({
    kind: 'Map',
    element: 'i32',
    keys: 'row number',
    inputs: [{ kind: 'Filter', inputs: [{ kind: 'Scan' }] }],
  })
  expect(explained.plan.functions.map((f) => f.runs)).toEqual(['compiled'])
  expect(explained.stages.map((stage) => stage.operators.length)).toEqual([3])
})
