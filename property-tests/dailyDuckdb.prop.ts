/**
 * Windows, as-of joins, pivots, fills, and chains of what takes rows and columns away or adds them give what DuckDB gives of the same rows, whatever nulls, NaN, ties and types are in them. Numbers
 * are eighths, so that sums are exact in any order. Where the two mean different things (a sum of nothing is 0 here and null there, NaN is
 * the least number as well as the largest), the SQL says what is meant here.
 */
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  all,
  any,
  count,
  type DistArray,
  denseRank,
  firstValue,
  lag,
  lastValue,
  lead,
  max,
  mean,
  min,
  ntile,
  PlanError,
  percentRank,
  rank,
  rowNumber,
  Session,
  sum,
  type WindowFunction,
} from '../src/index.ts'
import { spillingAlways } from '../src/session/sessionParts.ts'
import {
  inDuckdb,
  momentIn,
  oneOf,
  orNull,
  type Row,
  rows,
  rowsOrNone,
  same,
  TYPES,
  type TypedRow,
  tableOf,
  typed,
  typedInDuckdb,
  typedTableOf,
} from './duckdbRows.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('dailyDuckdb.prop.ts')

let duckdb: DuckDBConnection
const sessions: Session[] = []
beforeAll(async () => {
  duckdb = await (await DuckDBInstance.create()).connect()
  sessions.push(await Session.start({ workers: 1, progress: false }), await Session.start({ workers: 2, progress: false }))
  // whatever can be spilled is, in parts of some rows each
  sessions.push(await Session.start({ workers: 1, progress: false, ...spillingAlways({ partBytes: 2_000, parts: 3 }) }))
})
afterAll(async () => {
  duckdb.closeSync()
  for (const session of sessions) await session.stop()
})

/** In the order of the partition; `peers` with rows of equal values told apart by their place. */
const orders = fc.record({ by: fc.constantFrom('o', 'ts', 's'), descending: fc.boolean(), partition: fc.constantFrom('k', 'g', undefined) })
const bounds = fc
  .tuple(orNull(fc.integer({ min: -3, max: 3 })), orNull(fc.integer({ min: -3, max: 3 })))
  .map(([a, b]) => (a !== null && b !== null && a > b ? ([b, a] as const) : ([a, b] as const)))

const NAN_WINS = (which: 'min' | 'max'): string => `case when bool_or(isnan(v)) over W then 'nan'::double else ${which}(v) over W end`

