/**
 * The aggregates, each as a function of the groups' rows. All but first, last and collect skip nulls. Sums and everything made of
 * sums follow the fixed tree over the group's own values in row order, so their bits do not depend on where the rows came from.
 */

import { CHUNK, combinePairwise, sumByTree } from '../../../../core/arrays/fixedTree.ts'
import { type Column, isValid } from '../../../../core/data/column.ts'
import { columnFromValues } from '../../../../core/data/columnBuilder.ts'
import { valueReader } from '../../../../core/data/columnReaders.ts'
import { emptyColumn, takeColumn } from '../../../../core/data/columnSlices.ts'
import { typeText } from '../../../../core/data/schema.ts'
import { PlanError } from '../../../../core/errors.ts'
import { valueClassOf } from '../../../../core/plan/elements.ts'
import type { Aggregate } from '../../../../planner/physical/physicalPlan.ts'
import { KeyIds, type RowsById } from '../hashing/keyIds.ts'
import { valueHashes } from '../hashing/valueHashes.ts'
import { wholeMilliseconds } from '../sort/wholeMilliseconds.ts'
import { foldedColumn } from './foldedValues.ts'
import { correlationOf, covarianceOf, kurtosisOf, skewOf } from './moments.ts'
import { quantileOf } from './selection.ts'
import { DistinctSketch, quantileSketchOf } from './sketches.ts'

/** The aggregate's value for each group. `column` is its first argument, absent for count(); `second` its second, as for covariance. */
export function aggregateColumn(call: Aggregate, column: Column | undefined, groups: RowsById, second?: Column): Column {
  const argument = column ?? emptyColumn({ kind: 'null' })
  const other = second ?? emptyColumn({ kind: 'null' })
  switch (call.kind) {
    case 'count':
      return numbersOf(groups, (from, to) => (column === undefined ? to - from : countOf(column, groups.rows, from, to)))
    case 'sum':
      return sumColumn(call.name, argument, groups)
    case 'mean':
      return statistic(call, argument, groups, (values) => (values.length === 0 ? null : sumByTree(values) / values.length))
    case 'variance':
      return statistic(call, argument, groups, varianceOf)
    case 'stddev':
      return statistic(call, argument, groups, deviationOf)
    case 'quantile':
      return statistic(call, argument, groups, (values) => quantileOf(values, call.q ?? 0.5))
    case 'approxQuantile':
      return statistic(call, argument, groups, (values) => quantileSketchOf(values).quantile(call.q ?? 0.5))
    case 'approxCountDistinct':
      return approximateCounts(argument, groups)
    case 'skew':
      return statistic(call, argument, groups, skewOf)
    case 'kurtosis':
      return statistic(call, argument, groups, kurtosisOf)
    case 'covariance':
      return pairStatistic(call, [argument, other], groups, covarianceOf)
    case 'correlation':
      return pairStatistic(call, [argument, other], groups, correlationOf)
    case 'min':
    case 'max':
      return takeColumn(argument, extremeRows(call, argument, groups, call.kind))
    case 'any':
    case 'all':
      return truthColumn(call, argument, groups)
    case 'argMin':
      return takeColumn(argument, extremeRows(call, other, groups, 'min'))
    case 'argMax':
      return takeColumn(argument, extremeRows(call, other, groups, 'max'))
    case 'mode':
      return takeColumn(argument, modeRows(argument, groups))
    case 'first':
      return takeColumn(
        argument,
        rowOfEach(argument, groups, (from) => from),
      )
    case 'last':
      return takeColumn(
        argument,
        rowOfEach(argument, groups, (_, to) => to - 1),
      )
    case 'countDistinct':
      return countDistinctColumn(argument, groups)
    case 'collect':
      return collectColumn(argument, groups)
    case 'aggregate':
      return foldedColumn(call, argument, groups)
  }
}

function sizeOf(groups: RowsById): number {
  return groups.starts.length - 1
}

function numbersOf(groups: RowsById, value: (from: number, to: number) => number): Column {
  const values = new Float64Array(sizeOf(groups))
  for (let g = 0; g < values.length; g++) values[g] = value(groups.starts[g] as number, groups.starts[g + 1] as number) // g < size
  return { type: { kind: 'f64' }, length: values.length, values }
}

export function presence(column: Column): (row: number) => boolean {
  if (column.type.kind === 'null') return () => false
  if (column.type.kind === 'object') return (row) => column.objects?.[row] !== null && column.objects?.[row] !== undefined
  return column.validity === undefined ? () => true : (row) => isValid(column, row)
}

function countOf(column: Column, rows: Int32Array, from: number, to: number): number {
  const present = presence(column)
  let count = 0
  for (let i = from; i < to; i++) if (present(rows[i] as number)) count++
  return count
}

