/** Columns out of the fields of CSV records, a thousand records at a time: numbers and texts from their bytes. */
import type { Column } from '../core/column.ts'
import { type ColumnBuilder, createBuilder, LARGEST_OFFSET, ValidityBuilder } from '../core/columnBuilder.ts'
import { PlanError } from '../core/errors.ts'
import type { ColumnType } from '../core/schema.ts'
import { plainNumber } from './csvNumbers.ts'
import { type CsvField, type CsvRecords, QUOTED_EMPTY } from './csvRecords.ts'
import { valueOfField } from './csvValues.ts'

export interface CsvColumn {
  readonly name: string
  readonly type: ColumnType
  /** Whether the sample decided the type, and not the user. */
  readonly guessed: boolean
}

/** Where one column's fields of records that follow each other have their bounds. */
export interface Fields {
  readonly records: CsvRecords
  /** Of the first. */
  readonly place: number
  /** From one to the next. */
  readonly step: number
  readonly count: number
}

/** Makes one column. */
export interface CsvColumnReader {
  /** How many of the fields fit the column, to which they are appended: all of them, or those before the first that does not. */
  append(fields: Fields): number
  finish(): Column
}

export function columnReader(column: CsvColumn): CsvColumnReader {
  const { kind } = column.type
  if (kind === 'f64') return new NumberReader(column)
  return kind === 'utf8' ? new TextReader(column) : new ValueReader(column)
}

/** The number of a field by its text; undefined where it is none. */
function numberOf(field: CsvField, { type, guessed }: CsvColumn): number | undefined {
  return field === QUOTED_EMPTY ? undefined : (valueOfField(field, type, guessed) as number | undefined) // of a column of numbers
}

class NumberReader implements CsvColumnReader {
  private values: Float64Array = new Float64Array(1024)
  private length = 0
  private readonly validity = new ValidityBuilder()
  private readonly column: CsvColumn

  constructor(column: CsvColumn) {
    this.column = column
  }

  append({ records, place, step, count }: Fields): number {
    const { bytes, bounds } = records
    this.reserve(count)
    const { values, validity } = this
    for (let i = 0; i < count; i++) {
      const at = place + i * step
      const begin = bounds[at] as number // the records have bounds for every field
      const end = bounds[at + 1] as number
      if (begin === end) validity.append(false)
      else {
        let value = begin < 0 ? Number.NaN : plainNumber(bytes, begin, end)
        if (Number.isNaN(value)) {
          const other = numberOf(records.text(at), this.column)
          if (other === undefined) return i
          value = other
        }
        values[this.length] = value
        validity.append(true)
      }
      this.length++
    }
    return count
  }

  finish(): Column {
    return { type: this.column.type, length: this.length, values: this.values.slice(0, this.length), ...this.validity.finish() }
  }

  private reserve(more: number): void {
    if (this.length + more <= this.values.length) return
    const larger = new Float64Array(Math.max(2 * this.values.length, this.length + more))
    larger.set(this.values)
    this.values = larger
  }
}

const QUOTE = 34

class TextReader implements CsvColumnReader {
  private values: Uint8Array = new Uint8Array(4096)
  private offsets = new Int32Array(1024)
  private used = 0
  private length = 0
  private readonly validity = new ValidityBuilder()
  private readonly column: CsvColumn

  constructor(column: CsvColumn) {
    this.column = column
  }

  append({ records, place, step, count }: Fields): number {
    const { bytes, bounds } = records
    this.reserve(count, records, place, step)
    const { values, offsets, validity } = this
    let { used } = this
    for (let i = 0; i < count; i++) {
      const at = place + i * step
      const begin = bounds[at] as number // the records have bounds for every field
      const end = bounds[at + 1] as number
      validity.append(begin !== end)
      if (begin >= 0)
        for (let b = begin; b < end; b++) values[used++] = bytes[b] as number // b < end
      else
        for (let b = ~begin; b < end; b++) {
          const byte = bytes[b] as number // b < end
          values[used++] = byte
          if (byte === QUOTE) b++ // the second of two
        }
      offsets[++this.length] = used
    }
    this.used = used
    return count
  }

  finish(): Column {
    const { type } = this.column
    const { length } = this
    return { type, length, values: this.values.slice(0, this.used), offsets: this.offsets.slice(0, length + 1), ...this.validity.finish() }
  }

  /** Room for fields with their bytes, those of doubled quotes included. */
  private reserve(count: number, { bounds }: CsvRecords, place: number, step: number): void {
    let needed = this.used
    for (let i = 0; i < count; i++) {
      const at = place + i * step
      const begin = bounds[at] as number // the records have bounds for every field
      needed += (bounds[at + 1] as number) - (begin < 0 ? ~begin : begin)
    }
    if (needed > LARGEST_OFFSET) {
      throw new PlanError(`Column "${this.column.name}" has more than 2 GiB of text in one piece. Cut it with repartition({ partitions }).`)
    }
    if (needed > this.values.length) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.values.length))
      larger.set(this.values)
      this.values = larger
    }
    if (this.length + count < this.offsets.length) return
    const larger = new Int32Array(Math.max(this.length + count + 1, 2 * this.offsets.length))
    larger.set(this.offsets)
    this.offsets = larger
  }
}

/** Of any other type: value by value. */
class ValueReader implements CsvColumnReader {
  private readonly builder: ColumnBuilder
  private readonly column: CsvColumn

  constructor(column: CsvColumn) {
    this.column = column
    this.builder = createBuilder(column.type, column.name)
  }

  append({ records, place, step, count }: Fields): number {
    for (let i = 0; i < count; i++) if (!this.appended(records.text(place + i * step))) return i
    return count
  }

  private appended(field: CsvField): boolean {
    const { type, guessed } = this.column
    const value = field === QUOTED_EMPTY ? undefined : field === '' ? null : valueOfField(field, type, guessed)
    if (value === undefined) return false
    try {
      this.builder.append(value)
      return true
    } catch (error) {
      if (error instanceof PlanError) return false
      throw error
    }
  }

  finish(): Column {
    return this.builder.finish()
  }
}
