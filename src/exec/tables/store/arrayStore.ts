/**
 * Storage of arrays, by the identity of their plan nodes.
 *
 *     owned     Array and Materialize nodes, and every node written in place: plans that contain the node read it
 *     kept      the storage that a query or a loop computed for a lazy node: valid while nothing below it was written
 *
 * Readers of an array run together, a writer runs alone, and the first caller comes first. All locks of a run are asked for at
 * once, at the call, with those of the arrays its arrays are computed from: so no two runs wait for each other. Every write
 * bumps the array's version, by which kept storage and caches elsewhere are valid or not. A node that is garbage takes its
 * storage with it.
 */

import type { Selector } from '../../../core/arrays/indexSpace.ts'
import type { Storage } from '../../../core/arrays/storage.ts'
import { defined } from '../../../core/defined.ts'
import { Bug, PlanError, TaskError } from '../../../core/errors.ts'
import type { KeptInput } from '../../../core/loop/checkpoint.ts'
import type { Moment } from '../../../core/moment.ts'
import { thinned } from '../../../core/plan/elements.ts'
import { inputsOf, type LogicalPlan } from '../../../core/plan/logicalPlan.ts'
import { planText } from '../../../core/plan/tree.ts'
import type { LeftElsewhere } from '../../arrays/leftElsewhere.ts'
import { isMade } from '../../arrays/makeArray.ts'
import { copyStorage, freeStorage, overwriteDense } from '../../arrays/storageBlocks.ts'
import type { Arena } from '../../memory/arena.ts'
import { type Access, ArrayLocks } from './arrayLocks.ts'
import { ComputedStorage, type Computing } from './computedStorage.ts'
import { Holdings } from './holdings.ts'
import { type ArrayStoreOptions, StoredPlans } from './storedPlans.ts'

export interface StoreStats {
  readonly storage: 'none' | 'kept' | 'owned'
  /** How often the array's storage was sorted and kept because a query or a loop wanted it by key. */
  readonly built: number
  /** Queries answered from storage. */
  readonly queries: number
  readonly version: number
}

export class ArrayStore {
  private readonly arena: Arena
  private readonly lookup: ArrayStoreOptions['lookup']
  private readonly elsewhere: LeftElsewhere | undefined
  /** Names and versions of arrays, and plans over their storage. */
  readonly plans: StoredPlans
  /** The contents of arrays as a checkpoint names them. */
  readonly holdings: Holdings
  private readonly locks: ArrayLocks
  private readonly computed: ComputedStorage
  /** Plans and nodes in use by runs, held here so that they and their storage are not garbage. */
  private readonly inUse = new Set<object>()

  constructor(options: ArrayStoreOptions) {
    this.arena = options.arena
    this.lookup = options.lookup
    this.elsewhere = options.elsewhere
    this.plans = new StoredPlans(options)
    this.holdings = new Holdings(this.plans)
    this.locks = new ArrayLocks(this.plans)
    this.computed = new ComputedStorage(this.plans, options)
  }

  stats(node: LogicalPlan): StoreStats {
    const cell = this.plans.cellOf(node)
    return {
      storage: this.plans.hasStorage(node, this.plans.moment(node)) ? (cell.owned ? 'owned' : 'kept') : 'none',
      built: cell.built,
      queries: cell.queries,
      version: cell.version,
    }
  }

  /**
   * The plan with a `Stored` leaf in place of every node that has storage or owns it; what has none yet is computed.
   * Nothing keeps a writer away from the leaves afterwards: prefer `use`.
   */
  async resolve(plan: LogicalPlan): Promise<LogicalPlan> {
    return await this.use(plan, (resolved) => resolved)
  }

  /** The storage that a node owns, to look at; undefined where it owns none yet. Kept storage is left out: captured values decide whether it is valid. */
  held(node: LogicalPlan): Storage | 'gone' | 'being written' | 'elsewhere' | undefined {
    if (node.kind === 'Stored') return node.storage
    const cell = this.plans.known(node)
    if (cell?.gone !== undefined) return 'gone'
    if (cell?.owned !== true || cell.storage === undefined || cell.kept?.isOwed === true) return undefined
    if (!cell.lock.isFree('read')) return 'being written'
    if (this.elsewhere?.isAway(cell.storage) === true) return 'elsewhere'
    return cell.storage.kind === 'dense' && cell.storage.parts?.isWhole === false ? undefined : cell.storage
  }

