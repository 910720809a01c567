/** Which nodes of plans have storage, or are to have some, what it was computed of, and what plans over it are. */

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

  /** What computes the array in another process, as long as nobody has written it. */
  scanned(node: LogicalPlan): ScannedSpec | undefined {
    return this.cellOf(node).version === 0 ? scannedSpec(node, this.label(node), this.moment(node)) : undefined
  }

  /** What is known of a node; undefined where nobody has asked for it. */
  known(node: LogicalPlan): Cell | undefined {
    return this.cells.get(node)
  }

  cellOf(node: LogicalPlan): Cell {
    let cell = this.cells.get(node)
    if (cell === undefined) this.cells.set(node, (cell = new Cell(++this.lastId, node)))
    return cell
  }

  /** The topmost nodes with storage, or that are to have some: the leaves of the resolved plan. */
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

  /** The plan with storage for leaves, and functions as they are at the moment. */
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

  /** The node over its inputs as they are stored, which may be known by now. */
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

  /** The versions of the arrays that a lazy node is computed from, and the names of the functions on the way. */
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

  /** Whether there is storage that holds what the node holds now. */
  hasStorage(node: LogicalPlan, moment: Moment): boolean {
    if (node.kind === 'Stored') return true
    const cell = this.cells.get(node)
    return cell?.storage !== undefined && (cell.owned || cell.basis === this.basisOf(node, moment))
  }

  /** The storage that holds what a node holds now; undefined where there is none yet, or any more, unless it may be gone. */
  stored(node: LogicalPlan, moment: Moment, allowGone = false): Storage | undefined {
    if (node.kind === 'Stored') return node.storage
    const { gone, storage } = this.cellOf(node)
    return (gone === undefined || allowGone) && storage !== undefined && this.hasStorage(node, moment) ? storage : undefined
  }
}
