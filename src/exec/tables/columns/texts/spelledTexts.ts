/**
 * Texts that a table has as dictionary codes alone (unspelled), and their conversion to bytes by row (spelled).
 *
 *     places  0 1 0   of  Rome Bern   -->   RomeBernRome   0 4 8 12
 *
 * The indices are the codes of the texts, and the dictionary has an empty text behind its own, for nulls. Kernels that compare texts
 * read codes; only columns that leave the tables of a run have to be spelled, and only for the rows that do.
 */
import { type Column, isValid } from '../../../../core/data/column.ts'
import { LARGEST_OFFSET } from '../../../../core/data/leafBuilders.ts'
import { PlanError } from '../../../../core/errors.ts'
import { endsKernel, textsKernel } from '../../../kernels/tables/gatherKernels.ts'
import type { Arena } from '../../../memory/arena.ts'
import { arenaKernel } from '../../operators/arenaKernels.ts'
import { allOf } from '../../scheduler.ts'
import type { Placed } from '../placed.ts'
import type { ResultBlocks } from '../resultBlocks.ts'
import type { Codes, TextCodes } from './textCodes.ts'

/** A dictionary-encoded column of codes, with `texts` and the empty text behind them as its dictionary, copied into these blocks. */
export function unspelled(codes: Codes, texts: Column, blocks: ResultBlocks): { readonly column: Column; readonly texts: Column } {
  const ends = texts.offsets ?? new Int32Array(1)
  const offsets = new Int32Array(texts.length + 2)
  offsets.set(ends.subarray(0, texts.length + 1))
  offsets[texts.length + 1] = offsets[texts.length] as number
  const { type } = texts
  const dictionary = blocks.copy({ type, length: texts.length + 1, offsets, values: texts.values ?? new Uint8Array() })
  return { column: { type, length: codes.length, values: codes, dictionary }, texts: { ...dictionary, length: texts.length } }
}

/** Whether a column has its texts as dictionary codes alone. */
export function isUnspelled({ dictionary }: Column): boolean {
  return dictionary !== undefined
}

/** Rows that one task spells, a multiple of eight. */
const PIECE = 2 ** 16

/** The column with its texts' bytes, in these blocks; the bitmap is shared. `placed` runs the tasks that write the texts, on any thread. */
export async function spelled(
  column: Column,
  blocks: ResultBlocks,
  placed: (columns: readonly Placed[]) => Promise<unknown>,
  pieceRows: number = PIECE,
): Promise<Column> {
  const { type, length, validity } = column
  const offsets = blocks.like(new Int32Array(), length + 1)
  offsets[0] = 0
  const pieces: Omit<Placed, 'whole'>[] = []
  let firstByte = 0
  for (let firstRow = 0; firstRow < length; firstRow += pieceRows) {
    const part = piece(column, firstRow, Math.min(length, firstRow + pieceRows))
    pieces.push({ part, firstRow, firstByte })
    firstByte += spelledBytes(part)
  }
  if (firstByte > LARGEST_OFFSET)
    throw new PlanError('A column would hold more than 2 GiB of text in one piece. Cut the array with repartition({ partitions }).')
  const whole = { type, length, offsets, values: blocks.like(new Uint8Array(), firstByte) }
  await allOf(pieces.map((one) => placed([{ ...one, whole }]))) // when it fails, no task writes any more to blocks that are freed
  return validity === undefined ? whole : { ...whole, validity }
}

/** The rows from `from`, a multiple of eight, to `to`. */
function piece({ type, values, dictionary, validity }: Column, from: number, to: number): Column {
  const part = { type, length: to - from, values: (values as Codes).subarray(from, to), ...(dictionary && { dictionary }) }
  return validity === undefined ? part : { ...part, validity: validity.subarray(from >> 3, (to + 7) >> 3) }
}

/** The number of bytes that the texts of the rows have. */
export function spelledBytes(column: Column): number {
  const { length, values, dictionary, validity } = column
  const places = values as Codes // indices, as it is dictionary encoded
  const ends = dictionary?.offsets ?? new Int32Array(1)
  let bytes = 0
  for (let i = 0; i < length; i++) {
    const place = places[i] as number // i < length
    if (validity === undefined || isValid(column, i)) bytes += (ends[place + 1] as number) - (ends[place] as number) // a place has an entry
  }
  return bytes
}

/** Rows between two calls of a kernel, so that V8 can replace it while it warms up. */
const STRIDE = 16_384

/** Writes the texts of a part and their ends, behind `firstByte` bytes of the texts before. All buffers lie in the arena. */
export function spellTexts(
  part: Column,
  whole: Column,
  { firstRow, firstByte }: { readonly firstRow: number; readonly firstByte: number },
  arena: Arena,
): void {
  const { length, values, dictionary, validity } = part
  const [entries, offsets, ends, out] = [dictionary?.values, dictionary?.offsets, whole.offsets, whole.values].map(
    (buffer) => buffer?.byteOffset ?? 0,
  ) as [number, number, number, number] // one for each
  const findEnds = arenaKernel(arena, 'gather ends false', () => endsKernel(false))
  const copy = arenaKernel(arena, 'gather texts', textsKernel)
  const isWide = values instanceof Int32Array && validity === undefined
  const total = arena.reserve(4 + (isWide ? 0 : 4 * STRIDE), 'texts of files')
  try {
    const bytes = arena.view('i32', total, 1) as Int32Array
    const scratch = arena.view('i32', total + 4, isWide ? 0 : STRIDE) as Int32Array
    let before = firstByte
    for (let from = 0; from < length; from += STRIDE) {
      const rows = Math.min(STRIDE, length - from)
      if (!isWide) writePlaces(part, from, scratch.subarray(0, rows))
      const places = isWide ? values.byteOffset + 4 * from : total + 4
      const to = ends + 4 * (firstRow + from)
      findEnds(offsets, 0, places, 0, rows, to, total)
      copy(entries, offsets, places, 0, rows, to, before, out)
      before += bytes[0] as number
    }
  } finally {
    arena.free(total)
  }
}

/** Writes the dictionary indices of rows from `from` on; for nulls that of the empty text. */
function writePlaces(part: Column, from: number, places: Int32Array): void {
  const codes = part.values as Codes // indices, as it is dictionary encoded
  const empty = (part.dictionary?.length ?? 0) - 1
  for (let i = 0; i < places.length; i++) places[i] = isValid(part, from + i) ? (codes[from + i] as number) : empty // inside of the part
}

/** The codes of a dictionary-encoded column, for kernels that compare texts. */
export function codesOfUnspelled(column: Column, firsts: Int32Array, texts: Column): TextCodes {
  return { codes: column.values as Codes, firsts, texts }
}
