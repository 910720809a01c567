/**
 * Served elements that come while blocks run. A process's blocks are cut into stretches of plan order; the elements that a stretch is the
 * first to read are sent, by the process that has them, while blocks of the stretches before it run:
 *
 *     sender          |rows 0|rows 1|rows 2 |  its own blocks ……
 *     reader                 |stretch 0|    stretch 1    |              stretch 2              |
 *
 * Statement: nobody writes such an array during the pass, so that rows are the same whenever they are read; a block waits for all rows of
 * its own stretch and of those before it, so that it finds what it reads.
 */
import type { DenseStorage } from '../../../../core/arrays/storage.ts'
import type { BlockSchedule } from '../../../loops/blocks/schedule.ts'
import type { Process } from '../belongings.ts'
import type { LoadSend, Loads, Moves, RowsHead } from '../moves.ts'
import type { Residence } from '../residence.ts'
import { countOfRows } from './rowCopies.ts'
import { cellsIn, joined, type Rows } from './servedRows.ts'

/** The number of stretches of each process. With more of them blocks begin sooner; each costs a message. */
export const STRETCHES = 4
/** The largest part of all rows that may be for first stretches: beyond that there is little left to send while blocks run. */
const MOST_AT_FIRST = 3 / 4

/** Rows that go from one node to another before blocks of a stretch. */
export interface Load {
  readonly from: number
  readonly to: number
  readonly stretch: number
  readonly rows: Rows
}

/** An array of which rows come in stretches, in a pass. */
export interface LoadedArray {
  readonly storage: number
  readonly loads: readonly Load[]
}

/**
 * The stretch of each block. Each stretch of a node has about twice the iterations of the one before: its first blocks begin soon, and few
 * elements are read first by late blocks.
 */
export function stretchesOf(
  { from, to, count }: Pick<BlockSchedule, 'from' | 'to' | 'count'>,
  owners: Int32Array,
  world: number,
): Uint8Array {
  const sizeOf = (block: number): number => (to[block] as number) - (from[block] as number)
  const [all, done] = [new Float64Array(world), new Float64Array(world)]
  for (let block = 0; block < count; block++) all[owners[block] as number]! += sizeOf(block)
  return Uint8Array.from({ length: count }, (_, block) => {
    const node = owners[block] as number
    const before = done[node] as number
    done[node]! += sizeOf(block)
    const part = before / Math.max(1, all[node] as number)
    let stretch = 0
    while (stretch < STRETCHES - 1 && part >= (2 ** (stretch + 1) - 1) / (2 ** STRETCHES - 1)) stretch++
    return stretch
  })
}

/**
 * The rows that each node lacks, from those of `processes` that have them; undefined where none of these has a row. Without a residence the
 * first process has all. `stretches` are rows by node and stretch.
 */
export function loadsOf(
  storage: Pick<DenseStorage, 'shape' | 'strides'>,
  stretches: readonly (readonly Rows[])[],
  residence: Residence<Process> | undefined,
  processes: readonly (Process | undefined)[],
): readonly Load[] | undefined {
  if (residence === undefined)
    return stretches.flatMap((own, to) =>
      to === 0 ? [] : own.flatMap((rows, stretch) => (rows.length === 0 ? [] : { from: 0, to, stretch, rows })),
    )
  const cellOf = cellsIn(storage, residence.bounds)
  const has = processes.map((process) => (process === undefined ? undefined : residence.has.get(process)))
  const loads: Load[] = []
  for (const [to, own] of stretches.entries()) {
    for (const [stretch, rows] of own.entries()) {
      const lacking = processes.map(() => [] as number[])
      for (let i = 0; i < rows.length; i += 2) {
        const first = rows[i] as number
        for (let index = first; index < first + (rows[i + 1] as number); index++) {
          const cell = cellOf(index)
          if (has[to]?.[cell] === 1) continue
          const from = has.findIndex((cells) => cells?.[cell] === 1)
          if (from < 0) return undefined
          lacking[from]?.push(index)
        }
      }
      for (const [from, list] of lacking.entries()) if (list.length > 0) loads.push({ from, to, stretch, rows: joined(list) })
    }
  }
  return loads
}

/** The reason to send rows before the pass; undefined where it pays to send them while blocks run. */
export function whyBefore(loads: readonly Load[], bytesPerElement: number, leastBytes: number): string | undefined {
  const count = loads.reduce((sum, { rows }) => sum + countOfRows(rows), 0)
  const atFirst = loads.reduce((sum, { rows, stretch }) => sum + (stretch === 0 ? countOfRows(rows) : 0), 0)
  if (count * bytesPerElement < leastBytes) return 'they are few'
  return leastBytes > 0 && atFirst > MOST_AT_FIRST * count ? 'the first blocks read most of them' : undefined
}

/** The loads that each node sends and takes, in the order of stretches; `ranks` are those of the nodes. */
export function plannedLoads(
  id: string,
  arrays: readonly LoadedArray[],
  { stretches, owners, ranks }: { readonly stretches: Uint8Array; readonly owners: Int32Array; readonly ranks: readonly number[] },
): readonly Loads[] {
  const all = new Map<string, Load & { readonly heads: RowsHead[] }>()
  for (const { storage, loads } of arrays) {
    for (const load of loads) {
      const name = nameOf(id, load)
      const known = all.get(name) ?? { ...load, heads: [] }
      known.heads.push({ loop: name, storage })
      all.set(name, known)
    }
  }
  const inOrder = [...all.values()].sort((a, b) => a.stretch - b.stretch)
  const firstOf = (node: number, stretch: number): number => stretches.findIndex((own, block) => owners[block] === node && own >= stretch)
  return ranks.map((_, node) => ({
    sends: inOrder
      .filter(({ from }) => from === node)
      .map((one): LoadSend => ({ block: numberOf(one), to: ranks[one.to] as number, rows: one.heads })),
    takes: inOrder
      .filter(({ to }) => to === node)
      .map((one) => ({ block: numberOf(one), first: firstOf(node, one.stretch), rows: one.heads })),
  }))
}

/** The name under which both ends know the rows of a load, for loop `id`. */
export function nameOf(id: string, { from, to, stretch }: Load): string {
  return `${id} ${from} ${to} ${stretch}`
}

/** The number of a load as a source that blocks wait for: below 0, where no blocks are. */
function numberOf({ from, stretch }: Load): number {
  return -1 - (from * STRETCHES + stretch)
}

/** Moves with loads added to what blocks take: a portion's blocks wait for rows as for blocks of other processes. */
export function withLoads(moves: Moves, { takes }: Loads, numbers: Int32Array): Moves {
  if (takes.length === 0) return moves
  const loaded = takes.map(({ block, first, rows }) => ({
    block,
    boxes: [],
    rows,
    depth: 0,
    releases: [...numbers].filter((number) => number >= first),
  }))
  return { ...moves, takes: [...moves.takes, ...loaded] }
}

/** Sends loads one after another, with the event loop free between them as blocks run here as well; stops once `isOver`. */
export async function sendLoads(sends: readonly LoadSend[], send: (load: LoadSend) => void, isOver: () => boolean): Promise<void> {
  for (const [i, load] of sends.entries()) {
    if (i > 0) await new Promise<void>((resolve) => setImmediate(resolve))
    if (isOver()) return
    send(load)
  }
}
