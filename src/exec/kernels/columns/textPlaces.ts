/**
 * Texts that a function chooses, as numbers of entries in the program's dictionary of the function's constants and the texts
 * of the columns that it takes some from.
 *
 *     r.age < 30 ? 'young' : r.city ?? 'none'
 *
 *     dictionary     none young | Bern Oslo Rome     column texts are the entries of its dictionary, or one a row where it has none
 *     numbers        -2 is none, -1 is young         in code, before the number of constants is known
 *
 * A dictionary holds the constants in reverse order of appearance, and then the columns in their order: a kernel
 * stores the number of an entry. The texts themselves are no part of the code.
 */
import { type Code, I, SIMD } from '../../kir/instructions.ts'
import { lanesConst } from '../../kir/simd.ts'
import { NotCompiled } from '../expressions/types.ts'
import type { ColumnValue } from './columnTypes.ts'
import type { ColumnWriter } from './columnWriter.ts'

/** The contents of the dictionary from which a program chooses texts. */
export interface ChosenTexts {
  readonly constants: readonly string[]
  /** Indices of columns of the source, in order. */
  readonly columns: readonly number[]
}

export type TextChoice = Extract<ColumnValue, { kind: 'text' }>

/** Converts constants and columns of text to numbers of entries; undefined for any other value. */
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

/** The entry numbers of a captured list of texts, for a table. */
export function constantNumbers(w: ColumnWriter, texts: readonly string[]): Int32Array {
  return Int32Array.from(texts, (text) => w.textConstant(text))
}

/** The mask of lanes where two chosen texts are the same constant; lanes in which one is null are arbitrary. */
export function choiceEquals(w: ColumnWriter, left: ColumnValue, right: ColumnValue): number {
  const [a, b] = [left, right].map((value) => (value.kind === 'other' ? undefined : asChoice(w, value)))
  // a column may have an entry with the same text as a constant, so numbers do not decide
  if (a === undefined || b === undefined || a.columns.length + b.columns.length > 0)
    throw new NotCompiled('it compares texts that are not constant')
  return w.keep([...I.localGet(a.at), ...I.localGet(b.at), SIMD.i32Eq])
}

/** Converts the numbers used in code to those of dictionary entries, which are stored. */
export function entryNumbers(w: ColumnWriter, { at }: TextChoice): number {
  const count = w.textConstants.length
  return w.keep([...I.localGet(at), ...lanesConst([count, count, count, count]), SIMD.i32Add])
}

function constantLanes(w: ColumnWriter, text: string): number {
  const number = w.textConstant(text)
  return w.constant(lanesConst([number, number, number, number]))
}

/** The row numbers of the four rows. */
function rowLanes(w: ColumnWriter): number {
  const row: Code = [...I.localGet(w.row), SIMD.i32Splat]
  return w.keep([...row, ...lanesConst([0, 1, 2, 3]), SIMD.i32Add])
}
