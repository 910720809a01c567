/**
 * Runs a pass on copies, iteration by iteration, and holds every access against the schedule: the first two iterations
 * that touch one element, one of them writing, and that the schedule does not keep in order, reject the run.
 *
 *     interpreted body ── view ── shadow words of the element ── in order with who wrote and read it?
 *                              └─ values of assume.distinct ──── different from those of other iterations?
 *
 * Arrays that the body only adds to, and adds to update buffers, make no conflict. Of a private array each worker has a copy: an
 * iteration must have written what it reads there. The user's arrays are left alone.
 */

import { CHUNK } from '../../../core/arrays/fixedTree.ts'
import { keyAt, positionOf, sizeOfShape } from '../../../core/arrays/indexSpace.ts'
import type { Key } from '../../../core/arrays/keys.ts'
import type { Storage } from '../../../core/arrays/storage.ts'
import { nominalNs } from '../../../core/cost/nominal.ts'
import { Bug, LoopError, MemoryError } from '../../../core/errors.ts'
import type { FunctionIr } from '../../../core/ir/functionIr.ts'
import type { BlockSchedule, IterationSpace } from '../blocks/schedule.ts'
import { keyAtPosition, visitSerially } from '../blocks/space.ts'
import type { AccessSite } from '../interpreted/interpreter.ts'
import { copyStorage, PlainLoop } from '../interpreted/plainRun.ts'
import type { ArrayViewObject } from '../interpreted/views.ts'
import { whyNoKernel } from '../kernelPlan.ts'
import type { LoopInputs } from '../loopInputs.ts'
import { resetLog } from '../reductions/accumulatorLog.ts'
import { extentOf } from '../structure.ts'
import { type RaceOrder, raceOrderOf } from './raceCheckOrder.ts'
import { DistinctPromise, MOST_VALUES } from './raceCheckPromise.ts'
import { AccessWords, SHADOW_BYTES, Shadow } from './raceCheckShadow.ts'
import { type Site, sitesOf, writtenBy } from './raceCheckSites.ts'
import { brokenPromiseError, raceError } from './raceCheckText.ts'

export interface RaceCheckRequest {
  readonly inputs: LoopInputs
  readonly space: IterationSpace
  readonly blocks: BlockSchedule
  /** The loop's name in messages, as `the loop over range(8)`. */
  readonly loop: string
  readonly pass: number
  /** Whether nobody asked for the check: then only small loops are checked. */
  readonly automatic: boolean
  readonly signal?: AbortSignal | undefined
  /** How to yield to the event loop: `other` is awaited when `everyMs` have gone by. */
  readonly turns: { readonly everyMs: number; readonly other: () => Promise<void> }
}

export type RaceCheck =
  | { readonly kind: 'checked'; readonly iterations: number }
  /** `because` follows on "nothing was checked: ". */
  | { readonly kind: 'skipped'; readonly because: string }

/** Shadow words and orders of iterations take at most this much memory; it is not counted in the session's budget. */
const MOST_BYTES = 2 ** 30

/**
 * The limits of an unasked check. Nanoseconds are estimated for the compiled pass; steps are accesses and iterations of
 * loops inside the body, counted as they happen, of which a million take about a second.
 */
export const AUTOMATIC: { readonly iterations: number; readonly nanoseconds: number; readonly bytes: number; readonly steps: number } = {
  iterations: 10_000,
  nanoseconds: 2e6,
  bytes: 2 ** 24,
  steps: 250_000,
}

