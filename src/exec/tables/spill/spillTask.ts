/**
 * Both ends of an exchange by way of disk, in tasks. A task that spills its result numbers the rows, cuts them into parts, and
 * writes each part to a file as a segment (as in a Grace hash join, or an external sort).
 *
 * A task that reads segments gets their rows in the order they were written in, or in the order of their numbers.
 */
import type { Column } from '../../../core/data/column.ts'
import { hasNulls } from '../../../core/data/columnBuilder.ts'
import { convertColumn, unifyTypes } from '../../../core/data/columnConversions.ts'
import { type NewArray, nullColumn, takeColumn } from '../../../core/data/columnSlices.ts'
import { type ColumnType, type ElementType, type Field, fieldsOf } from '../../../core/data/schema.ts'
import type { WideOperator } from '../../../planner/physical/physicalPlan.ts'
import {
  batchAs,
  concatBatches,
  type ExecBatch,
  elementColumn,
  emptyBatch,
  scalarBatch,
  sliceBatch,
  takeBatch,
  unifyElements,
} from '../operators/batches.ts'
import type { WindowPiece } from '../windows/windowPiece.ts'
import { type Boundaries, partsBetween, partsByKey } from './boundaries.ts'
import { keyHashes, partsByHash } from './keyHashes.ts'
import { MOST_ROWS, type NumberPlace, rowsInOrder } from './rowNumbers.ts'
import { readSegments, type Segment, type SegmentsOfFile, segmentsOfFile, writeSegments } from './segments.ts'

/** The key of an exchange: a hidden column (the first, or that at `at`), a named column, or the element. */
export type SpillKey =
  | { readonly from: 'hidden'; readonly at?: number }
  | { readonly from: 'column'; readonly name: string }
  | { readonly from: 'element' }
  /** The explicit keys of elements. */
  | { readonly from: 'axes' }

/** A sample of a batch's keys: of at most so many rows, spread over the batch. */
export interface KeySample {
  readonly key: SpillKey
  readonly rows: number
}

/** The rule by which the rows of a partition are cut into parts. */
export type SpillBy =
  /** All rows in one part. */
  | { readonly kind: 'whole' }
  | { readonly kind: 'hash'; readonly key: SpillKey; readonly parts: number; readonly level: number }
  | { readonly kind: 'key'; readonly key: SpillKey; readonly boundaries: Boundaries }
  /** By ranges of the rows' numbers: `starts` has the first number of each part but the first. */
  | { readonly kind: 'number'; readonly starts: Float64Array; readonly place: RowNumbers }

/** The place of results' numbers: columns of the left row's and, for rows that have none, the right row's; or the last hidden column. */
export type RowNumbers = { readonly in: 'columns'; readonly names: readonly string[] } | { readonly in: 'hidden' }

export interface Spill {
  readonly by: SpillBy
  readonly numbered?: NumberPlace
  readonly file: string
}

/** The report of a task that spilled its result. */
export interface Spilled {
  /** A segment for each part that has rows; absent where none has. */
  readonly segments?: SegmentsOfFile
  readonly rows: number
  /** An empty batch of the types before rows were numbered; absent where there was no batch. */
  readonly shape?: ExecBatch
}

/** Segments as the input of a task. */
export interface SpilledInput {
  readonly kind: 'spilled'
  readonly segments: readonly Segment[]
  /** An empty batch of the common types that all segments are converted to. */
  readonly shape: ExecBatch
  /** Present where rows are to be sorted by their numbers, which are then removed. `scalar`: elements were single values before they got numbers. */
  readonly inOrder?: { readonly place: RowNumbers; readonly scalar: boolean }
}

/** Segments whose rows are to be sorted by their numbers. */
export type OrderedInput = SpilledInput & Required<Pick<SpilledInput, 'inOrder'>>

export function isOrdered(input: SpilledInput): input is OrderedInput {
  return input.inOrder !== undefined
}

/** The result of an operator over one part of each of its inputs, as the input of a task. */
export interface WorkedInput {
  readonly kind: 'worked'
  readonly operator: WideOperator
  readonly sides: readonly SpilledInput[]
  /** For a window of which the part is one piece of a partition. */
  readonly piece?: WindowPiece
  /** For an as-of join where only the ends of the part (`asof/ends.ts`) are wanted. */
  readonly isEnds?: true
}

/** Added to the numbers of right rows that have no left row, so that they come behind all others. */
const BEHIND = 2 ** 52

