/**
 * What `groupBy` gives: groups waiting for what to compute from each. Groups come in order of first appearance; null
 * is a group of its own.
 */

import { checkNoMore } from '../arguments.ts'
import type { Flat, KeyColumns } from '../data/rowTypes.ts'
import { type EnvOptions, withEnvOnly } from '../ir/withEnv.ts'
import type { Aggregate } from '../plan/aggregates.ts'
import { asColumnType, isKnown } from '../plan/elements.ts'
import { aggPlan, type Grouping, groupCountPlan, groupMapPlan, groupReducePlan, KEY_COLUMN } from '../plan/groupPlan.ts'
import type { LogicalPlan } from '../plan/logicalPlan.ts'
import { labelOf } from '../plan/tree.ts'
import { gridOfFields } from '../show/rows.ts'
import { showAs } from '../show/shown.ts'
import type { DistArray } from './distArray.ts'

/** Elements put into groups, in order of first appearance: what `groupBy` gives. */
export interface Grouped<T, G> {
  /** One row a group: the key's columns and the aggregates. PlanError when an aggregate is named like a key column. */
  agg<A extends Readonly<Record<string, Aggregate<T, unknown>>>>(
    aggregates: A,
  ): DistArray<Flat<KeyColumns<G> & { -readonly [N in keyof A]: A[N] extends Aggregate<T, infer V> ? V : never }>>
  /** Folds the elements of each group by the fixed tree of reductions: `f` must be associative. */
  reduce<E extends object = object>(
    f: (a: T, b: T, env: E) => T,
    options?: Partial<EnvOptions<E>>,
  ): DistArray<Flat<KeyColumns<G> & { value: T }>>
  /** One element a group, from all its elements in row order. Keeps a whole group in memory. */
  map<U, E extends object = object>(f: (key: G, values: readonly T[], env: E) => U, options?: Partial<EnvOptions<E>>): DistArray<U>
  /** How many elements each group has. */
  count(): DistArray<Flat<KeyColumns<G> & { count: number }>>
}

/** `make` gives a handle on a plan of the same session. */
export function groupedOf<T, G>(grouping: Grouping, make: <U>(plan: LogicalPlan) => DistArray<U>): Grouped<T, G> {
  const grouped: Grouped<T, G> = {
    agg: (aggregates) => make(aggPlan(grouping, aggregates)),
    reduce: (f, options = {}) => make(groupReducePlan(grouping, withEnvOnly('reduce', f, options))),
    map: (f, options = {}) => make(groupMapPlan(grouping, withEnvOnly('map', f, options))),
    count: (...more: readonly unknown[]) => {
      checkNoMore('count() of groups takes no arguments', more, 'Write agg({ count: count((row) => row.price) }).')
      return make(groupCountPlan(grouping))
    },
  }
  const { by, key, input } = grouping
  const what = by.kind === 'axis' ? `axis ${by.axis}` : by.f.text
  const label = labelOf(input)
  showAs(grouped, () => ({
    what: 'Grouped',
    title: `${label === undefined ? 'elements' : `elements of ${label}`} by ${what}`,
    ...(isKnown(key) ? { grid: gridOfFields(key.kind === 'row' ? key.fields : [{ name: KEY_COLUMN, ...asColumnType(key) }]) } : {}),
    notes: ['Nothing has run; agg({ … }), count(), reduce(f) and map(f) give an array.'],
  }))
  return grouped
}
