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
import { HOME, type Needed, type Process } from './belongings.ts'
import { packBoxes, unpackBoxes } from './boxWire.ts'
import { definitionOf, type LoopDefinition, unshared } from './definition.ts'
import { bytesOfBoxes, Edges } from './edges.ts'
import type { Answer, Gang, Other } from './gang.ts'
import { KeptElements } from './keptElements.ts'
import { movesOf, type NodeMoves, type NumberedBox } from './moves.ts'
import { applyParts, type RunHead, regionOf, regionsOfLanes } from './passWire.ts'
import { onlyFirst, type Placed, type Placement, placementOf } from './placement.ts'
import { holdersIn, liesIn, type Residence, residenceOf } from './residence.ts'
import { type Cells, cellsOf, firstHolders, type Holders, type Transfer, transfersOf } from './transfers.ts'

/** A pass has to gain so much: sending, waking and answering take that long. */
const LEAST_GAIN_MS = 3
/** Sending and receiving a byte, and copying or comparing it. */
const NS_PER_BYTE = 4
/** From the end of a block to the beginning of one in another process. */
const EDGE_MS = 0.2
/** Of a gang that has lost all others. */
const ALONE = { because: 'All other processes were lost.' }
/** That are known for a loop, by who has what before. */
const MOST_MOVEMENTS = 64
/** What is sent once serves that many passes, as far as one can tell before them. */
const PASSES = 8

interface Part {
  readonly other: Other
  /** Its place among the processes that there are. */
  readonly node: number
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
  readonly residences: ReadonlyMap<Storage, Residence<Process>>
}

type Boxed = Extract<Placed, { readonly kind: 'boxes' }>

/** The loop on the processes that there are, until one is lost or joins. */
interface Formed {
  readonly epoch: number
  readonly id: string
  readonly others: readonly Other[]
  readonly placement: Placement
  /** By who has what at first. */
  readonly movements: Map<string, Movement>
  /** By what others had of arrays at last. */
  readonly refined: Map<Boxed, Cells>
  shared: Shared | undefined
}

export class GangLoop extends KernelLoop {
  readonly #gang: Gang
  readonly #isForced: boolean
  readonly #kept = new KeptElements()
  #formed: Formed | undefined
  /** What keeps the loop in this process, of an epoch. */
  #stays: { readonly epoch: number; readonly because: string } | undefined
  #last: LoopPlan['execution']['processes'] | undefined

  constructor(inputs: LoopInputs, ir: FunctionIr, space: IterationSpace, resources: LoopResources & { readonly gang: Gang }) {
    super(inputs, ir, space, resources)
    this.#gang = resources.gang
    this.#isForced = resources.worthThreadsMs === 0
    this.#form()
  }

  override get processes(): LoopPlan['execution']['processes'] {
    return this.#stays === undefined ? (this.#last ?? { count: 1, because: 'It has not run.' }) : { count: 1, because: this.#stays.because }
  }

