/**
 * Partial groups of one partition: the keys of its groups and, for each aggregate, what combines with the partial groups of the
 * other partitions.
 *
 *     hidden   forms | key of each group | columns of the first aggregate | of the second | …
 *
 * Counts, extremes, firsts and lasts are one value a group, sums of bigints two halves of one. For sums and means of numbers, and
 * for sketches, the values themselves (or their hashes) are handed on, each with its group: in which chunk of the fixed tree a value lies
 * depends on how many its group has in the partitions before. `foldedGroups.ts` combines them in the order of the partitions.
 */
import { type Column, isValid } from '../../../../core/data/column.ts'
import { Bug } from '../../../../core/errors.ts'
import { valueClassOf } from '../../../../core/plan/elements.ts'
import type { Aggregate } from '../../../../planner/physical/physicalPlan.ts'
import { concatBatches, type ExecBatch, hiddenBatch } from '../batches.ts'
import { takenColumn } from '../gather/takenTexts.ts'
import { firstRows, KeyIds, type RowsById, rowsById } from '../hashing/keyIds.ts'
import { valueHashes } from '../hashing/valueHashes.ts'
import type { OpenNarrow } from '../operator.ts'
import { wholeMilliseconds } from '../sort/wholeMilliseconds.ts'
import { aggregateColumn, numberReader, presence } from './aggregates.ts'

/** The layouts of an aggregate's columns: none, a value a group, a bigint a group in halves, or values with their groups. */
export const FORM = { none: 0, values: 1, halves: 2, rows: 3 } as const

/** The number of columns of each form. */
export const COLUMNS_OF_FORM: readonly number[] = [0, 1, 2, 2]

export const partialGroupsExec: OpenNarrow<'PartialGroupsExec'> = ({ aggregates }) => {
  const batches: ExecBatch[] = []
  return {
    next(batch) {
      if (batch.length > 0) batches.push(batch)
      return undefined
    },
    end() {
      return batches.length === 0 ? undefined : partialGroups(concatBatches(batches), aggregates)
    },
  }
}

function partialGroups(batch: ExecBatch, aggregates: readonly Aggregate[]): ExecBatch {
  const [key, ...columns] = batch.hidden ?? []
  if (key === undefined) throw new Bug('Rows without a key were to be grouped.')
  const ids = new KeyIds(key.type)
  const codes = ids.encode(key)
  let byId: RowsById | undefined
  const groups = (): RowsById => (byId ??= rowsById(codes, ids.size))
  const coded: Coded = { codes, size: ids.size, groups }
  const parts = aggregates.map((call) => partOf(call, call.column === undefined ? undefined : columns[call.column], coded))
  const forms = Int32Array.from(parts, ({ form }) => form)
  return {
    ...hiddenBatch([
      { type: { kind: 'i32' }, length: forms.length, values: forms },
      takenColumn(key, firstRows(codes, ids.size)),
      ...parts.flatMap((part) => part.columns),
    ]),
    length: batch.length,
  }
}

interface Coded {
  /** The group of each row, and how many groups there are. */
  readonly codes: Int32Array
  readonly size: number
  readonly groups: () => RowsById
}

interface Part {
  readonly form: number
  readonly columns: readonly Column[]
}