/** Rejects with LoopError at the first race or broken promise. A body that throws ends the check: the run will tell. */
export async function checkRaces(request: RaceCheckRequest): Promise<RaceCheck> {
  const { inputs, space, blocks, loop, automatic } = request
  const { ir, spec, schedule } = inputs.analyzed
  if (ir === undefined || whyNoKernel(inputs) !== undefined) {
    return { kind: 'skipped', because: `the body of ${loop} runs as it stands, one iteration after another` }
  }
  const order = blocks.kind === 'serial' ? undefined : raceOrderOf(schedule, space, spec.options.order ?? 'serial', inputs.finding)
  const promises = promisedArrays(inputs, ir)
  if (order === undefined && (automatic || promises.length === 0)) {
    return { kind: 'skipped', because: `${loop} runs serially` }
  }
  const bytes = bytesOf(inputs, ir, order === undefined, blocks)
  const unasked = { kind: 'skipped', because: `${loop} is too large to be checked unasked` } as const
  if (automatic) {
    const ns = blocks.iterations * nominalNs(ir, (name, axis) => extentOf(inputs, name, axis))
    if (blocks.iterations > AUTOMATIC.iterations || ns > AUTOMATIC.nanoseconds || bytes > AUTOMATIC.bytes) return unasked
  }
  if (bytes > MOST_BYTES) throw tooLarge(loop, `${Math.ceil(bytes / 2 ** 20)} MB for shadow words`, bytes)
  try {
    await new Checker(request, ir, order, promises).run()
  } catch (error) {
    if (error instanceof TooManySteps) return unasked
    throw error
  }
  return { kind: 'checked', iterations: blocks.iterations }
}

/** Ends an unasked check that turns out to be dear. */
class TooManySteps extends Error {}

/** The arrays of assume.distinct, by name; it is ignored for arrays that the loop writes. */
function promisedArrays(inputs: LoopInputs, ir: FunctionIr): string[] {
  const written = writtenBy(inputs, ir)
  return (inputs.analyzed.spec.options.assume?.distinct ?? []).filter((name) => {
    const input = inputs.arrays.get(name)
    return input !== undefined && !written.has(input.array)
  })
}

function bytesOf(inputs: LoopInputs, ir: FunctionIr, inOrder: boolean, blocks: BlockSchedule): number {
  const ranks = blocks.keyOrder ? 0 : 4 * blocks.iterations
  if (inOrder) return ranks
  let bytes = ranks
  for (const [array, storage] of writtenBy(inputs, ir)) {
    const elementBytes = SHADOW_BYTES + (inputs.analyzed.privateArrays.includes(array) ? Float64Array.BYTES_PER_ELEMENT : 0) // their writers
    if (storage.kind !== 'sparse') bytes += sizeOfShape(shapeOf(storage)) * elementBytes
  }
  return bytes
}

function shapeOf(storage: Storage): readonly number[] {
  return storage.kind === 'table' ? [storage.length] : storage.shape
}

function tooLarge(loop: string, what: string, bytes: number): MemoryError {
  const limit = `${MOST_BYTES / 2 ** 20} MB`
  return new MemoryError(
    `checkRaces of ${loop} needs ${what}; its limit is ${limit}. Check a smaller instance of the loop, and run this one without checkRaces.`,
    { operator: 'checkRaces', bytes },
  )
}

/** An array whose elements have shadow words; those of sparse arrays are numbered as they are met. */
interface Shadowed {
  /** Whether adds are a reduction: they are in no conflict with one another, and everything else is in conflict with them. */
  readonly isReduced: boolean
  /** For a private array, the access that wrote each element last, as a word of `AccessWords`; 0 for none. */
  readonly writers: Float64Array | undefined
  readonly shape: readonly number[]
  readonly shadow: Shadow
  readonly places: Map<number, number> | undefined
}

class Checker {
  readonly #request: RaceCheckRequest
  readonly #sites: readonly Site[]
  readonly #numbers: ReadonlyMap<AccessSite, number>
  readonly #elementRead: number | undefined
  readonly #words: AccessWords
  readonly #shadows = new Map<number, Shadowed>()
  readonly #promises: ReadonlyMap<string, DistinctPromise>
  readonly #plain: PlainLoop
  #site = 0
  #position = 0
  #stepsLeft: number

