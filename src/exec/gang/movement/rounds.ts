/**
 * Rounds of a pass on several processes: all run their blocks of one; what these added to update buffers comes to the process that the
 * program runs in, which joins it by lanes and brings it in, as in a pass of its own; and what that has changed goes to those whose blocks
 * read it, before they begin the next.
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
import { countOfRows, packRows, type Rows } from './servedRows.ts'

/** Head of `flushed`: the parts are two for each array, the runs and the bytes of what a flush has changed. */
export interface FlushedHead {
  readonly loop: string
  readonly arrays: readonly {
    readonly storage: number
    /** The bytes are those of all rows of which the receiver has the keys, and there are no runs. */
    readonly isRows: boolean
  }[]
}

/** Whether a pass is over with a round, as it is with the whole of one that has none. */
export function endsPass({ rounds }: Pick<BlockSchedule, 'rounds'>, round: number | undefined): boolean {
  return rounds === undefined || round === rounds.length - 2
}

/** The private copies that a round leaves, and a pass's last round all. */
export function lanesOfRound(lanes: readonly Lanes[], isLast: boolean): readonly Lanes[] {
  return isLast ? lanes : lanes.filter(({ late }) => late !== undefined)
}

/** What the private copies of processes take to be sent, at the most, joined as far as each can: `bounds` are the first lane of each, and the last. */
export function mostBytesOfCopies(lanes: readonly Lanes[], bounds: readonly number[]): number {
  return lanes.reduce((sum, one) => {
    const { data, touched, length } = one
    const bytes = bytesOfAll(data.subarray(0, length)) + (touched === undefined ? 0 : bytesOfAll(touched.subarray(0, length)))
    const roots = bounds.slice(1).reduce((count, end, i) => count + rootsAmong(one, [bounds[i] as number, end]).length, 0)
    return sum + bytes * roots
  }, 0)
}

/** How often a pass has a round before another one, and bytes at the most of what comes from all others then and of what goes to each. */
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

/** What flushes change in arrays, from one round of a pass to the next. */
export class FlushedChanges {
  readonly #before: ReadonlyMap<Storage, Uint8Array>

  /** As the arrays are when the pass begins. */
  constructor(arrays: readonly Storage[]) {
    this.#before = new Map(arrays.map((storage) => [storage, Uint8Array.from(bytesOf(regionOf(storage)))]))
  }

  /** Since the last time. */
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

/** What of an array's changes a process is sent that reads such rows of it, or all. Undefined: nothing. */
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
