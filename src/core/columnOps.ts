/**
 * What is done with whole columns: read, take, slice, join end to end, convert.
 *
 * Everything here copies its result into ordinary ArrayBuffers, except `sliceColumn`, whose buffers are views of its
 * input's. Values follow `schema.ts`: null for null, bigint for i64, Date for timestamp, …
 */
import { type Batch, type Column, isValid, type TypedArray } from './column.ts'
import { columnFromValues, mixedKinds, valueText } from './columnBuilder.ts'
import { PlanError } from './errors.ts'
import { dateOfTimestamp, FIXED_FORMS, isFixedKind, MS_PER_DAY } from './fixedValues.ts'
import { type ColumnType, type Field, sameType, typeText } from './schema.ts'
import { textReader } from './textReader.ts'

export type ValueReader = (index: number) => unknown

/** Reads the elements of a column as JavaScript values. */
export function valueReader(column: Column): ValueReader {
  const read = presentReader(column)
  const validity = column.validity
  if (validity === undefined) return read
  return (index) => (((validity[index >> 3] ?? 0) & (1 << (index & 7))) === 0 ? null : read(index))
}

function presentReader(column: Column): ValueReader {
  const { type, values, children } = column
  switch (type.kind) {
    case 'null':
    case 'unknown':
      return () => null
    case 'object':
      return (index) => column.objects?.[index]
    case 'bool':
      return (index) => values?.[index] !== 0
    case 'date':
      return (index) => new Date(Number(values?.[index]) * MS_PER_DAY)
    case 'timestamp':
      return (index) => dateOfTimestamp(values?.[index] as bigint, type.unit)
    case 'utf8':
      return textReader(column)
    case 'binary': {
      const offsets = column.offsets ?? new Int32Array(1)
      const bytes = bytesOf(column)
      return (index) => bytes.slice(offsets[index], offsets[index + 1])
    }
    case 'list': {
      const offsets = column.offsets ?? new Int32Array(1)
      const item = valueReader(children?.[0] ?? emptyColumn(type.item))
      return (index) => {
        const items: unknown[] = []
        for (let i = offsets[index] ?? 0, end = offsets[index + 1] ?? 0; i < end; i++) items.push(item(i))
        return items
      }
    }
    case 'struct':
      return recordReader(
        type.fields.map((field) => field.name),
        children ?? [],
      )
    case 'f64':
    case 'f32':
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
    case 'i64':
    case 'u64':
    case 'time':
      return numberReader(values)
  }
}

/** One closure per array class, so that each stays monomorphic. */
function numberReader(values: Column['values']): ValueReader {
  if (values instanceof Float64Array) return (index) => values[index]
  if (values instanceof Int32Array) return (index) => values[index]
  if (values instanceof BigInt64Array) return (index) => values[index]
  if (values instanceof Float32Array) return (index) => values[index]
  return (index) => values?.[index]
}

function recordReader(names: readonly string[], columns: readonly Column[]): ValueReader {
  const readers = columns.map(valueReader)
  return (index) => {
    const record: Record<string, unknown> = {}
    for (let c = 0; c < readers.length; c++) define(record, names[c] ?? '', readers[c]?.(index))
    return record
  }
}

function define(record: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true })
  else record[name] = value
}

/** Reads the elements of a batch: an object with the fields for rows, the value itself for scalars. */
export function rowReader(batch: Batch): ValueReader {
  switch (batch.element.kind) {
    case 'row':
      return recordReader(
        batch.element.fields.map((field) => field.name),
        batch.columns,
      )
    case 'scalar': {
      const [column] = batch.columns
      return column === undefined ? () => null : valueReader(column)
    }
    case 'unknown':
      return () => null
  }
}

/** The elements at `indices`, in their order; -1 gives null. */
export function takeColumn(column: Column, indices: Int32Array): Column {
  const length = indices.length
  const validity = takenValidity(column, indices)
  const { type } = column
  const base = { type, length, ...(validity === undefined ? {} : { validity }) }
  switch (type.kind) {
    case 'null':
    case 'unknown':
      return { type, length }
    case 'object': {
      const objects = Array.from(indices, (index) => (index < 0 ? null : column.objects?.[index]))
      return { type, length, objects }
    }
    case 'struct':
      return { ...base, children: (column.children ?? []).map((child) => takeColumn(child, indices)) }
    case 'list': {
      const { offsets, sources } = takenRanges(column, indices)
      const child = column.children?.[0] ?? emptyColumn(type.item)
      return { ...base, offsets, children: [takeColumn(child, sources)] }
    }
    case 'utf8':
    case 'binary':
      return { ...base, ...takenBytes(column, indices) }
    default:
      return { ...base, values: takenValues(column.values ?? new Float64Array(0), indices) }
  }
}

