/**
 * A loop whose blocks need not wait for each other, run by all processes of a gang: each has a run of blocks in plan order, this
 * one the first.
 *
 *     send what is missing ── run own blocks ── put in what the others changed ── combine accumulators and private copies
 *                          └─ theirs, there ─┘
 *
 * Blocks are cut as on one machine, and combined as there: the bits are the same for any number of processes.
 */
import type { FunctionIr, Primitive } from '../../core/functionIr.ts'
import type { LoopPlan } from '../../core/loopPlan.ts'
import type { Storage } from '../../core/storage.ts'
import type { BlockSchedule, IterationSpace } from '../loops/blockSchedule.ts'
import type { ShareResult } from '../loops/callerPass.ts'
import type { Portion } from '../loops/kernelLayout.ts'
import { KernelLoop, type Others, type PassOptions } from '../loops/kernelLoop.ts'
import { storagesOf } from '../loops/kernelPlan.ts'
import type { LoopInputs } from '../loops/loopInputs.ts'
import type { PassTurn } from '../loops/loopTask.ts'
import type { LoopResources, PassesResult } from '../loops/preparedLoop.ts'
import { definitionOf, type LoopDefinition, unshared, whyNotDefined } from './definition.ts'
import type { Answer, Gang, Needed, Other } from './gang.ts'
import { applyParts, onlyAddedTo, type RunHead, regionOf, regionsOfLanes, writtenInPlace } from './passWire.ts'
import { whyNotSent } from './storageWire.ts'

/** A pass has to gain so much: sending, waking and answering take that long. */
const LEAST_GAIN_MS = 3
/** Sending and receiving a byte, and finding out that it has changed. */
const NS_PER_BYTE = 4
/** What is sent once serves that many passes, as far as one can tell before them. */
const PASSES = 8

interface Part {
  readonly other: Other
  readonly definition: LoopDefinition
  /** Captured tables as they were sent last. */
  tables: readonly ArrayLike<Primitive>[]
}

/** Blocks of this process, and those of the others. */
interface Shared {
  readonly own: Portion
  readonly parts: readonly Part[]
}

export class GangLoop extends KernelLoop {
  readonly #gang: Gang
  readonly #id: string
  /** What keeps the loop in this process. */
  readonly #alone: string | undefined
  readonly #isForced: boolean
  #shared: Shared | undefined
  #last: LoopPlan['execution']['processes'] | undefined

  constructor(inputs: LoopInputs, ir: FunctionIr, space: IterationSpace, resources: LoopResources & { readonly gang: Gang }) {
    super(inputs, ir, space, resources)
    this.#gang = resources.gang
    this.#id = this.#gang.nextLoop()
    this.#isForced = resources.worthThreadsMs === 0
    this.#alone = whyAlone(this.inputs, this.blocks)
  }