  /** The plan with a `Stored` leaf in place of every node that has storage by now, to look at: writers are not kept away. */
  asStored(plan: LogicalPlan): LogicalPlan {
    const moment = this.plans.moment(plan)
    const storages = new Map<LogicalPlan, Storage>()
    for (const node of this.plans.frontier([plan], moment)) {
      const storage = this.plans.stored(node, moment)
      if (storage !== undefined) storages.set(node, storage)
    }
    return this.plans.replaced(plan, storages, moment)
  }

  /** The plan with the functions that an action would run if it were called now. */
  asCalled(plan: LogicalPlan): LogicalPlan {
    return this.plans.replaced(plan, new Map(), this.plans.moment(plan))
  }

  /** Calls `run` with the resolved plan; meanwhile its arrays are neither written nor freed. */
  async use<T>(plan: LogicalPlan, run: (resolved: LogicalPlan) => Promise<T> | T, moment: Moment = this.plans.moment(plan)): Promise<T> {
    const { resolved, leave } = await this.enter(plan, moment)
    try {
      return await run(resolved)
    } finally {
      leave()
    }
  }

  /** Resolves a plan, as `use`; `leave` must be called when the arrays are not needed any more. Writers wait until then. */
  async enter(
    plan: LogicalPlan,
    moment: Moment = this.plans.moment(plan),
  ): Promise<{ readonly resolved: LogicalPlan; readonly leave: () => void }> {
    const unlock = await this.locks.lock((locks) => this.locks.askBelow(plan, locks, moment))
    try {
      const resolved = await this.computed.resolved(plan, [plan], moment)
      this.inUse.add(resolved)
      const leave = (): void => {
        this.inUse.delete(resolved)
        unlock()
      }
      return { resolved, leave }
    } catch (error) {
      unlock()
      throw error
    }
  }

  /** The storage of a node, computed when there is none, and kept: keyed storage for arrays with explicit keys. */
  async storage(node: LogicalPlan): Promise<Storage> {
    return await this.withArrays([{ node, mode: 'read' }], ([storage]) => storage as Storage) // one access, one storage
  }

  /** Answers a query from the array's storage. With `keep: false`, storage made for it alone is freed afterwards. */
  async read<T>(
    node: LogicalPlan,
    query: (storage: Storage, label: string) => T | Promise<T>,
    options: { readonly keep?: boolean } = {},
  ): Promise<T> {
    if (node.kind === 'Stored') return await query(node.storage, node.name)
    const cell = this.plans.cellOf(node)
    const moment = this.plans.moment(node)
    if (options.keep === false && !cell.owned && !this.plans.hasStorage(node, moment)) {
      const unlock = await this.locks.lock((locks) => this.locks.askBelow(node, locks, moment))
      const use = { node }
      this.inUse.add(use)
      try {
        const storage = await this.computed.materialized(node, moment)
        try {
          return await query(storage, cell.label)
        } finally {
          freeStorage(storage)
        }
      } finally {
        this.inUse.delete(use)
        unlock()
      }
    }
    const answer = async ([storage]: readonly Storage[]): Promise<T> => {
      cell.queries++
      return await query(storage as Storage, cell.label) // one access, one storage
    }
    return await this.withArrays([{ node, mode: 'read' }], answer, { inPieces: true })
  }

  /**
   * Answers a point or range query by its plan: an `IndexLookup` over the array's storage, or over an `IndexBuild` where a
   * lazy array has none yet. The index is kept, and is the storage of later queries.
   */
  async query<T>(node: LogicalPlan, selectors: readonly Selector[], answer: (storage: Storage, label: string) => T): Promise<T> {
    if (node.kind === 'Stored') return await this.lookup(lookupOf(node, selectors), nothingToBuild, (storage) => answer(storage, node.name))
    const cell = this.plans.cellOf(node)
    const moment = this.plans.moment(node)
    const unlock = await this.locks.lock((locks) => this.locks.ask(node, 'read', locks, moment))
    const use = { node }
    this.inUse.add(use)
    try {
      const index = (build?: LogicalPlan): Promise<Storage> => this.computed.compute(node, moment, { build, inPieces: true })
      const isLazy = !cell.owned && this.plans.stored(node, moment) === undefined
      const array = isLazy ? await this.computed.resolved(node, inputsOf(node), moment) : this.plans.storedLeaf(node, await index())
      return await this.lookup(lookupOf(array, selectors), index, (storage) => {
        cell.queries++
        return answer(storage, cell.label)
      })
    } finally {
      this.inUse.delete(use)
      unlock()
    }
  }

