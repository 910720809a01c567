/**
 * The golden plans of Spark's own client (its PlanGenerationTestSuite), as far as this API can say them: on a server they
 * give what they give here, or are refused by name. What only Spark has (maps, XML, hints, a schema's metadata) is left out.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Field, Float64, Int32, Int64, List, Schema, Struct, TimestampMillisecond, Utf8 } from 'apache-arrow'
import { afterAll, describe, expect, test } from 'vitest'
import {
  all,
  any,
  approxCountDistinct,
  approxQuantile,
  argMax,
  argMin,
  bucket,
  collect,
  correlation,
  count,
  countDistinct,
  covariance,
  type DistArray,
  denseRank,
  first,
  firstValue,
  kurtosis,
  lag,
  last,
  lastValue,
  lead,
  max,
  mean,
  min,
  mode,
  ntile,
  PlanError,
  percentRank,
  quantile,
  rank,
  rowNumber,
  Session,
  skew,
  stddev,
  sum,
  variance,
} from '../src/index.ts'
import { differenceOfRows } from './sameRows.ts'
import { startSail, startSpark } from './sparkServers.ts'

interface Simple {
  readonly id: number
  readonly a: number | null
  readonly b: number | null
}
interface Right {
  readonly id: number
  readonly a: number | null
  readonly payload: string | null
}
interface Complex extends Simple {
  readonly g: string | null
  readonly t: Date
  readonly e: readonly number[] | null
  readonly d: { readonly id: number; readonly x: number | null } | null
}
interface Tables {
  readonly simple: DistArray<Simple>
  readonly right: DistArray<Right>
  readonly complex: DistArray<Complex>
}

const folder = mkdtempSync(join(tmpdir(), 'distarray-spark-golden-'))
const servers = (await Promise.all([startSail(), startSpark()])).filter((one) => one !== undefined)
const here = await Session.start({ workers: 1, progress: false })
afterAll(async () => {
  await here.stop()
  for (const server of servers) await server.stop()
  rmSync(folder, { recursive: true })
})

const PLACES = new Map([
  ['hello', 1],
  ['foo', 2],
])
const WORDS = ['hello', 'world', 'foo', 'prefix_baz', 'bob suffix_', 'Ünïcode', ' spaced ', 'Žluťoučký kůň', '0123', null]
const complexRows = Array.from({ length: 60 }, (_, i) => ({
  id: BigInt(i),
  a: i % 9 === 4 ? null : (i * 7) % 23,
  b: i % 11 === 5 ? null : ((i * 13) % 31) / 8 - 1.5,
  g: WORDS[i % WORDS.length] ?? null,
  t: new Date(Date.UTC(2023, i % 12, 1 + (i % 28), i % 24, (i * 7) % 60, i % 60, i * 3)),
  e: i % 7 === 3 ? null : [i, i + 1, i % 4],
  d: i % 8 === 2 ? null : { id: i, x: i % 3 === 0 ? null : i / 4 },
}))
const fields = [
  new Field('id', new Int64(), false),
  new Field('a', new Int32(), true),
  new Field('b', new Float64(), true),
  new Field('g', new Utf8(), true),
  new Field('t', new TimestampMillisecond(), false),
  new Field('e', new List(new Field('item', new Int32(), true)), true),
  new Field('d', new Struct([new Field('id', new Int32(), false), new Field('x', new Float64(), true)]), true),
]
await here.fromRows(complexRows, { schema: new Schema(fields) }).writeParquet(join(folder, 'complex.parquet'))
const simpleRows = complexRows.slice(0, 40).map(({ id, a, b }) => ({ id, a, b }))
await here.fromRows(simpleRows, { schema: new Schema(fields.slice(0, 3)) }).writeParquet(join(folder, 'simple.parquet'))
const rightRows = Array.from({ length: 30 }, (_, i) => ({ id: BigInt(i * 2), a: i % 5 === 0 ? null : i % 23, payload: `p${i % 6}` }))
await here
  .fromRows(rightRows, { schema: new Schema([...fields.slice(0, 2), new Field('payload', new Utf8(), true)]) })
  .writeParquet(join(folder, 'right.parquet'))

const tablesOf = async (session: Session): Promise<Tables> => ({
  simple: await session.readParquet<Simple>(join(folder, 'simple.parquet')),
  right: await session.readParquet<Right>(join(folder, 'right.parquet')),
  complex: await session.readParquet<Complex>(join(folder, 'complex.parquet')),
})

type Chain = (tables: Tables) => DistArray<object>
/** A column of one expression, beside the row's number, which orders them. */
const column =
  <V>(f: (row: Complex) => V): Chain =>
  ({ complex }) =>
    complex.map(f).map((value) => ({ value })) as unknown as DistArray<object>
