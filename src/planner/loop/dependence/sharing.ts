/**
 * Selects the accesses that order iterations at all.
 *
 * Additions to an array that the loop only adds to do not: by writing `add` the user says that their order does not
 * matter. Neither do accesses through an update buffer, whose reads see the last flush and whose adds apply at the
 * next, unless the loop also accesses the array behind the buffer: then a flush could be seen, and nothing is known.
 * Neither do reads of what the same iteration wrote just before.
 */
import type { LoopSpec } from '../../../core/loop/loopSpec.ts'
import type { Refusal } from '../../../core/span.ts'
import type { Access } from '../accesses/accesses.ts'

/** Returns the identities of the arrays that are only added to, never through a buffer. */
export function reducedArraysOf(accesses: readonly Access[]): number[] {
  const arrays = [...new Set(accesses.map((access) => access.array))].sort((a, b) => a - b)
  return arrays.filter((array) => accesses.every((access) => access.array !== array || (access.mode === 'add' && !access.buffered)))
}

/**
 * Returns the accesses between which dependences count; an `add` among them is a read and a write. Reads that see only what their own
 * iteration has written are left out: another access to such an element is in conflict with the write.
 */
export function orderedAccesses(
  accesses: readonly Access[],
  reducedArrays: readonly number[],
  ownReads: ReadonlySet<Access> = new Set(),
): Access[] {
  const direct = new Set(accesses.filter((access) => !access.buffered).map((access) => access.array))
  return accesses.flatMap((access) => {
    if (access.buffered) return direct.has(access.array) ? [{ ...access, ...anyElement(access) }] : []
    if (reducedArrays.includes(access.array)) return []
    if (!ownReads.has(access)) return [access]
    return access.mode === 'add' ? [{ ...access, mode: 'write' as const }] : []
  })
}

/** Returns the access as one to any element at any time, since a flush can touch every element. */
function anyElement(access: Access): Pick<Access, 'subscripts' | 'constraints' | 'exact'> {
  const text = `${access.name} (buffered)`
  return { subscripts: access.subscripts.map(() => ({ kind: 'unknown', text })), constraints: [], exact: false }
}

/** Returns refusals of buffers that flush in the middle of a pass: what an iteration reads then depends on how many ran before it. */
export function delayedBuffers(spec: LoopSpec, accesses: readonly Access[]): Refusal[] {
  const names = [...new Set(accesses.filter((access) => access.buffered).map((access) => access.name))]
  return names.flatMap((name): Refusal[] => {
    const binding = spec.env[name]
    if (binding?.kind !== 'buffer' || binding.maxDelay === undefined || binding.maxDelay === Number.POSITIVE_INFINITY) return []
    const message = `${name} flushes after every ${binding.maxDelay} iterations of the serial order, so iterations run one by one`
    return [{ code: 'buffer-flushes', message, cure: 'Leave out maxDelay: the buffer then flushes once, at the end of the pass.' }]
  })
}