  /** Undefined where the loop stays in this process. */
  #form(): Formed | undefined {
    const { epoch, others } = this.#gang
    if (this.#formed?.epoch === epoch) return this.#formed
    if (this.#stays?.epoch === epoch) return undefined
    this.#disband()
    const { blocks, space, inputs } = this
    const placement = others.length === 0 ? ALONE : placementOf(inputs, { blocks, space, world: others.length + 1 })
    if ('because' in placement) {
      this.#stays = { epoch, because: placement.because }
      return undefined
    }
    this.#stays = undefined
    this.#formed = { epoch, id: this.#gang.nextLoop(), others, placement, movements: new Map(), refined: new Map(), shared: undefined }
    return this.#formed
  }

  #disband(): void {
    if (this.#formed?.shared !== undefined) this.#gang.forgetLoop(this.#formed.id)
    this.#formed = undefined
  }

  /** Where a process is lost, arrays are put back as they were before the pass, and those that are left run it. */
  override async runPasses(pass: number, most: number, options: PassOptions = {}): Promise<PassesResult> {
    for (;;) {
      const formed = options.signal?.aborted ? undefined : this.#form()
      if (formed === undefined) return await super.runPasses(pass, most, options)
      this.#gang.check()
      const needed = this.#needed(formed)
      const movement = this.#movement(formed)
      this.#last = this.#choice(formed, needed, movement)
      if (this.#last.count === 1) return await super.runPasses(pass, most, options)
      const { own, parts } = this.#share(formed)
      const run = this.#gang.nextRun()
      const edges = this.#edgesOf(run, own, movement.nodes[0] as NodeMoves) // one for each process
      const others: Others = {
        portion: own,
        outside: edges,
        start: (turn, signal) => this.#start({ run, formed, parts, needed, movement, edges }, turn, signal),
      }
      this.#kept.keep(this.written().map(regionOf))
      try {
        const result = await super.runPasses(pass, 1, { ...options, others })
        this.#settle(formed, needed, result.failed === undefined ? movement : undefined)
        return result
      } catch (error) {
        this.#settle(formed, needed, undefined)
        if (!this.#gang.hasLost(error) || !this.#kept.restore()) throw error
      } finally {
        this.#gang.endRun(run)
      }
    }
  }

  override async verify(pass: number, options: { readonly signal?: AbortSignal } = {}): Promise<VerifyResult> {
    try {
      return await super.verify(pass, options)
    } finally {
      // arrays are put back, but not those of the others
      if (this.#formed?.shared !== undefined) this.#settle(this.#formed, this.#needed(this.#formed), undefined)
    }
  }

  override dispose(): void {
    this.#disband()
    this.#kept.forget()
    super.dispose()
  }

  /** Rows of blocks with about as many iterations each; the first are run here. */
  #share(formed: Formed): Shared {
    if (formed.shared !== undefined) return formed.shared
    const { bounds, arrays } = formed.placement
    const compared = arrays.flatMap(({ kind, storage }) => (kind === 'compared' ? [this.#gang.numberOf(storage)] : []))
    const parts = formed.others.flatMap((other, i): Part[] => {
      const [from, to] = [bounds[i + 1] as number, bounds[i + 2] as number] // one more than there are processes
      if (from === to) return []
      const numberOf = this.#gang.numberOf.bind(this.#gang)
      const definition = definitionOf(formed.id, this.inputs, numberOf, { count: this.blocks.count, from, to, compared })
      return [{ other, node: i + 1, definition, tables: [], moves: undefined }]
    })
    formed.shared = { own: this.portionOf(0, bounds[1] as number), parts }
    return formed.shared
  }

  /** Whether the next pass is worth the others. */
  #choice(
    { id, placement: { order, arrays } }: Formed,
    needed: readonly Needed[],
    { nodes }: Movement,
  ): NonNullable<LoopPlan['execution']['processes']> {
    const count = new Set(order.owners).size
    if (this.#isForced) return { count, because: 'It was asked for.' }
    const bytesOf = (boxes: readonly NumberedBox[]): number => bytesOfBoxes(boxes, this.#storageOf)
    const once = this.#gang.missingBytes(id, needed) + nodes.reduce((sum, { starts }) => sum + bytesOf(starts), 0)
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

  #needed({ placement: { arrays } }: Formed): Needed[] {
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
  #movement(formed: Formed): Movement {
    const { arrays, order } = formed.placement
    const processes: readonly Process[] = [HOME, ...formed.others]
    const boxed = arrays.filter((placed): placed is Boxed => placed.kind === 'boxes' && placed.cells.bounds.length > 0)
    const before = boxed.map((placed) => this.#before(formed, placed, processes))
    const key = before.map(({ cells, holders }) => `${cells.bounds.join('|')} ${Buffer.from(holders).toString('latin1')}`).join('\n')
    const known = formed.movements.get(key)
    if (known !== undefined) return known
    const residences = new Map<Storage, Residence<Process>>()
    const traffic = boxed.map(({ storage }, i): { readonly storage: number; readonly transfers: readonly Transfer[] } => {
      const { cells, holders } = before[i] as (typeof before)[number] // as many
      const found = transfersOf(cells, order, holders)
      if ('because' in found) return { storage: 0, transfers: [] } // whoever placed the array has found some
      residences.set(storage, residenceOf(cells.bounds, found.holders, { processes, home: HOME, shape: storage.shape }))
      return { storage: this.#gang.numberOf(storage), transfers: found.transfers }
    })
    const ranks = [0, ...formed.others.map(({ rank }) => rank)]
    const nodes = movesOf(this.blocks, order.owners, ranks.length, traffic).map((moves) => ({
      ...moves,
      sends: moves.sends.map((send) => ({ ...send, to: ranks[send.to] as number })), // of one of them
    }))
    const movement = { nodes, residences }
    if (formed.movements.size >= MOST_MOVEMENTS) formed.movements.clear()
    formed.movements.set(key, movement)
    return movement
  }

  /** The cells of an array, cut where others have some of it and not all, and who has which. */
  #before(formed: Formed, placed: Boxed, processes: readonly Process[]): { readonly cells: Cells; readonly holders: Holders } {
    const { cells, touches, storage } = placed
    const residence = this.#gang.belongings.residence(this.#gang.numberOf(storage), this.#versionOf(storage))
    if (residence === undefined) return { cells, holders: firstHolders(cells.count, onlyFirst(processes.length)) }
    if (liesIn(residence, cells.bounds)) return { cells, holders: holdersIn(residence, cells.bounds, processes) }
    let refined = formed.refined.get(placed)
    if (refined === undefined || !liesIn(residence, refined.bounds)) {
      const found = cellsOf(touches, residence.bounds)
      if ('because' in found) return { cells, holders: firstHolders(cells.count, onlyFirst(processes.length)) }
      refined = found
      formed.refined.set(placed, refined)
    }
    return { cells: refined, holders: holdersIn(residence, refined.bounds, processes) }
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
      formed,
      parts,
      needed,
      movement,
      edges,
    }: {
      readonly run: number
      readonly formed: Formed
      readonly parts: readonly Part[]
      readonly needed: readonly Needed[]
      readonly movement: Movement
      readonly edges: Edges | undefined
    },
    { pass, parameters }: Omit<PassTurn, 'share' | 'shares'>,
    signal: AbortSignal | undefined,
  ): Promise<readonly ShareResult[]> {
    const heads = new Map<Other, Omit<RunHead, 'run' | 'least'>>()
    for (const part of parts) {
      const moves = movement.nodes[part.node] as NodeMoves // one for each process
      this.#gang.supply(part.other, needed, part.definition)
      if (moves.starts.length > 0)
        this.#gang.sendBoxes(part.other.rank, moves.starts, packBoxes(moves.starts.map((box) => this.#stored(box))))
      const isSame = part.tables.length === this.tables.length && part.tables.every((table, i) => sameTable(table, this.tables[i]))
      if (!isSame) part.tables = this.tables.map((table) => copied(table))
      const { sends, takes, ends } = moves
      const isKnown = part.moves === moves
      part.moves = moves
      const told = { ...(isSame ? {} : { tables: part.tables }), ...(isKnown ? {} : { moves: { sends, takes, ends } }) }
      heads.set(part.other, { loop: formed.id, pass, parameters, ...told })
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

  /** What the others have after a pass: what it wrote is there as its own blocks left it. Without a movement it has come to no end. */
  #settle({ id, placement: { arrays }, shared }: Formed, needed: readonly Needed[], movement: Movement | undefined): void {
    const { belongings } = this.#gang
    const flushed = new Set<Storage>([...this.inputs.buffers.values()].map(({ storage }) => storage)) // into those in this process
    for (const { storage, kind, isWritten } of arrays) {
      if (kind === 'added' || (kind === 'whole' && !isWritten)) continue
      const number = this.#gang.numberOf(storage)
      const version = needed.find((one) => one.storage === storage)?.version
      const after = isWritten && version !== undefined ? afterOneWrite(version) : version
      const residence = movement?.residences.get(storage)
      if (isWritten || residence !== undefined || movement === undefined) belongings.settle(number, after, residence)
      const isKnown = movement !== undefined && kind === 'compared' && version !== undefined && !flushed.has(storage)
      for (const { other } of shared?.parts ?? []) {
        if (kind === 'boxes' || belongings.held(other, number) === undefined) continue // a loss came before it was sent
        belongings.hold(other, number, isKnown ? { version: after, by: id } : { version: undefined })
      }
    }
  }
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
