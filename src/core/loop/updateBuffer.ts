/**
 * Update buffers: `array.buffer()` lets a loop body add to an array without a dependence.
 *
 * `get` reads the array as it was at the last flush; `add` collects updates, which `combine` joins per element and
 * `apply` brings into the array at the flush: at the end of the pass; `flushes` times in a pass, between rounds of
 * iterations that run in parallel; or after every `maxDelay` iterations of the serial order.
 *
 * Rounds are the clocks of bounded staleness (Ho et al., "More Effective Distributed ML via a Stale Synchronous Parallel
 * Parameter Server", NeurIPS 2013), counted in iterations, not in time: who reads what is the same in every run.
 */
import { checkCount, checkFunction } from '../arguments.ts'
import type { Key } from '../arrays/keys.ts'
import { PlanError } from '../errors.ts'
import { checkOptions } from '../options.ts'
import { showAs } from '../show/shown.ts'
import { counted } from '../show/width.ts'
import type { ArrayView, RowView } from './arrayViews.ts'
import { viewInBody } from './runningLoop.ts'

export interface BufferOptions {
  /** Joins two updates of one element; associative. Default: the sum. */
  readonly combine?: 'sum' | ((a: number, b: number) => number)
  /** Computes the element's new value at a flush. Default: `current + update`. */
  readonly apply?: (current: number, update: number) => number
  /** The most iterations of the serial order between flushes. Default: one flush, at the end of the pass. */
  readonly maxDelay?: number
  /** The number of flushes in a pass: its iterations run in so many rounds, one after another, each in parallel. Default: 1, at the end. */
  readonly flushes?: number
  /** The number of rounds beyond the next one after which a round's updates are seen; at the end of the pass all are. Default: 0. */
  readonly staleness?: number
  /**
   * The most bytes that a flush may apply, 12 for each element: elements first whose update is largest relative to their value, ties by
   * key. The rest waits for the next flush. Default: no limit.
   */
  readonly budget?: number
}

/** The bytes of an update in a flush: the element's position and a double. */
export const BYTES_PER_UPDATE = 12

/** The most rounds of a pass: with more it would do little else than flush. */
export const MOST_FLUSHES = 65_536

/** Throws PlanError for an option that is none of these, and for two that contradict each other. */
export function checkBufferOptions(options: BufferOptions): void {
  checkOptions('buffer()', options, ['combine', 'apply', 'maxDelay', 'flushes', 'staleness', 'budget'])
  const { combine, apply, maxDelay, flushes, staleness, budget } = options
  if (combine !== undefined && combine !== 'sum') checkFunction('The combine of buffer()', combine, '(a, b)')
  if (apply !== undefined) checkFunction('The apply of buffer()', apply, '(current, update)')
  if (maxDelay !== undefined) checkCount('The maxDelay of buffer()', maxDelay, 1)
  if (flushes !== undefined) checkCount('The flushes of buffer()', flushes, 1, MOST_FLUSHES)
  if (staleness !== undefined) checkCount('The staleness of buffer()', staleness, 0)
  if (budget !== undefined) checkCount('The budget of buffer()', budget, BYTES_PER_UPDATE)
  if (maxDelay !== undefined && flushes !== undefined)
    throw new PlanError(
      'buffer() has maxDelay, which flushes in serial order, and flushes, between rounds that run in parallel. Take one of them.',
    )
  if (flushes === undefined && (staleness !== undefined || budget !== undefined))
    throw new PlanError(
      `buffer() has a ${staleness === undefined ? 'budget' : 'staleness'}, but flushes once, at the end of the pass, where nothing is late. Say how often it flushes: buffer({ flushes: 16, … }).`,
    )
}

/** The handle that `array.buffer()` gives: put it into `env`, and `add` to it in the body. */
export class UpdateBuffer<K extends Key = Key> {
  readonly kind = 'UpdateBuffer' as const
  /** Never set: carries the key type. */
  declare readonly key?: K
  /** The DistArray whose buffer this is. */
  readonly target: object
  readonly options: BufferOptions

  constructor(target: object, options: BufferOptions = {}) {
    this.target = target
    this.options = options
  }

  /** The element as it was at the last flush; only in the body of a loop. */
  get(...key: K): number {
    return this.#view('get').get(...key)
  }

  /** Collects an update of an element; only in the body of a loop. */
  add(...args: [...K, delta: number]): void {
    this.#view('add').add(...args)
  }

  /** A row of the buffer, with get and add; only in the body of a loop. */
  row(...prefix: readonly number[]): Pick<RowView, 'get' | 'add' | 'length'> {
    return this.#view('row').row(...prefix)
  }

  #view(method: string): ArrayView<number, K> {
    return viewInBody(this, 'an update buffer', method, 'Put it in env.') as ArrayView<number, K> // a buffer's view
  }
}

showAs<UpdateBuffer>(UpdateBuffer.prototype, ({ options }) => {
  const combine = options.combine === undefined || options.combine === 'sum' ? 'sums updates' : 'combines updates by a function'
  const apply = options.apply === undefined ? '' : ', applies them by a function'
  const { maxDelay, flushes = 1, staleness = 0, budget } = options
  const often = flushes > 1 ? `${flushes} times in a pass` : 'at the end of a pass'
  const late = staleness > 0 ? `, ${counted(staleness, 'round')} late` : ''
  const most = budget === undefined ? '' : `, ${budget} bytes at a time`
  const flush = maxDelay === undefined ? `${often}${late}${most}` : `after ${counted(maxDelay, 'iteration')}`
  return { what: 'UpdateBuffer', title: `${combine}${apply}, flushed ${flush}` }
})
