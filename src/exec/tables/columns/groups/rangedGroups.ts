/**
 * A group-by of rows that come range after range, each as columns of its own: its passes (`groupPass.ts`) go on with the records of the
 * ranges before, so that sums follow the fixed tree over all rows.
 *
 *     rows 1 to 9,000,000   codes A 0, N 1   records of A and N
 *     rows 9,000,001 to …   codes N 0, R 1   the record of N is that of code 0 now, A's waits for a range with an A, R's begins
 */

import type { Column } from '../../../../core/data/column.ts'
import { columnFromValues } from '../../../../core/data/columnBuilder.ts'
import { convertColumn } from '../../../../core/data/columnConversions.ts'
import { valueReader } from '../../../../core/data/columnReaders.ts'
import { type ColumnType, sameType } from '../../../../core/data/schema.ts'
import type { WideOperator } from '../../../../planner/physical/physicalPlan.ts'
import { type ExecBatch, emptyBatch } from '../../operators/batches.ts'
import { groupRows } from '../../operators/groupBy/hashAggregate.ts'
import { stridesOf, type Window } from '../../operators/hashing/keyWindows.ts'
import type { ColumnRun } from '../columnRun.ts'
import { codesOf, differentTexts } from '../texts/textCodes.ts'
import { groupColumns, meansOf, SIZES, sumsOf } from './groupedColumns.ts'
import { columnOfNumbers, keyColumn, type PassKey, partAt, passKey, passWindows } from './groupKeys.ts'
import { type PassSizes, type Records, recordsOf } from './groupRecords.ts'
import { isSpread, type PassFolds, PassSources, passFolds } from './groupSources.ts'

type Aggregation = Extract<WideOperator, { kind: 'HashAggregateExec' }>

/** Part of a key: a whole number, a text, or null. */
type KeyPart = number | string | null

export class RangedGroups {
  private readonly operator: Aggregation
  private readonly sizes: PassSizes
  /** For each part of the key its value in every group. */
  private readonly parts: KeyPart[][] = []
  private readonly counts: number[] = []
  private readonly values: number[][] = []
  /** For each fold the sums of full chunks, by group. */
  private readonly chunks: Map<number, number[]>[] = []
  /** The last range's. */
  private last: { readonly key: PassKey; readonly folds: PassFolds; readonly types: readonly ColumnType[] } | undefined
  /** The groups of all rows with their means, where this adds the squares of the differences from these. */
  private readonly means: { readonly groups: RangedGroups; readonly of: readonly Float64Array[] } | undefined

  constructor(operator: Aggregation, sizes: PassSizes = SIZES, means?: RangedGroups['means']) {
    this.operator = operator
    this.sizes = sizes
    this.means = means
  }

  /** The groups that the squares of variances are added to, in a second pass over all ranges; undefined where there are none. */
  squares(): RangedGroups | undefined {
    const spread = this.spread()
    if (spread.length === 0) return undefined
    const { operator } = this
    const records = this.records()
    const of = spread.map((fold) => meansOf(fold, records))
    return new RangedGroups({ ...operator, aggregates: operator.aggregates.filter(isSpread) }, this.sizes, { groups: this, of })
  }

  /** The folds whose values variances are of. */
  private spread(): readonly number[] {
    return [...new Set(this.last?.folds.of.filter(isSpread).map(({ fold }) => fold) ?? [])]
  }

  /** The number of groups so far. */
  get size(): number {
    return this.counts.length
  }

  /** About how many bytes are kept. */
  get bytes(): number {
    const full = this.chunks.reduce((sum, of) => sum + 100 * of.size, 0)
    return this.size * (8 * (1 + this.values.length) + 16 * this.parts.length) + full
  }

  /** Adds the rows of a range; false where no pass adds them, and none were added. */
  async add(run: ColumnRun): Promise<boolean> {
    const { sizes } = this
    const key = passKey(run)
    const sources = new PassSources(run)
    const sums = passFolds(run, this.operator.aggregates, sources)
    if (key === undefined || sums === undefined) return false
    const { means } = this
    const folds = means === undefined ? sums : { ...sums, kinds: sums.kinds.map(() => 'squares' as const) }
    const types = key.parts.map((part, p) => partType(key, p, part))
    if (this.last?.types.every((type, p) => sameType(type, types[p] ?? type)) === false) return false
    const windows = passWindows(run, key, sizes.keysLookedAt)
    if (windows === undefined) return false
    const texts = key.coded.map(textsOf)
    const { groups, places } = this.placesIn(windows, texts)
    const before = {
      places,
      counts: Float64Array.from(groups, (group) => this.counts[group] as number),
      values: folds.kinds.map((_, f) => Float64Array.from(groups, (group) => this.values[f]?.[group] as number)),
    }
    const all = means?.groups.placesIn(windows, texts)
    const records = await recordsOf(run, {
      ...{ key, windows, folds, sources, sizes, before },
      ...(all &&
        means && {
          means: { places: all.places, of: means.of.map((of) => Float64Array.from(all.groups, (group) => of[group] as number)) },
        }),
    })
    if (records === undefined) return false
    this.last = { key, folds, types }
    this.take(records, groups, { windows, texts })
    return true
  }

