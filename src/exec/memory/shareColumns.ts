/**
 * Columns in the arena: buffers that are not there yet are copied there, once, so that every thread sees them.
 *
 * Who shares a column owns the blocks it copied into; a buffer that was in the arena already keeps its owner.
 */
import type { Batch, Column } from '../../core/data/column.ts'
import type { Arena } from './arena.ts'

type Buffer = NonNullable<Column['values']>

/** The column with all its buffers in the arena; the very same object when they are there already. */
export function shareColumn(column: Column, arena: Arena, operator: string): Column {
  const copied: number[] = []
  try {
    return mapBuffers(column, (buffer) => {
      if (arena.owns(buffer)) return buffer
      const copy = copyInto(arena, buffer, operator)
      copied.push(copy.byteOffset)
      return copy
    })
  } catch (error) {
    for (const offset of copied) arena.free(offset)
    throw error
  }
}

/** The same for the columns and keys of a batch. */
export function shareBatch(batch: Batch, arena: Arena, operator: string): Batch {
  const columns: Column[] = []
  const keys: Int32Array[] = []
  try {
    for (const column of batch.columns) columns.push(shareColumn(column, arena, operator))
    for (const key of batch.keys ?? []) keys.push(arena.owns(key) ? key : copyInto(arena, key, operator))
  } catch (error) {
    for (const [i, column] of columns.entries()) freeNew(column, batch.columns[i], arena)
    for (const [i, key] of keys.entries()) if (key !== batch.keys?.[i]) arena.free(key.byteOffset)
    throw error
  }
  return { ...batch, columns, ...(batch.keys === undefined ? {} : { keys }) }
}

/** The blocks that sharing a batch has copied into. */
export function blocksAdded(batch: Batch, shared: Batch): readonly { readonly offset: number; readonly bytes: number }[] {
  return newBuffers(shared.columns, batch.columns).map(({ byteOffset, byteLength }) => ({ offset: byteOffset, bytes: byteLength }))
}

/** A new array in a block of its own, with whatever was there before. */
export function arrayIn<A extends Buffer>(arena: Arena, of: new (length: number) => A, length: number, operator: string): A {
  const like = new of(0)
  const bytes = length * like.BYTES_PER_ELEMENT
  return viewLike(like, arena.view('u8', arena.reserve(bytes, operator), bytes) as Uint8Array)
}

/** A copy of a buffer in a block of its own; of the same class. */
export function copyInto<B extends Buffer>(arena: Arena, buffer: B, operator: string): B {
  const offset = arena.reserve(buffer.byteLength, operator)
  const bytes = arena.view('u8', offset, buffer.byteLength) as Uint8Array
  bytes.set(new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength))
  return viewLike(buffer, bytes)
}

/** The same elements as a view of the arena's present buffer, which all views then share; elements elsewhere as they are. */
export function seenAnew<B extends Buffer>(arena: Arena, buffer: B): B {
  if (!arena.owns(buffer)) return buffer
  const bytes = arena.view('u8', buffer.byteOffset, buffer.byteLength) as Uint8Array
  return bytes.buffer === buffer.buffer ? buffer : viewLike(buffer, bytes)
}

/** A typed array of the class of `like` over the bytes. */
function viewLike<B extends Buffer>(like: B, bytes: Uint8Array): B {
  const ArrayOfLike = like.constructor as new (buffer: ArrayBufferLike, byteOffset: number, length: number) => B // a typed array's own class
  return new ArrayOfLike(bytes.buffer, bytes.byteOffset, bytes.length / like.BYTES_PER_ELEMENT)
}

/** Frees the blocks a column lies in. It must own them all, and every buffer must be a whole block. */
export function freeColumn(column: Column, arena: Arena): void {
  for (const offset of blocksOfColumns([column], arena)) arena.free(offset)
}

/** The offsets of all buffers of the columns that lie in the arena, each once. */
export function blocksOfColumns(columns: readonly Column[], arena: Arena): number[] {
  return [
    ...new Set(
      buffersOf(columns)
        .filter((buffer) => arena.owns(buffer))
        .map(({ byteOffset }) => byteOffset),
    ),
  ]
}

/** The column over other buffers; the column itself when `change` changes none. */
export function mapBuffers(column: Column, change: <B extends Buffer>(buffer: B) => B): Column {
  const validity = column.validity && change(column.validity)
  const values = column.values && change(column.values)
  const offsets = column.offsets && change(column.offsets)
  const children = column.children?.map((child) => mapBuffers(child, change))
  const dictionary = column.dictionary && mapBuffers(column.dictionary, change)
  const same =
    validity === column.validity &&
    values === column.values &&
    offsets === column.offsets &&
    dictionary === column.dictionary &&
    (children?.every((child, i) => child === column.children?.[i]) ?? true)
  if (same) return column
  return {
    ...column,
    ...(validity === undefined ? {} : { validity }),
    ...(values === undefined ? {} : { values }),
    ...(offsets === undefined ? {} : { offsets }),
    ...(children === undefined ? {} : { children }),
    ...(dictionary === undefined ? {} : { dictionary }),
  }
}

/** Frees the buffers in which `shared` differs from `original`. */
function freeNew(shared: Column, original: Column | undefined, arena: Arena): void {
  if (original === undefined) return
  for (const buffer of newBuffers([shared], [original])) arena.free(buffer.byteOffset)
}

/** The buffers of the columns that the `originals` do not have. An empty one may lie where a block was that is another's now, so no address tells. */
function newBuffers(columns: readonly Column[], originals: readonly Column[]): readonly Buffer[] {
  const before = new Set(buffersOf(originals))
  return buffersOf(columns).filter((buffer) => !before.has(buffer))
}

function buffersOf(columns: readonly Column[]): readonly Buffer[] {
  const buffers: Buffer[] = []
  for (const column of columns) {
    mapBuffers(column, (buffer) => {
      buffers.push(buffer)
      return buffer
    })
  }
  return buffers
}
