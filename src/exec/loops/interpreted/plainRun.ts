/**
 * A loop body run as plain JavaScript over view objects: how refused bodies run, and what `verify` compares with.
 */

import { IterationRng } from '../../../core/arrays/random.ts'
import type { DenseStorage, Storage } from '../../../core/arrays/storage.ts'
import type { TypedArray } from '../../../core/data/column.ts'
import { rowReader } from '../../../core/data/columnReaders.ts'
import { Bug } from '../../../core/errors.ts'
import { formOf, storagesOf } from '../kernelPlan.ts'
import { KeyedView } from '../keyedArray.ts'
import type { ArrayInput, BufferInput, LoopInputs } from '../loopInputs.ts'
import { type AccumulatorLog, type AccumulatorPart, createLog, partOf, resetLog } from '../reductions/accumulatorLog.ts'
import {
  allocatePlain,
  createLanes,
  delayedOf,
  dtypeOfUpdates,
  endRound,
  flushDue,
  flushLanes,
  type Lanes,
  resetLanes,
  startLanes,
} from '../reductions/reductionCopies.ts'
import { interpretBody, type Onlooker } from './interpreter.ts'
import { type Lifetime, mortal } from './lifetime.ts'
import { type ArrayViewObject, denseView, keyedArrayView } from './views.ts'

export interface PlainOptions {
  /** Gives the storage to run over: the array's own, or a copy. */
  readonly storageOf: (array: number, storage: Storage) => Storage
  /** The number of lanes of add-only arrays and buffers; from 2 on, add-only arrays have reduction copies. */
  readonly laneCount: number
  /** 'original': the user's closure. 'ir': the interpreter, for closures that captured arrays. */
  readonly body: 'original' | 'ir'
  /** Sees every access of an interpreted body. */
  readonly watch?: Watch
  /** The lifetime of the views, where the user's own closure gets them and may keep them. */
  readonly life?: Lifetime
  /** The numbers of iterations after which a round ends that is not the last. */
  readonly roundEnds?: ReadonlySet<number>
}

export interface Watch extends Onlooker {
  /** The view that takes the place of that of the array which the body calls `name`. */
  view(view: ArrayViewObject, array: { readonly name: string; readonly array: number; readonly buffered: boolean }): ArrayViewObject
}

