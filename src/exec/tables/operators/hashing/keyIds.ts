/**
 * Dense ids for keys: equal values (SameValueZero; dates by time, arrays and objects by content) get one id, and ids count
 * up in order of first appearance. Null is a value like any other; `nullKeys.ts` tells where it is.
 *
 *     encode ['b', 'a', 'b', null]   gives   [0, 1, 0, 2]
 *
 * Numbers and texts are hashed as they are stored; a struct's id is found from its fields' ids, a list's from its items'.
 */
import type { Column } from '../../../../core/data/column.ts'
import { valueReader } from '../../../../core/data/columnReaders.ts'
import { emptyColumn } from '../../../../core/data/columnSlices.ts'
import { type ColumnType, plainType, sameType, typeText } from '../../../../core/data/schema.ts'
import { valueText } from '../../../../core/data/valueKinds.ts'
import { Bug } from '../../../../core/errors.ts'
import { wordsOf } from '../../../kernels/js/typedLoops.ts'
import { ByteTable, type Piece, type TextIds, type Unknown, type WordIds, type Words, WordTable } from './keyTable.ts'

/** Makes hash tables and arrays of ids, in ordinary memory or in the arena. */
export interface IdTables {
  words(): WordIds
  texts(): TextIds
  /** An array for so many ids. */
  ids(length: number): Int32Array
}

const ORDINARY: IdTables = {
  words: () => new WordTable(),
  texts: () => new ByteTable(),
  ids: (length) => new Int32Array(length),
}

type Table =
  | { readonly kind: 'words'; readonly ids: WordIds }
  | { readonly kind: 'texts'; readonly ids: TextIds }
  | { readonly kind: 'contents'; readonly ids: Map<unknown, number> }

/** Encodes columns of one type; ids go on from column to column. */
export class KeyIds {
  private readonly type: ColumnType
  private readonly tables: IdTables
  private readonly children: readonly KeyIds[]
  private readonly table: Table
  /** For a struct: the tables of pairs that combine the ids of its first two fields, of these with the third, and so on. */
  private readonly pairs: readonly WordIds[]
  /** The id of null; -1 before the first one. */
  private nullId = -1

  constructor(type: ColumnType, tables: IdTables = ORDINARY) {
    this.type = type
    this.tables = tables
    const parts = type.kind === 'struct' ? type.fields.map((field) => field.type) : type.kind === 'list' ? [type.item] : []
    this.children = parts.map((part) => new KeyIds(part, tables))
    this.pairs = type.kind === 'struct' ? type.fields.slice(2).map(() => tables.words()) : []
    this.table = tableFor(type, tables)
  }

  get size(): number {
    return this.table.ids.size
  }

  /** The ids of the column's values; those not seen before get the next ones. */
  encode(column: Column): Int32Array {
    return this.ids(column, 'add')
  }

  /** The ids of the column's values, -1 for those not seen before. */
  lookUp(column: Column): Int32Array {
    return this.ids(column, 'missing')
  }

  private ids(column: Column, unknown: Unknown): Int32Array {
    if (!this.takes(column)) throw new Bug(`Keys of type ${typeText(column.type)} met keys of type ${typeText(this.type)}.`)
    const out = this.tables.ids(column.length)
    if (column.type.kind === 'null' || column.type.kind === 'unknown') {
      if (column.length > 0 && this.nullId < 0 && unknown === 'add') this.nullId = this.addNull()
      return out.fill(this.nullId)
    }
    const { length, validity } = column
    const encode = this.encoderOf(column, out, unknown)
    const first = validity === undefined ? -1 : firstNull(validity, length)
    if (validity === undefined || first < 0) {
      encode({ begin: 0, end: length, unknown })
      return out
    }
    encode({ begin: 0, end: first, unknown })
    if (this.nullId < 0 && unknown === 'add') this.nullId = this.addNull()
    encode({ begin: first, end: length, unknown, validity })
    for (let i = first; i < length; i++) if (((validity[i >> 3] as number) & (1 << (i & 7))) === 0) out[i] = this.nullId
    return out
  }

  /** Whether a column can be encoded: all nulls with any type, an empty column with an unknown type; fields and items check themselves. */
  private takes({ type, length }: Column): boolean {
    if (type.kind === 'null' || type.kind === 'unknown') return true
    if (this.type.kind === 'null' || this.type.kind === 'unknown') return length === 0
    const nested =
      type.kind === this.type.kind && (type.kind === 'list' || (type.kind === 'struct' && this.children.length === type.fields.length))
    return nested || sameType(plainType(type), plainType(this.type)) // values of one type may have other logical types in their files
  }

  private addNull(): number {
    return this.table.kind === 'contents' ? idIn(this.table.ids, null, 'add') : this.table.ids.addOutside()
  }

  /** A function that writes the ids of a piece of the column's values, leaving out nulls. */
  private encoderOf(column: Column, out: Int32Array, unknown: Unknown): (piece: Piece) => void {
    const { table } = this
    switch (table.kind) {
      case 'words': {
        const words = column.type.kind === 'struct' ? this.pairsOf(column, unknown) : wordsOfColumn(column)
        return (piece) => table.ids.encode(words, out, piece)
      }
      case 'texts': {
        const values = column.values instanceof Uint8Array ? column.values : new Uint8Array(0)
        const offsets = column.offsets ?? new Int32Array(column.length + 1)
        return (piece) => table.ids.encode(values, offsets, out, piece)
      }
      case 'contents': {
        const contents = this.contentsOf(column, unknown)
        return ({ begin, end, validity }) => {
          for (let i = begin; i < end; i++) {
            if (validity === undefined || ((validity[i >> 3] as number) & (1 << (i & 7))) !== 0)
              out[i] = idIn(table.ids, contents(i), unknown)
          }
        }
      }
    }
  }

