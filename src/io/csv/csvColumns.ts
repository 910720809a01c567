/**
 * Columns out of the fields of CSV records, a thousand records at a time.
 *
 * Statement: a kernel, where there is one, makes of fields what `one` makes of each. It stops at a field that it does not
 * know, which then is made here, and goes on behind it.
 */
import type { Column } from '../../core/data/column.ts'
import { FIXED_FORMS, type FixedForm, type FixedKind, isFixedKind } from '../../core/data/fixedValues.ts'
import { LARGEST_OFFSET, ValidityBuilder } from '../../core/data/leafBuilders.ts'
import type { ColumnType, TimeUnit } from '../../core/data/schema.ts'
import { Bug, PlanError } from '../../core/errors.ts'
import type { CsvField } from '../../core/ports.ts'
import { timestampOfText } from '../timestampTexts.ts'
import { DecimalCommas } from './csvCommas.ts'
import type { Fields } from './csvFields.ts'
import { isAt } from './csvFormat.ts'
import { plainNumber } from './csvNumbers.ts'
import { type CsvRecords, QUOTED_EMPTY } from './csvRecords.ts'
import { valueOfField } from './csvValues.ts'

export interface CsvColumn {
  readonly name: string
  readonly type: ColumnType
  /** Whether the sample decided the type, and not the user. */
  readonly guessed: boolean
}

/** Makes one column. */
export interface CsvColumnReader {
  /** Makes room for so many fields. */
  reserve(fields: Fields): void
  /** Appends fields by a kernel; returns how many, 0 where there is none. */
  staged(fields: Fields): number
  /** Appends the field whose bounds are at a place; returns whether it fits the column. */
  one(records: CsvRecords, place: number): boolean
  finish(): Column
}

export function columnReader(column: CsvColumn, decimal: '.' | ',' = '.'): CsvColumnReader {
  const { kind } = column.type
  if (kind === 'utf8') return new TextReader(column)
  if (kind === 'null') return new NullReader(column)
  if (!isFixedKind(kind)) throw new Bug(`CSV has no columns of ${kind}.`)
  return new FixedReader(column, kind, decimal)
}

/** Appends fields to a column; returns how many: all of them, or those before the first that does not fit. */
export function appendFields(
  reader: CsvColumnReader,
  { records, place, step, count }: Fields,
  nullValues: readonly Uint8Array[] = [],
): number {
  if (nullValues.length > 0) makeNull({ records, place, step, count }, nullValues)
  reader.reserve({ records, place, step, count })
  for (let done = 0; done < count; done++) {
    done += reader.staged({ records, place: place + done * step, step, count: count - done })
    if (done < count && !reader.one(records, place + done * step)) return done
  }
  return count
}

