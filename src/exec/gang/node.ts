/**
 * A process of a gang that does not run the program: it keeps copies of arrays and loops that rank 0 tells it of, runs its blocks of
 * passes, and answers with what they have changed.
 */

import type { Storage } from '../../core/arrays/storage.ts'
import { Bug } from '../../core/errors.ts'
import { partsOf } from '../arrays/parted.ts'
import type { ScannedSpec } from '../arrays/scannedArray.ts'
import { spaceOf } from '../loops/blocks/space.ts'
import type { ShareResult } from '../loops/callerPass.ts'
import type { Portion } from '../loops/kernelLayout.ts'
import { KernelLoop } from '../loops/kernelLoop.ts'
import { freePart } from '../loops/reductions/accumulatorLog.ts'
import { joinAmong } from '../loops/reductions/reductionCopies.ts'
import type { SharedArena } from '../memory/sharedArena.ts'
import { errorToWire } from '../workers/wire.ts'
import type { WorkerPool } from '../workers/worker.ts'
import { fromBytes, inputsFrom, type LoopDefinition, toBytes } from './definition.ts'
import { HeldArrays } from './heldArrays.ts'
import type { UsedElements } from './heldElements.ts'
import type { FrameType } from './links/frame.ts'
import type { GangLinks } from './links/gangLinks.ts'
import type { InMessage } from './links/messages.ts'
import { packBoxes } from './movement/boxWire.ts'
import { type Before, changesOf, copyOf, emptyOf, orAll } from './movement/changes.ts'
import { type Edge, type EdgeHead, Edges } from './movement/edges.ts'
import { type LoadSend, type Loads, type Moves, NO_LOADS } from './movement/moves.ts'
import {
  type DoneHead,
  type FailedHead,
  type FetchHead,
  type ForgetHead,
  type PlacedSharing,
  partsOfChanges,
  type RunHead,
  regionOf,
  regionsOfRoots,
  type ScanHead,
  sentResults,
} from './movement/passWire.ts'
import { endsPass, lanesOfRound } from './movement/rounds.ts'
import { digestOf } from './movement/scans.ts'
import { sendLoads, withLoads } from './movement/served/loads.ts'
import { loopOfReader, type Share, SharedPass, type ShareHead } from './movement/shares.ts'
import { SpareLoop } from './spareLoop.ts'

export interface NodeResources {
  readonly pool: WorkerPool
  readonly arena: SharedArena
  /** The session option of this name: 0 runs every pass on workers. */
  readonly worthThreadsMs?: number | undefined
  /** Computes an array from files of this machine. */
  readonly compute?: (spec: ScannedSpec) => Promise<Storage>
}

interface KnownLoop {
  readonly loop: KernelLoop
  readonly portion: Portion
  readonly definition: LoopDefinition
  readonly compared: readonly Storage[]
  /** Copies of the compared arrays from before the pass under way. */
  before: readonly Before[]
  tables: RunHead['tables']
  moves: Moves
  /** Ends the loop's use of elements that it goes over. */
  readonly leave: (() => void) | undefined
}

const NO_MOVES: Moves = { sends: [], together: [], takes: [], ends: [] }

type NodeLinks = Pick<GangLinks, 'send' | 'giveBack'>

export class GangNode {
  readonly #links: NodeLinks
  readonly #resources: NodeResources
  readonly #loops = new Map<string, KnownLoop>()
  readonly #arrays: HeldArrays
  readonly #spare = new SpareLoop()
  #running: { readonly run: number; readonly abort: AbortController } | undefined
  /** The edges of passes that have begun here and are not over. */
  readonly #edges = new Map<number, Edges>()
  /** Passes that were aborted before they began here. */
  readonly #aborted = new Set<number>()
  /** Edges that came for passes that have not begun here. */
  readonly #early = new Map<number, Edge[]>()
  /** The same two for shared arrays. */
  readonly #shared = new Map<number, SharedPass>()
  readonly #earlyShares = new Map<number, Share[]>()
  /** The least number of a pass that may still come; `#over` has the larger ones that have been. */
  #least = 0
  readonly #over = new Set<number>()
  #isOver = false
  /** The first error since the last pass was asked for; the next pass fails with it. */
  #failure: { readonly error: unknown } | undefined
  #turn: Promise<void> = Promise.resolve()

