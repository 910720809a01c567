/**
 * Groups of a table that is never in memory as a whole: the partial groups of its partitions (`partialGroups.ts`) are combined in
 * their order, and memory grows with the groups, not with the rows.
 *
 *     partition 0, 1, 2, …  -->  key and aggregates of each group so far  -->  the result
 *
 * A sum follows the fixed tree over its group's values in row order: a chunk stays open from partition to partition
 * until it has its 4,096 values, so that the bits are those of the whole table in one piece.
 */

import { CHUNK, combinePairwise } from '../../../../core/arrays/fixedTree.ts'
import type { Column } from '../../../../core/data/column.ts'
import { columnFromValues } from '../../../../core/data/columnBuilder.ts'
import { concatColumns } from '../../../../core/data/columnConcat.ts'
import { convertColumn, unifyTypes } from '../../../../core/data/columnConversions.ts'
import { nullColumn, takeColumn } from '../../../../core/data/columnSlices.ts'
import type { ColumnType } from '../../../../core/data/schema.ts'
import { Bug } from '../../../../core/errors.ts'
import type { Aggregate, WideOperator } from '../../../../planner/physical/physicalPlan.ts'
import { type ExecBatch, emptyBatch } from '../batches.ts'
import { KeyIds, rowsById } from '../hashing/keyIds.ts'
import { aggregateColumn, bigintSumColumn } from './aggregates.ts'
import { groupRows } from './hashAggregate.ts'
import { COLUMNS_OF_FORM, FORM } from './partialGroups.ts'
import { DistinctSketch, QuantileSketch } from './sketches.ts'

type Aggregation = Extract<WideOperator, { kind: 'HashAggregateExec' }>

export class FoldedGroups {
  private readonly keys = new GroupKeys()
  private readonly folds: readonly Fold[]
  private readonly aggregates: readonly Aggregate[]

  constructor(aggregates: readonly Aggregate[]) {
    this.aggregates = aggregates
    this.folds = aggregates.map(foldOf)
  }

  get size(): number {
    return this.keys.size
  }

  /** Adds the partial groups of the next partition, and returns how many these are; keeps none of their buffers. */
  add({ hidden = [] }: ExecBatch): number {
    const [forms, key, ...columns] = hidden
    if (key === undefined) throw new Bug('A partition left no groups.')
    const groups = this.keys.add(key)
    let next = 0
    for (const [i, fold] of this.folds.entries()) {
      const form = (forms?.values?.[i] ?? FORM.none) as number // written as i32
      const own = columns.slice(next, next + (COLUMNS_OF_FORM[form] ?? 0))
      next += own.length
      fold.add({ form, columns: own, groups, size: this.keys.size })
    }
    return groups.length
  }

  /** About how many bytes are kept. */
  get bytes(): number {
    return this.folds.reduce((sum, fold) => sum + fold.bytes, this.keys.bytes)
  }

  /** The groups in order of first appearance. */
  finish({ element, method }: Pick<Aggregation, 'element' | 'method'>): ExecBatch {
    const { size } = this.keys
    if (size === 0) return emptyBatch(element)
    const columns = this.folds.map((fold) => fold.finish(size))
    return groupRows(this.keys.finish(), { method: method ?? 'agg', named: this.aggregates, columns })
  }
}

/** The groups' keys in order of first appearance. */
class GroupKeys {
  private type: ColumnType = { kind: 'null' }
  private ids: KeyIds | undefined
  private parts: Column[] = []
  /** Bytes of the key columns, and about as many again for the hash table. */
  bytes = 0

  get size(): number {
    return this.ids?.size ?? 0
  }

  /** The group number of each key; new keys get the next numbers. */
  add(key: Column): Int32Array {
    const type = this.ids === undefined ? key.type : unifyTypes(this.type, key.type, 'key')
    if (this.ids === undefined || type !== this.type) this.encodeAgain(type)
    const ids = this.ids as KeyIds // just made where there was none
    const before = ids.size
    const groups = ids.encode(convertColumn(key, type))
    const fresh: number[] = []
    let next = before
    for (let i = 0; i < groups.length; i++) {
      if (groups[i] !== next) continue
      fresh.push(i)
      next++
    }
    if (fresh.length > 0) {
      const part = takeColumn(key, Int32Array.from(fresh))
      this.parts.push(part)
      this.bytes += 2 * bytesOf(part) + 16 * fresh.length
    }
    return groups
  }

  finish(): Column {
    return concatColumns(
      this.parts.map((part) => convertColumn(part, this.type)),
      'key',
    )
  }

  /** Encodes the known keys again as `type`, which holds them all; they keep their group numbers. */
  private encodeAgain(type: ColumnType): void {
    this.type = type
    this.ids = new KeyIds(type)
    for (const part of this.parts) this.ids.encode(convertColumn(part, type))
  }
}

