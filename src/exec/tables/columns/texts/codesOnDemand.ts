/**
 * Codes for the texts of stored tables, made when they pay: once as many texts were read without codes as the column has.
 *
 *     groupBy(r => r.name)      reads a text for each row that comes to it, and of all rows as soon as it begins
 *     join(other, 'name')       as a semi-join under a fold, too; of filtered rows half
 *     r.name === 'abc'          reads the length of most: an eighth of a text a row
 *
 * So no question takes much more than twice the time it would take without, and a program that asks nothing has none. The
 * block they lie in goes with the table's. What changes a table makes other columns, which have no codes yet.
 */
import type { Column } from '../../../../core/data/column.ts'
import { leaseOf } from '../../../arrays/storageBlocks.ts'
import type { Arena } from '../../../memory/arena.ts'
import type { ColumnProgram } from '../columnProgram.ts'
import { uncodedKeys } from '../groups/codedKeys.ts'
import { codesOf, codeTexts, type TextCodes } from './textCodes.ts'

/** Texts read of a column without codes. */
const read = new WeakMap<Column, number>()

/** Columns that have too many texts for codes, or had too little memory for them when they were wanted. */
const without = new WeakSet<Column>()

/** Of the memory that is free, codes may take one part in so many. */
const ROOM = 8
/** The most that a code takes. */
const CODE_BYTES = 4

/** Tells of texts that were read, of a column that may have no codes. */
export function textsRead(column: Column | undefined, texts: number): void {
  if (column !== undefined && codesOf(column) === undefined) read.set(column, (read.get(column) ?? 0) + texts)
}

/** Tells of the rows that a `groupBy` was given by keys that are texts. */
export function textsGrouped(program: ColumnProgram, rows: number): void {
  for (const column of uncodedKeys(program)) textsRead(column, rows)
}

/** Tells that a semi-join looks a text up for each row that comes to it; the column has codes then if it is worth them. */
export function textsJoined(key: Column, program: ColumnProgram, arena: Arena): void {
  if (!mayHaveCodes(key, program)) return
  textsRead(key, program.shape.filters ? program.rows / 2 : program.rows)
  codesMade(program, arena, { grouped: false })
}

/** The codes of a column that a function is computed for each text of, made now: they cost less than a call for each row; undefined where it gets none. */
export function codesNow(column: Column, table: Pick<ColumnProgram, 'storage'>, arena: Arena): TextCodes | undefined {
  if (mayHaveCodes(column, table)) made(column, table, arena)
  return codesOf(column)
}

/** Whether the column of a stored table may get codes when it is asked for more. */
export function mayHaveCodes(column: Column, { storage }: Pick<ColumnProgram, 'storage'>): boolean {
  const isText = column.type.kind === 'utf8' && column.length > 0
  return isText && storage !== undefined && codesOf(column) === undefined && !without.has(column)
}

/** Gives codes to what has been read enough, or will be by a `groupBy` above; whether there are new ones. */
export function codesMade(program: ColumnProgram, arena: Arena, { grouped }: { readonly grouped: boolean }): boolean {
  const keys = grouped && !program.shape.filters ? uncodedKeys(program) : []
  let any = false
  for (const column of new Set(program.columns)) {
    const texts = (read.get(column) ?? 0) + (keys.includes(column) ? column.length : 0)
    if (mayHaveCodes(column, program) && texts >= column.length) any = made(column, program, arena) || any
  }
  return any
}

function made(column: Column, { storage }: Pick<ColumnProgram, 'storage'>, arena: Arena): boolean {
  const lease = storage && leaseOf(storage)
  if (lease === undefined || CODE_BYTES * column.length * ROOM > arena.budgetBytes - arena.usedBytes) return false
  const block = codeTexts(column, arena)
  if (block === undefined) without.add(column)
  else lease.add(block)
  return block !== undefined
}