/** Spills the batches of a partition. `newArray` makes arrays that are not needed after the call. */
export function spilled(batches: readonly ExecBatch[], spill: Spill, partition: number, newArray: NewArray): Spilled {
  const { numbered, file: path } = spill
  const whole = concatBatches(batches, undefined, newArray)
  if (whole.length === 0) return { rows: 0, ...(batches.length === 0 ? {} : { shape: withoutRows(whole) }) }
  const parts = partsOf(whole, spill, newArray)
  const segments = writeSegments(
    path,
    parts.map(({ batch }) => batch),
  )
  const numbers = numbered && { numbers: { place: numbered, partition } }
  return {
    segments: segmentsOfFile(segments, { file: path, parts: Int32Array.from(parts, ({ part }) => part), ...numbers }),
    ...{ rows: whole.length, shape: withoutRows(whole) },
  }
}

/** An empty batch of the same types, with hidden columns that have a bitmap where there are nulls. It is no slice, which would hold on to the buffers. */
function withoutRows({ element, columns, keys, hidden }: ExecBatch): ExecBatch {
  const none = ({ type }: Column) => nullColumn(type, 0)
  const noneOf = (column: Column) => columnWithoutRows(column.type, hasNulls(column))
  return {
    ...{ element, length: 0, columns: columns.map(none) },
    ...(keys && { keys: keys.map(() => new Int32Array()) }),
    ...(hidden && { hidden: hidden.map(noneOf) }),
  }
}

/** The rows with their numbers as one more column: on the way to disk as i32 within the partition, later as f64 among all rows. */
function numberedRows(batch: ExecBatch, place: NumberPlace | undefined, values: Int32Array | Float64Array): ExecBatch {
  if (place === undefined) return batch
  const numbers: Column = { type: { kind: values instanceof Int32Array ? 'i32' : 'f64' }, length: batch.length, values }
  if (place.in === 'hidden') return { ...batch, hidden: [...(batch.hidden ?? []), numbers] }
  const field: Field = { name: place.name, type: numbers.type, nullable: false }
  return { ...batch, element: { kind: 'row', fields: [...fieldsOf(batch.element), field] }, columns: [...batch.columns, numbers] }
}

/** The rows with their numbers within the partition replaced by their numbers among all (`rowNumbers.ts`). */
function numberedAmongAll(batch: ExecBatch, { numbers }: Segment, newArray: NewArray): ExecBatch {
  if (numbers === undefined) return batch
  const { place, partition } = numbers
  const { columns, hidden = [], element } = batch
  const within = (place.in === 'hidden' ? hidden : columns).at(-1)?.values
  const values = newArray(Float64Array, batch.length)
  for (let i = 0; i < values.length; i++) values[i] = partition * MOST_ROWS + (within?.[i] as number) // i32, as they were written
  const bare =
    place.in === 'hidden'
      ? { ...batch, hidden: hidden.slice(0, -1) }
      : { ...batch, element: { kind: 'row' as const, fields: fieldsOf(element).slice(0, -1) }, columns: columns.slice(0, -1) }
  return numberedRows(bare, place, values)
}

/** The rows of each part that has some, in their order; numbered where `numbered` has a place, unless they are cut by numbers that they have. */
function partsOf(
  batch: ExecBatch,
  { by, numbered }: Pick<Spill, 'by' | 'numbered'>,
  newArray: NewArray,
): readonly { readonly part: number; readonly batch: ExecBatch }[] {
  switch (by.kind) {
    case 'whole':
      return [{ part: 0, batch: numberedRows(batch, numbered, asTheyAre(numbered === undefined ? 0 : batch.length, newArray)) }]
    case 'number': {
      const numbers = numbersOf(batch, by.place)
      if (isAscending(numbers)) return slicesAt(batch, startsByNumber(numbers, by.starts))
      return partedRows(batch, { parts: partsByNumber(numbers, by.starts), count: by.starts.length + 1 }, undefined, newArray)
    }
    case 'hash':
    case 'key':
      return partedRows(batch, { parts: partOfEach(batch, by, newArray), count: partCount(by) }, numbered, newArray)
  }
}

/** Cuts rows into parts, given the part of each row; gathers them unless those of a part lie together already. */
function partedRows(
  batch: ExecBatch,
  { parts, count }: { readonly parts: Int32Array; readonly count: number },
  numbered: NumberPlace | undefined,
  newArray: NewArray,
): ReturnType<typeof slicesAt> {
  const starts = new Int32Array(count + 1)
  for (let row = 0; row < parts.length; row++) {
    const next = (parts[row] as number) + 1 // a part is below the count of parts
    starts[next] = (starts[next] as number) + 1
  }
  for (let p = 1; p < starts.length; p++) starts[p] = (starts[p] as number) + (starts[p - 1] as number)
  const rows = rowsByPart(parts, starts, newArray)
  // rows that come in the order of their keys lie together already
  const together = isAscending(parts) ? batch : takeBatch(batch, rows, newArray)
  return slicesAt(numberedRows(together, numbered, rows), starts)
}

