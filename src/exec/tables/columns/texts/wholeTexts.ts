/**
 * Columns of texts of splits put together: dictionary codes, where all splits have dictionaries and different texts are few; else the
 * bytes end to end.
 */
import type { Column } from '../../../../core/data/column.ts'
import { LARGEST_OFFSET } from '../../../../core/data/leafBuilders.ts'
import { MemoryError } from '../../../../core/errors.ts'
import type { ExecBatch } from '../../operators/batches.ts'
import { inOrder, piecesOf } from '../../scheduler.ts'
import type { StageResult, StageTask } from '../../stage.ts'
import { textBytes } from '../loadTask.ts'
import type { Placed } from '../placed.ts'
import type { ResultBlocks } from '../resultBlocks.ts'
import { type CodedTexts, type MergedCodes, mergedCodes } from './loadedTexts.ts'
import { codesOfUnspelled, spelledBytes, unspelled } from './spelledTexts.ts'
import { emptyCodes, type TextCodes } from './textCodes.ts'

/** The columns of texts of a split. */
export interface LoadedPart {
  readonly batch: ExecBatch
  readonly coded: readonly (CodedTexts | undefined)[]
}

/** The workers that copy texts. */
interface TextServices {
  readonly workers: number
  readonly run: (task: StageTask) => Promise<StageResult>
}

interface Texts {
  /** The indices of the columns of texts among all columns. */
  readonly texts: readonly number[]
  /** Their parts, one a split, in row order. */
  readonly parts: readonly LoadedPart[]
  readonly blocks: ResultBlocks
  readonly services: TextServices
}

interface PlacedTexts {
  readonly columns: readonly Column[]
  /** The codes of columns that have some, by the index of the column. */
  readonly codes: readonly { readonly column: number; readonly codes: TextCodes }[]
}

/** Whole columns of texts: dictionary codes, where all parts are dictionary encoded and different texts are few; else the bytes end to end. */
export async function textsPlaced(wholes: readonly Column[], { texts, parts, blocks, services }: Texts): Promise<PlacedTexts> {
  const columns = [...wholes]
  const codes: PlacedTexts['codes'][number][] = []
  const left: Column['values'][] = []
  const works: Placed[][] = parts.map(() => [])
  for (const [t, i] of texts.entries()) {
    const own = textParts(parts, t)
    const { validity, values: places, ...bare } = wholes[i] as Column // its bits were set when the split was read
    const merged = mergedOf(own, bare.length)
    if (merged !== undefined) {
      const wanted = emptyCodes(merged.firsts.length)
      const isThere = places instanceof Uint8Array && wanted instanceof Uint8Array
      if (!isThere) left.push(places)
      const { column, texts } = unspelled(isThere ? places : blocks.like(wanted, bare.length), merged.texts, blocks)
      columns[i] = validity === undefined ? column : { ...column, validity }
      codes.push({ column: i, codes: codesOfUnspelled(column, merged.firsts, texts) })
      for (const [p, { column: part, firstRow }] of own.entries())
        works[p]?.push({ part: placesOf(part), whole: placesOf(column), firstRow, firstByte: 0, places: merged.maps[p] as Uint16Array }) // one for each part
      continue
    }
    left.push(places)
    const bytes = own.map(({ column }) => (column.dictionary === undefined ? textBytes(column) : spelledBytes(column)))
    const all = bytes.reduce((sum, one) => sum + one, 0)
    if (all > LARGEST_OFFSET)
      throw new MemoryError('A column of texts takes more than 2 GiB. Cut the file into smaller ones, or select fewer rows.', {
        operator: 'texts of files',
        bytes: all,
      })
    const values = blocks.like(new Uint8Array(), all)
    const whole: Column = { ...bare, offsets: blocks.like(new Int32Array(), bare.length + 1), values }
    ;(whole.offsets as Int32Array)[0] = 0
    columns[i] = validity === undefined ? whole : { ...whole, validity }
    let firstByte = 0
    for (const [p, { column, firstRow }] of own.entries()) {
      works[p]?.push({ part: column, whole, firstRow, firstByte })
      firstByte += bytes[p] as number // one for each part
    }
  }
  const pieces = piecesOf(works, services.workers)
  const tasks = inOrder({
    next: () => {
      const columns = pieces.shift()?.flat()
      return columns && (() => services.run({ kind: 'place', columns }))
    },
    window: 2 * services.workers,
    drop: () => undefined,
  })
  for await (const _ of tasks);
  for (const buffer of left) blocks.free(buffer)
  return { columns, codes }
}

/** The column without its dictionary, as it is sent to a worker that writes codes. */
function placesOf({ dictionary: _, ...places }: Column): Column {
  return places
}

interface TextPart {
  readonly column: Column
  readonly coded: CodedTexts | undefined
  readonly firstRow: number
}

/** The parts of a column of texts, in row order. */
function textParts(parts: readonly LoadedPart[], text: number): readonly TextPart[] {
  let firstRow = 0
  return parts.map(({ batch, coded }) => {
    const column = batch.columns[text] as Column // one for each text
    const part = { column, coded: coded[text], firstRow }
    firstRow += column.length
    return part
  })
}

/** The merged codes of a column's parts; undefined where a part is not dictionary encoded, or there are too many texts. */
function mergedOf(parts: readonly TextPart[], rows: number): MergedCodes | undefined {
  const splits = parts.flatMap(({ column: { dictionary }, coded, firstRow }) =>
    dictionary === undefined || coded === undefined ? [] : [{ dictionary, coded, firstRow }],
  )
  return splits.length < parts.length ? undefined : mergedCodes(splits, rows)
}
