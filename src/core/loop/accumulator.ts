/**
 * Accumulators: reductions that loop bodies add to, and the fixed tree that combines what they added.
 *
 *     iteration rank   0 ............ 4095 | 4096 ........ 8191 | 8192 ...
 *     chunk            left to right       | left to right      | ...        then pairwise by index
 *
 * The rank of an iteration is its position in the serial order of the loop, so neither the number of workers nor the cut
 * into blocks changes a bit. A block that starts inside a chunk hands over its added values one by one; a block that starts
 * with a chunk hands over their fold.
 */
import { checkCloneable, checkFunction, checkOneOf } from '../arguments.ts'
import { CHUNK, combinePairwise } from '../arrays/fixedTree.ts'
import { PlanError } from '../errors.ts'
import { checkOptions } from '../options.ts'
import { cellText } from '../show/cells.ts'
import { showAs } from '../show/shown.ts'
import { viewInBody } from './runningLoop.ts'

export type AccumulatorKind = 'sum' | 'min' | 'max' | 'count'
/** `init` is counted once; `combine` must be associative but need not commute. */
export interface CustomAccumulator<V> {
  readonly init: V
  readonly combine: (a: V, b: V) => V
}
export type AccumulatorSpec = AccumulatorKind | CustomAccumulator<unknown>

/** Makes the handle for `session.accumulator(spec)`. Throws PlanError for an unknown kind, and for wrong options. */
export function accumulatorOf<V>(spec: AccumulatorKind | CustomAccumulator<V>): Accumulator<V> | Accumulator<number> {
  if (typeof spec === 'object' && spec !== null) {
    checkOptions('accumulator()', spec, ['init', 'combine'])
    if (!('init' in spec))
      throw new PlanError('accumulator() needs an init, which counts once, as in accumulator({ init: 1, combine: (a, b) => a * b }).')
    checkFunction('The combine of accumulator()', spec.combine, '(a, b)')
    checkCloneable('The init of accumulator()', spec.init)
    return new Accumulator<V>(spec)
  }
  checkOneOf('The kind of accumulator()', spec, ['sum', 'min', 'max', 'count'])
  return new Accumulator<number>(spec)
}

/** The handle that `session.accumulator(...)` gives: `value` holds the result of the last pass of the last loop. */
export class Accumulator<V> {
  readonly kind = 'Accumulator' as const
  readonly spec: AccumulatorSpec
  #value: V

  constructor(spec: AccumulatorKind | CustomAccumulator<V>) {
    this.spec = spec as AccumulatorSpec // V is forgotten: the runtime hands values through untouched
    this.#value = emptyResult(this.spec) as V // sum, count, min, max give numbers, custom ones their init
  }

  get value(): V {
    return this.#value
  }

  /** Adds a value; only in the body of a loop. */
  add(value: V): void {
    const view = viewInBody(this, 'an accumulator', 'add', 'Its value is that of the last pass.') as { add(value: V): void } // an accumulator's view
    view.add(value)
  }

  /** Takes the result of a pass; the loop calls it at the pass's end. */
  finishPass(value: V): void {
    this.#value = value
  }
}

showAs<Accumulator<unknown>>(Accumulator.prototype, ({ spec, value }) => ({
  what: 'Accumulator',
  title: `${typeof spec === 'string' ? spec : 'custom'} ${cellText(value, { kind: 'unknown' })}`,
}))

/** The value of an accumulator to which nothing was added. */
export function emptyResult(spec: AccumulatorSpec): unknown {
  switch (spec) {
    case 'sum':
    case 'count':
      return 0
    case 'min':
      return Number.POSITIVE_INFINITY
    case 'max':
      return Number.NEGATIVE_INFINITY
    default:
      return spec.init
  }
}

/**
 * The values that consecutive iterations inside one chunk added, in their order; `from` is the rank of the first. `folded`:
 * `values` has one element, their fold from the chunk's start on.
 */
export interface Fragment {
  readonly from: number
  readonly folded: boolean
  readonly values: ArrayLike<unknown>
}

/** The sum of all fragments by the fixed tree; they may come in any order. */
export function combineSums(fragments: readonly Fragment[]): number {
  const chunks: number[] = []
  for (const fragment of sorted(fragments)) {
    const chunk = Math.floor(fragment.from / CHUNK)
    while (chunks.length <= chunk) chunks.push(0)
    const values = fragment.values as ArrayLike<number> // logs of sums hold numbers
    chunks[chunk] =
      values instanceof Float64Array ? addAll(chunks[chunk] ?? 0, values) : addAll(chunks[chunk] ?? 0, Float64Array.from(values))
  }
  return combinePairwise(chunks, (a, b) => a + b) ?? 0
}

function addAll(start: number, values: Float64Array): number {
  let sum = start
  for (let i = 0; i < values.length; i++) sum += values[i] as number // i < length
  return sum
}

/** Combines the fragments of `{ init, combine }` by the fixed tree: chunks without values are left out, `init` comes first. */
export function combineCustom(spec: CustomAccumulator<unknown>, fragments: readonly Fragment[]): unknown {
  const chunks: { value: unknown }[] = []
  let last = -1
  for (const fragment of sorted(fragments)) {
    const chunk = Math.floor(fragment.from / CHUNK)
    for (let i = 0; i < fragment.values.length; i++) {
      const value = fragment.values[i]
      const open = chunks[chunks.length - 1]
      if (chunk === last && open !== undefined) open.value = spec.combine(open.value, value)
      else chunks.push({ value })
      last = chunk
    }
  }
  const total = combinePairwise(chunks, (a, b) => ({ value: spec.combine(a.value, b.value) }))
  const init = structuredClone(spec.init)
  return total === undefined ? init : spec.combine(init, total.value)
}

function sorted(fragments: readonly Fragment[]): readonly Fragment[] {
  return [...fragments].sort((a, b) => a.from - b.from)
}
