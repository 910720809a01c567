/** What plain JavaScript makes of a random loop, and the comparison with a run on workers: bit by bit, or the same exception. */
import { expect } from 'vitest'
import type { RandomLoop } from './arbitraries/loopBody.ts'
import { type Outcome, runPlainly, Thrown } from './loopRuns.ts'

export function plainOutcome(loop: RandomLoop, order: readonly number[]): Outcome {
  try {
    return runPlainly(loop, order)
  } catch (error) {
    if (!(error instanceof Thrown)) throw error
    return { arrays: [], total: undefined, order, error: { key: error.key, message: error.message } }
  }
}

export function expectSame(left: Outcome, right: Outcome, loop: RandomLoop, what: string): void {
  const order = left.order.length === right.order.length && left.order.every((k, i) => k === right.order[i])
  const arrays =
    left.arrays.length === right.arrays.length &&
    left.arrays.every((array, i) => array.every((value, k) => Object.is(value, right.arrays[i]?.[k])))
  if (order && arrays && Object.is(left.total, right.total) && JSON.stringify(left.error) === JSON.stringify(right.error)) return
  throw new Error(`${what} differ:\n${JSON.stringify(left)}\n${JSON.stringify(right)}\n${loop.source}`)
}

/** The run has the bits of plain JavaScript in the serial order it reports, which is that of keys unless any was asked for. */
export function expectPlain(
  loop: RandomLoop,
  outcome: Outcome,
  workers: number,
  isInKeyOrder: boolean = loop.spec.options.order !== 'any',
): void {
  if (isInKeyOrder) expect(outcome.order).toEqual(loop.iterations.flat())
  expect(outcome.order.length).toBe(loop.iterations.flat().length)
  expectSame(outcome, plainOutcome(loop, outcome.order), loop, `${workers} workers and plain JavaScript`)
}
