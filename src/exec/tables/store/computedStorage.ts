/** Computes the storage of locked nodes, unless they have storage that is still valid. */

import type { Storage } from '../../../core/arrays/storage.ts'
import type { Moment } from '../../../core/moment.ts'
import { inputsOf, type LogicalPlan } from '../../../core/plan/logicalPlan.ts'
import type { Cell } from '../../arrays/cell.ts'
import type { LeftElsewhere } from '../../arrays/leftElsewhere.ts'
import { isMade, type MadeSpec, makeArray, makeZeros } from '../../arrays/makeArray.ts'
import { partedStorage } from '../../arrays/parted.ts'
import type { LockMode } from '../../arrays/rwLock.ts'
import { storageAskedFor } from '../../arrays/storageAskedFor.ts'
import { copyStorage, freeStorage } from '../../arrays/storageBlocks.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Arena } from '../../memory/arena.ts'
import type { ArrayStoreOptions, StoredPlans } from './storedPlans.ts'

export interface Computing {
  /** Whether storage that a failed loop has written partly may be used. */
  readonly allowGone?: boolean
  /** The `IndexBuild` of a query's plan, over the node's stored inputs. */
  readonly build?: LogicalPlan | undefined
  /** Present where a pass that a checkpoint records uses the storage. */
  readonly by?: 'pass' | undefined
  /** Whether the pieces that other processes hold stay there, which the caller deals with. */
  readonly stays?: boolean
  readonly mode?: LockMode
  /** Whether the caller asks for no element of arrays that their description makes. */
  readonly looks?: true | undefined
  /** Whether the caller only copies elements out, so that pieces of the storage may be elsewhere. */
  readonly inPieces?: boolean
}

export class ComputedStorage {
  private readonly plans: StoredPlans
  private readonly arena: Arena
  private readonly index: ArrayStoreOptions['index']
  private readonly ledger: Ledger | undefined
  private readonly elsewhere: LeftElsewhere | undefined
  /** Arrays that somebody has looked at before they were made. */
  private readonly described = new WeakMap<LogicalPlan, Storage>()

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

  /** The storage of a locked node that is about to be used, after the passes of a checkpoint that it still lacks, with pieces brought home. */
  async compute(node: LogicalPlan, moment: Moment, options: Computing = {}): Promise<Storage> {
    if (options.looks === true && node.kind === 'Array' && isMade(node) && this.plans.stored(node, moment) === undefined)
      return this.describedStorage(node)
    const storage = await this.storageFor(node, moment, options)
    const kept = this.plans.known(node)?.kept
    if (kept !== undefined) await this.ledger?.use(kept, storage, options.by ?? 'program')
    if (this.elsewhere !== undefined && options.stays !== true)
      await this.elsewhere.use(storage, options.inPieces === true ? 'pieces' : (options.mode ?? 'read'))
    return storage
  }

  /** Storage without elements. */
  private describedStorage(node: LogicalPlan & MadeSpec): Storage {
    const storage = this.described.get(node) ?? partedStorage(node, this.arena)
    this.described.set(node, storage)
    return storage
  }

  /** The storage of a locked node; concurrent readers share one computation. */
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
    // where there are other readers of the old storage, it is left to the garbage collector
    if (cell.storage !== undefined && cell.lock.holders === 1) {
      await this.elsewhere?.use(cell.storage, 'write')
      freeStorage(cell.storage)
    }
    cell.storage = storage
    cell.basis = basis
    if (node.kind !== 'Array') cell.built++
    return storage
  }

  /** New storage with the elements that a node has at this moment. The arrays that it is computed from are locked. */
  async materialized(node: LogicalPlan, moment: Moment, build?: LogicalPlan): Promise<Storage> {
    // what it is made with is not looked at where a checkpoint has what passes left
    if (node.kind === 'Array' && isMade(node) && this.plans.known(node)?.kept?.isOwed === true)
      return makeZeros(node.shape, node.dtype, node.name, this.arena)
    // with a gang, pieces of it may be on several processes
    if (node.kind === 'Array')
      return this.elsewhere !== undefined && isMade(node) ? partedStorage(node, this.arena) : makeArray(node, this.arena)
    const source = node.kind === 'Materialize' ? node.input : node
    const form = { name: this.plans.cellOf(node).label, keys: node.keys, element: node.element, ...storageAskedFor(source) }
    if (build !== undefined) return await this.index(build, form)
    const resolved = await this.resolved(source, node.kind === 'Materialize' ? [source] : inputsOf(node), moment)
    // a copy of the other array's storage, which can be written independently
    if (resolved.kind === 'Stored') return copyStorage(resolved.storage, this.arena, form.name)
    return await this.index({ kind: 'IndexBuild', input: resolved, element: resolved.element, keys: resolved.keys }, form)
  }

  replace(cell: Cell, storage: Storage): void {
    const old = cell.storage
    if (old === storage) return
    cell.storage = storage
    if (old !== undefined) freeStorage(old)
  }

  /** The plan with `Stored` leaves for the topmost nodes from `tops` down that have or own storage. They are locked. */
  async resolved(plan: LogicalPlan, tops: readonly LogicalPlan[], moment: Moment): Promise<LogicalPlan> {
    const storages = new Map<LogicalPlan, Storage>()
    for (const node of this.plans.frontier(tops, moment)) storages.set(node, await this.compute(node, moment))
    return this.plans.replaced(plan, storages, moment)
  }
}
