/** The dullest grouping: what a group-by with aggregates of columns of numbers has to give. */
import type { Aggregate } from '../src/planner/physical/physicalPlan.ts'
import { equal, momentOf, pairOf, treeSum } from './reference.ts'

/** A row a group, in order of first appearance; `columns` are what aggregates name; of booleans, 0 and 1. Values that are only collected may be anything. */
export function expectedGroups(
  keysOf: readonly unknown[],
  columns: readonly (readonly unknown[])[],
  aggregates: readonly Aggregate[],
): readonly unknown[] {
  const groups: { readonly key: unknown; readonly rows: number[] }[] = []
  // keys that are equal have equal texts; those that share a text are compared
  const byText = new Map<string, (typeof groups)[number][]>()
  for (const [row, key] of keysOf.entries()) {
    const text = JSON.stringify(key, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value))
    const alike = byText.get(text) ?? []
    byText.set(text, alike)
    const group = alike.find((one) => equal(one.key, key))
    if (group !== undefined) {
      group.rows.push(row)
      continue
    }
    const added = { key, rows: [row] }
    alike.push(added)
    groups.push(added)
  }
  return groups.map(({ key, rows }) => {
    const of = ({ kind, column, second, q }: Aggregate): unknown => {
      const all = rows.map((row) => columns[column ?? 0]?.[row] ?? null)
      if (kind === 'collect') return column === 2 ? all.map((value) => (value === null ? null : value === 1)) : all
      const values = all as readonly (number | null)[] // all other aggregates here are of numbers
      const present = values.filter((value) => value !== null)
      if (kind === 'count') return column === undefined ? rows.length : present.length
      if (kind === 'last') return values.at(-1)
      if (kind === 'sum') return treeSum(present)
      if (kind === 'countDistinct') return new Set(present.map((value) => (value === 0 ? 0 : value))).size
      if (kind === 'variance' || kind === 'stddev') return deviation(present, kind === 'variance')
      const others = rows.map((row) => (columns[second ?? 0]?.[row] ?? null) as number | null)
      if (kind === 'skew' || kind === 'kurtosis') return momentOf(present, kind)
      if (kind === 'covariance' || kind === 'correlation')
        return pairOf(
          values.flatMap((value, i) => (value === null || others[i] === null ? [] : [[value, others[i] as number] as const])),
          kind,
        )
      if (kind === 'argMin' || kind === 'argMax') {
        const by = others.filter((value) => value !== null)
        const best = by.length === 0 ? null : by.reduce((a, b) => (kind === 'argMin' ? Math.min(a, b) : Math.max(a, b)))
        return best === null ? null : values[others.findIndex((value) => Object.is(value, best))]
      }
      if (present.length === 0) return null
      if (kind === 'mode') return mostFrequent(present)
      if (kind === 'any' || kind === 'all') return kind === 'any' ? present.includes(1) : !present.includes(0)
      if (kind === 'quantile') return quantile(present, q ?? 0.5)
      return kind === 'mean'
        ? treeSum(present) / present.length
        : present.reduce((a, b) => (kind === 'min' ? Math.min(a, b) : Math.max(a, b)))
    }
    // a key that is an object gives its columns, unless it is null for a row
    const named = typeof key === 'object' && key !== null && !Array.isArray(key) && !keysOf.includes(null) ? key : { key }
    return { ...named, ...Object.fromEntries(aggregates.map((one) => [one.name, of(one)])) }
  })
}

function mostFrequent(values: readonly number[]): number {
  const counts = new Map<number, number>() // which takes -0 for 0, and NaN for itself
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  const most = Math.max(...counts.values())
  return values.find((value) => counts.get(value) === most) as number // one has it
}

function deviation(values: readonly number[], isSquared: boolean): number | null {
  if (values.length < 2) return null
  const mean = treeSum(values) / values.length
  const variance = treeSum(values.map((value) => (value - mean) * (value - mean))) / (values.length - 1)
  return isSquared ? variance : Math.sqrt(variance)
}

function quantile(values: readonly number[], q: number): number {
  const sorted = Float64Array.from(values).sort()
  const position = q * (sorted.length - 1)
  const [below = 0, above = 0] = [sorted[Math.floor(position)], sorted[Math.ceil(position)]]
  return below === above ? below : below + (above - below) * (position - Math.floor(position))
}
