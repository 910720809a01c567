/**
 * Makes dictionary codes for the texts of stored tables when they pay: once as many texts were read without codes as the column has.
 *
 *     groupBy(r => r.name)      reads a text for each row that it gets; for all rows of a table, before it begins
 *     join(other, 'name')       as a semi-join under a fold, too; of filtered rows half
 *     r.name === 'abc'          reads the length of most: an eighth of a text a row
 *
 * The tables of a run, as what joins make, are grouped once: theirs are made at once, and are the run's.
 *
 * So no query takes much more than twice its time without codes, and a program that reads no texts makes none. Their block is freed
 * with the table's. A table that is changed has other columns, which have no codes yet.
 */
import type { Column } from '../../../../core/data/column.ts'
import { leaseOf } from '../../../arrays/storageBlocks.ts'
import type { Arena } from '../../../memory/arena.ts'
import type { Block } from '../../block.ts'
import type { ColumnProgram } from '../columnProgram.ts'
import { uncodedKeys } from '../groups/codedKeys.ts'
import { codesOf, codeTexts, type TextCodes } from './textCodes.ts'

/** The number of texts that were read of each column without codes. */
const read = new WeakMap<Column, number>()

/** Columns that get no codes: they have too many different texts, or memory was short when codes were wanted. */
const without = new WeakSet<Column>()

/** Codes may take the free memory divided by this. */
const ROOM = 8
/** The most bytes of a code. */
const CODE_BYTES = 4

/** Counts texts that were read of a column, if it has no codes. */
export function textsRead(column: Column | undefined, texts: number): void {
  if (column !== undefined && codesOf(column) === undefined) read.set(column, (read.get(column) ?? 0) + texts)
}

/** Counts the texts that a `groupBy` of so many rows has read as keys. */
export function textsGrouped(program: ColumnProgram, rows: number): void {
  for (const column of uncodedKeys(program)) textsRead(column, rows)
}

/** Counts the texts that a semi-join is about to look up, and makes the column's codes if they pay. */
export function textsJoined(key: Column, program: ColumnProgram, arena: Arena): void {
  if (!mayHaveCodes(key, program)) return
  textsRead(key, program.shape.filters ? program.rows / 2 : program.rows)
  codesMade(program, arena, { grouped: false })
}

/** The codes of a column whose different texts a function is called for, made now if it has none: a call for each row costs more. Undefined where it gets none. */
export function codesNow(column: Column, table: Pick<ColumnProgram, 'storage'>, arena: Arena): TextCodes | undefined {
  if (mayHaveCodes(column, table)) made(column, table, arena)
  return codesOf(column)
}

/** Whether a column of a stored table has no codes yet, and may get some. */
export function mayHaveCodes(column: Column, { storage }: Pick<ColumnProgram, 'storage'>): boolean {
  const isText = column.type.kind === 'utf8' && column.length > 0
  return isText && storage !== undefined && codesOf(column) === undefined && !without.has(column)
}

/** Makes codes for columns that have been read enough, or will be by a `groupBy` above; returns whether it made any. */
export function codesMade(program: ColumnProgram, arena: Arena, { grouped }: { readonly grouped: boolean }): boolean {
  const keys = grouped && !program.shape.filters ? uncodedKeys(program) : []
  let any = false
  for (const column of new Set(program.columns)) {
    const texts = (read.get(column) ?? 0) + (keys.includes(column) ? column.length : 0)
    if (mayHaveCodes(column, program) && texts >= column.length) any = made(column, program, arena) || any
  }
  return any
}

/**
 * Makes codes for those `columns` of a run's own table whose texts all rows are grouped by, or for whose texts functions are called, and
 * returns their blocks: they are the caller's, and the columns must be used for nothing else. What joins have put beside many rows are
 * mostly few texts.
 */
export function codesForGroups(program: ColumnProgram, columns: readonly Column[], arena: Arena): readonly Block[] {
  const keys = program.shape.filters ? [] : uncodedKeys(program)
  const called = (program.calledFor ?? []).filter((column) => codesOf(column) === undefined)
  const wanted = [...new Set([...keys, ...called])].filter((column) => columns.includes(column))
  return wanted.flatMap((column) => {
    const block = column.length > 0 && isRoom(column, arena) ? codeTexts(column, arena) : undefined
    return block === undefined ? [] : [{ offset: block, bytes: codesOf(column)?.codes.byteLength ?? 0 }]
  })
}

function isRoom(column: Column, arena: Arena): boolean {
  return CODE_BYTES * column.length * ROOM <= arena.budgetBytes - arena.usedBytes
}

function made(column: Column, { storage }: Pick<ColumnProgram, 'storage'>, arena: Arena): boolean {
  const lease = storage && leaseOf(storage)
  if (lease === undefined || !isRoom(column, arena)) return false
  const block = codeTexts(column, arena)
  if (block === undefined) without.add(column)
  else lease.add(block)
  return block !== undefined
}
