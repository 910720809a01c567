/**
 * Columns out of JavaScript values, one appended after another.
 *
 * Without a type the values decide: the first that is not null says what the column holds (number f64, bigint i64,
 * boolean, string utf8, Date timestamp in ms, Uint8Array binary, array list, plain object struct, recursively), and
 * all others must be of its kind. With a type every value must fit it.
 */

import { PlanError } from '../errors.ts'
import type { Column, TypedArray } from './column.ts'
import { FIXED_FORMS, type FixedForm, isFixedKind } from './fixedValues.ts'
import type { ColumnType, Field } from './schema.ts'
import { typeText } from './schema.ts'

export interface ColumnBuilder {
  /** Null and undefined become null. Throws PlanError for a value that does not fit. */
  append(value: unknown): void
  finish(): Column
}

/** A builder; `name` is for messages. */
export function createBuilder(type?: ColumnType, name = 'value'): ColumnBuilder {
  return builderInside(type, name, 0)
}

/** The same, inside of so many lists and structs. */
function builderInside(type: ColumnType | undefined, name: string, depth: number): ColumnBuilder {
  return type === undefined || type.kind === 'unknown' ? new InferringBuilder(name, depth) : builderOf(type, name)
}

/** Deeper values hold themselves, or would exhaust the stack of those who read them. */
const DEEPEST = 100

/** A column of values; see `createBuilder`. */
export function columnFromValues(values: Iterable<unknown>, type?: ColumnType, name?: string): Column {
  const builder = createBuilder(type, name)
  for (const value of values) builder.append(value)
  return builder.finish()
}

/** What a value is to a column; undefined for what no column holds (functions, symbols, class instances). */
export type ValueKind = 'null' | 'number' | 'bigint' | 'boolean' | 'string' | 'Date' | 'Uint8Array' | 'array' | 'object'

export function kindOfValue(value: unknown): ValueKind | undefined {
  switch (typeof value) {
    case 'number':
    case 'bigint':
    case 'boolean':
    case 'string':
      return typeof value as 'number' | 'bigint' | 'boolean' | 'string' // TypeScript does not narrow typeof of unknown
    case 'undefined':
      return 'null'
    case 'symbol':
    case 'function':
      return undefined
    case 'object':
      if (value === null) return 'null'
      if (Array.isArray(value)) return 'array'
      if (value instanceof Date) return 'Date'
      if (value instanceof Uint8Array) return 'Uint8Array'
      if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return 'array'
      return isPlainObject(value) ? 'object' : undefined
  }
}

function isPlainObject(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}

/** A value in a message: short, strings quoted. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number' && Object.is(value, -0)) return '-0'
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString()
  if (value instanceof Uint8Array) return 'a Uint8Array'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'symbol') return 'a symbol'
  if (typeof value === 'object' && value !== null) {
    const name = (value.constructor as { name?: string } | undefined)?.name
    return name === undefined || name === 'Object' ? 'an object' : `an instance of ${name}`
  }
  return String(value)
}

function misfit(name: string, type: ColumnType, value: unknown, index: number): PlanError {
  return new PlanError(`Column "${name}" is ${typeText(type)}, and the value ${valueText(value)} at row ${index} does not fit it.`)
}

/** Starts as a column of nulls and becomes a builder of the first kind that comes. */
class InferringBuilder implements ColumnBuilder {
  private nulls = 0
  private builder: ColumnBuilder | undefined
  private kind: ValueKind = 'null'
  private readonly name: string
  private readonly depth: number
  constructor(name: string, depth = 0) {
    this.name = name
    this.depth = depth
  }

  append(value: unknown): void {
    if (value === null || value === undefined) {
      if (this.builder === undefined) this.nulls++
      else this.builder.append(null)
      return
    }
    const kind = kindOfValue(value)
    if (kind !== this.kind || this.builder === undefined) {
      if (kind === undefined) {
        throw new PlanError(
          `Column "${this.name}" cannot hold ${valueText(value)}. Columns hold numbers, bigints, booleans, strings, dates, Uint8Arrays, arrays and plain objects.`,
        )
      }
      if (this.builder !== undefined) throw mixedKinds(this.name, this.kind, kind)
      this.builder = this.builderFor(kind)
      this.kind = kind
      for (let i = 0; i < this.nulls; i++) this.builder.append(null)
    }
    this.builder.append(value)
  }

  finish(): Column {
    return this.builder?.finish() ?? { type: { kind: 'null' }, length: this.nulls }
  }

  private builderFor(kind: ValueKind): ColumnBuilder {
    if (this.depth >= DEEPEST && (kind === 'array' || kind === 'object')) {
      throw new PlanError(
        `Column "${this.name.slice(0, 40)}…" holds a value of more than ${DEEPEST} lists and objects inside one another, or one that holds itself. Give the parts that are needed columns of their own.`,
      )
    }
    switch (kind) {
      case 'null':
        return new NullBuilder(this.name)
      case 'number':
        return new FixedBuilder({ kind: 'f64' }, FIXED_FORMS.f64, this.name)
      case 'bigint':
        return new FixedBuilder({ kind: 'i64' }, FIXED_FORMS.i64, this.name)
      case 'boolean':
        return new FixedBuilder({ kind: 'bool' }, FIXED_FORMS.bool, this.name)
      case 'Date':
        return new FixedBuilder({ kind: 'timestamp', unit: 'ms' }, FIXED_FORMS.timestamp, this.name)
      case 'string':
        return new TextBuilder({ kind: 'utf8' }, this.name)
      case 'Uint8Array':
        return new TextBuilder({ kind: 'binary' }, this.name)
      case 'array':
        return new ListBuilder(undefined, this.name, this.depth + 1)
      case 'object':
        return new StructBuilder(undefined, this.name, this.depth + 1)
    }
  }
}

