/**
 * Keys, shapes, and index spaces, which name the iterations of a loop without any data.
 *
 * Keys are integer tuples in lexicographic order: the last axis runs fastest.
 */
import { valueText } from '../data/valueKinds.ts'
import { PlanError } from '../errors.ts'
import type { Key } from './keys.ts'

/** The extents of an array, one per axis. */
export type Shape = readonly number[]

/** The key type of a shape: [number, number] for [3, 4]. */
export type KeyOf<S extends Shape> = { readonly [A in keyof S]: number }

/** A selection on one axis: an index, a half-open range, or null for the whole axis. */
export type Selector = number | readonly [from: number, to: number] | null

/** An index space without data, for loops: all keys with 0 <= key[a] < extents[a]. */
export interface IndexSpace<K extends Key = Key> {
  readonly kind: 'IndexSpace'
  readonly extents: K
}

/** Extents above this cannot be told apart from negative ones after `>>> 0`, which the kernels' bounds checks use. */
const LARGEST_EXTENT = 2 ** 31 - 1

/** The number of keys in a shape: the product of its extents. */
export function sizeOfShape(shape: Shape): number {
  return shape.reduce((size, extent) => size * extent, 1)
}

/** Throws a PlanError unless every extent is an integer from 0 to 2^31 - 1 and there is at least one axis. */
export function checkShape(what: string, shape: Shape): void {
  if (shape.length === 0)
    throw new PlanError(`${what} needs at least one extent, as in ${what.split(/[ (]/)[0]}(${what.startsWith('range') ? '10' : '[10]'}).`)
  for (const [axis, extent] of shape.entries()) {
    if (!Number.isInteger(extent) || extent < 0 || extent > LARGEST_EXTENT) {
      throw new PlanError(
        `The extent of axis ${axis} of ${what} is ${valueText(extent)}. Extents are integers from 0 to ${LARGEST_EXTENT}.`,
      )
    }
  }
}

/** Whether `key` has one integer per axis, each within the shape. -0 counts as 0. */
export function isInside(key: Key, shape: Shape): boolean {
  return key.length === shape.length && key.every((k, axis) => Number.isInteger(k) && k >= 0 && k < (shape[axis] ?? 0))
}

/** The message for a key outside a shape; the same words in queries and in loop bodies. */
export function outsideMessage(array: string, key: Key, shape: Shape): string {
  const keyText = `[${Array.from(key, (k) => (Object.is(k, -0) ? '0' : valueText(k))).join(', ')}]`
  return `The key ${keyText} is outside ${array}, whose shape is [${shape.join(', ')}]. ${ruleBroken(key, shape)}.`
}

function ruleBroken(key: Key, shape: Shape): string {
  if (key.some((k) => !Number.isInteger(k))) return 'Keys are integers'
  const wrongLength = key.length !== shape.length && key.every((k, axis) => k >= 0 && k < (shape[axis] ?? Number.POSITIVE_INFINITY))
  if (wrongLength) return `Its keys have ${shape.length === 1 ? 'one component' : `${shape.length} components`}, one for each axis`
  return 'Keys run from 0 to extent - 1; negative keys do not wrap'
}

/** The row-major position of a key that is inside the shape. */
export function positionOf(key: Key, shape: Shape): number {
  let position = 0
  for (let axis = 0; axis < shape.length; axis++) position = position * (shape[axis] ?? 1) + (key[axis] ?? 0)
  return position
}

/** The key at a row-major position: the inverse of `positionOf`. */
export function keyAt(position: number, shape: Shape): number[] {
  const key = new Array<number>(shape.length)
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const extent = shape[axis] ?? 1
    key[axis] = position % extent
    position = Math.floor(position / extent)
  }
  return key
}

/** Lexicographic order of two keys of the same rank: negative, zero or positive. */
export function compareKeys(a: Key, b: Key): number {
  for (let axis = 0; axis < a.length; axis++) {
    const difference = (a[axis] ?? 0) - (b[axis] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
