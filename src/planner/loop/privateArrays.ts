/**
 * Array privatization: finds scratch arrays of which each worker can have a copy of its own.
 *
 *     for k: tmp[k] = a[i, k]        every iteration writes tmp[0 … K-1] and reads nothing else of it:
 *     for k: b[i, k] = tmp[K-1-k]    what other iterations leave there does not matter
 *
 * Statement: an array is private if every read of it sees only what its own iteration has written (`ownWrites.ts`), and
 * every iteration writes the same elements, whatever its index and its data. No two iterations then need the array to
 * be one, and after the pass it holds what the iteration left that comes last in the serial order: its copy is the one that stays.
 */

import { sizeOfShape } from '../../core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE } from '../../core/arrays/storage.ts'
import { bytesText } from '../../core/bytesText.ts'
import type { LoopSpec } from '../../core/loop/loopSpec.ts'
import type { Refusal } from '../../core/span.ts'
import type { Access } from './accesses/accesses.ts'
import type { Constraint, Form, Variable } from './accesses/affine.ts'
import { isAmong } from './ownWrites.ts'

/** Most bytes of a private array: every pass reads and writes back the copies, one for each worker. */
export const LARGEST_PRIVATE_BYTES: number = 2 ** 20

export interface PrivateArray {
  /** Identity of the array. */
  readonly array: number
  readonly name: string
  readonly sizeBytes: number
}

export function isSmall({ sizeBytes }: PrivateArray): boolean {
  return sizeBytes <= LARGEST_PRIVATE_BYTES
}

/** Explains why the workers do not have copies. */
export function tooLargeRefusal({ name, sizeBytes }: PrivateArray): Refusal {
  return {
    code: 'private-too-large',
    message: `every iteration starts ${name} anew, but at ${bytesText(sizeBytes)} it is too large for a copy for each worker`,
    cure: `Make ${name} no larger than ${bytesText(LARGEST_PRIVATE_BYTES)}, or give each iteration a part of it.`,
  }
}

/** Returns all arrays of the loop that could be private, whatever their size. */
export function privateArraysOf(spec: LoopSpec, accesses: readonly Access[], ownReads: ReadonlySet<Access>): PrivateArray[] {
  const written = accesses.filter((access) => access.mode === 'write')
  const arrays = [...new Set(written.map((access) => access.array))].filter((array) => array !== spec.over.array)
  return arrays.flatMap((array): PrivateArray[] => {
    const sizeBytes = sizeOf(spec, array)
    const all = accesses.filter((access) => access.array === array)
    if (sizeBytes !== undefined && isLocal(spec, array)) return [{ array, name: all[0]?.name ?? '', sizeBytes }]
    if (sizeBytes === undefined || all.some((access) => access.mode !== 'write' && !ownReads.has(access))) return []
    const always = all.filter(isAlways)
    const isSame = all.every((access) => access.mode === 'read' || always.includes(access) || isAmong(spec, access, always))
    return isSame ? [{ array, name: all[0]?.name ?? '', sizeBytes }] : []
  })
}

/** Whether the body makes an array, and each worker can have a copy of it: then it keeps no two iterations from running side by side. */
export function isOwn(spec: LoopSpec, array: number): boolean {
  return isLocal(spec, array) && (sizeOf(spec, array) ?? Number.POSITIVE_INFINITY) <= LARGEST_PRIVATE_BYTES
}

/** Whether the body makes the array: no iteration sees what another left, and nothing reads it after the pass. */
function isLocal({ env }: LoopSpec, array: number): boolean {
  return Object.values(env).some((binding) => binding.kind === 'array' && binding.array === array && binding.isLocal === true)
}

/** Returns the bytes of a dense array of numbers without an update buffer; undefined for any other, and where the shape is not known. */
function sizeOf(spec: LoopSpec, array: number): number | undefined {
  const bindings = Object.values(spec.env).filter((binding) => 'array' in binding && binding.array === array)
  const [binding] = bindings
  if (binding?.kind !== 'array' || bindings.some(({ kind }) => kind === 'buffer') || binding.storage !== 'dense') return undefined
  const { dtype, shape } = binding
  const extents = shape?.flatMap((extent) => extent ?? [])
  if (dtype === 'object' || dtype === 'row' || dtype === 'unknown' || extents === undefined || extents.length < (shape?.length ?? 0))
    return undefined
  return sizeOfShape(extents) * ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT
}

/** Whether an access surely writes, and writes the same elements in every iteration. */
function isAlways({ mode, exact, subscripts, constraints }: Access): boolean {
  const isSteady = subscripts.every((subscript) => subscript.kind === 'affine' && isSteadyForm(subscript.form))
  return mode === 'write' && exact && isSteady && constraints.every(isSteadyConstraint)
}

function isSteadyConstraint(constraint: Constraint): boolean {
  return constraint.kind === 'either' ? constraint.cases.every((one) => one.every(isSteadyConstraint)) : isSteadyForm(constraint.form)
}

function isSteadyForm({ terms }: Form): boolean {
  return terms.every(({ variable }) => isSteadyVariable(variable))
}

/** Whether a variable has the same values in every iteration. */
function isSteadyVariable(variable: Variable): boolean {
  switch (variable.kind) {
    case 'inner':
    case 'extent':
      return true
    case 'quotient':
      return isSteadyForm(variable.of)
    case 'key':
    case 'choice':
    case 'distinct':
      return false
  }
}