test('windows are those of DuckDB', async () => {
  await fc.assert(
    fc.asyncProperty(
      rows,
      orders,
      fc.record({ kind: fc.constantFrom('rows', 'range', undefined), bounds, n: fc.integer({ min: 1, max: 4 }), which: fc.nat(2) }),
      async (given, { by: order, descending, partition: parted }, { kind: wanted, bounds: [from, to], n, which }) => {
        // a range is of numbers and dates
        const kind = wanted === 'range' && order === 's' ? undefined : wanted
        const by = oneOf({ o: ['o', 'm', 'u'], ts: ['ts', 'day'], s: ['s', 'n', 'b'] }[order] ?? [], given)
        const partition = parted && oneOf({ k: ['k', 'b', 'day', 'n'], g: ['g', 'u', 'm', 'f'] }[parted] ?? [], given)
        const unit = by === 'ts' ? 3_600_000 : by === 'day' ? 86_400_000 : 1
        const ends = kind === 'range' ? [from === null ? null : from * unit, to === null ? null : to * unit] : [from, to]
        const table = typedTableOf(sessions[which] as Session, given)
        await typedInDuckdb(duckdb, 't', given)
        const over = {
          ...(partition === undefined ? {} : { by: new Function('r', `return r.${partition}`) }),
          ...{ orderBy: new Function('r', `return r.${by}`), descending },
        }
        const frame = kind === undefined ? {} : { frame: { [kind]: ends } }
        const placed = {
          number: rowNumber(),
          rank: rank(),
          dense: denseRank(),
          percent: percentRank(),
          tile: ntile(n),
          lag: lag((r: Row) => r.v, n),
          lead: lead((r: Row) => r.s, n),
          list: lag((r: TypedRow) => r.l, n),
        }
        const framed = {
          ...{ sum: sum((r: Row) => r.v), mean: mean((r: Row) => r.v), least: min((r: Row) => r.v), most: max((r: Row) => r.v) },
          ...{ count: count((r: Row) => r.s), all: count(), first: firstValue((r: Row) => r.s), last: lastValue((r: Row) => r.n) },
          known: lastValue((r: Row) => r.v, { ignoreNulls: true }),
          ...{ money: sum((r: TypedRow) => r.m), day: firstValue((r: TypedRow) => r.day), is: lastValue((r: TypedRow) => r.b) },
          ...{ whole: max((r: TypedRow) => r.u), single: lastValue((r: TypedRow) => r.f), lists: firstValue((r: TypedRow) => r.l) },
          ...{ some: any((r: Row) => (r.g === null ? null : r.g > 1)), every: all((r: Row) => (r.g === null ? null : r.g > 0)) },
        }
        const ours = table
          .window(over as never, placed as Record<string, WindowFunction<TypedRow, unknown>>)
          .window({ ...over, ...frame } as never, framed as never)
        const p = partition === undefined ? '' : `partition by ${partition}`
        const ordered = `order by ${by === 'u' ? 'u::INTEGER' : by} ${descending ? 'desc' : 'asc'} nulls last`
        const bound = (end: number | null, side: 'preceding' | 'following'): string => {
          if (end === null) return `unbounded ${side}`
          const units = { ts: 'hours', day: 'days' }[by]
          const amount = units !== undefined && kind === 'range' ? `interval ${Math.abs(end)} ${units}` : Math.abs(end)
          return end === 0 ? 'current row' : `${amount} ${end < 0 ? 'preceding' : 'following'}`
        }
        const between = kind === undefined ? '' : `${kind} between ${bound(from, 'preceding')} and ${bound(to, 'following')}`
        // what counts rows tells peers apart by their places
        const inFrame = kind === 'rows' ? `${ordered}, id` : ordered
        const sql = `select id,
          row_number() over A as number, rank() over P as rank, dense_rank() over P as dense, percent_rank() over P as percent,
          ntile(${n}) over A as tile, lag(v, ${n}) over A as lag, lead(s, ${n}) over A as lead, lag(l, ${n}) over A as list,
          coalesce(sum(v) over W, 0) as sum, avg(v) over W as mean, ${NAN_WINS('min')} as least, ${NAN_WINS('max')} as most,
          count(s) over W as count, count(*) over W as "all", first_value(s) over W as "first", last_value(n) over W as "last", last_value(v ignore nulls) over W as known,
          coalesce(sum(m) over W, 0)::DOUBLE as money, first_value(day) over W as "day", last_value(b) over W as "is",
          max(u) over W as whole, last_value(f) over W as single, first_value(l) over W as lists,
          bool_or(g > 1) over W as "some", bool_and(g > 0) over W as "every"
          from t window A as (${p} ${ordered}, id), P as (${p} ${ordered}), W as (${p} ${inFrame} ${between}) order by id`
        const names = [...Object.keys(placed), ...Object.keys(framed)]
        await same(duckdb, ours, sql, ['id', ...names])
      },
    ),
    RUN,
  )
})

test('as-of joins are those of DuckDB', async () => {
  await fc.assert(
    fc.asyncProperty(
      ...[rows, rows],
      fc.record({
        on: fc.constantFrom('o', 'ts'),
        by: fc.constantFrom('k', 'g', undefined),
        direction: fc.constantFrom('backward', 'forward', 'nearest'),
        tolerance: fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
        which: fc.nat(2),
      }),
      async (left, right, { on: order, by: parted, direction, tolerance, which }) => {
        const session = sessions[which] as Session
        const on = oneOf({ o: ['o', 'm', 'u'], ts: ['ts', 'day'] }[order] ?? [], left)
        const by = parted && oneOf({ k: ['k', 'b', 's'], g: ['g', 'u', 'n', 'm'] }[parted] ?? [], right)
        await typedInDuckdb(duckdb, 'l', left)
        await typedInDuckdb(duckdb, 'r', right)
        const unit = on === 'ts' ? 3_600_000 : on === 'day' ? 86_400_000 : 1
        const options = {
          ...{ on, direction },
          ...(by === undefined ? {} : { by }),
          ...(tolerance === undefined ? {} : { tolerance: tolerance * unit }),
        }
        const ours = typedTableOf(session, left).joinAsof(typedTableOf(session, right), options as { readonly on: 'o' })
        const side = (name: string): string =>
          on === 'ts' || on === 'day' ? `epoch_ms(${name}.${on}::TIMESTAMP)` : `${name}.${on}::DOUBLE`
        const away = `(${side('r')} - ${side('l')})`
        const reaches = { backward: `${away} <= 0`, forward: `${away} >= 0`, nearest: `${away} is not null` }[direction]
        const within = tolerance === undefined ? 'true' : `abs(${away}) <= ${tolerance * unit}`
        // of rows as near the last one before or at the row, and the first one behind it
        const ties =
          direction === 'forward' ? 'r.id' : `case when ${away} <= 0 then 0 else 1 end, case when ${away} <= 0 then -r.id else r.id end`
        const sql = `with m as (
          select l.id, r.id as id_right, r.v as v_right, r.f as f_right, r.l as l_right, row_number() over (partition by l.id order by abs(${away}), ${ties}) as place
          from l join r on ${by === undefined ? 'true' : `l.${by} = r.${by}`} and ${reaches} and ${within})
          select l.id, l.v, l.b, m.id_right, m.v_right, m.f_right, m.l_right from l left join m on l.id = m.id and m.place = 1 order by l.id`
        await same(duckdb, ours, sql, ['id', 'v', 'b', 'id_right', 'v_right', 'f_right', 'l_right'])
        const isDistinct = new Set(
          right
            .map(typed)
            .map((one) => `${by && one[by as keyof TypedRow]} ${(one[on as keyof TypedRow] as Date | number | null)?.valueOf()}`),
        ).size
        if (direction === 'nearest' || tolerance !== undefined || isDistinct < right.length) return
        const sign = direction === 'backward' ? '>=' : '<='
        const condition = `${by === undefined ? '' : `l.${by} = r.${by} and `}l.${on} ${sign} r.${on}`
        await same(duckdb, ours, `select l.id, r.id as id_right from l asof left join r on ${condition} order by l.id`, ['id', 'id_right'])
      },
    ),
    RUN,
  )
})

