/** Builders of columns without child columns: values of one type and their validity bitmap. */
import { PlanError } from '../errors.ts'
import type { Column, TypedArray } from './column.ts'
import type { FixedForm } from './fixedValues.ts'
import type { ColumnType } from './schema.ts'
import { misfit, valueText } from './valueKinds.ts'

export interface ColumnBuilder {
  /** Appends a value; null and undefined become null. Throws PlanError for a value that does not fit. */
  append(value: unknown): void
  finish(): Column
}

/** A growing bitmap that exists only once there is a null. */
export class ValidityBuilder {
  private bits: Uint8Array | undefined
  private length = 0
  append(valid: boolean): void {
    const index = this.length++
    if (this.bits === undefined) {
      if (valid) return
      this.bits = new Uint8Array(Math.max(16, ((index >> 3) + 1) * 2))
      this.bits.fill(0xff, 0, index >> 3)
      this.bits[index >> 3] = (1 << (index & 7)) - 1
      return
    }
    if (index >> 3 >= this.bits.length) this.bits = grown(this.bits, this.bits.length * 2)
    if (valid) this.bits[index >> 3] = (this.bits[index >> 3] ?? 0) | (1 << (index & 7))
  }
  /** Appends `count` bits from `present`, a byte each, 0 for null; undefined means that none is null. */
  appendAll(present: Uint8Array | undefined, count: number): void {
    if (present === undefined && this.bits === undefined) this.length += count
    else for (let i = 0; i < count; i++) this.append(present?.[i] !== 0)
  }
  finish(): { readonly validity?: Uint8Array } {
    return this.bits === undefined ? {} : { validity: this.bits.slice(0, (this.length + 7) >> 3) }
  }
}

function grown(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(length)
  larger.set(bytes)
  return larger
}

export class NullBuilder implements ColumnBuilder {
  private length = 0
  private readonly name: string
  constructor(name: string) {
    this.name = name
  }
  append(value: unknown): void {
    if (value !== null && value !== undefined) throw misfit(this.name, { kind: 'null' }, value, this.length)
    this.length++
  }
  finish(): Column {
    return { type: { kind: 'null' }, length: this.length }
  }
}

export class ObjectBuilder implements ColumnBuilder {
  private readonly objects: unknown[] = []
  append(value: unknown): void {
    this.objects.push(value)
  }
  finish(): Column {
    return { type: { kind: 'object' }, length: this.objects.length, objects: this.objects }
  }
}

export class FixedBuilder implements ColumnBuilder {
  private values: TypedArray | BigUint64Array
  private length = 0
  private readonly validity = new ValidityBuilder()
  private readonly type: ColumnType
  private readonly form: FixedForm
  private readonly name: string
  constructor(type: ColumnType, form: FixedForm, name: string) {
    this.type = type
    this.form = form
    this.name = name
    this.values = new form.array(16)
  }
  append(value: unknown): void {
    if (this.length === this.values.length) {
      const larger = new this.form.array(this.length * 2)
      // both arrays come from one constructor
      larger.set(this.values as never)
      this.values = larger
    }
    if (value === null || value === undefined) {
      this.validity.append(false)
      this.length++
      return
    }
    const stored = this.form.store(value, this.type)
    if (stored === undefined) throw misfit(this.name, this.type, value, this.length)
    this.values[this.length++] = stored as never // the form's own kind: number or bigint
    this.validity.append(true)
  }
  finish(): Column {
    return { type: this.type, length: this.length, values: this.values.slice(0, this.length), ...this.validity.finish() }
  }
}

const encoder = new TextEncoder()

/** Bytes that are copied one by one sooner than a view of them is made. */
const SHORT_BYTES = 48

export class TextBuilder implements ColumnBuilder {
  private bytes: Uint8Array<ArrayBuffer> = new Uint8Array(64)
  private used = 0
  private offsets = new Int32Array(17)
  private length = 0
  private readonly validity = new ValidityBuilder()
  private readonly type: ColumnType
  private readonly name: string
  constructor(type: ColumnType, name: string) {
    this.type = type
    this.name = name
  }
  append(value: unknown): void {
    if (value === null || value === undefined) this.validity.append(false)
    else {
      if (typeof value === 'string' && this.type.kind === 'utf8') this.appendText(value)
      else if (value instanceof Uint8Array && this.type.kind === 'binary') this.appendBytes(value)
      else throw misfit(this.name, this.type, value, this.length)
      this.validity.append(true)
    }
    this.end()
  }
  private end(): void {
    this.length++
    if (this.length === this.offsets.length) {
      const larger = new Int32Array(this.length * 2)
      larger.set(this.offsets)
      this.offsets = larger
    }
    this.offsets[this.length] = this.used
  }
  /** Appends a text that is there in UTF-8, which the caller has checked. */
  appendUtf8(source: Uint8Array, from: number, to: number): void {
    const length = to - from
    this.reserve(length)
    if (length > SHORT_BYTES) this.bytes.set(source.subarray(from, to), this.used)
    else for (let i = 0; i < length; i++) this.bytes[this.used + i] = source[from + i] ?? 0
    this.used += length
    this.validity.append(true)
    this.end()
  }
  finish(): Column {
    return {
      type: this.type,
      length: this.length,
      values: this.bytes.slice(0, this.used),
      offsets: this.offsets.slice(0, this.length + 1),
      ...this.validity.finish(),
    }
  }
  private appendText(text: string): void {
    this.reserve(text.length * 3)
    const bytes = this.bytes
    let at = this.used
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code >= 128) {
        this.appendWideText(text)
        return
      }
      bytes[at++] = code
    }
    this.used = at
  }
  private appendWideText(text: string): void {
    // ES2024, present in Node 20
    if (!(text as string & { isWellFormed(): boolean }).isWellFormed()) {
      throw new PlanError(
        `Column "${this.name}" cannot hold the string ${valueText(text)} at row ${this.length}: it has half a surrogate pair, which UTF-8 cannot write.`,
      )
    }
    this.used += encoder.encodeInto(text, this.bytes.subarray(this.used)).written
  }
  private appendBytes(value: Uint8Array): void {
    this.reserve(value.length)
    this.bytes.set(value, this.used)
    this.used += value.length
  }
  private reserve(more: number): void {
    const needed = this.used + more
    if (needed <= this.bytes.length) return
    if (this.used + more / 3 > LARGEST_OFFSET) {
      throw new PlanError(`Column "${this.name}" has more than 2 GiB of text in one piece. Cut it with repartition({ partitions }).`)
    }
    this.bytes = grown(this.bytes, Math.max(needed, this.bytes.length * 2))
  }
}

/** The largest offset: offsets are signed 32-bit integers. */
export const LARGEST_OFFSET: number = 2 ** 31 - 1
