/**
 * Texts that a function chooses: numbers of entries in a dictionary of the program, which has the function's constants and the texts
 * of the columns that it takes some from.
 *
 *     r.age < 30 ? 'young' : r.city ?? 'none'
 *
 *     dictionary     none young | Bern Oslo Rome     the texts of city, or where they are not few those of all its rows
 *     numbers        -2 is none, -1 young            in code, where it is not yet known how many constants there will be
 *
 * A dictionary holds the constants in the order of the code, the last first, and then the columns in their order: what a
 * kernel stores is the number of an entry. The texts themselves are no part of the code.
 */
import { type Code, I, SIMD } from '../../kir/instructions.ts'
import { lanesConst } from '../../kir/simd.ts'
import { NotCompiled } from '../expressions/types.ts'
import type { ColumnValue } from './columnTypes.ts'
import type { ColumnWriter } from './columnWriter.ts'

/** What the texts that a program chooses are entries of. */
export interface ChosenTexts {
  readonly constants: readonly string[]
  /** Of the source, in order. */
  readonly columns: readonly number[]
}

export type TextChoice = Extract<ColumnValue, { kind: 'text' }>

/** Constants and columns of text as entries of the dictionary; undefined for what is no text. */
export function asChoice(w: ColumnWriter, value: ColumnValue): TextChoice | undefined {
  if (value.kind === 'text') return value
  if (value.kind === 'constant' && typeof value.value === 'string') return { kind: 'text', at: constantLanes(w, value.value), columns: [] }
  if (value.kind !== 'other' || w.typeOf(value.column) !== 'utf8') return undefined
  const { column } = value
  const first = w.constant([...I.localGet(w.address({ kind: 'firstText', column })), SIMD.i32Splat])
  const at = w.keep([...I.localGet(w.codes(column) ?? rowLanes(w)), ...I.localGet(first), SIMD.i32Add])
  const valid = w.validity(column)
  w.chosenColumns.add(column)
  return { kind: 'text', at, columns: [column], ...(valid === undefined ? {} : { valid }) }
}

/** Elements of a list of texts, in whose slots kernels find the numbers of entries. */
export function constantNumbers(w: ColumnWriter, texts: readonly string[]): Int32Array {
  return Int32Array.from(texts, (text) => w.textConstant(text))
}

/** Lanes in which a text that is chosen equals a constant, or another; it may be null in others. */
export function choiceEquals(w: ColumnWriter, left: ColumnValue, right: ColumnValue): number {
  const [a, b] = [left, right].map((value) => (value.kind === 'other' ? undefined : asChoice(w, value)))
  // an entry of a column may be the same text as a constant
  if (a === undefined || b === undefined || a.columns.length + b.columns.length > 0)
    throw new NotCompiled('it compares texts that are not constant')
  return w.keep([...I.localGet(a.at), ...I.localGet(b.at), SIMD.i32Eq])
}

/** What is stored of a text that is chosen. */
export function entryNumbers(w: ColumnWriter, { at }: TextChoice): number {
  const count = w.textConstants.length
  return w.keep([...I.localGet(at), ...lanesConst([count, count, count, count]), SIMD.i32Add])
}

function constantLanes(w: ColumnWriter, text: string): number {
  const number = w.textConstant(text)
  return w.constant(lanesConst([number, number, number, number]))
}

/** The numbers of the four rows. */
function rowLanes(w: ColumnWriter): number {
  const row: Code = [...I.localGet(w.row), SIMD.i32Splat]
  return w.keep([...row, ...lanesConst([0, 1, 2, 3]), SIMD.i32Add])
}