const ofAll =
  (aggregates: Parameters<DistArray<Complex>['agg']>[0]): Chain =>
  ({ complex }) =>
    complex.agg(aggregates) as unknown as DistArray<object>

const PLANS: Readonly<Record<string, Chain>> = {
  // relations
  select: ({ simple }) => simple.select('id'),
  select_strings: ({ simple }) => simple.select('id', 'a'),
  selectExpr: ({ simple }) => simple.map((r) => ({ x: (r.a ?? 0) + 10, grp: r.id % 10 })),
  limit: ({ simple }) => simple.sortBy((r) => r.id).limit(10),
  filter: ({ simple }) => simple.filter((r) => r.id === 10),
  where_expr: ({ simple }) => simple.filter((r) => (r.a ?? 0) + r.id < 30),
  filter_expr: ({ simple }) => simple.filter((r) => Math.exp(r.a ?? 0) < 10),
  toDF: ({ simple }) => simple.rename({ id: 'x1', a: 'x2', b: 'x3' }),
  join_inner_using_single_col: ({ simple, right }) => simple.join(right, 'id'),
  join_inner_using_multiple_col_array: ({ simple, right }) => simple.join(right, ['id', 'a']),
  join_using_single_col: ({ simple, right }) => simple.join(right, 'id', { how: 'semi' }),
  join_using_multiple_col_array: ({ simple, right }) => simple.join(right, ['id', 'a'], { how: 'full' }),
  join_using_multiple_col_seq: ({ simple, right }) => simple.join(right, ['id', 'a'], { how: 'right' }),
  join_inner_condition: ({ simple, right }) => simple.join(right, { left: (l) => l.a, right: (r) => r.a }),
  join_condition: ({ simple, right }) => simple.join(right, 'id', { how: 'anti' }),
  crossJoin: ({ simple, right }) => simple.join(right, { left: () => 1, right: () => 1 }),
  sort_strings: ({ simple }) => simple.sortBy((r) => [r.b, r.a]),
  orderBy_columns: ({ simple }) => simple.sortBy([(r) => r.id, (r) => r.b, (r) => r.a]),
  unpivot_values: ({ simple }) => simple.unpivot({ keep: ['id', 'a'], columns: ['b'], name: 'name', value: 'value' }),
  offset: ({ simple }) => simple.sortBy((r) => r.id).limit(1000, { offset: 30 }),
  union: ({ simple }) => simple.union(simple),
  unionByName: ({ simple, right }) => simple.drop('b').union(right.drop('payload')),
  unionByName_allowMissingColumns: ({ simple, right }) => simple.union(right, { columns: 'all' }) as never,
  intersect: ({ simple }) => simple.distinct().join(simple, ['id', 'a', 'b'], { how: 'semi' }),
  except: ({ simple }) => simple.distinct().join(simple, ['id', 'a', 'b'], { how: 'anti' }),
  sample_fraction_seed: ({ simple }) => simple.sample(1, { seed: 98 }),
  withColumn_single: ({ simple }) => simple.withColumns((r) => ({ z: (r.a ?? 0) + 100 })),
  withColumns_scala_map: ({ simple }) => simple.withColumns((r) => ({ b: 'redacted', z: (r.a ?? 0) + 100 })),
  withColumnRenamed_single: ({ simple }) => simple.rename({ id: 'nid' }),
  drop_single_string: ({ simple }) => simple.drop('a'),
  drop_multiple_strings: ({ simple }) => simple.drop('a', 'b'),
  dropDuplicates: ({ simple }) => simple.distinct(),
  dropDuplicates_names: ({ simple }) => simple.select('a').distinct(),
  describe: ({ simple }) => simple.agg({ n: count((r) => r.b), mean: mean((r) => r.b), sd: stddev((r) => r.b), least: min((r) => r.b) }),
  distinct: ({ simple }) => simple.distinct(),
  groupby_agg: ({ simple }) => simple.groupBy((r) => r.id % 4).agg({ n: count(), most: max((r) => r.a), sd: stddev((r) => r.b) }),
  groupby_agg_string: ({ complex }) => complex.groupBy((r) => ({ g: r.g })).agg({ any: any((r) => r.id > 50), all: all((r) => r.id < 50) }),
  pivot: ({ complex }) =>
    complex
      .map((r) => ({ id: r.id % 3, g: r.g, b: r.b }))
      .pivot({ rows: ['id'], columns: 'g', values: 'b', agg: 'sum', names: ['hello', 'world'] }) as never,
  fill: ({ simple }) => simple.fillNull({ a: 8, b: 0.5 }),
  dropna: ({ simple }) => simple.filter((r) => r.a !== null && r.b !== null),
  replace: ({ simple }) => simple.withColumns((r) => ({ a: r.a === 1 ? 101 : r.a })),
  tail: ({ simple }) => simple.sortBy((r) => r.id).tail(3),
  // columns
  column_unary_minus: column((r) => -r.id),
  column_not: column((r) => !(r.id > 3)),
  column_equals: column((r) => r.a === r.b),
  column_not_equals: column((r) => r.a !== r.b),
  column_gt: column((r) => (r.a ?? 0) > (r.b ?? 0)),
  column_leq: column((r) => (r.a ?? 0) <= (r.b ?? 0)),
  column_eqNullSafe: column((r) => r.a === r.b || (r.a === null && r.b === null)),
  column_when_otherwise: column((r) => ((r.a ?? 0) < 10 ? 'low' : (r.a ?? 0) < 20 ? 'medium' : 'high')),
  column_between: column((r) => r.id >= 10 && r.id <= 20),
  column_isNaN: column((r) => Number.isNaN(r.b ?? 0)),
  column_isNull: column((r) => r.g === null),
  column_and: column((r) => r.id > 10 && (r.b ?? 0) < 0.5),
  column_or: column((r) => r.id > 10 || (r.b ?? 0) < 0.5),
  column_add: column((r) => (r.a ?? 0) + (r.b ?? 0)),
  column_divide: column((r) => (r.a ?? 0) / (r.b ?? 0)),
  column_modulo: column((r) => (r.a ?? 0) % 10),
  column_isin: column((r) => ['hello', 'world', 'foo'].includes(r.g ?? '')),
  column_like: column((r) => (r.g ?? '').includes('bob')),
  column_ilike: column((r) => /FO+|b[O-P]b|\s\w/i.test(r.g ?? '')),
  column_rlike: column((r) => /^[0-9]*$/.test(r.g ?? '')),
  column_getField: column((r) => r.d?.x ?? null),
  column_substr: column((r) => (r.g ?? '').slice(7, 10)),
  column_contains: column((r) => (r.g ?? '').includes('baz')),
  column_startsWith: column((r) => r.g?.startsWith('prefix_') ?? false),
  column_endsWith: column((r) => r.g?.endsWith('suffix_') ?? false),
  column_alias: ({ complex }) => complex.map((r) => ({ b: r.a })),
  column_cast: column((r) => String(r.id)),
  column_desc: ({ complex }) => complex.select('id', 'b').sortBy([{ by: (r) => r.b, order: 'descending' }, (r) => r.id]),
  column_desc_nulls_first: ({ complex }) =>
    complex.select('id', 'b').sortBy([{ by: (r) => r.b, order: 'descending', nulls: 'first' }, (r) => r.id]),
  column_asc_nulls_first: ({ complex }) => complex.select('id', 'a').sortBy([{ by: (r) => r.a, nulls: 'first' }, (r) => r.id]),
  column_bitwiseOR: column((r) => (r.a ?? 0) | 7),
  column_bitwiseAND: column((r) => (r.a ?? 0) & 255),
  column_bitwiseXOR: column((r) => (r.a ?? 0) ^ 78),
  column_star: ({ complex }) => complex.select('id', 'a', 'b', 'g', 't'),
  // aggregates
  function_approx_count_distinct: ofAll({ x: approxCountDistinct((r) => r.id % 3) }),
  function_avg: ofAll({ x: mean((r) => r.a) }),
  function_collect_list: ofAll({ x: collect((r) => r.a) }),
  function_corr: ofAll({
    x: correlation(
      (r) => r.a,
      (r) => r.b,
    ),
  }),
  function_count: ofAll({ x: count((r) => r.a) }),
  function_countDistinct: ofAll({ x: countDistinct((r) => r.g) }),
  function_covar_samp: ofAll({
    x: covariance(
      (r) => r.a,
      (r) => r.b,
    ),
  }),
  function_first: ofAll({ x: first((r) => r.id) }),
  function_kurtosis: ofAll({ x: kurtosis((r) => r.b) }),
  function_last: ofAll({ x: last((r) => r.id) }),
  function_count_if: ofAll({ x: sum((r) => ((r.a ?? 0) > 0 ? 1 : 0)) }),
  function_mode: ofAll({ x: mode((r) => (r.id < 20 ? 7 : r.id)) }),
  function_max: ofAll({ x: max((r) => r.id) }),
  function_max_by: ofAll({
    x: argMax(
      (r) => r.a,
      (r) => r.id,
    ),
  }),
  function_median: ofAll({ x: quantile((r) => r.a, 0.5) }),
  function_min: ofAll({ x: min((r) => r.a) }),
  function_min_by: ofAll({
    x: argMin(
      (r) => r.g,
      (r) => (r.id === 3 ? Number.NaN : r.id),
    ),
  }),
  function_percentile: ofAll({ x: quantile((r) => r.a, 0.3) }),
  function_percentile_approx: ofAll({ x: approxQuantile((r) => r.id, 0) }),
  function_skewness: ofAll({ x: skew((r) => r.b) }),
  function_stddev_samp: ofAll({ x: stddev((r) => r.b) }),
  function_sum: ofAll({ x: sum((r) => r.a) }),
  function_var_samp: ofAll({ x: variance((r) => r.b) }),
  function_bool_and: ofAll({ x: all((r) => r.id >= 0) }),
  function_bool_or: ofAll({ x: any((r) => r.id > 58) }),
  // windows
  function_row_number: ({ complex }) => complex.select('id', 'a').window({ orderBy: (r) => r.id, by: (r) => r.a }, { x: rowNumber() }),
  function_rank: ({ complex }) => complex.select('id', 'a').window({ orderBy: (r) => r.a ?? 0 }, { x: rank() }),
  function_dense_rank: ({ complex }) => complex.select('id', 'a').window({ orderBy: (r) => r.a ?? 0 }, { x: denseRank() }),
  function_percent_rank: ({ complex }) => complex.select('id', 'a').window({ orderBy: (r) => r.a ?? 0 }, { x: percentRank() }),
  function_ntile: ({ complex }) => complex.select('id', 'a').window({ orderBy: (r) => r.id }, { x: ntile(4) }),
  function_lag: ({ complex }) => complex.select('id', 'g').window({ orderBy: (r) => r.id }, { x: lag((r) => r.g, 2) }),
  function_lead: ({ complex }) => complex.select('id', 'g').window({ orderBy: (r) => r.id }, { x: lead((r) => r.g) }),
  function_first_value: ({ complex }) => complex.select('id', 'a').window({ orderBy: (r) => r.id }, { x: firstValue((r) => r.a) }),
  function_last_value_ignore_nulls: ({ complex }) =>
    complex.select('id', 'a').window({ orderBy: (r) => r.id }, { x: lastValue((r) => r.a, { ignoreNulls: true }) }),
  function_window_sum: ({ complex }) =>
    complex.select('id', 'a').window({ orderBy: (r) => r.id, by: (r) => r.id % 3, frame: { rows: [-2, 0] } }, { x: sum((r) => r.a) }),
  // functions of numbers
  function_abs: column((r) => Math.abs(r.b ?? 0)),
  function_acos: column((r) => Math.acos(r.b ?? 0)),
  function_asin: column((r) => Math.asin(r.b ?? 0)),
  function_atan: column((r) => Math.atan(r.b ?? 0)),
  function_atan2: column((r) => Math.atan2(r.a ?? -0, r.b ?? -0)),
  function_cbrt: column((r) => Math.cbrt(r.b ?? 0)),
  function_ceil: column((r) => Math.ceil(r.b ?? 0)),
  function_cos: column((r) => Math.cos(r.b ?? 0)),
  function_cosh: column((r) => Math.cosh(r.b ?? 0)),
  function_exp: column((r) => Math.exp(r.b ?? 0)),
  function_expm1: column((r) => Math.expm1(r.b ?? 0)),
  function_floor: column((r) => Math.floor(r.b ?? 0)),
  function_greatest: column((r) => Math.max(r.a ?? 0, r.b ?? 0, 1)),
  function_least: column((r) => Math.min(r.a ?? 0, r.b ?? 0, 1)),
  function_ln: column((r) => Math.log(r.b ?? 0)),
  function_log10: column((r) => Math.log10(r.b ?? 0)),
  function_log1p: column((r) => Math.log1p(r.b ?? 0)),
  function_log2: column((r) => Math.log2(r.b ?? 0)),
  function_negative: column((r) => -(r.a ?? 0)),
  function_pow: column((r) => (r.a ?? 0) ** (r.b ?? 0)),
  function_pmod: column((r) => (((r.b ?? 0) % 3) + 3) % 3),
  function_rint: column((r) => Math.trunc(r.b ?? 0)),
  function_round: column((r) => Math.round(r.b ?? 0)),
  function_signum: column((r) => Math.sign(r.b ?? 0)),
  function_sin: column((r) => Math.sin(r.b ?? 0)),
  function_sqrt: column((r) => Math.sqrt(r.b ?? 0)),
  function_tan: column((r) => Math.tan(r.b ?? 0)),
  function_tanh: column((r) => Math.tanh(r.b ?? 0)),
  function_bitwise_not: column((r) => ~(r.a ?? 0)),
  function_shiftleft: column((r) => (r.a ?? 0) << 2),
  function_shiftright: column((r) => (r.a ?? 0) >> 2),
  function_shiftrightunsigned: column((r) => (r.a ?? 0) >>> 2),
  function_hypot: column((r) => Math.sqrt((r.a ?? 0) ** 2 + (r.b ?? 0) ** 2)),
  function_coalesce: column((r) => r.a ?? r.b ?? 3),
  function_nvl2: column((r) => (r.g !== null ? r.a : r.b)),
  'null or undefined': column((r) => r.d?.x === undefined),
  function_nullif: column((r) => (r.a === 5 ? null : r.a)),
  // functions of texts
  function_ascii: column((r) => (r.g ?? '').charCodeAt(0)),
  function_char_length: column((r) => (r.g ?? '').length),
  function_concat: column((r) => `${r.g ?? '-'}${r.id}!`),
  function_instr: column((r) => (r.g ?? '').indexOf('o')),
  function_lower: column((r) => (r.g ?? '').toLowerCase()),
  function_upper: column((r) => (r.g ?? '').toUpperCase()),
  function_lpad: column((r) => (r.g ?? '').padStart(10, '-')),
  function_rpad: column((r) => (r.g ?? '').padEnd(10, 'ab')),
  function_trim: column((r) => (r.g ?? '').trim()),
  function_ltrim: column((r) => (r.g ?? '').trimStart()),
  function_rtrim: column((r) => (r.g ?? '').trimEnd()),
  function_repeat: column((r) => (r.g ?? '').repeat(3)),
  function_substring: column((r) => (r.g ?? '').substring(2, 5)),
  function_left: column((r) => (r.g ?? '').slice(0, 3)),
  function_right: column((r) => (r.g ?? '').slice(-3)),
  function_rlike: column((r) => /o+/.test(r.g ?? '')),
  function_find_in_set: column((r) => PLACES.get(r.g ?? '') ?? 0),
  function_elt: column((r) => ['zero', 'one', 'two'][r.a as number] ?? 'more'),
  // functions of times
  function_year: column((r) => r.t.getUTCFullYear()),
  function_month: column((r) => r.t.getUTCMonth() + 1),
  function_day: column((r) => r.t.getUTCDate()),
  function_dayofweek: column((r) => r.t.getUTCDay()),
  function_hour: column((r) => r.t.getUTCHours()),
  function_minute: column((r) => r.t.getUTCMinutes()),
  function_second: column((r) => r.t.getUTCSeconds()),
  function_unix_millis: column((r) => r.t.getTime()),
  function_timestamp_millis: column((r) => new Date(r.id * 86_400_000)),
  function_date_format: column((r) => r.t.toISOString()),
  function_date_trunc: column((r) => bucket(r.t, { every: '1 day' })),
  function_trunc: column((r) => bucket(r.t, { every: '1 quarter' })),
  function_window: ({ complex }) => complex.groupBy((r) => bucket(r.t, { every: '6 hours' })).agg({ n: count(), sum: sum((r) => r.b) }),
}

