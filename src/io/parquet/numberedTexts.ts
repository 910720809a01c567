/**
 * Numbers of texts straight from the pages of a column chunk: the dictionary's entries get numbers, and rows get those of their entries.
 *
 *     dictionary   Rome Bern Oslo   --TextNumbers-->   0 1 0
 *     page         1 1 0 2 …        --PageKernels-->   1 1 0 0 …   a byte a row
 *
 * Statement: the numbers are those of the texts that the decoder would make. What is null, odd or damaged, and what is neither stored as it
 * is nor packed by Snappy, gets no numbers: then the column is read as texts, or its reader says what is wrong.
 */
import type { PackedPage, PageKernels, TextNumbers } from '../../core/ports.ts'
import type { ColumnDetail } from './describe.ts'
import { afterLevels, formOf, isPlainDictionary, unpackedBytes, valueBytes } from './pagedColumns.ts'
import { DICTIONARY_ENCODINGS, type Page } from './pages.ts'

/** The highest codec that kernels unpack, by Parquet's number; the one below it is uncompressed. */
export const SNAPPY = 1

export interface NumberedChunk {
  readonly detail: ColumnDetail
  readonly codec: number
  /** The pages, in memory that kernels reach. */
  readonly pages: readonly Page[]
}

export interface NumbersTo {
  readonly numbers: TextNumbers
  readonly kernels: PageKernels
  /** A byte for each row. */
  readonly out: Uint8Array
}

/** Whether texts of such a column may get numbers: one chunk without nesting, whose codec is known to kernels. */
export function mayBeNumbered({ leaves: [leaf], ...detail }: ColumnDetail, codec: number): boolean {
  return codec <= SNAPPY && leaf !== undefined && formOf(leaf.physical, { leaves: [leaf], ...detail })?.width === 1
}

/** Writes the number of each row's text; false where the pages do not allow it, and then `out` holds garbage. */
export function numberedTexts({ detail, codec, pages }: NumberedChunk, to: NumbersTo): boolean {
  const [dictionary] = pages
  if (dictionary === undefined || !isPlainDictionary(dictionary)) return false
  const packed: PackedPage[] = []
  for (const page of pages) {
    const { kind, encoding, second } = page
    if (kind === 'dictionary' ? page !== dictionary : !DICTIONARY_ENCODINGS.includes(encoding)) return false
    if (second !== undefined && (second.levelBytes < 0 || second.nulls !== 0 || second.isCompressed !== (codec === SNAPPY))) return false
    packed.push({ bytes: valueBytes(page), unpackedBytes: unpackedBytes(page) })
  }
  if (codec === SNAPPY) return to.kernels.unpack(packed, (bytes) => written(cut(bytes, packed), pages, detail.nullable, to)) === true
  const isWhole = packed.every(({ bytes, unpackedBytes }) => bytes.length === unpackedBytes)
  return (
    isWhole &&
    written(
      packed.map(({ bytes }) => bytes),
      pages,
      detail.nullable,
      to,
    )
  )
}

/** The bytes of each page, which lie end to end. */
function cut(bytes: Uint8Array, pages: readonly PackedPage[]): readonly Uint8Array[] {
  let end = 0
  return pages.map(({ unpackedBytes: length }) => bytes.subarray(end, (end += length)))
}

/** Writes numbers by the unpacked bytes of the pages, of which the first is the dictionary. */
function written(bodies: readonly Uint8Array[], pages: readonly Page[], nullable: boolean, { numbers, kernels, out }: NumbersTo): boolean {
  const entries = numbers.ofPlain(bodies[0] as Uint8Array, pages[0]?.values ?? 0) // there is a dictionary
  if (entries === undefined) return false
  let row = 0
  for (let p = 1; p < pages.length; p++) {
    const { values, second } = pages[p] as Page // p < length
    const body = bodies[p] as Uint8Array
    const from = nullable && second === undefined ? afterLevels(body, 0, values, 1) : 0
    if (from === undefined || row + values > out.length) return false
    if (!kernels.numbers({ bytes: body.subarray(from), values, numbers: entries }, out.subarray(row, row + values))) return false
    row += values
  }
  return row === out.length
}
