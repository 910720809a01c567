/**
 * The gate between the blocks of a portion and those of other processes, which in a pass wait for each other both ways.
 *
 *     others ── release ──> words of claims, or this thread's own turn
 *     blocks done ── outbox ──> this thread ── finished ──> others
 *
 * Threads claim blocks by words in shared memory; what comes from elsewhere is one more decrement there.
 */

import type { Portion } from '../kernelLayout.ts'
import { hasFailed, releaseBlock, reportFailure, smallestFailure } from './claim.ts'
import { resetClaimsTo } from './claimWords.ts'
import { depthOrder } from './depthOrder.ts'
import { tiledOrder } from './tiledOrder.ts'

/** The dependences between a portion's blocks and those of other processes; blocks are numbered as in the portion. */
export interface Outside {
  /** How many things elsewhere each block waits for. */
  readonly waits: Int32Array
  /** 1 for each block that others wait for. */
  readonly tells: Uint8Array
  /** The hops from process to process behind what each block waits for elsewhere; 0 where it waits for nothing there. */
  readonly depths: Int32Array
  /** Called when blocks can be released through the gate, not before. */
  opened(gate: BlockGate): void
  /** Called when no more blocks run, unless the gate is opened again. */
  closed(): void
  /** Called when a block that others wait for is done, with the smallest rank that has failed so far. */
  finished(block: number, failed: number | undefined): void
  /** Whether something for others is held back, to go together with more. */
  readonly holds: boolean
  /** Sends what is held back. */
  flush(): void
}

/** Milliseconds without a finished block after which what is held back is sent. */
const HELD_MS = 4

export class BlockGate {
  /** Milliseconds that this thread has waited for others. */
  waitedMs = 0
  readonly #portion: Portion
  readonly #outside: Outside
  /** Blocks that run while it is open. */
  readonly #range: readonly [number, number]
  readonly #left: Int32Array
  #waiting: { readonly block: number; resolve(): void } | undefined
  #isOver = false

  /** Without a range, all blocks run; with one, those before it are done. */
  constructor(portion: Portion, outside: Outside, range?: readonly [number, number]) {
    this.#portion = portion
    this.#outside = outside
    this.#range = range ?? [0, portion.blocks.count]
    this.#left = outside.waits.slice()
  }

  /** Readies the words of the portion: as a pass begins, or one of its rounds. */
  open(): void {
    const { claims, work } = this.#portion
    resetClaimsTo(claims, work.claimed, ...this.#range, this.#left)
    claims.outbox?.words.fill(0)
    claims.outbox?.tells.set(this.#outside.tells)
    this.#outside.opened(this)
  }

  /** Notes that something elsewhere that these blocks waited for is done; `failed` is the smallest rank that has failed there. */
  release(blocks: readonly number[], failed: number | undefined): void {
    const { claims, work } = this.#portion
    if (failed !== undefined) reportFailure(claims, failed)
    for (const block of blocks) {
      if (block < this.#range[0] || block >= this.#range[1]) continue // of a round that is still to come
      this.#left[block]!--
      releaseBlock(claims, work.claimed, block)
      if (this.#waiting?.block === block && this.#left[block] === 0) this.#waiting.resolve()
    }
  }

  /** The order in which a thread by itself runs all blocks, those of a depth by tiles or not; undefined for plan order. */
  orderOf(isTiled: boolean): Int32Array | undefined {
    const { blocks } = this.#portion
    const { depths } = this.#outside
    if (isTiled) return tiledOrder(blocks, depths)
    return blocks.steps === undefined && blocks.rounds === undefined ? depthOrder(blocks, depths) : undefined
  }

  isReady(block: number): boolean {
    return this.#left[block] === 0 || this.#isOver
  }

  /** Resolves when a block may run; for a thread that runs blocks one after another. */
  async ready(block: number): Promise<void> {
    if (this.isReady(block)) return
    this.#outside.flush() // the others may wait as well
    const started = performance.now()
    await new Promise<void>((resolve) => (this.#waiting = { block, resolve }))
    this.#waiting = undefined
    this.waitedMs += performance.now() - started
  }

  finished(block: number): void {
    const { claims } = this.#portion
    if (this.#outside.tells[block] === 1) this.#outside.finished(block, hasFailed(claims) ? smallestFailure(claims) : undefined)
  }

  /** Ends all waiting, of this thread and of `watch`. */
  end(): void {
    this.#isOver = true
    this.#outside.flush()
    this.#waiting?.resolve()
    const words = this.#portion.claims.outbox?.words
    if (words !== undefined) Atomics.notify(words, 0)
  }

  /** Passes on what workers have done, until `end`. */
  async watch(): Promise<void> {
    const words = this.#portion.claims.outbox?.words
    if (words === undefined) return
    for (let told = 0; ; ) {
      const count = Atomics.load(words, 0)
      while (told < count) {
        const block = Atomics.load(words, 1 + told) - 1
        if (block < 0) continue // its place was taken, and it will be there at once
        told++
        this.finished(block)
      }
      if (this.#isOver) {
        if (Atomics.load(words, 0) !== told) continue
        this.#outside.flush()
        return
      }
      const { async: isAsync, value } = Atomics.waitAsync(words, 0, told, this.#outside.holds ? HELD_MS : Number.POSITIVE_INFINITY)
      if (isAsync && (await value) === 'timed-out') this.#outside.flush()
    }
  }
}
