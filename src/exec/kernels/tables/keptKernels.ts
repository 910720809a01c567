/** Keeps kernels by what they are made for: writing one takes longer than running it over some thousand rows. */
import type { KernelModule } from '../../kir/kernelModule.ts'

/** The most kernels that are kept of one kind; the oldest are dropped. */
const MOST_KEPT = 64

/** Returns the function, which makes one kernel for equal shapes; shapes are plain data. */
export function keptByShape<S>(make: (shape: S) => KernelModule): (shape: S) => KernelModule {
  const kept = new Map<string, KernelModule>()
  return (shape) => {
    const key = JSON.stringify(shape)
    const made = kept.get(key) ?? make(shape)
    if (!kept.has(key)) kept.set(key, made)
    for (const old of kept.keys()) {
      if (kept.size <= MOST_KEPT) break
      kept.delete(old)
    }
    return made
  }
}