/** A function that returns a group's numbers that are not null, in row order, in a buffer that the next call overwrites. */
function gatherer(call: Aggregate, column: Column): (rows: Int32Array, from: number, to: number) => Float64Array {
  const number = numberReader(call, column)
  const present = presence(column)
  let buffer = new Float64Array(64)
  return (rows, from, to) => {
    if (buffer.length < to - from) buffer = new Float64Array(Math.max(to - from, buffer.length * 2))
    let n = 0
    for (let i = from; i < to; i++) {
      const row = rows[i] as number // from <= i < to
      if (present(row)) buffer[n++] = number(row)
    }
    return buffer.subarray(0, n)
  }
}

/** A function from a row to its number; PlanError where the column holds no numbers. */
export function numberReader(call: Aggregate, column: Column): (row: number) => number {
  const values = column.values
  switch (valueClassOf(column.type)) {
    case 'number':
    case 'boolean':
      return (row) => values?.[row] as number
    case 'bigint':
      return (row) => Number(values?.[row])
    case 'unknown':
      if (column.type.kind === 'null') return () => 0
      return wrongType(call, column)
    case 'string':
    case 'Date':
    case 'other':
      return wrongType(call, column)
  }
}

function wrongType(call: Aggregate, column: Column): never {
  throw new PlanError(
    `${call.kind} needs numbers, and the values of "${call.name}" are ${typeText(column.type)}. Convert them in the function given to ${call.kind}.`,
  )
}

function statistic(call: Aggregate, column: Column, groups: RowsById, value: (values: Float64Array) => number | null): Column {
  const gather = gatherer(call, column)
  const results: (number | null)[] = []
  for (let g = 0; g < sizeOf(groups); g++)
    results.push(value(gather(groups.rows, groups.starts[g] as number, groups.starts[g + 1] as number)))
  return columnFromValues(results, { kind: 'f64' }, call.name)
}

/** A statistic of two columns, over the rows in which neither is null. */
function pairStatistic(
  call: Aggregate,
  columns: readonly [Column, Column],
  groups: RowsById,
  value: (x: Float64Array, y: Float64Array) => number | null,
): Column {
  const [readX, readY] = [numberReader(call, columns[0]), numberReader(call, columns[1])]
  const [hasX, hasY] = [presence(columns[0]), presence(columns[1])]
  const results: (number | null)[] = []
  for (let g = 0; g < sizeOf(groups); g++) {
    const rows = groups.rows.subarray(groups.starts[g], groups.starts[g + 1]).filter((row) => hasX(row) && hasY(row))
    results.push(value(Float64Array.from(rows, readX), Float64Array.from(rows, readY)))
  }
  return columnFromValues(results, { kind: 'f64' }, call.name)
}

function sumColumn(name: string, column: Column, groups: RowsById): Column {
  const call: Aggregate = { name, kind: 'sum' }
  if (valueClassOf(column.type) === 'bigint') return bigintSums(name, column, groups)
  const gather = gatherer(call, column)
  return numbersOf(groups, (from, to) => sumByTree(gather(groups.rows, from, to)))
}

const SMALLEST_I64 = -(2n ** 63n)
const LARGEST_I64 = 2n ** 63n - 1n

function bigintSums(name: string, column: Column, groups: RowsById): Column {
  const values = column.values as BigInt64Array // bigint types are stored as 64-bit integers
  const present = presence(column)
  return bigintSumColumn(name, sizeOf(groups), (g) => {
    let sum = 0n
    for (let i = groups.starts[g] as number; i < (groups.starts[g + 1] as number); i++) {
      const row = groups.rows[i] as number
      if (present(row)) sum += values[row] as bigint
    }
    return sum
  })
}

/** A sum of bigints per group; PlanError for one that 64 bits do not hold. */
export function bigintSumColumn(name: string, groups: number, sumOf: (group: number) => bigint): Column {
  const sums = new BigInt64Array(groups)
  for (let g = 0; g < groups; g++) {
    const sum = sumOf(g)
    if (sum < SMALLEST_I64 || sum > LARGEST_I64) {
      throw new PlanError(`The sum "${name}" is ${sum}n, which does not fit 64 bits. Sum numbers instead, for example with Number(…).`)
    }
    sums[g] = sum
  }
  return { type: { kind: 'i64' }, length: sums.length, values: sums }
}

/** Sample variance in two passes, both by the tree; null below two values. */
export function varianceOf(values: Float64Array): number | null {
  if (values.length < 2) return null
  const mean = sumByTree(values) / values.length
  return squaresByTree(values, mean) / (values.length - 1)
}

/** The sum by the fixed tree of the squared differences from the mean, without an array of the squares. */
function squaresByTree(values: Float64Array, mean: number): number {
  const chunks: number[] = []
  for (let from = 0; from < values.length; from += CHUNK) {
    const to = Math.min(from + CHUNK, values.length)
    let sum = 0
    for (let i = from; i < to; i++) {
      const difference = (values[i] as number) - mean // i < length
      sum += difference * difference
    }
    chunks.push(sum)
  }
  return combinePairwise(chunks, (a, b) => a + b) ?? 0
}

export function deviationOf(values: Float64Array): number | null {
  const variance = varianceOf(values)
  return variance === null ? null : Math.sqrt(variance)
}

