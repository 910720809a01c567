/**
 * Tables of the user's rows in the arena, where kernels of all workers read them. A table that would take more than half of
 * what is free stays outside: the budget is there for what programs compute.
 */
import type { Column } from '../../core/column.ts'
import { MemoryError } from '../../core/errors.ts'
import type { PlacedColumns, TableMemory } from '../../core/ports.ts'
import type { Arena } from './arena.ts'
import { leaseBlocks } from './lease.ts'
import { blocksOfColumns, copyInto, mapBuffers } from './shareColumns.ts'

/** Smaller tables are read by the caller's thread alone. */
const FEWEST_ROWS = 16_384

export function tableMemory(arena: Arena, fewestRows: number = FEWEST_ROWS): TableMemory {
  return {
    place(columns, rows) {
      if (rows < fewestRows || columns.some(isOutside)) return undefined
      const bytes = columns.reduce((sum, column) => sum + bytesOf(column), 0)
      if (bytes > (arena.budgetBytes - arena.usedBytes) / 2) return undefined
      return placed(columns, arena)
    },
  }
}

function placed(columns: readonly Column[], arena: Arena): PlacedColumns | undefined {
  const offsets: number[] = []
  try {
    const copies = columns.map((column) =>
      mapBuffers(column, (buffer) => {
        const copy = copyInto(arena, buffer, 'a table in memory')
        offsets.push(copy.byteOffset)
        return copy
      }),
    )
    return { columns: copies, hold: (owner) => void leaseBlocks(owner, arena, blocksOfColumns(copies, arena)) }
  } catch (error) {
    for (const offset of offsets) arena.free(offset)
    if (error instanceof MemoryError) return undefined
    throw error
  }
}

function bytesOf(column: Column): number {
  let bytes = 0
  mapBuffers(column, (buffer) => {
    bytes += buffer.byteLength
    return buffer
  })
  return bytes
}

/** Objects lie in no buffer. */
function isOutside(column: Column): boolean {
  return column.objects !== undefined || (column.children?.some(isOutside) ?? false)
}