function takenValues(values: TypedArray | BigUint64Array, indices: Int32Array): TypedArray | BigUint64Array {
  if (values instanceof Float64Array) return takeNumbers(values, indices, new Float64Array(indices.length))
  if (values instanceof Int32Array) return takeNumbers(values, indices, new Int32Array(indices.length))
  if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
    const out = values instanceof BigInt64Array ? new BigInt64Array(indices.length) : new BigUint64Array(indices.length)
    for (let i = 0; i < indices.length; i++) {
      const index = indices[i] ?? -1
      if (index >= 0) out[i] = values[index] ?? 0n
    }
    return out
  }
  const numbers = values as NumberArray // the 64-bit integers are handled above
  return takeNumbers(numbers, indices, new (numbers.constructor as new (length: number) => NumberArray)(indices.length))
}

type NumberArray = Exclude<TypedArray, BigInt64Array>

function takeNumbers<A extends NumberArray>(values: A, indices: Int32Array, out: A): A {
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i] as number // i < length
    if (index >= 0) out[i] = values[index] as number // indices lie inside the column
  }
  return out
}

function takenValidity(column: Column, indices: Int32Array): Uint8Array | undefined {
  const old = column.validity
  if (old === undefined && !indices.includes(-1)) return undefined
  const validity = new Uint8Array((indices.length + 7) >> 3)
  let nulls = 0
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i] as number // i < length
    if (index >= 0 && (old === undefined || ((old[index >> 3] as number) & (1 << (index & 7))) !== 0)) {
      validity[i >> 3] = (validity[i >> 3] as number) | (1 << (i & 7))
    } else nulls++
  }
  return nulls === 0 ? undefined : validity
}

function takenRanges(column: Column, indices: Int32Array): { offsets: Int32Array; sources: Int32Array } {
  const old = column.offsets ?? new Int32Array(1)
  const offsets = takenOffsets(old, indices, column.validity)
  const sources = new Int32Array(offsets[indices.length] ?? 0)
  let at = 0
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i] as number // i < length
    const length = (offsets[i + 1] as number) - (offsets[i] as number)
    for (let k = 0; k < length; k++) sources[at++] = (old[index] as number) + k
  }
  return { offsets, sources }
}

function takenOffsets(old: Int32Array, indices: Int32Array, validity: Uint8Array | undefined): Int32Array {
  const offsets = new Int32Array(indices.length + 1)
  let at = 0
  for (let i = 0; i < indices.length; i++) {
    const index = indices[i] as number // i < length
    const present = index >= 0 && (validity === undefined || ((validity[index >> 3] as number) & (1 << (index & 7))) !== 0)
    if (present) at += (old[index + 1] as number) - (old[index] as number)
    if (at > LARGEST_OFFSET)
      throw new PlanError('A column would hold more than 2 GiB of text in one piece. Cut the array with repartition({ partitions }).')
    offsets[i + 1] = at
  }
  return offsets
}

const LARGEST_OFFSET = 2 ** 31 - 1

function takenBytes(column: Column, indices: Int32Array): { values: Uint8Array; offsets: Int32Array } {
  const old = column.offsets ?? new Int32Array(1)
  const bytes = bytesOf(column)
  const offsets = takenOffsets(old, indices, column.validity)
  const values = new Uint8Array(offsets[indices.length] ?? 0)
  for (let i = 0; i < indices.length; i++) {
    const start = offsets[i] as number
    const length = (offsets[i + 1] as number) - start
    if (length === 0) continue
    const from = old[indices[i] as number] as number // length > 0: the index is not -1
    if (length > 24) values.set(bytes.subarray(from, from + length), start)
    else for (let k = 0; k < length; k++) values[start + k] = bytes[from + k] as number
  }
  return { values, offsets }
}

function bytesOf(column: Column): Uint8Array {
  return column.values instanceof Uint8Array ? column.values : new Uint8Array(0)
}

