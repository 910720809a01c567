/**
 * Texts that a table has as places in a dictionary alone, spelled out for who reads their bytes.
 *
 *     places  0 1 0   of  Rome Bern   -->   RomeBernRome   0 4 8 12
 *
 * The places are the codes of the texts, and the dictionary has an empty text behind its own, which nulls become. Kernels
 * that compare texts read codes; only what leaves the tables of a run has to be spelled, and only of the rows that do.
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

/** A column of codes, whose dictionary is `texts` with the empty text behind them, all in these blocks. */
export function unspelled(codes: Codes, texts: Column, blocks: ResultBlocks): { readonly column: Column; readonly texts: Column } {
  const ends = texts.offsets ?? new Int32Array(1)
  const offsets = new Int32Array(texts.length + 2)
  offsets.set(ends.subarray(0, texts.length + 1))
  offsets[texts.length + 1] = offsets[texts.length] as number
  const { type } = texts
  const dictionary = blocks.copy({ type, length: texts.length + 1, offsets, values: texts.values ?? new Uint8Array() })
  return { column: { type, length: codes.length, values: codes, dictionary }, texts: { ...dictionary, length: texts.length } }
}

/** Whether there are no bytes of texts for the rows. */
export function isUnspelled({ dictionary }: Column): boolean {
  return dictionary !== undefined
}

/** Rows that one task spells, a multiple of eight. */
const PIECE = 2 ** 16

/** The column with bytes, in these blocks; its bitmap is the same. `placed` puts texts to their places, anywhere. */
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
  await allOf(pieces.map((one) => placed([{ ...one, whole }]))) // nobody writes to what is freed
  return validity === undefined ? whole : { ...whole, validity }
}

/** Rows from `from` on, a multiple of eight. */
function piece({ type, values, dictionary, validity }: Column, from: number, to: number): Column {
  const part = { type, length: to - from, values: (values as Codes).subarray(from, to), ...(dictionary && { dictionary }) }
  return validity === undefined ? part : { ...part, validity: validity.subarray(from >> 3, (to + 7) >> 3) }
}

/** The bytes that the texts of the rows have. */
export function spelledBytes(column: Column): number {
  const { length, values, dictionary, validity } = column
  const places = values as Codes // of whoever has a dictionary
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

/** Writes the texts of a part, and where they end, behind `firstByte` bytes of those before. All lies in the arena. */
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

/** The places of rows from `from` on; of nulls that of the empty text. */
function writePlaces(part: Column, from: number, places: Int32Array): void {
  const codes = part.values as Codes // of whoever has a dictionary
  const empty = (part.dictionary?.length ?? 0) - 1
  for (let i = 0; i < places.length; i++) places[i] = isValid(part, from + i) ? (codes[from + i] as number) : empty // inside of the part
}

/** What kernels are told of the codes. */
export function codesOfUnspelled(column: Column, firsts: Int32Array, texts: Column): TextCodes {
  return { codes: column.values as Codes, firsts, texts }
}
