/** Knows which nodes of plans have or will have storage, and whether it is valid; makes plans over storage. */

import { elementOfStorage, type Storage } from '../../../core/arrays/storage.ts'
import type { UserFunction } from '../../../core/ir/functionIr.ts'
import { type Moment, SAME_FUNCTIONS } from '../../../core/moment.ts'
import { isKnown, keysText, sameElement } from '../../../core/plan/elements.ts'
import { inputsOf, type LogicalPlan, withInputs } from '../../../core/plan/logicalPlan.ts'
import { functionsOf, withFunctions } from '../../../core/plan/tree.ts'
import { Cell } from '../../arrays/cell.ts'
import type { StorageForm } from '../../arrays/fromBatches.ts'
import type { LeftElsewhere } from '../../arrays/leftElsewhere.ts'
import { isMade, type MadeSpec } from '../../arrays/makeArray.ts'
import { type ScannedSpec, scannedSpec } from '../../arrays/scannedArray.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Arena } from '../../memory/arena.ts'
import type { Executor } from '../executor.ts'

export interface ArrayStoreOptions {
  readonly arena: Arena
  /** Runs an `IndexBuild` over a resolved plan; returns storage in blocks of its own. */
  readonly index: (plan: LogicalPlan, form: StorageForm) => Promise<Storage>
  /** Runs an `IndexLookup` over a resolved plan. Its `index` has the result of an `IndexBuild` in it, or makes it. */
  readonly lookup: Executor['lookup']
  /** Makes a node anew over inputs whose types are known better than when it was made; by default the node keeps its type. */
  readonly retype?: (plan: LogicalPlan, inputs: readonly LogicalPlan[]) => LogicalPlan
  /** Reads the values that functions capture; without it, they stay as they were when the plan was made. */
  readonly moment?: (functions: readonly UserFunction[]) => Moment
  /** The record of passes, where a checkpoint is kept. */
  readonly ledger?: Ledger | undefined
  /** The pieces of arrays that passes on several processes have left there; they come home before an array is used. */
  readonly elsewhere?: LeftElsewhere | undefined
}

export class StoredPlans {
  private readonly moments: NonNullable<ArrayStoreOptions['moment']>
  private readonly retype: NonNullable<ArrayStoreOptions['retype']>
  private readonly cells = new WeakMap<LogicalPlan, Cell>()
  private lastId = 0

  constructor({ moment, retype }: Pick<ArrayStoreOptions, 'moment' | 'retype'>) {
    this.moments = moment ?? (() => SAME_FUNCTIONS)
    this.retype = retype ?? withInputs
  }

  /**
   * The values that the functions of plans capture now, as far as the plans are still to be computed. Taken at the call of an action,
   * which uses this one moment throughout.
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

  /** A number for the array that stays the same as long as the node lives: two names with one identity are one array. */
  identity(node: LogicalPlan): number {
    return this.cellOf(node).id
  }

  /** The array's name in messages. */
  label(node: LogicalPlan): string {
    return this.cellOf(node).label
  }

  /** A key for caches that changes with every write to the array or to one it is computed from, and with the values its functions capture. */
  version(node: LogicalPlan): string {
    const cell = this.cellOf(node)
    return cell.owned ? `${cell.id}:${cell.version}` : this.basisOf(node, this.moment(node))
  }

  /** The constructor call that the array was made by; undefined for other nodes, and once it has been written. */
  made(node: LogicalPlan): MadeSpec | undefined {
    if (node.kind !== 'Array' || this.cellOf(node).version !== 0) return undefined
    const { name, shape, dtype, init } = node
    const spec = { name, shape, dtype, init }
    return isMade(spec) ? spec : undefined
  }

  /** The plan by which another process can compute the array; undefined where it cannot, and once the array has been written. */
  scanned(node: LogicalPlan): ScannedSpec | undefined {
    return this.cellOf(node).version === 0 ? scannedSpec(node, this.label(node), this.moment(node)) : undefined
  }

  /** The cell of a node; undefined where none has been made yet. */
  known(node: LogicalPlan): Cell | undefined {
    return this.cells.get(node)
  }

  cellOf(node: LogicalPlan): Cell {
    let cell = this.cells.get(node)
    if (cell === undefined) this.cells.set(node, (cell = new Cell(++this.lastId, node)))
    return cell
  }

  /** The topmost nodes that have or will have storage: the leaves of the resolved plan. */
  frontier(tops: readonly LogicalPlan[], moment: Moment): LogicalPlan[] {
    const found = new Set<LogicalPlan>()
    const walk = (node: LogicalPlan): void => {
      if (node.kind === 'Stored') return
      if (this.isLeaf(node, moment)) found.add(node)
      else for (const input of inputsOf(node)) walk(input)
    }
    for (const top of tops) walk(top)
    return [...found]
  }

  isLeaf(node: LogicalPlan, moment: Moment): boolean {
    return node.kind === 'Array' || node.kind === 'Materialize' || this.cells.get(node)?.owned === true || this.hasStorage(node, moment)
  }

  /** The plan with storage for leaves, and functions with the values they capture at this moment. */
  replaced(plan: LogicalPlan, storages: ReadonlyMap<LogicalPlan, Storage>, moment: Moment): LogicalPlan {
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

  /** The node over its stored inputs, whose types may be known only now. */
  private over(node: LogicalPlan, inputs: readonly LogicalPlan[]): LogicalPlan {
    const before = inputsOf(node)
    const isKnownBetter = inputs.some(({ element, keys }, i) => {
      const old = before[i] as LogicalPlan // as many as before
      return (element !== old.element && !sameElement(element, old.element)) || keysText(keys) !== keysText(old.keys)
    })
    return isKnownBetter ? this.retype(node, inputs) : withInputs(node, inputs)
  }

  storedLeaf(node: LogicalPlan, storage: Storage): LogicalPlan {
    const element = isKnown(node.element) ? node.element : elementOfStorage(storage)
    const keys =
      node.keys.kind === 'explicit' && storage.kind !== 'table'
        ? { ...node.keys, shape: storage.shape, dense: storage.kind === 'dense' }
        : node.keys
    return { kind: 'Stored', element, keys, name: this.cellOf(node).label, storage }
  }

  /** The versions of the arrays that a lazy node is computed from, and the names of the functions on the way: equal as long as its elements are. */
  basisOf(node: LogicalPlan, moment: Moment): string {
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

  /** Whether a node has valid storage: it owns it, or nothing below it has changed since it was computed. */
  hasStorage(node: LogicalPlan, moment: Moment): boolean {
    if (node.kind === 'Stored') return true
    const cell = this.cells.get(node)
    return cell?.storage !== undefined && (cell.owned || cell.basis === this.basisOf(node, moment))
  }

  /** The valid storage of a node; undefined where there is none, and where a failed loop has written it partly, unless `allowGone`. */
  stored(node: LogicalPlan, moment: Moment, allowGone = false): Storage | undefined {
    if (node.kind === 'Stored') return node.storage
    const { gone, storage } = this.cellOf(node)
    return (gone === undefined || allowGone) && storage !== undefined && this.hasStorage(node, moment) ? storage : undefined
  }
}
