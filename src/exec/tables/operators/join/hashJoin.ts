/**
 * The hash join: the right side is the build side, the left side probes in its order.
 *
 * Matches of a left row come in the right side's order; right rows without a match (right, full) come last, in
 * theirs. A key that is null, or holds a null at any depth, matches nothing. Pieces of the left side are joined independently, in any
 * thread; the results in their order are the join.
 */
import type { Column } from '../../../../core/data/column.ts'
import { concatColumns } from '../../../../core/data/columnConcat.ts'
import { convertColumn, unifyTypes } from '../../../../core/data/columnConversions.ts'
import { nullColumn, sliceColumn } from '../../../../core/data/columnSlices.ts'
import { positionsOf } from '../../../../core/data/fieldPositions.ts'
import { type ColumnType, fieldsOf, typeText } from '../../../../core/data/schema.ts'
import { Bug, PlanError } from '../../../../core/errors.ts'
import type { JoinedColumn, WideOperator } from '../../../../planner/physical/physicalPlan.ts'
import { type ExecBatch, rowBatch, takeBatch } from '../batches.ts'
import { takenColumn } from '../gather/takenTexts.ts'
import { KeyIds, type RowsById, rowsById } from '../hashing/keyIds.ts'
import { asList, listType } from '../hashing/tupleKeys.ts'
import { type RunWide, withoutKeys } from '../operator.ts'
import { inMilliseconds, millisecondType } from '../sort/wholeMilliseconds.ts'
import { ownNulls, withWholeNulls } from './nullKeys.ts'

type Join = Extract<WideOperator, { kind: 'HashJoinExec' }>

/** Joins whole inputs. */
export const hashJoinExec: RunWide<'HashJoinExec'> = (join, inputs) => {
  const [left, right] = [inputs[0] as ExecBatch, inputs[1] as ExecBatch] // a join has two
  const { batch, matched } = joinPiece(join, left, right, keyTypeOf(join, [left], [right]))
  if (matched === undefined) return batch
  return [batch, unmatchedPiece(join, left, right, matched)]
}

/** The joined rows of a piece of the left side, in its order; for right and full joins also a flag for each right row that matched. */
export interface JoinedPiece {
  readonly batch: ExecBatch
  readonly matched?: Uint8Array
}

/** Joins a piece of the left side with the whole right side. `type` is the common type of both sides' keys. */
export function joinPiece(join: Join, leftPiece: ExecBatch, wholeRight: ExecBatch, type: ColumnType): JoinedPiece {
  const left = withoutKeys(leftPiece)
  const right = withoutKeys(wholeRight)
  if (join.how === 'cross') return { batch: joinedPairs(join, left, right, crossPairs(left.length, right.length)) }
  const ids = new KeyIds(type)
  const rightIds = idsOf(keysOf(join, right, 1), type, (key) => ids.encode(key))
  const leftKey = keysOf(join, left, 0)
  if (join.how === 'semi' || join.how === 'anti') {
    const { hidden: _, ...payload } = left
    return { batch: takeBatch(payload, keptRows(leftKey, { ids, type, present: presentIds(rightIds, ids.size), how: join.how })) }
  }
  const leftIds = idsOf(leftKey, type, (key) => ids.lookUp(key))
  const batch = joinedPairs(join, left, right, expanded(join, leftIds, rowsById(rightIds, ids.size)))
  return join.how === 'right' || join.how === 'full' ? { batch, matched: matchedRows(leftIds, rightIds, ids.size) } : { batch }
}

/** The rows of the right side that no piece of the left side matched, with nulls for the left. */
export function unmatchedPiece(join: Join, leftPiece: ExecBatch, wholeRight: ExecBatch, matched: Uint8Array): ExecBatch {
  const left = withoutKeys(leftPiece)
  const right = withoutKeys(wholeRight)
  const rows = Int32Array.from(matched.keys()).filter((r) => matched[r] === 0)
  return joinedPairs(join, left, right, { left: new Int32Array(rows.length).fill(-1), right: rows })
}

/** The common type of both sides' keys. PlanError where there is none, or a side lacks the column. */
export function keyTypeOf(join: Join, left: readonly ExecBatch[], right: readonly ExecBatch[]): ColumnType {
  if (join.how === 'cross') return { kind: 'null' }
  const [a, b] = [left, right].map((batches, side) =>
    batches.map((batch) => millisecondType(keyColumn(join, batch, side === 0 ? 0 : 1).type)).reduce((x, y) => unifyTypes(x, y, 'key')),
  ) as [ColumnType, ColumnType]
  return commonType(join, a, b)
}

