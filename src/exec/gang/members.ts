/**
 * The processes of a gang as seen by the one that runs the program: the others, what they have of arrays and loops, and passes under way.
 *
 * Arrays live here. What another process needs of them is sent before a pass, unless it has it already: the values as they are by
 * their version, or as the last pass of the same loop has left them there.
 */

import type { Storage } from '../../core/arrays/storage.ts'
import { Bug, GangError } from '../../core/errors.ts'
import { Coming } from './coming.ts'
import { fromBytes, toBytes } from './definition.ts'
import { type LinkCost, NOMINAL_COST } from './linkCost.ts'
import type { FrameType } from './links/frame.ts'
import type { GangLinks } from './links/gangLinks.ts'
import { Links } from './links/links.ts'
import type { InMessage } from './links/messages.ts'
import type { GangSettings } from './links/settings.ts'
import { Belongings, type Needed } from './movement/belongings.ts'
import type { Edge, EdgeHead } from './movement/edges.ts'
import { bytesMissing } from './movement/needs.ts'
import { type DoneHead, type FailedHead, type FetchHead, type ForgetHead, failureOf, type RunHead } from './movement/passWire.ts'
import type { Share, ShareHead } from './movement/shares.ts'
import type { Box } from './movement/transfers.ts'

export interface Other {
  readonly rank: number
  readonly loops: Set<string>
  /** The tokens of the rows that it knows, by loop and array (`ServedArray.by`). */
  readonly keys: Map<string, string>
}

export interface Answer {
  readonly rank: number
  readonly head: DoneHead
  readonly parts: readonly Uint8Array[]
}

interface Pending {
  readonly left: Set<number>
  /** The ranks of all that run the pass. */
  readonly ranks: readonly number[]
  /** The parts of the answer are given back as soon as it returns. */
  took(answer: Answer): void
  done(): void
  failed(error: unknown): void
}

/** The size of loads whose sending takes about as long as four more messages. */
const LEAST_LOAD_BYTES = 2 ** 18

/** The time between two passes of a program that runs one after another, and does something with each. */
const WAIT_MS = 200

export type GangEvents = (event: { readonly phase: 'lost' | 'joined'; readonly rank: number }) => void

