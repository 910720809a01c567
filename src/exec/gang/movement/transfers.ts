/**
 * The transfers of an array's elements between processes in a pass: found from the boxes that each block touches, the order
 * among blocks, and the nodes that run them. All values lie at node 0 before a pass, and after it.
 *
 *     2d, rows of blocks on two nodes           the columns of H, by the blocks that read them
 *          t0  t1  t2  t3
 *     s0    0   4   8  12   node 0              node 0: 0 > (1) …        t0 goes to node 1 when 1 is done, before 6, …
 *     s1   13   1   5   9                       a column leaves a node at the lowest of its rows
 *     s2   10  14   2   6   node 1
 *     s3    7  11  15   3
 *
 * Statement: let blocks run in any order that the schedule allows, each after what was sent before it has arrived. Then a
 * block finds on its node, of all elements that it touches, the last version that the serial order has before it; and only
 * elements are sent that their receiver touches, or, after the pass, that node 0 does not have. For that, blocks that touch
 * an element which one of them writes have to be ordered: where they are not, by what is known of them, there are no transfers, but
 * a reason. Where no block waits, blocks may meet in boxes of which all but one read, and find there what was before the pass.
 *
 * Elements are told apart as far as blocks do: *cells* lie between neighbouring bounds of all boxes.
 */

import { Bug } from '../../../core/errors.ts'

/** Lower and upper bounds along each axis. */
export type Box = readonly number[]

export interface Touch {
  readonly box: Box
  readonly writes: boolean
}

export interface BlockOrder {
  /** The node that runs each block, in plan order. */
  readonly owners: Int32Array
  /** Whether a block, earlier in plan order, is done before another one begins. */
  precedes(earlier: number, later: number): boolean
  /**
   * Whether no block waits for another. Then none touches an element that another one writes, though their boxes may meet: in a pass over
   * the red points of a grid, which reads the black ones.
   */
  readonly isFree: boolean
}

/** Block numbers that stand for before the pass and after it. */
export const START = -1
export const END: number = Number.MAX_SAFE_INTEGER

export interface Transfer {
  readonly box: Box
  readonly from: number
  readonly to: number
  /** The block that wrote the box, or START. */
  readonly after: number
  /** The first block of the receiver that touches the box, or END. */
  readonly before: number
}

/** The nodes that have the last version of each cell: a row of cells for each node, 1 where it has. */
export type Holders = Uint8Array

export interface Traffic {
  readonly transfers: readonly Transfer[]
  /** Boxes that node 0 has to get before the pass, since it sends or needs them; `from` has them. */
  readonly fetches: readonly { readonly box: Box; readonly from: number }[]
  /** The holders after the pass. */
  readonly holders: Holders
}

/** The elements that go to node 0 after a pass: all that it lacks, or those of them that another node needs first when the pass is run again. */
export type Ends = 'all' | 'needed'

/** The most cells of an array; with more of them, cells cost more than they save. */
const MOST_CELLS = 2 ** 19
/** The most cells that all blocks together touch, each counted once per block. */
const MOST_VISITS = 2 ** 23

export type NoTraffic = { readonly because: string }

/** The holders at first: each node has all cells or none. */
export function firstHolders(cells: number, hasAll: readonly boolean[]): Holders {
  const holders = new Uint8Array(cells * hasAll.length)
  for (const [node, has] of hasAll.entries()) if (has) holders.fill(1, node * cells, (node + 1) * cells)
  return holders
}

/** The cells of an array, and those of each block's touches. */
export interface Cells {
  readonly count: number
  readonly bounds: readonly (readonly number[])[]
  /** The cells that each block touches, without duplicates. */
  readonly touched: readonly Int32Array[]
  /** The cells that each block may write. */
  readonly written: readonly Int32Array[]
}

/** The cells of the boxes that blocks touch, cut at the bounds `others` as well; a reason where there are too many. */
export function cellsOf(touches: readonly (readonly Touch[])[], others: Cells['bounds'] = []): Cells | NoTraffic {
  const rank = (touches.find((list) => list.length > 0)?.[0]?.box.length ?? 0) / 2
  const bounds = Array.from({ length: rank }, (_, axis) => {
    const values = new Set<number>(others[axis])
    for (const list of touches) for (const { box } of list) values.add(box[2 * axis] as number).add(box[2 * axis + 1] as number)
    return [...values].sort((a, b) => a - b)
  })
  const count = bounds.reduce((cells, along) => cells * Math.max(0, along.length - 1), 1)
  const tooMany = { because: 'blocks have too many different bounds in it' }
  if (count > MOST_CELLS) return tooMany
  const places = bounds.map((along) => new Map(along.map((value, at) => [value, at])))
  let visits = 0
  const cellsIn = (list: readonly Touch[]): Int32Array => {
    const found = new Set<number>()
    for (const { box } of list) addCells(found, box, places, bounds)
    return Int32Array.from(found).sort()
  }
  const known = new Map<readonly Touch[], { readonly touched: Int32Array; readonly written: Int32Array }>()
  const touched: Int32Array[] = []
  const written: Int32Array[] = []
  for (const list of touches) {
    let found = known.get(list)
    if (found === undefined) {
      const all = cellsIn(list)
      const writes = list.filter((touch) => touch.writes)
      found = { touched: all, written: writes.length === list.length ? all : cellsIn(writes) }
      known.set(list, found)
    }
    touched.push(found.touched)
    written.push(found.written)
    visits += found.touched.length + found.written.length
    if (visits > MOST_VISITS) return tooMany
  }
  return { count, bounds, touched, written }
}