  constructor(request: RaceCheckRequest, ir: FunctionIr, order: RaceOrder | undefined, promises: readonly string[]) {
    const { inputs } = request
    this.#request = request
    this.#stepsLeft = request.automatic ? AUTOMATIC.steps : Number.POSITIVE_INFINITY
    const { sites, numbers, elementRead } = sitesOf(ir, inputs.analyzed.spec)
    this.#sites = sites
    this.#numbers = numbers
    this.#elementRead = elementRead
    this.#words = new AccessWords(sites.length)
    this.#promises = new Map(promises.map((name) => [name, new DistinctPromise()]))
    const written = writtenBy(inputs, ir)
    for (const [array, storage] of order === undefined ? [] : written) {
      if (order === undefined || this.#onlyAddedTo(array)) continue
      const shape = shapeOf(storage)
      const isSparse = storage.kind === 'sparse'
      const shadow = new Shadow(isSparse ? 1024 : sizeOfShape(shape), this.#words, order)
      const isReduced = inputs.analyzed.reducedArrays.includes(array)
      const writers = inputs.analyzed.privateArrays.includes(array) ? new Float64Array(sizeOfShape(shape)) : undefined
      this.#shadows.set(array, { isReduced, writers, shape, shadow, places: isSparse ? new Map() : undefined })
    }
    const copied = new Set(written.values())
    this.#plain = new PlainLoop(inputs, {
      storageOf: (_, storage) => (copied.has(storage) ? copyStorage(storage) : storage),
      laneCount: 1,
      body: 'ir',
      watch: {
        view: (view, { name, array, buffered }) => this.#watched(view, name, array, buffered),
        site: (node) => {
          this.#site = this.#numbers.get(node) ?? 0
          this.#step()
        },
        turn: () => this.#step(),
      },
    })
  }

  async run(): Promise<void> {
    const { inputs, space, blocks, pass, signal, turns } = this.#request
    const over = inputs.over.kind === 'range' ? undefined : this.#shadows.get(inputs.over.array)
    const ranks = positionsByRank(space, blocks)
    this.#plain.startPass(pass)
    let turn = performance.now()
    for (let rank = 0; rank < blocks.iterations; rank++) {
      this.#position = ranks?.[rank] ?? rank
      const key = keyAtPosition(space, this.#position)
      try {
        this.#iterate(key, over)
      } catch (error) {
        if (error instanceof LoopError || error instanceof MemoryError || error instanceof TooManySteps || error instanceof Bug) throw error
        return
      }
      if ((rank + 1) % CHUNK === 0) for (const log of this.#plain.accumulators.values()) resetLog(log)
      if ((rank & 63) === 63 && performance.now() - turn > turns.everyMs) {
        await turns.other()
        signal?.throwIfAborted()
        turn = performance.now()
      }
    }
  }

  #step(): void {
    if (--this.#stepsLeft < 0) throw new TooManySteps()
  }

  /** The element iterated over is read when the iteration starts, wherever the body uses it. */
  #iterate(key: number[], over: Shadowed | undefined): void {
    if (over !== undefined && this.#elementRead !== undefined) {
      this.#site = this.#elementRead
      this.#touch(over, key, 'read')
    }
    const replaced = this.#plain.iterate(this.#position, key, 0)
    if (replaced && over !== undefined) this.#touch(over, key, 'write')
  }

  /** Whether the loop only adds to the array: by the analysis, and by every place of the body that touches it. */
  #onlyAddedTo(array: number): boolean {
    const { analyzed } = this.#request.inputs
    return analyzed.reducedArrays.includes(array) && this.#sites.every((site) => site.array !== array || site.verb === 'adds to')
  }

