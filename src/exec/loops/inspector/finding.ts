/**
 * The finding of an inspector: which iterations of a loop may run at the same time.
 *
 *     components   iterations of two components touch nothing together: components run in any order, each in key order
 *     levels       an iteration's level is above those of all earlier iterations it is in conflict with: level after level, with
 *                  the result of key order
 *     colors       iterations of one color are in no conflict: color after color, each in key order
 *     nothing      (almost) every iteration waits for the one before
 */

export type Finding =
  | {
      readonly kind: 'components'
      /** The component of each iteration by position, numbered by their first iterations. */
      readonly of: Int32Array
      readonly sizes: Int32Array
      readonly text: string
    }
  | {
      readonly kind: 'levels' | 'colors'
      /** The level or color of each iteration by position, from 0. */
      readonly of: Int32Array
      readonly sizes: Int32Array
      readonly text: string
    }
  | {
      readonly kind: 'nothing'
      /** The reason, with numbers; starts a sentence. */
      readonly text: string
    }

export function largest(sizes: Int32Array): number {
  let most = 0
  for (const size of sizes) if (size > most) most = size
  return most
}

/** "1,999 levels, the widest of 1,000 of 1,000,000 iterations" */
export function countsText(kind: 'components' | 'levels' | 'colors', sizes: Int32Array, iterations: number): string {
  const most = kind === 'levels' ? 'the widest' : 'the largest'
  const noun = sizes.length === 1 ? kind.slice(0, -1) : kind
  return `${grouped(sizes.length)} ${noun}, ${most} of ${grouped(largest(sizes))} of ${grouped(iterations)} iterations`
}

export function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** How many of each value there are; values are 0 … count - 1. */
export function sizesOf(values: Int32Array, count: number): Int32Array {
  const sizes = new Int32Array(count)
  for (let i = 0; i < values.length; i++) sizes[values[i]!]!++
  return sizes
}
