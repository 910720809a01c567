/**
 * Converts values given from outside to what an array stores, or throws an error that says what would fit.
 *
 * Loop bodies convert as typed arrays do; `fill`, `set`, `assign` and `update` refuse what would change a value
 * (f32 rounds, as any store of a number with a fraction must).
 */

import { FIXED_FORMS } from '../../core/data/fixedValues.ts'
import type { DType } from '../../core/data/schema.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { PlanError } from '../../core/errors.ts'

const HOLDS: { readonly [D in DType]: string } = {
  f64: 'numbers',
  f32: 'numbers up to about 3.4e38, rounded',
  i64: 'bigints from -(2n ** 63n) to 2n ** 63n - 1n and safe integers',
  i32: 'integers from -2147483648 to 2147483647',
  u32: 'integers from 0 to 4294967295',
  i16: 'integers from -32768 to 32767',
  u16: 'integers from 0 to 65535',
  i8: 'integers from -128 to 127',
  u8: 'integers from 0 to 255',
  bool: 'true and false, or 1 and 0',
}

/** The number or bigint stored for `value`; PlanError with the whole rule when it does not fit. `what` begins the message. */
export function storedValue(value: unknown, dtype: DType, what: string): number | bigint {
  const stored = FIXED_FORMS[dtype].store(value, { kind: dtype })
  if (stored === undefined) {
    throw new PlanError(`${what}: the value ${valueText(value)} does not fit ${dtype}, which holds ${HOLDS[dtype]}.`)
  }
  return stored
}

/** A value as an object array keeps it: its own copy, so that what the caller holds is not the array's element. */
export function storedObject(value: unknown, what: string): unknown {
  if (typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol') return value
  try {
    return structuredClone(value)
  } catch (cause) {
    throw new PlanError(
      `${what}: an array of dtype 'object' cannot hold ${valueText(value)}. It holds values that structuredClone copies: no functions, symbols or class instances with either.`,
      { cause },
    )
  }
}

/** A stored number as a JavaScript value: booleans for bool. */
export function loadedValue(stored: number | bigint | undefined, dtype: DType): number | bigint | boolean | undefined {
  return dtype === 'bool' && stored !== undefined ? stored !== 0 : stored
}
