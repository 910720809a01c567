/**
 * Joins by equal keys: a table of the right side's rows by key, probed by the left side in its order.
 *
 * Matches of a left row come in the right side's order; right rows without a match (right, full) come last, in
 * theirs. A key that is null, or has a null part, matches nothing.
 */
import type { Column } from '../../core/column.ts'
import { concatColumns, convertColumn, takeColumn, unifyTypes } from '../../core/columnOps.ts'
import { PlanError } from '../../core/errors.ts'
import { fieldsOf, typeText } from '../../core/schema.ts'
import type { WideOperator } from '../../planner/physical/physicalPlan.ts'
import { type ExecBatch, rowBatch, takeBatch } from './batches.ts'
import { KeyIds, nullMask, rowsById } from './keyIds.ts'
import { type RunWide, withoutKeys } from './operator.ts'

type Join = Extract<WideOperator, { kind: 'HashJoinExec' }>

export const hashJoinExec: RunWide<'HashJoinExec'> = (join, inputs) => {
  const left = withoutKeys(inputs[0] as ExecBatch)
  const right = withoutKeys(inputs[1] as ExecBatch)
  const pairs = join.how === 'cross' ? crossPairs(left.length, right.length) : matchedPairs(join, left, right)
  const { hidden: _, ...payload } = left
  if (join.how === 'semi' || join.how === 'anti') return takeBatch(payload, pairs.left)
  return joined(join, left, right, pairs)
}

interface Pairs {
  /** Row of the left side, or -1. */
  readonly left: Int32Array
  readonly right: Int32Array
}

/** More rows than an index can name. */
const MOST_ROWS = 2 ** 31 - 1

function crossPairs(left: number, right: number): Pairs {
  if (left * right > MOST_ROWS) throw tooMany(left * right)
  const length = left * right
  return {
    left: Int32Array.from({ length }, (_, i) => Math.floor(i / right)),
    right: Int32Array.from({ length }, (_, i) => i % right),
  }
}

function tooMany(rows: number): PlanError {
  return new PlanError(
    `The join would have ${rows} rows; ${MOST_ROWS} is the most. Filter before joining, or join on a key with fewer matches.`,
  )
}

function matchedPairs(join: Join, left: ExecBatch, right: ExecBatch): Pairs {
  const [leftIds, rightIds, size] = keyIdsOf(join, left, right)
  const table = rowsById(rightIds, size)
  const counts = new Int32Array(left.length)
  for (let l = 0; l < left.length; l++) {
    const id = leftIds[l] as number
    counts[l] = id < 0 ? 0 : (table.starts[id + 1] as number) - (table.starts[id] as number)
  }
  switch (join.how) {
    case 'semi':
    case 'anti': {
      const kept = Int32Array.from({ length: left.length }, (_, l) => l).filter((l) => (counts[l] as number) > 0 === (join.how === 'semi'))
      return { left: kept, right: new Int32Array(0) }
    }
    case 'inner':
    case 'left':
    case 'right':
    case 'full':
    case 'cross':
      return expanded(join, leftIds, rightIds, table, counts)
  }
}

function expanded(join: Join, leftIds: Int32Array, rightIds: Int32Array, table: ReturnType<typeof rowsById>, counts: Int32Array): Pairs {
  const keepLeft = join.how === 'left' || join.how === 'full'
  const unmatched =
    join.how === 'right' || join.how === 'full' ? unmatchedRows(leftIds, rightIds, table.starts.length - 1) : new Int32Array(0)
  let length = unmatched.length
  for (const count of counts) length += count === 0 && keepLeft ? 1 : count
  if (length > MOST_ROWS) throw tooMany(length)
  const left = new Int32Array(length)
  const right = new Int32Array(length)
  let at = 0
  for (let l = 0; l < counts.length; l++) {
    const count = counts[l] as number // l < length
    if (count === 0) {
      if (!keepLeft) continue
      left[at] = l
      right[at++] = -1
      continue
    }
    const from = table.starts[leftIds[l] as number] as number
    for (let k = 0; k < count; k++) {
      left[at] = l
      right[at++] = table.rows[from + k] as number
    }
  }
  left.fill(-1, at)
  right.set(unmatched, at)
  return { left, right }
}

