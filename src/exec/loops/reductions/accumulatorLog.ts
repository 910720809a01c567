/**
 * The logs of accumulators that a worker keeps while it runs blocks.
 *
 * Sums and custom accumulators log the values of one chunk of ranks at a time; at its end the log becomes a fragment
 * (`core/loop/accumulator.ts`): folded when it starts the chunk, as it is otherwise. min, max and count need no order.
 */

import { CHUNK } from '../../../core/arrays/fixedTree.ts'
import type { Fragment } from '../../../core/loop/accumulator.ts'
import type { CustomLog, Extreme, SumLog } from '../../kernels/js/loopKernelShape.ts'
import type { Arena } from '../../memory/arena.ts'

export type AccumulatorForm = 'sum' | 'min' | 'max' | 'count' | 'custom'

/** A worker's part of one accumulator in a pass; structured-cloneable. */
export type AccumulatorPart =
  | {
      readonly kind: 'sum'
      readonly ranks: Float64Array
      readonly lengths: Int32Array
      readonly folds: Float64Array
      readonly values: LoggedValues
    }
  | { readonly kind: 'custom'; readonly fragments: readonly Fragment[] }
  | { readonly kind: 'extreme'; readonly value: number }

/** Values one after another: where they were logged, or a block of the arena that the receiver frees. */
export type LoggedValues = Float64Array | { readonly offset: number; readonly length: number }

export type AccumulatorLog =
  | { readonly form: 'sum'; readonly sink: SumFragments }
  | { readonly form: 'custom'; readonly sink: CustomLog; readonly fragments: Fragment[] }
  | { readonly form: 'min' | 'max' | 'count'; readonly sink: Extreme }

/** A log of all fragments of a pass; `start` is where the open one begins. */
export class SumFragments implements SumLog {
  values: Float64Array = new Float64Array(2 * CHUNK)
  length = 0
  start = 0
  readonly ranks: number[] = []
  /** Values logged; -1 for folded ones. */
  readonly lengths: number[] = []
  readonly folds: number[] = []

  /** Makes room for so many more values; returns the place of the next. */
  reserve(more: number): number {
    if (this.length + more > this.values.length) this.grow(this.length + more)
    return this.length
  }

  grow(atLeast: number = this.values.length + 1): Float64Array {
    const longer = new Float64Array(Math.max(atLeast, 2 * this.values.length))
    longer.set(this.values.subarray(0, this.length))
    return (this.values = longer)
  }

  close(from: number): void {
    if (this.length === this.start) return
    const folded = from % CHUNK === 0
    this.ranks.push(from)
    this.lengths.push(folded ? -1 : this.length - this.start)
    this.folds.push(folded ? sumOf(this.values, this.start, this.length) : 0)
    if (folded) this.length = this.start
    this.start = this.length
  }

  reset(): void {
    this.length = 0
    this.start = 0
    for (const list of [this.ranks, this.lengths, this.folds]) list.length = 0
  }
}

function sumOf(values: Float64Array, from: number, to: number): number {
  let sum = 0
  for (let i = from; i < to; i++) sum += values[i] as number // from <= i < to <= length
  return sum
}

export function createLog(form: AccumulatorForm): AccumulatorLog {
  switch (form) {
    case 'sum':
      return { form, sink: new SumFragments() }
    case 'custom':
      return { form, sink: { values: [] }, fragments: [] }
    case 'count':
    case 'min':
    case 'max':
      return { form, sink: { value: emptyOf(form) } }
  }
}

function emptyOf(form: 'min' | 'max' | 'count'): number {
  return form === 'count' ? 0 : form === 'min' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
}

/** Readies the log for a pass. */
export function resetLog(log: AccumulatorLog): void {
  switch (log.form) {
    case 'sum':
      log.sink.reset()
      return
    case 'custom':
      log.fragments.length = 0
      log.sink.values.length = 0
      return
    case 'count':
    case 'min':
    case 'max':
      log.sink.value = emptyOf(log.form)
  }
}

/** Whether the order in which values are added matters to the result. */
export function isOrdered(form: AccumulatorForm): boolean {
  return form === 'sum' || form === 'custom'
}

/** Closes the fragment of the ranks from `from` on. */
export function closeFragment(log: AccumulatorLog, from: number): void {
  if (log.form === 'sum') log.sink.close(from)
  else if (log.form === 'custom') {
    if (log.sink.values.length > 0) log.fragments.push({ from, folded: false, values: log.sink.values.slice() })
    log.sink.values.length = 0
  }
}

/** The contents of a log, valid until it is used again. With an arena the values go to a block of it, which other threads see. */
export function partOf(log: AccumulatorLog, arena?: Arena): AccumulatorPart {
  switch (log.form) {
    case 'sum': {
      const { ranks, lengths, folds, values, length } = log.sink
      const columns = { ranks: Float64Array.from(ranks), lengths: Int32Array.from(lengths), folds: Float64Array.from(folds) }
      return { kind: 'sum', ...columns, values: arena === undefined ? values : moveToArena(arena, values.subarray(0, length)) }
    }
    case 'custom':
      return { kind: 'custom', fragments: [...log.fragments] }
    case 'count':
    case 'min':
    case 'max':
      return { kind: 'extreme', value: log.sink.value }
  }
}

/** A copy of the contents of a log, valid also when it is used again. */
export function keptPartOf(log: AccumulatorLog): AccumulatorPart {
  const part = partOf(log)
  return part.kind === 'sum' && log.form === 'sum' ? { ...part, values: log.sink.values.slice(0, log.sink.length) } : part
}

function moveToArena(arena: Arena, values: Float64Array): LoggedValues {
  const { length } = values
  if (length === 0) return values.slice()
  const offset = arena.allocate(values.byteLength, 'accumulators')
  ;(arena.view('f64', offset, length) as Float64Array).set(values)
  return { offset, length }
}

/** The fragments of a part of a sum; views of its logged values. */
export function fragmentsOf(part: AccumulatorPart & { readonly kind: 'sum' }, arena: Arena): Fragment[] {
  const { ranks, lengths, folds } = part
  const values =
    part.values instanceof Float64Array ? part.values : (arena.view('f64', part.values.offset, part.values.length) as Float64Array)
  let at = 0
  return Array.from(ranks, (from, i) => {
    const length = lengths[i] as number // as many lengths as ranks
    if (length < 0) return { from, folded: true, values: folds.subarray(i, i + 1) }
    at += length
    return { from, folded: false, values: values.subarray(at - length, at) }
  })
}

/** Frees the blocks that came with a part. */
export function freePart(part: AccumulatorPart, arena: Arena): void {
  if (part.kind === 'sum' && !(part.values instanceof Float64Array)) arena.free(part.values.offset)
}
