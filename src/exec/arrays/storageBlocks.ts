/** Storage and the blocks of the arena it lies in: leased to the storage object, freed by `freeStorage` or as garbage. */

import type { DenseStorage, Storage } from '../../core/arrays/storage.ts'
import type { Column, TypedArray } from '../../core/data/column.ts'
import type { Arena } from '../memory/arena.ts'
import { type Lease, leaseBlocks } from '../memory/lease.ts'
import { blocksOfColumns, copyInto, mapBuffers } from '../memory/shareColumns.ts'

const leases = new WeakMap<Storage, Lease>()

/** Makes the storage the owner of all blocks its buffers lie in. No other storage may share them. */
export function ownBlocks<S extends Storage>(storage: S, arena: Arena): S {
  leases.set(storage, leaseBlocks(storage, arena, blocksOf(storage, arena)))
  return storage
}

/** Frees the storage's blocks, if it owns any; what still views them must not be used any more. */
export function freeStorage(storage: Storage): void {
  leases.get(storage)?.free()
  if (storage.kind === 'dense') storage.parts?.free()
}

/** The lease of the storage's blocks, to which others can be added; undefined where it owns none, or none any more. */
export function leaseOf(storage: Storage): Lease | undefined {
  const lease = leases.get(storage)
  return lease?.freed === false ? lease : undefined
}

function blocksOf(storage: Storage, arena: Arena): number[] {
  switch (storage.kind) {
    case 'dense':
      return arena.owns(storage.data) ? [storage.data.byteOffset] : []
    case 'sparse':
      return [
        ...new Set([...blocksOfColumns(storage.columns, arena), ...storage.keys.filter((k) => arena.owns(k)).map((k) => k.byteOffset)]),
      ]
    case 'table':
      return blocksOfColumns(storage.columns, arena)
  }
}

/** A copy with blocks of its own. */
export function copyStorage<S extends Storage>(storage: S, arena: Arena, operator: string): S {
  const copied: number[] = []
  const copy = <B extends TypedArray | BigUint64Array>(buffer: B): B => {
    const other = copyInto(arena, buffer, operator)
    copied.push(other.byteOffset)
    return other
  }
  try {
    return ownBlocks(mapStorage(storage, copy) as S, arena) // the same kind of storage
  } catch (error) {
    for (const offset of copied) arena.free(offset)
    throw error
  }
}

function mapStorage(storage: Storage, copy: <B extends TypedArray | BigUint64Array>(buffer: B) => B): Storage {
  switch (storage.kind) {
    case 'dense':
      return storage.objects === undefined
        ? { ...storage, data: copy(storage.data) }
        : { ...storage, objects: structuredClone(storage.objects) }
    case 'sparse': {
      const columns = storage.columns.map((column) => copyColumn(column, copy))
      return { ...storage, columns, keys: storage.keys.map(copy) }
    }
    case 'table':
      return { ...storage, columns: storage.columns.map((column) => copyColumn(column, copy)) }
  }
}

/** Copies a column: buffers by `copy`; objects, which lie in no buffer, by structuredClone. */
function copyColumn(column: Column, copy: <B extends TypedArray | BigUint64Array>(buffer: B) => B): Column {
  return column.objects === undefined ? mapBuffers(column, copy) : { ...column, objects: structuredClone(column.objects) }
}

/** Copies the elements of one dense array into another of the same shape and dtype. */
export function overwriteDense(target: DenseStorage, source: DenseStorage): void {
  if (target.objects !== undefined && source.objects !== undefined) {
    for (const [i, value] of source.objects.entries()) target.objects[i] = structuredClone(value)
  } else target.data.set(source.data as never) // of one dtype, hence of one class
}
