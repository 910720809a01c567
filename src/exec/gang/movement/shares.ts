/**
 * Buffered arrays whose elements have owners: updates that blocks of a process have added go to the owner of the elements, and elements that
 * a flush has changed to those that read them. No process flushes all of an array.
 *
 *     process 0   blocks | updates of 1's and 2's elements  ->  | flushes its own | what changed, to its readers ->  | blocks
 *     process 1   blocks | updates of 0's and 2's elements  ->  | flushes its own | what changed, to its readers ->  | blocks
 *
 * Statement: a flush looks at one element at a time, at what the lanes have added to it, in the order of lanes and rounds. An owner has
 * that of all lanes for its own elements, so it gives them the bits that one process gives them. What the tree over lanes joins of one
 * process's alone is joined there; -0 is in the copies of the rest, which changes no sum. Where a budget has no room for all, owners tell each
 * other how large their largest updates are, as many as the budget has room for: each finds which of all are brought in.
 */
import type { DenseStorage } from '../../../core/arrays/storage.ts'
import { chosenOf, type LateUpdates, type Stretch, stretchOf } from '../../loops/reductions/lateUpdates.ts'
import {
  flushChosen,
  flushLanes,
  joinAmong,
  type Lanes,
  pieceOf,
  resetPiece,
  rootsOf,
  waitingOfRound,
} from '../../loops/reductions/reductionCopies.ts'
import { applyChanges, bytesOf, type Changes, changesOf, changesWithin, emptyOf, orAll, shifted } from './changes.ts'
import { countOfRows, packRows, unpackRows } from './served/rowCopies.ts'
import { type Rows, rowsWithin } from './served/servedRows.ts'

/** The division of lanes and elements among the processes of a pass, which are numbered from 0 (their place). */
export interface Sharing {
  readonly ranks: readonly number[]
  /** The first lane of each process, and the number of lanes. */
  readonly lanes: readonly number[]
  readonly arrays: readonly {
    readonly storage: number
    /** The first element that each process owns, and the number of elements. */
    readonly cuts: readonly number[]
  }[]
  /** Whether after the pass elements are with their owners and readers alone; otherwise the first process has all. */
  readonly stays: boolean
}

/**
 * Head of `share`. The parts are two for each region of `updates` and each array of `fresh`, the runs and the bytes of changes; of `sizes` one
 * for each array, the sizes of its largest updates that wait.
 */
export interface ShareHead {
  readonly run: number
  readonly round: number
  readonly place: number
  readonly kind: 'updates' | 'sizes' | 'fresh'
  /** For each array of `fresh`, whether its bytes are those of all rows that the receiver reads of the sender's, without runs. */
  readonly isRows?: readonly boolean[]
  /** For each array of `sizes`, the number of updates that wait. */
  readonly counts?: readonly number[]
}

export interface Share {
  readonly head: ShareHead
  readonly parts: readonly Uint8Array[]
}

export interface SharedPassOptions {
  readonly run: number
  readonly place: number
  readonly sharing: Sharing
  readonly lanes: readonly Lanes[]
  readonly storageOf: (number: number) => DenseStorage
  /** The rows that a process reads of an array; undefined where they are not known. */
  readonly rowsOf: (place: number, storage: number) => Rows | undefined
  /** Takes back the parts of a share once they are stored. */
  readonly read: (parts: readonly Uint8Array[]) => void
  readonly send: (rank: number, head: ShareHead, parts: readonly Uint8Array[]) => void
}

interface SharedArray {
  readonly number: number
  readonly storage: DenseStorage
  readonly cuts: readonly number[]
  readonly lanes: Lanes
  readonly piece: Lanes
  /** The own elements when the pass began, and after the last flush. */
  readonly first: Uint8Array
  readonly last: Uint8Array
}

/** One process's part in a pass over shared arrays. */
export class SharedPass {
  readonly #options: SharedPassOptions
  readonly #arrays: readonly SharedArray[]
  readonly #come: Share[] = []
  #wake: (() => void) | undefined
  #isOver = false
  /** Bytes that were sent from here. */
  bytes = 0

