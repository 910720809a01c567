/**
 * Functions made from source text, closed over the names that random functions capture, and what calling them gives.
 */
import { CAPTURED_NAMES } from './functionSource.ts'

export type AnyFunction = (row: unknown, key: readonly number[]) => unknown

/** The function, closed over the names that the source may capture; undefined where one label stands inside itself. */
export function closureOf(source: string): AnyFunction | undefined {
  const half = (v: number): number => v / 2
  const clamp = (v: number, w: number): number => {
    if (v < 0) return 0
    return v > w ? w : v
  }
  const captured = [3, 'word', [5, 2, 2, 9], { rate: 0.25, deep: { k: 4 } }, half, clamp]
  try {
    return new Function(...CAPTURED_NAMES, `return ${source}`)(...captured) as AnyFunction
  } catch (error) {
    if (/has already been declared/.test(String(error))) return undefined
    throw error
  }
}

/** What a call gives or throws. */
export function outcome(call: () => unknown): unknown {
  try {
    return { returned: call() }
  } catch (error) {
    return {
      threw: error instanceof Error ? error.constructor.name : error,
      message: error instanceof RangeError ? error.message : undefined,
    }
  }
}
