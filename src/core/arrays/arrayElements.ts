/**
 * The elements of an array by their keys, read and written in place: what every handle has, and the plan and the engine behind it.
 */
import { checkFunction, checkList } from '../arguments.ts'
import type { TypedArray } from '../data/column.ts'
import { valueText } from '../data/valueKinds.ts'
import type { Engine } from '../engine.ts'
import { PlanError } from '../errors.ts'
import { rankOf } from '../plan/elements.ts'
import type { LogicalPlan } from '../plan/logicalPlan.ts'
import type { Selector, Shape } from './indexSpace.ts'
import type { Key } from './keys.ts'

/** Returns the plan and the engine of a handle, undefined for other values; set by the class, which alone can see its private fields. */
let inside: (value: unknown) => { readonly plan: LogicalPlan; readonly engine: Engine } | undefined

/** Whether a value is a handle. */
export function isHandle(value: unknown): boolean {
  return inside(value) !== undefined
}

/** The plan of a handle; for the session, not for programs. */
export function planOf<T, K extends Key>(array: ArrayElements<T, K>): LogicalPlan {
  return insideOf(array).plan
}

/** The engine of a handle's session; for the session, not for programs. */
export function engineOf<T, K extends Key>(array: ArrayElements<T, K>): Engine {
  return insideOf(array).engine
}

/** The plan and the engine of a handle; throws PlanError for a value that is none. */
export function insideOf(array: unknown): { readonly plan: LogicalPlan; readonly engine: Engine } {
  const found = inside(array)
  if (found === undefined) throw new PlanError(`This takes a DistArray of a session; it was given ${valueText(array)}.`)
  return found
}

/** The plan of another array that a method of this one takes. */
export function planOfOther(array: object, other: unknown, method: string): LogicalPlan {
  const found = inside(other)
  if (found === undefined) {
    const cure = method === 'union' && Array.isArray(other) ? ' Write union(a, b), without a list.' : ''
    throw new PlanError(`${method}() takes another DistArray; it was given ${valueText(other)}.${cure}`)
  }
  if (found.engine !== insideOf(array).engine)
    throw new PlanError(`${method}() takes a DistArray of the same session; the other array belongs to another one.`)
  return found.plan
}

/** A handle whose elements are read and written by their keys. */
export abstract class ArrayElements<T, K extends Key> {
  readonly #engine: Engine
  readonly #plan: LogicalPlan

  constructor(engine: Engine, plan: LogicalPlan) {
    this.#engine = engine
    this.#plan = plan
  }

  static {
    inside = (value) =>
      typeof value === 'object' && value !== null && #plan in value ? { plan: value.#plan, engine: value.#engine } : undefined
  }

  /** The element under a key. Absent: 0 for numbers of a sparse array, otherwise undefined. Outside the shape: PlanError. */
  async at(...key: K): Promise<T | undefined> {
    this.#checkRank('at', key.length)
    return (await this.#engine.at(this.#plan, key)) as T | undefined // the engine gives elements of this plan
  }

  /** The numbers under all keys that start with `prefix`, in key order, as a copy; absent ones are 0. */
  async row(...prefix: readonly number[]): Promise<TypedArray> {
    const rank = rankOf(this.#plan.keys)
    if (prefix.length >= rank) {
      throw new PlanError(
        `row() takes fewer numbers than the keys have axes: ${prefix.length} given, ${rank} ${rank === 1 ? 'axis' : 'axes'}. For one element use at(${prefix.join(', ')}).`,
      )
    }
    const selectors = Array.from({ length: rank }, (_, axis) => prefix[axis] ?? null)
    return (await this.#engine.slice(this.#plan, selectors, 'row')).data
  }

  /** The numbers that the selectors choose, row-major, as a copy; axes chosen by one index are left out of the shape. */
  async slice(selectors: readonly Selector[]): Promise<{ readonly shape: Shape; readonly data: TypedArray }> {
    checkList('The selectors of slice()', selectors)
    this.#checkRank('slice', selectors.length)
    return this.#engine.slice(this.#plan, selectors, 'slice')
  }

  /** Writes one element in place. PlanError when the value does not fit the array's type. */
  async set(key: K, value: T): Promise<void> {
    checkList('The key of set()', key)
    this.#checkRank('set', key.length)
    await this.#engine.set(this.#plan, key, value)
  }

  /** Writes the chosen elements in place: one number for all of them, or as many as are chosen, row-major. */
  async assign(selectors: readonly Selector[], data: TypedArray | readonly number[] | number): Promise<void> {
    checkList('The selectors of assign()', selectors)
    this.#checkRank('assign', selectors.length)
    await this.#engine.assign(this.#plan, selectors, data)
  }

  /** Replaces one element by the result of `f` for it. */
  async update(key: K, f: (value: T) => T): Promise<void> {
    checkList('The key of update()', key)
    this.#checkRank('update', key.length)
    checkFunction('update()', f, '(value)')
    await this.#engine.update(this.#plan, key, f)
  }

  /** Frees the storage now; later use computes it again, or throws for an array that was written in place. */
  async release(): Promise<void> {
    await this.#engine.release(this.#plan)
  }

  #checkRank(method: string, given: number): void {
    const rank = rankOf(this.#plan.keys)
    if (given === rank) return
    const each = method === 'slice' || method === 'assign' ? 'one selector per axis (null for a whole axis)' : 'one number per axis'
    throw new PlanError(
      `${method}() takes ${each}: this array has ${rank} ${rank === 1 ? 'axis' : 'axes'}, ${given} ${given === 1 ? 'was' : 'were'} given.`,
    )
  }
}