  /** Begins a pass: values and copies are those that it begins with. */
  constructor(options: SharedPassOptions) {
    this.#options = options
    const { place, sharing, lanes, storageOf } = options
    this.#arrays = sharing.arrays.map(({ storage: number, cuts }) => {
      const storage = storageOf(number)
      const own = lanes.find(({ target }) => target === storage) as Lanes // as `sharingOf` has found
      const piece = pieceOf(own, ...pairAt(cuts, place))
      const bytes = bytesOf(piece.target.data)
      return { number, storage, cuts, lanes: own, piece, first: Uint8Array.from(bytes), last: Uint8Array.from(bytes) }
    })
  }

  has({ target }: Lanes): boolean {
    return this.#arrays.some(({ storage }) => storage === target)
  }

  /** Takes a message of another process, which may come at any time. */
  take(share: Share): void {
    this.#come.push(share)
    this.#wake?.()
  }

  /** Ends all waiting for other processes. */
  stop(): void {
    this.#isOver = true
    this.#wake?.()
  }

  /** Prepares a round: takes in what the last one has changed elsewhere, and empties the copies. */
  async ready(round: number): Promise<void> {
    if (round === 0) return
    await this.#takeFresh(round - 1)
    const { place, sharing } = this.#options
    for (const { lanes, cuts } of this.#arrays) resetPiece(lanes, { lanes: pairAt(sharing.lanes, place), elements: pairAt(cuts, place) })
  }

  /** Waits for the elements that a round has changed elsewhere, and stores them. */
  async #takeFresh(round: number): Promise<void> {
    for (const { head, parts } of await this.#from('fresh', round)) {
      for (const [i, { number, storage, cuts }] of this.#arrays.entries()) {
        const bytes = parts[2 * i + 1] as Uint8Array // two an array
        if (head.isRows?.[i] === true) unpackRows(storage, this.#rowsOf(this.#options.place, head.place, number, cuts) as Rows, bytes)
        else applyChanges(storage.data as never, { runs: runsOf(parts[2 * i] as Uint8Array), bytes })
      }
      this.#options.read(parts)
    }
  }

  /** Exchanges updates after the blocks of a round, flushes the own elements, and sends those that changed to their readers. */
  async flush(round: number, { isLast }: { readonly isLast: boolean }): Promise<void> {
    const { sharing, place } = this.#options
    for (const to of this.#others) {
      const regions = this.#arrays.flatMap(({ lanes, cuts }) => {
        joinAmong(lanes, pairAt(sharing.lanes, place), pairAt(cuts, to))
        return regionsOf(lanes, sharing.lanes, place, cuts, to)
      })
      const changes = regions.map((region) => orAll(changesOf(region, emptyOf(region)), region))
      this.#send(to, { round, kind: 'updates' }, changes)
    }
    const come = await this.#from('updates', round)
    if (this.#isOver) return
    for (const { head, parts } of come) {
      const regions = this.#arrays.flatMap(({ lanes, cuts }) => regionsOf(lanes, sharing.lanes, head.place, cuts, place))
      for (const [i, region] of regions.entries())
        applyChanges(region, { runs: runsOf(parts[2 * i] as Uint8Array), bytes: parts[2 * i + 1] as Uint8Array }) // two a region
      this.#options.read(parts)
    }
    if (isLast) for (const { piece } of this.#arrays) flushLanes(piece)
    else await this.#flushRound(round)
    if (this.#isOver) return
    if (!isLast || sharing.stays) this.#sendFresh(round)
    if (isLast && sharing.stays) await this.#takeFresh(round)
  }

  /** Flushes the updates that are due in the middle of a pass, as far as budgets have room. */
  async #flushRound(round: number): Promise<void> {
    const waiting = this.#arrays.flatMap(({ piece, lanes }) => {
      const found = waitingOfRound(piece)
      return found === undefined ? [] : { piece, found, late: lanes.late as LateUpdates } // as it has rounds
    })
    if (waiting.length === 0) return // for all: what is due follows from the round
    const { place, sharing } = this.#options
    const own = waiting.map(({ found, late }) => stretchOf(found, late.rounds.most))
    const counts = own.map(({ count }) => count)
    const parts = own.map(({ sizes }) => bytesOf(sizes))
    for (const to of this.#others) this.#sendParts(to, { round, kind: 'sizes', counts }, parts)
    const come = await this.#from('sizes', round)
    if (this.#isOver) return
    for (const [i, { piece, found, late }] of waiting.entries()) {
      const all = sharing.ranks.map((_, owner): Stretch => {
        if (owner === place) return own[i] as Stretch
        const { head, parts } = come.find((one) => one.head.place === owner) as Share // all have come
        return { count: head.counts?.[i] ?? 0, sizes: runsOf(parts[i] as Uint8Array) }
      })
      flushChosen(piece, chosenOf(found, all, place, late))
    }
  }

  /** The changes of the own elements since the pass began, counted from the first of them; none where elements stay. */
  changed(): Changes[] {
    return (this.#options.sharing.stays ? [] : this.#arrays).map(({ piece, first: bytes }) =>
      orAll(changesOf(piece.target.data as Region, { kind: 'copy', bytes }), piece.target.data as Region),
    )
  }

  #sendFresh(round: number): void {
    const changed = this.#arrays.map(({ piece, last: bytes }) => {
      const changes = changesOf(piece.target.data as Region, { kind: 'copy', bytes })
      bytes.set(bytesOf(piece.target.data))
      return changes
    })
    for (const to of this.#others) {
      const sent = this.#arrays.map(({ number, storage, cuts, piece }, i): { readonly isRows: boolean; readonly changes: Changes } => {
        const [data, from] = [piece.target.data as Region, cuts[this.#options.place] as number]
        const rows = this.#rowsOf(to, this.#options.place, number, cuts)
        if (rows === undefined) return { isRows: false, changes: shifted(orAll(changed[i] as Changes, data), from, data) }
        const own = changesWithin(shifted(changed[i] as Changes, from, data), rows, data)
        if (own.runs.byteLength + own.bytes.length <= countOfRows(rows) * data.BYTES_PER_ELEMENT) return { isRows: false, changes: own }
        return { isRows: true, changes: { runs: new Float64Array(0), bytes: packRows(storage, rows) } }
      })
      this.#send(
        to,
        { round, kind: 'fresh', isRows: sent.map(({ isRows }) => isRows) },
        sent.map(({ changes }) => changes),
      )
    }
  }

  /** The rows that one process reads of the elements that another owns; undefined where they are not known. */
  #rowsOf(reader: number, owner: number, number: number, cuts: readonly number[]): Rows | undefined {
    const rows = this.#options.rowsOf(reader, number)
    return rows && rowsWithin(rows, cuts[owner] as number, cuts[owner + 1] as number)
  }

  get #others(): readonly number[] {
    const { sharing, place } = this.#options
    return [...sharing.ranks.keys()].filter((other) => other !== place)
  }

  #send(to: number, head: Omit<ShareHead, 'run' | 'place'>, changes: readonly Changes[]): void {
    this.#sendParts(
      to,
      head,
      changes.flatMap(({ runs, bytes }) => [bytesOf(runs), bytes]),
    )
  }

  #sendParts(to: number, head: Omit<ShareHead, 'run' | 'place'>, parts: readonly Uint8Array[]): void {
    const { run, place, sharing, send } = this.#options
    this.bytes += parts.reduce((sum, { length }) => sum + length, 0)
    send(sharing.ranks[to] as number, { ...head, run, place }, parts)
  }

  /** The messages of all others for a round, once they are there; none after `stop`. */
  async #from(kind: ShareHead['kind'], round: number): Promise<readonly Share[]> {
    const count = this.#others.length
    for (;;) {
      if (this.#isOver) return []
      const found = this.#come.filter(({ head }) => head.kind === kind && head.round === round)
      if (found.length === count) {
        for (const share of found) this.#come.splice(this.#come.indexOf(share), 1)
        return found
      }
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}

/** The name under which an owner is told the rows that the process at `place` reads. */
export function loopOfReader(loop: string, place: number): string {
  return `${loop} for ${place}`
}

type Region = DenseStorage['data'] & ArrayBufferView & { readonly BYTES_PER_ELEMENT: number }

function pairAt(bounds: readonly number[], place: number): [number, number] {
  return [bounds[place] as number, bounds[place + 1] as number] // one more than there are processes
}

/** The elements that one process owns, in the copies of another's lanes in which all updates are once these lanes were joined. */
function regionsOf(lanes: Lanes, bounds: readonly number[], place: number, cuts: readonly number[], owner: number): Region[] {
  const [from, to] = pairAt(cuts, owner)
  return rootsOf(lanes.count, ...pairAt(bounds, place)).flatMap((lane) => {
    const at = lane * lanes.length
    const marks = lanes.touched?.subarray(at + from, at + to)
    return [lanes.data.subarray(at + from, at + to) as Region, ...(marks === undefined ? [] : [marks])]
  })
}

function runsOf(bytes: Uint8Array): Float64Array {
  return new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8)
}
