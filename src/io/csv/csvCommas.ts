/**
 * Makes numbers with decimal commas into numbers with decimal points, in place.
 *
 *     1.234,50   -->   1234.50   and the field ends one byte earlier
 *
 * Statement: a field is changed once, however often its column comes back to it; one that is no such number is not changed.
 */
import type { Fields } from './csvFields.ts'
import { pointed } from './csvFormat.ts'

const COMMA = 44
const POINT = 46

export class DecimalCommas {
  /** The place of the last field that was gone through, in the present records; -1 for none. */
  #last = -1

  /** Goes through fields; returns how many have no comma any more: all, or those before the first that is no such number. */
  makePoints({ records, place, step, count }: Fields): number {
    for (let i = 0; i < count; i++) {
      const at = place + i * step
      if (at <= this.#last) continue
      if (!madePoint(records.bytes, records.bounds, at, () => records.text(at))) return i
      this.#last = at
    }
    return count
  }

  /** Begins other records, whose places those from here on are. */
  begin(): void {
    this.#last = -1
  }
}

function madePoint(bytes: Uint8Array, bounds: Int32Array, place: number, text: () => unknown): boolean {
  const bound = bounds[place] as number // the records have bounds for every field
  const end = bounds[place + 1] as number
  const begin = bound < 0 ? ~bound : bound
  let plain = true
  for (let i = begin; i < end; i++) {
    const byte = bytes[i] as number // i < end
    if (byte === COMMA || byte === POINT) plain = false
  }
  if (plain) return true // without both there is nothing to change; what it is the column finds out
  const field = text()
  const number = typeof field === 'string' ? pointed(field) : undefined
  if (number === undefined) return false
  for (let i = 0; i < number.length; i++) bytes[begin + i] = number.charCodeAt(i)
  bounds[place + 1] = begin + number.length
  return true
}
