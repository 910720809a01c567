/**
 * Finds the right row of each left row in an as-of join: one pass over the rows of both sides in their common order.
 *
 *     left       2  4              right     1  4  9
 *     backward   1  4              the last one at or before it
 *     forward    4  4              the first one at or behind it
 *
 * With `by` the pass remembers the last row of each key. Sides that are in order already, as times mostly are, are not sorted; others are, by
 * row numbers alone. Of several right rows that are equal in the order `backward` takes the last and `forward` the first by row number;
 * `nearest` takes the nearer of the two, and backward's where both are as near. Null and NaN have no place in an order: they match nothing.
 */
import type { Column } from '../../../core/data/column.ts'
import { MS_PER_DAY } from '../../../core/data/fixedValues.ts'
import { type ColumnType, typeText } from '../../../core/data/schema.ts'
import { PlanError } from '../../../core/errors.ts'
import { valueClassOf } from '../../../core/plan/elements.ts'
import type { WideOperator } from '../../../planner/physical/physicalPlan.ts'
import { sortedRows } from '../operators/sort/order.ts'
import { comparedNumbers } from './comparedNumbers.ts'

export type AsofOperator = Extract<WideOperator, { kind: 'AsofJoinExec' }>

/** The keys that have to be equal, as numbers below `size`; -1 for a null. */
export interface EqualKeys {
  readonly left: Int32Array
  readonly right: Int32Array
  readonly size: number
}

/** The columns that order the rows of both sides, of one type. */
export interface Orders {
  readonly left: Column
  readonly right: Column
}

/** The row of the right side for each row of the left, -1 for none. */
export function matchesOf(operator: AsofOperator, orders: Orders, keys: EqualKeys | undefined): Int32Array {
  const compared = comparedNumbers(orders.left, orders.right)
  const matches = new Int32Array(orders.left.length).fill(-1)
  const pass: Pass = {
    left: compared.left,
    right: compared.right,
    leftOrder: orderOf(compared.left),
    rightOrder: orderOf(compared.right),
    keys,
    matches,
  }
  const { direction } = operator
  const isPlain = keys === undefined && pass.leftOrder === undefined && pass.rightOrder === undefined
  if (direction !== 'forward') (isPlain ? backwardAsTheyCome : backward)(pass)
  if (direction === 'forward') forward(pass)
  if (direction === 'nearest') {
    const behind = { ...pass, matches: new Int32Array(matches.length).fill(-1) }
    forward(behind)
    takeNearer(matches, behind.matches, nearness(orders))
  }
  if (operator.tolerance !== undefined) dropFar(matches, operator.tolerance, nearness(orders))
  return matches
}

interface Pass {
  /** The orders of the rows as numbers; NaN for rows that have no place. */
  readonly left: Float64Array
  readonly right: Float64Array
  /** The rows that have a place, sorted; undefined where all rows have one and are sorted already. */
  readonly leftOrder: Int32Array | undefined
  readonly rightOrder: Int32Array | undefined
  readonly keys: EqualKeys | undefined
  readonly matches: Int32Array
}

function orderOf(values: Float64Array): Int32Array | undefined {
  if (isAscending(values)) return undefined
  const rows = sortedRows({ type: { kind: 'f64' }, length: values.length, values }, { descending: false })
  let end = rows.length
  while (end > 0 && Number.isNaN(values[rows[end - 1] as number])) end-- // they come last
  return rows.subarray(0, end)
}

/** Whether the values ascend, with no NaN among them. */
function isAscending(values: Float64Array): boolean {
  let before = Number.NEGATIVE_INFINITY
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number // i < length
    if (!(value >= before)) return false
    before = value
  }
  return true
}

