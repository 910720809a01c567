/** Permutations by counter-based random numbers: fixed by the seed, on whatever thread they are computed. */
import { uniformAt } from '../../../core/arrays/random.ts'

/** A permutation of 0 to length - 1 (Fisher-Yates), fixed by the seed. */
export function permutationOf(length: number, seed: number): Int32Array {
  const permutation = Int32Array.from({ length }, (_, i) => i)
  for (let i = length - 1; i > 0; i--) {
    const j = Math.floor(uniformAt(seed, i) * (i + 1))
    const held = permutation[i] as number // i and j lie inside
    permutation[i] = permutation[j] as number
    permutation[j] = held
  }
  return permutation
}
