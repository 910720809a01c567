/**
 * Puts pieces of a result end to end in the arena: a table whose buffers are whole blocks.
 *
 *     piece 0   price 3 4   name  a bb          price  3 4 5 6
 *     piece 1   price 5 6   name  c dd    -->   name   a bb c dd
 *
 * The workers copy a piece each, so that no column passes through ordinary memory.
 */
import type { Batch, Column } from '../../core/data/column.ts'
import { FIXED_FORMS, isFixedKind } from '../../core/data/fixedValues.ts'
import { LARGEST_OFFSET } from '../../core/data/leafBuilders.ts'
import { fieldsOf, sameType } from '../../core/data/schema.ts'
import type { Arena } from '../memory/arena.ts'
import { mapBuffers } from '../memory/shareColumns.ts'
import type { Block } from './block.ts'
import { flatColumns, nestedColumns } from './columns/flatColumns.ts'
import { isLoadable, isText, textBytes } from './columns/loadTask.ts'
import type { Placed } from './columns/placed.ts'
import { ResultBlocks } from './columns/resultBlocks.ts'
import { allOf } from './scheduler.ts'
import type { StageTask } from './stage.ts'

export interface WholeServices {
  readonly arena: Arena
  readonly run: (task: StageTask) => Promise<unknown>
}

export interface WholeTable {
  readonly batch: Batch
  /** The blocks of the table, which the caller owns. */
  readonly blocks: readonly Block[]
}

/** The pieces as one table; undefined for a single piece, and where they differ in type or lie outside of the arena. MemoryError where there is no room. */
export async function wholeTable(pieces: readonly Batch[], { arena, run }: WholeServices): Promise<WholeTable | undefined> {
  const [first] = pieces
  if (first === undefined || pieces.length === 1 || !pieces.every((piece) => isAlike(piece, first) && liesIn(piece, arena)))
    return undefined
  const types = first.columns.map(({ type }) => type)
  const flat = pieces.map((piece) => flatColumns(piece.columns, types))
  if (flat.some((own) => own.some(({ dictionary }) => dictionary !== undefined))) return undefined
  const columns = (flat[0] as readonly Column[]).map((_, i) => flat.map((own) => own[i] as Column)) // alike
  if (columns.some((parts) => sumOf(parts, textBytes) > LARGEST_OFFSET)) return undefined
  const length = sumOf(pieces, (piece) => piece.length)
  const blocks = new ResultBlocks(arena, 'materialize')
  try {
    const wholes = columns.map((parts) => wholeColumn(parts, length, blocks))
    const firstBytes = columns.map(() => 0)
    let firstRow = 0
    const tasks: StageTask[] = []
    for (const [p, piece] of pieces.entries()) {
      const placed = (flat[p] as readonly Column[]).map((part, i): Placed => {
        const firstByte = firstBytes[i] as number // one for each
        firstBytes[i] = firstByte + textBytes(part)
        return { part, whole: wholes[i] as Column, firstRow, firstByte }
      })
      tasks.push({ kind: 'place', columns: placed })
      firstRow += piece.length
    }
    await allOf(tasks.map(run)) // when it fails, no task writes any more to blocks that are freed
    return { batch: { ...first, length, columns: nestedColumns(types, wholes) }, blocks: blocks.handedOver() }
  } catch (error) {
    blocks.freeAll()
    throw error
  }
}

function isAlike({ element, columns, keys }: Batch, first: Batch): boolean {
  const [fields, others] = [fieldsOf(element), fieldsOf(first.element)]
  return (
    keys === undefined &&
    element.kind === first.element.kind &&
    fields.length === others.length &&
    fields.every(({ name }, i) => name === others[i]?.name) &&
    columns.every(({ type }, i) => isLoadable(type) && sameType(type, (first.columns[i] as Column).type))
  )
}

function liesIn({ columns }: Batch, arena: Arena): boolean {
  let isInside = true
  for (const column of columns)
    mapBuffers(column, (buffer) => {
      isInside &&= buffer.byteLength === 0 || arena.owns(buffer)
      return buffer
    })
  return isInside
}

function wholeColumn(parts: readonly Column[], length: number, blocks: ResultBlocks): Column {
  const [{ type }] = parts as [Column]
  const validity = parts.some((part) => part.validity !== undefined) ? { validity: blocks.emptyBits(length) } : {}
  if (isFixedKind(type.kind)) return { type, length, values: blocks.like(new FIXED_FORMS[type.kind].array(0), length), ...validity }
  if (!isText(type)) return { type, length, ...validity } // structs, whose fields have columns of their own, and nulls
  const offsets = blocks.like(new Int32Array(), length + 1)
  offsets[0] = 0
  return { type, length, offsets, values: blocks.like(new Uint8Array(), sumOf(parts, textBytes)), ...validity }
}

function sumOf<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0)
}
