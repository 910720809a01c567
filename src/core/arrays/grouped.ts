/**
 * The object that `groupBy` gives: its methods say what to compute of each group. Groups come in order of first appearance;
 * null is a group of its own.
 */

import { checkNoMore } from '../arguments.ts'
import { valueText } from '../data/valueKinds.ts'
import { PlanError } from '../errors.ts'
import { withEnvOnly } from '../ir/withEnv.ts'
import type { Aggregate } from '../plan/aggregates.ts'
import { asColumnType, isKnown } from '../plan/elements.ts'
import { aggPlan, type Grouping, groupCountPlan, groupMapPlan, groupReducePlan, KEY_COLUMN } from '../plan/groupPlan.ts'
import { type LogicalPlan, labelOf } from '../plan/logicalPlan.ts'
import type { Callback } from '../plan/transformations.ts'
import { gridOfFields } from '../show/rows.ts'
import { showAs } from '../show/shown.ts'

type Aggregates = Readonly<Record<string, Aggregate<never, unknown>>>

/** The methods of a `Grouped` (`distArray.ts`). `make` gives a handle on a plan of the same session. */
export function groupedOf(grouping: Grouping, make: (plan: LogicalPlan) => unknown): object {
  const grouped = {
    agg: (aggregates: Aggregates) => make(aggPlan(grouping, aggregates)),
    reduce: (f: Callback, ...[options]: readonly [options?: object]) => {
      checkReduced(options)
      return make(groupReducePlan(grouping, withEnvOnly('reduce', f, options ?? {})))
    },
    map: (f: Callback, options: object = {}) => make(groupMapPlan(grouping, withEnvOnly('map', f, options))),
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

/** Refuses a first value, as `Array.prototype.reduce` takes one: an empty object would pass for options. */
function checkReduced(options: unknown): void {
  if (options === undefined || (typeof options === 'object' && options !== null && Object.hasOwn(options, 'env'))) return
  throw new PlanError(
    `reduce() of groups folds two elements at a time into one, and takes no first value; it was given ${valueText(options)}. Write agg({ total: aggregate((row) => row.price, { init: () => 0, step: (sum, price) => sum + price }) }).`,
  )
}
