/** The dictionary of texts that a program chooses from (`exec/kernels/columns/textPlaces.ts`): constants, texts of columns, and the empty text for nulls. */
import type { Column } from '../../../../core/data/column.ts'
import { concatColumns } from '../../../../core/data/columnConcat.ts'
import type { NewArray } from '../../../../core/data/columnSlices.ts'
import { LARGEST_OFFSET, TextBuilder } from '../../../../core/data/leafBuilders.ts'
import type { ColumnProgram } from '../columnProgram.ts'
import { codesOf, differentTexts, giveCodes } from './textCodes.ts'

type Chosen = Pick<ColumnProgram, 'columns' | 'shape'>

/** The offset of a column's first text behind the constants. */
export function firstText({ columns, shape }: Chosen, column: number): number {
  const before = shape.texts?.columns.filter((one) => one < column) ?? []
  return before.reduce((sum, one) => sum + entriesOf(columns[one]), 0)
}

function entriesOf(column: Column | undefined): number {
  return codesOf(column)?.firsts.length ?? column?.length ?? 0
}

/** The dictionary; undefined where its texts would have more bytes than offsets of 32 bits reach. */
export function chosenTexts({ columns, shape }: Chosen, newArray: NewArray): Column | undefined {
  const { constants, columns: used } = shape.texts ?? { constants: [], columns: [] }
  const texts = used.flatMap((one) => {
    const column = columns[one]
    const codes = codesOf(column)
    if (column === undefined) return []
    const { validity: _, ...all } = codes === undefined ? column : differentTexts(column, codes)
    return [all]
  })
  const parts = [textsOf(constants), ...texts, textsOf([''])]
  const bytes = parts.reduce((sum, { offsets, length }) => sum + (offsets?.[length] ?? 0) - (offsets?.[0] ?? 0), 0)
  return bytes > LARGEST_OFFSET ? undefined : concatColumns(parts, 'value', newArray)
}

/** The constants as a column, with the indices that kernels store as its codes. */
export function codedConstants({ shape }: Chosen): Column {
  const texts = textsOf(shape.texts?.constants ?? [])
  const numbers = Int32Array.from({ length: texts.length }, (_, i) => i)
  giveCodes(texts, { codes: numbers, firsts: numbers, texts })
  return texts
}

function textsOf(texts: readonly string[]): Column {
  const builder = new TextBuilder({ kind: 'utf8' }, 'value')
  for (const text of texts) builder.append(text)
  return builder.finish()
}
