/**
 * Prepares a loop for its passes: locks every array, takes its current storage, and prepares the executable loop, which is used
 * again while neither the analysis nor a storage has changed.
 */

import type { IndexSpace } from '../../core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE, type DenseStorage, type Storage } from '../../core/arrays/storage.ts'
import type { DType } from '../../core/data/schema.ts'
import { defined } from '../../core/defined.ts'
import type { Engine } from '../../core/engine.ts'
import { Bug, PlanError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import type { AnalyzedLoop } from '../../core/loop/loopSpec.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { sameItems } from '../../core/sameItems.ts'
import type { Refusal } from '../../core/span.ts'
import { copyStorage } from '../../exec/arrays/storageBlocks.ts'
import type { Finding } from '../../exec/loops/inspector/finding.ts'
import { Inspector } from '../../exec/loops/inspector/inspector.ts'
import type { LoopInputs } from '../../exec/loops/loopInputs.ts'
import { type PreparedLoop, prepareLoop } from '../../exec/loops/loopRun.ts'
import { otherTurn, TURN_MS } from '../../exec/loops/preparedLoop.ts'
import type { Access } from '../../exec/tables/store/arrayLocks.ts'
import type { LoopData } from '../../planner/loop/costedLoop.ts'
import { nothingFoundError } from '../../planner/loop/report/requireParallel.ts'
import type { Runtime } from '../runtime.ts'
import type { Analysis, LoopAnalysis } from './loopAnalysis.ts'
import { accumulatorInputs, bufferFunctions, isBoolean, ownPlanOf } from './loopBindings.ts'
import type { LoopRequest } from './loopRequest.ts'

export interface Prepared {
  readonly analyzed: AnalyzedLoop
  readonly storages: readonly Storage[]
  readonly finding: Finding | undefined
  readonly loop: PreparedLoop
}

export class LoopPreparation {
  readonly #runtime: Runtime
  readonly #engine: Engine
  readonly #request: LoopRequest
  readonly #analysis: LoopAnalysis
  readonly #inspector = new Inspector()
  #prepared: Prepared | undefined
  /** Why the body runs as it stands though it can be compiled; undefined where it does not. */
  #asIs: Refusal | undefined
  #locked: { readonly analyzed: AnalyzedLoop; readonly accesses: readonly Access[] } | undefined
  /** The pass under way: a loop has one set of blocks, so its passes wait for one another, even if they only read. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(runtime: Runtime, engine: Engine, request: LoopRequest, analysis: LoopAnalysis) {
    this.#runtime = runtime
    this.#engine = engine
    this.#request = request
    this.#analysis = analysis
  }

  /** The prepared loop of the last pass; undefined before the first. */
  get last(): Prepared | undefined {
    return this.#prepared
  }

  /** Runs the body as it stands from the next pass on. */
  runAsIs(because: Refusal): void {
    this.#asIs = because
    this.dispose()
  }

  /** Drops the prepared loop, so that the next pass prepares it anew. */
  dispose(): void {
    this.#prepared?.loop.dispose()
    this.#prepared = undefined
  }

  /**
   * Calls `run` after the passes before, with the arrays of `analysis` locked. The locks are requested now, so that later requests wait
   * for this call. `again` prepares for the next pass under the same locks, since a pass may have given arrays other storage. With
   * `looks`, all locks are for reading, and arrays that their description makes are not made for it.
   */
  async use<T>(
    analysis: Analysis,
    run: (prepared: Prepared, again: () => Promise<Prepared>) => Promise<T>,
    signal?: AbortSignal,
    options: { readonly by?: 'pass' | undefined; readonly stays?: boolean; readonly looks?: true } = {},
  ): Promise<T> {
    const before = this.#turn
    const accesses = this.accesses(analysis)
    const asked = options.looks === undefined ? accesses : accesses.map(({ node }): Access => ({ node, mode: 'read' }))
    // passes queue in the order in which they request locks: none holds a lock that the one before waits for
    const turn = this.#runtime.store.withArrays(
      asked,
      async (found) => {
        await before
        this.#analysis.adopt(analysis)
        const again = (): Promise<Prepared> => {
          const left = this.#runtime.store.betweenPasses(accesses, found)
          return this.#prepare(accesses, asDenseWhereSo(accesses, left), signal)
        }
        return await run(await this.#prepare(accesses, asDenseWhereSo(accesses, found), signal), again)
      },
      options,
    )
    const over = turn.catch(() => undefined) // the next pass does not fail because this one did
    const { passes } = this.#runtime
    this.#turn = over
    passes.add(over)
    try {
      return await turn
    } finally {
      passes.delete(over)
    }
  }

  /** The arrays to lock; the same list for the same analysis. */
  accesses(analysis: Analysis): readonly Access[] {
    const { analyzed, bindings } = analysis
    if (this.#locked?.analyzed === analyzed) return this.#locked.accesses
    const { store } = this.#runtime
    const written = new Set(analyzed.writtenArrays)
    const buffered = [...bindings.buffers.values()].map((buffer) => ownPlanOf(buffer.target, 'a buffer in env', this.#engine))
    const accesses = [...new Set([...this.#analysis.nodesOf(analysis), ...buffered])].map((node): Access => {
      return { node, mode: written.has(store.plans.identity(node)) || buffered.includes(node) ? 'write' : 'read' }
    })
    this.#locked = { analyzed, accesses }
    return accesses
  }

  async #prepare(accesses: readonly Access[], storages: readonly Storage[], signal: AbortSignal | undefined): Promise<Prepared> {
    const old = this.#prepared
    const isSame = old?.analyzed === this.#analysis.analyzed && sameItems(old.storages, storages)
    if (old !== undefined && isSame && old.analyzed.schedule.kind !== 'colored') return old
    const byNode = new Map(accesses.map(({ node }, i) => [node, storages[i] as Storage])) // one access, one storage
    if (!isSame) this.#analysis.settle(this.#data(byNode))
    const inputs = this.#inputs(byNode)
    const isColored = this.#analysis.analyzed.schedule.kind === 'colored'
    if (isColored) await this.bringHome(accesses, storages)
    const finding = isColored ? await this.#inspect(inputs, signal) : undefined
    if (old !== undefined && isSame && old.finding === finding) return old
    this.#prepared = undefined // prepareLoop disposes of the old one, or reuses it
    const { pool, arena, worthThreadsMs, gang } = this.#runtime
    const resources = { pool, arena, ...defined({ worthThreadsMs, gang }) }
    const loop = prepareLoop(finding === undefined ? inputs : { ...inputs, finding }, resources, old?.loop)
    this.#prepared = { analyzed: this.#analysis.analyzed, storages, finding, loop }
    return this.#prepared
  }

  /** Copies the storage that a pass made because its sparse array got keys into the arena, where workers see it. */
  replaceStorage(array: number, storage: Storage): void {
    const { store, arena } = this.#runtime
    for (const node of this.#analysis.nodes) {
      if (store.plans.identity(node) === array) store.replaceStorage(node, copyStorage(storage, arena, store.plans.label(node)))
    }
    this.dispose()
  }

  /** Marks the arrays that a failed pass may have written in part as lost; a buffer's array only where something may have been flushed. */
  markLost(error: unknown): void {
    const why = isError(error) ? (error.message.split('\n')[0] ?? '') : String(error)
    const { store } = this.#runtime
    const written = new Set(this.#analysis.analyzed.writtenArrays)
    const flushed = [...this.#analysis.bindings.buffers.values()]
      .filter(({ options: { maxDelay, flushes = 1, apply } }) => maxDelay !== undefined || flushes > 1 || apply !== undefined)
      .map(({ target }) => ownPlanOf(target, 'a buffer in env', this.#engine))
    const direct = [...this.#analysis.nodes].filter((node) => written.has(store.plans.identity(node)))
    for (const node of new Set([...direct, ...flushed])) store.markLost(node, why)
  }

  /** Fetches the elements of locked arrays that passes have left in other processes, before anything but such a pass uses them. */
  async bringHome(accesses: readonly Access[], storages: readonly Storage[]): Promise<void> {
    const left = this.#runtime.gang?.journal(this.#runtime.arena)
    for (const [i, { mode }] of accesses.entries()) await left?.use(storages[i] as Storage, mode) // one access, one storage
  }

  /** The shapes and keys of the arrays, for the cost model. */
  #data(byNode: ReadonlyMap<LogicalPlan, Storage>): LoopData {
    const { arrays, buffers } = this.#analysis.bindings
    const over = this.#analysis.overPlan
    const space = over === undefined ? undefined : byNode.get(over)
    const extents = space === undefined ? (this.#request.over as IndexSpace).extents : shapeOf(space)
    return {
      extents,
      isBox: space?.kind !== 'sparse',
      ...(space?.kind === 'sparse' ? { keys: space.keys } : {}),
      shapeOf: (name) => {
        const buffer = buffers.get(name)
        const node = buffer === undefined ? arrays.get(name) : ownPlanOf(buffer.target, name, this.#engine)
        const storage = node === undefined ? undefined : byNode.get(node)
        return storage === undefined ? undefined : shapeOf(storage)
      },
    }
  }

  /** The inspection result of a colored loop, which may be that nothing can run in parallel. */
  async #inspect(inputs: LoopInputs, signal: AbortSignal | undefined): Promise<Finding | undefined> {
    const { store } = this.#runtime
    const versions = new Map([...this.#analysis.nodes].map((node) => [store.plans.identity(node), store.plans.version(node)]))
    const turns = { everyMs: TURN_MS, other: otherTurn, signal }
    const finding = await this.#inspector.finding(inputs, (array) => versions.get(array) ?? '', turns)
    if (finding?.kind === 'nothing' && this.#request.options.require === 'parallel')
      throw nothingFoundError(this.#analysis.analyzed, finding.text)
    return finding
  }

  #inputs(byNode: ReadonlyMap<LogicalPlan, Storage>): LoopInputs {
    const { store } = this.#runtime
    const storageOf = (node: LogicalPlan): Storage => {
      const storage = byNode.get(node)
      if (storage === undefined) throw new Bug(`${store.plans.label(node)} was not locked for the loop.`)
      return storage
    }
    const tellingOf = (node: LogicalPlan) => ({
      version: () => store.plans.version(node),
      made: () => store.plans.made(node),
      scanned: () => store.plans.scanned(node),
    })
    const { arrays, buffers, accumulators, rngs, handles } = this.#analysis.bindings
    const over = this.#analysis.overPlan
    return {
      analyzed: this.#analysis.analyzed,
      over:
        over === undefined
          ? { kind: 'range', extents: (this.#request.over as IndexSpace).extents }
          : { kind: 'storage', storage: storageOf(over), array: store.plans.identity(over), ...tellingOf(over) },
      arrays: new Map(
        [...arrays].map(([name, node]) => {
          const input = { storage: storageOf(node), array: store.plans.identity(node), label: name, ...tellingOf(node) }
          return [name, isBoolean(node.element) ? { ...input, isBoolean: true } : input]
        }),
      ),
      buffers: new Map(
        [...buffers].map(([name, buffer]) => {
          const node = ownPlanOf(buffer.target, name, this.#engine)
          const storage = storageOf(node)
          if (storage.kind !== 'dense') throw new PlanError(`${name} is a buffer of a sparse array. Buffers need a dense array.`)
          return [
            name,
            { storage, array: store.plans.identity(node), label: name, ...tellingOf(node), ...bufferFunctions(buffer, this.#engine) },
          ]
        }),
      ),
      accumulators: accumulatorInputs(accumulators),
      rngs,
      envObject: this.#request.env,
      handles,
      ...defined({ asIs: this.#asIs }),
    }
  }
}

function shapeOf(storage: Storage): readonly number[] {
  return storage.kind === 'table' ? [storage.length] : storage.shape
}

/** The dense views of tables, by the table's storage, so that one storage always has the same view. */
const denseViews = new WeakMap<Storage, DenseStorage>()

/** Dense views of the storages, except for booleans that the plan says may be null: bodies were lowered to read true, false or null. */
function asDenseWhereSo(accesses: readonly Access[], storages: readonly Storage[]): readonly Storage[] {
  return storages.map((storage, i) => {
    const element = accesses[i]?.node.element
    return element?.kind === 'scalar' && element.type.kind === 'bool' && element.nullable ? storage : asDense(storage)
  })
}

/** A table of numbers without nulls as a dense array of one axis over the same buffer; other storage is returned as it is. */
function asDense(storage: Storage): Storage {
  const known = denseViews.get(storage)
  if (known !== undefined) return known
  if (storage.kind !== 'table' || storage.element.kind !== 'scalar') return storage
  const [column] = storage.columns
  const { kind } = storage.element.type
  if (column?.values === undefined || column.validity !== undefined || !(kind in ARRAY_OF_DTYPE)) return storage
  const dense: DenseStorage = {
    kind: 'dense',
    shape: [storage.length],
    dtype: kind as DType,
    strides: [1],
    data: column.values as DenseStorage['data'],
  } // a dtype's own array
  denseViews.set(storage, dense)
  return dense
}
