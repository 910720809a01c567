/**
 * Laws of sketches: what they tell is as near as they say, and follows from the values alone: neither their order, nor how often they come,
 * nor how they are cut into partitions makes a difference.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { columnFromValues } from '../src/core/data/columnBuilder.ts'
import { rowReader, valueReader } from '../src/core/data/columnReaders.ts'
import { sliceColumn } from '../src/core/data/columnSlices.ts'
import { type ExecBatch, hiddenBatch } from '../src/exec/tables/operators/batches.ts'
import { FoldedGroups } from '../src/exec/tables/operators/groupBy/foldedGroups.ts'
import {
  DistinctSketch,
  EXACT_HASHES,
  EXACT_VALUES,
  QUANTILE_ERROR,
  QuantileSketch,
} from '../src/exec/tables/operators/groupBy/sketches.ts'
import { valueHashes } from '../src/exec/tables/operators/hashing/valueHashes.ts'
import { openNarrow, runWide } from '../src/exec/tables/operators/index.ts'
import type { Aggregate } from '../src/planner/physical/physicalPlan.ts'
import { cuts, keys, pieces } from './arbitraries/keys.ts'
import { announcedRun } from './lawRuns.ts'
import { equal } from './reference.ts'

const LAW = announcedRun('sketches.prop.ts')

/** As many different values as are asked for, of kinds that hashes should tell apart. */
const VALUES: Readonly<Record<string, (i: number, first: number) => unknown>> = {
  consecutive: (i, first) => i + first,
  far: (i, first) => (i + first) * 65_536,
  fractions: (i, first) => (i + first) / 3,
  texts: (i, first) => `user-${i + first}`,
  long: (i, first) => `${'x'.repeat(i % 9)}${i + first}.example.org/path`,
  bigints: (i, first) => BigInt(i + first) << 31n,
  dates: (i, first) => new Date((i + first) * 86_400_000),
}
const sizes = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 3_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: EXACT_HASHES - 1, max: EXACT_HASHES + 2 }) },
  { weight: 1, arbitrary: fc.integer({ min: 10_000, max: 40_000 }) },
)

function estimateOf(hashes: Iterable<number>): number {
  const sketch = new DistinctSketch()
  for (const hash of hashes) sketch.add(hash)
  return sketch.estimate()
}

test('different values are counted exactly up to 256, and of more within 1.6 %, as a standard error', () => {
  let [squares, runs] = [0, 0]
  fc.assert(
    fc.property(fc.constantFrom(...Object.keys(VALUES)), sizes, fc.integer({ min: 0, max: 10 ** 6 }), (kind, size, first) => {
      const column = columnFromValues(Array.from({ length: size }, (_, i) => VALUES[kind]?.(i, first)))
      const hashes = valueHashes(column)
      const estimate = estimateOf(hashes)
      if (size <= EXACT_HASHES) expect(estimate).toBe(size)
      const off = (estimate - size) / size
      expect(Math.abs(off)).toBeLessThan(5 * 0.01625)
      if (size > EXACT_HASHES) {
        squares += off * off
        runs++
      }
      // the other way round, and some of them again
      expect(estimateOf([...hashes, ...hashes.subarray(size >> 1)].reverse())).toBe(estimate)
    }),
    LAW,
  )
  if (runs > 30) expect(Math.sqrt(squares / runs)).toBeLessThan(0.0205)
})

test('millions of values', () => {
  const values = Float64Array.from({ length: 2_000_000 }, (_, i) => i / 7)
  const estimate = estimateOf(valueHashes({ type: { kind: 'f64' }, length: values.length, values }))
  expect(Math.abs(estimate / values.length - 1)).toBeLessThan(0.04)
})

test('equal values have one hash, whatever their columns are', () => {
  fc.assert(
    fc.property(keys, fc.integer({ min: 1, max: 40 }), ({ type, at }, length) => {
      const column = columnFromValues(
        Array.from({ length }, (_, i) => at(i)),
        type,
      )
      const read = valueReader(column)
      const hashes = valueHashes(column)
      const wide = valueHashes(columnFromValues(Array.from({ length }, (_, i) => read(i))))
      for (let i = 0; i < length; i++)
        for (let j = 0; j < length; j++) {
          if (read(i) === null || read(j) === null) continue
          expect(hashes[i] === hashes[j], `${i} ${j}`).toBe(equal(read(i), read(j)))
          if (i === j && typeof read(i) === 'number') expect(wide[i]).toBe(hashes[i])
        }
    }),
    LAW,
  )
})

