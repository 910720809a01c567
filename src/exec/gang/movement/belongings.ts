/**
 * The record of what processes have of arrays: of dense ones, which elements of which version; of others, and for one loop, all or nothing.
 */
import type { Storage } from '../../../core/arrays/storage.ts'
import type { MadeSpec } from '../../arrays/makeArray.ts'
import type { ScannedSpec } from '../../arrays/scannedArray.ts'
import { missingCells, type Residence, withAll } from './residence.ts'
import { type Box, boxesOfCells } from './transfers.ts'

/** An array that a process has: its values of a version; where `by` is given, only those that passes of this loop need or leave there. */
export interface Held {
  readonly version: string | undefined
  readonly by?: string
}

/** The process that runs the program. */
export const HOME = 0
/** A process: HOME, or the object of another, which is a new one when the process is started again. */
export type Process = typeof HOME | object

/** An array that a pass needs elsewhere. */
export interface Needed {
  readonly storage: Storage
  readonly version: string | undefined
  /** Only its shape is needed: the pass adds to copies, or its elements are sent in boxes. */
  readonly isShape: boolean
  /** The token of the elements that blocks read, where a pass needs only these: a process has them under this token. */
  readonly by?: string
  /** The token of what decides on the elements that blocks touch, of an array whose changes are found by comparing (`reachToken`). */
  readonly reach?: string
  /** The description by which processes make elements that they lack by themselves. */
  readonly made?: MadeSpec
  /** The description by which processes that have nothing of the array compute all of it from files. */
  readonly scanned?: () => ScannedSpec | undefined
}

/** The blocks of which a process has the elements that these go over, in plan order, and the elements' version. */
export interface HeldBlocks {
  readonly version: string | undefined
  readonly blocks: Int32Array
}

/** A gang, or a simulated one, that keeps the record of what processes have. */
export interface Keeping {
  readonly belongings: Belongings
  numberOf(storage: Storage): number
}

export class Belongings {
  readonly #residences = new Map<number, { readonly version: string | undefined; readonly residence: Residence<Process> }>()
  readonly #held = new Map<object, Map<number, Held>>()
  /** Elements that processes have of their own blocks only. */
  readonly #blocks = new Map<object, Map<number, HeldBlocks>>()
  /** The number of passes under way that use each array. */
  readonly #passes = new Map<number, number>()

  /** Counts a pass as a user of arrays, until the function that it returns is called. */
  begin(storages: readonly number[]): () => void {
    const count = (storage: number, by: number): void => void this.#passes.set(storage, (this.#passes.get(storage) ?? 0) + by)
    for (const storage of storages) count(storage, 1)
    return () => {
      for (const storage of storages) count(storage, -1)
    }
  }

  /** Whether several passes under way read an array: elements that one of them has brought somewhere are on record only when it is over. */
  isShared(storage: number): boolean {
    return (this.#passes.get(storage) ?? 0) > 1
  }

  /**
   * The residence of an array of a version; undefined where nobody but this process has any of that version. For an array that lies
   * elsewhere the version does not matter: nobody has written it here.
   */
  residence(storage: number, version: string | undefined): Residence<Process> | undefined {
    const known = this.#residences.get(storage)
    if (known === undefined) return undefined
    return (version !== undefined && known.version === version) || isAway(known.residence) ? known.residence : undefined
  }

  /** The residence of an array of which some elements lie elsewhere and not here; undefined for all others. */
  away(storage: number): Residence<Process> | undefined {
    const residence = this.#residences.get(storage)?.residence
    return residence !== undefined && isAway(residence) ? residence : undefined
  }

  /** Whether anything that a process has of an array may count. */
  counts(process: object, storage: number): boolean {
    return this.#residences.get(storage)?.residence.has.get(process)?.includes(1) === true
  }

  /** Records a residence; without one nobody else has anything. Without a version it counts only while elements lie elsewhere alone. */
  settle(storage: number, version: string | undefined, residence: Residence<Process> | undefined): void {
    if (residence === undefined) this.#residences.delete(storage)
    else this.#residences.set(storage, { version, residence })
  }

  /** Records that elements that lay elsewhere are here as well. */
  brought(storage: number): void {
    const known = this.#residences.get(storage)
    if (known !== undefined) this.#residences.set(storage, { ...known, residence: withAll(known.residence, HOME) })
  }

  held(process: object, storage: number): Held | undefined {
    return this.#held.get(process)?.get(storage)
  }

  /** Whether a process is to compute an array by itself: all of it, where it has nothing of it. */
  computes(process: object, storage: number, { isShape, version, scanned }: Needed): boolean {
    return !isShape && version !== undefined && this.held(process, storage) === undefined && scanned?.() !== undefined
  }

  hold(process: object, storage: number, held: Held): void {
    const all = this.#held.get(process) ?? new Map<number, Held>()
    this.#held.set(process, all.set(storage, held))
  }

  heldBlocks(process: object, elements: number): HeldBlocks | undefined {
    return this.#blocks.get(process)?.get(elements)
  }

  holdBlocks(process: object, elements: number, held: HeldBlocks): void {
    const all = this.#blocks.get(process) ?? new Map<number, HeldBlocks>()
    this.#blocks.set(process, all.set(elements, held))
  }

  forgetProcess(process: object): void {
    this.#held.delete(process)
    this.#blocks.delete(process)
    for (const { residence } of this.#residences.values()) (residence.has as Map<Process, Uint8Array>).delete(process) // a residence's own
  }

  forgetStorage(storage: number): void {
    this.#residences.delete(storage)
    this.#passes.delete(storage)
    for (const held of [...this.#held.values(), ...this.#blocks.values()]) held.delete(storage)
  }

  /** The boxes of an array that a process lacks for the passes of a loop, or `all`. */
  missing(process: object, loop: string, number: number, needed: Needed): 'all' | readonly Box[] {
    const { storage, version, isShape, by = holderOf(loop, needed) } = needed
    const held = this.held(process, number)
    if (held === undefined) return 'all'
    if (isShape) return []
    if (version === undefined) return 'all'
    if (held.version === version && (held.by === undefined || held.by === by)) return []
    const residence = storage.kind === 'dense' ? this.residence(number, version) : undefined
    if (residence?.has.has(process) !== true) return 'all'
    return boxesOfCells(missingCells(residence, process), residence.bounds)
  }

  /** Records that a process was sent what it lacked. */
  supplied(process: object, number: number, { storage, version, isShape }: Needed): void {
    if (isShape || storage.kind !== 'dense') {
      this.hold(process, number, { version: isShape ? undefined : version })
      return
    }
    this.hold(process, number, { version: undefined })
    if (version !== undefined) this.settle(number, version, withAll(this.residence(number, version) ?? atHome(storage.shape), process))
  }
}

/** The name under which a process has what passes of a loop leave there of a compared array. */
export function holderOf(loop: string, { reach }: { readonly reach?: string | undefined }): string {
  return reach === undefined ? loop : `${loop} ${reach}`
}

function isAway({ has }: Residence<Process>): boolean {
  return has.get(HOME)?.includes(0) !== false
}

/** The residence of an array that only HOME has. */
export function atHome(shape: readonly number[]): Residence<Process> {
  return { bounds: shape.map((extent) => [0, extent]), has: new Map([[HOME, Uint8Array.of(1)]]) }
}
