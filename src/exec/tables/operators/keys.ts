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

/** The keys by axis, from a column of arrays as structs; PlanError where one is no array of `rank` whole numbers inside the shape. */
export function keysOf(
  column: Column,
  { rank, shape, firstRow }: { readonly rank: number; readonly shape: readonly number[] | undefined; readonly firstRow: number },
): Int32Array[] {
  const parts = column.type.kind === 'struct' ? (column.children ?? []) : []
  if (parts.length !== rank || column.validity !== undefined) {
    throw new PlanError(
      `index: the function must return an array of ${rank} ${rank === 1 ? 'integer' : 'integers'} for every element, as in index((r) => [r.user, r.movie]).`,
    )
  }
  return axesOf(parts, firstRow, shape)
}

/** The keys by axis, from columns of any numeric type; PlanError with key and row where one is no whole number inside the shape. */
function axesOf(parts: readonly Column[], firstRow: number, shape: readonly number[] | undefined): Int32Array[] {
  const plain = parts.map((part, axis) => plainAxis(part, shape?.[axis] ?? LARGEST_KEY))
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
function plainAxis({ type, values, validity, length }: Column, limit: number): Int32Array | undefined {
  if (validity !== undefined || values === undefined || !NUMBERS.has(type.kind)) return undefined
  const axis = new Int32Array(length)
  for (let i = 0; i < length; i++) {
    const index = values[i] as number // NUMBERS says so
    if (!(index >= 0 && index < limit && Number.isInteger(index))) return undefined
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
