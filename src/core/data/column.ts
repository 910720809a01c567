/**
 * Columns and batches in Arrow's layout, as plain data.
 *
 * All buffers start at element 0 (a slice of a bitmap is a copy), except that `offsets[0]` of a sliced string or list
 * column need not be 0. Buffers may be views of the session's shared memory or of ordinary ArrayBuffers; both travel
 * through `postMessage` as they are, the shared ones without a copy.
 */
import type { ColumnType, ElementType } from './schema.ts'

/** The typed arrays that hold numbers, one for each dtype. */
export type TypedArray =
  | Float64Array
  | Float32Array
  | BigInt64Array
  | Int32Array
  | Uint32Array
  | Int16Array
  | Uint16Array
  | Int8Array
  | Uint8Array

export interface Column {
  readonly type: ColumnType
  readonly length: number
  /** Arrow bitmap, least significant bit first, 1 = valid. Absent when no element is null. */
  readonly validity?: Uint8Array
  /**
   * Fixed-width values, one per element (bool: one byte of 0 or 1 per element, packed to bits only at Arrow's edge;
   * i64, timestamp, time: BigInt64Array; u64: BigUint64Array; date: Int32Array), or the bytes of utf8 and binary.
   * Absent for null, list and struct.
   */
  readonly values?: TypedArray | BigUint64Array
  /** utf8, binary, list: length + 1 offsets into `values` (bytes) or the child (elements). */
  readonly offsets?: Int32Array
  /** list: the one child; struct: a child per field, each of this column's length. */
  readonly children?: readonly Column[]
  /**
   * The dictionary of a dictionary-encoded utf8 column, whose `values` are codes (entry numbers) and which has no offsets. Readers give
   * it to those who asked for dictionaries (see `Access`), with codes in an Int32Array, or in bytes where they wrote them into given
   * memory and none is null; within the executor a table that was read whole may have it.
   */
  readonly dictionary?: Column
  /** The values of a column of type 'object'; absent for all other types. */
  readonly objects?: readonly unknown[]
}

/** Columns of one length, in the order of the element's fields. */
export interface Batch {
  readonly element: ElementType
  readonly length: number
  readonly columns: readonly Column[]
  /** The explicit keys of the elements: one Int32Array of `length` per axis. Absent where the key is the row number. */
  readonly keys?: readonly Int32Array[]
}

export function isValid(column: Column, index: number): boolean {
  const validity = column.validity
  return validity === undefined || ((validity[index >> 3] ?? 0) & (1 << (index & 7))) !== 0
}