/** Elements `from` to `to` (exclusive); shares buffers except the validity bitmap. */
export function sliceColumn(column: Column, from: number, to: number): Column {
  if (from === 0 && to === column.length) return column
  const length = to - from
  const validity = column.validity === undefined ? undefined : sliceBits(column.validity, from, length)
  const base = { type: column.type, length, ...(validity === undefined ? {} : { validity }) }
  switch (column.type.kind) {
    case 'null':
    case 'unknown':
      return { type: column.type, length }
    case 'object':
      return { type: column.type, length, objects: column.objects?.slice(from, to) ?? [] }
    case 'struct':
      return { ...base, children: (column.children ?? []).map((child) => sliceColumn(child, from, to)) }
    case 'list':
      return { ...base, offsets: column.offsets?.subarray(from, to + 1) ?? new Int32Array(1), children: column.children ?? [] }
    case 'utf8':
    case 'binary':
      return { ...base, offsets: column.offsets?.subarray(from, to + 1) ?? new Int32Array(1), values: bytesOf(column) }
    default:
      return { ...base, values: column.values?.subarray(from, to) ?? new Float64Array(0) }
  }
}

/** `length` bits from bit `from` on, or undefined when all are set. */
function sliceBits(bits: Uint8Array, from: number, length: number): Uint8Array | undefined {
  const out = new Uint8Array((length + 7) >> 3)
  let nulls = 0
  for (let i = 0; i < length; i++) {
    if (((bits[(from + i) >> 3] as number) & (1 << ((from + i) & 7))) !== 0) out[i >> 3] = (out[i >> 3] as number) | (1 << (i & 7))
    else nulls++
  }
  return nulls === 0 ? undefined : out
}

/** A column of no elements. */
export function emptyColumn(type: ColumnType): Column {
  return columnFromValues([], type)
}

/** A column of `length` nulls. */
export function nullColumn(type: ColumnType, length: number): Column {
  return takeColumn(emptyColumn(type), new Int32Array(length).fill(-1))
}

/** The columns end to end. Nulls take the others' type, numbers of different types become f64; else PlanError. */
export function concatColumns(columns: readonly Column[], name = 'value'): Column {
  const [first] = columns
  if (first === undefined) return emptyColumn({ kind: 'null' })
  if (columns.length === 1) return first
  const type = columns.map((column) => column.type).reduce((a, b) => unifyTypes(a, b, name))
  const parts = columns.map((column) => convertColumn(column, type))
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const validity = joinedValidity(parts, length)
  const base = { type, length, ...(validity === undefined ? {} : { validity }) }
  switch (type.kind) {
    case 'null':
    case 'unknown':
      return { type, length }
    case 'object':
      return { type, length, objects: parts.flatMap((part) => part.objects ?? []) }
    case 'struct':
      return {
        ...base,
        children: type.fields.map((field, i) =>
          concatColumns(
            parts.map((part) => part.children?.[i] ?? nullColumn(field.type, part.length)),
            `${name}.${field.name}`,
          ),
        ),
      }
    case 'list': {
      const trimmed = parts.map((part) => {
        const child = part.children?.[0] ?? emptyColumn(type.item)
        return sliceColumn(child, part.offsets?.[0] ?? 0, part.offsets?.[part.length] ?? 0)
      })
      return { ...base, offsets: joinedOffsets(parts, length), children: [concatColumns(trimmed, `${name}[]`)] }
    }
    case 'utf8':
    case 'binary': {
      const whole = adjoiningTexts(parts)
      if (whole !== undefined) return { ...base, ...whole }
      const offsets = joinedOffsets(parts, length)
      const values = new Uint8Array(offsets[length] ?? 0)
      let at = 0
      for (const part of parts) {
        const bytes = bytesOf(part).subarray(part.offsets?.[0] ?? 0, part.offsets?.[part.length] ?? 0)
        values.set(bytes, at)
        at += bytes.length
      }
      return { ...base, offsets, values }
    }
    default: {
      if (!isFixedKind(type.kind)) return { type, length }
      const whole = adjoining(parts.map((part) => part.values))
      if (whole?.length === length) return { ...base, values: whole }
      const values = new FIXED_FORMS[type.kind].array(length)
      let at = 0
      for (const part of parts) {
        // parts were converted to one type, hence one array class
        if (part.values !== undefined) values.set(part.values.subarray(0, part.length) as never, at)
        at += part.length
      }
      return { ...base, values }
    }
  }
}

/** Whether `concatColumns` gives views of the parts' own buffers. */
export function isConcatFree(parts: readonly Column[]): boolean {
  const [first] = parts
  if (first === undefined || parts.some((part) => part.validity !== undefined || !sameType(part.type, first.type))) return false
  if (parts.length === 1) return true
  if (first.type.kind === 'utf8' || first.type.kind === 'binary') return adjoiningTexts(parts) !== undefined
  return isFixedKind(first.type.kind) && adjoining(parts.map((part) => part.values)) !== undefined
}

