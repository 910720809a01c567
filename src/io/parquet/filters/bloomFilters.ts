/**
 * Bloom filters of Parquet files: for a column of a row group, whether it may have a value. Of a filter the block of 32 bytes is read
 * to which the value's hash leads.
 *
 *     name === 'Bern'   hash   -->   block 17 of 32 bytes, a bit in each of its eight words   -->   all are set: the row group may have it
 *
 * Statement: a row group that is left out has no row for which the comparison holds, if the filter is as its file's writer made it.
 * A filter that is odd, damaged or of another kind leaves out nothing.
 *
 * https://github.com/apache/parquet-format/blob/master/BloomFilter.md
 */
import type { ColumnComparison, ColumnPredicate } from '../../../core/plan/predicate.ts'
import type { SourceSplit } from '../../../core/sourceParts.ts'
import { RangeReads } from '../../bytes/rangeReads.ts'
import type { ByteSource } from '../../bytes/source.ts'
import { intOf, structOf, ThriftError, ThriftReader } from '../thrift.ts'
import type { ColumnFilters, FilterForm, FilterPlace } from './filterPlaces.ts'
import { xxHash64 } from './xxHash64.ts'

/** Bytes that are read with a header, which has four small fields: most filters lie in them. */
const READ_BYTES = 4096
const BLOCK_BYTES = 32
const SALTS: readonly number[] = [...[0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d], ...[0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31]]

/** The splits of a file of which a filter says no. Filters that lie side by side are read at once, and their first bytes are kept. */
export async function ruledOutByBlooms(
  bytes: () => Promise<ByteSource>,
  splits: readonly SourceSplit[],
  predicate: ColumnPredicate,
): Promise<ReadonlySet<SourceSplit>> {
  const equalities = predicate.filter(({ operator }) => operator === '===')
  const questions = splits.flatMap((split) => equalities.flatMap((comparison) => questionOf(comparison, split) ?? []))
  const unread = questions.flatMap(({ place }) => (heads.has(place) ? [] : [place]))
  if (unread.length > 0) await readHeads(await bytes(), unread)
  const found = new Set<SourceSplit>()
  for (const { split, place, hashes } of questions) if (!(await mayHave(bytes, place, hashes))) found.add(split)
  return found
}

interface Head {
  readonly bytes: Uint8Array
  /** Bytes of the file from the filter's first on. */
  readonly left: number
}

/** The first bytes of filters that were asked; a place is of one file as it was when its footer was read. */
const heads = new WeakMap<FilterPlace, Head>()

async function readHeads(bytes: ByteSource, places: readonly FilterPlace[]): Promise<void> {
  const ranges = places.map((place) => ({ place, start: place.at, end: Math.min(bytes.size, place.at + READ_BYTES) }))
  const reads = new RangeReads(bytes, ranges)
  for (const range of ranges) heads.set(range.place, { bytes: (await reads.read(range)).slice(), left: bytes.size - range.start })
}

interface Question {
  readonly split: SourceSplit
  readonly place: FilterPlace
  /** The hashes of the values that are equal to the constant: two for zero. */
  readonly hashes: readonly bigint[]
}

function questionOf({ column, value }: ColumnComparison, split: SourceSplit): Question | undefined {
  const place = (split.filters?.get(column) as ColumnFilters | undefined)?.bloom // as `describe.ts` has made it
  const values = place && storedForms(value, place.form)
  return place && values && { split, place, hashes: values.map(xxHash64) }
}

/** The bytes of the values that `===` finds equal to the constant, as they are hashed; undefined where they are not known. */
export function storedForms(value: ColumnPredicate[number]['value'], form: FilterForm): readonly Uint8Array[] | undefined {
  if (form === 'text') return typeof value === 'string' ? [new TextEncoder().encode(value)] : undefined
  if (typeof value !== 'number' && typeof value !== 'bigint') return undefined
  const view = new DataView(new ArrayBuffer(8))
  const bytes = (length: number): Uint8Array => new Uint8Array(view.buffer.slice(0, length))
  if (form === 'f32' || form === 'f64') {
    if (typeof value !== 'number' || (form === 'f32' && Math.fround(value) !== value)) return undefined
    return (value === 0 ? [0, -0] : [value]).map((one) => {
      if (form === 'f32') view.setFloat32(0, one, true)
      else view.setFloat64(0, one, true)
      return bytes(form === 'f32' ? 4 : 8)
    })
  }
  if (typeof value === 'number' && !Number.isSafeInteger(value)) return undefined
  const whole = BigInt(value)
  const isWide = form === 'i64' || form === 'u64'
  const held = form === 'i64' || form === 'i32' ? BigInt.asIntN(isWide ? 64 : 32, whole) : BigInt.asUintN(isWide ? 64 : 32, whole)
  if (held !== whole) return undefined
  view.setBigInt64(0, whole, true)
  return [bytes(isWide ? 8 : 4)]
}

/** Whether a filter may have a value of one of the hashes. */
async function mayHave(bytes: () => Promise<ByteSource>, place: FilterPlace, hashes: Question['hashes']): Promise<boolean> {
  const { bytes: head, left } = heads.get(place) as Head // it was read
  const filter = filterIn(head, left)
  if (filter === undefined) return true
  for (const hash of hashes) {
    const from = filter.from + Number(((hash >> 32n) * BigInt(filter.blocks)) >> 32n) * BLOCK_BYTES
    const to = from + BLOCK_BYTES
    const block = to <= head.length ? head.subarray(from, to) : await (await bytes()).read(place.at + from, place.at + to)
    if (mayHaveHash(block, Number(hash & 0xffffffffn))) return true
  }
  return false
}

/** Whether all bits of a block are set to which the lower half of a hash leads. */
export function mayHaveHash(block: Uint8Array, key: number): boolean {
  const words = new DataView(block.buffer, block.byteOffset, block.byteLength)
  return SALTS.every((salt, i) => ((words.getUint32(4 * i, true) >>> (Math.imul(key, salt) >>> 27)) & 1) === 1)
}

/** Where a filter's blocks begin behind the first byte of its header, and their number; undefined for one of another kind, or that is longer than what is left of the file. */
function filterIn(head: Uint8Array, left: number): { readonly from: number; readonly blocks: number } | undefined {
  const reader = new ThriftReader(head)
  try {
    const header = reader.struct()
    const length = intOf(header, 1) ?? 0
    const isKnown = [2, 3, 4].every((field) => structOf(header, field)?.has(1) === true) // split blocks, XXH64, not compressed
    const isWhole = length > 0 && length % BLOCK_BYTES === 0 && reader.offset + length <= left
    return isKnown && isWhole ? { from: reader.offset, blocks: length / BLOCK_BYTES } : undefined
  } catch (error) {
    if (error instanceof ThriftError) return undefined
    throw error
  }
}