function backward({ left, right, leftOrder, rightOrder, keys, matches }: Pass): void {
  const leftRows = leftOrder?.length ?? left.length
  const rightRows = rightOrder?.length ?? right.length
  const last = new Int32Array(keys?.size ?? 1).fill(-1)
  const [leftKeys, rightKeys] = [keys?.left, keys?.right]
  let r = 0
  for (let l = 0; l < leftRows; l++) {
    const row = leftOrder === undefined ? l : (leftOrder[l] as number) // l < length
    const at = left[row] as number
    for (; r < rightRows; r++) {
      const other = rightOrder === undefined ? r : (rightOrder[r] as number)
      if ((right[other] as number) > at) break
      const key = rightKeys === undefined ? 0 : (rightKeys[other] as number)
      if (key >= 0) last[key] = other
    }
    const key = leftKeys === undefined ? 0 : (leftKeys[row] as number)
    if (key >= 0) matches[row] = last[key] as number // keys are below the size
  }
}

/** `backward` without keys, where the rows of both sides are sorted already. */
function backwardAsTheyCome({ left, right, matches }: Pass): void {
  let next = 0
  for (let row = 0; row < left.length; row++) {
    const at = left[row] as number // row < length
    while (next < right.length && (right[next] as number) <= at) next++
    matches[row] = next - 1
  }
}

function forward({ left, right, leftOrder, rightOrder, keys, matches }: Pass): void {
  const leftRows = leftOrder?.length ?? left.length
  const rightRows = rightOrder?.length ?? right.length
  const first = new Int32Array(keys?.size ?? 1).fill(-1)
  const [leftKeys, rightKeys] = [keys?.left, keys?.right]
  let r = rightRows - 1
  for (let l = leftRows - 1; l >= 0; l--) {
    const row = leftOrder === undefined ? l : (leftOrder[l] as number) // l < length
    const at = left[row] as number
    for (; r >= 0; r--) {
      const other = rightOrder === undefined ? r : (rightOrder[r] as number)
      if ((right[other] as number) < at) break
      const key = rightKeys === undefined ? 0 : (rightKeys[other] as number)
      if (key >= 0) first[key] = other
    }
    const key = leftKeys === undefined ? 0 : (leftKeys[row] as number)
    if (key >= 0) matches[row] = first[key] as number // keys are below the size
  }
}

/** The distance between a left and a right row in the order. */
type Distance = (left: number, right: number) => number | bigint

function takeNearer(matches: Int32Array, behind: Int32Array, distance: Distance): void {
  for (let row = 0; row < matches.length; row++) {
    const [before, after] = [matches[row] as number, behind[row] as number] // row < length
    if (after >= 0 && (before < 0 || distance(row, after) < distance(row, before))) matches[row] = after
  }
}

function dropFar(matches: Int32Array, tolerance: number | bigint, distance: Distance): void {
  for (let row = 0; row < matches.length; row++) {
    const match = matches[row] as number // row < length
    if (match >= 0 && distance(row, match) > tolerance) matches[row] = -1
  }
}

function nearness({ left, right }: Orders): Distance {
  const is = valueClassOf(left.type)
  const [a, b] = [left.values, right.values]
  if (is === 'bigint' && isBig(a) && isBig(b)) {
    return (l, r) => {
      const [x, y] = [a[l] as bigint, b[r] as bigint] // of rows
      return x < y ? y - x : x - y
    }
  }
  if (is !== 'number' && is !== 'Date' && is !== 'unknown')
    throw new PlanError(
      `joinAsof() with a tolerance, or to the nearest, measures numbers or dates; its on has values of type ${typeText(left.type)}.`,
    )
  const numbers = comparedNumbers(left, right)
  const scale = millisecondsIn(left.type)
  return (l, r) => {
    const [x, y] = [numbers.left[l] as number, numbers.right[r] as number] // of rows
    return x === y ? 0 : Math.abs(x - y) * scale // infinities too
  }
}

function isBig(values: Column['values']): values is BigInt64Array | BigUint64Array {
  return values instanceof BigInt64Array || values instanceof BigUint64Array
}

function millisecondsIn(type: ColumnType): number {
  if (type.kind === 'date') return MS_PER_DAY
  return type.kind === 'timestamp' && type.unit === 's' ? 1000 : 1
}
