/**
 * Sorted rows whose key is that of the row before, found by tasks, each in a range of the order; and the first, or the last, row of each key.
 *
 *     keys in order   2 3 3 3 7      repeats   0 0 1 1 0      first   rows 0 1 4      last   rows 0 3 4
 */
import type { Arena } from '../../../memory/arena.ts'

export interface RepeatsWork {
  readonly kind: 'repeats'
  /** The addresses of the parts of the key, each with `length` integers. */
  readonly keys: readonly number[]
  readonly length: number
  readonly rows: number
  readonly from: number
  readonly to: number
  /** The address of a byte for each row in order, zeroed, and one more. */
  readonly repeats: number
  /** The address of the number of repeats in the range. */
  readonly found: number
}

export interface KeptWork {
  readonly kind: 'kept'
  readonly rows: number
  readonly length: number
  readonly from: number
  readonly to: number
  readonly repeats: number
  readonly keeps: 'first' | 'last'
  /** The address where the range's rows go. */
  readonly out: number
}

export function findRepeats({ keys, length, rows, from, to, repeats, found }: RepeatsWork, arena: Arena): void {
  const order = arena.view('i32', rows, length) as Int32Array
  const flags = arena.view('u8', repeats, length) as Uint8Array
  const counts = arena.view('i32', found, 1) as Int32Array
  const first = Math.max(from, 1)
  let count = 0
  for (const [k, address] of keys.entries()) {
    const key = arena.view('i32', address, length) as Int32Array
    count = 0
    let before = key[order[first - 1] as number] as number // rows are inside, and first > 0
    for (let i = first; i < to; i++) {
      const value = key[order[i] as number] as number
      const same = Number(value === before) & (k === 0 ? 1 : (flags[i] as number))
      flags[i] = same
      count += same
      before = value
    }
  }
  counts[0] = count
}

export function keepRows({ rows, length, from, to, repeats, keeps, out }: KeptWork, arena: Arena): void {
  const order = arena.view('i32', rows, length) as Int32Array
  const flags = arena.view('u8', repeats, length + 1) as Uint8Array
  const kept = arena.view('i32', out, to - from) as Int32Array // the range may keep fewer
  const ahead = keeps === 'first' ? 0 : 1
  let at = 0
  for (let i = from; i < to; i++) if (flags[i + ahead] === 0) kept[at++] = order[i] as number
}