test('pivots are those of DuckDB, and unpivot gives the cells back', async () => {
  await fc.assert(
    fc.asyncProperty(
      rowsOrNone,
      fc.record({
        columns: fc.constantFrom('k', 'g'),
        values: fc.constantFrom('v', 's', 'n', 'ts', undefined),
        agg: fc.constantFrom(
          'count',
          'sum',
          'mean',
          'median',
          'min',
          'max',
          'first',
          'last',
          'countDistinct',
          'variance',
          'mode',
          'skew',
          'kurtosis',
        ),
        isNamed: fc.boolean(),
        isWhole: fc.boolean(),
        which: fc.nat(2),
      }),
      async (given, { columns: of, values: wanted, agg: asked, isNamed, isWhole, which }) => {
        const columns = oneOf({ k: ['k', 'b'], g: ['g', 'u'] }[of] ?? [], given)
        const rows = isWhole ? [] : [oneOf(of === 'k' ? ['g', 'day', 'n'] : ['k', 'm', 'b'], given)]
        const isMeasured = ['sum', 'mean', 'median', 'variance', 'skew', 'kurtosis'].includes(asked)
        const values = isMeasured
          ? oneOf(['v', 'm', 'f'], given)
          : wanted && oneOf({ v: ['v', 'm'], s: ['s', 'day'] }[wanted as string] ?? [wanted], given)
        const agg = values === undefined ? 'count' : asked
        // Variances and medians are of numbers
        const rowsOf = given.map((one) => ({ ...one, v: one.v !== null && Number.isFinite(one.v) ? one.v : null }))
        await typedInDuckdb(duckdb, 't', rowsOf)
        const table = typedTableOf(sessions[which] as Session, rowsOf)
        const found = [...new Set(rowsOf.map((one) => typed(one)[columns as 'k']))]
        const other = { k: 'nowhere', b: undefined, g: 77, u: 77 }[columns as 'k']
        const others = isNamed && other !== undefined ? [other] : []
        const options = { rows, columns, agg, ...(values === undefined ? {} : { values }) } as never
        // no element, no name, no column
        if (found.length === 0 && isWhole && !isNamed) {
          await expect(table.pivot(options)).rejects.toThrow(PlanError)
          return
        }
        const ours = (isNamed
          ? table.pivot({ ...(options as object), names: [...found, ...others] } as never)
          : await table.pivot(options)) as unknown as DistArray<unknown>
        const names = [...found, ...others].map(String)
        const cells = values ?? '*'
        const cell = (name: string): string => {
          const its = name === 'null' ? `${columns} is null` : `${columns} = '${name}'`
          const filter = `filter (where ${its})`
          const forms: Record<string, string> = {
            ...{
              count: `count(${cells}) ${filter}`,
              countDistinct: `count(distinct ${cells}) ${filter}`,
              variance: `var_samp(${values}) ${filter}`,
            },
            ...{
              mean: `avg(${values}) ${filter}`,
              median: `median(${values}::double) ${filter}`, // of decimals it is a decimal
              min: `min(${cells}) ${filter}`,
              max: `max(${cells}) ${filter}`,
            },
            ...{ first: `first(${cells} order by id) ${filter}`, last: `last(${cells} order by id) ${filter}` },
            mode: `mode(${cells}) ${filter}`,
            skew: momentIn('skewness', `${values}`, 3, filter),
            kurtosis: momentIn('kurtosis', `${values}`, 4, filter),
            sum: `case when count(*) ${filter} > 0 then coalesce(sum(${values}) ${filter}, 0)::DOUBLE end`,
          }
          return `${forms[agg]}`
        }
        const order = isWhole ? '' : `group by ${rows} order by min(id)`
        await same(
          duckdb,
          ours,
          `select ${[...rows, ...names.map(cell)].join(', ')} from t ${order}`,
          [...rows, ...names],
          ['variance', 'skew', 'kurtosis'].includes(agg) ? 1e-9 : 0,
        )
        if (names.length === 0) return
        const unpivoted = await ours.unpivot({ keep: rows as never, columns: names as never }).count()
        expect(unpivoted).toBe(names.length * (await ours.count()))
      },
    ),
    RUN,
  )
})

