/**
 * The views of `env` for bodies that run as plain JavaScript: as they stand, or replayed for `verify`.
 *
 * Bounds are checked as in kernels. What the user's own closure gets of an array itself is dead when its pass is over. Of a copy, which
 * nobody keeps, a row of a dense array of numbers is a real typed array, with get, set and add besides: there plain indexing has no check.
 */

import { outsideMessage } from '../../../core/arrays/indexSpace.ts'
import type { DenseStorage } from '../../../core/arrays/storage.ts'
import { PlanError } from '../../../core/errors.ts'
import { counted } from '../../../core/show/width.ts'
import type { KeyedView } from '../keyedArray.ts'
import type { Lanes } from '../reductions/reductionCopies.ts'
import { endedError, type Lifetime, mortal } from './lifetime.ts'

/** The reduction copies that an array's adds go to; undefined where they go to the array. */
export interface LaneTarget {
  readonly lanes: Lanes
  /** The number of elements before those of the current lane. */
  readonly offset: () => number
}

export interface ArrayViewObject {
  get(...key: number[]): unknown
  set(...keyAndValue: unknown[]): void
  add(...keyAndDelta: unknown[]): void
  row(...prefix: number[]): unknown
  has(...key: number[]): boolean
  readonly shape: readonly number[]
}

export interface DenseViewOptions {
  readonly target?: LaneTarget
  /** Buffers have no `set`: their adds wait for the flush. */
  readonly buffered?: boolean
  /** Whether elements are true and false, for memory's 1 and 0. */
  readonly isBoolean?: boolean | undefined
  /** The lifetime of a view that the user's own closure gets over the array itself, and may keep. */
  readonly life?: Lifetime | undefined
}

export function denseView(
  storage: DenseStorage,
  label: string,
  { target, buffered = false, isBoolean = false, life }: DenseViewOptions = {},
): ArrayViewObject {
  const { strides, dtype } = storage
  /** The extents for checks of keys: 0 when the pass is over, so that no access has to ask for that. */
  const shape = [...storage.shape]
  life?.onEnd(() => shape.fill(0))
  const at1 = (k: number, extent: number, prefix: readonly number[] = []): number => {
    if (!(k >>> 0 === k && k < extent)) throw outside([...prefix, k])
    return k
  }
  const outside = (key: readonly number[]): PlanError =>
    life?.isOver === true ? endedError(label) : new PlanError(outsideMessage(label, key, storage.shape))
  const rank = shape.length
  const elements = (storage.objects ?? storage.data) as unknown[] // both are read and written by index
  const bool = dtype === 'bool'
  const at = (key: ArrayLike<unknown>): number => {
    let index = 0
    for (let axis = 0; axis < rank; axis++) {
      const k = key[axis] as number
      if (!((k as number) >>> 0 === k && k < (shape[axis] as number))) throw outside(Array.prototype.slice.call(key, 0, rank))
      index += k * (strides[axis] as number)
    }
    return index
  }
  const taken = counting(label, rank)
  const put = (index: number, value: unknown): void => {
    elements[index] = bool ? (value ? 1 : 0) : value
  }
  const addTo =
    target === undefined ? (index: number, delta: unknown) => put(index, (elements[index] as number) + (delta as number)) : laneAdd(target)
  const view: ArrayViewObject = {
    get: isBoolean
      ? (...key) => elements[at(taken('get', key))] !== 0
      : rank === 1
        ? (...key) => elements[at1(taken('get', key)[0] as number, shape[0] as number)]
        : (...key) => elements[at(taken('get', key))],
    set: (...args) => {
      if (buffered) throw new PlanError(`${label} is an update buffer: it has get and add, but no set.`)
      put(at(taken('set', args)), args[rank])
    },
    add: (...args) => addTo(at(taken('add', args)), args[rank]),
    has: (...key) => at(taken('has', key)) >= 0,
    row: (...prefix) => {
      taken('row', prefix)
      const start = at([...prefix, 0])
      const length = shape[rank - 1] as number
      const inRow = (k: number): number => start + at1(k, shape[rank - 1] as number, prefix)
      const get = (k: number): unknown => elements[inRow(k)]
      const set = (k: number, value: unknown): void => (buffered ? view.set() : put(inRow(k), value))
      const add = (k: number, delta: unknown): void => addTo(inRow(k), delta)
      // plain writes to a typed array are not checked: buffers refuse them, and views that may be kept check them
      if (buffered || life !== undefined || storage.objects !== undefined) return indexedRow({ get, set, add, length })
      const row = storage.data.subarray(start, start + length)
      Object.defineProperties(row, { get: { value: get }, set: { value: set }, add: { value: add } })
      return bool ? boolRow(row as Uint8Array, set) : row
    },
    shape: storage.shape,
  }
  return view
}

/** Returns a function that gives the arguments of a method back, and throws where these are not a key for each axis, and a value behind them. */
function counting(label: string, rank: number): <A extends readonly unknown[]>(method: keyof ArrayViewObject & string, args: A) => A {
  const keys = { get: rank, has: rank, set: rank, add: rank, row: rank - 1, shape: 0 }
  return (method, args) => {
    const value = method === 'set' || method === 'add' ? 1 : 0
    if (args.length === keys[method] + value) return args
    const takes = `${counted(keys[method], 'key')}${value === 0 ? '' : ' and a value'}`
    throw new PlanError(
      `${label} has ${rank === 1 ? '1 axis' : `${rank} axes`}, so that ${method} takes ${takes}; it was given ${counted(args.length, 'argument')}.`,
    )
  }
}

