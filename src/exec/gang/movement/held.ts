/** What the process that runs the program has of arrays, where several have them among them: what its own blocks touch. */
import type { Storage } from '../../../core/arrays/storage.ts'
import { partsOf } from '../../arrays/parted.ts'
import type { Arena } from '../../memory/arena.ts'
import { bytesOfStorage } from '../storageWire.ts'
import { HOME, type Process } from './belongings.ts'
import { type Placement, rowsOf } from './placement.ts'
import { type Residence, rowsWith } from './residence.ts'
import type { Ends } from './transfers.ts'

/**
 * Before a pass: rows that kernels reach, or where more than these is needed, all of an array. They stay where they are until what it gives
 * is called, whatever passes at the same time need. Throws MemoryError.
 */
export function holdRows(
  { arrays, order }: Placement,
  { ends, reachesParts }: { readonly ends: Ends; readonly reachesParts: boolean },
): () => void {
  const held = arrays.flatMap((placed) => {
    const parts = placed.storage.kind === 'dense' ? partsOf(placed.storage) : undefined
    return parts === undefined ? [] : { placed, parts }
  })
  for (const { placed, parts } of held) {
    if (placed.kind === 'boxes' && reachesParts && (ends === 'needed' || !placed.isWritten)) {
      const { from, to } = rowsOf(placed, order, 0)
      parts.hold(from, to)
    } else parts.whole()
    if (placed.isWritten) parts.isWritten = true
  }
  const leaves = held.map(({ parts }) => parts.stay())
  return () => {
    for (const leave of leaves) leave()
  }
}

/** After a pass: what lies beside these rows, is somewhere else by now, and is of no other pass under way. */
export function letGo(residences: ReadonlyMap<Storage, Residence<Process>>): void {
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
