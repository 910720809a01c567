/**
 * Storage of arrays, by the identity of their plan nodes.
 *
 *     owned     Array and Materialize nodes, and every node written in place: plans that contain the node read it
 *     kept      what a query or a loop computed of a lazy node: valid while nothing below it was written
 *
 * Readers of an array run together, a writer runs alone, and whoever called first comes first. All locks of a run are
 * asked for at once, at the call, those of the arrays it is computed from included: so no two runs wait for each other.
 * Every write bumps the array's version, by which kept storage and the caches of others are valid or not. A node that
 * is garbage takes its storage with it.
 */

import type { Selector } from '../../core/arrays/indexSpace.ts'
import { elementOfStorage, type Storage } from '../../core/arrays/storage.ts'
import { defined } from '../../core/defined.ts'
import { Bug, PlanError, TaskError } from '../../core/errors.ts'
import type { UserFunction } from '../../core/ir/functionIr.ts'
import type { KeptInput } from '../../core/loop/checkpoint.ts'
import { type Moment, SAME_FUNCTIONS } from '../../core/moment.ts'
import { isKnown, keysText, sameElement, thinned } from '../../core/plan/elements.ts'
import { inputsOf, type LogicalPlan, withInputs } from '../../core/plan/logicalPlan.ts'
import { withFunctions } from '../../core/plan/planFunctions.ts'
import { functionsOf, planText } from '../../core/plan/tree.ts'
import { Cell } from '../arrays/cell.ts'
import type { StorageForm } from '../arrays/fromBatches.ts'
import type { LeftElsewhere } from '../arrays/leftElsewhere.ts'
import { isMade, type MadeSpec, makeArray } from '../arrays/makeArray.ts'
import { partedStorage } from '../arrays/parted.ts'
import type { LockMode } from '../arrays/rwLock.ts'
import { storageAskedFor } from '../arrays/storageAskedFor.ts'
import { copyStorage, freeStorage, overwriteDense } from '../arrays/storageBlocks.ts'
import { digestOf } from '../ledger/digest.ts'
import type { Ledger, LedgerArray } from '../ledger/ledger.ts'
import type { Arena } from '../memory/arena.ts'
import type { Executor } from './executor.ts'

export interface ArrayStoreOptions {
  readonly arena: Arena
  /** Runs an `IndexBuild` over a plan whose stored arrays have been put in place: storage in blocks of its own. */
  readonly index: (plan: LogicalPlan, form: StorageForm) => Promise<Storage>
  /** Runs an `IndexLookup` over a plan whose stored arrays have been put in place. `index` has or makes what an `IndexBuild` of it gives. */
  readonly lookup: Executor['lookup']
  /** A node over inputs that are known better than they were when it was made; as it was unless given. */
  readonly retype?: (plan: LogicalPlan, inputs: readonly LogicalPlan[]) => LogicalPlan
  /** A reading of what functions capture; where there is none, they stay what they were when the plan was made. */
  readonly moment?: (functions: readonly UserFunction[]) => Moment
  /** What passes have written, where a checkpoint is kept. */
  readonly ledger?: Ledger | undefined
  /** What passes on several processes have left there: it comes home before somebody uses an array. */
  readonly elsewhere?: LeftElsewhere | undefined
}

