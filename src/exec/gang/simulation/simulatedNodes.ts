/**
 * Nodes as a simulation has them: threads, each with a core of its own, and a connection to the others, by which one thing goes after another.
 *
 *     node 0, thread 0    | block 0 |pack| block 2 ...
 *     connection                         | elements |
 *     node 1, thread 0    | block 1            |  latency  |unpack| block 3 ...
 *
 * A node has no cores beside those of its threads: sending and receiving take from the time of blocks, shared among the threads.
 */
import type { Machines } from '../../../core/loop/simulation.ts'
import type { LinkCost } from '../linkCost.ts'

/** Work of a node on messages, from a time on. */
interface Chore {
  readonly at: number
  readonly ms: number
}

export class SimulatedNodes {
  /** The time at which each node's last block, or work on messages, ends. */
  readonly last: Float64Array
  /** The time of each node's blocks, and of its work on messages, on all threads together. */
  readonly busy: Float64Array
  readonly #free: readonly Float64Array[]
  readonly #chores: Chore[][]
  readonly #sendFree: Float64Array
  readonly #machines: Machines
  readonly #links: LinkCost

  constructor(count: number, machines: Machines, links: LinkCost) {
    this.last = new Float64Array(count)
    this.busy = new Float64Array(count)
    this.#free = Array.from(this.last, () => new Float64Array(machines.threads))
    this.#chores = Array.from(this.last, () => [])
    this.#sendFree = new Float64Array(count)
    this.#machines = machines
    this.#links = links
  }

  /** The processor time of one end of a message. */
  endMs(bytes: number): number {
    return (this.#links.messageMs + bytes * this.#links.msPerByte) / 2
  }

  /** Has a node wait until a time before anything else. */
  wait(node: number, until: number): void {
    const free = this.#free[node] as Float64Array
    for (const [thread, at] of free.entries()) free[thread] = Math.max(at, until)
    this.last[node] = Math.max(this.last[node] as number, until)
  }

  /** Sends bytes as a node has them at a time; returns the time at which the other has taken them. */
  send(from: number, to: number, at: number, bytes: number): number {
    const ms = this.endMs(bytes)
    this.#chores[from]?.push({ at, ms })
    const there = this.arrival(from, at + ms, bytes)
    this.#chores[to]?.push({ at: there, ms })
    return there + ms
  }

  /** The time at which packed bytes have come to another node. */
  arrival(from: number, at: number, bytes: number): number {
    const { bytesPerMs, latencyMs } = this.#machines
    const sent = Math.max(this.#sendFree[from] as number, at) + bytes / bytesPerMs
    this.#sendFree[from] = sent
    return sent + latencyMs
  }

  /** The first time from `readyFrom` on at which a node has a thread for a block. */
  startOf(node: number, readyFrom: number): number {
    for (;;) {
      const start = Math.max(readyFrom, least(this.#free[node] as Float64Array))
      const chores = this.#chores[node] as Chore[]
      if (chores.length === 0) return start
      const due = chores.findIndex(({ at }) => at <= start)
      if (due < 0) return start
      this.#do(node, chores.splice(due, 1))
    }
  }

  /** Runs a block on the thread that is free first; returns the time of its end. */
  run(node: number, start: number, ms: number): number {
    const free = this.#free[node] as Float64Array
    free[free.indexOf(least(free))] = start + ms
    this.busy[node]! += ms
    this.last[node] = Math.max(this.last[node] as number, start + ms)
    return start + ms
  }

  /** Does all work on messages that is left, and returns the time at which a node is done. */
  end(node: number): number {
    this.#do(node, (this.#chores[node] as Chore[]).splice(0))
    return this.last[node] as number
  }

  #do(node: number, chores: readonly Chore[]): void {
    const free = this.#free[node] as Float64Array
    for (const { at, ms } of chores) {
      this.busy[node]! += ms
      for (const [thread, until] of free.entries()) free[thread] = Math.max(until, at) + ms / free.length
      this.last[node] = Math.max(this.last[node] as number, at + ms / free.length, least(free))
    }
  }
}

function least(times: Float64Array): number {
  let found = Number.POSITIVE_INFINITY
  for (const time of times) if (time < found) found = time
  return found
}