function addCells(
  found: Set<number>,
  box: Box,
  places: readonly ReadonlyMap<number, number>[],
  bounds: readonly (readonly number[])[],
): void {
  const walk = (axis: number, cell: number): void => {
    if (axis === places.length) {
      found.add(cell)
      return
    }
    const place = places[axis] as ReadonlyMap<number, number>
    const [from, to] = [place.get(box[2 * axis] as number) as number, place.get(box[2 * axis + 1] as number) as number] // bounds of a box
    const width = (bounds[axis]?.length ?? 1) - 1
    for (let at = from; at < to; at++) walk(axis + 1, cell * width + at)
  }
  walk(0, 0)
}

/** The transfers of a pass that begins with the holders `before`; a reason where blocks without an order touch the same elements. */
export function transfersOf(
  { count, bounds, touched, written }: Cells,
  order: BlockOrder,
  before: Holders,
  ends: Ends = 'all',
): Traffic | NoTraffic {
  const { owners, isFree } = order
  const nodes = before.length / Math.max(1, count)
  const holders = before.slice()
  /** The nodes that have the version of before the pass, which blocks read that do not wait for the writer. */
  const old = isFree ? before.slice() : holders
  const writer = new Int32Array(count).fill(START)
  const readers: (number[] | undefined)[] = new Array(count)
  const moved = new Map<string, { from: number; to: number; after: number; before: number; cells: number[] }>()
  const fetched: number[][] = Array.from({ length: nodes }, () => [])
  const first = new Int32Array(count).fill(-1)
  const holderOf = (cell: number, among: Holders): number => {
    for (let node = 0; node < nodes; node++) if (among[node * count + cell] === 1) return node
    throw new Bug('Nobody has the last values of an array.')
  }
  const note = (cell: number, to: number, { from, after, beforeBlock }: { from: number; after: number; beforeBlock: number }): void => {
    const key = `${from} ${to} ${after} ${beforeBlock}`
    const known = moved.get(key)
    if (known !== undefined) known.cells.push(cell)
    else moved.set(key, { from, to, after, before: beforeBlock, cells: [cell] })
  }
  /** Node 0 sends what was before the pass, and has to have it. */
  const sendOld = (cell: number, to: number, beforeBlock: number): void => {
    if (old[cell] === 0) {
      fetched[holderOf(cell, old)]?.push(cell)
      old[cell] = 1
    }
    if (old[to * count + cell] === 1) return
    note(cell, to, { from: 0, after: START, beforeBlock })
    old[to * count + cell] = 1
  }
  const move = (cell: number, to: number, beforeBlock: number): void => {
    const after = writer[cell] as number
    if (after === START && beforeBlock !== END) {
      sendOld(cell, to, beforeBlock)
      holders[cell] = 1
    } else if (holders[to * count + cell] === 0)
      note(cell, to, { from: after === START ? holderOf(cell, holders) : (owners[after] as number), after, beforeBlock })
    holders[to * count + cell] = 1
  }
  // where no block waits, blocks of one node may share elements that only that node touches
  const areOrdered = (earlier: number, later: number): boolean =>
    earlier === START || earlier === later || (isFree ? owners[earlier] === owners[later] : order.precedes(earlier, later))
  for (let block = 0; block < owners.length; block++) {
    const node = owners[block] as number
    for (const cell of touched[block] as Int32Array) {
      if (first[cell] === -1) first[cell] = node
      if (areOrdered(writer[cell] as number, block)) {
        if (holders[node * count + cell] === 0) move(cell, node, block)
      } else if (isFree && !(written[block] as Int32Array).includes(cell)) sendOld(cell, node, block)
      else return unordered
    }
    // where no block waits, readers find what was before
    if (!isFree) {
      for (const cell of written[block] as Int32Array) {
        if (readers[cell]?.some((reader) => !areOrdered(reader, block)) === true) return unordered
      }
      for (const cell of touched[block] as Int32Array) (readers[cell] ??= []).push(block)
    }
    for (const cell of written[block] as Int32Array) {
      writer[cell] = block
      readers[cell] = []
      for (let other = 0; other < nodes; other++) holders[other * count + cell] = other === node ? 1 : 0
    }
  }
  const isNeeded = (cell: number): boolean => {
    const node = first[cell] as number
    return ends === 'all' || (node >= 0 && holders[node * count + cell] === 0)
  }
  for (let cell = 0; cell < count; cell++) if (holders[cell] === 0 && isNeeded(cell)) move(cell, 0, END)
  const transfers = [...moved.values()].flatMap(({ cells, ...one }) => boxesOfCells(cells, bounds).map((box) => ({ box, ...one })))
  const fetches = fetched.flatMap((cells, from) => boxesOfCells(cells, bounds).map((box) => ({ box, from })))
  return { transfers, fetches, holders }
}