  constructor(links: NodeLinks, resources: NodeResources) {
    this.#links = links
    this.#resources = resources
    this.#arrays = new HeldArrays(resources.arena)
  }

  take(message: InMessage): void {
    const { type, head, parts } = message
    if (type !== 'abort' && type !== 'edge' && type !== 'share') {
      this.#turn = this.#turn.then(() => this.#handle(message))
      return
    }
    try {
      if (type === 'abort') this.#abort(fromBytes(head) as number)
      else if (type === 'edge') this.#edge({ head: fromBytes(head) as EdgeHead, parts })
      else this.#share({ head: fromBytes(head) as ShareHead, parts })
    } catch (error) {
      // a malformed message: the pass under way, or the next, fails with this error
      this.#failure ??= { error }
      this.#running?.abort.abort()
    }
  }

  #abort(run: number): void {
    if (this.#running?.run === run) this.#running.abort.abort()
    else this.#aborted.add(run)
  }

  /** Takes an edge from the process that ran a block, which may have heard of the pass before this one. */
  #edge(edge: Edge): void {
    const { run } = edge.head
    const edges = this.#edges.get(run)
    if (edges !== undefined) edges.take(edge)
    else if (run >= this.#least && !this.#over.has(run)) this.#early.set(run, [...(this.#early.get(run) ?? []), edge])
  }

  #share(share: Share): void {
    const { run } = share.head
    const shared = this.#shared.get(run)
    if (shared !== undefined) shared.take(share)
    else if (run >= this.#least && !this.#over.has(run)) this.#earlyShares.set(run, [...(this.#earlyShares.get(run) ?? []), share])
  }

  /** Aborts the pass under way, waits for its end, and frees all loops and arrays. */
  async end(): Promise<void> {
    this.#isOver = true
    this.#running?.abort.abort()
    await this.#turn
    this.#forget({ loops: [...this.#loops.keys()], storages: this.#arrays.numbers })
    this.#spare.drop()
  }

  async #handle({ type, head, parts }: InMessage): Promise<void> {
    if (this.#isOver) return
    try {
      const value = fromBytes(head)
      if (type === 'run') return await this.#run(value as RunHead)
      if (type === 'fetch') return await this.#fetched(value as FetchHead)
      if (this.#spare.withRoom(() => this.#arrays.take(type, value, parts))) {
        if (type !== 'keys') this.#links.giveBack(parts) // keys are kept as they came
        return
      }
      // heads are what rank 0 sends
      if (type === 'define') this.#spare.withRoom(() => this.#define(value as LoopDefinition))
      else if (type === 'forget') this.#forget(value as ForgetHead)
      else throw new Bug(`Rank 0 sent a message of kind ${type}.`)
    } catch (error) {
      this.#failure ??= { error }
    }
  }