/** The partial results of one partition for one aggregate. */
interface Part {
  readonly form: number
  readonly columns: readonly Column[]
  /** The group number of each of the partition's groups. */
  readonly groups: Int32Array
  /** The number of groups so far. */
  readonly size: number
}

interface Fold {
  readonly bytes: number
  add(part: Part): void
  finish(size: number): Column
}

function foldOf(call: Aggregate): Fold {
  switch (call.kind) {
    case 'sum':
    case 'mean':
      return new SumFold(call)
    case 'count':
      return new CountFold()
    case 'min':
    case 'max':
    case 'first':
    case 'last':
    case 'any':
    case 'all':
      return new ValueFold(call)
    case 'approxCountDistinct':
      return new SketchFold(call, DistinctSketch, (sketch) => sketch.estimate(), 0)
    case 'approxQuantile':
      return new SketchFold(call, QuantileSketch, (sketch) => sketch.quantile(call.q ?? 0.5), null)
    case 'countDistinct':
    case 'variance':
    case 'stddev':
    case 'quantile':
    case 'collect':
    case 'mode':
    case 'skew':
    case 'kurtosis':
    case 'argMin':
    case 'argMax':
    case 'covariance':
    case 'correlation':
    case 'aggregate':
      throw new Bug(`The aggregate ${call.kind} needs all rows of a group.`)
  }
}

class CountFold implements Fold {
  private counts = new Float64Array(0)
  get bytes(): number {
    return this.counts.byteLength
  }
  add({ columns, groups, size }: Part): void {
    this.counts = grown(this.counts, size)
    const values = columns[0]?.values as Float64Array // counts are f64
    for (let g = 0; g < groups.length; g++) {
      const group = groups[g] as number
      this.counts[group] = (this.counts[group] as number) + (values[g] as number)
    }
  }
  finish(size: number): Column {
    return { type: { kind: 'f64' }, length: size, values: this.counts.slice(0, size) }
  }
}

class SumFold implements Fold {
  private readonly call: Aggregate
  /** By group: the sum of its open chunk, the number of values in that chunk, and the number of values in the group. */
  private open = new Float64Array(0)
  private filled = new Int32Array(0)
  private counts = new Float64Array(0)
  /** The sums of full chunks, for groups that have any. */
  private readonly chunks = new Map<number, number[]>()
  private chunkCount = 0
  private bigints: bigint[] | undefined
  constructor(call: Aggregate) {
    this.call = call
  }
  get bytes(): number {
    return this.open.byteLength * 3 + this.chunkCount * 8 + this.chunks.size * 64 + (this.bigints?.length ?? 0) * 32
  }
  add({ form, columns, groups, size }: Part): void {
    const [first, second] = columns
    if (form === FORM.rows) this.addNumbers(first?.values as Int32Array, second?.values as Float64Array, groups, size)
    if (form === FORM.halves) this.addBigints(first?.values as BigInt64Array, second?.values as BigInt64Array, groups)
  }
  private addNumbers(codes: Int32Array, values: Float64Array, groups: Int32Array, size: number): void {
    this.checkOneKind(this.bigints !== undefined)
    const open = (this.open = grown(this.open, size))
    const filled = (this.filled = grown(this.filled, size))
    const counts = (this.counts = grown(this.counts, size))
    for (let i = 0; i < codes.length; i++) {
      const group = groups[codes[i] as number] as number // codes and groups are those of this partition
      open[group] = (open[group] as number) + (values[i] as number)
      counts[group] = (counts[group] as number) + 1
      const now = (filled[group] as number) + 1
      if (now < CHUNK) {
        filled[group] = now
        continue
      }
      const chunks = this.chunks.get(group)
      if (chunks === undefined) this.chunks.set(group, [open[group] as number])
      else chunks.push(open[group] as number)
      this.chunkCount++
      open[group] = 0
      filled[group] = 0
    }
  }
  private addBigints(high: BigInt64Array, low: BigInt64Array, groups: Int32Array): void {
    this.checkOneKind(this.counts.length > 0)
    this.bigints ??= []
    for (let g = 0; g < groups.length; g++) {
      const group = groups[g] as number
      this.bigints[group] = (this.bigints[group] ?? 0n) + ((high[g] as bigint) << 32n) + (low[g] as bigint)
    }
  }
  /** Throws the PlanError for two types in one column, where one partition has numbers and another bigints. */
  private checkOneKind(isOther: boolean): void {
    if (isOther) unifyTypes({ kind: 'i64' }, { kind: 'utf8' }, 'key')
  }
  finish(size: number): Column {
    if (this.bigints !== undefined) return bigintSumColumn(this.call.name, size, (group) => this.bigints?.[group] ?? 0n)
    const [open, filled, counts] = [grown(this.open, size), grown(this.filled, size), grown(this.counts, size)]
    const sumOf = (group: number): number => {
      const chunks = [...(this.chunks.get(group) ?? [])]
      if ((filled[group] as number) > 0) chunks.push(open[group] as number)
      return combinePairwise(chunks, (a, b) => a + b) ?? 0
    }
    if (this.call.kind === 'sum')
      return { type: { kind: 'f64' }, length: size, values: Float64Array.from({ length: size }, (_, g) => sumOf(g)) }
    const means = Array.from({ length: size }, (_, g) => (counts[g] === 0 ? null : sumOf(g) / (counts[g] as number)))
    return columnFromValues(means, { kind: 'f64' }, this.call.name)
  }
}

