/**
 * A loop whose blocks are run by all processes of a gang: each has some rows of them, this one the first.
 *
 *     send what is missing ── run own blocks ── put in what the others wrote ── combine accumulators and private copies
 *                          └─ theirs, there ─┘
 *                             edges: what a block of one wrote and one of another reads
 *
 * Blocks are cut as on one machine, wait for each other as there, and are combined as there: the bits are the same for any number of
 * processes.
 */
import type { FunctionIr, Primitive } from '../../core/functionIr.ts'
import type { LoopPlan } from '../../core/loopPlan.ts'
import type { DenseStorage, Storage } from '../../core/storage.ts'
import type { IterationSpace } from '../loops/blockSchedule.ts'
import type { ShareResult } from '../loops/callerPass.ts'
import type { Portion } from '../loops/kernelLayout.ts'
import { KernelLoop, type Others, type PassOptions } from '../loops/kernelLoop.ts'
import type { LoopInputs } from '../loops/loopInputs.ts'
import type { PassTurn } from '../loops/loopTask.ts'
import { busiestShare } from '../loops/passCost.ts'
import type { LoopResources, PassesResult, VerifyResult } from '../loops/preparedLoop.ts'
import { packBoxes, unpackBoxes } from './boxWire.ts'
import { definitionOf, type LoopDefinition, unshared } from './definition.ts'
import { bytesOfBoxes, Edges } from './edges.ts'
import type { Answer, Gang, Needed, Other } from './gang.ts'
import { movesOf, type NodeMoves, type NumberedBox } from './moves.ts'
import { applyParts, type RunHead, regionOf, regionsOfLanes } from './passWire.ts'
import { type Placed, type Placement, placementOf } from './placement.ts'
import { firstHolders, type Holders, type Transfer, transfersOf } from './transfers.ts'

/** A pass has to gain so much: sending, waking and answering take that long. */
const LEAST_GAIN_MS = 3
/** Sending and receiving a byte, and copying or comparing it. */
const NS_PER_BYTE = 4
/** From the end of a block to the beginning of one in another process. */
const EDGE_MS = 0.2
/** What is sent once serves that many passes, as far as one can tell before them. */
const PASSES = 8

interface Part {
  readonly other: Other
  readonly definition: LoopDefinition
  /** Captured tables as they were sent last. */
  tables: readonly ArrayLike<Primitive>[]
  moves: NodeMoves | undefined
}

/** Blocks of this process, and those of the others. */
interface Shared {
  readonly own: Portion
  readonly parts: readonly Part[]
}

/** What a pass moves, and who has what after it. */
interface Movement {
  readonly nodes: readonly NodeMoves[]
  readonly holders: ReadonlyMap<DenseStorage, Holders>
}

type Boxed = Extract<Placed, { readonly kind: 'boxes' }>

export class GangLoop extends KernelLoop {
  readonly #gang: Gang
  readonly #id: string
  readonly #isForced: boolean
  /** What keeps the loop in this process is its reason. */
  readonly #placement: Placement | { readonly because: string }
  /** By who has what at first. */
  readonly #movements = new Map<string, Movement>()
  /** Who had what after the last pass of this loop on several processes. */
  #holders: ReadonlyMap<DenseStorage, Holders> = new Map()
  #shared: Shared | undefined
  #last: LoopPlan['execution']['processes'] | undefined

  constructor(inputs: LoopInputs, ir: FunctionIr, space: IterationSpace, resources: LoopResources & { readonly gang: Gang }) {
    super(inputs, ir, space, resources)
    this.#gang = resources.gang
    this.#id = this.#gang.nextLoop()
    this.#isForced = resources.worthThreadsMs === 0
    this.#placement = placementOf(this.inputs, { blocks: this.blocks, space, world: this.#gang.world })
  }

