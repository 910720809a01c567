/**
 * Rounds of a pass on several processes. All run their blocks of a round; the updates that these added to buffers come to the process of the
 * program, which joins them by lanes and brings them in, as in a pass of its own; and the elements that changed go to the processes whose
 * blocks read them, before these begin the next round.
 *
 *     rank 0   blocks |            flush | blocks |            flush | ...
 *     rank 1   blocks | updates -->      | blocks | updates -->      |
 *                                 <-- changed elements       <-- changed elements
 */
import type { Storage } from '../../../core/arrays/storage.ts'
import type { BlockSchedule } from '../../loops/blocks/schedule.ts'
import { type Lanes, rootsAmong } from '../../loops/reductions/reductionCopies.ts'
import { bytesOf, bytesOfAll, type Changes, changesOf, changesWithin, orAll } from './changes.ts'
import { regionOf, sizeOfRegion } from './passWire.ts'
import type { Placement } from './placement.ts'
import { countOfRows, packRows } from './served/rowCopies.ts'
import type { Rows } from './served/servedRows.ts'

/** Head of `flushed`: the parts are two for each array, the runs and the bytes of the elements that a flush has changed. */
export interface FlushedHead {
  readonly loop: string
  readonly arrays: readonly {
    readonly storage: number
    /** Whether the bytes are those of all rows whose keys the receiver has; there are no runs then. */
    readonly isRows: boolean
  }[]
}

/** Whether a round is the last of its pass; a pass without rounds is one. */
export function endsPass({ rounds }: Pick<BlockSchedule, 'rounds'>, round: number | undefined): boolean {
  return rounds === undefined || round === rounds.length - 2
}

/** The reduction copies that are joined after a round: all after the last one, else those of buffers that flush between rounds. */
export function lanesOfRound(lanes: readonly Lanes[], isLast: boolean): readonly Lanes[] {
  return isLast ? lanes : lanes.filter(({ late }) => late !== undefined)
}

/** The most bytes in which processes send their reduction copies, joined as far as each can. `bounds` are the first lane of each, and the end. */
export function mostBytesOfCopies(lanes: readonly Lanes[], bounds: readonly number[]): number {
  return lanes.reduce((sum, one) => {
    const { data, touched, length } = one
    const bytes = bytesOfAll(data.subarray(0, length)) + (touched === undefined ? 0 : bytesOfAll(touched.subarray(0, length)))
    const roots = bounds.slice(1).reduce((count, end, i) => count + rootsAmong(one, [bounds[i] as number, end]).length, 0)
    return sum + bytes * roots
  }, 0)
}

/** The number of flushes between rounds of a pass, and the most bytes of `updates` from all others and of `flushed` elements to each at one. */
export function betweenRounds(
  { blocks, lanes }: { readonly blocks: BlockSchedule; readonly lanes: readonly Lanes[] },
  { bounds, flushed }: Pick<Placement, 'bounds' | 'flushed'>,
): { readonly count: number; readonly updates: number; readonly flushed: number } {
  return {
    count: (blocks.rounds?.length ?? 2) - 2,
    updates: mostBytesOfCopies(lanesOfRound(lanes, false), bounds.slice(1)),
    flushed: flushed.reduce((sum, storage) => sum + bytesOfAll(sizeOfRegion(storage)), 0),
  }
}

/** The flushes between rounds of a pass and the bytes at all of them: those of the last pass, or before one the most that there can be. */
export function expectedRounds(
  loop: { readonly blocks: BlockSchedule; readonly lanes: readonly Lanes[] },
  placement: Pick<Placement, 'bounds' | 'flushed' | 'order'>,
  lastBytes: number,
): { readonly count: number; readonly bytes: number } {
  const { count, updates, flushed } = betweenRounds(loop, placement)
  const others = new Set(placement.order.owners).size - 1
  return { count, bytes: lastBytes || count * (updates + others * flushed) }
}

/** The sentence of explain() about the bytes that a pass sent between its rounds; empty where it sent none. */
export function roundsText({ rounds }: BlockSchedule, bytes: number): string {
  if (rounds === undefined || bytes === 0) return ''
  return ` What its ${rounds.length - 1} rounds added, and what that changed, took ${bytes.toLocaleString('en-US')} bytes in the last pass.`
}

/** The changes that flushes make in arrays, from one round of a pass to the next. */
export class FlushedChanges {
  readonly #before: ReadonlyMap<Storage, Uint8Array>

  /** Copies the arrays as they are when the pass begins. */
  constructor(arrays: readonly Storage[]) {
    this.#before = new Map(arrays.map((storage) => [storage, Uint8Array.from(bytesOf(regionOf(storage)))]))
  }

  /** The changes since the last call, or since the pass began; arrays without any are left out. */
  next(): readonly (readonly [Storage, Changes])[] {
    return [...this.#before].flatMap(([storage, bytes]) => {
      const region = regionOf(storage)
      const changes = changesOf(region, { kind: 'copy', bytes })
      if (changes.runs.length === 0) return []
      bytes.set(bytesOf(region))
      return [[storage, changes] as const]
    })
  }
}

/** The changes that a process is sent that reads `rows` of an array, or all of it without `rows`; undefined where none of these changed. */
export function changesFor(
  storage: Storage,
  changes: Changes,
  rows: Rows | undefined,
  { knowsRows }: { readonly knowsRows: boolean },
): { readonly isRows: boolean; readonly changes: Changes } | undefined {
  const region = regionOf(storage)
  if (rows === undefined || storage.kind !== 'dense') return { isRows: false, changes: orAll(changes, region) }
  const own = changesWithin(changes, rows, region)
  if (own.runs.length === 0) return undefined
  const isMore = own.runs.byteLength + own.bytes.length > countOfRows(rows) * region.BYTES_PER_ELEMENT
  if (!isMore || !knowsRows) return { isRows: false, changes: own }
  return { isRows: true, changes: { runs: new Float64Array(0), bytes: packRows(storage, rows) } }
}