  /** A struct's keys as pairs: the id of all fields but the last together, and the id of the last. */
  private pairsOf(column: Column, unknown: Unknown): Words {
    const none = (): Int32Array => this.tables.ids(column.length)
    const parts = this.children.map((child, i) => child.ids(column.children?.[i] ?? nullsOf(column.length), unknown))
    const last = parts.length < 2 ? none() : (parts.pop() as Int32Array) // two at least
    const first = parts.reduce((together, part, i) => {
      if (i === 0) return part
      const ids = none()
      this.pairs[i - 1]?.encode({ kind: 'pair', first: together, second: part }, ids, { begin: 0, end: ids.length, unknown })
      return ids
    }, none())
    return { kind: 'pair', first, second: last }
  }

  /** A function from a row of lists or objects to a value that is equal for equal contents. */
  private contentsOf(column: Column, unknown: Unknown): (index: number) => unknown {
    if (column.type.kind === 'list') {
      const items = this.children[0]?.ids(column.children?.[0] ?? emptyColumn(column.type.item), unknown) ?? new Int32Array(0)
      const offsets = column.offsets ?? new Int32Array(column.length + 1)
      return (i) => items.subarray(offsets[i], offsets[i + 1]).join(' ')
    }
    const read = valueReader(column)
    return (i) => contentOf(read(i))
  }
}

function tableFor(type: ColumnType, tables: IdTables): Table {
  switch (type.kind) {
    case 'utf8':
    case 'binary':
      return { kind: 'texts', ids: tables.texts() }
    case 'list':
    case 'object':
      return { kind: 'contents', ids: new Map() }
    case 'null':
    case 'unknown':
    case 'struct':
    case 'timestamp':
    case 'date':
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
    case 'bool':
      return { kind: 'words', ids: tables.words() }
  }
}

/** The stored words of a column of fixed width: equal exactly when the values are. */
function wordsOfColumn({ type, length, values }: Column): Words {
  const kind = wordsOf(type.kind)
  switch (kind) {
    case 'integer':
      return { kind, values: (values ?? new Int32Array(length)) as Int32Array } // the arrays of these types hold numbers
    case 'float':
      return { kind, values: (values ?? new Float64Array(length)) as Float64Array }
    case 'long':
      return { kind, values: (values ?? new BigInt64Array(length)) as BigInt64Array }
    case undefined:
      throw new Bug(`Keys of type ${typeText(type)} are not of a fixed width.`)
  }
}

function idIn(ids: Map<unknown, number>, content: unknown, unknown: Unknown): number {
  let id = ids.get(content)
  if (id === undefined) {
    if (unknown === 'missing') return -1
    id = ids.size
    ids.set(content, id)
  }
  return id
}

function nullsOf(length: number): Column {
  return { type: { kind: 'null' }, length }
}

function firstNull(validity: Uint8Array, length: number): number {
  for (let i = 0; i < length; i++) if (((validity[i >> 3] as number) & (1 << (i & 7))) === 0) return i
  return -1
}

/** A text that two cloneable values share exactly when their contents are equal. */
function contentOf(value: unknown): unknown {
  if (value instanceof Date) return `Date ${value.getTime()}`
  if (Array.isArray(value)) return `[${value.map((item) => String(contentOf(item))).join()}]`
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([name, item]) => `${JSON.stringify(name)}:${String(contentOf(item))}`)
      .join()}}`
  }
  return value === null || value === undefined
    ? null
    : typeof value === 'string'
      ? JSON.stringify(value)
      : valueText(Object.is(value, -0) ? 0 : value)
}

/** Rows by id, each id's rows in order: those of `id` are rows[starts[id]] to rows[starts[id + 1]]. */
export interface RowsById {
  readonly starts: Int32Array
  readonly rows: Int32Array
}

/** The places at which each id's rows begin where rows are put in order of their ids, and the number of all that have one. */
export function startsById(ids: Int32Array, size: number): Int32Array {
  const starts = new Int32Array(size + 1)
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i] as number // i < length
    if (id >= 0) starts[id + 1] = (starts[id + 1] as number) + 1
  }
  for (let id = 0; id < size; id++) starts[id + 1] = (starts[id + 1] as number) + (starts[id] as number)
  return starts
}

/** Groups rows by id with a counting sort; rows with a negative id are left out. */
export function rowsById(ids: Int32Array, size: number): RowsById {
  const starts = startsById(ids, size)
  const next = starts.slice()
  const rows = new Int32Array(starts[size] ?? 0)
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i] as number
    if (id < 0) continue
    const at = next[id] as number
    rows[at] = i
    next[id] = at + 1
  }
  return { starts, rows }
}

/** The first row of each id. */
export function firstRows(ids: Int32Array, size: number): Int32Array {
  const first = new Int32Array(size)
  for (let i = ids.length - 1; i >= 0; i--) first[ids[i] as number] = i
  return first
}
