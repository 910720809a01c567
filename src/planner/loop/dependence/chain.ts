/**
 * Recognizes loops that are one chain whatever the data: every iteration needs the one before, so that there is nothing to inspect.
 *
 *     a[i] = a[i - 1]        the next iteration, from the first on
 *     a[i] = f(a[0 … i])     the same, among others
 *     s[0] = s[0] + x[i]     everybody touches one element
 *
 * What it finds is a reason not to look, never a schedule: a chain that is none costs speed only.
 */
import type { LoopSpec } from '../../../core/loop/loopSpec.ts'
import type { Access } from '../accesses/accesses.ts'
import { collisionOf } from './collision.ts'
import type { Conflict } from './dependence.ts'
import { TooLarge } from './rows.ts'

/** Work limit of the search for neighbours in conflict, in units of `Budget`. */
const BUDGET = 1_000

/** Whether the loop is a chain. `guardsCount`: the slice keeps all guards, so the inspector may find that an access does not happen. */
export function isChain(spec: LoopSpec, conflicts: readonly Conflict[], { guardsCount }: { readonly guardsCount: boolean }): boolean {
  return conflicts.some(({ from, to, decided }) => {
    if (isOneElement(from) && isOneElement(to) && (decided || !guardsCount)) return true
    return decided && neighboursMeet(spec, from, to)
  })
}

/** Whether an access touches the same element in every iteration, under no condition. */
function isOneElement({ subscripts, constraints }: Access): boolean {
  return constraints.length === 0 && subscripts.every((subscript) => subscript.kind === 'affine' && subscript.form.terms.length === 0)
}

/** Whether, along the only axis of more than one index, the first or second iteration is in conflict with its successor. */
function neighboursMeet(spec: LoopSpec, from: Access, to: Access): boolean {
  const { rank, extents } = spec.over
  const [axis, other] = extents.flatMap((extent, at) => (extent === 1 ? [] : [at]))
  if (axis === undefined || other !== undefined) return false
  try {
    return collisionOf(spec, from, to).systems.some((system) => {
      const least = system
        .copy()
        .equal(rank + axis, axis, 1)
        .least({ left: BUDGET })
      return typeof least !== 'string' && (least[axis] ?? 0) <= 1
    })
  } catch (error) {
    if (error instanceof TooLarge) return false
    throw error
  }
}
