/**
 * The time of a pass on several nodes: blocks run in the order in which they become ready, and elements are sent between.
 *
 *     node 0    |send 1|send 2|  blocks ......... wait .. blocks ....|<- ends of 1 |<- of 2|
 *     node 1           |latency|  blocks ... edge -> ...... blocks |
 */
import type { Machines } from '../../../core/loop/simulation.ts'
import type { SimulatedPass } from '../../loops/kernelPass.ts'
import type { Lanes } from '../../loops/reductions/reductionCopies.ts'
import { type LinkCost, NOMINAL_COST } from '../linkCost.ts'
import { groupOf, groupsOf, type NodeMoves, type NumberedBox } from '../movement/moves.ts'
import { sizeOfRegion } from '../movement/passWire.ts'
import type { Placement } from '../movement/placement.ts'
import { betweenRounds, mostBytesOfCopies } from '../movement/rounds.ts'
import { ReadyBlocks } from './readyBlocks.ts'
import { SimulatedNodes } from './simulatedNodes.ts'

/** Adding an element of one private copy to that of another: an estimate, of memory that no cache holds. */
const JOIN_MS = 0.8e-6

export interface SimulatedLoop extends SimulatedPass {
  /** What a pass takes beside its blocks, at the ends of its rounds. */
  readonly besideMs: number
  /** The cost of links as measured in a gang; nominal unless given. */
  readonly links?: LinkCost
}

export interface PlacedPass {
  readonly loop: SimulatedLoop
  readonly placement: Placement
}

/** What a pass sends. */
export interface Sent {
  readonly nodes: readonly NodeMoves[]
  /** Bytes that come to rank 0 before it sends any. */
  readonly fetched: number
  /** Bytes of whole arrays, or what is missing of them, that rank 0 sends to each node before the pass. */
  readonly whole: readonly number[]
  readonly bytesOf: (boxes: readonly NumberedBox[]) => number
}

/** The time of joining private copies. */
export function joinMs(lanes: readonly Lanes[]): number {
  return lanes.reduce((sum, { count, length }) => sum + count * length * JOIN_MS, 0)
}

export function passTime(
  placed: PlacedPass,
  { nodes, fetched, whole, bytesOf }: Sent,
  machines: Machines,
): { readonly milliseconds: number; readonly waitingMs: number } {
  const {
    loop: { blocks, aloneMs, besideMs, lanes, links = NOMINAL_COST },
    placement: {
      arrays,
      bounds,
      order: { owners },
    },
  } = placed
  const { rounds = [0, blocks.count] } = blocks
  const endMs = besideMs / (rounds.length - 1)
  const between = betweenRounds(placed.loop, placed.placement)
  const others = nodes.flatMap((_, node) => (node > 0 && owners.includes(node) ? node : []))
  const world = [0, ...others]
  const queue = new ReadyBlocks(blocks, owners, nodes)
  const state = new SimulatedNodes(nodes.length, machines, links)
  if (fetched > 0) state.wait(0, 2 * machines.latencyMs + links.messageMs + 2 * state.endMs(fetched) + fetched / machines.bytesPerMs)
  const asked = state.last[0] as number
  for (const node of others) state.wait(node, state.send(0, node, asked, bytesOf(nodes[node]?.starts ?? []) + (whole[node] as number)))
  const start = Float64Array.from(state.last)

  for (const [round, from] of rounds.slice(0, -1).entries()) {
    if (round > 0) barrier()
    queue.open(from, rounds[round + 1] as number)
    runBlocks()
  }

  function runBlocks(): void {
    const held = new Map<string, HeldSends>()
    const left = nodes.map(({ sends }) => new Map([...groupsOf(sends)].map(([group, { count }]) => [group, count])))
    for (;;) {
      let [found, first] = [-1, Number.POSITIVE_INFINITY]
      for (const node of world) {
        const readyFrom = queue.readyFrom(node)
        if (readyFrom >= first) continue
        const at = state.startOf(node, readyFrom)
        if (at < first) [found, first] = [node, at]
      }
      if (found < 0) return
      const block = queue.take(found, first)
      const size = (blocks.to[block] as number) - (blocks.from[block] as number)
      const end = state.run(found, first, blocks.iterations === 0 ? 0 : (aloneMs * size) / blocks.iterations)
      for (let i = blocks.successorStart[block] as number; i < (blocks.successorStart[block + 1] as number); i++) {
        const after = blocks.successors[i] as number
        if (owners[after] === found) queue.release(after, end)
      }
      for (const send of queue.sendsOf(block)) {
        const [group, counts] = [groupOf(send), left[found] as Map<string, number>]
        const rest = (counts.get(group) as number) - 1 // it was counted
        counts.set(group, rest)
        const most = rest === 0 ? 0 : mostTogether(nodes[found] as NodeMoves, send.to)
        const key = `${found} ${group}`
        const known = held.get(key) ?? { blocks: [], bytes: 0 }
        held.set(key, { from: found, to: send.to, blocks: [...known.blocks, block], bytes: known.bytes + bytesOf(send.boxes), most })
      }
      // a node without a block to run sends all that it holds back
      const isIdle = queue.readyFrom(found) > end
      for (const [key, one] of held) {
        if (one.from !== found || (!isIdle && one.blocks.length < one.most)) continue
        held.delete(key)
        const at = state.send(found, one.to, end, one.bytes)
        for (const after of one.blocks.flatMap((block) => queue.releasedBy(block, one.to))) queue.release(after, at)
      }
    }
  }

  /** Joins the nodes' updates once all have done a round, and sends the changed elements back to them. */
  function barrier(): void {
    const updates = between.updates / others.length
    const came = others.map((node) => state.arrival(node, state.end(node) + state.endMs(updates), updates))
    let at = came.sort((a, b) => a - b).reduce((done, one) => Math.max(done, one) + state.endMs(updates), state.end(0))
    at += endMs
    for (const node of others) {
      at += state.endMs(between.flushed)
      state.wait(node, state.arrival(0, at, between.flushed) + state.endMs(between.flushed))
    }
    state.wait(0, at)
  }

  const copies = mostBytesOfCopies(lanes, bounds.slice(1)) / (world.length - 1)
  const compareMs = arrays.reduce(
    (sum, { kind, storage }) => sum + (kind === 'compared' ? sizeOfRegion(storage).byteLength * links.msPerByte : 0),
    0,
  )
  const answers = others.map((node) => {
    const ms = state.endMs(bytesOf(nodes[node]?.ends ?? []) + copies)
    return { at: state.arrival(node, state.end(node) + compareMs + ms, bytesOf(nodes[node]?.ends ?? []) + copies), ms }
  })
  const idle = world.map((node) => state.end(node) - (start[node] as number) - (state.busy[node] as number) / machines.threads)
  let milliseconds = state.end(0)
  for (const { at, ms } of answers.sort((a, b) => a.at - b.at)) milliseconds = Math.max(milliseconds, at) + ms
  return { milliseconds: milliseconds + endMs, waitingMs: idle.reduce((sum, ms) => sum + ms, 0) / nodes.length }
}

/** What one node holds back for another, to send it in one message. */
interface HeldSends {
  readonly from: number
  readonly to: number
  readonly blocks: readonly number[]
  readonly bytes: number
  readonly most: number
}

function mostTogether({ together }: NodeMoves, to: number): number {
  return together.find(([rank]) => rank === to)?.[1] ?? 1
}
