/** Storage of nodes that are locked: as it is where it holds what the node holds now, else computed anew. */

import type { Storage } from '../../../core/arrays/storage.ts'
import type { Moment } from '../../../core/moment.ts'
import { inputsOf, type LogicalPlan } from '../../../core/plan/logicalPlan.ts'
import type { Cell } from '../../arrays/cell.ts'
import type { LeftElsewhere } from '../../arrays/leftElsewhere.ts'
import { isMade, makeArray } from '../../arrays/makeArray.ts'
import { partedStorage } from '../../arrays/parted.ts'
import type { LockMode } from '../../arrays/rwLock.ts'
import { storageAskedFor } from '../../arrays/storageAskedFor.ts'
import { copyStorage, freeStorage } from '../../arrays/storageBlocks.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Arena } from '../../memory/arena.ts'
import type { ArrayStoreOptions, StoredPlans } from './storedPlans.ts'

export interface Computing {
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

export class ComputedStorage {
  private readonly plans: StoredPlans
  private readonly arena: Arena
  private readonly index: ArrayStoreOptions['index']
  private readonly ledger: Ledger | undefined
  private readonly elsewhere: LeftElsewhere | undefined

  constructor(
    plans: StoredPlans,
    { arena, index, ledger, elsewhere }: Pick<ArrayStoreOptions, 'arena' | 'index' | 'ledger' | 'elsewhere'>,
  ) {
    this.plans = plans
    this.arena = arena
    this.index = index
    this.ledger = ledger
    this.elsewhere = elsewhere
  }

  /** The storage of a node that is locked and about to be used, with what it is owed. */
  async compute(node: LogicalPlan, moment: Moment, options: Computing = {}): Promise<Storage> {
    const storage = await this.storageFor(node, moment, options)
    const kept = this.plans.known(node)?.kept
    if (kept !== undefined) await this.ledger?.use(kept, storage, options.by ?? 'program')
    if (this.elsewhere !== undefined && options.stays !== true)
      await this.elsewhere.use(storage, options.inPieces === true ? 'pieces' : (options.mode ?? 'read'))
    return storage
  }

  /** The storage of a node that is locked; concurrent readers share one computation. */
  async storageFor(node: LogicalPlan, moment: Moment, { allowGone = false, build }: Computing = {}): Promise<Storage> {
    const stored = this.plans.stored(node, moment, allowGone)
    if (stored !== undefined) return stored
    const cell = this.plans.cellOf(node)
    if (cell.gone !== undefined && !(allowGone && cell.storage !== undefined)) throw cell.gone()
    const basis = cell.owned ? '' : this.plans.basisOf(node, moment)
    if (cell.computing?.basis !== basis) cell.computing = { basis, storage: this.computeAnew(node, cell, moment, build) }
    const { computing } = cell
    try {
      return await computing.storage
    } finally {
      if (cell.computing === computing) cell.computing = undefined
    }
  }

  private async computeAnew(node: LogicalPlan, cell: Cell, moment: Moment, build: LogicalPlan | undefined): Promise<Storage> {
    const basis = this.plans.basisOf(node, moment)
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
  async materialized(node: LogicalPlan, moment: Moment, build?: LogicalPlan): Promise<Storage> {
    // several processes may have it among them
    if (node.kind === 'Array')
      return this.elsewhere !== undefined && isMade(node) ? partedStorage(node, this.arena) : makeArray(node, this.arena)
    const source = node.kind === 'Materialize' ? node.input : node
    const form = { name: this.plans.cellOf(node).label, keys: node.keys, element: node.element, ...storageAskedFor(source) }
    if (build !== undefined) return await this.index(build, form)
    const resolved = await this.resolved(source, node.kind === 'Materialize' ? [source] : inputsOf(node), moment)
    // an array's storage as it is, but not the same: the copy is written independently
    if (resolved.kind === 'Stored') return copyStorage(resolved.storage, this.arena, form.name)
    return await this.index({ kind: 'IndexBuild', input: resolved, element: resolved.element, keys: resolved.keys }, form)
  }

  replace(cell: Cell, storage: Storage): void {
    const old = cell.storage
    if (old === storage) return
    cell.storage = storage
    if (old !== undefined) freeStorage(old)
  }

  /** The plan with the storage of all nodes below `tops` that have or own some. They are locked. */
  async resolved(plan: LogicalPlan, tops: readonly LogicalPlan[], moment: Moment): Promise<LogicalPlan> {
    const storages = new Map<LogicalPlan, Storage>()
    for (const node of this.plans.frontier(tops, moment)) storages.set(node, await this.compute(node, moment))
    return this.plans.replaced(plan, storages, moment)
  }
}
