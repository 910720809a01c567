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
import type { RuleOut } from '../../../core/ports.ts'
import type { SourceSplit } from '../../../core/sourceParts.ts'
import { isUrl, openBytes } from '../../bytes/byteSource.ts'
import { RangeReads } from '../../bytes/rangeReads.ts'
import type { ByteSource } from '../../bytes/source.ts'
import type { GroupDetail } from '../describe.ts'
import { intOf, structOf, ThriftError, ThriftReader } from '../thrift.ts'
import type { FilterForm, FilterPlace } from './filterPlaces.ts'
import { xxHash64 } from './xxHash64.ts'

/** Bytes that are read with a header, which has four small fields: most filters lie in them. */
const READ_BYTES = 4096
const BLOCK_BYTES = 32
const SALTS: readonly number[] = [...[0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d], ...[0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31]]

/** The splits of local Parquet files whose filters do not rule out that a row satisfies the predicate. */
export const ruleOutByFilters: RuleOut = async ({ kind, given }, splits, predicate) => {
  const equalities = predicate.filter(({ operator }) => operator === '===')
  if (kind !== 'parquet' || equalities.length === 0) return splits
  const files = new Map<string, { readonly stamp: string; readonly questions: Question[] }>()
  for (const split of splits) {
    const { path, stamp } = (split.detail as GroupDetail).file // of a Parquet file
    const questions = equalities.flatMap((comparison) => questionOf(comparison, split) ?? [])
    const known = files.get(path)
    if (known !== undefined) known.questions.push(...questions)
    else if (questions.length > 0) files.set(path, { stamp, questions })
  }
  const ruledOut = new Set<SourceSplit>()
  for (const [path, { stamp, questions }] of files) {
    const bytes = await sameFile(path, stamp, given)
    if (bytes === undefined) continue
    try {
      for (const split of await unable(bytes, questions)) ruledOut.add(split)
    } finally {
      await bytes.close()
    }
  }
  return ruledOut.size === 0 ? splits : splits.filter((split) => !ruledOut.has(split))
}

/** The splits of a file of which a filter says no. Filters that lie side by side are read at once. */
async function unable(bytes: ByteSource, questions: readonly Question[]): Promise<readonly SourceSplit[]> {
  const asked = questions.map(({ place: { at }, ...question }) => ({ ...question, start: at, end: Math.min(bytes.size, at + READ_BYTES) }))
  const reads = new RangeReads(bytes, asked, undefined)
  const found: SourceSplit[] = []
  for (const question of asked) if (!(await mayHave(bytes, await reads.read(question), question))) found.push(question.split)
  return found
}

/** The file as it was when its footer was read; undefined where it lies on a server, has changed or is gone: who reads it says so. */
async function sameFile(path: string, stamp: string, given: Parameters<RuleOut>[0]['given']): Promise<ByteSource | undefined> {
  if (isUrl(path) || /^s3:\/\//i.test(path)) return undefined
  try {
    const bytes = await openBytes(path, { given })
    if (bytes.stamp === stamp) return bytes
    await bytes.close()
  } catch {
    // whoever reads the rows meets the same, and says which file it is
  }
  return undefined
}

interface Question {
  readonly split: SourceSplit
  readonly place: FilterPlace
  /** The hashes of the values that are equal to the constant: two for zero. */
  readonly hashes: readonly bigint[]
}

function questionOf({ column, value }: ColumnComparison, split: SourceSplit): Question | undefined {
  const place = split.filters?.get(column) as FilterPlace | undefined // as `describe.ts` has made it
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

/** Whether a filter, which begins with these bytes, may have a value of one of the hashes. */
async function mayHave(
  bytes: ByteSource,
  head: Uint8Array,
  { start: at, hashes }: { readonly start: number; readonly hashes: Question['hashes'] },
): Promise<boolean> {
  const filter = filterIn(head, bytes.size - at)
  if (filter === undefined) return true
  for (const hash of hashes) {
    const from = filter.from + Number(((hash >> 32n) * BigInt(filter.blocks)) >> 32n) * BLOCK_BYTES
    const to = from + BLOCK_BYTES
    const block = to <= head.length ? head.subarray(from, to) : await bytes.read(at + from, at + to)
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