interface Pairs {
  /** Row of the left side; -1 for a right row without a match. */
  readonly left: Int32Array
  readonly right: Int32Array
}

/** The most rows of a table, since indices of rows are signed words of 32 bits. */
export const MOST_ROWS: number = 2 ** 31 - 1

function crossPairs(left: number, right: number): Pairs {
  if (left * right > MOST_ROWS) throw tooMany(left * right)
  const length = left * right
  return {
    left: Int32Array.from({ length }, (_, i) => Math.floor(i / right)),
    right: Int32Array.from({ length }, (_, i) => i % right),
  }
}

export function tooMany(rows: number): PlanError {
  return new PlanError(
    `The join would have ${rows} rows; ${MOST_ROWS} is the most. Filter before joining, or join on a key with fewer matches.`,
  )
}

/** Ids of a side's keys; -1 for a null. */
function idsOf(key: Column, type: ColumnType, encode: (key: Column) => Int32Array): Int32Array {
  const column = convertColumn(asList(inMilliseconds(key), type), type)
  const encoded = encode(column)
  const nulls = ownNulls(column)
  if (nulls !== undefined) for (let i = 0; i < encoded.length; i++) if (nulls[i] === 1) encoded[i] = -1
  return encoded
}

/** 1 at id + 1 for the ids of the right side's rows that can match: a null has an id in the table, but matches nothing. */
function presentIds(rightIds: Int32Array, size: number): Uint8Array {
  const present = new Uint8Array(size + 1)
  for (const id of rightIds) if (id >= 0) present[id + 1] = 1
  return present
}

/** Rows probed at a time, so that their ids stay in the core's caches. */
const PROBE_ROWS = 16_384

interface Probe {
  readonly ids: KeyIds
  readonly type: ColumnType
  readonly present: Uint8Array
  readonly how: 'semi' | 'anti'
}

function keptRows(key: Column, { ids, type, present, how }: Probe): Int32Array {
  const kept = new Int32Array(key.length)
  const other = how === 'semi' ? 0 : 1
  let count = 0
  for (let from = 0; from < key.length; from += PROBE_ROWS) {
    const found = idsOf(sliceColumn(key, from, Math.min(from + PROBE_ROWS, key.length)), type, (piece) => ids.lookUp(piece))
    for (let i = 0; i < found.length; i++) {
      kept[count] = from + i
      // ids are -1 or more; no branch, which would be mispredicted
      count += (present[(found[i] as number) + 1] as number) ^ other
    }
  }
  return kept.slice(0, count)
}

function expanded(join: Join, leftIds: Int32Array, table: RowsById): Pairs {
  const keepLeft = join.how === 'left' || join.how === 'full'
  const { starts, rows } = table
  let length = 0
  for (const id of leftIds) {
    const count = id < 0 ? 0 : (starts[id + 1] as number) - (starts[id] as number) // ids are below the size of the table
    length += count === 0 && keepLeft ? 1 : count
  }
  if (length > MOST_ROWS) throw tooMany(length)
  const left = new Int32Array(length)
  const right = new Int32Array(length)
  let at = 0
  for (let l = 0; l < leftIds.length; l++) {
    const id = leftIds[l] as number // l < length
    const from = id < 0 ? 0 : (starts[id] as number)
    const to = id < 0 ? 0 : (starts[id + 1] as number)
    if (from === to && keepLeft) {
      left[at] = l
      right[at++] = -1
    }
    for (let k = from; k < to; k++) {
      left[at] = l
      right[at++] = rows[k] as number
    }
  }
  return { left, right }
}

/** A flag for each row of the right side: 1 where a row of the left side matches it. */
function matchedRows(leftIds: Int32Array, rightIds: Int32Array, size: number): Uint8Array {
  const matched = new Uint8Array(size)
  for (const id of leftIds) if (id >= 0) matched[id] = 1
  return Uint8Array.from(rightIds, (id) => (id < 0 || matched[id] === 0 ? 0 : 1))
}

/** The keys of a side, null where they hold a null at any depth; keys that functions return already are. */
export function keysOf(join: Join, side: ExecBatch, which: 0 | 1): Column {
  const column = keyColumn(join, side, which)
  return join.on === undefined ? column : withWholeNulls(column)
}

function keyColumn(join: Join, side: ExecBatch, which: 0 | 1): Column {
  if (join.on === undefined) return side.hidden?.[0] ?? { type: { kind: 'null' }, length: side.length }
  const column = side.columns[fieldsOf(side.element).findIndex((field) => field.name === join.on)]
  if (column !== undefined) return column
  if (side.length === 0) return { type: { kind: 'null' }, length: 0 }
  throw new PlanError(`Cannot join ${join.names[0]} and ${join.names[1]} on "${join.on}": ${join.names[which]} has no such column.`)
}