  /** Makes the array own its storage, so that it can be written in place and every plan over it sees the writes. */
  async own(node: LogicalPlan): Promise<Storage> {
    return await this.withArrays([{ node, mode: 'read' }], ([storage]) => {
      this.plans.cellOf(node).owned = true
      return storage as Storage // one access, one storage
    })
  }

  /**
   * Writes an array in place: `edit` changes the storage, or returns other storage to be used from now on (the old one
   * is freed). Waits for loops, queries and other writes of the array. `replacesAll`: what a failed loop left is
   * written over.
   */
  async write(
    node: LogicalPlan,
    edit: (storage: Storage, label: string) => Storage | Promise<Storage>,
    options: { readonly replacesAll?: boolean } = {},
  ): Promise<void> {
    const cell = this.plans.cellOf(node)
    const run = async ([storage]: readonly Storage[]): Promise<void> => {
      this.computed.replace(cell, await edit(storage as Storage, cell.label)) // one access, one storage
      cell.gone = undefined
    }
    // an edit that throws has changed nothing
    await this.locked([{ node, mode: 'write' }], run, { allowGone: options.replacesAll === true, unchangedByErrors: true })
  }

  /**
   * Calls `run` with the storage of several arrays, read or written: no one else writes any of them meanwhile, and
   * no one reads those that are written. Storage comes in the order of the accesses.
   */
  async withArrays<T>(
    accesses: readonly Access[],
    run: (storages: readonly Storage[]) => Promise<T> | T,
    options: Pick<Computing, 'by' | 'stays' | 'looks' | 'inPieces'> = {},
  ): Promise<T> {
    return await this.locked(accesses, run, { allowGone: false, unchangedByErrors: false, ...defined(options) })
  }

  /**
   * Skips passes that a checkpoint has: calls `skip` with the contents of the arrays, and makes the arrays that the passes write own their
   * storage. Waits its turn as a pass does.
   */
  async skipPasses<T>(accesses: readonly Access[], skip: (inputs: readonly KeptInput[]) => T, passes: number): Promise<T> {
    const moment = this.plans.moment(...accesses.map(({ node }) => node))
    const unlock = await this.locks.lock((locks) => {
      for (const { node, mode } of accesses) this.locks.ask(node, mode, locks, moment)
    })
    this.inUse.add(accesses)
    try {
      for (const { node, mode } of accesses) {
        if (this.holdings.knownHolding(node) === undefined) await this.computed.compute(node, moment, { by: 'pass' })
        // skipped passes owe it its contents, which an array of a description gets when it is used
        else if (mode === 'write' && !(node.kind === 'Array' && isMade(node))) await this.computed.storageFor(node, moment)
      }
      const skipped = skip(this.holdings.of(accesses))
      for (const { node, mode } of accesses) {
        if (mode === 'read') continue
        const cell = this.plans.cellOf(node)
        cell.owned = true
        for (let pass = 0; pass < passes; pass++) cell.wrote()
      }
      return skipped
    } finally {
      this.inUse.delete(accesses)
      unlock()
    }
  }

