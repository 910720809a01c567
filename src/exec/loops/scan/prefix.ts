/**
 * The seeds of a scan's chunks, an exclusive prefix: what the arrays hold, and what the chunks before have made of it.
 *
 *     seeds[c + 1] = seeds[c] op partials[c]      what the chunk makes of what it is handed
 *                    partials[c]                  it forgets what it is handed
 *                    seeds[c]                     it does nothing to it
 */
import type { TypedArray } from '../../../core/data/column.ts'
import type { Carry, ScanOperator } from '../../../core/loop/loopSpec.ts'

/** One carried value: by chunk, the partial result and the mark that it reports, and the seed that it is handed. */
export interface CarriedValues {
  readonly carry: Carry
  readonly partials: TypedArray
  readonly marks: Int32Array
  readonly seeds: TypedArray
}

const FORGETS = 2

/** Sums are exact below 2^53; what a chunk can add is far less than what is left. */
const EXACT = 2 ** 52

/** Fills in the seeds from the first ones; returns why the chunks cannot run side by side, or undefined if they can. */
export function handOn(values: readonly CarriedValues[], chunks: number): string | undefined {
  for (let chunk = 0; chunk < chunks; chunk++) {
    const takes = values.map(({ carry, partials, marks, seeds }) => {
      const [seed, partial, mark] = [seeds[chunk] as number, partials[chunk] as number, marks[chunk] as number]
      if (mark !== 0 && (mark & FORGETS) === 0 && !isExact(carry, seed)) return undefined
      return taken(carry.operator, seed, partial)
    })
    const inexact = takes.indexOf(undefined)
    if (inexact >= 0) return `${values[inexact]?.carry.name} holds what is no whole number below 2^52, and its sums depend on their order.`
    for (const [at, { carry, partials, marks, seeds }] of values.entries()) {
      const [seed, partial, mark] = [seeds[chunk] as number, partials[chunk] as number, marks[chunk] as number]
      const { operator } = carry
      const isTaken = operator.kind === 'with' ? takes[operator.carry] : takes[at]
      seeds[chunk + 1] = (mark & FORGETS) !== 0 ? partial : mark === 0 || isTaken === false ? seed : combined(operator, seed, partial)
    }
  }
  return undefined
}

/** Whether the operator gives the same in any order when it starts from this seed. */
function isExact({ operator, dtype }: Carry, seed: number): boolean {
  if (dtype !== 'f64') return true
  switch (operator.kind) {
    case 'sum':
    case 'wrap':
    case 'unsigned':
      return Number.isInteger(seed) && Math.abs(seed) <= EXACT && !Object.is(seed, -0)
    case 'and':
    case 'or':
    case 'xor':
      return Object.is(seed | 0, seed)
    case 'min':
    case 'max':
    case 'last':
    case 'pick':
    case 'with':
      return true
  }
}

/** Whether a chunk's partial result takes the place of its seed, where the operator picks one of both. */
function taken(operator: ScanOperator, seed: number, partial: number): boolean {
  if (operator.kind !== 'pick') return true
  switch (operator.test) {
    case '<':
      return partial < seed
    case '<=':
      return partial <= seed
    case '>':
      return partial > seed
    case '>=':
      return partial >= seed
  }
}

/** Joins a seed with a partial result; the array of seeds then rounds it as the body's array would. */
function combined({ kind }: ScanOperator, seed: number, partial: number): number {
  switch (kind) {
    case 'sum':
      return seed + partial
    case 'wrap':
      return (seed + partial) | 0
    case 'unsigned':
      return (seed + partial) >>> 0
    case 'min':
      return Math.min(seed, partial)
    case 'max':
      return Math.max(seed, partial)
    case 'and':
      return seed & partial
    case 'or':
      return seed | partial
    case 'xor':
      return seed ^ partial
    case 'last':
      return seed
    case 'pick':
    case 'with':
      return partial
  }
}

/** Whether a count grows from chunk to chunk, and stays inside arrays of so many elements. */
export function staysInside({ seeds }: CarriedValues, chunks: number, extents: readonly number[]): boolean {
  for (let chunk = 0; chunk <= chunks; chunk++) {
    const count = seeds[chunk] as number
    if (!Number.isInteger(count) || count < 0 || (chunk > 1 && count < (seeds[chunk - 1] as number))) return false
    if (extents.some((extent) => count > extent)) return false
  }
  return true
}