test('a pivot of rows whose columns only running tells is that of rows whose columns are known', async () => {
  const words = new Intl.ListFormat('en')
  await fc.assert(
    fc.asyncProperty(
      rowsOrNone,
      fc.record({
        cells: fc.constantFrom(
          ...(['sum', 'mean', 'median', 'stddev'] as const).map((agg) => ({ agg, values: 'v' as const })),
          ...(['min', 'max', 'first', 'last', 'mode', 'count', 'countDistinct'] as const).flatMap((agg) =>
            (['v', 's', 'n', 'ts'] as const).map((values) => ({ agg, values })),
          ),
        ),
        columns: fc.constantFrom('k' as const, 'g' as const, 'n' as const),
        names: fc.constantFrom(undefined, ['a', null, 'nowhere'], [0, 2, 77n]),
        rows: fc.constantFrom([], ['s'], ['s', 'o']),
        which: fc.nat(2),
      }),
      async (given, { cells, which, ...asked }) => {
        const session = sessions[which] as Session
        const known = tableOf(session, given)
        const open = known.map((one) => (words.format(['a', 'b']) === '' ? null : { ...one }) as Row)
        const pivotOf = async (table: DistArray<Row>): Promise<unknown> => {
          try {
            const options = { ...asked, ...cells } as never
            return await (
              (asked.names === undefined ? await table.pivot(options) : table.pivot(options)) as unknown as DistArray<unknown>
            ).collect()
          } catch (error) {
            // what is found at the call of the one is found where the other runs, at a row
            const message = String(error)
            return message.includes('names of pivot()') ? 'other names' : message
          }
        }
        expect(await pivotOf(open)).toStrictEqual(await pivotOf(known))
      },
    ),
    RUN,
  )
})

test('fills are those of DuckDB', async () => {
  await fc.assert(
    fc.asyncProperty(rows, fc.constantFrom('previous', 'next'), fc.nat(2), async (given, which, s) => {
      await typedInDuckdb(duckdb, 't', given)
      const table = typedTableOf(sessions[s] as Session, given)
      const all = { v: which, s: which, n: which, ts: which, day: which, b: which, m: which, f: which, l: which }
      const filled = table.fillNull({ ...all, o: 0.25, k: 'none', u: 7 } as never)
      const ours = filled.fillNull({ ts: new Date(3_600_000) } as never)
      const neighbour =
        which === 'previous'
          ? (of: string) => `last_value(${of} ignore nulls) over (order by id rows unbounded preceding)`
          : (of: string) => `first_value(${of} ignore nulls) over (order by id rows between current row and unbounded following)`
      const names = Object.keys(all)
      const otherwise = (name: string): string =>
        name === 'ts' ? `coalesce(${neighbour(name)}, timestamp '1970-01-01 01:00:00')` : neighbour(name)
      const sql = `select id, ${names.map((name) => `${otherwise(name)} as ${name}`).join(', ')}, coalesce(o, 0.25) as o, coalesce(k, 'none') as k, coalesce(u, 7) as u from t order by id`
      await same(duckdb, ours, sql, ['id', ...names, 'o', 'k', 'u'])
    }),
    RUN,
  )
})