/** Types whose values may have decimals, or points between thousands. */
const WITH_DECIMALS: ReadonlySet<FixedKind> = new Set(['f64', 'f32', 'i64', 'u64', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8'])

/** Makes empty fields of those that are one of the texts, by their bounds. */
function makeNull({ records: { bytes, bounds }, place, step, count }: Fields, nullValues: readonly Uint8Array[]): void {
  for (let i = 0; i < count; i++) {
    const at = place + i * step
    const begin = bounds[at] as number // the records have bounds for every field
    const length = (bounds[at + 1] as number) - begin
    if (begin >= 0 && nullValues.some((text) => text.length === length && isAt(bytes, begin, text))) bounds[at + 1] = begin
  }
}

/** The kernel for times of a unit; there is none for seconds. */
function fieldOfTimes(unit: TimeUnit): CsvField | undefined {
  return unit === 's' ? undefined : unit === 'ms' ? 'timestamp' : `timestamp(${unit})`
}

class FixedReader implements CsvColumnReader {
  private values: InstanceType<FixedForm['array']>
  private length = 0
  private readonly validity = new ValidityBuilder()
  private readonly column: CsvColumn
  private readonly form: FixedForm
  private readonly field: CsvField | undefined

  private readonly commas: DecimalCommas | undefined

  constructor(column: CsvColumn, kind: FixedKind, decimal: '.' | ',') {
    this.column = column
    this.commas = decimal === ',' && WITH_DECIMALS.has(kind) ? new DecimalCommas() : undefined
    this.form = FIXED_FORMS[kind]
    this.field = kind === 'time' ? undefined : column.type.kind === 'timestamp' ? fieldOfTimes(column.type.unit) : kind
    this.values = new this.form.array(1024)
  }

  staged({ records, place, step, count }: Fields): number {
    if (records.memory === undefined || this.field === undefined) return 0
    const known = this.commas?.makePoints({ records, place, step, count }) ?? count
    if (known === 0) return 0
    const { done, present, values } = records.memory.staged(this.field, { place, step, count: known, base: 0 })
    // the column's own kind of array
    this.values.set(values(this.form.array as unknown as new (buffer: ArrayBuffer, offset: number, length: number) => never), this.length)
    this.validity.appendAll(present, done)
    this.length += done
    return done
  }

  one(records: CsvRecords, place: number): boolean {
    const begin = records.bounds[place] as number // the records have bounds for every field
    const end = records.bounds[place + 1] as number
    if (begin !== end) {
      if (this.commas !== undefined && this.commas.makePoints({ records, place, step: 1, count: 1 }) === 0) return false
      const number =
        begin < 0 || this.column.type.kind !== 'f64' ? Number.NaN : plainNumber(records.bytes, begin, records.bounds[place + 1] as number)
      const stored = Number.isNaN(number) ? this.stored(records, place) : number
      if (stored === undefined) return false
      this.values[this.length] = stored as never // the form's own kind: number or bigint
    }
    this.validity.append(begin !== end)
    this.length++
    return true
  }

  /** The value of a field by its text; undefined where it is none. */
  private stored(records: CsvRecords, place: number): number | bigint | undefined {
    const { type, guessed } = this.column
    const field = records.text(place)
    if (field === QUOTED_EMPTY) return undefined
    if (type.kind === 'timestamp') return timestampOfText(field.trim(), type.unit)
    return this.form.store(valueOfField(field, type, guessed), type)
  }

  finish(): Column {
    return { type: this.column.type, length: this.length, values: this.values.slice(0, this.length), ...this.validity.finish() }
  }

  reserve({ count }: Fields): void {
    this.commas?.begin()
    if (this.length + count <= this.values.length) return
    const larger = new this.form.array(Math.max(2 * this.values.length, this.length + count))
    larger.set(this.values as never) // of one class
    this.values = larger
  }
}

/** Fields that are all empty. */
class NullReader implements CsvColumnReader {
  private length = 0
  private readonly column: CsvColumn

  constructor(column: CsvColumn) {
    this.column = column
  }

  staged(): number {
    return 0
  }

  one({ bounds }: CsvRecords, place: number): boolean {
    this.length++
    return bounds[place] === bounds[place + 1]
  }

  finish(): Column {
    return { type: this.column.type, length: this.length }
  }

  reserve(): void {
    // there are no values
  }
}

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

  staged({ records, place, step, count }: Fields): number {
    if (records.memory === undefined) return 0
    const { done, present, offsets, texts } = records.memory.staged('utf8', { place, step, count, base: this.used })
    if (done === 0) return 0
    this.offsets.set(offsets(), this.length + 1)
    this.length += done
    const end = this.offsets[this.length] as number // it was just set
    this.values.set(texts(end - this.used), this.used)
    this.used = end
    this.validity.appendAll(present, done)
    return done
  }

  one({ bytes, bounds, quote }: CsvRecords, place: number): boolean {
    const { values, validity } = this
    let { used } = this
    const begin = bounds[place] as number // the records have bounds for every field
    const end = bounds[place + 1] as number
    validity.append(begin !== end)
    if (begin >= 0)
      for (let b = begin; b < end; b++) values[used++] = bytes[b] as number // b < end
    else
      for (let b = ~begin; b < end; b++) {
        const byte = bytes[b] as number // b < end
        values[used++] = byte
        if (byte === quote) b++ // the second of two
      }
    this.offsets[++this.length] = used
    this.used = used
    return true
  }

  finish(): Column {
    const { type } = this.column
    const { length } = this
    return { type, length, values: this.values.slice(0, this.used), offsets: this.offsets.slice(0, length + 1), ...this.validity.finish() }
  }

  /** Makes room for fields with their bytes, those of doubled quotes included. */
  reserve({ records: { bounds }, place, step, count }: Fields): void {
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
