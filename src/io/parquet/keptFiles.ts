/**
 * Descriptions of files that were opened, kept for the next question about them: parsing a footer takes longer than many a question.
 *
 *     sales.parquet, 9,120 bytes, inode 7, changed at 12:00:03.25   -->   its columns and row groups
 *
 * Statement: what is kept of a file is what reading it again would give, as far as the file system tells changes: a file has a version
 * only once its last change is so long ago that a later one has another time (`bytes/byteSource.ts`).
 */
import type { SourceSplit } from '../../core/sourceParts.ts'
import type { FileColumns } from './describe.ts'

/** The most column chunks that are kept, of all files together: some 20 MB of objects. */
const MOST_CHUNKS = 20_000

export interface KeptFile {
  readonly columns: FileColumns
  /** The file's splits as one of several, by its number among them. */
  readonly splits: Map<number, readonly SourceSplit[]>
}

/** What is kept, by version and options; the least recently used comes first. */
const kept = new Map<string, KeptFile>()

/** What is kept under this key, or `undefined`. */
export function keptFile(key: string): KeptFile | undefined {
  const known = kept.get(key)
  if (known === undefined) return undefined
  kept.delete(key)
  kept.set(key, known)
  return known
}

/** Keeps a file, and drops those that were used least recently. */
export function keepFile(key: string, columns: FileColumns): KeptFile {
  const file: KeptFile = { columns, splits: new Map() }
  kept.set(key, file)
  let chunks = 0
  for (const one of [...kept.keys()].reverse()) {
    chunks += chunksOf(kept.get(one) as KeptFile) // it is one of them
    if (chunks > MOST_CHUNKS) kept.delete(one)
  }
  return file
}

function chunksOf({ columns: { footer } }: KeptFile): number {
  return footer.groups.reduce((sum, { chunks }) => sum + chunks.length, 1)
}
