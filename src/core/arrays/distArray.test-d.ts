/**
 * The types of the public surface, checked by tsc: the element follows the chain, the keys follow `index`. Nothing
 * here runs.
 */
import type { RecordBatch, Table } from 'apache-arrow'
import { expectTypeOf } from 'vitest'
import type { Session } from '../../session/session.ts'
import type { TypedArray } from '../data/column.ts'
import type { Flat } from '../data/rowTypes.ts'
import type { ArrayView } from '../loop/arrayViews.ts'
import type { UpdateBuffer } from '../loop/updateBuffer.ts'
import {
  aggregate,
  any,
  approxCountDistinct,
  approxMedian,
  argMin,
  collect,
  correlation,
  count,
  countDistinct,
  first,
  last,
  max,
  mean,
  median,
  min,
  mode,
  quantile,
  skew,
  stddev,
  sum,
} from '../plan/aggregates.ts'
import { firstValue, lag, rowNumber } from '../plan/windows.ts'
import type { DistArray, Grouped, Written } from './distArray.ts'

interface Rating {
  readonly user: number
  readonly movie: number
  readonly stars: number
  readonly at: Date
  readonly note: string | null
}

declare const table: DistArray<Rating>
declare const matrix: DistArray<number, readonly [number, number]>

export async function theProgramOfTheReadme(): Promise<void> {
  const ratings = table
    .filter((r) => r.stars > 0)
    .index((r) => [r.user, r.movie])
    .map((r) => r.stars)
  expectTypeOf(ratings).toEqualTypeOf<DistArray<number, readonly [number, number]>>()
  const [users, movies] = await ratings.shape()
  expectTypeOf(users).toEqualTypeOf<number>()
  expectTypeOf(movies).toEqualTypeOf<number>()
  ratings.map((stars, [u, m]) => {
    expectTypeOf(u).toEqualTypeOf<number>()
    return stars + u + m
  })
}

export async function elementsFollowTheChain(): Promise<void> {
  expectTypeOf(table.map((r) => r.stars)).toEqualTypeOf<DistArray<number>>()
  expectTypeOf(table.map((r, [row]) => ({ row, at: r.at }))).toEqualTypeOf<DistArray<{ row: number; at: Date }>>()
  expectTypeOf(table.filter((r) => r.note !== null)).toEqualTypeOf<DistArray<Rating>>()
  expectTypeOf(table.map((r) => r.note).filter((note): note is string => note !== null)).toEqualTypeOf<DistArray<string>>()
  expectTypeOf(table.flatMap((r) => [r.user, r.movie])).toEqualTypeOf<DistArray<number>>()
  expectTypeOf(table.mapPartitions((rows) => [Array.from(rows).length])).toEqualTypeOf<DistArray<number>>()
  expectTypeOf(table.select('user', 'note')).toEqualTypeOf<DistArray<Pick<Rating, 'user' | 'note'>>>()
  expectTypeOf(table.withColumns((r) => ({ stars: String(r.stars), twice: r.stars * 2 })).map((r) => r.stars)).toEqualTypeOf<
    DistArray<string>
  >()
  expectTypeOf(table.withColumns((r) => ({ twice: r.stars * 2 })).map((r) => [r.twice, r.user])).toEqualTypeOf<DistArray<number[]>>()
  expectTypeOf(table.sortBy((r) => [r.note, -r.stars]).limit(3)).toEqualTypeOf<DistArray<Rating>>()
  expectTypeOf(table.union(table, table).distinct().sample(0.5, { seed: 1 })).toEqualTypeOf<DistArray<Rating>>()
  expectTypeOf(table.sample({ n: 10 })).toEqualTypeOf<DistArray<Rating>>()
  // @ts-expect-error the seed stands beside n
  table.sample({ n: 10 }, { seed: 1 })
  expectTypeOf(matrix.cast('i32')).toEqualTypeOf<DistArray<number, readonly [number, number]>>()
  expectTypeOf(matrix.materialize().shuffleKeys({ axes: [0], seed: 1 })).toEqualTypeOf<DistArray<number, readonly [number, number]>>()
  // @ts-expect-error a column that does not exist
  table.select('star')
  // @ts-expect-error a column that does not exist
  table.filter((r) => r.star > 1)
  // @ts-expect-error a predicate answers true or false
  table.filter((r) => r.stars)
}

interface Movie {
  movie: number
  title: string
  note: number
}
type Left = { readonly user: number; readonly movie: number; readonly stars: number; readonly at: Date; readonly note: string | null }
type MaybeLeft = {
  readonly user: number | null
  readonly stars: number | null
  readonly at: Date | null
  readonly note: string | null
}
declare const movies: DistArray<Movie>