  private async locked<T>(
    accesses: readonly Access[],
    run: (storages: readonly Storage[]) => Promise<T> | T,
    options: Pick<Computing, 'by' | 'stays' | 'looks' | 'inPieces'> & { readonly allowGone: boolean; readonly unchangedByErrors: boolean },
  ): Promise<T> {
    for (const { node, mode } of accesses) {
      if (node.kind === 'Stored' && mode === 'write') throw new Bug(`${node.name} is storage, not an array that can be written.`)
    }
    const moment = this.plans.moment(...accesses.map(({ node }) => node))
    const unlock = await this.locks.lock((locks) => {
      for (const { node, mode } of accesses) this.locks.ask(node, mode, locks, moment)
    })
    this.inUse.add(accesses)
    try {
      const storages: Storage[] = []
      for (const { node, mode } of accesses) storages.push(await this.computed.compute(node, moment, { ...options, mode }))
      const written = accesses.filter(({ mode }) => mode === 'write').map(({ node }) => this.plans.cellOf(node))
      const lazy = written.filter((cell) => !cell.owned)
      for (const cell of written) cell.owned = true
      let unchanged = options.unchangedByErrors
      try {
        const result = await run(storages)
        unchanged = false
        return result
      } finally {
        if (unchanged) for (const cell of lazy) cell.owned = false
        else {
          for (const cell of written) {
            cell.wrote()
            if (options.by !== 'pass' && cell.kept !== undefined) cell.kept.isChanged = true
          }
        }
      }
    } finally {
      this.inUse.delete(accesses)
      unlock()
    }
  }

  /** The storages after a pass that was given `given`: those of written arrays get another version, and may have been replaced. */
  betweenPasses(accesses: readonly Access[], given: readonly Storage[]): readonly Storage[] {
    return accesses.map(({ node, mode }, i) => {
      if (mode === 'read') return given[i] as Storage // one access, one storage
      const cell = this.plans.cellOf(node)
      cell.wrote()
      if (cell.storage === undefined) throw new Bug(`${cell.label} has lost its storage between two passes of a run.`)
      return cell.storage
    })
  }

  /** Replaces the storage of an array that is locked for writing, as after inserts; the old one is freed. */
  replaceStorage(node: LogicalPlan, storage: Storage): void {
    this.computed.replace(this.plans.cellOf(node), storage)
  }

  /** Marks an array that a failed loop has written partly: reading it throws until all of it is assigned. */
  markLost(node: LogicalPlan, why: string): void {
    const cell = this.plans.cellOf(node)
    cell.gone = () =>
      new TaskError(
        `${cell.label} was being written by a loop that failed (${why}), and holds a part of that pass. Assign all of it, or run the loop with { atomic: true }.`,
      )
    cell.version++
  }

  /** Copies the storage of an array that is locked for writing, to be restored when a pass fails. */
  snapshot(node: LogicalPlan): { restore(): void; free(): void } {
    const cell = this.plans.cellOf(node)
    if (cell.storage === undefined) return { restore: () => undefined, free: () => undefined }
    const copy = copyStorage(cell.storage, this.arena, `the snapshot of ${cell.label}`)
    let used = false
    return {
      // dense arrays get their values back where they were, so that views of them stay good
      restore: () => {
        if (used) return
        used = true
        if (cell.storage?.kind === 'dense' && copy.kind === 'dense') {
          overwriteDense(cell.storage, copy)
          freeStorage(copy)
        } else this.computed.replace(cell, copy)
        cell.version++
      },
      free: () => {
        if (!used) freeStorage(copy)
      },
    }
  }

  /** Gives a new node its storage, which nothing else could compute. */
  give(node: LogicalPlan, storage: Storage): void {
    this.plans.cellOf(node).storage = storage
  }

  /** Frees the array's storage once no one uses it; elements that were written in place are lost with it. */
  async release(node: LogicalPlan): Promise<void> {
    const cell = this.plans.cellOf(node)
    const leave = await cell.lock.acquire('write')
    try {
      const { storage } = cell
      if (storage !== undefined) await this.elsewhere?.use(storage, 'write')
      cell.storage = undefined
      cell.version++
      if (storage !== undefined) freeStorage(storage)
      const isGiven = node.kind === 'Array' && node.init.kind === 'given'
      if (!cell.written && !isGiven) return
      const how = isGiven ? 'was made with its elements' : 'was written in place'
      cell.gone = () => new PlanError(`${cell.label} ${how} and then released, so what it held is gone. Release it after its last use.`)
    } finally {
      leave()
    }
  }
}

function lookupOf(array: LogicalPlan, selectors: readonly Selector[]): LogicalPlan {
  return { kind: 'IndexLookup', input: array, selectors, element: array.element, keys: thinned(array.keys) }
}

async function nothingToBuild(build: LogicalPlan): Promise<Storage> {
  throw new Bug(`Storage needs no index:\n${planText(build)}`)
}
