/**
 * Small integers for values: equal values (SameValueZero; dates by time, arrays and objects by content) get one id,
 * ids count up in order of first appearance. Null is a value like any other; `nullMask` tells where it is.
 *
 *     encode ['b', 'a', 'b', null]   gives   [0, 1, 0, 2]
 *
 * A struct's id is found from its fields' ids, a list's from its items'; no value is printed or compared deeply.
 */
import { type Column, isValid } from '../../core/column.ts'
import { valueText } from '../../core/columnBuilder.ts'
import { emptyColumn, valueReader } from '../../core/columnOps.ts'
import { Bug } from '../../core/errors.ts'
import { type ColumnType, sameType, typeText } from '../../core/schema.ts'

/** Encodes columns of one type; ids go on from column to column. */
export class KeyIds {
  size = 0
  private readonly type: ColumnType
  private readonly ids = new Map<unknown, number>()
  private readonly children: readonly KeyIds[]

  constructor(type: ColumnType) {
    this.type = type
    this.children =
      type.kind === 'struct' ? type.fields.map((field) => new KeyIds(field.type)) : type.kind === 'list' ? [new KeyIds(type.item)] : []
  }

  encode(column: Column): Int32Array {
    if (!this.takes(column)) throw new Bug(`Keys of type ${typeText(column.type)} met keys of type ${typeText(this.type)}.`)
    const out = new Int32Array(column.length)
    const { validity } = column
    const present = this.presentIds(column)
    for (let i = 0; i < out.length; i++) {
      out[i] = validity === undefined || ((validity[i >> 3] as number) & (1 << (i & 7))) !== 0 ? present(i) : this.idOf(null)
    }
    return out
  }

  /** Columns of nothing but nulls go with any type, and empty ones with the type that is not known; children answer for themselves. */
  private takes({ type, length }: Column): boolean {
    if (type.kind === 'null' || type.kind === 'unknown') return true
    if (this.type.kind === 'null' || this.type.kind === 'unknown') return length === 0
    const nested =
      type.kind === this.type.kind && (type.kind === 'list' || (type.kind === 'struct' && this.children.length === type.fields.length))
    return nested || sameType(type, this.type)
  }

  private presentIds(column: Column): (index: number) => number {
    const { type, values } = column
    switch (type.kind) {
      case 'struct':
        return this.structIds(column)
      case 'list': {
        const items = this.children[0]?.encode(column.children?.[0] ?? emptyColumn(type.item)) ?? new Int32Array(0)
        const offsets = column.offsets ?? new Int32Array(1)
        return (i) => this.idOf(items.subarray(offsets[i], offsets[i + 1]).join(' '))
      }
      case 'binary': {
        const read = valueReader(column)
        return (i) => this.idOf((read(i) as Uint8Array).join(' ')) // a binary column reads as bytes
      }
      case 'object': {
        const read = valueReader(column)
        return (i) => this.idOf(contentOf(read(i)))
      }
      case 'utf8':
      case 'null':
      case 'unknown': {
        const read = valueReader(column)
        return (i) => this.idOf(read(i))
      }
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
        // what is stored is equal exactly when the values are; Map keys are compared by SameValueZero
        return (i) => this.idOf(values?.[i])
    }
  }

  /** Field by field: the ids of the first fields together, then with the next. */
  private structIds(column: Column): (index: number) => number {
    const parts = this.children.map((child, i) => child.encode(column.children?.[i] ?? emptyColumn({ kind: 'null' })))
    const [only] = parts
    if (only === undefined) return () => this.idOf('')
    if (parts.length === 1) return (i) => this.idOf(only[i])
    const key = new Array<number>(parts.length)
    if (parts.length === 2) {
      const second = parts[1] as Int32Array // two parts
      // exact below 2^53: 2^21 first ids times 2^32; strings beyond, which no number equals
      return (i) =>
        this.idOf((only[i] as number) < 2 ** 21 ? (only[i] as number) * 2 ** 32 + (second[i] as number) : `${only[i]} ${second[i]}`)
    }
    return (i) => {
      for (let p = 0; p < parts.length; p++) key[p] = parts[p]?.[i] as number
      return this.idOf(key.join(' '))
    }
  }

  private idOf(key: unknown): number {
    let id = this.ids.get(key)
    if (id === undefined) {
      id = this.size++
      this.ids.set(key, id)
    }
    return id
  }
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

/** Where a key is null, or one of the parts of a key of several parts is; undefined where none is. */
export function nullMask(column: Column): Uint8Array | undefined {
  const parts = column.type.kind === 'struct' ? [column, ...(column.children ?? [])] : [column]
  const nullable = parts.filter((part) => part.validity !== undefined || part.type.kind === 'null')
  if (nullable.length === 0) return undefined
  const mask = new Uint8Array(column.length)
  for (const part of nullable) {
    for (let i = 0; i < mask.length; i++) if (part.type.kind === 'null' || !isValid(part, i)) mask[i] = 1
  }
  return mask
}

/** Rows by id, each id's rows in order: those of `id` are rows[starts[id]] to rows[starts[id + 1]]. */
export interface RowsById {
  readonly starts: Int32Array
  readonly rows: Int32Array
}

/** Counting sort; rows with a negative id are left out. */
export function rowsById(ids: Int32Array, size: number): RowsById {
  const starts = new Int32Array(size + 1)
  for (let i = 0; i < ids.length; i++) {
    const id = ids[i] as number // i < length
    if (id >= 0) starts[id + 1] = (starts[id + 1] as number) + 1
  }
  for (let id = 0; id < size; id++) starts[id + 1] = (starts[id + 1] as number) + (starts[id] as number)
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