/** The error of a column whose values are of two kinds. */
export function mixedKinds(name: string, a: string, b: string): PlanError {
  const lists = name.endsWith('[]')
  return new PlanError(
    `Column "${name}" mixes ${a} and ${b}. A column holds values of one kind${lists ? ', and so does an array in it' : ''}: convert one of them, for example with String(…)${lists ? ', or return an object, whose fields may differ, as ({ name: r.name, size: r.size })' : ''}.`,
  )
}

function builderOf(type: ColumnType, name: string): ColumnBuilder {
  switch (type.kind) {
    case 'utf8':
    case 'binary':
      return new TextBuilder(type, name)
    case 'null':
      return new NullBuilder(name)
    case 'list':
      return new ListBuilder(type.item, name)
    case 'struct':
      return new StructBuilder(type.fields, name)
    case 'object':
      return new ObjectBuilder()
    case 'unknown':
      return new InferringBuilder(name)
    case 'f64':
    case 'f32':
    case 'i64':
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
    case 'bool':
    case 'u64':
    case 'date':
    case 'timestamp':
    case 'time':
      if (!isFixedKind(type.kind)) throw misfit(name, type, undefined, 0)
      return new FixedBuilder(type, FIXED_FORMS[type.kind], name)
  }
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
  /** A byte each: 0 for one that is null; undefined where none is. */
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

class NullBuilder implements ColumnBuilder {
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

class ObjectBuilder implements ColumnBuilder {
  private readonly objects: unknown[] = []
  append(value: unknown): void {
    this.objects.push(value)
  }
  finish(): Column {
    return { type: { kind: 'object' }, length: this.objects.length, objects: this.objects }
  }
}

class FixedBuilder implements ColumnBuilder {
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

class TextBuilder implements ColumnBuilder {
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
    this.length++
    if (this.length === this.offsets.length) {
      const larger = new Int32Array(this.length * 2)
      larger.set(this.offsets)
      this.offsets = larger
    }
    this.offsets[this.length] = this.used
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

/** Offsets are signed 32-bit numbers. */
export const LARGEST_OFFSET: number = 2 ** 31 - 1

class ListBuilder implements ColumnBuilder {
  private readonly child: ColumnBuilder
  private offsets = [0]
  private used = 0
  private readonly validity = new ValidityBuilder()
  private readonly item: ColumnType | undefined
  private readonly name: string
  constructor(item: ColumnType | undefined, name: string, depth = 0) {
    this.item = item
    this.name = name
    this.child = builderInside(item, `${name}[]`, depth)
  }
  append(value: unknown): void {
    if (value === null || value === undefined) this.validity.append(false)
    else {
      if (kindOfValue(value) !== 'array')
        throw misfit(this.name, { kind: 'list', item: this.item ?? { kind: 'null' } }, value, this.offsets.length - 1)
      const items = value as ArrayLike<unknown> // kindOfValue says array or typed array
      for (let i = 0; i < items.length; i++) this.child.append(items[i])
      this.used += items.length
      this.validity.append(true)
    }
    this.offsets.push(this.used)
  }
  finish(): Column {
    const child = this.child.finish()
    return {
      type: { kind: 'list', item: child.type },
      length: this.offsets.length - 1,
      offsets: Int32Array.from(this.offsets),
      children: [child],
      ...this.validity.finish(),
    }
  }
}

class StructBuilder implements ColumnBuilder {
  private readonly names: string[] = []
  private readonly children: ColumnBuilder[] = []
  private readonly positions = new Map<string, number>()
  private length = 0
  private readonly validity = new ValidityBuilder()
  private readonly fields: readonly Field[] | undefined
  private readonly name: string
  private readonly depth: number
  constructor(fields: readonly Field[] | undefined, name: string, depth = 0) {
    this.fields = fields
    this.name = name
    this.depth = depth
    for (const field of fields ?? []) this.addField(field.name, field.type)
  }
  append(value: unknown): void {
    if (value === null || value === undefined) {
      this.validity.append(false)
      for (const child of this.children) child.append(null)
    } else {
      if (kindOfValue(value) !== 'object') throw misfit(this.name, { kind: 'struct', fields: this.fields ?? [] }, value, this.length)
      const record = value as Readonly<Record<string, unknown>> // kindOfValue says plain object
      if (this.fields === undefined) for (const key of Object.keys(record)) if (!this.positions.has(key)) this.addField(key, undefined)
      let known = 0
      for (let i = 0; i < this.children.length; i++) {
        const name = this.names[i] ?? ''
        const present = Object.hasOwn(record, name)
        if (present) known++
        this.children[i]?.append(present ? record[name] : null)
      }
      if (this.fields !== undefined && Object.keys(record).length > known) {
        throw misfit(this.name, { kind: 'struct', fields: this.fields }, value, this.length)
      }
      this.validity.append(true)
    }
    this.length++
  }
  finish(): Column {
    const children = this.children.map((child) => child.finish())
    const fields = children.map((child, i) => ({
      name: this.names[i] ?? '',
      type: child.type,
      nullable: this.fields?.[i]?.nullable ?? hasNulls(child),
    }))
    return { type: { kind: 'struct', fields }, length: this.length, children, ...this.validity.finish() }
  }
  private addField(name: string, type: ColumnType | undefined): void {
    const child = builderInside(type, `${this.name}.${name}`, this.depth)
    for (let i = 0; i < this.length; i++) child.append(null)
    this.positions.set(name, this.names.length)
    this.names.push(name)
    this.children.push(child)
  }
}

/** Whether a column may hold a null. */
export function hasNulls(column: Column): boolean {
  return column.validity !== undefined || (column.type.kind === 'null' && column.length > 0)
}
