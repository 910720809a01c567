/** Gives every element the key the function returns: integers, one per axis, from 0. */

import { outsideMessage } from '../../../core/arrays/indexSpace.ts'
import type { Column } from '../../../core/data/column.ts'
import { isValid } from '../../../core/data/column.ts'
import { NUMBERS } from '../../../core/data/columnConversions.ts'
import { valueReader } from '../../../core/data/columnReaders.ts'
import { PlanError } from '../../../core/errors.ts'
import { counting, type OpenNarrow } from './operator.ts'
import { columnOf } from './rows/rowKernel.ts'

export const keysExec: OpenNarrow<'KeysExec'> = ({ f, rank, shape }, context) =>
  counting('index', context, (batch, row) => {
    if (batch.length === 0) return undefined
    return { ...batch, keys: keysOf(columnOf(f, batch, row, { arrays: 'items' }), { rank, shape, firstRow: row.firstRow }) }
  })

interface KeyForm {
  readonly rank: number
  readonly shape: readonly number[] | undefined
  readonly firstRow: number
  /** Whether columns of 32-bit integers may be the keys themselves. */
  readonly isLent?: true
}

/** The keys by axis, from a column of arrays as structs; PlanError where one is no array of `rank` whole numbers inside the shape. */
export function keysOf(column: Column, { rank, shape, firstRow, isLent }: KeyForm): Int32Array[] {
  const parts = column.type.kind === 'struct' ? (column.children ?? []) : []
  if (parts.length !== rank || column.validity !== undefined) {
    throw new PlanError(
      `index: the function must return an array of ${rank} ${rank === 1 ? 'integer' : 'integers'} for every element, as in index((r) => [r.user, r.movie]).`,
    )
  }
  return axesOf(parts, { firstRow, shape, isLent: isLent === true })
}

/** The keys by axis, from columns of any numeric type; PlanError with key and row where one is no whole number inside the shape. */
function axesOf(
  parts: readonly Column[],
  { firstRow, shape, isLent }: Pick<KeyForm, 'firstRow' | 'shape'> & { readonly isLent: boolean },
): Int32Array[] {
  const plain = parts.map((part, axis) => plainAxis(part, shape?.[axis] ?? LARGEST_KEY, isLent))
  if (plain.every((axis) => axis !== undefined)) return plain
  const readers = parts.map(valueReader)
  const axes = parts.map((part) => new Int32Array(part.length))
  const length = parts[0]?.length ?? 0
  for (let i = 0; i < length; i++) {
    for (let axis = 0; axis < axes.length; axis++) {
      const value = isValid(parts[axis] as Column, i) ? readers[axis]?.(i) : null
      const index = typeof value === 'bigint' ? Number(value) : value
      if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= (shape?.[axis] ?? LARGEST_KEY)) {
        throw keyError(
          readers.map((read) => read(i)),
          firstRow + i,
          shape,
        )
      }
      ;(axes[axis] as Int32Array)[i] = index
    }
  }
  return axes
}

/** The keys of one axis, from a column of numbers without nulls; undefined for any other column, and where a number is no key. */
function plainAxis({ type, values, validity, length }: Column, limit: number, isLent: boolean): Int32Array | undefined {
  if (validity !== undefined || values === undefined) return undefined
  if (values instanceof BigInt64Array) return wordsAxis(values, length, limit)
  if (!NUMBERS.has(type.kind)) return undefined
  if (isLent && values instanceof Int32Array && values.length === length) return areInside(values, limit) ? values : undefined
  const axis = new Int32Array(length)
  for (let i = 0; i < length; i++) {
    const index = values[i] as number // NUMBERS says so
    if (!(index >= 0 && index < limit && Number.isInteger(index))) return undefined
    axis[i] = index
  }
  return axis
}

function areInside(values: Int32Array, limit: number): boolean {
  for (let i = 0; i < values.length; i++) if ((values[i] as number) < 0 || (values[i] as number) >= limit) return false
  return true
}

/** The keys of 64-bit integers, by their 32-bit words: a BigInt for each would be garbage. */
function wordsAxis(values: BigInt64Array, length: number, limit: number): Int32Array | undefined {
  const words = new Int32Array(values.buffer, values.byteOffset, 2 * length) // the low word first, as in all of Arrow
  const axis = new Int32Array(length)
  for (let i = 0; i < length; i++) {
    const index = words[2 * i] as number // 2 * i + 1 < length
    if (words[2 * i + 1] !== 0 || index < 0 || index >= limit) return undefined
    axis[i] = index
  }
  return axis
}

const LARGEST_KEY = 2 ** 31 - 1

function keyError(key: readonly unknown[], row: number, shape: readonly number[] | undefined): PlanError {
  const numbers = key.map((part) => (typeof part === 'bigint' ? Number(part) : part))
  if (shape !== undefined && numbers.every((part) => typeof part === 'number'))
    return new PlanError(`index, row ${row}: ${outsideMessage('the array', numbers, shape)}`)
  return new PlanError(`index: the key of row ${row} is [${key.map(String).join(', ')}]. Keys are integers from 0 to ${LARGEST_KEY - 1}.`)
}
