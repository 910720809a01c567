/** The blocks of simulated nodes that may begin. */
import type { BlockSchedule } from '../../loops/blocks/schedule.ts'
import { goesDown } from '../../loops/claims/depthOrder.ts'
import type { NodeMoves } from '../movement/moves.ts'

/**
 * The ready queue of each node: blocks that wait for nothing any more, in the order in which they became ready. Of a wavefront or a skewed
 * loop the last one is taken, as threads do (`depthOrder.ts`), of others the first.
 */
export class ReadyBlocks {
  readonly #goesDown: boolean
  readonly #owners: Int32Array
  readonly #waits: Int32Array
  readonly #readyAt: Float64Array
  readonly #ready: number[][]
  readonly #sends = new Map<number, NodeMoves['sends'][number][]>()
  readonly #releases = new Map<string, readonly number[]>()
  #end = 0

  constructor({ kind, count, successorStart, successors }: BlockSchedule, owners: Int32Array, nodes: readonly NodeMoves[]) {
    this.#goesDown = goesDown(kind)
    this.#owners = owners
    this.#waits = new Int32Array(count)
    this.#readyAt = new Float64Array(count)
    for (let block = 0; block < count; block++) {
      for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++) {
        const after = successors[i] as number
        if (owners[after] === owners[block]) this.#waits[after]!++ // waits for other nodes are counted below
      }
    }
    this.#ready = nodes.map(() => [])
    for (const [node, { sends, takes }] of nodes.entries()) {
      for (const send of sends) this.#sends.set(send.block, [...this.sendsOf(send.block), send])
      for (const { block, releases } of takes) {
        this.#releases.set(`${block} ${node}`, releases)
        for (const after of releases) this.#waits[after]!++
      }
    }
  }

  /** Admits blocks `from` up to `to`, those of a round, and makes those ready that wait for nothing. */
  open(from: number, to: number): void {
    this.#end = to
    for (let block = from; block < to; block++) if (this.#waits[block] === 0) this.#ready[this.#owners[block] as number]?.push(block)
  }

  sendsOf(block: number): readonly NodeMoves['sends'][number][] {
    return this.#sends.get(block) ?? []
  }

  releasedBy(block: number, node: number): readonly number[] {
    return this.#releases.get(`${block} ${node}`) ?? []
  }

  release(block: number, at: number): void {
    this.#readyAt[block] = Math.max(this.#readyAt[block] as number, at)
    if (--this.#waits[block]! > 0 || block >= this.#end) return
    const list = this.#ready[this.#owners[block] as number] as number[]
    let place = list.length
    while (place > 0 && (this.#readyAt[list[place - 1] as number] as number) > (this.#readyAt[block] as number)) place--
    list.splice(place, 0, block)
  }

  /** The time from which a node has a block to run; infinity where it has none. */
  readyFrom(node: number): number {
    const [block] = this.#ready[node] as number[]
    return block === undefined ? Number.POSITIVE_INFINITY : (this.#readyAt[block] as number)
  }

  /** Takes the block that a thread of a node runs from a time on at which it has one. */
  take(node: number, at: number): number {
    const ready = this.#ready[node] as number[]
    const place = this.#goesDown ? ready.findLastIndex((block) => (this.#readyAt[block] as number) <= at) : 0
    return ready.splice(place, 1)[0] as number
  }
}