/** What is said to be no question for a server. */
const REFUSED: Readonly<Record<string, string>> = {
  'null or undefined': 'may be null or undefined, which Spark does not tell apart',
  function_collect_list: 'takes the values of a group in the order of its rows, which Spark does not keep',
  function_first: 'takes the first of a group in the order of its rows, which Spark does not keep',
  function_last: 'takes the last of a group in the order of its rows, which Spark does not keep',
}

if (servers.length === 0) test.skip('neither Sail nor Spark is here: golden plans are not compared', () => {})

describe.each(servers)('on $name', ({ address, name }) => {
  test('golden plans give there what they give here', { timeout: 600_000 }, async () => {
    const there = await Session.start({ tables: address, workers: 1, progress: false })
    const [ours, theirs] = [await tablesOf(here), await tablesOf(there)]
    const found: Record<string, string> = {}
    try {
      for (const [plan, chain] of Object.entries(PLANS)) {
        const expected = await chain(ours).collect()
        try {
          const difference = differenceOfRows(sorted(expected), sorted(await chain(theirs).collect()))
          if (difference !== undefined) found[plan] = `DIFFERS: ${difference}`
        } catch (error) {
          if (!(error instanceof PlanError)) found[plan] = `FAILS: ${String(error)}`
          else found[plan] = /cannot run .*?: it (.*?)\.\n/s.exec(error.message)?.[1] ?? error.message
        }
      }
    } finally {
      await there.stop()
    }
    expect(found).toEqual(REFUSED)
    const plans = Object.keys(PLANS).length
    console.log(`${name}: ${plans - Object.keys(found).length} of ${plans} golden plans agree`)
    expect(Object.keys(REFUSED).length / plans).toBeLessThan(0.05)
  })
})

/** In an order of their texts: tables of a server have none. */
function sorted(rows: readonly object[]): readonly object[] {
  return [...rows].sort((a, b) => {
    const [x, y] = [orderText(a), orderText(b)]
    return x < y ? -1 : x > y ? 1 : 0
  })
}

function orderText(row: object): string {
  return JSON.stringify(row, (_, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(9)) + 0 : typeof value === 'bigint' ? `${value}` : value,
  )
}
