/**
 * Whether a dictionary pays for a column, by a sample of 4,096 rows: where more than FEW of their values are distinct, more than about
 * two in five of the column's are.
 */
import { type Column, isValid } from '../../../core/data/column.ts'
import { isFixedKind } from '../../../core/data/fixedValues.ts'
import { hashOf, hashOfBytes } from './codes.ts'

const SAMPLE = 4096
const FEW = 0.96

/** Whether at most FEW of the sampled values are distinct. Nested columns count as such: their values are not looked at. */
export function hasFewValues(parts: readonly Column[]): boolean {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const step = Math.max(1, length / SAMPLE)
  const seen = new SeenHashes()
  let looked = 0
  let before = 0
  let at = 0
  for (const part of parts) {
    const { kind } = part.type
    const isText = kind === 'utf8' || kind === 'binary'
    if (!isText && !isFixedKind(kind)) return true
    const hashAt = isText ? hashOfText(part) : hashOfFixed(part)
    for (; at < before + part.length; at += step) {
      const row = Math.floor(at) - before
      if (!isValid(part, row)) continue
      looked++
      seen.add(hashAt(row))
      // even if all that are left were different ones
      const left = Math.ceil((length - at) / step)
      if (seen.size + left <= FEW * (looked + left)) return true
    }
    before += part.length
  }
  return seen.size <= FEW * looked
}

/** The hashes of values, which are those of so few that two that differ hardly share one. */
class SeenHashes {
  size = 0
  private readonly places = new Int32Array(4 * SAMPLE)

  add(hash: number): void {
    const { places } = this
    const mask = places.length - 1
    const kept = hash === 0 ? 1 : hash // 0 is a free place
    let place = hash & mask
    while (places[place] !== 0) {
      if (places[place] === kept) return
      place = (place + 1) & mask
    }
    places[place] = kept
    this.size++
  }
}

function hashOfText({ values, offsets, dictionary }: Column): (row: number) => number {
  const bytes = (dictionary?.values ?? values) as Uint8Array // of a column of text
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const ends = dictionary?.offsets ?? offsets ?? new Int32Array(1)
  return (row) => {
    const at = dictionary === undefined ? row : (values?.[row] as number)
    return hashOfBytes(view, ends[at] as number, ends[at + 1] as number) // one more than texts
  }
}

function hashOfFixed({ values, length }: Column): (row: number) => number {
  if (values === undefined || values.BYTES_PER_ELEMENT < 4) return (row) => hashOf(Number(values?.[row] ?? 0), 0)
  const words = values.BYTES_PER_ELEMENT / 4
  const own = new Int32Array(values.buffer, values.byteOffset, words * length)
  return words === 1 ? (row) => hashOf(own[row] as number, 0) : (row) => hashOf(own[2 * row] as number, own[2 * row + 1] as number)
}
