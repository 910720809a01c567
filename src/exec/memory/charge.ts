/**
 * Memory outside of the arena that counts against its budget: blocks that stand for it, and that nobody writes.
 *
 * Pages of the arena take memory when they are first written, so a block that never is costs nothing but budget.
 */
import type { Arena } from './arena.ts'

/** Least bytes that are worth a block. */
const STEP_BYTES = 2 ** 16

export class Charge {
  private readonly arena: Arena
  private readonly operator: string
  private readonly offsets: number[] = []
  private bytes = 0
  constructor(arena: Arena, operator: string) {
    this.arena = arena
    this.operator = operator
  }

  /** Counts about this many bytes from now on, if it is more than before. MemoryError where the budget does not hold them. */
  raiseTo(bytes: number): void {
    const more = bytes - this.bytes
    if (more < STEP_BYTES) return
    this.offsets.push(this.arena.reserve(more, this.operator))
    this.bytes += more
  }

  end(): void {
    for (const offset of this.offsets.splice(0)) this.arena.free(offset)
  }
}
