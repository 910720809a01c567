/**
 * The movement of a pass as each process is told of it: the boxes that it sends when a block is done, those that it takes and
 * the blocks that they release, and those that go back to rank 0 in the end.
 */
import type { BlockSchedule } from '../../loops/blocks/schedule.ts'
import { type Box, END, START, type Transfer } from './transfers.ts'

/** A box of an array, by the array's number. */
export interface NumberedBox {
  readonly storage: number
  readonly box: Box
}

/** Boxes that go to another process when a block is done. */
export interface Send {
  readonly block: number
  readonly to: number
  readonly boxes: readonly NumberedBox[]
  /** The hops from process to process behind what the block needs. */
  readonly depth: number
}

/** Boxes that come from the process that ran a block, and the blocks that wait for them. */
export interface Take {
  readonly block: number
  readonly boxes: readonly NumberedBox[]
  readonly releases: readonly number[]
  /** The hops from process to process behind what these blocks need; 0 for rows that are only read. */
  readonly depth: number
  /** Rows of served arrays, instead of boxes; the message has a part for each. */
  readonly rows?: readonly RowsHead[]
}

/** Names rows of an array that both ends know: head of `keys`, whose part are the rows, and of `rows`, whose part are their values. */
export interface RowsHead {
  readonly loop: string
  readonly storage: number
}

/** The rows of served arrays that a process sends and takes while blocks run. `block` is a number below those of blocks. */
export interface Loads {
  readonly sends: readonly LoadSend[]
  /** Blocks from `first` on wait for each. */
  readonly takes: readonly { readonly block: number; readonly first: number; readonly rows: readonly RowsHead[] }[]
}

export const NO_LOADS: Loads = { sends: [], takes: [] }

export interface LoadSend {
  readonly block: number
  readonly to: number
  readonly rows: readonly RowsHead[]
}

/** The movement of one process. Blocks are numbered as in the whole loop. */
export interface Moves {
  readonly sends: readonly Send[]
  /**
   * The number of sends that go to a process in one message; 1 for processes that are not listed. Those of one depth alone go together: the
   * next depth may be a long way off, and the other process needs what it has of this one.
   */
  readonly together: readonly (readonly [to: number, count: number])[]
  readonly takes: readonly Take[]
  /** The boxes that are sent to rank 0 after the pass. */
  readonly ends: readonly NumberedBox[]
}

/**
 * The part of all sends to a process that one message has, before it is multiplied by the part of that process's blocks that wait for
 * nothing: it has those to run meanwhile. Of a 2d schedule on two nodes, where a fourth of the blocks wait for nothing, a message has an
 * eighth of the columns.
 */
const HELD_PART = 1 / 2

export interface NodeMoves extends Moves {
  /** The boxes that rank 0 sends before the pass. */
  readonly starts: readonly NumberedBox[]
}

/** The moves of each node. Blocks that wait for a block of another node are released by its message, which is sent even without boxes. */
export function movesOf(
  { count, successorStart, successors }: Pick<BlockSchedule, 'count' | 'successorStart' | 'successors'>,
  owners: Int32Array,
  world: number,
  traffic: readonly { readonly storage: number; readonly transfers: readonly Transfer[] }[],
): readonly NodeMoves[] {
  const nodes = Array.from({ length: world }, () => ({
    starts: [] as NumberedBox[],
    ends: [] as NumberedBox[],
    sends: [] as Send[],
    takes: [] as Take[],
    together: [] as (readonly [number, number])[],
  }))
  const edges = new Map<string, { block: number; to: number; boxes: NumberedBox[]; releases: Set<number> }>()
  const edge = (block: number, to: number) => {
    const key = `${block} ${to}`
    const known = edges.get(key) ?? { block, to, boxes: [], releases: new Set<number>() }
    edges.set(key, known)
    return known
  }
  for (let block = 0; block < count; block++) {
    for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++) {
      const next = successors[i] as number
      if (owners[next] !== owners[block]) edge(block, owners[next] as number).releases.add(next)
    }
  }
  for (const { storage, transfers } of traffic) {
    for (const { box, from, to, after, before } of transfers) {
      if (before === END) nodes[from]?.ends.push({ storage, box })
      else if (after === START) nodes[to]?.starts.push({ storage, box })
      else {
        const one = edge(after, to)
        one.boxes.push({ storage, box })
        one.releases.add(before)
      }
    }
  }
  const depths = depthsOf({ count, successorStart, successors }, owners)
  for (const { block, to, boxes, releases } of edges.values()) {
    nodes[owners[block] as number]?.sends.push({ block, to, boxes, depth: depths[block] as number })
    nodes[to]?.takes.push({ block, boxes, releases: [...releases], depth: (depths[block] as number) + 1 })
  }
  const [all, free] = [new Int32Array(world), new Int32Array(world)]
  for (const [block, owner] of owners.entries()) {
    all[owner]!++
    if (depths[block] === 0) free[owner]!++
  }
  for (const { sends, together } of nodes) {
    for (const [to, count] of countsOf(sends)) {
      const held = Math.floor(count * ((free[to] as number) / (all[to] as number)) * HELD_PART)
      if (held > 1) together.push([to, held])
    }
  }
  return nodes
}

/** The hops from process to process behind what each block waits for. */
function depthsOf(
  { count, successorStart, successors }: Pick<BlockSchedule, 'count' | 'successorStart' | 'successors'>,
  owners: Int32Array,
): Int32Array {
  const depths = new Int32Array(count)
  for (let block = 0; block < count; block++) {
    for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++) {
      const next = successors[i] as number
      const depth = (depths[block] as number) + (owners[next] === owners[block] ? 0 : 1)
      if (depth > (depths[next] as number)) depths[next] = depth
    }
  }
  return depths
}

function countsOf(sends: readonly Send[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  for (const { to } of sends) counts.set(to, (counts.get(to) ?? 0) + 1)
  return counts
}

/** A name of the sends that may go in one message. */
export function groupOf({ to, depth }: Pick<Send, 'to' | 'depth'>): string {
  return `${to} ${depth}`
}

/** The number of sends of each group. */
export function groupsOf(sends: readonly Send[]): ReadonlyMap<string, { readonly to: number; readonly count: number }> {
  const groups = new Map<string, { to: number; count: number }>()
  for (const send of sends) {
    const known = groups.get(groupOf(send))
    if (known === undefined) groups.set(groupOf(send), { to: send.to, count: 1 })
    else known.count++
  }
  return groups
}

/** The number of messages in which a process sends boxes while blocks run. */
export function messagesOf({ sends, together }: Pick<Moves, 'sends' | 'together'>): number {
  const held = new Map(together)
  return [...groupsOf(sends).values()].reduce((sum, { to, count }) => sum + Math.ceil(count / (held.get(to) ?? 1)), 0)
}
