/** The arenas of laws: of 32-bit addresses, or of 64-bit ones with all data above 4 GiB, as `memory64.prop.ts` asks. */
import { createArena, type SharedArena } from '../src/exec/memory/sharedArena.ts'

/** Above what 32 bits reach, and above it again as a signed number. */
const PAD_BYTES = 6.5 * 2 ** 30

let isAbove = false

/** From here on all data of laws lie above 4 GiB. */
export function layAboveFourGiB(): void {
  isAbove = true
}

/** An arena with so much room. Pages that nobody touches cost nothing. */
export function lawArena(budgetBytes: number): SharedArena {
  if (!isAbove) return createArena({ budgetBytes })
  const arena = createArena({ budgetBytes: budgetBytes + PAD_BYTES + 64, addresses: 'i64' })
  arena.reserve(PAD_BYTES, 'the law')
  return arena
}
