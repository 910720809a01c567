/**
 * Columns out of the decoder's memory, by the Arrow C data interface: no Arrow IPC message is written and read in between.
 *
 *     ArrowSchema, ArrowArray   structs in the decoder's memory, with addresses of the buffers that columns are made of
 *
 * Statement: a column that comes out of here is the one that a message would have brought. What is odd, or an error, does not come
 * out: the message brings it, or says what is wrong.
 *
 * https://arrow.apache.org/docs/format/CDataInterface.html
 */
import type { Column } from '../../core/data/column.ts'
import { DIGITS_KEPT, POWERS_OF_TEN } from '../../core/data/decimals.ts'
import { LARGEST_WHOLE } from '../../core/data/fixedValues.ts'
import type { ColumnType } from '../../core/data/schema.ts'
import type { Access, NumberKernels, Scratch } from '../../core/ports.ts'
import { smallDecimals } from '../decimals.ts'
import type { LeafChange } from './annotations.ts'
import type { ColumnDetail } from './describe.ts'
import type { Page } from './pages.ts'
import type { GroupPart } from './singleGroup.ts'

/** Byte offsets of the fields of ArrowSchema and ArrowArray, with addresses of 32 bits. */
const SCHEMA = { format: 0, children: 32, dictionary: 36 } as const

const ARRAY = { length: 0, nulls: 8, offset: 16, childCount: 32, buffers: 40, children: 44, dictionary: 48 } as const

/** Column types by the Arrow format strings that bring them without conversion (of bools, bits become bytes). */
const SAME: ReadonlyMap<string, ColumnType['kind']> = new Map([
  ['c', 'i8'],
  ['C', 'u8'],
  ['s', 'i16'],
  ['S', 'u16'],
  ['i', 'i32'],
  ['I', 'u32'],
  ['l', 'i64'],
  ['L', 'u64'],
  ['f', 'f32'],
  ['g', 'f64'],
  ['tdD', 'date'],
  ['b', 'bool'],
  ['u', 'utf8'],
  ['z', 'binary'],
])

/** A table of one batch that the decoder exported: the addresses of its ArrowSchema and ArrowArray in the decoder's memory. */
export interface Exported {
  readonly memory: WebAssembly.Memory
  readonly schema: number
  readonly array: number
}

/** The destinations of columns, and the kernels for them. Without `numbers`, 64-bit integers that become f64 come by a message. */
export type Destination = Pick<Access, 'into' | 'scratch' | 'numbers' | 'pages' | 'dictionaries'>

/**
 * Copies the columns, of `rows` rows each; undefined where one of them has to come by a message. Values in the decoder's memory may be
 * overwritten by their conversion; validity and texts are not.
 */
export function nativeColumns(
  { memory, schema, array }: Exported,
  details: readonly ColumnDetail[],
  rows: number,
  to: Destination = {},
): readonly Column[] | undefined {
  const view = new DataView(memory.buffer)
  if (wordAt(view, array + ARRAY.childCount) !== details.length) return undefined
  const columns: Column[] = []
  for (const [i, detail] of details.entries()) {
    const [child, field] = [childAt(view, array + ARRAY.children, i), childAt(view, schema + SCHEMA.children, i)]
    const { type, changes } = detail
    const isNested = type.kind === 'struct' || type.kind === 'list'
    const column = isNested
      ? nestedColumn(view, child, { field, memory, to: { scratch: to.scratch, numbers: to.numbers } }, { type, changes: [...changes] })
      : flatColumn(view, child, { field, memory, to, column: i }, detail)
    if (column?.length !== rows) return undefined
    columns.push(column)
  }
  return columns
}

function childAt(view: DataView, children: number, i: number): number {
  return wordAt(view, wordAt(view, children) + 4 * i)
}

function flatColumn(view: DataView, array: number, from: From, detail: LeafShape): Column | undefined {
  const { dictionary, ...found } = arrayAt(view, array, from)
  if (found.rows < 0 || (dictionary !== undefined && from.to.dictionaries !== true)) return undefined
  const column = dictionary === undefined ? columnOf(found, detail) : codedColumn(found, dictionary, detail)
  return column && withValidity(column, found)
}

function withValidity(column: Column, { validity }: Pick<Buffers, 'validity'>): Column {
  return validity === undefined ? column : { ...column, validity }
}