const unordered: NoTraffic = { because: 'blocks without an order may touch the same elements, by what is known of them' }

/** Merges cells into boxes: neighbours along the last axis become one, and so do rows of them that lie one above the other. */
export function boxesOfCells(cells: readonly number[], bounds: readonly (readonly number[])[]): Box[] {
  const rows: number[][] = []
  let last = Number.NaN
  const sorted = [...cells].sort((a, b) => a - b)
  for (const cell of sorted) {
    const box = boxOfCell(cell, bounds)
    const open = rows.at(-1)
    const end = box.length - 1
    if (open !== undefined && cell === last + 1 && open[end] === box[end - 1] && sameBut(open, box, end)) open[end] = box[end] as number
    else rows.push(box)
    last = cell
  }
  const boxes: number[][] = []
  const openAt = new Map<string, number[]>()
  for (const row of rows) {
    if (row.length < 4) {
      boxes.push(row)
      continue
    }
    const key = row.slice(2).join()
    const open = openAt.get(key)
    if (open !== undefined && open[1] === row[0]) open[1] = row[1] as number
    else {
      boxes.push(row)
      openAt.set(key, row)
    }
  }
  return boxes
}

/** Whether two boxes have the same bounds along all axes but the last, whose bounds end at `end`. */
function sameBut(a: readonly number[], b: readonly number[], end: number): boolean {
  for (let i = 0; i < end - 1; i++) if (a[i] !== b[i]) return false
  return true
}

function boxOfCell(cell: number, bounds: readonly (readonly number[])[]): number[] {
  const box = new Array<number>(2 * bounds.length)
  let rest = cell
  for (let axis = bounds.length - 1; axis >= 0; axis--) {
    const along = bounds[axis] as readonly number[]
    const width = along.length - 1
    const at = rest % width
    rest = (rest - at) / width
    box[2 * axis] = along[at] as number
    box[2 * axis + 1] = along[at + 1] as number
  }
  return box
}

/**
 * The order among blocks: whether one is done before another begins, by the blocks that each waits for, all of which are earlier in plan
 * order. Predecessors of a block are found downwards, as far as they are asked for, since blocks share elements mostly with near ones.
 */
export function precedence(
  count: number,
  { successorStart, successors }: { readonly successorStart: Int32Array; readonly successors: Int32Array },
): BlockOrder['precedes'] {
  // in compressed rows, as successors are
  const starts = new Int32Array(count + 2)
  const ends = successorStart[count] as number
  for (let i = 0; i < ends; i++) starts[(successors[i] as number) + 2]!++
  for (let block = 2; block < count + 2; block++) starts[block]! += starts[block - 1] as number
  const waitsFor = new Int32Array(ends)
  for (let block = 0; block < count; block++) {
    for (let i = successorStart[block] as number; i < (successorStart[block + 1] as number); i++)
      waitsFor[starts[(successors[i] as number) + 1]!++] = block
  }
  /** For each block that is known to come before the one asked for last: the latter's number plus one. */
  const isBefore = new Int32Array(count)
  let last = -1
  let down = 0
  const mark = (block: number): void => {
    for (let i = starts[block] as number; i < (starts[block + 1] as number); i++) isBefore[waitsFor[i] as number] = last + 1
  }
  return (earlier, later) => {
    // mostly it is one of the few that the later one waits for by itself
    for (let i = starts[later] as number; i < (starts[later + 1] as number); i++) if (waitsFor[i] === earlier) return true
    if (last !== later) {
      last = down = later
      mark(later)
    }
    while (down > earlier + 1) if (isBefore[--down] === last + 1) mark(down)
    return isBefore[earlier] === last + 1
  }
}
