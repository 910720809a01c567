/**
 * Memory of the arena for bytes that a task reads and kernels take from there, a row group after another. Where the arena has
 * little left, bytes lie in memory of their own, and whoever wants kernels to reach them copies them.
 */
import { MemoryError } from '../../core/errors.ts'
import type { Scratch } from '../../core/ports.ts'
import type { Arena } from './arena.ts'

/** Blocks begin at a whole word. */
const WORD = 8
/** A block takes at most one part in so many of what the budget has left. */
const ROOM = 16

export class ArenaScratch implements Scratch {
  private readonly arena: Arena
  /** The number of bytes that kernels may read behind the last one. */
  private readonly behind: number
  private blocks: number[] = []
  /** The bytes left in the last block, and the address at which they begin. */
  private left = 0
  private next = 0
  /** The bytes lent since the last reset. */
  private lent = 0

  constructor(arena: Arena, behind: number) {
    this.arena = arena
    this.behind = behind
  }

  bytes(length: number): Uint8Array {
    const size = Math.ceil((length + this.behind) / WORD) * WORD
    if (size > this.left && !this.grown(size)) return new Uint8Array(length)
    const found = this.arena.view('u8', this.next, length) as Uint8Array
    this.next += size
    this.left -= size
    this.lent += size
    return found
  }

  /** Takes back all that was lent, to lend it again as one block. */
  reset(): void {
    if (this.blocks.length === 1) {
      this.next = this.blocks[0] as number // the only one
      this.left += this.lent
    } else {
      const { lent } = this
      this.free()
      if (lent > 0) this.grown(lent)
    }
    this.lent = 0
  }

  free(): void {
    for (const block of this.blocks) this.arena.free(block)
    this.blocks = []
    this.left = 0
  }

  private grown(size: number): boolean {
    const { budgetBytes, usedBytes } = this.arena
    if (size * ROOM > budgetBytes - usedBytes) return false
    try {
      this.next = this.arena.reserve(size, 'row groups that are read')
    } catch (error) {
      if (error instanceof MemoryError) return false
      throw error
    }
    this.blocks.push(this.next)
    this.left = size
    return true
  }
}
