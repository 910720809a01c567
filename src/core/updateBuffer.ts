/**
 * Update buffers: `array.buffer()` lets a loop body add to an array without a dependence.
 *
 * `get` reads the array as it was at the last flush; `add` collects updates, which `combine` joins per element and
 * `apply` brings into the array at the flush: at the end of the pass, and after every `maxDelay` iterations of the
 * serial order.
 */
import type { Key } from './indexSpace.ts'
import type { ArrayView, RowView } from './loopViews.ts'
import { viewInBody } from './runningLoop.ts'
import { showAs } from './show/shown.ts'
import { counted } from './show/width.ts'

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

  /** In the body of a loop: the element as it was at the last flush. */
  get(...key: K): number {
    return this.#view('get').get(...key)
  }

  /** In the body of a loop: collects an update. */
  add(...args: [...K, delta: number]): void {
    this.#view('add').add(...args)
  }

  /** In the body of a loop: a row, with get and add. */
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
  const flush = options.maxDelay === undefined ? 'at the end of a pass' : `after ${counted(options.maxDelay, 'iteration')}`
  return { what: 'UpdateBuffer', title: `${combine}${apply}, flushed ${flush}` }
})