  async #fetched(head: FetchHead): Promise<void> {
    try {
      const done: DoneHead = { run: head.run, results: [], bytes: 0 }
      this.#send('done', done, [head.scan === undefined ? this.#arrays.packed(head) : await this.#scanned(head.scan)])
    } catch (error) {
      const failed: FailedHead = { run: head.run, error: errorToWire(error) }
      this.#send('failed', failed)
    }
  }

  /** Computes an array here and returns its digest; no bytes where that is not possible, and rank 0 sends it then. */
  async #scanned({ storage: number, spec }: ScanHead): Promise<Uint8Array> {
    try {
      const storage = await this.#resources.compute?.(spec)
      if (storage === undefined) return new Uint8Array(0)
      this.#arrays.hold(number, storage)
      return digestOf(storage)
    } catch {
      return new Uint8Array(0)
    }
  }

  #define(definition: LoopDefinition): void {
    const { over } = definition
    const elements = over.kind === 'elements' ? this.#arrays.elements.use(over.elements) : undefined
    try {
      this.#defineOver(definition, elements)
    } catch (error) {
      elements?.leave()
      throw error
    }
  }

  #defineOver(definition: LoopDefinition, elements: UsedElements | undefined): void {
    const { id, from, to, count } = definition
    const inputs = inputsFrom(definition, {
      storageOf: (number) => this.#arrays.storage(number),
      versionOf: (number) => this.#arrays.version(number),
      elementsOf: () => elements as UsedElements, // of this definition
    })
    for (const { storage, isFresh } of definition.rows) if (isFresh) partsOf(this.#arrays.dense(storage))?.empty()
    this.#arrays.holdRows(definition.rows)
    const { ir } = inputs.analyzed
    if (ir === undefined) throw new Bug('A loop without IR was sent.')
    const { pool, arena, worthThreadsMs } = this.#resources
    const resources = { pool, arena, ...(worthThreadsMs === undefined ? {} : { worthThreadsMs }) }
    const loop = this.#spare.takenOver(inputs, ir, resources) ?? new KernelLoop(inputs, ir, spaceOf(inputs.over), resources)
    if (loop.blocks.count !== count) {
      const { count: own } = loop.blocks
      loop.dispose()
      throw new Bug(`A loop has ${own} blocks here, and ${count} on rank 0.`)
    }
    const compared = definition.compared.map((number) => this.#arrays.storage(number))
    this.#loops.set(id, {
      loop,
      portion: loop.portionOf(from, to, { isAlone: definition.isLoaded === true }),
      definition,
      compared,
      before: [],
      tables: undefined,
      moves: NO_MOVES,
      leave: elements?.leave,
    })
  }

  #forget({ loops, storages }: ForgetHead): void {
    for (const id of loops) {
      const known = this.#loops.get(id)
      if (known !== undefined) this.#spare.keep(known.loop)
      known?.leave?.()
      this.#loops.delete(id)
      this.#arrays.forgetLoop(id)
    }
    for (const number of storages) this.#arrays.forget(number)
  }

  async #run(head: RunHead): Promise<void> {
    const { run, least } = head
    this.#spare.drop()
    this.#least = least
    const known = [this.#early, this.#edges, this.#earlyShares, this.#shared].flatMap((runs) => [...runs.keys()])
    for (const old of [...this.#over, ...this.#aborted, ...known]) if (old < least) this.#forgetRun(old)
    const failure = this.#failure
    this.#failure = undefined
    const abort = new AbortController()
    if (this.#aborted.delete(run)) abort.abort()
    this.#running = { run, abort }
    let isOver = true
    try {
      if (failure !== undefined) throw failure.error
      const known = this.#loops.get(head.loop)
      if (known === undefined) throw new Bug(`Loop ${head.loop} was not sent.`)
      await this.#runPortion(known, head, abort.signal)
      isOver = endsPass(known.loop.blocks, head.round)
    } catch (error) {
      const failed: FailedHead = { run, error: errorToWire(error) }
      this.#send('failed', failed)
    } finally {
      this.#running = undefined
      if (isOver) {
        this.#forgetRun(run)
        this.#over.add(run)
      }
    }
  }

  #forgetRun(run: number): void {
    this.#over.delete(run)
    this.#aborted.delete(run)
    this.#early.delete(run)
    this.#edges.delete(run)
    this.#earlyShares.delete(run)
    this.#shared.delete(run)
  }

  async #runPortion(
    known: KnownLoop,
    { run, pass, round, parameters, tables, moves, loads = NO_LOADS, sharing }: RunHead,
    signal: AbortSignal,
  ): Promise<void> {
    const { loop, portion, definition, compared } = known
    const { arena } = this.#resources
    known.tables = tables ?? known.tables ?? []
    known.moves = moves ?? known.moves
    const isLast = endsPass(loop.blocks, round)
    if (round === undefined || round === 0) this.#arrays.holdRows(definition.rows) // another loop's may have been fresh meanwhile
    if (round === undefined || round === 0) known.before = compared.map((storage) => copyOf(regionOf(storage)))
    const edges = this.#edges.get(run) ?? this.#edgesOf(run, known, loads)
    const shared = sharing === undefined ? this.#shared.get(run) : this.#sharedPass(run, known, sharing)
    const stop = (): void => shared?.stop()
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    let results: readonly ShareResult[] = []
    try {
      this.#arrays.whole(loads)
      const loading = sendLoads(
        loads.sends,
        (load) => this.#sendLoad(run, load),
        () => signal.aborted,
      )
      loading.catch(() => undefined) // awaited below, unless blocks fail before
      await shared?.ready(round ?? 0)
      const done = await loop.runPortion(portion, { pass, parameters, tables: known.tables, signal, outside: edges, round, shared })
      results = done.results
      await loading
      if (this.#failure !== undefined) throw this.#failure.error
      const regions = isLast ? compared.map(regionOf) : []
      await shared?.flush(round ?? 0, { isLast })
      const own = lanesOfRound(done.lanes, isLast).filter((one) => shared?.has(one) !== true)
      const { from, to } = definition
      for (const one of own) if (one.combine === undefined) joinAmong(one, [from, to])
      const lanes = regionsOfRoots(own, from, to)
      const changes = [
        ...regions.map((region, i) => changesOf(region, known.before[i] as Before)), // as many
        ...lanes.map((region) => orAll(changesOf(region, emptyOf(region)), region)),
        ...(isLast ? (shared?.changed() ?? []) : []),
      ]
      const ends = packBoxes(isLast ? this.#arrays.stored(known.moves.ends) : [])
      const sharedBytes = shared?.bytes ?? 0
      const head: DoneHead = { run, results: sentResults(results, arena), bytes: (edges?.bytes ?? 0) + sharedBytes, sharedBytes }
      this.#send('done', head, [...partsOfChanges(changes), ends])
    } finally {
      signal.removeEventListener('abort', stop)
      if (isLast) known.before = []
      for (const { passes } of results) for (const { accumulators } of passes) for (const part of accumulators) freePart(part, arena)
    }
  }

  #sharedPass(run: number, { loop, definition: { id } }: KnownLoop, { sharing, place, knowsRows }: PlacedSharing): SharedPass {
    const shared = new SharedPass({
      run,
      place,
      sharing,
      lanes: loop.lanes,
      storageOf: (number) => this.#arrays.dense(number),
      rowsOf: (reader, storage) =>
        knowsRows ? this.#arrays.rows({ loop: reader === place ? id : loopOfReader(id, reader), storage }) : undefined,
      read: (parts) => this.#links.giveBack(parts),
      send: (to, head, parts) => this.#links.send(to, { type: 'share', head: toBytes(head, 'What a flush needs'), parts }),
    })
    this.#shared.set(run, shared)
    for (const share of this.#earlyShares.get(run) ?? []) shared.take(share)
    this.#earlyShares.delete(run)
    return shared
  }

  /** The edges between the portion's blocks and those of other processes; undefined where there are none. */
  #edgesOf(run: number, { portion: { numbers }, moves }: KnownLoop, loads: Loads): Edges | undefined {
    if (numbers === undefined || moves.sends.length + moves.takes.length + loads.takes.length === 0) return undefined
    const edges = new Edges(run, withLoads(moves, loads, numbers), numbers, {
      storageOf: (number) => this.#arrays.dense(number),
      putRows: (rows, values) => this.#arrays.putRows(rows, values),
      read: (parts) => this.#links.giveBack(parts),
      send: (to, head, parts) => this.#links.send(to, { type: 'edge', head: toBytes(head, 'A block'), parts }),
    })
    this.#edges.set(run, edges)
    for (const edge of this.#early.get(run) ?? []) edges.take(edge)
    this.#early.delete(run)
    return edges
  }

  #sendLoad(run: number, { block, to, rows }: LoadSend): void {
    const parts = rows.map((one) => this.#arrays.packedRows(one))
    const head: EdgeHead = { run, blocks: [[block, parts.length]] }
    this.#links.send(to, { type: 'edge', head: toBytes(head, 'What a block reads'), parts })
  }

  #send(type: FrameType, head: object, parts: readonly Uint8Array[] = []): void {
    this.#links.send(0, { type, head: toBytes(head, 'What a pass gives'), parts })
  }
}