function laneAdd({ lanes, offset }: LaneTarget): (index: number, delta: unknown) => void {
  const { data, touched, combine } = lanes
  return (index, delta) => {
    const i = offset() + index
    const before = data[i] as number
    if (touched === undefined)
      data[i] = (before + (delta as number)) as never // numbers, or bigints of i64
    else {
      data[i] = (touched[i] === 0 ? delta : combine === undefined ? before + (delta as number) : combine(before, delta as number)) as never
      touched[i] = 1
    }
  }
}

/** The view of a sparse array or a table. Its rows are no typed arrays: absent elements have no memory to be one. */
export function keyedArrayView(keyed: KeyedView, shape: readonly number[], label = '', life?: Lifetime): ArrayViewObject {
  const taken = counting(label, shape.length)
  const view: Omit<ArrayViewObject, 'row'> = {
    get: (...key) => keyed.get(...taken('get', key)),
    set: (...args) => keyed.set(...taken('set', args)),
    add: (...args) => keyed.add(...taken('add', args)),
    has: (...key) => keyed.has(...taken('has', key)),
    shape,
  }
  const checked = mortal(view, label, life)
  return { ...checked, row: (...prefix) => keyedRow(checked, taken('row', prefix), shape[shape.length - 1] ?? 0) }
}

function keyedRow(view: Pick<ArrayViewObject, 'get' | 'set' | 'add'>, prefix: readonly number[], length: number): unknown {
  return indexedRow({
    get: (k) => view.get(...prefix, k),
    set: (k, value) => view.set(...prefix, k, value),
    add: (k, delta) => view.add(...prefix, k, delta),
    length,
  })
}

interface Row {
  get(k: number): unknown
  set(k: number, value: unknown): void
  add(k: number, delta: unknown): void
  readonly length: number
}

/**
 * A row that is no typed array: plain indexing reads and writes through its methods, which check. What arrays do element by
 * element it does too; nothing gives the memory behind it away.
 */
function indexedRow(row: Row): Row {
  return new Proxy(Object.assign(Object.create(LIST_METHODS) as Row, row), {
    get: (target, name) => (isNumber(name) ? target.get(Number(name)) : Reflect.get(target, name)),
    set: (target, name, value) => {
      if (isNumber(name)) target.set(Number(name), value)
      return isNumber(name)
    },
    has: (target, name) => (isIndex(name) ? Number(name) < target.length : Reflect.has(target, name)),
  })
}

/** Methods of arrays that work on whatever has elements and a length. */
const LIST_METHODS: object = Object.create(
  null,
  Object.fromEntries(
    (['at', 'copyWithin', 'every', 'fill', 'filter', 'find', 'findIndex', 'findLast', 'findLastIndex', 'forEach', 'includes'] as const)
      .map((name): readonly [string | symbol, unknown] => [name, Array.prototype[name]])
      .concat(
        (
          [
            'indexOf',
            'join',
            'lastIndexOf',
            'map',
            'reduce',
            'reduceRight',
            'reverse',
            'slice',
            'some',
            'entries',
            'keys',
            'values',
          ] as const
        ).map((name) => [name, Array.prototype[name]]),
        [
          ['sort', sortedAsNumbers],
          ['subarray', partOfRow],
          [Symbol.iterator, Array.prototype.values],
        ],
      )
      .map(([name, value]) => [name, { value }]),
  ),
)

/** A part of a row, as a typed array gives it: subscripts outside of the part are errors, as they are outside of the row. */
function partOfRow(this: Row, from = 0, to: number = this.length): Row {
  const at = (end: number): number => {
    const whole = Math.trunc(end) || 0
    return whole < 0 ? Math.max(0, this.length + whole) : Math.min(whole, this.length)
  }
  const first = at(from)
  const length = Math.max(0, at(to) - first)
  const inside = (k: number): number => {
    if (!(k >= 0 && k < length))
      throw new RangeError('A subscript of a part of a row, as subarray gives it, is not below its length. Ask first, as k < part.length.')
    return first + k
  }
  return indexedRow({
    get: (k) => this.get(inside(k)),
    set: (k, value) => this.set(inside(k), value),
    add: (k, delta) => this.add(inside(k), delta),
    length,
  })
}

/** Sorts as typed arrays do where there is no comparison: numbers ascend, -0 before 0, NaN is last. */
function sortedAsNumbers(this: unknown[], compare: (a: unknown, b: unknown) => number = ascending): unknown[] {
  return Array.prototype.sort.call(this, compare)
}

function ascending(a: unknown, b: unknown): number {
  const [one, other] = [a as number, b as number] // or bigints, which compare alike
  if (one < other) return -1
  if (one > other) return 1
  if (Object.is(one, other)) return 0
  return Number.isNaN(one) || Object.is(other, -0) ? 1 : -1
}

/** A row of a bool array, whose plain writes store 0 or 1: its bytes would keep whatever fits them. */
function boolRow(row: Uint8Array, store: (k: number, value: unknown) => void): Uint8Array {
  return new Proxy(row, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target) // the methods of typed arrays know no proxies
      return typeof value === 'function' && !Object.hasOwn(target, name) ? value.bind(target) : value
    },
    set: (target, name, value) => {
      if (!isIndex(name)) return Reflect.set(target, name, value, target)
      if (Number(name) < target.length) store(Number(name), value)
      return true
    },
  })
}

/** Whether JavaScript has made a property name from a number, which may be no index. */
function isNumber(name: string | symbol): name is string {
  return typeof name === 'string' && /^(?:-?\d|NaN$|-?Infinity$)/.test(name)
}

function isIndex(name: string | symbol): name is string {
  return typeof name === 'string' && /^\d+$/.test(name)
}
