/**
 * The blocks of the arena that a run owns: those of its tasks' results, until the next stage has consumed them.
 *
 * A result may share buffers with its input (a projection, a renamed column), so an input's block lives on as long as
 * a batch lies in it.
 */
import type { Column } from '../../core/data/column.ts'
import { ownColumn } from '../../core/data/columnSlices.ts'
import type { Arena } from '../memory/arena.ts'
import { copyInto, mapBuffers } from '../memory/shareColumns.ts'
import type { Block } from './block.ts'
import { type ExecBatch, mapBatch } from './operators/batches.ts'

export class Blocks {
  private readonly arena: Arena
  private readonly live = new Map<number, Block>()
  constructor(arena: Arena) {
    this.arena = arena
  }

  add(blocks: readonly Block[]): void {
    for (const block of blocks) this.live.set(block.offset, block)
  }

  free(blocks: readonly Block[]): void {
    for (const { offset } of blocks) if (this.live.delete(offset)) this.arena.free(offset)
  }

  freeAll(): void {
    this.free([...this.live.values()])
  }

  /** The offsets of all blocks that the run owns now. */
  all(): ReadonlySet<number> {
    return new Set(this.live.keys())
  }

  /** Frees all blocks but those at the offsets `kept`, and `others`. */
  freeOthers(kept: ReadonlySet<number>, others: readonly Block[]): void {
    const all = new Set([...kept, ...others.map(({ offset }) => offset)])
    this.free([...this.live.values()].filter(({ offset }) => !all.has(offset)))
  }

  /** Frees the blocks that no batch lies in, and returns the others. */
  keep(blocks: readonly Block[], batches: readonly ExecBatch[]): readonly Block[] {
    if (blocks.length === 0) return blocks
    const sorted = [...blocks].sort((a, b) => a.offset - b.offset)
    const used = new Set<Block>()
    for (const batch of batches) {
      mapBatch(batch, (buffer) => {
        const block = blockOf(sorted, buffer, this.arena)
        if (block !== undefined) used.add(block)
        return buffer
      })
    }
    this.free(sorted.filter((block) => !used.has(block)))
    return [...used]
  }

  /** The batch with every buffer in a whole block of the arena, owned by the caller: buffers that are one of `blocks` as they are, others copied. */
  handedOver(batch: ExecBatch, blocks: readonly Block[]): ExecBatch {
    const own = new Map(blocks.map((block) => [block.offset, block]))
    const taken = new Set<Block>()
    const copied: number[] = []
    try {
      const whole = mapBatch(batch, (buffer) => {
        const block = this.arena.owns(buffer) ? own.get(buffer.byteOffset) : undefined
        if (block !== undefined) {
          taken.add(block)
          return buffer
        }
        const copy = copyInto(this.arena, buffer, 'materialize')
        copied.push(copy.byteOffset)
        return copy
      })
      for (const { offset } of taken) this.live.delete(offset)
      return whole
    } catch (error) {
      for (const offset of copied) this.arena.free(offset)
      throw error
    }
  }

  /** The batch with buffers that lie in the run's blocks copied into ordinary memory. */
  copiedOut(batch: ExecBatch): ExecBatch {
    if (this.live.size === 0) return batch
    const sorted = [...this.live.values()].sort((a, b) => a.offset - b.offset)
    const isInside = (buffer: ArrayBufferView): boolean => blockOf(sorted, buffer, this.arena) !== undefined
    // slices of texts or lists share the values of the whole column: only a slice's own are copied
    const columns = batch.columns.map((column) =>
      column.offsets !== undefined && anyBuffer(column, isInside) ? ownColumn(column) : column,
    )
    return mapBatch({ ...batch, columns }, (buffer) => {
      if (!isInside(buffer)) return buffer
      const copy = new (buffer.constructor as new (length: number) => typeof buffer)(buffer.length) // a typed array's own class
      copy.set(buffer as never)
      return copy
    })
  }
}

function anyBuffer(column: Column, test: (buffer: ArrayBufferView) => boolean): boolean {
  let found = false
  mapBuffers(column, (buffer) => {
    found ||= test(buffer)
    return buffer
  })
  return found
}

function blockOf(sorted: readonly Block[], buffer: ArrayBufferView, arena: Arena): Block | undefined {
  if (buffer.byteLength === 0 || !arena.owns(buffer)) return undefined
  let low = 0
  let high = sorted.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const block = sorted[middle] as Block // low <= middle <= high
    if (buffer.byteOffset < block.offset) high = middle - 1
    else if (buffer.byteOffset >= block.offset + block.bytes) low = middle + 1
    else return block
  }
  return undefined
}