export function joins(how: 'inner' | 'semi'): void {
  expectTypeOf(table.join(movies, 'movie')).toEqualTypeOf<DistArray<Flat<Left & { title: string; note_right: number }>>>()
  expectTypeOf(table.join(movies, 'movie', {})).toEqualTypeOf<DistArray<Flat<Left & { title: string; note_right: number }>>>()
  expectTypeOf(table.join(movies, 'movie', { how: 'inner', suffix: '_m' })).toEqualTypeOf<
    DistArray<Flat<Left & { title: string; note_m: number }>>
  >()
  expectTypeOf(table.join(movies, 'movie', { how: 'left' })).toEqualTypeOf<
    DistArray<Flat<Left & { title: string | null; note_right: number | null }>>
  >()
  expectTypeOf(table.join(movies, 'movie', { how: 'right' })).toEqualTypeOf<
    DistArray<Flat<MaybeLeft & { readonly movie: number; title: string; note_right: number }>>
  >()
  expectTypeOf(table.join(movies, 'movie', { how: 'full' })).toEqualTypeOf<
    DistArray<Flat<MaybeLeft & { readonly movie: number; title: string | null; note_right: number | null }>>
  >()
  expectTypeOf(table.join(movies, 'movie', { how: 'semi' })).toEqualTypeOf<DistArray<Rating>>()
  expectTypeOf(table.join(movies, 'movie', { how: 'anti' })).toEqualTypeOf<DistArray<Rating>>()
  expectTypeOf(table.join(movies, 'movie', { how: 'cross' })).toEqualTypeOf<
    DistArray<Flat<Left & { movie_right: number; title: string; note_right: number }>>
  >()
  const byFunctions = table.join(movies, { left: (r) => r.movie, right: (m) => m.movie }, { how: 'left', suffix: '_m' })
  expectTypeOf(byFunctions).toEqualTypeOf<DistArray<Flat<Left & { movie_m: number | null; title: string | null; note_m: number | null }>>>()
  // which kind it is only the run can tell
  const either = table.join(movies, 'movie', { how })
  expectTypeOf(either).toEqualTypeOf<DistArray<Rating | Flat<Left & { title: string; note_right: number }>>>()
  // the row may be said
  const told = table.join<Movie, { title: string | null }>(movies, 'movie', { how: 'left', suffix: '_m' })
  expectTypeOf(told).toEqualTypeOf<DistArray<{ title: string | null }>>()
  // keys of two types: a row without a match has the right one's
  const keys = table.join({} as DistArray<{ stars: number | null }>, 'stars', { how: 'full' })
  expectTypeOf(keys.map((r) => r.stars)).toEqualTypeOf<DistArray<number | null>>()
  expectTypeOf(table.join({} as DistArray<{ stars: number | null }>, 'stars').map((r) => r.stars)).toEqualTypeOf<DistArray<number>>()
  // columns that only the file tells
  const unknown = {} as DistArray<Record<string, unknown>>
  expectTypeOf(unknown.join(movies, 'movie').map((r) => r.whatever)).toEqualTypeOf<DistArray<unknown>>()
  expectTypeOf(table.join(unknown, 'movie').map((r) => [r.user, r.whatever] as const)).toEqualTypeOf<
    DistArray<readonly [number, unknown]>
  >()
  // numbers are a column value
  expectTypeOf(table.map((r) => r.user).join(movies, { left: (user) => user, right: (m) => m.movie })).toEqualTypeOf<
    DistArray<{ value: number; movie: number; title: string; note: number }>
  >()
  // @ts-expect-error the right side has no such column
  table.join(movies, 'user')
  // @ts-expect-error there is no such column
  table.join(movies, 'nope')
  // @ts-expect-error there is no such kind
  table.join(movies, 'movie', { how: 'outer' })
  // @ts-expect-error there is no such option
  table.join(movies, 'movie', { on: 'movie' })
}

type Shape = { kind: 'circle'; id: number; r: number } | { kind: 'square'; id: number; side: number }
declare const shapes: DistArray<Shape>

