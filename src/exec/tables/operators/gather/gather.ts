/**
 * Gathers rows of columns into blocks of the arena that belong to the result: as `takeColumn` does, without a copy in ordinary
 * memory. Kernels move numbers and texts; `takeColumn` takes columns of other types.
 */
import type { Column } from '../../../../core/data/column.ts'
import { concatColumns } from '../../../../core/data/columnConcat.ts'
import { bytesOf, takeColumn, takenValidity, writeOffsets } from '../../../../core/data/columnSlices.ts'
import { FIXED_FORMS, isFixedKind } from '../../../../core/data/fixedValues.ts'
import { GATHER_FRAME, GATHER_FRAME_BYTES, gatherKernel, type Log2Bytes, textsKernel } from '../../../kernels/tables/joinKernels.ts'
import { putAddress } from '../../../memory/addressWords.ts'
import type { ResultBlocks } from '../../columns/resultBlocks.ts'
import type { GroupMemory, Kernel } from '../groupBy/groupMemory.ts'
import { STRIDE } from '../groupBy/radixPartitions.ts'

/** Row numbers in the pieces of a table: those from cuts[p] to cuts[p + 1] belong to piece `p`. */
export interface PieceRows {
  readonly rows: Int32Array
  readonly cuts: readonly number[]
  /** Whether some may be -1, which gives null. */
  readonly nullable: boolean
}

export class Gather {
  private readonly memory: GroupMemory
  private readonly blocks: ResultBlocks
  private readonly frame: number
  private readonly words: Int32Array

  constructor(memory: GroupMemory, blocks: ResultBlocks) {
    this.memory = memory
    this.blocks = blocks
    this.frame = memory.block(GATHER_FRAME_BYTES)
    this.words = memory.integers(this.frame, GATHER_FRAME_BYTES / 4)
  }

  /** The values at the rows `from` of a column, whose pieces have one type. */
  take(pieces: readonly Column[], from: PieceRows): Column {
    const type = pieces[0]?.type ?? { kind: 'null' }
    const { rows, cuts, nullable } = from
    const hasNulls = nullable || pieces.some(({ validity }) => validity !== undefined)
    const [only] = pieces
    if (only !== undefined && (pieces.length === 1 || !hasNulls)) {
      const validity = hasNulls ? takenValidity(only, rows) : undefined
      const base = { type, length: rows.length, ...(validity === undefined ? {} : { validity }) }
      if (isFixedKind(type.kind) && pieces.every(({ values }) => values !== undefined))
        return { ...base, values: this.values(pieces, from, new FIXED_FORMS[type.kind].array(0)) }
      if (type.kind === 'utf8' || type.kind === 'binary') return { ...base, ...this.texts(pieces, from) }
      if (type.kind === 'struct')
        return {
          ...base,
          children: type.fields.map((_, i) =>
            this.take(
              pieces.flatMap((piece) => piece.children?.[i] ?? []),
              from,
            ),
          ),
        }
    }
    const taken = pieces.map((piece, p) => takeColumn(piece, rows.subarray(cuts[p], cuts[p + 1])))
    return concatColumns(taken)
  }

  private values(pieces: readonly Column[], from: PieceRows, like: NonNullable<Column['values']>): NonNullable<Column['values']> {
    const out = this.blocks.like(like, from.rows.length)
    if (from.nullable) new Uint8Array(out.buffer, out.byteOffset, out.byteLength).fill(0)
    const log2 = Math.log2(like.BYTES_PER_ELEMENT) as Log2Bytes // of typed arrays
    const kernel = this.memory.kernel(`join gather ${log2} ${from.nullable}`, () => gatherKernel(log2, from))
    this.place('out', out.byteOffset)
    this.eachPiece(pieces, from, kernel, (piece) => this.place('bytes', this.memory.addressOf(piece.values)))
    return out
  }

  private texts(pieces: readonly Column[], from: PieceRows): Pick<Column, 'values' | 'offsets'> {
    const { rows, cuts } = from
    const offsets = this.blocks.like(rows, rows.length + 1)
    offsets[0] = 0
    for (const [p, piece] of pieces.entries())
      writeOffsets(piece, rows.subarray(cuts[p], cuts[p + 1]), offsets.subarray(cuts[p], (cuts[p + 1] as number) + 1)) // a cut more than pieces
    const values = this.blocks.like(new Uint8Array(0), offsets[rows.length] ?? 0)
    this.place('out', values.byteOffset)
    this.place('outOffsets', offsets.byteOffset)
    const kernel = this.memory.kernel('join gather texts', textsKernel)
    this.eachPiece(pieces, from, kernel, (piece) => {
      this.place('bytes', this.memory.addressOf(bytesOf(piece)))
      this.place('offsets', this.memory.addressOf(piece.offsets))
    })
    return { values, offsets }
  }

  private eachPiece(pieces: readonly Column[], { rows, cuts }: PieceRows, kernel: Kernel, begin: (piece: Column) => void): void {
    this.place('rows', rows.byteOffset)
    for (const [p, piece] of pieces.entries()) {
      const [first, end] = [cuts[p] as number, cuts[p + 1] as number] // a cut more than pieces
      if (first === end) continue
      begin(piece)
      for (let at = first; at < end; at += STRIDE) kernel(this.frame, at, Math.min(at + STRIDE, end))
    }
  }

  private place(name: keyof typeof GATHER_FRAME, address: number): void {
    putAddress(this.words, GATHER_FRAME[name] / 4, address)
  }
}