/** The views as one, where each begins at the end of the one before: slices of one buffer. `overlap`: elements that neighbours share. */
function adjoining<A extends NonNullable<Column['values']>>(views: readonly (A | undefined)[], overlap = 0): A | undefined {
  const [first] = views
  if (first === undefined || first.buffer.byteLength === first.byteLength) return undefined
  let end = first.byteOffset
  let length = overlap
  for (const view of views) {
    if (view === undefined || view.buffer !== first.buffer || view.byteOffset !== end) return undefined
    length += view.length - overlap
    end = view.byteOffset + view.byteLength - overlap * view.BYTES_PER_ELEMENT
  }
  const ArrayOfFirst = first.constructor as new (buffer: ArrayBufferLike, byteOffset: number, length: number) => A // its own class
  return new ArrayOfFirst(first.buffer, first.byteOffset, length)
}

function adjoiningTexts(parts: readonly Column[]): { readonly values: Uint8Array; readonly offsets: Int32Array } | undefined {
  const [first] = parts
  const bytes = first === undefined ? undefined : bytesOf(first)
  const same = (part: Column): boolean =>
    part.values?.buffer === bytes?.buffer && part.values?.byteOffset === bytes?.byteOffset && part.values?.length === bytes?.length
  if (bytes === undefined || !parts.every(same) || parts.some((part) => part.offsets?.length !== part.length + 1)) return undefined
  const offsets = adjoining(
    parts.map((part) => part.offsets),
    1,
  )
  return offsets === undefined ? undefined : { values: bytes, offsets }
}

function joinedValidity(parts: readonly Column[], length: number): Uint8Array | undefined {
  if (parts.every((part) => part.validity === undefined)) return undefined
  const validity = new Uint8Array((length + 7) >> 3)
  let at = 0
  for (const part of parts) {
    for (let i = 0; i < part.length; i++, at++) {
      if (isValid(part, i)) validity[at >> 3] = (validity[at >> 3] as number) | (1 << (at & 7))
    }
  }
  return validity
}

function joinedOffsets(parts: readonly Column[], length: number): Int32Array {
  const offsets = new Int32Array(length + 1)
  let at = 0
  let base = 0
  for (const part of parts) {
    const old = part.offsets ?? new Int32Array(1)
    const shift = base - (old[0] ?? 0)
    if (base + (old[part.length] ?? 0) - (old[0] ?? 0) > LARGEST_OFFSET) {
      throw new PlanError('A column would hold more than 2 GiB of text in one piece. Cut the array with repartition({ partitions }).')
    }
    for (let i = 1; i <= part.length; i++) offsets[++at] = (old[i] as number) + shift
    base = offsets[at] ?? 0
  }
  return offsets
}

