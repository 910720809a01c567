/**
 * Texts split at a constant, as a column of lists, by their bytes: no text is made. In UTF-8 a whole character is found in bytes exactly
 * where it is found in the text.
 *
 *     'a b', '', ' c'   at ' '   -->   [a b] [''] ['' c]
 */
import type { Column } from '../../../../core/data/column.ts'
import type { Expr } from '../../../../core/ir/functionIr.ts'

/** What `text.split(separator)` splits, and where; undefined for other expressions, and for separators that bytes do not show. */
export function splitOf(expr: Expr): { readonly text: Expr; readonly separator: Uint8Array } | undefined {
  if (expr.kind !== 'MethodCall' || expr.method !== 'split' || expr.optional || expr.args.length !== 1) return undefined
  const [at] = expr.args
  if (at?.kind !== 'Literal' || typeof at.value !== 'string' || at.value === '' || HALF.test(at.value)) return undefined
  return { text: expr.object, separator: new TextEncoder().encode(at.value) }
}

/** A surrogate without its other half, which no bytes of a text tell. */
const HALF = /\p{Surrogate}/u

/** The pieces of each text; undefined for a column that may have nulls, or has no bytes of its own. */
export function pieces(texts: Column, separator: Uint8Array): Column | undefined {
  const { values, offsets, length } = texts
  if (texts.type.kind !== 'utf8' || texts.validity !== undefined || texts.dictionary !== undefined) return undefined
  if (!(values instanceof Uint8Array) || offsets === undefined) return undefined
  const [from, to] = [offsets[0] as number, offsets[length] as number] // length + 1 of them
  const ends = new Int32Array(1 + length + occurrences(values, { from, to }, separator[0] as number)) // at least so many pieces
  const bytes = new Uint8Array(to - from)
  const lists = cut({ values, offsets, length }, separator, { ends, bytes })
  const count = lists[length] as number
  const items: Column = {
    type: { kind: 'utf8' },
    length: count,
    values: bytes.subarray(0, ends[count]),
    offsets: ends.subarray(0, count + 1),
  }
  return { type: { kind: 'list', item: items.type }, length, offsets: lists, children: [items] }
}

/** How often the byte occurs; at least as often as what begins with it. */
function occurrences(values: Uint8Array, { from, to }: { readonly from: number; readonly to: number }, byte: number): number {
  let count = 0
  for (let i = from; i < to; i++) if (values[i] === byte) count++
  return count
}

interface Texts {
  readonly values: Uint8Array
  readonly offsets: ArrayLike<number>
  readonly length: number
}

/** Writes the bytes of all pieces, and where each ends; returns the number of pieces up to each text's. */
function cut(
  { values, offsets, length }: Texts,
  separator: Uint8Array,
  { ends, bytes }: { readonly ends: Int32Array; readonly bytes: Uint8Array },
): Int32Array {
  const lists = new Int32Array(length + 1)
  const [first, size] = [separator[0] as number, separator.length]
  let [piece, to] = [0, 0]
  let at = offsets[0] as number
  for (let row = 0; row < length; row++) {
    const end = offsets[row + 1] as number // length + 1 of them
    while (at < end) {
      const byte = values[at] as number
      if (byte === first && at + size <= end && (size === 1 || isAt(values, at, separator))) {
        ends[++piece] = to
        at += size
      } else {
        bytes[to++] = byte
        at++
      }
    }
    ends[++piece] = to
    lists[row + 1] = piece
  }
  return lists
}

function isAt(values: Uint8Array, at: number, separator: Uint8Array): boolean {
  for (let i = 1; i < separator.length; i++) if (values[at + i] !== separator[i]) return false
  return true
}