export function unionsOfRows(other: DistArray<{ movie: number | null; title: string; note: number }>): void {
  expectTypeOf(shapes.filter((s): s is Extract<Shape, { kind: 'circle' }> => s.kind === 'circle').map((s) => s.r)).toEqualTypeOf<
    DistArray<number>
  >()
  expectTypeOf(shapes.filter((s) => s.id > 1)).toEqualTypeOf<DistArray<Shape>>()
  const named = shapes.withColumns((s) => ({ name: s.kind.length }))
  expectTypeOf(named.filter((s) => s.kind === 'circle' && s.r > 0).map((s) => s.name)).toEqualTypeOf<DistArray<number>>()
  expectTypeOf(shapes.select('id', 'kind').map((s) => s.kind)).toEqualTypeOf<DistArray<'circle' | 'square'>>()
  const joined = shapes.join({} as DistArray<{ id: number; color: string }>, 'id', { how: 'left' })
  expectTypeOf(joined.map((s) => (s.kind === 'circle' ? s.r : s.side))).toEqualTypeOf<DistArray<number>>()
  expectTypeOf(joined.map((s) => s.color)).toEqualTypeOf<DistArray<string | null>>()
  expectTypeOf(movies.union(other).map((m) => m.movie)).toEqualTypeOf<DistArray<number | null>>()
  expectTypeOf(movies.union()).toEqualTypeOf<DistArray<Movie>>()
  // each of several tables may have another type: those of subtotals have null where a group has none
  const noTitle = movies.map((m) => ({ movie: m.movie, title: null, note: m.note }))
  const nothing = movies.map((m) => ({ movie: null, title: null, note: m.note }))
  expectTypeOf(movies.union(noTitle, nothing).map((m) => m.title)).toEqualTypeOf<DistArray<string | null>>()
  expectTypeOf(movies.union(noTitle, nothing).map((m) => m.movie)).toEqualTypeOf<DistArray<number | null>>()
  expectTypeOf(movies.union(...[noTitle, noTitle]).map((m) => m.title)).toEqualTypeOf<DistArray<string | null>>()
  // @ts-expect-error another row
  movies.union(table)
}

interface Trade {
  id: bigint
  price: number | null
  venue?: string
  when: Date | null
}

export async function nullsAndBigints(trades: DistArray<Trade>): Promise<void> {
  const rows = trades
    .groupBy((t) => t.venue)
    .agg({
      ids: sum((t) => t.id),
      total: sum((t) => t.price),
      average: mean((t) => t.price),
      spread: stddev((t) => t.price),
      median: median((t) => t.price),
      least: min((t) => t.id),
      newest: max((t) => t.when),
      cheapest: min((t) => t.price),
      head: first((t) => t.price),
      tail: last((t) => t.venue),
      all: collect((t) => t.venue),
      n: count((t) => t.price),
    })
  expectTypeOf(rows).toEqualTypeOf<
    DistArray<{
      key: string | null
      ids: bigint
      total: number
      average: number | null
      spread: number | null
      median: number | null
      least: bigint | null
      newest: Date | null
      cheapest: number | null
      head: number | null
      tail: string | null
      all: (string | null)[]
      n: number
    }>
  >()
  const prices = trades.map((t) => t.price)
  expectTypeOf(await prices.sum()).toEqualTypeOf<number>()
  expectTypeOf(await prices.min()).toEqualTypeOf<number | undefined>()
  expectTypeOf(await trades.map((t) => t.id).sum()).toEqualTypeOf<bigint>()
  expectTypeOf(await trades.map((t) => t.id).max()).toEqualTypeOf<bigint | undefined>()
  expectTypeOf(await trades.map((t) => t.id).mean()).toEqualTypeOf<number | undefined>()
  expectTypeOf(prices.cast('f32')).toEqualTypeOf<DistArray<number | null>>()
  expectTypeOf(matrix.cast('i64')).toEqualTypeOf<DistArray<bigint, readonly [number, number]>>()
  // @ts-expect-error a mean of bigints is refused: convert them
  trades.groupBy(() => 1).agg({ mean: mean((t) => t.id) })
  // @ts-expect-error strings have no sum
  await trades.map((t) => t.venue ?? '').sum()
}

