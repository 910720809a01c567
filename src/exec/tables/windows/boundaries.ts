/**
 * Marks where partitions and peers begin among sorted rows: a byte for each place in the order.
 *
 *     key        a a a b b
 *     order      1 1 2 1 3
 *     marks      2 0 1 2 1
 */
import type { Column } from '../../../core/data/column.ts'
import { bytesOf } from '../../../core/data/columnSlices.ts'
import { typedLoop, wordsOf } from '../../kernels/js/typedLoops.ts'

/** The mark of a row that begins peers: its order differs from that of the row before. */
export const PEERS = 1
/** The mark of a row that begins a partition. */
export const PARTITION = 2

/** The order of rows that are sorted already: 0, 1, 2, … */
export function placesTo(length: number): Int32Array {
  const rows = new Int32Array(length)
  for (let i = 0; i < length; i++) rows[i] = i
  return rows
}

/** Writes the marks of the places from `from` to `to`. Without a key all rows are one partition, without an order all its rows are peers. */
export function markBoundaries(
  rows: Int32Array,
  range: { readonly from: number; readonly to: number },
  keys: { readonly by?: Column | undefined; readonly order?: Column | undefined },
  marks: Uint8Array,
): void {
  marks.fill(0, range.from, range.to)
  // the first row of a partition begins peers too
  for (const column of leavesOf(keys.order)) markChanges(column, rows, range, marks, PEERS)
  for (const column of leavesOf(keys.by)) markChanges(column, rows, range, marks, PARTITION)
  if (range.from === 0 && range.to > 0) marks[0] = PARTITION
}

/** The columns of a key: a struct without nulls field by field, any other itself. */
function leavesOf(column: Column | undefined): readonly Column[] {
  if (column === undefined) return []
  return column.type.kind === 'struct' && column.validity === undefined ? (column.children ?? []).flatMap(leavesOf) : [column]
}

/** Marks places whose row differs from the one before. */
function markChanges(
  column: Column,
  rows: Int32Array,
  { from, to }: { readonly from: number; readonly to: number },
  marks: Uint8Array,
  mark: number,
): void {
  const { values, validity, type } = column
  const kind = validity === undefined && values !== undefined ? wordsOf(type.kind) : undefined
  const first = Math.max(1, from)
  if (kind === undefined) {
    const same = equality(column)
    for (let i = first; i < to; i++) if (!same(rows[i - 1] as number, rows[i] as number)) marks[i] = mark // i < length
    return
  }
  const isLong = kind === 'long'
  const loop = typedLoop<(...args: readonly unknown[]) => void>(
    ['k', 'rows', 'first', 'to', 'marks', 'mark'],
    `let at = ${isLong ? '2 * ' : ''}rows[first - 1]; // ${type.kind}
let x = k[at]${isLong ? ', high = k[at + 1]' : ''};
for (let i = first; i < to; i++) {
at = ${isLong ? '2 * ' : ''}rows[i];
const y = k[at];
${isLong ? 'const next = k[at + 1];' : ''}
if (x !== y${isLong ? ' || high !== next' : kind === 'float' ? ' && (x === x || y === y)' : ''}) marks[i] = mark;
x = y;
${isLong ? 'high = next;' : ''}
}`,
  )
  const stored = values as NonNullable<typeof values> // as the kind says
  if (first < to) loop(isLong ? new Int32Array(stored.buffer, stored.byteOffset, 2 * column.length) : stored, rows, first, to, marks, mark)
}

type Equal = (a: number, b: number) => boolean

/** Tests whether two rows are equal in the order: all NaNs are, 0 and -0, and nulls; items that a shorter list lacks are null. */
function equality(column: Column): Equal {
  const { validity } = column
  const same = sameValues(column)
  if (validity === undefined) return same
  const isNull = (row: number): boolean => ((validity[row >> 3] as number) & (1 << (row & 7))) === 0
  return (a, b) => {
    const [noA, noB] = [isNull(a), isNull(b)]
    return noA || noB ? noA && noB : same(a, b)
  }
}

function sameValues(column: Column): Equal {
  const { type, children = [] } = column
  switch (type.kind) {
    case 'null':
    case 'unknown':
    case 'object':
      return () => true
    case 'struct': {
      const parts = children.map(equality)
      return (a, b) => parts.every((part) => part(a, b))
    }
    case 'list':
      return sameLists(column)
    case 'utf8':
    case 'binary':
      return sameBytes(column)
    case 'i64':
    case 'u64':
    case 'time':
    case 'timestamp': {
      const { buffer, byteOffset } = column.values ?? new BigInt64Array(column.length)
      const words = new Int32Array(buffer, byteOffset, 2 * column.length)
      return (a, b) => words[2 * a] === words[2 * b] && words[2 * a + 1] === words[2 * b + 1]
    }
    default:
      return sameNumbers(column)
  }
}

/** Equality of numbers, with a closure of its own for Int32Array, so that V8's loads stay monomorphic. */
function sameNumbers({ values, length }: Column): Equal {
  if (values instanceof Int32Array) return (a, b) => values[a] === values[b]
  const numbers = (values ?? new Float64Array(length)) as Float64Array // of a fixed width
  return (a, b) => {
    const [x, y] = [numbers[a] as number, numbers[b] as number]
    return x === y || (Number.isNaN(x) && Number.isNaN(y))
  }
}

function sameBytes(column: Column): Equal {
  const { offsets = new Int32Array(column.length + 1) } = column
  const bytes = bytesOf(column)
  return (a, b) => {
    let [x, y] = [offsets[a] as number, offsets[b] as number]
    const end = offsets[a + 1] as number
    if (end - x !== (offsets[b + 1] as number) - y) return false
    for (; x < end; x++, y++) if (bytes[x] !== bytes[y]) return false
    return true
  }
}

function sameLists({ offsets = new Int32Array(1), children }: Column): Equal {
  const items = children?.[0]
  if (items === undefined) return () => true
  const same = equality(items)
  const isNull = (item: number): boolean =>
    items.type.kind === 'null' || (items.validity !== undefined && ((items.validity[item >> 3] as number) & (1 << (item & 7))) === 0)
  return (a, b) => {
    const [fromA, fromB] = [offsets[a] as number, offsets[b] as number]
    const [lengthA, lengthB] = [(offsets[a + 1] as number) - fromA, (offsets[b + 1] as number) - fromB]
    for (let i = 0; i < lengthA || i < lengthB; i++) {
      const isSame = i < lengthA && i < lengthB ? same(fromA + i, fromB + i) : isNull(i < lengthA ? fromA + i : fromB + i)
      if (!isSame) return false
    }
    return true
  }
}