/** Number types whose every value is an f64. */
const NUMBERS: ReadonlySet<ColumnType['kind']> = new Set(['f64', 'f32', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8'])
const FINER = { s: 0, ms: 1, us: 2, ns: 3 } as const

/** The one type that holds the values of both; PlanError naming the column when there is none. */
export function unifyTypes(a: ColumnType, b: ColumnType, name: string): ColumnType {
  if (sameType(a, b)) return a
  if (a.kind === 'unknown') return b
  if (b.kind === 'unknown') return a
  if (a.kind === 'null') return b
  if (b.kind === 'null') return a
  if (a.kind === 'object' || b.kind === 'object') return { kind: 'object' }
  if (NUMBERS.has(a.kind) && NUMBERS.has(b.kind)) return { kind: 'f64' }
  if (a.kind === 'timestamp' && b.kind === 'timestamp') return FINER[a.unit] >= FINER[b.unit] ? a : b
  if (a.kind === 'list' && b.kind === 'list') return { kind: 'list', item: unifyTypes(a.item, b.item, `${name}[]`) }
  if (a.kind === 'struct' && b.kind === 'struct') return { kind: 'struct', fields: unifyFields(a.fields, b.fields, name) }
  throw mixedKinds(name, kindText(a), kindText(b))
}

/** The kinds of values as `mixedKinds` names them. */
function kindText(type: ColumnType): string {
  switch (type.kind) {
    case 'f64':
      return 'number'
    case 'i64':
      return 'bigint'
    case 'bool':
      return 'boolean'
    case 'utf8':
      return 'string'
    case 'timestamp':
      return 'Date'
    case 'binary':
      return 'Uint8Array'
    case 'list':
      return 'array'
    case 'struct':
      return 'object'
    default:
      return typeText(type)
  }
}

/** Fields of both in order of first appearance; what one side lacks is nullable. */
export function unifyFields(a: readonly Field[], b: readonly Field[], name = ''): readonly Field[] {
  const path = (field: string) => (name === '' ? field : `${name}.${field}`)
  const merged = a.map((field): Field => {
    const other = b.find((candidate) => candidate.name === field.name)
    if (other === undefined) return { ...field, nullable: true }
    return { name: field.name, type: unifyTypes(field.type, other.type, path(field.name)), nullable: field.nullable || other.nullable }
  })
  const added = b.filter((field) => !a.some((known) => known.name === field.name))
  return [...merged, ...added.map((field) => ({ ...field, nullable: true }))]
}

/** Widens a column to a type that `unifyTypes` gave for it: no value changes. */
export function convertColumn(column: Column, type: ColumnType): Column {
  if (sameType(column.type, type)) return column
  if (column.type.kind === 'null' || column.type.kind === 'unknown') return nullColumn(type, column.length)
  if (type.kind === 'struct' && column.type.kind === 'struct') {
    const old = column.type.fields
    const children = type.fields.map((field) => {
      const child = column.children?.[old.findIndex((candidate) => candidate.name === field.name)]
      return child === undefined ? nullColumn(field.type, column.length) : convertColumn(child, field.type)
    })
    return { ...column, type, children }
  }
  if (type.kind === 'list' && column.type.kind === 'list') {
    const child = column.children?.[0] ?? emptyColumn(column.type.item)
    return { ...column, type, children: [convertColumn(child, type.item)] }
  }
  if (type.kind === 'f64' && column.values !== undefined) {
    // NUMBERS: every array class here holds numbers
    return { ...column, type, values: Float64Array.from(column.values as Float64Array) }
  }
  const read = valueReader(column)
  return columnFromValues(
    Array.from({ length: column.length }, (_, i) => read(i)),
    type,
  )
}

/** How many of a type's values `castColumn` accepts, for messages. */
function rangeText(type: ColumnType): string {
  return isFixedKind(type.kind) ? `Values of ${type.kind} are ${FIXED_FORMS[type.kind].range}.` : ''
}

/**
 * Every value as `type`, or a PlanError naming the first value that does not fit and its row (`firstRow` + index).
 * Digits are never lost but for f64 to f32, which rounds.
 */
export function castColumn(column: Column, type: ColumnType, firstRow = 0): Column {
  if (sameType(column.type, type)) return column
  if (column.type.kind === 'null') return nullColumn(type, column.length)
  const convert = castOf(column.type, type)
  if (convert === undefined) {
    throw new PlanError(
      `Cannot cast ${typeText(column.type)} to ${typeText(type)}. Convert the values with map, for example (v) => Number(v).`,
    )
  }
  const read = valueReader(column)
  const values: unknown[] = new Array(column.length)
  const store = isFixedKind(type.kind) ? FIXED_FORMS[type.kind].store : undefined
  for (let i = 0; i < column.length; i++) {
    const value = read(i)
    if (value === null) continue
    const converted = convert(value)
    if (converted === undefined || (store !== undefined && store(converted, type) === undefined)) {
      throw new PlanError(`Cannot cast ${valueText(value)} at row ${firstRow + i} to ${typeText(type)}. ${rangeText(type)}`)
    }
    values[i] = converted
  }
  return columnFromValues(values, type)
}

type Convert = (value: unknown) => unknown
const EXACT: ReadonlySet<ColumnType['kind']> = new Set(['i64', 'u64', 'time'])

function castOf(from: ColumnType, to: ColumnType): Convert | undefined {
  const numeric = NUMBERS.has(from.kind) || EXACT.has(from.kind) || from.kind === 'bool'
  if (!numeric) return undefined
  const asNumber: Convert = (value) => (typeof value === 'boolean' ? Number(value) : value)
  if (EXACT.has(to.kind)) return asNumber
  if (to.kind === 'bool') return (value) => (typeof value === 'bigint' ? Number(value) : value)
  if (!NUMBERS.has(to.kind)) return undefined
  const exact: Convert = (value) => {
    const number = typeof value === 'bigint' ? Number(value) : asNumber(value)
    return typeof value === 'bigint' && BigInt(number as number) !== value ? undefined : number
  }
  if (to.kind !== 'f32' || from.kind === 'f64') return exact
  return (value) => {
    const number = exact(value)
    return typeof number === 'number' && Number.isFinite(number) && Math.fround(number) !== number ? undefined : number
  }
}
