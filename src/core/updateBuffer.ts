/**
 * Update buffers: `array.buffer()` lets a loop body add to an array without a dependence.
 *
 * `get` reads the array as it was at the last flush; `add` collects updates, which `combine` joins per element and
 * `apply` brings into the array at the flush: at the end of the pass, and after every `maxDelay` iterations of the
 * serial order.
 */
import type { Key } from './indexSpace.ts'

export interface BufferOptions {
  /** Joins two updates of one element; associative. Default: the sum. */
  readonly combine?: 'sum' | ((a: number, b: number) => number)
  /** The element's new value. Default: `current + update`. */
  readonly apply?: (current: number, update: number) => number
  /** Flush at least every this many iterations of the serial order. Default: once, at the end of the pass. */
  readonly maxDelay?: number
}

/** What `array.buffer()` gives: put it into `env` and `add` to it. */
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
}