  override get processes(): LoopPlan['execution']['processes'] {
    if ('because' in this.#placement) return { count: 1, because: this.#placement.because }
    return this.#last ?? { count: 1, because: 'It has not run.' }
  }

  override async runPasses(pass: number, most: number, options: PassOptions = {}): Promise<PassesResult> {
    const placement = this.#placement
    if ('because' in placement || options.signal?.aborted) return await super.runPasses(pass, most, options)
    this.#gang.check()
    const needed = this.#needed(placement)
    const movement = this.#movement(placement)
    this.#last = this.#choice(placement, needed, movement)
    if (this.#last.count === 1) return await super.runPasses(pass, most, options)
    const { own, parts } = this.#share(placement)
    const run = this.#gang.nextRun()
    const edges = this.#edgesOf(run, own, movement.nodes[0] as NodeMoves) // one for each process
    const others: Others = {
      portion: own,
      outside: edges,
      start: (turn, signal) => this.#start({ run, parts, needed, movement, edges }, turn, signal),
    }
    const result = await super.runPasses(pass, 1, { ...options, others }).catch((error: unknown) => {
      this.#settle(placement, { parts, needed }, 'failed')
      throw error
    })
    this.#settle(placement, { parts, needed }, result.failed === undefined ? 'done' : 'failed')
    this.#holders = movement.holders
    return result
  }

  override async verify(pass: number, options: { readonly signal?: AbortSignal } = {}): Promise<VerifyResult> {
    try {
      return await super.verify(pass, options)
    } finally {
      // arrays are put back, but not those of the others
      const placement = this.#placement
      if (!('because' in placement) && this.#shared !== undefined)
        this.#settle(placement, { parts: this.#shared.parts, needed: this.#needed(placement) }, 'failed')
    }
  }

  override dispose(): void {
    if (this.#shared !== undefined) this.#gang.forgetLoop(this.#id)
    this.#shared = undefined
    super.dispose()
  }

  /** Rows of blocks with about as many iterations each; the first are run here. */
  #share({ bounds, arrays }: Placement): Shared {
    if (this.#shared !== undefined) return this.#shared
    const compared = arrays.flatMap(({ kind, storage }) => (kind === 'compared' ? [this.#gang.numberOf(storage)] : []))
    const parts = this.#gang.others.flatMap((other): Part[] => {
      const [from, to] = [bounds[other.rank] as number, bounds[other.rank + 1] as number] // one more than there are processes
      if (from === to) return []
      const numberOf = this.#gang.numberOf.bind(this.#gang)
      const definition = definitionOf(this.#id, this.inputs, numberOf, { count: this.blocks.count, from, to, compared })
      return [{ other, definition, tables: [], moves: undefined }]
    })
    this.#shared = { own: this.portionOf(0, bounds[1] as number), parts }
    return this.#shared
  }

  /** Whether the next pass is worth the others. */
  #choice({ order, arrays }: Placement, needed: readonly Needed[], { nodes }: Movement): NonNullable<LoopPlan['execution']['processes']> {
    const count = new Set(order.owners).size
    if (this.#isForced) return { count, because: 'It was asked for.' }
    const bytesOf = (boxes: readonly NumberedBox[]): number => bytesOfBoxes(boxes, this.#storageOf)
    const once = this.#gang.missingBytes(this.#id, needed) + nodes.reduce((sum, { starts }) => sum + bytesOf(starts), 0)
    const compared = arrays.reduce((sum, { kind, storage }) => sum + (kind === 'compared' ? regionOf(storage).byteLength : 0), 0)
    const moved = nodes.reduce((sum, { ends, sends }) => sum + bytesOf([...ends, ...sends.flatMap(({ boxes }) => boxes)]), 0)
    const waits = Math.max(...nodes.map(({ takes }) => takes.length))
    const aloneMs = this.predictedMilliseconds
    const workers = this.workerCount
    const part = order.isFree ? 1 / count : busiestShare(this.blocks, count * workers) / busiestShare(this.blocks, workers)
    const sendMs = ((once / PASSES + compared + moved) * NS_PER_BYTE) / 1e6 + waits * EDGE_MS
    const togetherMs = aloneMs * part + sendMs + LEAST_GAIN_MS
    const text = `A pass takes about ${msText(aloneMs)} in one process, and ${msText(togetherMs)} in ${count}, of which ${msText(sendMs)} to send what it needs and writes.${comparedText(arrays)}`
    return { count: togetherMs < aloneMs ? count : 1, because: text }
  }

  #needed({ arrays }: Placement): Needed[] {
    return arrays.map(({ kind, storage }) => ({
      storage,
      version: this.#versionOf(storage),
      isShape: kind === 'added' || kind === 'boxes',
    }))
  }

  #versionOf(storage: Storage): string | undefined {
    const { over, arrays, buffers } = this.inputs
    const inputs = [...(over.kind === 'storage' ? [over] : []), ...arrays.values(), ...buffers.values()]
    return inputs.find((input) => input.storage === storage)?.version?.()
  }

  /** What the next pass moves, given who has what. */
  #movement({ arrays, order }: Placement): Movement {
    const boxed = arrays.filter((placed): placed is Boxed => placed.kind === 'boxes')
    const before = boxed.map((placed) => this.#holdersOf(placed))
    const key = before.map((holders) => Buffer.from(holders).toString('latin1')).join('|')
    const known = this.#movements.get(key)
    if (known !== undefined) return known
    const holders = new Map<DenseStorage, Holders>()
    const traffic = boxed.map(({ storage, cells }, i): { readonly storage: number; readonly transfers: readonly Transfer[] } => {
      const found = transfersOf(cells, order, before[i] as Holders) // as many
      if ('because' in found) return { storage: 0, transfers: [] } // whoever placed the array has found some
      holders.set(storage, found.holders)
      return { storage: this.#gang.numberOf(storage), transfers: found.transfers }
    })
    const movement = { nodes: movesOf(this.blocks, order.owners, this.#gang.world, traffic), holders }
    this.#movements.set(key, movement)
    return movement
  }

  #holdersOf({ storage, cells }: Boxed): Holders {
    const number = this.#gang.numberOf(storage)
    const version = this.#versionOf(storage)
    const last = this.#holders.get(storage)
    const holders = firstHolders(cells.count, [true, ...this.#gang.others.map(({ held }) => hasAll(held.get(number), version))])
    for (const { rank, held } of this.#gang.others) {
      const known = held.get(number)
      const isOurs = known?.by === this.#id && known.version !== undefined && known.version === version
      if (isOurs && last !== undefined) holders.set(last.subarray(rank * cells.count, (rank + 1) * cells.count), rank * cells.count)
    }
    return holders
  }

  readonly #storageOf = (number: number): DenseStorage => this.#gang.storageOf(number) as DenseStorage // boxes are of dense arrays

  #edgesOf(run: number, { numbers }: Portion, moves: NodeMoves): Edges | undefined {
    if (numbers === undefined || (moves.sends.length === 0 && moves.takes.length === 0)) return undefined
    return new Edges(run, moves, numbers, {
      storageOf: this.#storageOf,
      send: (to, head, parts) => this.#gang.sendEdge(to, head, parts),
    })
  }

  async #start(
    {
      run,
      parts,
      needed,
      movement,
      edges,
    }: {
      readonly run: number
      readonly parts: readonly Part[]
      readonly needed: readonly Needed[]
      readonly movement: Movement
      readonly edges: Edges | undefined
    },
    { pass, parameters }: Omit<PassTurn, 'share' | 'shares'>,
    signal: AbortSignal | undefined,
  ): Promise<readonly ShareResult[]> {
    const heads = new Map<Other, Omit<RunHead, 'run'>>()
    for (const part of parts) {
      const moves = movement.nodes[part.other.rank] as NodeMoves // one for each process
      this.#gang.supply(part.other, needed, part.definition)
      if (moves.starts.length > 0)
        this.#gang.sendBoxes(part.other.rank, moves.starts, packBoxes(moves.starts.map((box) => this.#stored(box))))
      const isSame = part.tables.length === this.tables.length && part.tables.every((table, i) => sameTable(table, this.tables[i]))
      if (!isSame) part.tables = this.tables.map((table) => copied(table))
      const { sends, takes, ends } = moves
      const isKnown = part.moves === moves
      part.moves = moves
      const told = { ...(isSame ? {} : { tables: part.tables }), ...(isKnown ? {} : { moves: { sends, takes, ends } }) }
      heads.set(part.other, { loop: this.#id, pass, parameters, ...told })
    }
    const results: ShareResult[] = []
    const took = ({ rank, head, parts: sent }: Answer): void => {
      const { definition, moves } = parts.find(({ other }) => other.rank === rank) as Part // one that was asked
      const { from, to, compared } = definition
      const regions = [...compared.map((number) => regionOf(this.#gang.storageOf(number))), ...regionsOfLanes(this.lanes, from, to)]
      applyParts(regions, sent)
      unpackBoxes(
        (moves?.ends ?? []).map((box) => this.#stored(box)),
        sent[2 * regions.length] as Uint8Array, // the last part
      )
      results.push(...head.results.map((result) => ({ ...result, rank })))
    }
    await this.#gang.run(run, heads, signal, { took, edge: (edge) => edges?.take(edge) })
    return results
  }

  #stored({ storage, box }: NumberedBox): { readonly storage: DenseStorage; readonly box: NumberedBox['box'] } {
    return { storage: this.#storageOf(storage), box }
  }

  /** What the others have after a pass: what it wrote is there as its own blocks left it. */
  #settle(
    { arrays }: Placement,
    { parts, needed }: { readonly parts: readonly Part[]; readonly needed: readonly Needed[] },
    outcome: 'done' | 'failed',
  ): void {
    const flushed = new Set<Storage>([...this.inputs.buffers.values()].map(({ storage }) => storage)) // into those in this process
    for (const { other } of parts) {
      for (const { storage, kind, isWritten } of arrays) {
        if (kind === 'added' || (kind === 'whole' && !isWritten)) continue
        const number = this.#gang.numberOf(storage)
        const version = needed.find((one) => one.storage === storage)?.version
        const isKnown = outcome === 'done' && kind !== 'whole' && version !== undefined && !flushed.has(storage)
        if (kind === 'boxes' && !isWritten && hasAll(other.held.get(number), version)) continue
        const after = isWritten && version !== undefined ? afterOneWrite(version) : version
        other.held.set(number, isKnown ? { version: after, by: this.#id } : { version: undefined })
      }
    }
  }
}

function hasAll(held: { readonly version: string | undefined; readonly by?: string } | undefined, version: string | undefined): boolean {
  return version !== undefined && held?.version === version && held.by === undefined
}

/** The version that an array has after it was written once: what `ArrayStore.version` gives after a pass. */
function afterOneWrite(version: string): string | undefined {
  const [, array, count] = /^(\d+):(\d+)$/.exec(version) ?? []
  return count === undefined ? undefined : `${array}:${Number(count) + 1}`
}

function copied(table: ArrayLike<Primitive>): ArrayLike<Primitive> {
  return Array.isArray(table) ? [...table] : ArrayBuffer.isView(table) ? unshared((table as unknown as Uint8Array).slice() as never) : table
}

function sameTable(a: ArrayLike<Primitive>, b: ArrayLike<Primitive> | undefined): boolean {
  if (b === undefined || a.length !== b.length || a.constructor !== b.constructor) return false
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false
  return true
}

function comparedText(arrays: readonly Placed[]): string {
  const compared = arrays.flatMap((placed) => (placed.kind === 'compared' ? `${placed.label} (${placed.because})` : []))
  return compared.length === 0 ? '' : ` What is written there is found by comparing: ${compared.join(', ')}.`
}

function msText(milliseconds: number): string {
  return milliseconds < 1 ? 'less than a millisecond' : `${Math.round(milliseconds)} ms`
}
