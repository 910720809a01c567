/**
 * Whether a dictionary pays for a column, by a sample of 4,096 rows: where more than FEW of their values are distinct, more than about
 * two in five of the column's are.
 */
import { type Column, isValid } from '../../../core/data/column.ts'
import { isFixedKind } from '../../../core/data/fixedValues.ts'

const SAMPLE = 4096
const FEW = 0.96

/** Whether at most FEW of the sampled values are distinct. Nested columns count as such: their values are not looked at. */
export function hasFewValues(parts: readonly Column[]): boolean {
  const seen = new Set<unknown>()
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const step = Math.max(1, length / SAMPLE)
  let looked = 0
  let before = 0
  let at = 0
  for (const part of parts) {
    const { kind } = part.type
    const isText = kind === 'utf8' || kind === 'binary'
    if (!isText && !isFixedKind(kind)) return true
    const valueAt = isText ? textAt(part) : (row: number) => part.values?.[row]
    for (; at < before + part.length; at += step) {
      const row = Math.floor(at) - before
      if (!isValid(part, row)) continue
      looked++
      seen.add(valueAt(row))
      // even if all that are left were different ones
      const left = Math.ceil((length - at) / step)
      if (seen.size + left <= FEW * (looked + left)) return true
    }
    before += part.length
  }
  return seen.size <= FEW * looked
}

/** Reads the bytes of a text as a string of one character each. */
function textAt({ values, offsets }: Column): (row: number) => string {
  const bytes = values as Uint8Array // of a column of text
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return (row) => all.toString('latin1', offsets?.[row], offsets?.[row + 1])
}