/** One array of a loop or a query. */
export interface Access {
  readonly node: LogicalPlan
  /** 'write' makes the array own its storage. */
  readonly mode: LockMode
}

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
  private readonly index: ArrayStoreOptions['index']
  private readonly lookup: ArrayStoreOptions['lookup']
  private readonly retype: NonNullable<ArrayStoreOptions['retype']>
  private readonly moments: NonNullable<ArrayStoreOptions['moment']>
  private readonly ledger: Ledger | undefined
  private readonly elsewhere: LeftElsewhere | undefined
  private readonly cells = new WeakMap<LogicalPlan, Cell>()
  private lastId = 0
  /** What runs hold on to: neither it nor the storage below it is garbage. */
  private readonly inUse = new Set<object>()

  constructor(options: ArrayStoreOptions) {
    this.arena = options.arena
    this.index = options.index
    this.lookup = options.lookup
    this.retype = options.retype ?? withInputs
    this.moments = options.moment ?? (() => SAME_FUNCTIONS)
    this.ledger = options.ledger
    this.elsewhere = options.elsewhere
  }

  /**
   * What the functions of plans capture now, as far as the plans are still to be computed. Taken at the call of an action;
   * what is done by one call is done by one moment.
   */
  moment(...plans: readonly LogicalPlan[]): Moment {
    const functions: UserFunction[] = []
    const seen = new Set<LogicalPlan>()
    const walk = (node: LogicalPlan): void => {
      const cell = this.cells.get(node)
      if (seen.has(node) || (cell?.owned === true && cell.storage !== undefined)) return
      seen.add(node)
      functions.push(...functionsOf(node))
      for (const input of inputsOf(node)) walk(input)
    }
    for (const plan of plans) walk(plan)
    const moment = this.moments(functions)
    for (const f of functions) moment.now(f)
    return moment
  }

  /** A number for the array that is the same as long as the node lives: two names with one identity are one array. */
  identity(node: LogicalPlan): number {
    return this.cellOf(node).id
  }

  /** What the array is called in messages. */
  label(node: LogicalPlan): string {
    return this.cellOf(node).label
  }

  /** Changes with every write to the array or to anything it is computed from, and with what functions on the way capture; a key for caches. */
  version(node: LogicalPlan): string {
    const cell = this.cellOf(node)
    return cell.owned ? `${cell.id}:${cell.version}` : this.basisOf(node, this.moment(node))
  }

  /** What the array was made by, as long as nobody has written it. */
  made(node: LogicalPlan): MadeSpec | undefined {
    if (node.kind !== 'Array' || this.cellOf(node).version !== 0) return undefined
    const { name, shape, dtype, init } = node
    const spec = { name, shape, dtype, init }
    return isMade(spec) ? spec : undefined
  }

  stats(node: LogicalPlan): StoreStats {
    const cell = this.cellOf(node)
    return {
      storage: this.hasStorage(node, this.moment(node)) ? (cell.owned ? 'owned' : 'kept') : 'none',
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

  /** What a node holds of its own, to look at: undefined where it is to be computed. Kept storage is left out, since whether it is valid is read off what functions capture. */
  held(node: LogicalPlan): Storage | 'gone' | 'being written' | 'elsewhere' | undefined {
    if (node.kind === 'Stored') return node.storage
    const cell = this.cells.get(node)
    if (cell?.gone !== undefined) return 'gone'
    if (cell?.owned !== true || cell.storage === undefined || cell.kept?.isOwed === true) return undefined
    if (!cell.lock.isFree('read')) return 'being written'
    if (this.elsewhere?.isAway(cell.storage) === true) return 'elsewhere'
    return cell.storage.kind === 'dense' && cell.storage.parts?.isWhole === false ? undefined : cell.storage
  }

  /** The plan with a `Stored` leaf in place of every node that has storage by now, to look at: writers are not kept away. */
  asStored(plan: LogicalPlan): LogicalPlan {
    const moment = this.moment(plan)
    const storages = new Map<LogicalPlan, Storage>()
    for (const node of this.frontier([plan], moment)) {
      const storage = this.stored(node, moment)
      if (storage !== undefined) storages.set(node, storage)
    }
    return this.replaced(plan, storages, moment)
  }

  /** The plan with the functions that an action would run if it were called now. */
  asCalled(plan: LogicalPlan): LogicalPlan {
    return this.replaced(plan, new Map(), this.moment(plan))
  }

  /** Runs something over the resolved plan; meanwhile its arrays are neither written nor freed. */
  async use<T>(plan: LogicalPlan, run: (resolved: LogicalPlan) => Promise<T> | T, moment: Moment = this.moment(plan)): Promise<T> {
    const { resolved, leave } = await this.enter(plan, moment)
    try {
      return await run(resolved)
    } finally {
      leave()
    }
  }

  /** The same in two steps: `leave` must be called when the arrays are not needed any more. Writers wait until then. */
  async enter(
    plan: LogicalPlan,
    moment: Moment = this.moment(plan),
  ): Promise<{ readonly resolved: LogicalPlan; readonly leave: () => void }> {
    const unlock = await this.lock((locks) => this.askBelow(plan, locks, moment))
    try {
      const resolved = await this.resolved(plan, [plan], moment)
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
    const cell = this.cellOf(node)
    const moment = this.moment(node)
    if (options.keep === false && !cell.owned && !this.hasStorage(node, moment)) {
      const unlock = await this.lock((locks) => this.askBelow(node, locks, moment))
      const use = { node }
      this.inUse.add(use)
      try {
        const storage = await this.materialized(node, moment)
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
   * lazy array has none yet. What that makes is kept, and is the storage of the queries to come.
   */
  async query<T>(node: LogicalPlan, selectors: readonly Selector[], answer: (storage: Storage, label: string) => T): Promise<T> {
    if (node.kind === 'Stored') return await this.lookup(lookupOf(node, selectors), nothingToBuild, (storage) => answer(storage, node.name))
    const cell = this.cellOf(node)
    const moment = this.moment(node)
    const unlock = await this.lock((locks) => this.ask(node, 'read', locks, moment))
    const use = { node }
    this.inUse.add(use)
    try {
      const index = (build?: LogicalPlan): Promise<Storage> => this.compute(node, moment, { build, inPieces: true })
      const isLazy = !cell.owned && this.stored(node, moment) === undefined
      const array = isLazy ? await this.resolved(node, inputsOf(node), moment) : this.storedLeaf(node, await index())
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
      this.cellOf(node).owned = true
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
    const cell = this.cellOf(node)
    const run = async ([storage]: readonly Storage[]): Promise<void> => {
      this.replace(cell, await edit(storage as Storage, cell.label)) // one access, one storage
      cell.gone = undefined
    }
    // an edit that throws has changed nothing
    await this.locked([{ node, mode: 'write' }], run, { allowGone: options.replacesAll === true, unchangedByErrors: true })
  }

  /**
   * Runs something over the storage of several arrays, read or written: no one else writes any of them meanwhile, and
   * no one reads those that are written. Storage comes in the order of the accesses.
   */
  async withArrays<T>(
    accesses: readonly Access[],
    run: (storages: readonly Storage[]) => Promise<T> | T,
    options: { readonly by?: 'pass' | undefined; readonly stays?: boolean; readonly inPieces?: boolean } = {},
  ): Promise<T> {
    return await this.locked(accesses, run, { allowGone: false, unchangedByErrors: false, ...defined(options) })
  }

  /**
   * What a checkpoint knows the arrays of a loop by, those that it writes. In the order of the accesses: the same whenever the
   * program runs.
   */
  keptBy(ledger: Ledger, accesses: readonly Access[]): readonly LedgerArray[] {
    return accesses.flatMap(({ node, mode }) => {
      if (mode === 'read') return []
      const cell = this.cellOf(node)
      const known = new WeakRef(cell) // an array that is garbage is nobody's any more
      cell.kept ??= ledger.track(cell.label, () => known.deref()?.storage)
      return cell.kept
    })
  }

  /** What arrays hold that are locked and have their storage, as a checkpoint tells it. */
  holdings(accesses: readonly Access[]): readonly KeptInput[] {
    return accesses.map(({ node }) => {
      const cell = this.cellOf(node)
      return { label: cell.label, holds: this.knownHolding(node) ?? this.digestOf(cell) }
    })
  }

  /** What an array holds that recorded passes have left, or nobody has written. */
  private knownHolding(node: LogicalPlan): string | undefined {
    const { kept, version } = this.cellOf(node)
    if (node.kind === 'Array' && node.init.kind !== 'given' && version === 0) return 'what it was made with'
    return kept === undefined || kept.state === 0 || kept.isChanged ? undefined : `what ${kept.state} passes have left`
  }

  private digestOf(cell: Cell): string {
    const { storage, version, digest } = cell
    if (storage === undefined) throw new Bug(`${cell.label} has no storage to be looked at.`)
    if (digest?.of === storage && digest.version === version) return digest.text
    const text = digestOf(storage)
    cell.digest = { of: storage, version, text }
    return text
  }

  /**
   * Passes that are not run: the arrays that they write own their storage, which `skip` says what it is owed, given what the arrays hold.
   * Waits its turn as a pass does.
   */
  async skipPasses<T>(accesses: readonly Access[], skip: (inputs: readonly KeptInput[]) => T, passes: number): Promise<T> {
    const moment = this.moment(...accesses.map(({ node }) => node))
    const unlock = await this.lock((locks) => {
      for (const { node, mode } of accesses) this.ask(node, mode, locks, moment)
    })
    this.inUse.add(accesses)
    try {
      for (const { node, mode } of accesses) {
        if (this.knownHolding(node) === undefined) await this.compute(node, moment, { by: 'pass' })
        else if (mode === 'write') await this.storageFor(node, moment) // what it holds is owed
      }
      const skipped = skip(this.holdings(accesses))
      for (const { node, mode } of accesses) {
        if (mode === 'read') continue
        const cell = this.cellOf(node)
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
    options: {
      readonly allowGone: boolean
      readonly unchangedByErrors: boolean
      readonly by?: 'pass'
      readonly stays?: boolean
      readonly inPieces?: boolean
    },
  ): Promise<T> {
    for (const { node, mode } of accesses) {
      if (node.kind === 'Stored' && mode === 'write') throw new Bug(`${node.name} is storage, not an array that can be written.`)
    }
    const moment = this.moment(...accesses.map(({ node }) => node))
    const unlock = await this.lock((locks) => {
      for (const { node, mode } of accesses) this.ask(node, mode, locks, moment)
    })
    this.inUse.add(accesses)
    try {
      const storages: Storage[] = []
      for (const { node, mode } of accesses) storages.push(await this.compute(node, moment, { ...options, mode }))
      const written = accesses.filter(({ mode }) => mode === 'write').map(({ node }) => this.cellOf(node))
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

  /** The storages that a pass was given, as it has left them: what is written has another version from now on, and may lie elsewhere. */
  betweenPasses(accesses: readonly Access[], given: readonly Storage[]): readonly Storage[] {
    return accesses.map(({ node, mode }, i) => {
      if (mode === 'read') return given[i] as Storage // one access, one storage
      const cell = this.cellOf(node)
      cell.wrote()
      if (cell.storage === undefined) throw new Bug(`${cell.label} has lost its storage between two passes of a run.`)
      return cell.storage
    })
  }

  /** Puts other storage in place of an array's that is locked for writing, as after inserts; the old one is freed. */
  replaceStorage(node: LogicalPlan, storage: Storage): void {
    this.replace(this.cellOf(node), storage)
  }

  /** After a loop failed: reading the array throws until all of it is assigned. */
  markLost(node: LogicalPlan, why: string): void {
    const cell = this.cellOf(node)
    cell.gone = () =>
      new TaskError(
        `${cell.label} was being written by a loop that failed (${why}), and holds a part of that pass. Assign all of it, or run the loop with { atomic: true }.`,
      )
    cell.version++
  }

  /** A copy of what an array that is locked for writing holds, to be put back when a pass fails. */
  snapshot(node: LogicalPlan): { restore(): void; free(): void } {
    const cell = this.cellOf(node)
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
        } else this.replace(cell, copy)
        cell.version++
      },
      free: () => {
        if (!used) freeStorage(copy)
      },
    }
  }

  /** Puts storage under a new node, whose elements nothing else makes. */
  give(node: LogicalPlan, storage: Storage): void {
    this.cellOf(node).storage = storage
  }

  /** Frees the array's storage when no one uses it; what was written in place is gone with it. */
  async release(node: LogicalPlan): Promise<void> {
    const cell = this.cellOf(node)
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

  private cellOf(node: LogicalPlan): Cell {
    let cell = this.cells.get(node)
    if (cell === undefined) this.cells.set(node, (cell = new Cell(++this.lastId, node)))
    return cell
  }

  /** The topmost nodes with storage, or that are to have some: the leaves of the resolved plan. */
  private frontier(tops: readonly LogicalPlan[], moment: Moment): LogicalPlan[] {
    const found = new Set<LogicalPlan>()
    const walk = (node: LogicalPlan): void => {
      if (node.kind === 'Stored') return
      if (this.isLeaf(node, moment)) found.add(node)
      else for (const input of inputsOf(node)) walk(input)
    }
    for (const top of tops) walk(top)
    return [...found]
  }

  private isLeaf(node: LogicalPlan, moment: Moment): boolean {
    return node.kind === 'Array' || node.kind === 'Materialize' || this.cells.get(node)?.owned === true || this.hasStorage(node, moment)
  }

  /** The plan with storage for leaves, and functions as they are at the moment. */
  private replaced(plan: LogicalPlan, storages: ReadonlyMap<LogicalPlan, Storage>, moment: Moment): LogicalPlan {
    const done = new Map<LogicalPlan, LogicalPlan>()
    const walk = (node: LogicalPlan): LogicalPlan => {
      let other = done.get(node)
      if (other === undefined) {
        const storage = storages.get(node)
        other =
          storage === undefined ? this.over(withFunctions(node, moment.now), inputsOf(node).map(walk)) : this.storedLeaf(node, storage)
        done.set(node, other)
      }
      return other
    }
    return walk(plan)
  }

  /** The node over its inputs as they are stored, which may be known by now. */
  private over(node: LogicalPlan, inputs: readonly LogicalPlan[]): LogicalPlan {
    const before = inputsOf(node)
    const isKnownBetter = inputs.some(({ element, keys }, i) => {
      const old = before[i] as LogicalPlan // as many as before
      return (element !== old.element && !sameElement(element, old.element)) || keysText(keys) !== keysText(old.keys)
    })
    return isKnownBetter ? this.retype(node, inputs) : withInputs(node, inputs)
  }

  private storedLeaf(node: LogicalPlan, storage: Storage): LogicalPlan {
    const element = isKnown(node.element) ? node.element : elementOfStorage(storage)
    const keys =
      node.keys.kind === 'explicit' && storage.kind !== 'table'
        ? { ...node.keys, shape: storage.shape, dense: storage.kind === 'dense' }
        : node.keys
    return { kind: 'Stored', element, keys, name: this.cellOf(node).label, storage }
  }

  /** The versions of the arrays that a lazy node is computed from, and the names of the functions on the way. */
  private basisOf(node: LogicalPlan, moment: Moment): string {
    const parts = new Set<string>()
    const through = (one: LogicalPlan): void => {
      for (const f of functionsOf(one)) parts.add(moment.nameOf(f))
      for (const input of inputsOf(one)) walk(input)
    }
    const walk = (one: LogicalPlan): void => {
      if (one.kind === 'Array' || one.kind === 'Materialize' || this.cells.get(one)?.owned === true) {
        const cell = this.cellOf(one)
        parts.add(`${cell.id}:${cell.version}`)
      } else through(one)
    }
    through(node)
    return [...parts].sort().join(' ')
  }

  /** Whether there is storage that holds what the node holds now. */
  private hasStorage(node: LogicalPlan, moment: Moment): boolean {
    if (node.kind === 'Stored') return true
    const cell = this.cells.get(node)
    return cell?.storage !== undefined && (cell.owned || cell.basis === this.basisOf(node, moment))
  }

  /** The storage that holds what a node holds now; undefined where there is none yet, or any more, unless it may be gone. */
  private stored(node: LogicalPlan, moment: Moment, allowGone = false): Storage | undefined {
    if (node.kind === 'Stored') return node.storage
    const { gone, storage } = this.cellOf(node)
    return (gone === undefined || allowGone) && storage !== undefined && this.hasStorage(node, moment) ? storage : undefined
  }

  /** The storage of a node that is locked and about to be used, with what it is owed. */
  private async compute(node: LogicalPlan, moment: Moment, options: Computing = {}): Promise<Storage> {
    const storage = await this.storageFor(node, moment, options)
    const kept = this.cells.get(node)?.kept
    if (kept !== undefined) await this.ledger?.use(kept, storage, options.by ?? 'program')
    if (this.elsewhere !== undefined && options.stays !== true)
      await this.elsewhere.use(storage, options.inPieces === true ? 'pieces' : (options.mode ?? 'read'))
    return storage
  }

  /** The storage of a node that is locked; concurrent readers share one computation. */
  private async storageFor(node: LogicalPlan, moment: Moment, { allowGone = false, build }: Computing = {}): Promise<Storage> {
    const stored = this.stored(node, moment, allowGone)
    if (stored !== undefined) return stored
    const cell = this.cellOf(node)
    if (cell.gone !== undefined && !(allowGone && cell.storage !== undefined)) throw cell.gone()
    const basis = cell.owned ? '' : this.basisOf(node, moment)
    if (cell.computing?.basis !== basis) cell.computing = { basis, storage: this.computeAnew(node, cell, moment, build) }
    const { computing } = cell
    try {
      return await computing.storage
    } finally {
      if (cell.computing === computing) cell.computing = undefined
    }
  }

  private async computeAnew(node: LogicalPlan, cell: Cell, moment: Moment, build: LogicalPlan | undefined): Promise<Storage> {
    const basis = this.basisOf(node, moment)
    const storage = await this.materialized(node, moment, build)
    // readers of the old storage, if there are others, leave it to the garbage collector
    if (cell.storage !== undefined && cell.lock.holders === 1) {
      await this.elsewhere?.use(cell.storage, 'write')
      freeStorage(cell.storage)
    }
    cell.storage = storage
    cell.basis = basis
    if (node.kind !== 'Array') cell.built++
    return storage
  }

  /** New storage of what a node holds now. What it is computed from is locked. */
  private async materialized(node: LogicalPlan, moment: Moment, build?: LogicalPlan): Promise<Storage> {
    // several processes may have it among them
    if (node.kind === 'Array')
      return this.elsewhere !== undefined && isMade(node) ? partedStorage(node, this.arena) : makeArray(node, this.arena)
    const source = node.kind === 'Materialize' ? node.input : node
    const form = { name: this.cellOf(node).label, keys: node.keys, element: node.element, ...storageAskedFor(source) }
    if (build !== undefined) return await this.index(build, form)
    const resolved = await this.resolved(source, node.kind === 'Materialize' ? [source] : inputsOf(node), moment)
    // an array's storage as it is, but not the same: the copy is written independently
    if (resolved.kind === 'Stored') return copyStorage(resolved.storage, this.arena, form.name)
    return await this.index({ kind: 'IndexBuild', input: resolved, element: resolved.element, keys: resolved.keys }, form)
  }

  private replace(cell: Cell, storage: Storage): void {
    const old = cell.storage
    if (old === storage) return
    cell.storage = storage
    if (old !== undefined) freeStorage(old)
  }

  /** The plan with the storage of all nodes below `tops` that have or own some. They are locked. */
  private async resolved(plan: LogicalPlan, tops: readonly LogicalPlan[], moment: Moment): Promise<LogicalPlan> {
    const storages = new Map<LogicalPlan, Storage>()
    for (const node of this.frontier(tops, moment)) storages.set(node, await this.compute(node, moment))
    return this.replaced(plan, storages, moment)
  }

  /** The locks for using an array: its own, and while it has no storage those of what it is computed from. */
  private ask(node: LogicalPlan, mode: LockMode, locks: Map<Cell, LockMode>, moment: Moment): void {
    if (node.kind === 'Stored') return
    const cell = this.cellOf(node)
    if (locks.get(cell) !== 'write') locks.set(cell, mode)
    if (!this.hasStorage(node, moment)) for (const input of inputsOf(node)) this.askBelow(input, locks, moment)
  }

  /** The locks for running a plan. */
  private askBelow(plan: LogicalPlan, locks: Map<Cell, LockMode>, moment: Moment): void {
    const seen = new Set<LogicalPlan>()
    const walk = (node: LogicalPlan): void => {
      if (seen.has(node)) return
      seen.add(node)
      if (this.isLeaf(node, moment)) this.ask(node, 'read', locks, moment)
      else for (const input of inputsOf(node)) walk(input)
    }
    walk(plan)
  }

  /** Asks for all locks at once, and again should other ones be needed by the time they are granted. */
  private async lock(ask: (locks: Map<Cell, LockMode>) => void): Promise<() => void> {
    for (;;) {
      const locks = new Map<Cell, LockMode>()
      ask(locks)
      // queued in this very moment: two runs stand in the same order in all queues they share
      const unlock = takeFree(locks)
      if (unlock !== undefined) return unlock
      const leave = unlocking(await Promise.all([...locks].map(([cell, mode]) => cell.lock.acquire(mode))))
      const needed = new Map<Cell, LockMode>()
      ask(needed)
      if ([...needed].every(([cell, mode]) => locks.get(cell) === 'write' || locks.get(cell) === mode)) return leave
      leave()
    }
  }
}

interface Computing {
  /** What a failed loop has left may be read. */
  readonly allowGone?: boolean
  /** The `IndexBuild` of a query's plan, over the node's inputs as they are stored. */
  readonly build?: LogicalPlan | undefined
  /** A pass that a checkpoint records. */
  readonly by?: 'pass'
  /** What other processes have of it stays there: whoever asks for it will see to that. */
  readonly stays?: boolean
  readonly mode?: LockMode
  /** Elements are copied out of it: not all of it need be here. */
  readonly inPieces?: boolean
}

function lookupOf(array: LogicalPlan, selectors: readonly Selector[]): LogicalPlan {
  return { kind: 'IndexLookup', input: array, selectors, element: array.element, keys: thinned(array.keys) }
}

async function nothingToBuild(build: LogicalPlan): Promise<Storage> {
  throw new Bug(`Storage needs no index:\n${planText(build)}`)
}

/** Takes locks that are all free, so that nothing can change before they are held; undefined where one is not. */
function takeFree(locks: ReadonlyMap<Cell, LockMode>): (() => void) | undefined {
  for (const [{ lock }, mode] of locks) if (!lock.isFree(mode)) return undefined
  const leavers: (() => void)[] = []
  for (const [{ lock }, mode] of locks) leavers.push(lock.take(mode))
  return unlocking(leavers)
}

function unlocking(leavers: readonly (() => void)[]): () => void {
  return () => {
    for (const leave of leavers) leave()
  }
}