const numbers = fc
  .tuple(
    fc.array(
      fc.oneof(fc.double({ noDefaultInfinity: true, noNaN: true }), fc.integer(), fc.constantFrom(0, -0, 1, -1, Infinity, -Infinity, NaN)),
      {
        minLength: 1,
        maxLength: 60,
      },
    ),
    fc.constantFrom(1, 1, 7, 40),
    fc.constantFrom(1, 1.01, 0.3, -2.5),
  )
  .map(([values, times, by]) => values.flatMap((value) => Array.from({ length: times }, (_, i) => value * by ** i)))
const fractions = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 0.25, 0.5, 0.99, 1))

function quantileOf(values: Iterable<number>, q: number): number | null {
  const sketch = new QuantileSketch()
  for (const value of values) sketch.add(value)
  return sketch.quantile(q)
}

test('a quantile lies where its two neighbours are, each at most 1/128 of itself off, at the ends and of few values not at all', () => {
  let many = 0
  fc.assert(
    fc.property(numbers, fractions, (values, q) => {
      const sorted = Float64Array.from(values).sort()
      const position = q * (sorted.length - 1)
      const [below, above] = [sorted[Math.floor(position)] as number, sorted[Math.ceil(position)] as number]
      const exact = below === above ? below : below + (above - below) * (position - Math.floor(position))
      const found = quantileOf(values, q) as number
      expect(quantileOf([...values].reverse(), q)).toBe(found)
      expect(quantileOf(sorted, q)).toBe(found)
      if (values.length <= EXACT_VALUES || q === 0 || q === 1 || !Number.isFinite(below) || !Number.isFinite(above)) {
        if (values.length <= EXACT_VALUES || q === 0 || q === 1) expect(found).toBe(exact)
        else if (Number.isNaN(below)) expect(found).toBeNaN()
        return
      }
      many++
      const share = position - Math.floor(position)
      const allowed = QUANTILE_ERROR * (Math.abs(below) * (1 - share) + Math.abs(above) * share) * (1 + 1e-12) + 2 ** -1028
      if (Number.isFinite(exact)) expect(Math.abs(found - exact)).toBeLessThanOrEqual(allowed)
      expect(found).toBeGreaterThanOrEqual(sorted[0] as number)
    }),
    {
      ...LAW,
      examples: [
        [Array.from({ length: 300 }, () => Number.MAX_VALUE), 0.5],
        [Array.from({ length: 301 }, (_, i) => (i < 150 ? i : Number.NaN)), 0.5],
      ],
    },
  )
  // few cases say nothing of how often something occurs
  if (LAW.numRuns >= 500) expect(many).toBeGreaterThan(LAW.numRuns / 50)
})

const AGGREGATES: readonly Aggregate[] = [
  { name: 'different', kind: 'approxCountDistinct', column: 0 },
  { name: 'rows', kind: 'count' },
  { name: 'median', kind: 'approxQuantile', column: 0, q: 0.5 },
  { name: 'high', kind: 'approxQuantile', column: 0, q: 0.9 },
]

test('partition after partition, groups have what all of their rows have at once', () => {
  fc.assert(
    fc.property(
      keys,
      numbers,
      fc.integer({ min: 1, max: 1_500 }),
      cuts,
      fc.constantFrom(0, 5),
      ({ type, at }, drawn, length, sizes, nulls) => {
        const key = columnFromValues(
          Array.from({ length }, (_, i) => at(i)),
          type,
        )
        const values = columnFromValues(
          Array.from({ length }, (_, i) => (nulls > 0 && i % nulls === 3 ? null : (drawn[i % drawn.length] as number) * (1 + (i % 301)))),
          { kind: 'f64' },
        )
        const [whole] = runWide({ kind: 'HashAggregateExec', aggregates: AGGREGATES, element: { kind: 'unknown' } }, [
          hiddenBatch([key, values]),
        ])
        const folded = new FoldedGroups(AGGREGATES)
        for (const [partition, [from, to]] of pieces(length, sizes).entries()) {
          const narrow = openNarrow({ kind: 'PartialGroupsExec', aggregates: AGGREGATES }, { partition, firstRow: 0 })
          narrow.next(hiddenBatch([sliceColumn(key, from, to), sliceColumn(values, from, to)]))
          const part = narrow.end?.()
          if (part !== undefined) folded.add(part)
        }
        expect(rowsOf(folded.finish({ element: { kind: 'unknown' } }))).toEqual(rowsOf(whole as ExecBatch))
        expect(folded.bytes).toBeLessThan(2_000 + 6_000 * (whole?.length ?? 0) + 200 * (whole?.length ?? 0) + 120 * length)
      },
    ),
    LAW,
  )
})

function rowsOf(batch: ExecBatch): readonly unknown[] {
  const read = rowReader(batch)
  return Array.from({ length: batch.length }, (_, i) => read(i))
}