export class PlainLoop {
  readonly accumulators: ReadonlyMap<string, AccumulatorLog>
  readonly keyed: Map<number, KeyedView> = new Map()
  /** Storages by array identity, as `storageOf` gave them. */
  readonly storages: Map<number, Storage> = new Map()
  readonly #rngs: IterationRng[] = []
  readonly #lanes: Lanes[] = []
  readonly #views: Record<string, unknown>
  readonly #life: Lifetime | undefined
  /** The views as the body gets them: the user's closure knows by itself what it captured. */
  readonly #env: Readonly<Record<string, unknown>>
  readonly #body: (value: unknown, key: readonly number[], views: Readonly<Record<string, unknown>>) => unknown
  readonly #element: {
    readonly read: (position: number, key: readonly number[]) => unknown
    readonly write: (key: readonly number[], value: unknown) => void
  }
  readonly #roundEnds: ReadonlySet<number>
  #lane = 0

  constructor(inputs: LoopInputs, options: PlainOptions) {
    this.#roundEnds = options.roundEnds ?? new Set()
    for (const { storage, array, label } of storagesOf(inputs)) {
      if (this.storages.has(array)) continue
      const own = options.storageOf(array, storage)
      this.storages.set(array, own)
      if (own.kind !== 'dense') this.keyed.set(array, new KeyedView(own, label))
    }
    this.accumulators = new Map([...inputs.accumulators].map(([name, input]) => [name, createLog(formOf(input))]))
    this.#views = { ...inputs.envObject }
    this.#life = options.life
    for (const [name, log] of this.accumulators) this.#views[name] = mortal({ add: adderOf(log) }, name, options.life)
    for (const [name, seed] of inputs.rngs) {
      const rng = new IterationRng(seed)
      this.#rngs.push(rng)
      this.#views[name] = options.life === undefined ? rng : mortal(drawsOf(rng), name, options.life)
    }
    const reduced = new Map<number, Lanes>()
    const { watch } = options
    const watched = (view: ArrayViewObject, name: string, array: number, buffered: boolean): ArrayViewObject =>
      watch === undefined ? view : watch.view(view, { name, array, buffered })
    for (const [name, input] of inputs.arrays)
      this.#views[name] = watched(this.#arrayView(inputs, input, reduced, options.laneCount), name, input.array, false)
    for (const [name, buffer] of inputs.buffers)
      this.#views[name] = watched(this.#bufferView(buffer, options.laneCount), name, buffer.array, true)
    this.#env = options.body === 'ir' ? this.#views : ofEnv(this.#views, inputs)
    this.#body = bodyOf(inputs, options.body, watch)
    this.#element = this.#elementOf(inputs)
  }

  /** The view that the body knows under a name, captured ones included. */
  view(name: string): unknown {
    return this.#views[name]
  }

  startPass(pass: number): void {
    for (const rng of this.#rngs) rng.startPass(pass)
    startLanes(this.#lanes)
    for (const log of this.accumulators.values()) resetLog(log)
  }

  /** One iteration; `position` is row-major in a dense space, otherwise the element's. Gives whether the body returned a new element. */
  iterate(position: number, key: number[], lane: number): boolean {
    this.#lane = lane
    for (const rng of this.#rngs) rng.begin(...key)
    const value = this.#body(this.#element.read(position, key), key, this.#env)
    const replaces = value !== undefined && value !== null
    if (replaces) this.#element.write(key, value)
    return replaces
  }

  /** Brings reduction copies and buffered updates into their arrays. */
  flush(): void {
    for (const lanes of this.#lanes) {
      flushLanes(lanes)
      resetLanes(lanes)
    }
  }

  /** Flushes the buffers whose delay, or round, ends after so many iterations. */
  flushDue(iterations: number): void {
    flushDue(this.#lanes, iterations)
    if (this.#roundEnds.has(iterations)) endRound(this.#lanes)
  }

  /** The number of updates that flushes left for later ones; undefined where none has a budget. */
  get delayed(): number | undefined {
    return delayedOf(this.#lanes)
  }

  parts(): ReadonlyMap<string, AccumulatorPart> {
    return new Map([...this.accumulators].map(([name, log]) => [name, partOf(log)] as const))
  }

  #arrayView(inputs: LoopInputs, { array, label, isBoolean }: ArrayInput, reduced: Map<number, Lanes>, laneCount: number): ArrayViewObject {
    const storage = this.#storage(array)
    if (storage.kind !== 'dense')
      return keyedArrayView(this.#keyedView(array), storage.kind === 'table' ? [storage.length] : storage.shape, label, this.#life)
    if (laneCount < 2 || !inputs.analyzed.reducedArrays.includes(array) || storage.dtype === 'object')
      return denseView(storage, label, { isBoolean, life: this.#life })
    let lanes = reduced.get(array)
    if (lanes === undefined) {
      lanes = createLanes(storage, laneCount, { dtype: storage.dtype, touched: false, allocate: allocatePlain })
      reduced.set(array, lanes)
      this.#lanes.push(lanes)
    }
    return denseView(storage, label, { target: { lanes, offset: this.#offsetOf(lanes) }, life: this.#life })
  }

  #bufferView(buffer: BufferInput, laneCount: number): ArrayViewObject {
    const storage = this.#storage(buffer.array) as DenseStorage // buffers are of dense arrays
    const lanes = createLanes(storage, laneCount, { ...updateOptions(buffer), allocate: allocatePlain })
    this.#lanes.push(lanes)
    const target = { lanes, offset: this.#offsetOf(lanes) }
    return denseView(storage, buffer.label, { target, buffered: true, life: this.#life })
  }

  #offsetOf(lanes: Lanes): () => number {
    return () => this.#lane * lanes.length
  }

  #storage(array: number): Storage {
    const storage = this.storages.get(array)
    if (storage === undefined) throw new Bug(`Array ${array} of the loop has no storage.`)
    return storage
  }

  #keyedView(array: number): KeyedView {
    const view = this.keyed.get(array)
    if (view === undefined) throw new Bug(`Array ${array} of the loop is not keyed.`)
    return view
  }

  #elementOf({ over, analyzed }: LoopInputs): {
    readonly read: (position: number, key: readonly number[]) => unknown
    readonly write: (key: readonly number[], value: unknown) => void
  } {
    if (over.kind === 'range') return { read: () => undefined, write: () => {} }
    const storage = this.#storage(over.array)
    if (storage.kind === 'dense') {
      const { element } = analyzed.spec.over
      const isBoolean = element?.kind === 'scalar' && element.type.kind === 'bool'
      const view = denseView(storage, 'the array iterated over', { isBoolean })
      return { read: (_, key) => view.get(...key), write: (key, value) => view.set(...key, value) }
    }
    const keyed = this.#keyedView(over.array)
    const read = rowReader(storage)
    return {
      read: (position, key) => (keyed.overlay.size === 0 ? read(position) : keyed.get(...key)),
      write: (key, value) => keyed.set(...key, value),
    }
  }
}

/** The views as the user's closure gets them: without what it knows by its own captures, and with what env inherits. */
function ofEnv(views: Readonly<Record<string, unknown>>, { envObject, handles }: LoopInputs): Readonly<Record<string, unknown>> {
  const captured = new Set([...(handles?.values() ?? [])].filter((name) => !Object.hasOwn(envObject, name)))
  const own = Object.create(Object.getPrototypeOf(envObject)) as Record<string, unknown>
  for (const [name, value] of Object.entries(views)) {
    if (!captured.has(name)) Object.defineProperty(own, name, { value, enumerable: true, writable: true, configurable: true })
  }
  return own
}

function drawsOf(rng: IterationRng): Pick<IterationRng, 'uniform' | 'normal' | 'int'> {
  return { uniform: () => rng.uniform(), normal: () => rng.normal(), int: (below) => rng.int(below) }
}

/** The options of a buffer's reduction copies. */
export function updateOptions(
  buffer: BufferInput,
): Pick<Lanes, 'combine' | 'apply' | 'flushEvery'> &
  Pick<BufferInput, 'rounds'> & { readonly dtype: 'i64' | 'f64'; readonly touched: boolean } {
  const { combine, apply, maxDelay, rounds } = buffer
  return {
    dtype: dtypeOfUpdates(buffer.storage.dtype) as 'i64' | 'f64', // the only two it gives
    touched: combine !== 'sum' || apply !== undefined,
    ...(maxDelay === undefined ? {} : { flushEvery: maxDelay }),
    ...(rounds === undefined ? {} : { rounds }),
    // the user's functions of two numbers
    ...(combine === 'sum' ? {} : { combine: combine.original as (a: number, b: number) => number }),
    ...(apply === undefined ? {} : { apply: apply.original as (current: number, update: number) => number }),
  }
}

function adderOf(log: AccumulatorLog): (value: unknown) => void {
  switch (log.form) {
    case 'sum': {
      const { sink } = log
      return (value) => {
        sink.reserve(1)
        sink.values[sink.length] = value as number // converts as a sum does
        sink.length++
      }
    }
    case 'custom':
      return (value) => void log.sink.values.push(value)
    case 'count':
      return () => void log.sink.value++
    case 'min':
    case 'max': {
      const pick = log.form === 'min' ? Math.min : Math.max
      return (value) => {
        log.sink.value = pick(log.sink.value, value as number) // converts as Math.min does
      }
    }
  }
}

/** The body as a function of element, key and views, whether it takes the element or not. */
function bodyOf(
  inputs: LoopInputs,
  form: 'original' | 'ir',
  watch: Watch | undefined,
): (value: unknown, key: readonly number[], views: Readonly<Record<string, unknown>>) => unknown {
  const { ir, spec } = inputs.analyzed
  if (form === 'ir' && ir !== undefined) return interpretBody(ir, watch)
  const original = spec.body.original as (...args: unknown[]) => unknown // called as the signature of loop() says
  return inputs.over.kind === 'range' ? (_, key, views) => original(key, views) : (value, key, views) => original(value, key, views)
}

/** A copy of what a loop may write of a storage, in ordinary memory. */
export function copyStorage(storage: Storage): Storage {
  if (storage.kind === 'dense') {
    const objects = storage.objects === undefined ? {} : { objects: storage.objects.map((object) => structuredClone(object)) }
    return { ...storage, data: storage.data.slice() as TypedArray, ...objects }
  }
  const columns = storage.columns.map((column) => (column.values === undefined ? column : { ...column, values: column.values.slice() }))
  return { ...storage, columns }
}

/** Writes a copy's values back into the storage it was made of. */
export function restoreStorage(storage: Storage, copy: Storage): void {
  if (storage.kind === 'dense' && copy.kind === 'dense') {
    storage.data.set(copy.data as never) // of one class
    for (const [i, object] of (copy.objects ?? []).entries()) if (storage.objects !== undefined) storage.objects[i] = object
    return
  }
  if (storage.kind === 'dense' || copy.kind === 'dense') return
  for (const [i, column] of storage.columns.entries()) column.values?.set(copy.columns[i]?.values as never) // of one class
}
