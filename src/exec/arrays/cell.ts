/** The array store's record of one plan node: its storage, whether that is the node's own, and who uses it. */

import type { Storage } from '../../core/arrays/storage.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import type { LedgerArray } from '../ledger/ledger.ts'
import { labelOf } from './label.ts'
import { RwLock } from './rwLock.ts'

export class Cell {
  readonly id: number
  readonly label: string
  readonly lock: RwLock = new RwLock()
  owned: boolean
  storage: Storage | undefined
  /** The versions of the arrays below from which a kept storage was computed. */
  basis = ''
  /** The computation of the storage that is under way, from the versions that its `basis` names. */
  computing: { readonly basis: string; readonly storage: Promise<Storage> } | undefined
  version = 0
  written = false
  /** Makes the error that reading throws, once what the array held is gone; undefined before. */
  gone: (() => Error) | undefined
  /** The ledger's record of the array, where a checkpoint is kept and loops write the array. */
  kept: LedgerArray | undefined
  /** The digest of what the storage held at a version. */
  digest: { readonly of: Storage; readonly version: number; readonly text: string } | undefined
  built = 0
  queries = 0
  constructor(id: number, node: LogicalPlan) {
    this.id = id
    this.label = labelOf(node)
    this.owned = node.kind === 'Array' || node.kind === 'Materialize'
  }
  wrote(): void {
    this.version++
    this.written = true
  }
}
