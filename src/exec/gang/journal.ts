/**
 * A redo log of passes whose results may lie in other processes until somebody uses the arrays here: from it they are computed again when
 * a process is lost.
 *
 *     kept     what arrays held when the journal began, before passes wrote them
 *     entries  the passes since then, each of which can be run again
 *
 * Statement: what arrays hold follows from what they held and from the passes, in the order in which they ended; passes at the same time
 * have no array in common that one of them writes. So the arrays as they were, and the passes run again on the processes that are left, give
 * the bits that were lost. For that nothing else may write arrays that the passes read or wrote, or read those that they wrote, as long as
 * the journal has them: before such a use the journal is closed, which brings home the elements that lie elsewhere.
 *
 * A pass holds the journal's lock as a reader; what changes the journal as a whole holds it as a writer.
 */
import type { Storage } from '../../core/arrays/storage.ts'
import type { LeftElsewhere } from '../arrays/leftElsewhere.ts'
import { partsOf } from '../arrays/parted.ts'
import { type LockMode, RwLock } from '../arrays/rwLock.ts'
import { NOMINAL_COST } from './linkCost.ts'
import { bytesOf } from './movement/changes.ts'
import { regionOf } from './movement/passWire.ts'

/** A pass that has ended. */
export interface Entry {
  readonly of: object
  readonly reads: readonly Storage[]
  readonly milliseconds: number
  /** Runs the pass as it was. */
  again(): Promise<void>
  /** Called once the journal does not need the pass any more. */
  release(): void
}

/** The operations on other processes that the journal needs. */
export interface Elsewhere {
  /** Brings the last values of arrays home. Rejects with the GangError of a process that was lost on the way. */
  bringHome(storages: readonly Storage[]): Promise<void>
  /**
   * Brings last values home, or puts them into files where the array need not be here as a whole. Until `commit`, arrays can be put back as
   * passes found them.
   */
  putAside(storages: readonly Storage[]): Promise<{ commit(): void; undo(): void }>
  /** Takes note that this process has all elements, and no other process any that count. */
  isHome(storages: readonly Storage[]): void
  /** Bytes of arrays that lie elsewhere and not here. */
  awayBytes(storages: readonly Storage[]): number
  /** Whether an error is the loss of a process, which the gang survives. */
  hasLost(error: unknown): boolean
  /** The error to throw where a loss cannot be made good, since passes failed for another reason when they ran again. */
  unmended(error: unknown): unknown
}

/** The number of passes from which a journal is closed, since a loss would cost all of them. */
const MOST_ENTRIES = 64
const LEAST_MS = 5_000
/** Bringing arrays home is to take a twentieth of the passes before it. */
const PASSES_PER_RETURN = 20

/** The identity of an array's memory: several names, and a table and its column, may lie in one place. */
type Place = object

function placeOf(storage: Storage): Place {
  return (storage.kind === 'dense' ? storage.parts : undefined) ?? regionOf(storage)
}

/** The values that an array held before passes wrote it; `copy` is undefined where they can be made again. */
interface Kept {
  readonly storage: Storage
  readonly copy: Uint8Array | undefined
}

export class Journal implements LeftElsewhere {
  readonly #elsewhere: Elsewhere
  /** Bytes of copies from which a journal is closed. */
  readonly #mostBytes: number
  readonly #lock = new RwLock()
  readonly #kept = new Map<Place, Kept>()
  readonly #read = new Set<Place>()
  #entries: Entry[] = []
  /** Memory of earlier copies, used again for the same arrays: fresh memory costs more than the copy. */
  #copies = new WeakMap<Place, Uint8Array>()
  #isBroken = false

  constructor(elsewhere: Elsewhere, mostBytes: number) {
    this.#elsewhere = elsewhere
    this.#mostBytes = mostBytes
  }

  /** Takes note that a process was lost: its elements are gone, and passes under way have written only a part of theirs. */
  broke(): void {
    this.#isBroken = true
  }