  /** The groups in order of first appearance; `squares` of the same rows, where there are variances. */
  finish(squares?: RangedGroups): ExecBatch {
    if (this.last === undefined || this.size === 0) return emptyBatch(this.operator.element)
    const { key, folds, types } = this.last
    const columns = types.map((type, p) => columnOf(this.parts[p] ?? [], type))
    const found = squares?.records()
    const sums = new Map(found && this.spread().map((fold, i) => [fold, sumsOf(i, found)]))
    const { aggregates, method } = this.operator
    return groupRows(keyColumn(key, columns, this.size), {
      method: method ?? 'agg',
      named: aggregates,
      columns: groupColumns(folds, this.records(), sums),
    })
  }

  private records(): Records {
    return {
      places: Int32Array.from(this.counts, (_, group) => group),
      counts: Float64Array.from(this.counts),
      values: this.values.map((of) => Float64Array.from(of)),
      chunks: this.chunks,
    }
  }

  /** The groups that a range may have rows of, and their places in its windows. */
  private placesIn(
    windows: readonly Window[],
    texts: readonly (readonly string[] | undefined)[],
  ): { readonly groups: Int32Array; readonly places: Int32Array } {
    const strides = stridesOf(windows)
    const codes = texts.map((all) => all && new Map(all.map((text, code) => [text, code])))
    const groups: number[] = []
    const places: number[] = []
    for (let group = 0; group < this.size; group++) {
      let place = 0
      for (const [p, { base, span }] of windows.entries()) {
        const value = this.parts[p]?.[group] ?? null
        const at = value === null ? span : typeof value === 'string' ? (codes[p]?.get(value) ?? -1) : value - base
        if (at < 0 || at > span || (at === span && value !== null)) place = Number.NaN
        place += at * (strides[p] as number) // a stride for each part
      }
      if (Number.isNaN(place)) continue
      groups.push(group)
      places.push(place)
    }
    return { groups: Int32Array.from(groups), places: Int32Array.from(places) }
  }

  /** Takes over the records after a range. */
  private take(
    { places, counts, values, chunks }: Records,
    known: Int32Array,
    { windows, texts }: { readonly windows: readonly Window[]; readonly texts: readonly (readonly string[] | undefined)[] },
  ): void {
    const strides = stridesOf(windows)
    const groupAt = new Map<number, number>()
    for (const [i, place] of places.entries()) {
      const group = known[i] ?? this.size
      groupAt.set(place, group)
      this.counts[group] = counts[i] as number // of each group
      for (const [f, of] of values.entries()) (this.values[f] ??= [])[group] = of[i] as number
      if (i < known.length) continue
      for (const [p, window] of windows.entries()) {
        const part = partAt(place, window, strides[p] as number) // a stride for each part
        ;(this.parts[p] ??= []).push(part === null ? null : (texts[p]?.[part] ?? part)) // codes begin at 0
      }
    }
    for (const [f, full] of chunks.entries()) {
      const all = (this.chunks[f] ??= new Map())
      for (const [place, sums] of full) {
        const group = groupAt.get(place) as number // one of the places
        const list = all.get(group)
        if (list === undefined) all.set(group, [...sums])
        else for (const sum of sums) list.push(sum)
      }
    }
  }
}

/** The texts of a part of the key, by code; undefined where it is no text. */
function textsOf(coded: PassKey['coded'][number]): readonly string[] | undefined {
  const codes = typeof coded === 'object' ? codesOf(coded) : undefined
  if (codes === undefined || typeof coded !== 'object') return undefined
  const texts = differentTexts(coded, codes)
  const read = valueReader(texts)
  return Array.from({ length: texts.length }, (_, code) => read(code) as string) // of a column of texts without nulls
}

/** The type of a part of the groups' keys. */
function partType({ coded }: PassKey, p: number, part: PassKey['parts'][number]): ColumnType {
  if (coded[p] === 'doubles') return { kind: 'f64' }
  if (typeof coded[p] === 'object') return { kind: 'utf8' }
  return part.kind === 'column' ? part.column.type : { kind: part.truth ? 'bool' : 'i32' }
}

function columnOf(parts: readonly KeyPart[], type: ColumnType): Column {
  if (type.kind === 'utf8') return convertColumn(columnFromValues(parts), type)
  return columnOfNumbers(type, parts.length, (group) => parts[group] as number | null) // all but texts are numbers
}
