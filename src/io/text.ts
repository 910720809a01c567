/**
 * Text files, one element per line: `\n` and `\r\n` end a line, and a last line need not have an end.
 */
import { isUtf8 } from 'node:buffer'
import type { Batch } from '../core/data/column.ts'
import { createBuilder } from '../core/data/columnBuilder.ts'
import { SourceError } from '../core/errors.ts'
import type { ArraySource } from '../core/plan/logicalPlan.ts'
import type { Access, ReadSplit } from '../core/ports.ts'
import type { SourceSplit } from '../core/sourceParts.ts'
import { openSame } from './bytes/byteSource.ts'
import { checkForm } from './bytes/fileForms.ts'
import { filesOf } from './bytes/paths.ts'
import type { ByteSource } from './bytes/source.ts'
import { openPlain, type Unpacked } from './bytes/unpacked.ts'
import { checkReading, type FileSource, type ReadOptions, requestsOf } from './reading.ts'

const SPLIT_BYTES = 8 * 2 ** 20
/** Most bytes of one line of text, or one record of CSV: it is read whole, and lies in memory some times over. */
export const LARGEST_PIECE_BYTES: number = 64 * 2 ** 20
const ELEMENT = { kind: 'scalar', type: { kind: 'utf8' }, nullable: false } as const

interface TextDetail {
  readonly path: string
  readonly stamp: string
  readonly start: number
  readonly end: number
  readonly unpacked?: Unpacked
}

/** The lines of one or more text files in UTF-8, cut into splits after line ends. */
export async function openText(source: FileSource, options: ReadOptions = {}): Promise<ArraySource> {
  checkReading('readText', options, [])
  const { paths, name, given } = await filesOf(source, options)
  const access = { ...options, given }
  const splits: SourceSplit[] = []
  for (const path of paths) {
    const { bytes, unpacked } = await openPlain(path, access)
    try {
      await checkForm(bytes, path, 'readText')
      let start = 0
      while (start < bytes.size) {
        const end = await lineEndAfter(bytes, start + SPLIT_BYTES)
        if (end - start > SPLIT_BYTES + LARGEST_PIECE_BYTES) {
          throw new SourceError(
            `${path} has a line of more than 64 MiB behind byte ${start}, and longer ones are not read. Is it text, with a line an element?`,
            path,
          )
        }
        const detail: TextDetail = { path, stamp: bytes.stamp, start, end, ...(unpacked && { unpacked }) }
        splits.push({ bytes: end - start, detail })
        start = end
      }
    } finally {
      await bytes.close()
    }
  }
  return {
    kind: 'text',
    name,
    element: ELEMENT,
    splits,
    ...requestsOf(access, paths),
  }
}

/** The position after the first line end at or after `from`; where none comes within the longest line, the position reached. */
export async function lineEndAfter(bytes: ByteSource, from: number): Promise<number> {
  const STEP = 64 * 1024
  for (let at = from; at < bytes.size; at += STEP) {
    if (at - from > LARGEST_PIECE_BYTES) return at
    const piece = await bytes.read(at, Math.min(bytes.size, at + STEP))
    const found = piece.indexOf(10)
    if (found >= 0) return at + found + 1
  }
  return bytes.size
}

/** The bytes of a split, after checking that the file is the one that was opened; in `into` where it is long enough. */
export async function readRange(
  { path, stamp, start, end, unpacked }: TextDetail,
  access: Access = {},
  into?: Uint8Array,
): Promise<Uint8Array> {
  const bytes = await openSame({ path, stamp, at: unpacked?.at }, access)
  try {
    return await bytes.read(start, end, into)
  } finally {
    await bytes.close()
  }
}

export const readTextSplit: ReadSplit = async (_source, split, columns, _predicate, access) => {
  const detail = split.detail as TextDetail // made by `openText`
  const range = await readRange(detail, access)
  const text = decodeUtf8(range, detail.path, detail.start === 0)
  const builder = createBuilder(ELEMENT.type)
  let length = 0
  let start = 0
  while (start < text.length) {
    const found = text.indexOf('\n', start)
    const end = found < 0 ? text.length : found
    builder.append(text.slice(start, end > start && text.charCodeAt(end - 1) === 13 ? end - 1 : end))
    length++
    start = end + 1
  }
  const batch: Batch = { element: ELEMENT, length, columns: columns.length === 0 ? [] : [builder.finish()] }
  return [batch]
}

/** UTF-8 as text; a byte order mark at the start of the file is dropped. */
function decodeUtf8(bytes: Uint8Array, path: string, fromStart: boolean): string {
  return new TextDecoder('utf-8', { ignoreBOM: !fromStart }).decode(checkUtf8(bytes, path))
}

/** Returns the same bytes. SourceError where they are not UTF-8. */
export function checkUtf8(bytes: Uint8Array, path: string): Uint8Array {
  if (!isUtf8(bytes)) throw new SourceError(`${path} is not text in UTF-8. Convert it first, for example with iconv -t UTF-8.`, path)
  return bytes
}

/** How many bytes a byte order mark takes at the start of a file. */
export function markBytes(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
}