function unmatchedRows(leftIds: Int32Array, rightIds: Int32Array, size: number): Int32Array {
  const matched = new Uint8Array(size)
  for (const id of leftIds) if (id >= 0) matched[id] = 1
  return Int32Array.from({ length: rightIds.length }, (_, r) => r).filter((r) => {
    const id = rightIds[r] as number
    return id < 0 || matched[id] === 0
  })
}

/** Ids of both sides' keys in one numbering; -1 for a null. */
function keyIdsOf(join: Join, left: ExecBatch, right: ExecBatch): readonly [Int32Array, Int32Array, number] {
  const leftKey = keyColumn(join, left, 0)
  const rightKey = keyColumn(join, right, 1)
  const type = commonType(join, leftKey, rightKey)
  const ids = new KeyIds(type)
  const [a, b] = [leftKey, rightKey].map((key) => {
    const column = convertColumn(key, type)
    const encoded = ids.encode(column)
    const nulls = nullMask(column)
    if (nulls !== undefined) for (let i = 0; i < encoded.length; i++) if (nulls[i] === 1) encoded[i] = -1
    return encoded
  })
  return [a as Int32Array, b as Int32Array, ids.size]
}

function keyColumn(join: Join, side: ExecBatch, which: 0 | 1): Column {
  if (join.on === undefined) return side.hidden?.[0] ?? { type: { kind: 'null' }, length: side.length }
  const column = side.columns[fieldsOf(side.element).findIndex((field) => field.name === join.on)]
  if (column !== undefined) return column
  if (side.length === 0) return { type: { kind: 'null' }, length: 0 }
  throw new PlanError(`Cannot join ${join.names[0]} and ${join.names[1]} on "${join.on}": ${join.names[which]} has no such column.`)
}

function commonType(join: Join, left: Column, right: Column) {
  try {
    return unifyTypes(left.type, right.type, join.on ?? 'key')
  } catch {
    const on = join.on === undefined ? 'those keys' : `"${join.on}"`
    throw new PlanError(
      `Cannot join ${join.names[0]} and ${join.names[1]} on ${on}: ${typeText(left.type)} on the left, ${typeText(right.type)} on the right.\nConvert one side, for example with withColumns.`,
    )
  }
}

/** The columns of both sides; the column joined on comes once, and a name of the left side's gets the suffix on the right. */
function joined(join: Join, left: ExecBatch, right: ExecBatch, pairs: Pairs): ExecBatch {
  const names: string[] = []
  const columns: Column[] = []
  for (const [i, field] of fieldsOf(left.element).entries()) {
    const column = left.columns[i] as Column // one column per field
    names.push(field.name)
    columns.push(field.name === join.on ? sharedKey(field.name, column, right, pairs) : takeColumn(column, pairs.left))
  }
  for (const [i, field] of fieldsOf(right.element).entries()) {
    if (field.name === join.on && names.includes(field.name)) continue
    const name = names.includes(field.name) ? `${field.name}${join.suffix}` : field.name
    if (names.includes(name)) {
      // without rows the columns of an opaque side are anybody's guess
      if (pairs.left.length === 0) continue
      throw new PlanError(
        `Cannot join ${join.names[0]} and ${join.names[1]}: both have a column "${field.name}", and "${name}" is taken too.\nChoose another suffix, as in { suffix: '_other' }.`,
      )
    }
    names.push(name)
    columns.push(takeColumn(right.columns[i] as Column, pairs.right))
  }
  const declared = join.element.kind === 'row' ? join.element.fields.map((field) => field.name) : []
  return rowBatch(declared.length === names.length ? declared : names, columns, pairs.left.length)
}

/** The join column: from the left side, and from the right where the left has no row. */
function sharedKey(name: string, column: Column, right: ExecBatch, pairs: Pairs): Column {
  const other = right.columns[fieldsOf(right.element).findIndex((field) => field.name === name)]
  if (other === undefined || !pairs.left.includes(-1)) return takeColumn(column, pairs.left)
  const both = concatColumns([column, other], name)
  return takeColumn(
    both,
    pairs.left.map((l, i) => (l >= 0 ? l : column.length + (pairs.right[i] as number))),
  )
}
