/**
 * Places tables of the user's rows in the arena, where kernels of all workers read them. A table that would take more than half of
 * the free memory stays outside: the budget is meant for what programs compute. Memory of tables that are garbage counts as free.
 *
 * Outside they lie in shared buffers, whose size the garbage collector does not know either: so it is run after `OUTSIDE_BYTES`.
 */
import type { Column } from '../../../core/data/column.ts'
import { concatColumns } from '../../../core/data/columnConcat.ts'
import { joinedIndices } from '../../../core/data/textIndices.ts'
import { MemoryError } from '../../../core/errors.ts'
import type { PlacedColumns, TableMemory } from '../../../core/ports.ts'
import type { Arena } from '../../memory/arena.ts'
import { collectGarbage, leaseBlocks } from '../../memory/lease.ts'
import { arrayIn, copyInto, mapBuffers } from '../../memory/shareColumns.ts'
import { codeTexts } from './texts/textCodes.ts'

type Buffer = NonNullable<Column['values']>

/** Tables with fewer rows stay outside, since the caller's thread alone reads them. */
const FEWEST_ROWS = 16_384

/** The name of the request for memory in messages. */
const WHAT = 'a table in memory'

/** Bytes of tables outside of the arena after which the collector is run. */
const OUTSIDE_BYTES = 2 ** 28

/** Makes the placement of tables. `coded`: texts get dictionary codes, where different ones are few and there is room. */
export function tableMemory(
  arena: Arena,
  { fewestRows = FEWEST_ROWS, coded = true }: { readonly fewestRows?: number; readonly coded?: boolean } = {},
): TableMemory {
  let outsideBytes = 0
  /** The used bytes of the arena when a collection last freed too little; -1 for none. */
  let usedBytes = -1
  const roomFor = (bytes: number): number => {
    const room = (): number => (arena.budgetBytes - arena.usedBytes) / 2
    if (bytes <= room() || bytes > arena.budgetBytes / 2 || usedBytes === arena.usedBytes) return room()
    arena.onPressure?.()
    usedBytes = bytes <= room() ? -1 : arena.usedBytes
    return room()
  }
  const stayOutside = (bytes: number): undefined => {
    outsideBytes += bytes
    if (outsideBytes < OUTSIDE_BYTES) return
    outsideBytes = 0
    collectGarbage()
  }
  return {
    place(columns, rows) {
      const pieces = columns.flat()
      const bytes = pieces.reduce((sum, column) => sum + bytesOf(column), 0)
      if (rows < fewestRows || pieces.some(isOutside)) return stayOutside(bytes)
      const room = roomFor(bytes)
      if (bytes > room) return stayOutside(bytes)
      const texts = columns.reduce((sum, [first]) => sum + (first === undefined ? 0 : textsIn(first).length), 0)
      return placed(columns, arena, { coded: coded && bytes + 2 * texts * rows <= room }) ?? stayOutside(bytes)
    },
  }
}

function placed(columns: readonly (readonly Column[])[], arena: Arena, { coded }: { readonly coded: boolean }): PlacedColumns | undefined {
  const blocks = new Set<Buffer>()
  const kept = <B extends Buffer>(block: B): B => {
    blocks.add(block)
    return block
  }
  const codes: number[] = []
  const offsets = (): number[] => [...[...blocks].map(({ byteOffset }) => byteOffset), ...codes]
  try {
    const copies = columns.map((pieces) =>
      mapBuffers(
        concatColumns(pieces, undefined, (of, length) => kept(arrayIn(arena, of, length, WHAT))),
        // a single piece, and pieces that lie end to end, are not copied yet
        (buffer) => (blocks.has(buffer) ? buffer : kept(copyInto(arena, buffer, WHAT))),
      ),
    )
    if (coded) {
      codes.push(
        ...copies.flatMap((column, i) => {
          const indices = column.type.kind === 'utf8' ? joinedIndices(columns[i] ?? []) : undefined
          return textsIn(column).flatMap((text) => codeTexts(text, arena, indices) ?? [])
        }),
      )
    }
    return { columns: copies, hold: (owner) => void leaseBlocks(owner, arena, offsets()) }
  } catch (error) {
    for (const offset of offsets()) arena.free(offset)
    if (error instanceof MemoryError) return undefined
    throw error
  }
}

/** A column of texts itself, or those of the fields of a struct. */
function textsIn(column: Column): readonly Column[] {
  if (column.type.kind === 'utf8') return [column]
  return column.type.kind === 'struct' ? (column.children ?? []).flatMap(textsIn) : []
}

function bytesOf(column: Column): number {
  let bytes = 0
  mapBuffers(column, (buffer) => {
    bytes += buffer.byteLength
    return buffer
  })
  return bytes
}

/** Whether a column has objects, which lie in no buffer. */
function isOutside(column: Column): boolean {
  return column.objects !== undefined || (column.children?.some(isOutside) ?? false)
}
