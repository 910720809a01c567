/**
 * What a worker notes about accumulators while it runs blocks.
 *
 * Sums and custom accumulators log the values of one chunk of ranks at a time; at its end the log becomes a fragment
 * (`core/accumulator.ts`): folded when it starts the chunk, as it is otherwise. min, max and count need no order.
 */
import type { Fragment } from '../../core/accumulator.ts'
import { CHUNK } from '../../core/fixedTree.ts'
import type { CustomLog, Extreme, SumLog } from '../kernels/loopKernelShape.ts'

export type AccumulatorForm = 'sum' | 'min' | 'max' | 'count' | 'custom'

/** What comes back from a worker for one accumulator; structured-cloneable. */
export interface AccumulatorPart {
  readonly form: AccumulatorForm
  readonly fragments: readonly Fragment[]
  /** min, max, count. */
  readonly value: number
}

export interface AccumulatorLog {
  readonly form: AccumulatorForm
  /** What the kernel writes to. */
  readonly sink: SumLog | CustomLog | Extreme
  readonly fragments: Fragment[]
}

class GrowingLog implements SumLog {
  values = new Float64Array(CHUNK)
  length = 0
  grow(): Float64Array {
    const longer = new Float64Array(this.values.length * 2)
    longer.set(this.values)
    return (this.values = longer)
  }
}

export function createLog(form: AccumulatorForm): AccumulatorLog {
  return { form, sink: sinkOf(form), fragments: [] }
}

function sinkOf(form: AccumulatorForm): SumLog | CustomLog | Extreme {
  switch (form) {
    case 'sum':
      return new GrowingLog()
    case 'custom':
      return { values: [] }
    case 'count':
      return { value: 0 }
    case 'min':
      return { value: Number.POSITIVE_INFINITY }
    case 'max':
      return { value: Number.NEGATIVE_INFINITY }
  }
}

/** Readies the log for a pass. */
export function resetLog(log: AccumulatorLog): void {
  log.fragments.length = 0
  if ('length' in log.sink) log.sink.length = 0
  else if ('values' in log.sink) (log.sink.values as unknown[]).length = 0
  else log.sink.value = (sinkOf(log.form) as Extreme).value // the form is one of min, max, count
}

/** Whether the order in which values are added matters to the result. */
export function isOrdered(form: AccumulatorForm): boolean {
  return form === 'sum' || form === 'custom'
}

/** Closes the fragment of the ranks from `from` on. */
export function closeFragment(log: AccumulatorLog, from: number): void {
  const { sink } = log
  if ('length' in sink) {
    if (sink.length === 0) return
    const values = sink.values.subarray(0, sink.length)
    const folded = from % CHUNK === 0
    log.fragments.push({ from, folded, values: folded ? [sumOf(values)] : values.slice() })
    sink.length = 0
  } else if ('values' in sink) {
    if (sink.values.length > 0) log.fragments.push({ from, folded: false, values: sink.values.slice() })
    ;(sink.values as unknown[]).length = 0
  }
}

function sumOf(values: Float64Array): number {
  let sum = 0
  for (let i = 0; i < values.length; i++) sum += values[i] as number
  return sum
}

export function partOf(log: AccumulatorLog): AccumulatorPart {
  const value = 'value' in log.sink ? log.sink.value : 0
  return { form: log.form, fragments: log.fragments, value }
}