  #watched(view: ArrayViewObject, name: string, array: number, buffered: boolean): ArrayViewObject {
    const shadowed = this.#shadows.get(array)
    const promise = buffered ? undefined : this.#promises.get(name)
    if (shadowed === undefined && promise === undefined) return view
    const rank = view.shape.length
    const touch = (key: readonly unknown[], how: 'read' | 'write' | 'add'): void => {
      if (shadowed !== undefined) this.#touch(shadowed, key as Key, how) // the view has checked it
    }
    return {
      ...view,
      get: (...key) => {
        const value = view.get(...key)
        touch(key, 'read')
        if (promise !== undefined) this.#noteValue(promise, name, { key, value, shape: view.shape })
        return value
      },
      has: (...key) => {
        touch(key, 'read')
        return view.has(...key)
      },
      set: (...args) => {
        view.set(...args)
        touch(args.slice(0, rank), 'write')
      },
      add: (...args) => {
        view.add(...args)
        if (!buffered) touch(args.slice(0, rank), 'add')
      },
    }
  }

  #touch(shadowed: Shadowed, key: Key, how: 'read' | 'write' | 'add'): void {
    const { shadow, isReduced, writers } = shadowed
    const shared = isReduced ? how === 'add' : how === 'read'
    const element = this.#elementOf(shadowed, positionOf(key, shadowed.shape))
    const word = this.#words.word(this.#position, this.#site)
    if (writers !== undefined) {
      const writer = writers[element] as number
      if (how !== 'write' && writer !== 0 && this.#words.position(writer) !== this.#position)
        throw this.#race(writer, word, key, { isPrivate: true })
      if (how !== 'read') writers[element] = word
      return
    }
    const other = shared ? shadow.read(element, word) : shadow.write(element, word)
    if (other !== undefined) throw this.#race(other, word, key)
  }

  #elementOf({ shadow, places }: Shadowed, position: number): number {
    if (places === undefined) return position
    const known = places.get(position)
    if (known !== undefined) return known
    const next = places.size
    if (next === MOST_VALUES || next * SHADOW_BYTES > MOST_BYTES) {
      throw tooLarge(this.#request.loop, `shadow words for more than ${next} keys of a sparse array`, next * SHADOW_BYTES)
    }
    places.set(position, next)
    if (next === shadow.length) shadow.grow(2 * next)
    return next
  }

  #race(earlier: number, later: number, element: Key, { isPrivate } = { isPrivate: false }): LoopError {
    const { inputs, loop, space } = this.#request
    const { schedule, spec } = inputs.analyzed
    const access = (word: number) => {
      const { name, verb, span } = this.#sites[this.#words.site(word)] as Site // a word is made of one of them
      return { name, verb, span, iteration: keyAtPosition(space, this.#words.position(word)) }
    }
    const order = spec.options.order ?? 'serial'
    const promised = this.#promises.size > 0
    const accesses = [access(earlier), access(later)] as const
    return raceError({ loop, schedule, order, accesses, element: element.map((k) => k + 0), promised, isPrivate })
  }

  #noteValue(
    promise: DistinctPromise,
    name: string,
    { key, value, shape }: { readonly key: Key; readonly value: unknown; readonly shape: readonly number[] },
  ): void {
    if (promise.size === MOST_VALUES) {
      throw tooLarge(this.#request.loop, `more than ${MOST_VALUES} values of ${name} in memory`, MOST_VALUES * SHADOW_BYTES)
    }
    const read = { value, place: positionOf(key, shape), position: this.#position }
    const before = promise.note(read)
    if (before === undefined) return
    const { space, loop } = this.#request
    const { span } = this.#sites[this.#site] as Site // the read's own
    const reads = [before, read] as const
    throw brokenPromiseError({
      loop,
      array: name,
      value,
      iterations: [keyAtPosition(space, reads[0].position), keyAtPosition(space, reads[1].position)],
      elements: [keyAt(reads[0].place, shape), keyAt(reads[1].place, shape)],
      span,
    })
  }
}

/** The iterations in the serial order; undefined where that is key order, in which positions count up. */
function positionsByRank(space: IterationSpace, blocks: BlockSchedule): Int32Array | undefined {
  if (blocks.keyOrder) return undefined
  const positions = new Int32Array(blocks.iterations)
  let rank = 0
  visitSerially(space, blocks, (position) => {
    positions[rank++] = position
  })
  return positions
}
