/** Columns of keys of every kind, and ways to cut them into pieces. */
import fc from 'fast-check'
import type { ColumnType } from '../../src/core/data/schema.ts'

/** Texts of lengths around those at which they are read by halves, by eight bytes, and by eight more; what differs is first, in between or last. */
function likeTexts(lengths: readonly number[]): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom(...lengths), fc.constantFrom(0, 0.3, 0.5, 0.99), fc.constantFrom('a', 'b', 'ž'))
    .map(([length, where, letter]) => {
      const at = Math.floor(length * where)
      return `${'x'.repeat(at)}${letter}${'x'.repeat(length - at - 1)}`
    })
}

/** Kinds of keys, each with values that are easily taken for each other; `rare`: what only a few rows have, where that is something else. */
const KEYS: readonly { readonly type: ColumnType; readonly values: fc.Arbitrary<unknown>; readonly rare?: fc.Arbitrary<unknown> }[] = [
  {
    type: { kind: 'i32' },
    values: fc.oneof(fc.integer({ min: -3, max: 3 }), fc.integer({ min: 0, max: 2 ** 16 }), fc.constantFrom(-(2 ** 31), 2 ** 31 - 1)),
  },
  {
    type: { kind: 'i32' },
    values: fc.integer({ min: -9, max: 9 }),
    rare: fc.constantFrom(12, 40, 4_000, -4_000, 2 ** 31 - 1, -(2 ** 31)),
  },
  { type: { kind: 'u32' }, values: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 2 ** 32 - 9, max: 2 ** 32 - 1 })) },
  { type: { kind: 'u8' }, values: fc.integer({ min: 0, max: 255 }) },
  { type: { kind: 'f64' }, values: fc.constantFrom(0, -0, 1, 0.5, NaN, Infinity, -Infinity, 2 ** 31, 2 ** 32, 5e-324, -1) },
  {
    type: { kind: 'f64' },
    values: fc.oneof(fc.integer({ min: -20, max: 20 }), fc.constant(-0)),
    rare: fc.constantFrom(0.5, NaN, -4_000, 2 ** 32 + 1),
  },
  { type: { kind: 'f32' }, values: fc.constantFrom(0, -0, 1, 0.5, NaN, Infinity, 2 ** 25) },
  {
    type: { kind: 'i64' },
    values: fc.oneof(fc.bigInt({ min: -4n, max: 4n }), fc.constantFrom(2n ** 32n, 2n ** 32n + 1n, -(2n ** 63n), 2n ** 31n)),
  },
  { type: { kind: 'utf8' }, values: fc.oneof(fc.constantFrom('', 'a', 'b', 'ab', 'ba', '\0', 'ž'), fc.string({ maxLength: 3 })) },
  ...[[3], [4, 7], [8, 9, 15, 16], [17, 24]].map((lengths) => ({ type: { kind: 'utf8' } as const, values: likeTexts(lengths) })),
  { type: { kind: 'bool' }, values: fc.boolean() },
  {
    type: { kind: 'struct', fields: ['x', 'y', 'z'].map((name) => ({ name, type: { kind: 'f64' }, nullable: true })) },
    values: fc.record({ x: fc.constantFrom(0, 1, null), y: fc.constantFrom(0, 1, NaN), z: fc.integer({ min: 0, max: 2 }) }),
  },
  {
    type: {
      kind: 'struct',
      fields: [
        { name: 'x', type: { kind: 'i32' }, nullable: true },
        { name: 'y', type: { kind: 'bool' }, nullable: true },
      ],
    },
    values: fc.record({
      x: fc.oneof(fc.constant(null), fc.integer({ min: -30, max: 30 })),
      y: fc.oneof(fc.constant(null), fc.boolean()),
    }),
  },
  {
    type: {
      kind: 'struct',
      fields: [
        { name: 'x', type: { kind: 'u32' }, nullable: false },
        { name: 'y', type: { kind: 'f64' }, nullable: false },
        { name: 'z', type: { kind: 'i64' }, nullable: false },
      ],
    },
    values: fc.record({
      x: fc.integer({ min: 2 ** 32 - 9, max: 2 ** 32 - 1 }),
      y: fc.constantFrom(0, -0, 1, 2, 5),
      z: fc.bigInt({ min: -2n, max: 2n }),
    }),
    rare: fc.constantFrom(
      { x: 2 ** 32 - 1, y: 0.5, z: 0n },
      { x: 2 ** 32 - 1, y: NaN, z: 0n },
      { x: 2 ** 32 - 1, y: 1, z: 2n ** 32n },
      { x: 3, y: 1, z: 1n },
    ),
  },
  {
    // boxes around these have too many places for a table without hashes, of all three more than a double tells apart
    type: { kind: 'struct', fields: ['x', 'y', 'z'].map((name) => ({ name, type: { kind: 'f64' }, nullable: false })) },
    values: fc.record({ x: fc.constantFrom(0, -0, 1, 2 ** 30), y: fc.constantFrom(0, 1, 2 ** 20), z: fc.constantFrom(0, 1, 3) }),
    rare: fc.constantFrom({ x: 1, y: 1, z: 2 ** 30 }, { x: 1, y: 1, z: 0.5 }, { x: 1, y: 1, z: -1 }),
  },
  { type: { kind: 'list', item: { kind: 'f64' } }, values: fc.array(fc.constantFrom(0, 1, null), { maxLength: 2 }) },
]

export interface Keys {
  readonly type: ColumnType
  readonly at: (i: number) => unknown
}

/** Many values out of few drawn ones, with nulls or without. */
export const keys: fc.Arbitrary<Keys> = fc
  .constantFrom(...KEYS, ...KEYS.filter(({ type }) => type.kind === 'struct'))
  .chain(({ type, values, rare = values }) =>
    fc
      .record({
        drawn: fc.array(fc.option(values, { freq: 12, nil: null }), { minLength: 1, maxLength: 40 }),
        nulls: fc.boolean(),
        /** One row of some hundreds has it, the first of them late. */
        rare: fc.option(rare, { freq: 2, nil: undefined }),
        step: fc.integer({ min: 1, max: 39 }),
        /** A further value every 2 ** grows rows; all of them from the first row on. */
        grows: fc.constantFrom(undefined, 3, 7, 11),
      })
      .map(({ drawn, nulls, rare, step, grows }) => {
        const kept = nulls ? drawn : drawn.filter((value) => value !== null)
        const begun = (i: number): number => Math.min(kept.length, grows === undefined ? kept.length : 1 + (i >> grows))
        const common = (i: number): unknown => (kept.length === 0 ? null : kept[((i * step) ^ (i >> 5)) % begun(i)])
        return { type, at: (i: number): unknown => (rare !== undefined && i % 613 === 50 ? rare : common(i)) }
      }),
  )

/** Sizes of pieces, again and again. */
export const cuts: fc.Arbitrary<readonly number[]> = fc.array(
  fc.oneof(fc.integer({ min: 20, max: 150 }), fc.integer({ min: 1, max: 6_000 })),
  {
    minLength: 1,
    maxLength: 6,
  },
)

export function pieces(length: number, sizes: readonly number[]): readonly (readonly [number, number])[] {
  const out: [number, number][] = []
  for (let from = 0, p = 0; from < length; p++) {
    const to = Math.min(length, from + (sizes[p % sizes.length] as number))
    out.push([from, to])
    from = to
  }
  return out
}