/** One step of a chain; which columns it is about are places in the list of those that there are. */
const step = fc.oneof(
  fc.record({
    kind: fc.constant('distinct'),
    by: fc.array(fc.nat(20), { minLength: 1, maxLength: 2 }),
    keep: fc.constantFrom('first', 'last'),
  }),
  fc.record({ kind: fc.constant('limit'), n: fc.nat(20), offset: fc.nat(12) }),
  fc.record({ kind: fc.constant('tail'), n: fc.nat(25) }),
  fc.record({ kind: fc.constant('rename'), column: fc.nat(20), isSwapped: fc.boolean() }),
  fc.record({ kind: fc.constant('drop'), columns: fc.array(fc.nat(20), { minLength: 1, maxLength: 2 }) }),
  fc.record({ kind: fc.constant('union'), without: fc.constantFrom('k', 'v', 'n', 'ts', 'id'), keep: fc.nat(12) }),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** A chain as both have it; `place` orders DuckDB's rows. */
interface Chain {
  readonly ours: DistArray<Record<string, unknown>>
  readonly sql: string
  readonly names: readonly string[]
}

/** Columns of one type, which may have each other's names. */
const ALIKE: Readonly<Record<string, string>> = { k: 's', s: 'k', o: 'v', v: 'o' }

function after({ ours, sql, names }: Chain, one: Step, place: number, right: DistArray<Record<string, unknown>>): Chain {
  const nameAt = (at: number): string => names[at % names.length] as string
  const chosen = (at: readonly number[]): string[] => [...new Set(at.map(nameAt))]
  switch (one.kind) {
    case 'distinct': {
      const by = chosen(one.by)
      const order = `order by place ${one.keep === 'first' ? 'asc' : 'desc'}`
      const key = by.length === 1 ? `r["${by[0]}"]` : `({ ${by.map((name) => `"${name}": r["${name}"]`).join(', ')} })`
      const kept = ours.distinct({ by: new Function('r', `return ${key}`) as (row: unknown) => unknown, keep: one.keep as 'first' })
      const numbered = `select *, row_number() over (partition by ${by.join(', ')} ${order}) as n_ from (${sql})`
      return { ours: kept, sql: `select * exclude (n_) from (${numbered}) where n_ = 1`, names }
    }
    case 'limit':
      return {
        ours: ours.limit(one.n, { offset: one.offset }),
        sql: `select * from (${sql}) order by place limit ${one.n} offset ${one.offset}`,
        names,
      }
    case 'tail':
      return { ours: ours.tail(one.n), sql: `select * from (${sql}) order by place desc limit ${one.n}`, names }
    case 'rename': {
      const name = nameAt(one.column)
      const other = ALIKE[name]
      const isSwap = one.isSwapped && other !== undefined && names.includes(other)
      const to: Record<string, string> = isSwap ? { [name]: other, [other]: name } : { [name]: `x${place}` }
      return {
        ours: ours.rename(to) as never,
        sql: `select ${names.map((old) => `${old} as ${to[old] ?? old}`).join(', ')}, place from (${sql})`,
        names: names.map((old) => to[old] ?? old),
      }
    }
    case 'drop': {
      const gone = chosen(one.columns)
      const left = names.filter((name) => !gone.includes(name))
      if (left.length === 0) return { ours, sql, names }
      return { ours: ours.drop(...gone) as never, sql: `select ${left.join(', ')}, place from (${sql})`, names: left }
    }
    case 'union': {
      const added = Object.keys(TYPES).filter((name) => name !== one.without)
      const theirs = `select ${added.join(', ')}, id + ${1000 * (place + 1)} as place from r where id < ${one.keep}`
      return {
        ours: ours.union(right.drop(one.without).limit(one.keep) as never, { columns: 'all' }) as never,
        sql: `(${sql}) union all by name (${theirs})`,
        names: [...new Set([...names, ...added])],
      }
    }
  }
  throw new Error('no such step')
}

test('chains of distinct, limit, tail, rename, drop and union are those of DuckDB', async () => {
  await fc.assert(
    fc.asyncProperty(
      rowsOrNone,
      rowsOrNone,
      fc.array(step, { minLength: 1, maxLength: 5 }),
      fc.nat(2),
      async (left, right, steps, which) => {
        const session = sessions[which] as Session
        await inDuckdb(duckdb, 'l', left)
        await inDuckdb(duckdb, 'r', right)
        const [ours, others] = [left, right].map((given) => tableOf(session, given) as unknown as DistArray<Record<string, unknown>>)
        const first: Chain = { ours: ours as Chain['ours'], sql: 'select *, id as place from l', names: Object.keys(TYPES) }
        const chain = steps.reduce((so, one, i) => after(so, one, i, others as Chain['ours']), first)
        await same(duckdb, chain.ours, `select ${chain.names.join(', ')} from (${chain.sql}) order by place`, chain.names)
      },
    ),
    RUN,
  )
})
