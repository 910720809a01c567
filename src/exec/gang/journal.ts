/**
 * Passes whose results may lie in other processes, until somebody uses the arrays here: what it takes to have them again when a process
 * is lost.
 *
 *     kept     what arrays held when the journal began, before passes wrote them
 *     entries  the passes since then, each of which can be run again
 *
 * Statement: what arrays hold follows from what they held and from the passes, in the order in which they ended; passes at the same time
 * have no array in common that one of them writes. So the arrays as they were, and the passes run again on the processes that are left, give
 * the bits that were lost. For that nobody else may write what the passes read or wrote, or read what they wrote, as long as the journal
 * has them: who is about to, has it closed, which brings home what lies elsewhere.
 *
 * A pass holds the journal's lock as a reader; what changes the journal as a whole holds it as a writer.
 */
import type { Storage } from '../../core/storage.ts'
import { type LockMode, RwLock } from '../arrays/rwLock.ts'
import type { LeftElsewhere } from '../loops/preparedLoop.ts'
import { bytesOf } from './changes.ts'
import { regionOf } from './passWire.ts'

/** A pass that has ended. */
export interface Entry {
  readonly of: object
  readonly reads: readonly Storage[]
  readonly milliseconds: number
  /** Runs the pass as it was. */
  again(): Promise<void>
  /** Once the journal does not need it any more. */
  release(): void
}

/** What the journal asks of the processes. */
export interface Elsewhere {
  /** Brings the last values of arrays home. Rejects with the GangError of a process that was lost on the way. */
  bringHome(storages: readonly Storage[]): Promise<void>
  /** Nobody else has anything of them any more: this process has all. */
  isHome(storages: readonly Storage[]): void
  /** Bytes of arrays that lie elsewhere and not here. */
  awayBytes(storages: readonly Storage[]): number
  /** Whether that is why something failed. */
  hasLost(error: unknown): boolean
}

/** Passes from which a journal is closed: what a loss would cost. */
const MOST_ENTRIES = 64
const LEAST_MS = 5_000
/** Sending and receiving a byte; bringing arrays home is to take a twentieth of the passes before it. */
const MS_PER_BYTE = 4e-6
const PASSES_PER_RETURN = 20

type Region = ReturnType<typeof regionOf>

export class Journal implements LeftElsewhere {
  readonly #elsewhere: Elsewhere
  /** Bytes of copies from which a journal is closed. */
  readonly #mostBytes: number
  readonly #lock = new RwLock()
  readonly #kept = new Map<Region, { readonly storage: Storage; readonly copy: Uint8Array }>()
  readonly #read = new Set<Region>()
  #entries: Entry[] = []
  /** Used again where arrays are as long: fresh memory costs more than the copy. */
  #copies = new WeakMap<Region, Uint8Array>()
  #isBroken = false

  constructor(elsewhere: Elsewhere, mostBytes: number) {
    this.#elsewhere = elsewhere
    this.#mostBytes = mostBytes
  }

  /** A process was lost: what it had is gone, and passes under way have written a part of what they write. */
  broke(): void {
    this.#isBroken = true
  }

