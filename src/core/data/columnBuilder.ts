/**
 * Builders of columns, to which JavaScript values are appended one by one.
 *
 * Without a type the values decide: the first that is not null says what the column holds (number f64, bigint i64,
 * boolean, string utf8, Date timestamp in ms, Uint8Array binary, array list, plain object struct, recursively), and
 * all others must be of its kind. With a type every value must fit it.
 */
import { PlanError } from '../errors.ts'
import type { Column } from './column.ts'
import { FIXED_FORMS, isFixedKind } from './fixedValues.ts'
import { type ColumnBuilder, FixedBuilder, NullBuilder, ObjectBuilder, TextBuilder, ValidityBuilder } from './leafBuilders.ts'
import type { ColumnType, Field } from './schema.ts'
import { kindOfValue, misfit, mixedKinds, type ValueKind, valueText } from './valueKinds.ts'

/** Makes a builder; `name` is for messages. */
export function createBuilder(type?: ColumnType, name = 'value'): ColumnBuilder {
  return builderInside(type, name, 0)
}

/** Makes a builder for values inside of `depth` lists and structs. */
function builderInside(type: ColumnType | undefined, name: string, depth: number): ColumnBuilder {
  return type === undefined || type.kind === 'unknown' ? new InferringBuilder(name, depth) : builderOf(type, name)
}

/** The deepest nesting of values: deeper ones contain themselves, or would exhaust the stack of their readers. */
const DEEPEST = 100

/** Builds a column of the values; see `createBuilder`. */
export function columnFromValues(values: Iterable<unknown>, type?: ColumnType, name?: string): Column {
  const builder = createBuilder(type, name)
  for (const value of values) builder.append(value)
  return builder.finish()
}

/** A builder that starts as a column of nulls and takes the kind of the first value that is not null. */
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

export class ListBuilder implements ColumnBuilder {
  readonly child: ColumnBuilder
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
  /** Makes a list of the last `count` values that were appended to `child`. */
  appendItems(count: number): void {
    this.used += count
    this.validity.append(true)
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

export class StructBuilder implements ColumnBuilder {
  private readonly names: string[] = []
  readonly children: ColumnBuilder[] = []
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
      const keys = Object.keys(record)
      if (this.isUsual(keys)) {
        for (let i = 0; i < keys.length; i++) this.children[i]?.append(record[keys[i] as string])
        this.appendFields()
        return
      }
      if (this.fields === undefined) for (const key of keys) if (!this.positions.has(key)) this.addField(key, undefined)
      let known = 0
      for (let i = 0; i < this.children.length; i++) {
        const name = this.names[i] ?? ''
        const present = Object.hasOwn(record, name)
        if (present) known++
        this.children[i]?.append(present ? record[name] : null)
      }
      if (this.fields !== undefined && keys.length > known) {
        throw misfit(this.name, { kind: 'struct', fields: this.fields }, value, this.length)
      }
      this.validity.append(true)
    }
    this.length++
  }
  /** Whether the fields are those that are known, in their order. */
  private isUsual(keys: readonly string[]): boolean {
    const { names } = this
    if (keys.length !== names.length) return false
    for (let i = 0; i < keys.length; i++) if (keys[i] !== names[i]) return false
    return true
  }
  /** Makes a struct of the last values of `children`, each of which has one more by now. */
  appendFields(): void {
    this.validity.append(true)
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
