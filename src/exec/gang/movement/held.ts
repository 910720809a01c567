/** What the process that runs the program has of arrays, where several have them among them: what its own blocks touch. */
import type { Storage } from '../../../core/arrays/storage.ts'
import { partsOf } from '../../arrays/parted.ts'
import type { Arena } from '../../memory/arena.ts'
import { bytesOfStorage } from '../storageWire.ts'
import { HOME, type Process } from './belongings.ts'
import { type Placement, rowsOf } from './placement.ts'
import { type Residence, rowsWith } from './residence.ts'
import type { Ends } from './transfers.ts'

/** Before a pass: rows that kernels reach, or where more than these is needed, all of an array. Throws MemoryError. */
export function holdRows(
  { arrays, order }: Placement,
  { ends, reachesParts }: { readonly ends: Ends; readonly reachesParts: boolean },
): void {
  for (const placed of arrays) {
    const parts = placed.storage.kind === 'dense' ? partsOf(placed.storage) : undefined
    if (parts === undefined) continue
    if (placed.kind === 'boxes' && reachesParts && (ends === 'needed' || !placed.isWritten)) {
      const { from, to } = rowsOf(placed, order, 0)
      parts.hold(from, to)
    } else parts.whole()
    if (placed.isWritten) parts.isWritten = true
  }
}

/** After a pass: what lies beside these rows and is somewhere else by now. */
export function letGo(residences: ReadonlyMap<Storage, Residence<Process>> = new Map()): void {
  for (const [storage, residence] of residences) {
    if (storage.kind === 'dense') partsOf(storage)?.keepPages(rowsWith(residence, HOME))
  }
}

/** Arrays of a loop for all of which there is no memory in this process, by their labels. */
export function tooLarge({ arrays }: Placement, { budgetBytes, usedBytes }: Arena): string | undefined {
  const apart = arrays.filter(({ storage }) => storage.kind === 'dense' && storage.parts?.isWhole === false)
  const bytes = apart.reduce((sum, { storage }) => sum + bytesOfStorage(storage), 0)
  return bytes > budgetBytes - usedBytes ? apart.map(({ label }) => label).join(' and ') : undefined
}