  override get processes(): LoopPlan['execution']['processes'] {
    if (this.#alone !== undefined) return { count: 1, because: this.#alone }
    return this.#last ?? { count: 1, because: 'It has not run.' }
  }

  override async runPasses(pass: number, most: number, options: PassOptions = {}): Promise<PassesResult> {
    if (this.#alone !== undefined || options.signal?.aborted) return await super.runPasses(pass, most, options)
    this.#gang.check()
    const needed = this.#needed()
    this.#last = this.#choice(needed)
    if (this.#last.count === 1) return await super.runPasses(pass, most, options)
    const { own, parts } = this.#share()
    const others: Others = { portion: own, start: (turn, signal) => this.#start(parts, needed, turn, signal) }
    const result = await super.runPasses(pass, 1, { ...options, others }).catch((error: unknown) => {
      this.#settle(parts, needed, 'failed')
      throw error
    })
    this.#settle(parts, needed, result.failed === undefined ? 'done' : 'failed')
    return result
  }

  override dispose(): void {
    if (this.#shared !== undefined) this.#gang.forgetLoop(this.#id)
    this.#shared = undefined
    super.dispose()
  }

  /** Stretches of plan order with about as many iterations each; the first is run here. */
  #share(): Shared {
    if (this.#shared !== undefined) return this.#shared
    const bounds = evenly(this.blocks, this.#gang.world)
    const parts = this.#gang.others.flatMap((other): Part[] => {
      const [from, to] = [bounds[other.rank] as number, bounds[other.rank + 1] as number] // one more than there are processes
      if (from === to) return []
      const numberOf = this.#gang.numberOf.bind(this.#gang)
      return [{ other, definition: definitionOf(this.#id, this.inputs, numberOf, { count: this.blocks.count, from, to }), tables: [] }]
    })
    this.#shared = { own: this.portionOf(0, bounds[1] as number), parts }
    return this.#shared
  }

  /** Whether the next pass is worth the others. */
  #choice(needed: readonly Needed[]): NonNullable<LoopPlan['execution']['processes']> {
    const { world } = this.#gang
    const count = Math.min(world, this.blocks.count)
    if (this.#isForced) return { count, because: 'It was asked for.' }
    const aloneMs = this.predictedMilliseconds
    const missing = this.#gang.missingBytes(this.#id, needed)
    const written = writtenInPlace(this.inputs).reduce((sum, storage) => sum + regionOf(storage).byteLength, 0)
    const sendMs = ((missing / PASSES + written) * NS_PER_BYTE) / 1e6
    const togetherMs = aloneMs / count + sendMs + LEAST_GAIN_MS
    const text = `A pass takes about ${msText(aloneMs)} in one process, and ${msText(togetherMs)} in ${count}, of which ${msText(sendMs)} to send what it needs and writes.`
    return { count: togetherMs < aloneMs ? count : 1, because: text }
  }

  #needed(): Needed[] {
    const { over, arrays, buffers } = this.inputs
    const added = onlyAddedTo(this.inputs)
    const inputs = [...(over.kind === 'storage' ? [over] : []), ...arrays.values(), ...buffers.values()]
    const found = new Map(inputs.map(({ storage, version }) => [storage, version?.()]))
    return [...found].map(([storage, version]) => ({ storage, version, isAddedTo: added.has(storage) }))
  }

  async #start(
    parts: readonly Part[],
    needed: readonly Needed[],
    { pass, parameters }: Omit<PassTurn, 'share' | 'shares'>,
    signal: AbortSignal | undefined,
  ): Promise<readonly ShareResult[]> {
    const heads = new Map<Other, Omit<RunHead, 'run'>>()
    for (const part of parts) {
      this.#gang.supply(part.other, needed, part.definition)
      const isSame = part.tables.length === this.tables.length && part.tables.every((table, i) => sameTable(table, this.tables[i]))
      if (!isSame) part.tables = this.tables.map((table) => copied(table))
      heads.set(part.other, { loop: this.#id, pass, parameters, ...(isSame ? {} : { tables: part.tables }) })
    }
    const regions = writtenInPlace(this.inputs).map(regionOf)
    const results: ShareResult[] = []
    await this.#gang.run(heads, signal, ({ rank, head, parts: changed }: Answer) => {
      const { from, to } = (parts.find(({ other }) => other.rank === rank) as Part).definition // one that was asked
      applyParts([...regions, ...regionsOfLanes(this.lanes, from, to)], changed)
      results.push(...head.results.map((result) => ({ ...result, rank })))
    })
    return results
  }

  /** What the others have after a pass: what it wrote is there as its own blocks left it. */
  #settle(parts: readonly Part[], needed: readonly Needed[], outcome: 'done' | 'failed'): void {
    const written = new Set(storagesOf(this.inputs).flatMap(({ storage, array }) => (this.#writes(array) ? [storage] : [])))
    const inPlace = new Set(writtenInPlace(this.inputs))
    const flushed = new Set<Storage>([...this.inputs.buffers.values()].map(({ storage }) => storage)) // into those in this process
    for (const { other } of parts) {
      for (const { storage, version, isAddedTo } of needed) {
        const number = this.#gang.numberOf(storage)
        if (!written.has(storage) || isAddedTo) continue
        const isKnown = outcome === 'done' && inPlace.has(storage) && !flushed.has(storage) && version !== undefined
        other.held.set(number, isKnown ? { version: afterOneWrite(version), by: this.#id } : { version: undefined })
      }
    }
  }

  #writes(array: number): boolean {
    return this.inputs.analyzed.writtenArrays.includes(array) || [...this.inputs.buffers.values()].some((buffer) => buffer.array === array)
  }
}

/** Why a loop runs in one process; undefined for one that others can run parts of. */
function whyAlone(inputs: LoopInputs, blocks: BlockSchedule): string | undefined {
  if (blocks.kind !== 'independent' && blocks.kind !== '1d') return `A ${blocks.kind} schedule runs in one process.`
  if (blocks.count < 2) return 'There is one block.'
  const why = whyNotDefined(inputs)
  if (why !== undefined) return why
  for (const { storage, label } of storagesOf(inputs)) {
    const reason = whyNotSent(storage)
    if (reason !== undefined) return `${label} ${reason}, which cannot be sent to another process.`
  }
  return undefined
}

/** The version that an array has after it was written once: what `ArrayStore.version` gives after a pass. */
function afterOneWrite(version: string): string | undefined {
  const [, array, count] = /^(\d+):(\d+)$/.exec(version) ?? []
  return count === undefined ? undefined : `${array}:${Number(count) + 1}`
}

/** The first block of each part, and how many there are: every part has a block where there are enough, and about as many iterations. */
function evenly({ count, from, to }: BlockSchedule, parts: number): number[] {
  const total = from.reduce((sum, low, block) => sum + (to[block] as number) - low, 0)
  const bounds = [0]
  let [block, before] = [0, 0]
  for (let part = 1; part < parts; part++) {
    const least = Math.min(part, count)
    const most = Math.max(least, count - (parts - part))
    const goal = (total * part) / parts
    for (; block < most; block++) {
      const size = (to[block] as number) - (from[block] as number)
      if (block >= least && before + size / 2 > goal) break
      before += size
    }
    bounds.push(block)
  }
  return [...bounds, count]
}

function copied(table: ArrayLike<Primitive>): ArrayLike<Primitive> {
  return Array.isArray(table) ? [...table] : ArrayBuffer.isView(table) ? unshared((table as unknown as Uint8Array).slice() as never) : table
}

function sameTable(a: ArrayLike<Primitive>, b: ArrayLike<Primitive> | undefined): boolean {
  if (b === undefined || a.length !== b.length || a.constructor !== b.constructor) return false
  for (let i = 0; i < a.length; i++) if (!Object.is(a[i], b[i])) return false
  return true
}

function msText(milliseconds: number): string {
  return milliseconds < 1 ? 'less than a millisecond' : `${Math.round(milliseconds)} ms`
}