  /** Mends the arrays after a loss; does nothing otherwise. */
  async ready(): Promise<void> {
    if (this.#isBroken) await this.#exclusively(() => this.#mend())
  }

  /** Takes the lock for a pass that is to be an entry; returns the function that gives it back. */
  async begin(): Promise<() => void> {
    for (;;) {
      const leave = await this.#lock.acquire('read')
      if (!this.#isBroken) return leave
      leave()
      await this.ready()
    }
  }

  /** Takes the lock for a pass that cannot be an entry: it has the journal for itself, and begins with an empty one. */
  async beginAlone(): Promise<() => void> {
    const leave = await this.#lock.acquire('write')
    try {
      await this.#close()
      return leave
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Copies arrays before a pass writes them; false where there is no memory for that, and then nothing is kept that was not before. */
  keep(storages: readonly Storage[]): boolean {
    const added: Place[] = []
    for (const storage of storages) {
      const place = placeOf(storage)
      if (this.#kept.has(place)) continue
      try {
        this.#kept.set(place, { storage, copy: isAsMade(storage) ? undefined : this.#copyOf(storage, place) })
        added.push(place)
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
        for (const one of added) this.#kept.delete(one)
        return false
      }
    }
    return true
  }

  #copyOf(storage: Storage, place: Place): Uint8Array {
    const region = regionOf(storage)
    const copy = this.#copies.get(place) ?? new Uint8Array(region.byteLength)
    copy.set(bytesOf(region))
    this.#copies.set(place, copy)
    return copy
  }

  add(entry: Entry): void {
    this.#entries.push(entry)
    for (const storage of entry.reads) this.#read.add(placeOf(storage))
  }

  /** Whether passes of a loop are entries. */
  has(loop: object): boolean {
    return this.#entries.some(({ of }) => of === loop)
  }

  /** Whether the journal is due to be closed, so that there is not too much to run again. */
  get isLong(): boolean {
    if (this.#entries.length >= MOST_ENTRIES) return true
    const kept = [...this.#kept.values()]
    if (kept.reduce((sum, { copy }) => sum + (copy?.length ?? 0), 0) > this.#mostBytes) return true
    const ms = this.#entries.reduce((sum, { milliseconds }) => sum + milliseconds, 0)
    if (ms < LEAST_MS) return false
    return ms > PASSES_PER_RETURN * NOMINAL_COST.msPerByte * this.#elsewhere.awayBytes(kept.map(({ storage }) => storage))
  }

  /** Closes the journal before somebody else uses an array, which comes home as a whole unless only `pieces` of it are asked for. */
  async use(storage: Storage, mode: LockMode | 'pieces'): Promise<void> {
    if (!this.concerns(storage, mode === 'write' ? mode : 'read')) return
    await this.#exclusively(() => this.#close(mode === 'pieces' ? undefined : storage))
  }

  /** Whether somebody else's use of an array closes the journal. */
  concerns(storage: Storage, mode: LockMode): boolean {
    const place = placeOf(storage)
    return this.#kept.has(place) || (mode === 'write' && this.#read.has(place))
  }

  isAway(storage: Storage): boolean {
    const kept = this.#kept.get(placeOf(storage))
    return kept !== undefined && this.#elsewhere.awayBytes([kept.storage]) > 0
  }

  /** Brings home or puts aside all results; after that no entry has to run again. */
  async close(): Promise<void> {
    await this.#exclusively(() => this.#close())
  }

  /** Drops all entries and copies without bringing anything home. */
  forget(): void {
    for (const entry of this.#entries.splice(0)) entry.release()
    this.#kept.clear()
    this.#read.clear()
    this.#isBroken = false
  }

  /** Puts back what arrays held before a pass that had the journal for itself; false where nothing was kept. */
  restore(storages: readonly Storage[]): boolean {
    if (!storages.every((storage) => this.#kept.has(placeOf(storage)))) return false
    for (const storage of storages) this.#putBack(placeOf(storage))
    this.#isBroken = false
    return true
  }

  #putBack(place: Place): void {
    const kept = this.#kept.get(place)
    if (kept === undefined) return
    const { storage, copy } = kept
    if (copy !== undefined) bytesOf(regionOf(storage)).set(copy)
    else if (storage.kind === 'dense') partsOf(storage)?.reset()
  }

  async #exclusively(run: () => Promise<void>): Promise<void> {
    const leave = await this.#lock.acquire('write')
    try {
      await run()
    } finally {
      leave()
    }
  }

  /** Closes the journal; `wanted` comes home as a whole, all other arrays are put aside. Starts again after a loss. */
  async #close(wanted?: Storage): Promise<void> {
    for (;;) {
      await this.#mend()
      try {
        const all = [...this.#kept.values()].map(({ storage }) => storage)
        await this.#elsewhere.bringHome(all.filter((storage) => storage === wanted))
        const { commit, undo } = await this.#elsewhere.putAside(all.filter((storage) => storage !== wanted))
        if (this.#isBroken) {
          undo()
          continue
        }
        commit()
        this.forget()
        return
      } catch (error) {
        if (!this.#elsewhere.hasLost(error)) throw error
      }
    }
  }

  /** Puts arrays back as they were and runs the entries again, until no process is lost meanwhile. */
  async #mend(): Promise<void> {
    while (this.#isBroken) {
      this.#isBroken = false
      for (const place of this.#kept.keys()) this.#putBack(place)
      this.#elsewhere.isHome([...this.#kept.values()].map(({ storage }) => storage))
      try {
        for (const entry of this.#entries) {
          await entry.again()
          if (this.#isBroken) break // others have to go on from the beginning
        }
      } catch (error) {
        this.#isBroken = true // arrays are not what they were
        if (!this.#elsewhere.hasLost(error)) throw this.#elsewhere.unmended(error)
      }
    }
  }
}

/** Whether an array is still as it was made, so that its values need not be copied. */
function isAsMade(storage: Storage): boolean {
  const parts = storage.kind === 'dense' ? partsOf(storage) : undefined
  return parts !== undefined && !parts.isWhole && !parts.isWritten
}