function partOf(call: Aggregate, column: Column | undefined, coded: Coded): Part {
  const { codes, groups } = coded
  switch (call.kind) {
    case 'sum':
    case 'mean': {
      if (column === undefined || column.type.kind === 'null') return { form: FORM.none, columns: [] }
      if (call.kind === 'sum' && valueClassOf(column.type) === 'bigint') return { form: FORM.halves, columns: halves(column, groups()) }
      return { form: FORM.rows, columns: numberedValues(call, column, codes) }
    }
    case 'approxQuantile':
      if (column === undefined || column.type.kind === 'null') return { form: FORM.none, columns: [] }
      return { form: FORM.rows, columns: numberedValues(call, column, codes) }
    case 'approxCountDistinct':
      if (column === undefined) return { form: FORM.none, columns: [] }
      return { form: FORM.rows, columns: numberedHashes(column, codes) }
    case 'count':
      return {
        form: FORM.values,
        columns: [
          column?.validity === undefined && column?.type.kind !== 'null' && column?.type.kind !== 'object'
            ? rowCounts(coded)
            : aggregateColumn(call, column, groups()),
        ],
      }
    case 'min':
    case 'max':
      return {
        form: FORM.values,
        columns: [(column && numberExtremes(call.kind, column, coded)) ?? aggregateColumn(call, column, groups())],
      }
    case 'first':
    case 'last':
    case 'any':
    case 'all':
      return { form: FORM.values, columns: [aggregateColumn(call, column, groups())] }
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

function rowCounts({ codes, size }: Coded): Column {
  const counts = new Float64Array(size)
  for (let i = 0; i < codes.length; i++) counts[codes[i] as number] = (counts[codes[i] as number] as number) + 1 // codes are below size
  return { type: { kind: 'f64' }, length: size, values: counts }
}

/** `Math.min` or `Math.max` of each group; undefined where the column holds no numbers, or may have nulls. */
function numberExtremes(kind: 'min' | 'max', { type, values, validity }: Column, { codes, size }: Coded): Column | undefined {
  if (validity !== undefined || valueClassOf(type) !== 'number' || values === undefined) return undefined
  const numbers = values as Float64Array // the arrays of numbers hold numbers
  const best = new (values.constructor as new (length: number) => Float64Array)(size) // the same class
  const wide = new Float64Array(size).fill(kind === 'min' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY)
  if (kind === 'min')
    for (let i = 0; i < codes.length; i++) wide[codes[i] as number] = Math.min(wide[codes[i] as number] as number, numbers[i] as number)
  else for (let i = 0; i < codes.length; i++) wide[codes[i] as number] = Math.max(wide[codes[i] as number] as number, numbers[i] as number)
  best.set(wide)
  return { type, length: size, values: best }
}

/** Two columns: the group of each value that is not null, and the value as a number. */
function numberedValues(call: Aggregate, column: Column, codes: Int32Array): readonly Column[] {
  const { length, values, type, validity } = column
  const read = numberReader(call, column)
  if (validity === undefined) {
    const numbers = type.kind === 'f64' ? (values as Float64Array) : Float64Array.from({ length }, (_, i) => read(i))
    return [integers(codes), { type: { kind: 'f64' }, length, values: numbers }]
  }
  const kept = new Int32Array(length)
  const numbers = new Float64Array(length)
  let n = 0
  for (let i = 0; i < length; i++) {
    if (!isValid(column, i)) continue
    kept[n] = codes[i] as number // a code per row
    numbers[n++] = read(i)
  }
  return [integers(kept.slice(0, n)), { type: { kind: 'f64' }, length: n, values: numbers.slice(0, n) }]
}

/** Two columns: the group of each value that is not null, and the value's hash. */
function numberedHashes(column: Column, codes: Int32Array): readonly Column[] {
  const hashes = valueHashes(wholeMilliseconds(column))
  const present = presence(column)
  const kept = new Int32Array(codes.length)
  let n = 0
  for (let i = 0; i < codes.length; i++) {
    if (!present(i)) continue
    kept[n] = codes[i] as number // a code per row
    hashes[n++] = hashes[i] as number // n <= i
  }
  return [integers(kept.slice(0, n)), { type: { kind: 'f64' }, length: n, values: hashes.slice(0, n) }]
}

function integers(values: Int32Array): Column {
  return { type: { kind: 'i32' }, length: values.length, values }
}

/** Two columns: the exact sum of each group's 64-bit integers, which may need more than 64 bits, divided by 2 ** 32, and the remainder. */
function halves(column: Column, { starts, rows }: RowsById): readonly Column[] {
  const values = column.values as BigInt64Array // bigint types are stored as 64-bit integers
  const [high, low] = [new BigInt64Array(starts.length - 1), new BigInt64Array(starts.length - 1)]
  for (let g = 0; g < high.length; g++) {
    let sum = 0n
    for (let i = starts[g] as number; i < (starts[g + 1] as number); i++) {
      const row = rows[i] as number // groups lie inside the rows
      if (isValid(column, row)) sum += values[row] as bigint
    }
    high[g] = sum >> 32n
    low[g] = BigInt.asUintN(32, sum)
  }
  return [high, low].map((half) => ({ type: { kind: 'i64' }, length: half.length, values: half }))
}
