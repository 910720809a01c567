/** Converts the rows that a server sends, and those that it is sent, from and to columns: streams of Arrow, checked as files are. */
import type { RecordBatch } from 'apache-arrow'
import type { Batch, Column } from '../../core/data/column.ts'
import { castColumn, convertColumn } from '../../core/data/columnConversions.ts'
import { emptyColumn } from '../../core/data/columnSlices.ts'
import { type ColumnType, type ElementType, type Field, plainType, sameType, type TimeUnit } from '../../core/data/schema.ts'
import { SourceError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import { toArrowTable } from '../arrow/arrowBatches.ts'
import { checkColumn } from '../arrow/arrowChecks.ts'
import { columnOfData } from '../arrow/arrowColumns.ts'
import { RecordBatchReader, tableToIPC } from '../arrow/arrowLibrary.ts'
import { withoutDecimals } from '../decimals.ts'
import { fileType, readColumn } from '../int64.ts'
import type { ExecutePlanResponse_ArrowBatch } from './messages.ts'
import { elementFields } from './translated.ts'

/** The batches of one message, whose columns are the element's by place. `firstRow` counts those before. */
export function batchesOf(
  message: ExecutePlanResponse_ArrowBatch,
  element: ElementType,
  { at, firstRow }: { readonly at: string; readonly firstRow: number },
): readonly Batch[] {
  const { data = new Uint8Array(0), rowCount = 0n, startOffset } = message
  const damaged = (what: string, cause?: unknown): SourceError =>
    new SourceError(`Spark at ${at} sent rows that make no sense: ${what}. Run the action again.`, at, cause === undefined ? {} : { cause })
  if (startOffset !== undefined && startOffset !== BigInt(firstRow))
    throw damaged(`they begin at row ${startOffset}, where ${firstRow} is next`)
  const fields = elementFields(element)
  let read: readonly RecordBatch[]
  try {
    // buffers inside must be aligned to 8 bytes
    read = [...RecordBatchReader.from(data.byteOffset % 8 === 0 ? data : data.slice())]
  } catch (error) {
    throw damaged(isError(error) ? error.message : String(error), error)
  }
  const rows = read.reduce((sum, batch) => sum + batch.numRows, 0)
  if (BigInt(rows) !== rowCount) throw damaged(`there are ${rows} of ${rowCount} rows`)
  let row = firstRow
  return read.map((batch) => {
    const columns = fields.map((field, i) => {
      const own = batch.data.children[i]
      if (own === undefined) throw damaged(`the column "${field.name}" is missing`)
      const place = { source: `Spark at ${at}`, column: field.name }
      try {
        const column = columnOfData(own, place)
        checkColumn(column, batch.numRows, place)
        return asExpected(column, field, row, place)
      } catch (error) {
        if (error instanceof SourceError) throw error
        throw damaged(isError(error) ? error.message : String(error), error)
      }
    })
    row += batch.numRows
    return { element, length: batch.numRows, columns }
  })
}

/** A batch without rows. */
export function noRows(element: ElementType): Batch {
  return { element, length: 0, columns: elementFields(element).map(({ type }) => emptyColumn(type)) }
}

function asExpected(
  column: Column,
  { type }: Field,
  firstRow: number,
  place: { readonly source: string; readonly column: string },
): Column {
  if (type.kind === 'timestamp' && column.type.kind === 'timestamp') return inUnit(column, column.type.unit, type)
  const inFile = fileType(type)
  if (sameType(column.type, inFile)) return readColumn(column, type, place, firstRow)
  if (type.kind === 'f64' || column.type.kind === 'null' || type.kind === 'utf8')
    return readColumn(convertColumn(column, inFile), type, place, firstRow)
  if (type.kind === 'list' || type.kind === 'struct') return convertColumn(column, type)
  return castColumn(column, type)
}

const PER_SECOND: Readonly<Record<TimeUnit, bigint>> = { s: 1n, ms: 1000n, us: 1_000_000n, ns: 1_000_000_000n }

function inUnit(column: Column, from: TimeUnit, type: Extract<ColumnType, { kind: 'timestamp' }>): Column {
  if (from === type.unit || column.length === 0) return { ...column, type }
  const [a, b] = [PER_SECOND[from], PER_SECOND[type.unit]]
  const values = column.values as BigInt64Array // of a timestamp
  return { ...column, type, values: values.map((value) => (b > a ? value * (b / a) : floorDivided(value, a / b))) }
}

function floorDivided(value: bigint, by: bigint): bigint {
  const whole = value / by
  return value < 0n && whole * by !== value ? whole - 1n : whole
}

/** A table as Arrow that Spark takes: it has neither unsigned integers nor categories, time in microseconds, and decimals of other rules than numbers. */
export function arrowOf(element: ElementType, batches: readonly Batch[]): Uint8Array {
  const fields = elementFields(element).map((field): Field => ({ ...field, type: sparkForm(field.type) }))
  const sent = withoutDecimals({ kind: 'row', fields })
  const made = batches.map(
    ({ columns, length }): Batch => ({
      element: sent,
      length,
      columns: columns.map((column, i) => inForm(column, fields[i]?.type ?? column.type)),
    }),
  )
  return tableToIPC(toArrowTable(made, sent), 'stream')
}

function inForm(column: Column, type: ColumnType): Column {
  if (column.type.kind === 'timestamp' && type.kind === 'timestamp') return inUnit(column, column.type.unit, type)
  return sameType(plainType(column.type), plainType(type)) ? column : castColumn(column, type)
}

function sparkForm(type: ColumnType): ColumnType {
  switch (type.kind) {
    case 'u8':
      return { kind: 'i16' }
    case 'u16':
      return { kind: 'i32' }
    case 'u32':
      return { kind: 'i64' }
    case 'utf8':
      return { kind: 'utf8' }
    case 'timestamp':
      return { ...type, unit: 'us' }
    default:
      return type
  }
}
