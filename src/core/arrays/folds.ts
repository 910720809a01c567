/**
 * Reductions of a whole array on the caller's thread, by the fixed tree: chunks of 4,096 values in element order, left
 * to right inside a chunk, chunks combined pairwise. How the values are cut into batches does not matter.
 */
import { type Column, isValid } from '../data/column.ts'
import type { ElementType } from '../data/schema.ts'
import { PlanError } from '../errors.ts'
import { elementText, valueClassOf } from '../plan/elements.ts'
import { CHUNK, combinePairwise } from './fixedTree.ts'

/** A fold of values that are given one after another, by the fixed tree. */
export class TreeFold<A, V> {
  readonly #step: (a: A, value: V) => A
  readonly #start: (value: V) => A
  readonly #chunks: A[] = []
  #current: A | undefined
  #filled = 0

  /** `start` makes a chunk's first result from its first value. */
  constructor(start: (value: V) => A, step: (a: A, value: V) => A) {
    this.#start = start
    this.#step = step
  }

  add(value: V): void {
    this.#current = this.#filled === 0 ? this.#start(value) : this.#step(this.#current as A, value) // filled > 0: a chunk is open
    if (++this.#filled < CHUNK) return
    this.#chunks.push(this.#current)
    this.#filled = 0
  }

  /** The result of all values; undefined without any. */
  finish(combine: (a: A, b: A) => A): { readonly value: A } | undefined {
    if (this.#filled > 0) this.#chunks.push(this.#current as A)
    return this.#chunks.length === 0 ? undefined : { value: combinePairwise(this.#chunks, combine) as A }
  }
}

/** The sum and the number of values of columns; nulls are skipped. */
export class NumberSum {
  readonly #chunks: number[] = []
  #current = 0
  #filled = 0
  #bigints = 0n
  #hasBigints = false
  count = 0

  addColumn(column: Column): void {
    const { values, length } = column
    if (values === undefined) return // a column of nulls
    if (values instanceof BigInt64Array || values instanceof BigUint64Array) {
      this.#hasBigints = true
      for (let i = 0; i < length; i++) {
        if (!isValid(column, i)) continue
        this.#bigints += values[i] ?? 0n
        this.count++
      }
      return
    }
    let current = this.#current
    let filled = this.#filled
    for (let i = 0; i < length; i++) {
      if (!isValid(column, i)) continue
      current += values[i] ?? 0
      this.count++
      if (++filled < CHUNK) continue
      this.#chunks.push(current)
      current = 0
      filled = 0
    }
    this.#current = current
    this.#filled = filled
  }

  /** The sum, a bigint for columns of bigints; throws PlanError when it does not fit 64 bits. */
  finish(): number | bigint {
    if (this.#hasBigints) return checkedSum(this.#bigints)
    if (this.#filled > 0) this.#chunks.push(this.#current)
    return combinePairwise(this.#chunks, (a, b) => a + b) ?? 0
  }
}

/** Returns the sum; throws PlanError for a bigint that does not fit 64 bits. */
export function checkedSum(sum: number | bigint): number | bigint {
  if (typeof sum === 'number' || BigInt.asIntN(64, sum) === sum) return sum
  throw new PlanError(`The sum ${sum} does not fit i64. Convert the values first, as in map((value) => Number(value)).`)
}

/** `Math.min` or `Math.max` of the numbers of a column and `soFar`; bigints by `<`. Nulls are skipped; undefined without values. */
export function extremeOf(column: Column, which: 'min' | 'max', soFar: number | bigint | undefined): number | bigint | undefined {
  const { values, length } = column
  let result = soFar
  for (let i = 0; i < length; i++) {
    const value = values?.[i]
    if (value === undefined || !isValid(column, i)) continue
    if (result === undefined) result = value
    else if (typeof value === 'number' && typeof result === 'number')
      result = which === 'min' ? Math.min(result, value) : Math.max(result, value)
    else if (which === 'min' ? value < result : value > result) result = value
  }
  return result
}

/** Throws PlanError unless elements are numbers (bigints and booleans count). */
export function requireNumbers(method: string, element: ElementType): void {
  if (element.kind === 'unknown') return
  if (
    element.kind === 'scalar' &&
    ['number', 'bigint', 'boolean', 'unknown'].includes(valueClassOf(element.type)) &&
    element.type.kind !== 'object'
  )
    return
  const cure = element.kind === 'row' ? `Take a column first, as in map((row) => row.price).${method}().` : cureOfValues(method, element)
  throw new PlanError(`${method}() works on numbers; the elements of this array are ${elementText(element)}.\n${cure}`)
}

function cureOfValues(method: string, element: ElementType): string {
  const ordered = element.kind === 'scalar' && ['string', 'Date'].includes(valueClassOf(element.type))
  if (ordered && method === 'min') return 'Sort them, as in sortBy((value) => value).first().'
  if (ordered && method === 'max') return 'Sort them, as in sortBy((value) => value, { descending: true }).first().'
  return `Convert them first, as in map((value) => Number(value)).${method}().`
}