/** The parts that have rows, of a batch in which they begin at `starts`. */
function slicesAt(batch: ExecBatch, starts: Int32Array): readonly { readonly part: number; readonly batch: ExecBatch }[] {
  return Array.from({ length: starts.length - 1 }, (_, part) => ({
    part,
    from: starts[part] as number,
    to: starts[part + 1] as number,
  }))
    .filter(({ from, to }) => from < to)
    .map(({ part, from, to }) => ({ part, batch: sliceBatch(batch, from, to) }))
}

/** The row numbers part by part, each in row order (a counting sort). */
function rowsByPart(parts: Int32Array, starts: Int32Array, newArray: NewArray): Int32Array {
  const next = starts.slice()
  const rows = newArray(Int32Array, parts.length)
  for (let row = 0; row < rows.length; row++) {
    const part = parts[row] as number // one for each row
    const at = next[part] as number
    rows[at] = row
    next[part] = at + 1
  }
  return rows
}

function asTheyAre(length: number, newArray: NewArray): Int32Array {
  const rows = newArray(Int32Array, length)
  for (let row = 0; row < length; row++) rows[row] = row
  return rows
}

function isAscending(values: Int32Array | Float64Array): boolean {
  for (let row = 1; row < values.length; row++) if ((values[row] as number) < (values[row - 1] as number)) return false // row < length
  return true
}

type ByKey = Extract<SpillBy, { kind: 'hash' | 'key' }>

function partCount(by: ByKey): number {
  return by.kind === 'hash' ? by.parts : partsBetween(by.boundaries)
}

function partOfEach(batch: ExecBatch, by: ByKey, newArray: NewArray): Int32Array {
  if (by.kind === 'key') return partsByKey(keyOf(batch, by.key), by.boundaries)
  return partsByHash(keyHashes(keyOf(batch, by.key), newArray), by.parts, by.level)
}

/** The first row of each part, and the end of the last, for ascending numbers. */
function startsByNumber(numbers: Float64Array, starts: Float64Array): Int32Array {
  const rows = new Int32Array(starts.length + 2)
  for (let p = 1, row = 0; p <= starts.length; p++) {
    const start = starts[p - 1] as number // p - 1 < length
    while (row < numbers.length && (numbers[row] as number) < start) row++
    rows[p] = row
  }
  rows[starts.length + 1] = numbers.length
  return rows
}

/** The part of each row: the number of starts that are not above its number. */
function partsByNumber(numbers: Float64Array, starts: Float64Array): Int32Array {
  return Int32Array.from(numbers, (number) => {
    let low = 0
    let high = starts.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((starts[middle] as number) <= number) low = middle + 1
      else high = middle
    }
    return low
  })
}

export function keyOf(batch: ExecBatch, key: SpillKey): Column {
  switch (key.from) {
    case 'hidden':
      return batch.hidden?.[key.at ?? 0] ?? nullColumn({ kind: 'null' }, batch.length)
    case 'column':
      return columnNamed(batch, key.name) ?? nullColumn({ kind: 'null' }, batch.length)
    case 'element':
      return elementColumn(batch)
    case 'axes':
      return tupleOf(batch.keys ?? [], batch.length)
  }
}

/** The keys as a column: of one axis themselves, of more as tuples. */
function tupleOf(keys: readonly Int32Array[], length: number): Column {
  const children = keys.map((values): Column => ({ type: { kind: 'i32' }, length, values }))
  const [only] = children
  if (only !== undefined && children.length === 1) return only
  const fields = children.map(({ type }, item): Field => ({ name: String(item), type, nullable: false }))
  return { type: { kind: 'struct', fields }, length, children }
}

/** The keys of a sample, copied into memory of their own. */
export function sampledKeys(batches: readonly ExecBatch[], { key, rows }: KeySample): readonly ExecBatch[] {
  return batches
    .filter(({ length }) => length > 0)
    .map((batch) => {
      const keys = takeColumn(keyOf(batch, key), Int32Array.from(placesIn(batch.length, rows)))
      return { element: { kind: 'unknown' }, length: keys.length, columns: [keys] }
    })
}

/** At most `most` indices, spread evenly over a list of this length. */
export function placesIn(length: number, most: number): readonly number[] {
  const count = Math.min(most, length)
  return Array.from({ length: count }, (_, i) => Math.floor((i * length) / count))
}

