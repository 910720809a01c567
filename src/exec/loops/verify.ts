/** The first element in which a parallel run and the serial program differ, by bits. */

import { compareKeys, keyAt } from '../../core/arrays/indexSpace.ts'
import type { DenseStorage, SparseStorage, Storage, TableStorage } from '../../core/arrays/storage.ts'
import { rowReader } from '../../core/data/columnReaders.ts'
import type { PlainLoop } from './interpreted/plainRun.ts'
import { storagesOf } from './kernelPlan.ts'
import { mergeInserted } from './keyedArray.ts'
import type { LoopInputs } from './loopInputs.ts'

export interface Difference {
  readonly array: string
  readonly key: readonly number[]
  readonly serial: unknown
  readonly parallel: unknown
}

/**
 * Compares every array the loop knows, but for those that the body makes: nobody reads what an iteration has left in them. `replaced`
 * holds storages that the parallel run made anew.
 */
export function firstDifference(
  inputs: LoopInputs,
  serial: PlainLoop,
  replaced: ReadonlyMap<number, Storage> = new Map(),
): Difference | undefined {
  const bindings = Object.values(inputs.analyzed.spec.env)
  const own = new Set(bindings.flatMap((one) => (one.kind === 'array' && one.isLocal === true ? [one.array] : [])))
  for (const { storage, array, label } of storagesOf(inputs)) {
    if (own.has(array)) continue
    const parallel = replaced.get(array) ?? storage
    const keyed = serial.keyed.get(array)
    const plain = (keyed === undefined ? undefined : mergeInserted(keyed)) ?? serial.storages.get(array)
    if (plain === undefined || plain === parallel) continue
    const difference = differenceOf(plain, parallel)
    if (difference !== undefined) return { array: label, ...difference }
  }
  return undefined
}

/** The first element in which two storages of one array differ, in the order of keys; undefined where none does. */
export function differenceOf(serial: Storage, parallel: Storage): Omit<Difference, 'array'> | undefined {
  if (serial.kind === 'dense' && parallel.kind === 'dense') return denseDifference(serial, parallel)
  if (serial.kind === 'dense' || parallel.kind === 'dense') return undefined
  return keyedDifference(serial, parallel)
}

function denseDifference(serial: DenseStorage, parallel: DenseStorage): Omit<Difference, 'array'> | undefined {
  const size = serial.shape.reduce((product, extent) => product * extent, 1)
  const row = serial.shape[serial.shape.length - 1] ?? 1
  for (let first = 0; first < size; first += row) {
    const start = keyAt(first, serial.shape).reduce((index, k, axis) => index + k * (serial.strides[axis] ?? 1), 0)
    for (let k = 0; k < row; k++) {
      if (!Object.is(serial.data[start + k], parallel.data[start + k])) {
        return { key: keyAt(first + k, serial.shape), serial: serial.data[start + k], parallel: parallel.data[start + k] }
      }
    }
  }
  return undefined
}

function keyedDifference(
  serial: SparseStorage | TableStorage,
  parallel: SparseStorage | TableStorage,
): Omit<Difference, 'array'> | undefined {
  const [a, b] = [rowReader(serial), rowReader(parallel)]
  for (let i = 0; i < Math.max(serial.length, parallel.length); i++) {
    const [left, right] = [keyOf(serial, i), keyOf(parallel, i)]
    const sameKey = left?.every((k, axis) => k === right?.[axis]) ?? false
    const [x, y] = [i < serial.length ? a(i) : undefined, i < parallel.length ? b(i) : undefined]
    if (sameKey && sameValue(x, y)) continue
    const leftFirst = right === undefined || (left !== undefined && !sameKey && compareKeys(left, right) < 0)
    return sameKey
      ? { key: left ?? [], serial: x, parallel: y }
      : { key: (leftFirst ? left : right) ?? [], serial: leftFirst ? x : undefined, parallel: leftFirst ? undefined : y }
  }
  return undefined
}

function keyOf(storage: SparseStorage | TableStorage, position: number): number[] | undefined {
  if (position >= storage.length) return undefined
  return storage.kind === 'table' ? [position] : storage.keys.map((column) => column[position] ?? 0)
}

function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (a instanceof Date && b instanceof Date) return Object.is(a.getTime(), b.getTime())
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>]
  return Object.keys(left).length === Object.keys(right).length && Object.keys(left).every((name) => sameValue(left[name], right[name]))
}