export async function arraysWithTheirElements(session: Session): Promise<void> {
  expectTypeOf(session.fromTypedArray(new Float32Array(6), [2, 3])).toEqualTypeOf<DistArray<number, readonly [number, number]>>()
  expectTypeOf(session.fromTypedArray(new BigInt64Array(6), [6])).toEqualTypeOf<DistArray<bigint, readonly [number]>>()
  expectTypeOf(await session.readNpy<[number, number]>('W.npy')).toEqualTypeOf<DistArray<number, [number, number]>>()
  expectTypeOf(await session.readNpy('W.npy', { int64: 'number' })).toEqualTypeOf<DistArray<number, readonly number[]>>()
  expectTypeOf(await session.readNpy('W.npy', { int64: 'bigint' })).toEqualTypeOf<DistArray<number | bigint, readonly number[]>>()
  expectTypeOf(await matrix.writeNpy('W.npy')).toEqualTypeOf<Written>()
  await matrix.map((x) => x > 0).writeNpy('mask.npy')
  await matrix.cast('i64').writeNpy('i64.npy')
  // @ts-expect-error rows are no numbers
  await table.writeNpy('rows.npy')
  // @ts-expect-error numbers that may be null
  await table.map((r) => (r.stars > 1 ? r.stars : null)).writeNpy('nulls.npy')
  expectTypeOf(await session.load('W.arrow')).toEqualTypeOf<DistArray<number, readonly number[]>>()
  expectTypeOf(await session.load<boolean, [number]>('mask.arrow')).toEqualTypeOf<DistArray<boolean, [number]>>()
  expectTypeOf(await matrix.save('W.arrow')).toEqualTypeOf<Written>()
  // @ts-expect-error rows are written as tables
  await table.index((r) => [r.user]).save('rows.arrow')
  // @ts-expect-error a list of numbers
  session.fromTypedArray([1, 2], [2])
  // @ts-expect-error no shape
  session.fromTypedArray(new Float32Array(6))
}

export function loopsAndTheirEnv(session: Session, options: { W: DistArray<number, readonly [number, number]>; rate?: number }): void {
  const total = session.accumulator('sum')
  session.loop(session.range(2, 3), { matrix, total, rate: 2, f: Math.abs }, ([i, j], { matrix, total, rate, f }) => {
    expectTypeOf(matrix).toEqualTypeOf<ArrayView<number, readonly [number, number]>>()
    expectTypeOf(rate).toEqualTypeOf<number>()
    matrix.set(i, j, f(rate))
    total.add(1)
  })
  session.loop(matrix, options, (value, [i, j], { W, rate }) => W.get(i, j) + value + (rate ?? 1))
  session.loop(table, { matrix }, (row, [at], { matrix }) => {
    expectTypeOf(row).toEqualTypeOf<Rating>()
    matrix.add(at, row.movie, row.stars)
  })
  // @ts-expect-error an element of a matrix of numbers is a number
  session.loop(matrix, {}, () => 'x')
  // @ts-expect-error an object in env
  session.loop(session.range(2), { p: { rate: 2 } }, ([i], { p }) => void (i + p.rate))
  // @ts-expect-error neither an array nor a range
  session.loop([1, 2], {}, () => {})
}

export function groups(): void {
  const perMovie = table.groupBy((r) => r.movie)
  expectTypeOf(perMovie).toEqualTypeOf<Grouped<Rating, number>>()
  expectTypeOf(perMovie.agg({ total: sum((r) => r.stars) })).toEqualTypeOf<DistArray<{ key: number; total: number }>>()
  const rows = perMovie.agg({
    n: count(),
    total: sum((r) => r.stars),
    average: mean((r) => r.stars),
    newest: max((r) => r.at),
    least: min((r) => r.stars),
    users: countDistinct((r) => r.user),
    median: quantile((r) => r.stars, 0.5),
    notes: collect((r) => r.note),
    head: first((r) => r.user),
    often: mode((r) => r.note),
    best: argMin(
      (r) => r.note,
      (r) => r.at,
    ),
    some: any((r) => r.stars > 3),
    alike: correlation(
      (r) => r.stars,
      (r) => r.user,
    ),
    skewed: skew((r) => r.stars),
    about: approxCountDistinct((r) => r.user),
    middle: approxMedian((r) => r.stars),
    own: aggregate((r) => r.note, { init: () => 0, step: (n, note) => n + (note?.length ?? 0), finish: (n) => `${n} letters` }),
    state: aggregate((r) => r.stars, { init: () => [0], step: (all, stars) => [...all, stars], merge: (a, b) => [...a, ...b] }),
  })
  expectTypeOf(rows.map((r) => r.about)).toEqualTypeOf<DistArray<number>>()
  expectTypeOf(rows.map((r) => r.middle)).toEqualTypeOf<DistArray<number | null>>()
  expectTypeOf(rows.map((r) => r.own)).toEqualTypeOf<DistArray<string | null>>()
  expectTypeOf(rows.map((r) => r.state)).toEqualTypeOf<DistArray<number[] | null>>()
  // @ts-expect-error a state that is not what init makes
  aggregate((r: Rating) => r.stars, { init: () => 0, step: () => 'x' })
  expectTypeOf(rows.map((r) => r.key)).toEqualTypeOf<DistArray<number>>()
  expectTypeOf(rows.map((r) => r.total)).toEqualTypeOf<DistArray<number>>()
  expectTypeOf(rows.map((r) => r.average)).toEqualTypeOf<DistArray<number | null>>()
  expectTypeOf(rows.map((r) => r.newest)).toEqualTypeOf<DistArray<Date | null>>()
  expectTypeOf(rows.map((r) => r.notes)).toEqualTypeOf<DistArray<(string | null)[]>>()
  expectTypeOf(rows.map((r) => r.head)).toEqualTypeOf<DistArray<number>>()
  expectTypeOf(rows.map((r) => r.often)).toEqualTypeOf<DistArray<string | null>>()
  expectTypeOf(rows.map((r) => r.best)).toEqualTypeOf<DistArray<string | null>>()
  expectTypeOf(rows.map((r) => r.some)).toEqualTypeOf<DistArray<boolean | null>>()
  expectTypeOf(rows.map((r) => r.alike)).toEqualTypeOf<DistArray<number | null>>()
  expectTypeOf(rows.map((r) => r.skewed)).toEqualTypeOf<DistArray<number | null>>()
  // @ts-expect-error a truth that is a number
  perMovie.agg({ some: any((r) => r.stars) })
  // @ts-expect-error a correlation with strings
  correlation((r: Rating) => r.stars, (r: Rating) => r.note) // biome-ignore format: one line has the error
  const both = table.groupBy((r) => ({ user: r.user, year: r.at.getFullYear() }))
  expectTypeOf(both.count().map((r) => [r.user, r.year, r.count])).toEqualTypeOf<DistArray<number[]>>()
  expectTypeOf(both.map((key, values) => values.length + key.year)).toEqualTypeOf<DistArray<number>>()
  expectTypeOf(
    matrix
      .groupBy({ axis: 0 })
      .reduce((a, b) => a + b)
      .map((r) => r.key + r.value),
  ).toEqualTypeOf<DistArray<number>>()
  // @ts-expect-error a sum of strings
  perMovie.agg({ notes: sum((r) => r.note) })
}

