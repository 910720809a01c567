/** Names for the contents of arrays, by which a checkpoint compares them. */

import { Bug } from '../../../core/errors.ts'
import type { KeptInput } from '../../../core/loop/checkpoint.ts'
import type { LogicalPlan } from '../../../core/plan/logicalPlan.ts'
import type { Cell } from '../../arrays/cell.ts'
import { digestOf } from '../../ledger/digest.ts'
import type { Ledger, LedgerArray } from '../../ledger/ledger.ts'
import type { Access } from './arrayLocks.ts'
import type { StoredPlans } from './storedPlans.ts'

export class Holdings {
  private readonly plans: StoredPlans

  constructor(plans: StoredPlans) {
    this.plans = plans
  }

  /**
   * The ledger's entries for the arrays that a loop writes, in the order of the accesses, which is the same whenever the program
   * runs.
   */
  keptBy(ledger: Ledger, accesses: readonly Access[]): readonly LedgerArray[] {
    return accesses.flatMap(({ node, mode }) => {
      if (mode === 'read') return []
      const cell = this.plans.cellOf(node)
      const known = new WeakRef(cell) // the ledger must not keep the array from being garbage
      cell.kept ??= ledger.track(cell.label, () => known.deref()?.storage)
      return cell.kept
    })
  }

  /** The names of the contents of arrays, which are locked and have storage. */
  of(accesses: readonly Access[]): readonly KeptInput[] {
    return accesses.map(({ node }) => {
      const cell = this.plans.cellOf(node)
      return { label: cell.label, holds: this.knownHolding(node) ?? this.digestOf(cell) }
    })
  }

  /** The name of an array's contents where recorded passes have made them, or nobody has written them; else undefined: a digest tells. */
  knownHolding(node: LogicalPlan): string | undefined {
    const { kept, version } = this.plans.cellOf(node)
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
}