/** A sketch for each group; the order of the values makes no difference to it. */
class SketchFold<S extends { readonly bytes: number; add(value: number): void }> implements Fold {
  private readonly sketches: S[] = []
  private sizes = new Float64Array(0)
  bytes = 0
  private readonly call: Aggregate
  private readonly Sketch: new () => S
  private readonly value: (sketch: S) => number | null
  private readonly ofNothing: number | null
  constructor(call: Aggregate, Sketch: new () => S, value: (sketch: S) => number | null, ofNothing: number | null) {
    this.call = call
    this.Sketch = Sketch
    this.value = value
    this.ofNothing = ofNothing
  }
  add({ columns: [codes, numbers], groups, size }: Part): void {
    const [at, values] = [codes?.values as Int32Array | undefined, numbers?.values as Float64Array] // of the form rows, or none
    this.sizes = grown(this.sizes, size)
    for (let i = 0; i < (at?.length ?? 0); i++) {
      const group = groups[at?.[i] as number] as number // codes and groups are those of this partition
      const sketch = this.sketches[group] ?? (this.sketches[group] = new this.Sketch())
      sketch.add(values[i] as number)
    }
    for (const group of groups) {
      const now = this.sketches[group]?.bytes ?? 0
      this.bytes += now - (this.sizes[group] as number)
      this.sizes[group] = now
    }
  }
  finish(size: number): Column {
    const values = Array.from({ length: size }, (_, g) => {
      const sketch = this.sketches[g]
      return sketch === undefined ? this.ofNothing : this.value(sketch)
    })
    return columnFromValues(values, { kind: 'f64' }, this.call.name)
  }
}

/** Partial results are combined when they hold this many times as many values as after the last time, and `FEWEST_VALUES` more. */
const MOST_PARTS = 2
const FEWEST_VALUES = 65_536

/** Extremes, firsts and lasts: the aggregate of the partitions' aggregates, in their order, is that of all rows. */
class ValueFold implements Fold {
  private readonly call: Aggregate
  private values: Column[] = []
  private groups: Int32Array[] = []
  private held = 0
  private kept = 0
  private heldBytes = 0
  constructor(call: Aggregate) {
    this.call = call
  }
  get bytes(): number {
    return this.heldBytes
  }
  add({ columns: [column], groups, size }: Part): void {
    if (column === undefined) throw new Bug(`A partition left nothing for "${this.call.name}".`)
    this.hold(takeColumn(column, ALL(column.length)), groups)
    if (this.held > MOST_PARTS * this.kept + FEWEST_VALUES) this.combine(size)
  }
  finish(size: number): Column {
    this.combine(size)
    return this.values[0] ?? nullColumn({ kind: 'null' }, size)
  }
  private hold(column: Column, groups: Int32Array): void {
    this.values.push(column)
    this.groups.push(groups)
    this.held += column.length
    this.heldBytes += bytesOf(column) + groups.byteLength
  }
  private combine(size: number): void {
    const type = this.values.map((column) => column.type).reduce((a, b) => unifyTypes(a, b, 'key'), { kind: 'null' })
    const column = concatColumns(
      this.values.map((part) => convertColumn(part, type)),
      'key',
    )
    const groups = new Int32Array(column.length)
    let at = 0
    for (const part of this.groups) {
      groups.set(part, at)
      at += part.length
    }
    const combined = aggregateColumn(this.call, column, rowsById(groups, size))
    this.values = []
    this.groups = []
    this.held = this.heldBytes = 0
    this.hold(combined, ALL(size))
    this.kept = size
  }
}

/** The indices of all rows, in order: taking them copies the column. */
function ALL(length: number): Int32Array {
  return Int32Array.from({ length }, (_, i) => i)
}

/** The array, or a longer copy of it, with room for `size` groups. */
function grown<A extends Float64Array | Int32Array>(array: A, size: number): A {
  if (array.length >= size) return array
  const larger = new (array.constructor as new (length: number) => A)(Math.max(size, 2 * array.length)) // the array's own class
  larger.set(array)
  return larger
}

function bytesOf({ values, validity, offsets, objects, children = [] }: Column): number {
  const own = (values?.byteLength ?? 0) + (validity?.byteLength ?? 0) + (offsets?.byteLength ?? 0) + (objects?.length ?? 0) * 16
  return children.reduce((sum, child) => sum + bytesOf(child), own)
}
