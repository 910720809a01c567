/**
 * Reads one piece of a CSV file: its records, field by field into columns, of which only those asked for are made.
 */
import type { Batch } from '../core/column.ts'
import { type ColumnBuilder, createBuilder, valueText } from '../core/columnBuilder.ts'
import { PlanError, SourceError } from '../core/errors.ts'
import type { ReadSplit } from '../core/ports.ts'
import { type ColumnType, type Field, typeText } from '../core/schema.ts'
import { type CsvField, CsvRecords, QUOTED_EMPTY } from './csvRecords.ts'
import { valueOfField } from './csvValues.ts'
import { decodeUtf8, readRange } from './text.ts'

export interface CsvColumn {
  readonly name: string
  readonly type: ColumnType
  /** Whether the sample decided the type, and not the user. */
  readonly guessed: boolean
}

export interface CsvDetail {
  readonly path: string
  readonly stamp: string
  readonly start: number
  readonly end: number
  readonly firstLine: number
  /** Records to pass over: the header. */
  readonly skip: number
  readonly delimiter: string
  readonly columns: readonly CsvColumn[]
}

interface Picked {
  readonly index: number
  readonly column: CsvColumn
  readonly builder: ColumnBuilder
}

export const readCsvSplit: ReadSplit = async (_source, split, names, _predicate, access) => {
  const detail = split.detail as CsvDetail // made by `openCsv`
  const text = decodeUtf8(await readRange(detail, access), detail.path, detail.start === 0)
  const picked = pickedColumns(detail, names)
  const length = readRecords(new CsvRecords(text, detail), detail, picked)
  const columns = picked.map(({ builder }) => builder.finish())
  const fields = picked.map(({ column }): Field => ({ name: column.name, type: column.type, nullable: true }))
  const batch: Batch = { element: { kind: 'row', fields }, length, columns }
  return [batch]
}

function pickedColumns(detail: CsvDetail, names: readonly string[]): Picked[] {
  const indexes = new Map(detail.columns.map((column, index) => [column.name, index]))
  return names.map((name) => {
    const index = indexes.get(name) ?? -1
    const column = detail.columns[index]
    if (column === undefined) throw new PlanError(`${detail.path} has no column "${name}".`)
    return { index, column, builder: createBuilder(column.type, name) }
  })
}

/** How many records there are; their fields go to the builders. */
function readRecords(records: CsvRecords, detail: CsvDetail, picked: readonly Picked[]): number {
  const width = detail.columns.length
  let length = 0
  for (let skip = detail.skip; skip > 0; skip--) records.next()
  while (records.next()) {
    if (records.width !== width) {
      if (records.isEmpty) continue
      throw new SourceError(
        `${detail.path}, line ${records.lineAt(records.start)}: the record has ${records.width} fields, and the table ${width} columns.`,
        detail.path,
      )
    }
    for (let c = 0; c < picked.length; c++) {
      const one = picked[c] as Picked // c < length
      const field = records.field(one.index)
      if (!appended(one, field)) throw misfit(detail, one.column, field, records.lineAt(records.start))
    }
    length++
  }
  return length
}

/** Whether the field fits the column, to which it is appended. */
function appended({ column, builder }: Picked, field: CsvField): boolean {
  if (field === '') {
    builder.append(null)
    return true
  }
  const { type, guessed } = column
  const value = field !== QUOTED_EMPTY ? valueOfField(field, type, guessed) : type.kind === 'utf8' ? '' : undefined
  if (value === undefined) return false
  try {
    builder.append(value)
    return true
  } catch (error) {
    if (error instanceof PlanError) return false
    throw error
  }
}

/** Numbers with commas, for decimals or between thousands. */
const COMMAS = /^\s*[+-]?[\d.]*(?:,[\d.]+)+\s*$/
const ISO = /^\s*[+-]?\d{4,6}-/

/** Other forms than are read: what to do with them. */
function otherForm(type: ColumnType, text: string): string {
  const cure = "take the column as 'utf8', and convert it in map()."
  if (type.kind === 'timestamp' || type.kind === 'date') return ISO.test(text) ? '' : ` Dates are ISO 8601, as 2024-03-01: ${cure}`
  return COMMAS.test(text) ? ` Numbers are read without commas, with a decimal point: ${cure}` : ''
}

function misfit(detail: CsvDetail, { name, type, guessed }: CsvColumn, field: CsvField, line: number): SourceError {
  const text = field === QUOTED_EMPTY ? '' : field
  const what = `${detail.path}, line ${line}, column "${name}": ${valueText(text)} is not ${typeText(type)}`
  if (!guessed) return new SourceError(`${what}, which { types } asks for.${otherForm(type, text)}`, detail.path)
  const other = type.kind === 'f64' && /^[+-]?\d+$/.test(text.trim()) && !/^[+-]?0\d/.test(text.trim()) ? 'i64' : 'utf8'
  return new SourceError(
    `${what}, which the first MiB of the file suggests. Say what it is: { types: { ${/^\w+$/.test(name) ? name : JSON.stringify(name)}: '${other}' } }.`,
    detail.path,
  )
}
