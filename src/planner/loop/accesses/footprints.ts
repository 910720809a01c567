/**
 * Footprints: the part of an array that an iteration can touch. Along each of the array's axes a range that moves with the key, as rows
 * `i` up to `i + 1` of `g.get(i + 1, j)`. What is known here holds for every iteration; an access may also touch less.
 */
import type { Footprint, LoopSpec, Reach } from '../../../core/loop/loopSpec.ts'
import type { Access, Subscript } from './accesses.ts'
import { type Form, rangeOf } from './affine.ts'

/** Returns the footprints of all accesses that are not added to copies or buffered, without duplicates. */
export function footprintsOf({ over }: LoopSpec, accesses: readonly Access[], reduced: readonly number[]): readonly Footprint[] {
  const found = new Map<string, Footprint>()
  for (const { array, mode, subscripts, buffered } of accesses) {
    if (buffered || reduced.includes(array)) continue
    const footprint: Footprint = { array, writes: mode !== 'read', along: subscripts.map((one) => reachOf(one, over.rank)) }
    found.set(JSON.stringify(footprint), footprint)
  }
  return [...found.values()]
}

function reachOf(subscript: Subscript, rank: number): Reach | 'any' {
  if (subscript.kind === 'unknown') return 'any'
  const { terms, offset } = subscript.form
  const key = new Array<number>(rank).fill(0)
  const rest: Form['terms'][number][] = []
  for (const term of terms) {
    const { variable, factor } = term
    if (variable.kind === 'distinct') return 'any' // its bounds are not known
    if (variable.kind === 'key') key[variable.axis] = factor
    else rest.push(term)
  }
  const [low, high] = rangeOf({ terms: rest, offset })
  return Number.isSafeInteger(low) && Number.isSafeInteger(high) ? { key, low, high } : 'any'
}
