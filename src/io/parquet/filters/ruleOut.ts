/**
 * Which row groups, and which of their rows, a predicate leaves of Parquet files: by Bloom filters and page indexes.
 *
 *     day >= 7 June     row group 3 of 9     pages 1992-01 … 1993-06 | 1993-06 … 1995-02 | …     -->   its rows 20480 to 61440
 *
 * Statement: each row of the splits for which the predicate holds is a row of the result, in the same order, if filters and indexes
 * are as the file's writer made them. What is odd, damaged or unknown leaves out nothing.
 */
import type { ColumnPredicate } from '../../../core/plan/predicate.ts'
import type { CheckUnread, FileFilters, RuleOut } from '../../../core/ports.ts'
import type { SourceSplit } from '../../../core/sourceParts.ts'
import { checkSame, isUrl, openBytes } from '../../bytes/byteSource.ts'
import { inGroups, OPENED_AT_ONCE } from '../../bytes/inGroups.ts'
import type { ByteSource } from '../../bytes/source.ts'
import type { FileDetail, GroupDetail } from '../describe.ts'
import { type PartsOfSplits, partsByIndex } from '../pageIndex/parts.ts'
import { ruledOutByBlooms } from './bloomFilters.ts'

/** The parts that are left of splits of local Parquet files. */
export const ruleOutInParquet: RuleOut = async ({ kind, given }, splits, predicate) => {
  if (kind !== 'parquet') return splits
  const files = new Map<string, { readonly stamp: string; readonly splits: SourceSplit[] }>()
  for (const split of splits) {
    if (!predicate.some(({ column }) => split.filters?.has(column))) continue
    const { path, stamp } = (split.detail as GroupDetail).file // of a Parquet file
    const known = files.get(path) ?? { stamp, splits: [] }
    files.set(path, known)
    known.splits.push(split)
  }
  const parts = new Map<SourceSplit, readonly SourceSplit[]>()
  for (const [path, { stamp, splits: own }] of files)
    for (const [split, left] of await partsIn({ path, stamp, given }, own, predicate)) parts.set(split, left)
  return parts.size === 0 ? splits : splits.flatMap((split) => parts.get(split) ?? [split])
}

/** Checks the files of which filters and statistics leave nothing: what was known of them is of what was there. */
const checkUnread: CheckUnread = async ({ kind, splits, given }, left) => {
  if (kind !== 'parquet' || left.length === splits.length) return
  const fileOf = ({ detail }: SourceSplit): FileDetail => (detail as GroupDetail).file // of a Parquet file
  const read = new Set(left.map((split) => fileOf(split).path))
  const unread = new Map<string, FileDetail>()
  for (const file of splits.map(fileOf)) if (!read.has(file.path)) unread.set(file.path, file)
  await inGroups([...unread.values()], OPENED_AT_ONCE, (file) => checkSame(file, { given }))
}

export const parquetFilters: FileFilters = { ruleOut: ruleOutInParquet, checkUnread }

interface SameFile {
  readonly path: string
  readonly stamp: string
  readonly given: Parameters<RuleOut>[0]['given']
}

async function partsIn(file: SameFile, splits: readonly SourceSplit[], predicate: ColumnPredicate): Promise<PartsOfSplits> {
  let opened: ByteSource | undefined
  const bytes = async (): Promise<ByteSource> => (opened ??= await openedAsBefore(file))
  try {
    const ruledOut = await ruledOutByBlooms(bytes, splits, predicate)
    const left = splits.filter((split) => !ruledOut.has(split))
    const parts = await partsByIndex(bytes, left, predicate)
    return new Map([...[...ruledOut].map((split) => [split, []] as const), ...parts])
  } catch (error) {
    if (error instanceof AnotherFile) return new Map()
    throw error
  } finally {
    await opened?.close()
  }
}

/** The file lies on a server, has changed or is gone: who reads it says so. */
class AnotherFile extends Error {}

async function openedAsBefore({ path, stamp, given }: SameFile): Promise<ByteSource> {
  if (isUrl(path) || /^s3:\/\//i.test(path)) throw new AnotherFile()
  let bytes: ByteSource
  try {
    bytes = await openBytes(path, { given })
  } catch {
    throw new AnotherFile() // whoever reads the rows meets the same, and says which file it is
  }
  if (bytes.stamp === stamp) return bytes
  await bytes.close()
  throw new AnotherFile()
}