export class Members {
  readonly #links: GangLinks
  readonly belongings: Belongings = new Belongings()
  /** The other processes that are there. */
  #others: readonly Other[]
  readonly #coming: Coming<Other>
  #epoch = 0
  readonly #pending = new Map<number, Pending>()
  readonly #numbers = new WeakMap<Storage, number>()
  readonly #storages = new Map<number, WeakRef<Storage>>()
  readonly #forgotten = new FinalizationRegistry<number>((number) => {
    this.#storages.delete(number)
    this.#forget({ loops: [], storages: [number] })
  })
  readonly #listeners = new Set<GangEvents>()
  /** The errors of processes that were lost, in the order of their loss. */
  readonly #losses = new Map<Other, GangError>()
  /** The error with which the links of this process broke. */
  #broken: GangError | undefined
  #lastStorage = 0
  #lastLoop = 0
  #lastRun = 0
  #passes = 0
  /** The passes that the others are asked for, each with the receiver of edges that blocks here wait for. */
  readonly #open = new Map<number, (edge: Edge) => void>()
  /** The receivers of shares in buffered arrays, by pass. */
  readonly #shares = new Map<number, (share: Share) => void>()

  /** The bytes of served elements from which they are sent while blocks run, rather than before. */
  readonly leastLoadBytes: number

  /** The cost of links: nominal until it is measured. */
  linkCost: LinkCost = NOMINAL_COST

  /** `world` counts all processes with this one, and all have joined. */
  constructor(
    world: number,
    links: GangLinks,
    { leastLoadBytes = LEAST_LOAD_BYTES, waitMs = WAIT_MS }: { readonly leastLoadBytes?: number; readonly waitMs?: number } = {},
  ) {
    this.#links = links
    this.leastLoadBytes = leastLoadBytes
    this.#coming = new Coming({ isIdle: () => this.#open.size === 0, takeIn: (other) => this.#takeIn(other) }, waitMs)
    this.#others = Array.from({ length: world - 1 }, (_, i) => ({ rank: i + 1, loops: new Set(), keys: new Map() }))
  }

  /** Starts the links; resolves when all have joined. `code` is the program of worker threads. */
  static async start(settings: GangSettings, code: string | URL): Promise<Members> {
    let members: Members | undefined
    const early: ((members: Members) => void)[] = []
    const later = (run: (members: Members) => void): void => {
      if (members === undefined) early.push(run)
      else run(members)
    }
    const links = await Links.start(settings, code, {
      took: (from, message) => members?.take(from, message),
      lost: (error) => later((one) => one.lose(error)),
      joined: (rank) => later((one) => one.join(rank)),
      released: () => undefined,
    })
    members = new Members(settings.world, links)
    for (const run of early) run(members)
    return members
  }

  /** The other processes that are there, in the order of their ranks; a new list after each loss or join. */
  get others(): readonly Other[] {
    return this.#others
  }

  /** Processes that have come since, and get ready for loops whose passes begin meanwhile. */
  get coming(): readonly Other[] {
    return this.#coming.all
  }

  /** The number of losses and joins so far. */
  get epoch(): number {
    return this.#epoch
  }

  /** The number of passes, or rounds of passes, that the others were asked for. */
  get passes(): number {
    return this.#passes
  }

  /** Calls `events` for processes that are lost or join; returns what ends that. */
  listen(events: GangEvents): () => void {
    this.#listeners.add(events)
    return () => this.#listeners.delete(events)
  }

  numberOf(storage: Storage): number {
    const known = this.#numbers.get(storage)
    if (known !== undefined) return known
    const number = ++this.#lastStorage
    this.#numbers.set(storage, number)
    this.#storages.set(number, new WeakRef(storage))
    this.#forgotten.register(storage, number)
    return number
  }

  /** The array of a number. Throws Bug where it was garbage-collected: callers hold on to the array meanwhile. */
  storageOf(number: number): Storage {
    const found = this.#storages.get(number)?.deref()
    if (found === undefined) throw new Bug(`Array ${number} of a gang is gone.`)
    return found
  }

  nextLoop(): string {
    return `${++this.#lastLoop}`
  }

  forgetLoop(id: string): void {
    this.#forget({ loops: [id], storages: [] })
    for (const { loops, keys } of [...this.#others, ...this.coming]) {
      loops.delete(id)
      for (const key of keys.keys()) if (key.startsWith(`${id} `)) keys.delete(key)
    }
  }

  /** Bytes of arrays that have to be sent before a pass of a loop. */
  missingBytes(loop: string, needed: readonly Needed[]): number {
    let bytes = 0
    for (const other of this.#others) {
      for (const one of needed) {
        if (one.isShape || one.made !== undefined || this.belongings.computes(other, this.numberOf(one.storage), one)) continue
        bytes += bytesMissing(this.missing(other, loop, one), one.storage)
      }
    }
    return bytes
  }

  /** The boxes of an array that a process lacks for the passes of a loop. */
  missing(other: Other, loop: string, needed: Needed): 'all' | readonly Box[] {
    return this.belongings.missing(other, loop, this.numberOf(needed.storage), needed)
  }

  /** A number for a question to others that is no pass. */
  nextQuestion(): number {
    return ++this.#lastRun
  }

  /** A number for a pass that the others are to run, until `endRun`. */
  nextRun(): number {
    this.#open.set(++this.#lastRun, () => undefined)
    return this.#lastRun
  }

  /** Sets the receiver of edges that blocks of this process wait for in a pass. */
  takeEdges(run: number, take: (edge: Edge) => void): void {
    this.#open.set(run, take)
  }

  takeShares(run: number, take: (share: Share) => void): void {
    this.#shares.set(run, take)
  }

  endRun(run: number): void {
    this.#open.delete(run)
    this.#shares.delete(run)
  }

  /**
   * Has the others run a pass, or the next of its rounds; `took` is called with what each gives. Rejects with GangError where one is lost
   * or cannot run it, and otherwise not before all have answered.
   */
  async run(
    run: number,
    heads: ReadonlyMap<Other, Omit<RunHead, 'run' | 'least'>>,
    signal: AbortSignal | undefined,
    took: Pending['took'],
  ): Promise<void> {
    this.#passes++
    const least = Math.min(...this.#open.keys())
    await this.ask(run, 'run', new Map([...heads].map(([other, head]) => [other, { ...head, run, least }])), signal, took)
  }

  /** Asks processes and waits for their answers. Rejects with GangError where one is lost or cannot answer, and otherwise not before all have. */
  async ask(
    run: number,
    type: 'run' | 'fetch',
    heads: ReadonlyMap<Other, RunHead | FetchHead>,
    signal: AbortSignal | undefined,
    took: Pending['took'],
  ): Promise<void> {
    this.checkThere(heads.keys())
    const ranks = [...heads.keys()].map(({ rank }) => rank)
    const onAbort = (): void => this.#abort(run, ranks)
    this.#links.hold()
    try {
      await new Promise<void>((resolve, reject) => {
        this.#pending.set(run, { left: new Set(ranks), ranks, took, done: resolve, failed: reject })
        for (const [{ rank }, head] of heads) this.send(rank, type, head)
        signal?.addEventListener('abort', onAbort, { once: true })
        if (signal?.aborted) onAbort()
      })
    } finally {
      signal?.removeEventListener('abort', onAbort)
      this.#pending.delete(run)
      this.#links.letGo()
    }
  }

  #abort(run: number, ranks: readonly number[]): void {
    if (this.#broken !== undefined) return
    for (const { rank } of this.#others) if (ranks.includes(rank)) this.send(rank, 'abort', run)
  }

  /** Throws the GangError of links that broke. */
  check(): void {
    if (this.#broken !== undefined) throw this.#broken
  }

  /** Throws the GangError of broken links, or of one of these processes that was lost. */
  checkThere(others: Iterable<Other>): void {
    this.check()
    for (const other of others) {
      const loss = this.#losses.get(other)
      if (loss !== undefined) throw loss
    }
  }

  /** The error of the process that was lost last; undefined where none was. */
  get lastLoss(): GangError | undefined {
    return [...this.#losses.values()].at(-1)
  }

  /** Whether a pass failed since a process was lost, and the gang goes on. */
  hasLost(error: unknown): boolean {
    return this.#broken === undefined && [...this.#losses.values()].some((loss) => loss === error)
  }

  /** Ends the other processes at once, for a program that exits. */
  releaseNow(code: number): void {
    this.#links.releaseNow(code)
  }

  async release(code: number): Promise<void> {
    await this.#links.release(code)
  }

  /** Takes a message of another process: an answer, or elements that blocks here wait for. */
  take(rank: number, { type, head, parts }: InMessage): void {
    let pending: Pending | undefined
    try {
      const value = fromBytes(head) as DoneHead | FailedHead | EdgeHead | ShareHead // what node.ts sends
      pending = this.#pending.get(value.run)
      if (type === 'edge') {
        this.#open.get(value.run)?.({ head: value as EdgeHead, parts })
        return
      }
      if (type === 'share') {
        this.#shares.get(value.run)?.({ head: value as ShareHead, parts })
        return
      }
      if (pending === undefined || !pending.left.delete(rank)) return // of a pass that was given up
      if (type === 'done') {
        pending.took({ rank, head: value as DoneHead, parts })
        this.giveBack(parts)
      } else throw failureOf(rank, value as FailedHead)
    } catch (error) {
      if (pending === undefined || !(error instanceof GangError)) {
        this.lose(
          new GangError(`Rank ${rank} sent what is no answer, and is out of the gang: ${String(error)}`, 'frame', { rank, cause: error }),
        )
        return
      }
      const run = [...this.#pending].find(([, one]) => one === pending)?.[0]
      if (run !== undefined) this.#abort(run, pending.ranks) // they may wait for what does not come
      pending.failed(error)
    }
    if (pending.left.size === 0) pending.done()
  }

  /** The gang goes on without a process; where the links of this one broke, it does not. */
  lose(error: GangError): void {
    const { rank } = error
    if (rank === undefined || rank === 0) {
      this.#broken ??= error
      for (const pending of this.#pending.values()) pending.failed(error)
      return
    }
    const other = [...this.#others, ...this.coming].find((one) => one.rank === rank)
    if (other === undefined) return // its loss is known already
    this.#losses.set(other, error)
    this.belongings.forgetProcess(other)
    const isNew = this.#coming.delete(other)
    if (!isNew) {
      this.#others = this.#others.filter((one) => one !== other)
      this.#epoch++
    }
    this.#links.part(rank)
    for (const [run, pending] of this.#pending) {
      if (!pending.ranks.includes(rank)) continue
      this.#abort(run, pending.ranks) // they may wait for what it does not send
      pending.failed(error)
    }
    if (!isNew) for (const tell of this.#listeners) tell({ phase: 'lost', rank })
  }

  /**
   * A process has come in the place of one that was lost. Passes that begin once it is ready have it: loops whose passes begin before that
   * prepare it meanwhile. Where there are none, passes that begin from now on have it.
   */
  join(rank: number): void {
    const other: Other = { rank, loops: new Set(), keys: new Map() }
    if (this.#passes === 0) this.#takeIn(other)
    else this.#coming.add(other)
  }

  /** Prepares a process that has come for passes after the present one. */
  prepare(other: Other, work: () => Promise<void>): void {
    this.#coming.prepare(other, work)
  }

  #takeIn(other: Other): void {
    this.#others = [...this.#others, other].sort((a, b) => a.rank - b.rank)
    this.#epoch++
    for (const tell of this.#listeners) tell({ phase: 'joined', rank: other.rank })
  }

  #forget(head: ForgetHead): void {
    if (this.#broken !== undefined) return
    for (const number of head.storages) this.belongings.forgetStorage(number)
    for (const { rank } of [...this.#others, ...this.coming]) this.send(rank, 'forget', head)
  }

  /** Takes back the parts of a message that are read, whose memory parts that come have again. */
  giveBack(parts: readonly Uint8Array[]): void {
    this.#links.giveBack(parts)
  }

  send(to: number, type: FrameType, value: unknown, parts: readonly Uint8Array[] = []): void {
    // what a process is sent before it takes part may be under way longer than the pass that it is of
    const isNew = this.coming.some(({ rank }) => rank === to)
    this.#links.send(to, { type, head: toBytes(value, 'A loop'), parts: isNew ? parts.map((part) => part.slice()) : parts })
  }
}
