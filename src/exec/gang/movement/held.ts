/** The rows of distributed arrays that the process of the program holds in memory: those that its own blocks touch. */
import type { Storage } from '../../../core/arrays/storage.ts'
import { partsOf } from '../../arrays/parted.ts'
import type { Arena } from '../../memory/arena.ts'
import { bytesOfStorage } from '../storageWire.ts'
import { HOME, type Process } from './belongings.ts'
import { type Placement, rowsOf } from './placement.ts'
import { type Residence, rowsWith } from './residence.ts'
import type { Ends } from './transfers.ts'

/**
 * Holds, before a pass, the rows that kernels reach, or all of an array where more is needed. They stay where they are until the function
 * that it returns is called, whatever passes at the same time need. Throws MemoryError.
 */
export function holdRows(
  placement: Placement,
  { ends, reachesParts }: { readonly ends: Ends; readonly reachesParts: boolean },
): () => void {
  const held = placement.arrays.flatMap((placed) => {
    const parts = placed.storage.kind === 'dense' ? partsOf(placed.storage) : undefined
    return parts === undefined ? [] : { placed, parts }
  })
  for (const { placed, parts } of held) {
    if (placed.kind === 'boxes' && reachesParts && (ends === 'needed' || !placed.isWritten)) {
      const { from, to } = rowsOf(placed, placement, 0)
      parts.hold(from, to)
    } else parts.whole()
    if (placed.isWritten) parts.isWritten = true
  }
  const leaves = held.map(({ parts }) => parts.stay())
  return () => {
    for (const leave of leaves) leave()
  }
}

/** Frees, after a pass, pages beside the held rows whose last values lie elsewhere. No other pass under way may use these arrays. */
export function letGo(residences: ReadonlyMap<Storage, Residence<Process>>): void {
  for (const [storage, residence] of residences) {
    if (storage.kind === 'dense') partsOf(storage)?.keepPages(rowsWith(residence, HOME))
  }
}

/** The labels of a loop's distributed arrays if this process has no memory for all of them as a whole; undefined if it has. */
export function tooLarge({ arrays }: Placement, { budgetBytes, usedBytes }: Arena): string | undefined {
  const apart = arrays.filter(({ storage }) => storage.kind === 'dense' && storage.parts?.isWhole === false)
  const bytes = apart.reduce((sum, { storage }) => sum + bytesOfStorage(storage), 0)
  return bytes > budgetBytes - usedBytes ? apart.map(({ label }) => label).join(' and ') : undefined
}
