/**
 * Schemas: which of a few columns a table has. A column's name says what it holds, so that functions over it can be
 * written down.
 */
import fc from 'fast-check'

export type ColumnName = 'n' | 'k' | 's' | 'b' | 't' | 'd' | 'm' | 'u' | 'l' | 'g' | 'w'

/** Columns by name; all may be null but `u`. */
export const COLUMNS: Readonly<Record<ColumnName, fc.Arbitrary<unknown>>> = {
  /** Numbers of every sort: NaN, -0, Infinity, fractions. */
  n: fc.oneof(
    fc.integer({ min: -5, max: 5 }),
    fc.constantFrom(-0, 0),
    fc.constantFrom(NaN, -0, 0, Infinity, -Infinity, 0.1, 1e-320, 2 ** 53),
  ),
  /** Small integers with many repetitions: groups, keys. */
  k: fc.integer({ min: 0, max: 3 }),
  s: fc.constantFrom('', 'a', 'b', 'ab', 'A', 'ž', '😀', 'a longer text that is not inlined'),
  b: fc.bigInt({ min: -9n, max: 9n }),
  t: fc.boolean(),
  d: fc.constantFrom(0, 1, -1, 1_600_000_000_000).map((ms) => new Date(ms)),
  /** Dates whose column counts nanoseconds: `NANOSECONDS` are the digits below theirs. */
  m: fc.constantFrom(0, 1, -1, 1_600_000_000_000, -1_600_000_000_001).map((ms) => new Date(ms)),
  /** Not null: an i32 column. */
  u: fc.integer({ min: -3, max: 12 }),
  /** Lists of numbers and nulls. */
  l: fc.array(fc.option(fc.integer({ min: 0, max: 3 }), { freq: 5, nil: null }), { maxLength: 3 }),
  /** Structs with a text, a number and a struct, all of which may be null. */
  g: fc.record({
    c: fc.option(fc.constantFrom('de', 'fr', ''), { freq: 4, nil: null }),
    z: fc.option(fc.integer({ min: 0, max: 3 }), { freq: 4, nil: null }),
    e: fc.option(fc.record({ f: fc.constantFrom(0.5, -0, NaN) }), { freq: 4, nil: null }),
  }),
  /** Lists of texts. */
  w: fc.array(fc.constantFrom('x', 'y', 'xy', ''), { maxLength: 3 }),
}
/** Digits below a millisecond, which no Date shows. */
export const NANOSECONDS: readonly bigint[] = [0n, 1n, 999_999n, 500_000n]
export const COLUMN_NAMES = Object.keys(COLUMNS) as readonly ColumnName[] // the table above has no other keys

/** At least one column, in the order of the table. */
export const schema: fc.Arbitrary<readonly ColumnName[]> = fc.subarray([...COLUMN_NAMES], { minLength: 1 })