function columnNamed({ element, columns }: ExecBatch, name: string): Column | undefined {
  return columns[fieldsOf(element).findIndex((field) => field.name === name)]
}

/** The numbers of rows; the column's own array where one column has them all. */
export function numbersOf(batch: ExecBatch, place: RowNumbers): Float64Array {
  const columns = place.in === 'hidden' ? [batch.hidden?.at(-1)] : place.names.map((name) => columnNamed(batch, name))
  const [first, second] = columns.map((column) => ({ values: column?.values, validity: column?.validity }))
  if (second === undefined && first?.validity === undefined && first?.values instanceof Float64Array) return first.values
  const numbers = new Float64Array(batch.length)
  for (let row = 0; row < numbers.length; row++) {
    const isThere = first?.validity === undefined || ((first.validity[row >> 3] as number) & (1 << (row & 7))) !== 0
    numbers[row] = isThere ? (first?.values?.[row] as number) : BEHIND + (second?.values?.[row] as number) // one of the two is there
  }
  return numbers
}

/** Reads the batches of segments, converted to their common types, into arrays that `newArray` makes. */
export function unspilled({ segments, shape, inOrder }: SpilledInput, newArray: NewArray): readonly ExecBatch[] {
  const batches = readSegments(segments, newArray).map((batch, i) =>
    shaped(numberedAmongAll(batch, segments[i] as Segment, newArray), shape),
  ) // one for each
  const whole = batches.length === 0 ? [shape] : batches
  return inOrder === undefined ? whole : [ordered(concatBatches(whole, undefined, newArray), inOrder, newArray)]
}

function shaped(batch: ExecBatch, shape: ExecBatch): ExecBatch {
  const { hidden, ...rest } = batchAs(batch, shape.element)
  return hidden === undefined
    ? rest
    : { ...rest, hidden: hidden.map((column, i) => convertColumn(column, shape.hidden?.[i]?.type ?? column.type)) }
}

function ordered(batch: ExecBatch, { place, scalar }: NonNullable<SpilledInput['inOrder']>, newArray: NewArray): ExecBatch {
  const rows = rowsInOrder(numbersOf(batch, place))
  return withoutNumbers(takeBatch(batch, rows, newArray), place, scalar)
}

export function withoutNumbers(batch: ExecBatch, place: RowNumbers, scalar: boolean): ExecBatch {
  if (place.in === 'hidden') {
    const { hidden: _, ...rest } = batch
    return rest
  }
  const fields = fieldsOf(batch.element)
  const kept = fields.flatMap(({ name }, i) => (place.names.includes(name) ? [] : [i]))
  const columns = kept.map((i) => batch.columns[i] as Column) // a column for each field
  const [value] = columns
  if (scalar && value !== undefined) return { ...batch, ...scalarBatch(value) }
  return { ...batch, element: { kind: 'row', fields: kept.map((i) => fields[i] as Field) }, columns }
}

/** An empty batch of the common types of all tasks, with the column of numbers. PlanError where types have none in common. */
export function shapeOfAll(
  all: readonly Pick<Spilled, 'rows' | 'shape'>[],
  planned: ElementType,
  numbered: NumberPlace | undefined,
): ExecBatch {
  const filled = all.filter(({ rows }) => rows > 0).flatMap(({ shape }) => shape ?? [])
  const [first] = filled
  if (first === undefined) return numberedRows(shapeOfNothing(all[0]?.shape, planned), numbered, new Float64Array())
  const hidden = first.hidden?.map((_, i): Column => {
    const all = filled.map((shape) => shape.hidden?.[i])
    const type = all.map((column) => column?.type ?? NULL).reduce((a, b) => unifyTypes(a, b, 'key'))
    return columnWithoutRows(
      type,
      all.some((column) => column?.validity !== undefined || column?.type.kind === 'null'),
    )
  })
  const shape = batchAs(first, unifyElements(filled.map(({ element }) => element)))
  return numberedRows({ ...shape, ...(hidden && { hidden }) }, numbered, new Float64Array())
}
const NULL: ColumnType = { kind: 'null' }

/** No rows; with a bitmap where rows elsewhere are null. */
function columnWithoutRows(type: ColumnType, isNullable: boolean): Column {
  const column = nullColumn(type, 0)
  return isNullable ? { ...column, validity: new Uint8Array() } : column
}

/** The shape where no task had rows: the plan may know types that a task without rows does not. */
function shapeOfNothing(shape: ExecBatch | undefined, planned: ElementType): ExecBatch {
  if (shape !== undefined && shape.element.kind !== 'unknown') return shape
  return { ...emptyBatch(planned), ...(shape?.hidden && { hidden: shape.hidden }) }
}