function rowOfEach(
  column: Column,
  groups: RowsById,
  find: (from: number, to: number, present: (at: number) => boolean) => number,
): Int32Array {
  const isPresent = presence(column)
  const present = (at: number): boolean => isPresent(groups.rows[at] as number)
  return Int32Array.from({ length: sizeOf(groups) }, (_, g) => {
    const at = find(groups.starts[g] as number, groups.starts[g + 1] as number, present)
    return at < 0 ? -1 : (groups.rows[at] as number)
  })
}

/** The row of each group's extreme, of equal ones the first: Math.min and Math.max for numbers (NaN wins, -0 < 0), `<` for all else. */
function extremeRows(call: Aggregate, column: Column, groups: RowsById, which: 'min' | 'max'): Int32Array {
  const sign = which === 'min' ? 1 : -1
  const precedes = precedenceOf(call, column)
  return rowOfEach(column, groups, (from, to, present) => {
    let best = -1
    for (let at = from; at < to; at++) {
      if (present(at) && (best < 0 || precedes(groups.rows[at] as number, groups.rows[best] as number, sign))) best = at
    }
    return best
  })
}

/** any() and all(): the greatest and the least of a group's booleans. */
function truthColumn(call: Aggregate, column: Column, groups: RowsById): Column {
  if (column.type.kind !== 'bool' && column.type.kind !== 'null')
    throw new PlanError(
      `${call.kind} needs booleans, and the values of "${call.name}" are ${typeText(column.type)}. Compare them in the function given to ${call.kind}.`,
    )
  return takeColumn(column, extremeRows(call, column, groups, call.kind === 'any' ? 'max' : 'min'))
}

/** For each group the first row with its most frequent value; of equally frequent ones the value that comes first; -1 where all are null. */
function modeRows(values: Column, groups: RowsById): Int32Array {
  const ids = new KeyIds(values.type)
  const encoded = ids.encode(wholeMilliseconds(values))
  const counts = new Int32Array(ids.size)
  const idAt = (at: number): number => encoded[groups.rows[at] as number] as number
  return rowOfEach(values, groups, (from, to, present) => {
    for (let at = from; at < to; at++) if (present(at)) counts[idAt(at)] = (counts[idAt(at)] as number) + 1
    let best = -1
    for (let at = from; at < to; at++) {
      if (present(at) && (best < 0 || (counts[idAt(at)] as number) > (counts[idAt(best)] as number))) best = at
    }
    for (let at = from; at < to; at++) counts[idAt(at)] = 0
    return best
  })
}

function precedenceOf(call: Aggregate, column: Column): (a: number, b: number, sign: 1 | -1) => boolean {
  const kind = valueClassOf(column.type)
  if (kind === 'other' || (kind === 'unknown' && column.type.kind !== 'null')) {
    throw new PlanError(
      `${call.kind} needs numbers, bigints, strings, booleans or dates, and the values of "${call.name}" are ${typeText(column.type)}.`,
    )
  }
  if (kind === 'number') {
    const values = column.values as Float64Array
    return (a, b, sign) => {
      const x = values[a] as number
      const y = values[b] as number
      if (Number.isNaN(y)) return false
      return Number.isNaN(x) || sign * x < sign * y || (x === 0 && y === 0 && Object.is(x, -0) === (sign === 1) && !Object.is(x, y))
    }
  }
  if (kind === 'string') {
    const read = valueReader(column)
    return (a, b, sign) => {
      const x = read(a) as string
      const y = read(b) as string
      return sign === 1 ? x < y : x > y
    }
  }
  const values = column.values as BigInt64Array
  return (a, b, sign) => (sign === 1 ? (values[a] as bigint) < (values[b] as bigint) : (values[a] as bigint) > (values[b] as bigint))
}

function countDistinctColumn(column: Column, groups: RowsById): Column {
  const ids = new KeyIds(column.type)
  const encoded = ids.encode(wholeMilliseconds(column))
  const present = presence(column)
  const lastGroup = new Int32Array(ids.size).fill(-1)
  let group = -1
  return numbersOf(groups, (from, to) => {
    group++
    let count = 0
    for (let i = from; i < to; i++) {
      const row = groups.rows[i] as number
      const id = encoded[row] as number
      if (!present(row) || lastGroup[id] === group) continue
      lastGroup[id] = group
      count++
    }
    return count
  })
}

function approximateCounts(column: Column, groups: RowsById): Column {
  const hashes = valueHashes(wholeMilliseconds(column))
  const present = presence(column)
  return numbersOf(groups, (from, to) => {
    const sketch = new DistinctSketch()
    for (let i = from; i < to; i++) {
      const row = groups.rows[i] as number
      if (present(row)) sketch.add(hashes[row] as number)
    }
    return sketch.estimate()
  })
}

function collectColumn(column: Column, groups: RowsById): Column {
  return {
    type: { kind: 'list', item: column.type },
    length: sizeOf(groups),
    offsets: groups.starts,
    children: [takeColumn(column, groups.rows)],
  }
}