export function handlesOfNarrowerElements(bits: DistArray<0 | 1, readonly [number]>): void {
  expectTypeOf(bits).toExtend<DistArray<number>>()
  expectTypeOf(bits.sum()).toEqualTypeOf<Promise<number>>()
  expectTypeOf(matrix).toExtend<DistArray<unknown, readonly number[]>>()
}

export async function queriesAndActions(): Promise<void> {
  expectTypeOf(await matrix.at(1, 2)).toEqualTypeOf<number | undefined>()
  expectTypeOf(await matrix.row(1)).toEqualTypeOf<TypedArray>()
  expectTypeOf((await matrix.slice([[0, 2], null])).shape).toEqualTypeOf<readonly number[]>()
  expectTypeOf(matrix.buffer({ combine: 'sum', maxDelay: 100 })).toEqualTypeOf<UpdateBuffer<readonly [number, number]>>()
  // @ts-expect-error what is collected comes from no store
  await table.collect({ retries: 1 })
  expectTypeOf(await table.collect()).toEqualTypeOf<Rating[]>()
  expectTypeOf(await table.first()).toEqualTypeOf<Rating | undefined>()
  expectTypeOf(await matrix.sum()).toEqualTypeOf<number>()
  expectTypeOf(await matrix.mean()).toEqualTypeOf<number | undefined>()
  expectTypeOf(await matrix.reduce((a, b) => a + b)).toEqualTypeOf<number | undefined>()
  expectTypeOf(
    await table.reduce(
      (n, r) => n + r.stars,
      0,
      (a, b) => a + b,
    ),
  ).toEqualTypeOf<number>()
  expectTypeOf(await table.toArrow()).toEqualTypeOf<Table>()
  for await (const batch of table.batches()) expectTypeOf(batch).toEqualTypeOf<RecordBatch>()
  for await (const row of table) expectTypeOf(row).toEqualTypeOf<Rating>()
  // @ts-expect-error two axes need two numbers
  await matrix.at(1)
  // @ts-expect-error rows have no sum
  await table.sum()
}

export function windows(): void {
  const windowed = table.window(
    { by: (r) => r.user, orderBy: (r) => r.at },
    { n: rowNumber(), before: lag((r) => r.at), total: sum((r) => r.stars), movie: firstValue((r) => r.note) },
  )
  expectTypeOf<ElementOf<typeof windowed>>().toEqualTypeOf<{
    readonly user: number
    readonly stars: number
    readonly at: Date
    readonly note: string | null
    n: number
    before: Date | null
    total: number
    movie: string | null
  }>()
}

type ElementOf<A> = A extends DistArray<infer T> ? Flat<T> : never
