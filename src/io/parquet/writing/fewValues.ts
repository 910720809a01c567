/**
 * Whether a dictionary pays for a column, by some of its values: that many different ones among 4,096 of all rows come of a
 * column of which more than about two in five are values of their own.
 */
import { type Column, isValid } from '../../../core/data/column.ts'
import { isFixedKind } from '../../../core/data/fixedValues.ts'

const SAMPLE = 4096
const FEW = 0.96

/** What is nested counts as having few: its values are not looked at. */
export function hasFewValues(column: Column): boolean {
  const { length, type } = column
  if (type.kind !== 'utf8' && type.kind !== 'binary' && !isFixedKind(type.kind)) return true
  const valueAt = type.kind === 'utf8' || type.kind === 'binary' ? textAt(column) : (row: number) => column.values?.[row]
  const seen = new Set<unknown>()
  const step = Math.max(1, length / SAMPLE)
  let looked = 0
  for (let at = 0; at < length; at += step) {
    const row = Math.floor(at)
    if (!isValid(column, row)) continue
    looked++
    seen.add(valueAt(row))
    // even if all that are left were different ones
    const left = Math.ceil((length - at) / step)
    if (seen.size + left <= FEW * (looked + left)) return true
  }
  return seen.size <= FEW * looked
}

/** The bytes of a text, a character each. */
function textAt({ values, offsets }: Column): (row: number) => string {
  const bytes = values as Uint8Array // of a column of text
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return (row) => all.toString('latin1', offsets?.[row], offsets?.[row + 1])
}