  /** After a loss, arrays and passes are as they were. */
  async ready(): Promise<void> {
    if (this.#isBroken) await this.#exclusively(() => this.#mend())
  }

  /** For a pass that is to be an entry; gives what ends it. */
  async begin(): Promise<() => void> {
    for (;;) {
      const leave = await this.#lock.acquire('read')
      if (!this.#isBroken) return leave
      leave()
      await this.ready()
    }
  }

  /** For a pass that cannot be one: it has the journal for itself, and begins with an empty one. */
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

  /** Before a pass writes arrays; false where there is no memory for copies of them, and nothing is kept that was not before. */
  keep(storages: readonly Storage[]): boolean {
    const added: Region[] = []
    for (const storage of storages) {
      const region = regionOf(storage)
      if (this.#kept.has(region)) continue
      try {
        const copy = this.#copies.get(region) ?? new Uint8Array(region.byteLength)
        copy.set(bytesOf(region))
        this.#copies.set(region, copy)
        this.#kept.set(region, { storage, copy })
        added.push(region)
      } catch (error) {
        if (!(error instanceof RangeError)) throw error
        for (const one of added) this.#kept.delete(one)
        return false
      }
    }
    return true
  }

  add(entry: Entry): void {
    this.#entries.push(entry)
    for (const storage of entry.reads) this.#read.add(regionOf(storage))
  }

  /** Whether passes of a loop are entries. */
  has(loop: object): boolean {
    return this.#entries.some(({ of }) => of === loop)
  }

  /** After a pass: not to have too much to run again. */
  get isLong(): boolean {
    if (this.#entries.length >= MOST_ENTRIES) return true
    const kept = [...this.#kept.values()]
    if (kept.reduce((sum, { copy }) => sum + copy.length, 0) > this.#mostBytes) return true
    const ms = this.#entries.reduce((sum, { milliseconds }) => sum + milliseconds, 0)
    if (ms < LEAST_MS) return false
    return ms > PASSES_PER_RETURN * MS_PER_BYTE * this.#elsewhere.awayBytes(kept.map(({ storage }) => storage))
  }

  /** Before somebody else uses an array: what passes have left elsewhere comes home. */
  async use(storage: Storage, mode: LockMode): Promise<void> {
    if (this.concerns(storage, mode)) await this.close()
  }

  /** Whether somebody else's use of an array closes the journal. */
  concerns(storage: Storage, mode: LockMode): boolean {
    const region = regionOf(storage)
    return this.#kept.has(region) || (mode === 'write' && this.#read.has(region))
  }

  isAway(storage: Storage): boolean {
    const kept = this.#kept.get(regionOf(storage))
    return kept !== undefined && this.#elsewhere.awayBytes([kept.storage]) > 0
  }

  /** Brings everything home. */
  async close(): Promise<void> {
    await this.#exclusively(() => this.#close())
  }

  /** Nobody will ask for the arrays any more. */
  forget(): void {
    for (const entry of this.#entries.splice(0)) entry.release()
    this.#kept.clear()
    this.#read.clear()
    this.#isBroken = false
  }

  /** Puts back what arrays held before a pass that had the journal for itself; false where nothing was kept. */
  restore(storages: readonly Storage[]): boolean {
    if (!storages.every((storage) => this.#kept.has(regionOf(storage)))) return false
    for (const storage of storages) this.#putBack(regionOf(storage))
    this.#isBroken = false
    return true
  }

  #putBack(region: Region): void {
    const kept = this.#kept.get(region)
    if (kept !== undefined) bytesOf(region).set(kept.copy)
  }

  async #exclusively(run: () => Promise<void>): Promise<void> {
    const leave = await this.#lock.acquire('write')
    try {
      await run()
    } finally {
      leave()
    }
  }

  async #close(): Promise<void> {
    for (;;) {
      await this.#mend()
      try {
        await this.#elsewhere.bringHome([...this.#kept.values()].map(({ storage }) => storage))
        if (this.#isBroken) continue
        this.forget()
        return
      } catch (error) {
        if (!this.#elsewhere.hasLost(error)) throw error
      }
    }
  }

  /** After a loss: arrays as they were, and the passes again. */
  async #mend(): Promise<void> {
    while (this.#isBroken) {
      this.#isBroken = false
      for (const region of this.#kept.keys()) this.#putBack(region)
      this.#elsewhere.isHome([...this.#kept.values()].map(({ storage }) => storage))
      try {
        for (const entry of this.#entries) {
          await entry.again()
          if (this.#isBroken) break // others have to go on from the beginning
        }
      } catch (error) {
        if (!this.#elsewhere.hasLost(error)) throw error
        this.#isBroken = true
      }
    }
  }
}