/** A column of structs or lists, or a part of one; takes the changes of its leaves off the front of `changes`. */
function nestedColumn(
  view: DataView,
  array: number,
  from: From,
  { type, changes }: { readonly type: ColumnType; readonly changes: (LeafChange | undefined)[] },
): Column | undefined {
  if (type.kind !== 'struct' && type.kind !== 'list') return flatColumn(view, array, from, { type, changes: [changes.shift()] })
  const found = arrayAt(view, array, from)
  const fields = type.kind === 'struct' ? type.fields.map((field) => field.type) : [type.item]
  const isThere = FORMATS[type.kind].includes(found.format) && wordAt(view, array + ARRAY.childCount) === fields.length
  if (found.rows < 0 || !isThere) return undefined
  const children: Column[] = []
  for (const [i, child] of fields.entries()) {
    const [at, field] = [childAt(view, array + ARRAY.children, i), childAt(view, from.field + SCHEMA.children, i)]
    const column = nestedColumn(view, at, { ...from, field }, { type: child, changes })
    if (column === undefined) return undefined
    children.push(column)
  }
  const { rows: length } = found
  const column = { type, length, children }
  if (type.kind === 'struct') return children.every((child) => child.length === length) ? withValidity(column, found) : undefined
  const offsets = offsetsOf(found)
  return offsets[0] === 0 && offsets[length] === children[0]?.length ? withValidity({ ...column, offsets }, found) : undefined
}

/** Arrow's formats of structs and lists; a map is a list of entries. */
const FORMATS: { readonly [K in 'struct' | 'list']: readonly string[] } = { struct: ['+s'], list: ['+l', '+m'] }

/** A view of the decoder's memory with the values of a table of one column of `length` single bytes; undefined for any other table. */
export function onlyBytes({ memory, schema, array }: Exported, length: number): Uint8Array | undefined {
  const view = new DataView(memory.buffer)
  if (wordAt(view, array + ARRAY.childCount) !== 1) return undefined
  const child = wordAt(view, wordAt(view, array + ARRAY.children))
  const field = wordAt(view, wordAt(view, schema + SCHEMA.children))
  const isBytes = formatAt(view, wordAt(view, field + SCHEMA.format)) === 'w:1' && wordAt(view, child + ARRAY.offset) === 0
  if (!isBytes || wordAt(view, child + ARRAY.length) !== length) return undefined
  return new Uint8Array(memory.buffer, wordAt(view, wordAt(view, child + ARRAY.buffers) + 4), length)
}

function wordAt(view: DataView, address: number): number {
  return view.getUint32(address, true)
}

interface From {
  readonly memory: WebAssembly.Memory
  readonly field: number
  readonly to: Destination
  /** The column's number among those that are read; absent for a dictionary. */
  readonly column?: number
}

/** The buffers of the ArrowArray at address `array`. `rows` is -1 where it begins at another value than its first: it comes by a message. */
function arrayAt(view: DataView, array: number, { memory, field, to, column }: From): Buffers & { readonly dictionary?: Buffers } {
  const { scratch = OWN, into, numbers } = to
  const rows = wordAt(view, array + ARRAY.offset) === 0 ? wordAt(view, array + ARRAY.length) : -1
  const buffers = wordAt(view, array + ARRAY.buffers)
  const isNullable = wordAt(view, array + ARRAY.nulls) !== 0
  const validity = isNullable ? { validity: copied(memory, wordAt(view, buffers), (rows + 7) >> 3, scratch) } : {}
  const values = (length: number): Uint8Array => {
    const room = column === undefined ? undefined : into?.(column)
    return room?.length === length ? room : scratch.bytes(length)
  }
  const own: Buffers = {
    format: formatAt(view, wordAt(view, field + SCHEMA.format)),
    memory,
    rows,
    first: wordAt(view, buffers + 4),
    second: () => wordAt(view, buffers + 8),
    scratch,
    values,
    numbers,
    ...validity,
  }
  const entries = wordAt(view, array + ARRAY.dictionary)
  if (entries === 0) return own
  return { ...own, dictionary: arrayAt(view, entries, { memory, field: wordAt(view, field + SCHEMA.dictionary), to: { scratch } }) }
}

const OWN: Scratch = { bytes: (length) => new Uint8Array(length) }

interface Buffers {
  readonly format: string
  readonly validity?: Uint8Array
  readonly memory: WebAssembly.Memory
  readonly rows: number
  readonly first: number
  readonly second: () => number
  readonly scratch: Scratch
  /** Returns room for values of so many bytes: the column's destination where it has that length, else scratch memory. */
  readonly values: (length: number) => Uint8Array
  readonly numbers: NumberKernels | undefined
}

/** A column of texts as dictionary codes; undefined for other types, and for dictionaries that hold nulls or begin at another entry than the first. */
function codedColumn(buffers: Buffers, entries: Buffers, { type, changes: [change] }: LeafShape): Column | undefined {
  const isText = type.kind === 'utf8' && (change === undefined || change.kind === 'type')
  if (!isText || buffers.format !== 'i' || entries.format !== 'u' || entries.rows < 0 || entries.validity !== undefined) return undefined
  const dictionary = { type, length: entries.rows, ...texts(entries) }
  return { type, length: buffers.rows, values: valuesOf('i', buffers), dictionary }
}

/** The type of a column without columns in it, and its change. */
type LeafShape = Pick<ColumnDetail, 'type' | 'changes'>