function commonType(join: Join, left: ColumnType, right: ColumnType): ColumnType {
  try {
    return unifyTypes(listType(left, right), listType(right, left), join.on ?? 'key')
  } catch {
    const on = join.on === undefined ? 'those keys' : `"${join.on}"`
    throw new PlanError(
      `Cannot join ${join.names[0]} and ${join.names[1]} on ${on}: ${typeText(left)} on the left, ${typeText(right)} on the right.\nConvert one side, for example with withColumns.`,
    )
  }
}

function joinedPairs(join: Join, left: ExecBatch, right: ExecBatch, pairs: Pairs): ExecBatch {
  const isAll = pairs.left.length === left.length && pairs.left.every((row, i) => row === i) // each has one match
  return joined(join, left, right, {
    length: pairs.left.length,
    left: (i) => (isAll ? (left.columns[i] as Column) : takenColumn(left.columns[i] as Column, pairs.left)), // one column per field
    right: (i) => takenColumn(right.columns[i] as Column, pairs.right),
    shared: (i, name) => sharedKey(name, left.columns[i] as Column, right, pairs),
  })
}

/** The fields of a join that decide on the names of its columns. */
type Named = Pick<Join, 'shared' | 'suffix' | 'names' | 'columns' | 'element'>

/** Functions that make the columns of joined rows from the column's index on its side. */
export interface JoinedColumns {
  readonly length: number
  readonly left: (i: number) => Column
  readonly right: (i: number) => Column
  /** The column that was joined on, at index `i` of the left side. */
  readonly shared: (i: number, name: string) => Column
}

/** The columns of both sides; the column joined on comes once, and a name of the left side's gets the suffix on the right. */
export function joined(join: Named, left: ExecBatch, right: ExecBatch, rows: JoinedColumns): ExecBatch {
  if (join.columns !== undefined) return joinedOf(join.columns, join, [left, right], rows)
  const names: string[] = []
  const taken = new Set<string>()
  const columns: Column[] = []
  for (const [i, { name }] of fieldsOf(left.element).entries()) {
    names.push(name)
    taken.add(name)
    columns.push(join.shared.includes(name) ? rows.shared(i, name) : rows.left(i))
  }
  for (const [i, field] of fieldsOf(right.element).entries()) {
    if (join.shared.includes(field.name) && taken.has(field.name)) continue
    const name = taken.has(field.name) ? `${field.name}${join.suffix}` : field.name
    if (taken.has(name)) {
      // without rows, the columns of a side that only running tells are not known
      if (rows.length === 0) continue
      throw new PlanError(
        `Cannot join ${join.names[0]} and ${join.names[1]}: both have a column "${field.name}", and "${name}" is taken too.\nChoose another suffix, as in { suffix: '_other' }.`,
      )
    }
    names.push(name)
    taken.add(name)
    columns.push(rows.right(i))
  }
  const declared = join.element.kind === 'row' ? join.element.fields.map((field) => field.name) : []
  return rowBatch(declared.length === names.length ? declared : names, columns, rows.length)
}

function joinedOf(
  columns: readonly JoinedColumn[],
  { shared }: Named,
  sides: readonly [ExecBatch, ExecBatch],
  rows: JoinedColumns,
): ExecBatch {
  const positions = sides.map(({ element }) => positionsOf(fieldsOf(element)))
  const taken = columns.map(({ from, name }) => {
    const at = positions[from]?.get(name)
    // a side without rows may have no known columns
    if (at === undefined && sides[from].length === 0) return nullColumn({ kind: 'null' }, rows.length)
    if (at === undefined) throw new Bug(`A join carries ${name}, which its side does not have.`)
    if (from === 1) return rows.right(at)
    return shared.includes(name) ? rows.shared(at, name) : rows.left(at)
  })
  return rowBatch(
    columns.map(({ as }) => as),
    taken,
    rows.length,
  )
}

/** The column that was joined on: from the left side, and from the right where the left has no row. */
function sharedKey(name: string, column: Column, right: ExecBatch, pairs: Pairs): Column {
  const other = right.columns[fieldsOf(right.element).findIndex((field) => field.name === name)]
  if (other === undefined || !pairs.left.includes(-1)) return takenColumn(column, pairs.left)
  const both = concatColumns([column, other], name)
  return takenColumn(
    both,
    pairs.left.map((l, i) => (l >= 0 ? l : column.length + (pairs.right[i] as number))),
  )
}
