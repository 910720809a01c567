/**
 * Nulls in keys: a key of a join that is null, or holds a null at any depth, matches nothing.
 *
 * Keys that functions return are made null as a whole where they hold a null. So nulls inside a tuple only stand for items that a
 * shorter array lacks, and are not confused with items that are null.
 */
import { type Column, isValid } from '../../../../core/data/column.ts'

/** The key column with null for every key that holds a null; the column itself where none does. */
export function withWholeNulls(column: Column): Column {
  if (column.type.kind !== 'struct' && column.type.kind !== 'list' && column.type.kind !== 'object') return column
  const mask = nullMask(column)
  if (mask?.includes(1) !== true) return column
  const validity = new Uint8Array((mask.length + 7) >> 3)
  for (let i = 0; i < mask.length; i++) if (mask[i] === 0) validity[i >> 3] = (validity[i >> 3] as number) | (1 << (i & 7)) // i < length
  return { ...column, validity }
}

/** A flag for each key: 1 where the key itself is null; undefined where the column has no validity bitmap. */
export function ownNulls(column: Column): Uint8Array | undefined {
  if (column.type.kind === 'null' || column.type.kind === 'unknown') return new Uint8Array(column.length).fill(1)
  if (column.validity === undefined) return undefined
  const mask = new Uint8Array(column.length)
  for (let i = 0; i < mask.length; i++) if (!isValid(column, i)) mask[i] = 1
  return mask
}

/** Overwrites the ids of null keys with -1. */
export function withoutNulls(ids: Int32Array, column: Column): Int32Array {
  const nulls = ownNulls(column)
  if (nulls !== undefined) for (let i = 0; i < ids.length; i++) if (nulls[i] === 1) ids[i] = -1
  return ids
}

/** A flag for each key: 1 where it is null, or holds a null in a field or item at any depth; undefined where no key can. */
export function nullMask(column: Column): Uint8Array | undefined {
  const { type, length } = column
  switch (type.kind) {
    case 'object':
      return Uint8Array.from({ length }, (_, i) => Number(holdsNull(column.objects?.[i])))
    case 'struct':
      return [ownNulls(column), ...(column.children ?? []).map(nullMask)].reduce(eitherMask, undefined)
    case 'list': {
      const [items] = column.children ?? []
      return eitherMask(ownNulls(column), items && listMask(column, nullMask(items)))
    }
    default:
      return ownNulls(column)
  }
}

function eitherMask(a: Uint8Array | undefined, b: Uint8Array | undefined): Uint8Array | undefined {
  if (a === undefined || b === undefined) return a ?? b
  for (let i = 0; i < a.length; i++) a[i] = (a[i] as number) | (b[i] as number) // masks of one length, both made here
  return a
}

/** A flag for each list: 1 where one of its items has 1. */
function listMask({ length, offsets }: Column, items: Uint8Array | undefined): Uint8Array | undefined {
  if (items === undefined || offsets === undefined) return undefined
  const mask = new Uint8Array(length)
  for (let i = 0; i < length; i++) {
    for (let at = offsets[i] as number; at < (offsets[i + 1] as number); at++) mask[i] = (mask[i] as number) | (items[at] as number) // offsets lead inside
  }
  return mask
}

/** Whether a value is null, or holds a null at any depth. */
export function holdsNull(value: unknown): boolean {
  if (value === null || value === undefined) return true
  if (Array.isArray(value)) return value.some(holdsNull)
  return Object.getPrototypeOf(value) === Object.prototype && Object.values(value).some(holdsNull)
}