function columnOf(buffers: Buffers, { type, changes: [change] }: LeafShape): Column | undefined {
  const { format } = buffers
  const { rows } = buffers
  const isWide = format === 'l' || format === 'L'
  if (change?.kind === 'decimal') return format === 'i' ? decimals(type, change.scale, buffers) : wideDecimals(type, change.scale, buffers)
  if (change !== undefined && change.kind !== 'type') return undefined
  if (isWide && type.kind === 'f64') {
    if (type.integers === undefined) return undefined
    const isNumber = { signed: format === 'l', limit: LARGEST_WHOLE, divisor: 1 }
    return scaled(buffers, isNumber) ? { type, length: rows, values: valuesOf('g', buffers) } : undefined
  }
  const unit = /^ts([smun]):/.exec(format)?.[1]
  if (type.kind === 'timestamp' ? type.unit[0] !== unit : SAME.get(format) !== type.kind) return undefined
  switch (type.kind) {
    case 'bool':
      return { type, length: rows, values: bytesOfBits(buffers) }
    case 'utf8':
    case 'binary':
      return { type, length: rows, ...texts(buffers) }
    default:
      return { type, length: rows, values: valuesOf(format, buffers) }
  }
}

function valuesOf(format: string, { memory, rows, first, values }: Buffers): NonNullable<Column['values']> {
  const ArrayOfValues = VALUES.get(format) ?? BigInt64Array // timestamps
  const bytes = values(rows * ArrayOfValues.BYTES_PER_ELEMENT)
  bytes.set(new Uint8Array(memory.buffer, first, bytes.length))
  return new ArrayOfValues(bytes.buffer, bytes.byteOffset, rows)
}

/** Converts 64-bit integers to f64 in place; false without kernels, and where one of them, be it that of a null, is not between the limits. */
function scaled(
  { memory, first, rows, numbers }: Buffers,
  how: { readonly signed: boolean; readonly limit: number; readonly divisor: number },
): boolean {
  return numbers?.scaled(memory, { address: first, count: rows, ...how }) ?? false
}

type ArrayOf = {
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): NonNullable<Column['values']>
  BYTES_PER_ELEMENT: number
}

const VALUES: ReadonlyMap<string, ArrayOf> = new Map<string, ArrayOf>([
  ['c', Int8Array],
  ['C', Uint8Array],
  ['s', Int16Array],
  ['S', Uint16Array],
  ['i', Int32Array],
  ['I', Uint32Array],
  ['l', BigInt64Array],
  ['L', BigUint64Array],
  ['f', Float32Array],
  ['g', Float64Array],
  ['tdD', Int32Array],
])

function offsetsOf({ memory, rows, first, scratch }: Buffers): Int32Array {
  const source = new Int32Array(memory.buffer, first, rows + 1)
  const room = scratch.bytes(source.byteLength)
  const offsets = new Int32Array(room.buffer, room.byteOffset, rows + 1)
  offsets.set(source)
  return offsets
}

function texts(buffers: Buffers): Pick<Column, 'offsets' | 'values'> {
  const { memory, rows, second, scratch } = buffers
  const offsets = offsetsOf(buffers)
  const values = scratch.bytes(offsets[rows] as number)
  values.set(new Uint8Array(memory.buffer, second(), values.length))
  return { offsets, values }
}

function bytesOfBits({ memory, rows, first, values: room }: Buffers): Uint8Array {
  const bits = new Uint8Array(memory.buffer, first, (rows + 7) >> 3)
  const values = room(rows)
  for (let i = 0; i < rows; i++) values[i] = ((bits[i >> 3] as number) >> (i & 7)) & 1
  return values
}

function decimals(type: ColumnType, scale: number, { memory, rows, first, values: room }: Buffers): Column | undefined {
  const bytes = room(8 * rows)
  const values = new Float64Array(bytes.buffer, bytes.byteOffset, rows)
  const words = new Int32Array(memory.buffer, first, rows)
  return smallDecimals(words, { width: 1, scale }, values) ? { type, length: rows, values } : undefined
}

function wideDecimals(type: ColumnType, scale: number, buffers: Buffers): Column | undefined {
  const divisor = POWERS_OF_TEN[scale]
  if (buffers.format !== 'l' || divisor === undefined || !scaled(buffers, { signed: true, limit: DIGITS_KEPT, divisor })) return undefined
  return { type, length: buffers.rows, values: valuesOf('g', buffers) }
}

function copied(memory: WebAssembly.Memory, address: number, bytes: number, scratch: Scratch): Uint8Array {
  const room = scratch.bytes(bytes)
  room.set(new Uint8Array(memory.buffer, address, bytes))
  return room
}

function formatAt(view: DataView, address: number): string {
  let text = ''
  for (let at = address; view.getUint8(at) !== 0; at++) text += String.fromCharCode(view.getUint8(at))
  return text
}

/** A column of a row group that is ready to be decoded. */
export interface ReadyColumn {
  readonly name: string
  readonly detail: ColumnDetail
  readonly chunks: GroupPart['chunks']
  /** The pages of all chunks. */
  readonly pages: readonly Page[]
  /** Decoded size in bytes, by what the pages declare. */
  readonly likelyBytes: number
  /** Whether all its values are dictionary codes in the file. */
  readonly isCoded: boolean
}
