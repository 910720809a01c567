/**
 * The types of the public surface, checked by tsc: the element follows the chain, the keys follow `index`. Nothing
 * here runs.
 */
import type { RecordBatch, Table } from 'apache-arrow'
import { expectTypeOf } from 'vitest'
import { collect, count, countDistinct, first, max, mean, min, quantile, sum } from './aggregates.ts'
import type { TypedArray } from './column.ts'
import type { DistArray } from './distArray.ts'
import type { Grouped } from './grouped.ts'
import type { UpdateBuffer } from './updateBuffer.ts'

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
  expectTypeOf(matrix.cast('i32')).toEqualTypeOf<DistArray<number, readonly [number, number]>>()
  expectTypeOf(matrix.materialize().shuffleKeys({ axes: [0], seed: 1 })).toEqualTypeOf<DistArray<number, readonly [number, number]>>()
  // @ts-expect-error a column that does not exist
  table.select('star')
  // @ts-expect-error a column that does not exist
  table.filter((r) => r.star > 1)
  // @ts-expect-error a predicate answers true or false
  table.filter((r) => r.stars)
}

export function joins(other: DistArray<{ movie: number; title: string }>): void {
  expectTypeOf(table.join(other, 'movie')).toEqualTypeOf<DistArray<Rating & { movie: number; title: string }>>()
  const named = table.join(other, { left: (r) => r.movie, right: (m) => m.movie }, { how: 'left', suffix: '_m' })
  expectTypeOf(named.map((r) => r.title)).toEqualTypeOf<DistArray<string>>()
  const told = table.join<{ movie: number; title: string }, { title: string | null }>(other, 'movie', { how: 'left' })
  expectTypeOf(told).toEqualTypeOf<DistArray<{ title: string | null }>>()
  // @ts-expect-error the right side has no such column
  table.join(other, 'user')
}

export function groups(): void {
  const perMovie = table.groupBy((r) => r.movie)
  expectTypeOf(perMovie).toEqualTypeOf<Grouped<Rating, number>>()
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
  })
  expectTypeOf(rows.map((r) => r.key)).toEqualTypeOf<DistArray<number>>()
  expectTypeOf(rows.map((r) => r.total)).toEqualTypeOf<DistArray<number>>()
  expectTypeOf(rows.map((r) => r.average)).toEqualTypeOf<DistArray<number | null>>()
  expectTypeOf(rows.map((r) => r.newest)).toEqualTypeOf<DistArray<Date | null>>()
  expectTypeOf(rows.map((r) => r.notes)).toEqualTypeOf<DistArray<(string | null)[]>>()
  expectTypeOf(rows.map((r) => r.head)).toEqualTypeOf<DistArray<number>>()
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
