/**
 * The nodes behind `distinct({ by, keep })`: rows are numbered among those of equal values, and the first of them stay, or the last.
 *
 *     distinct({ by: (r) => r.user })          Project [user, at]
 *                                                Filter number === 1
 *                                                  Window by r.user: number = rowNumber()
 */
import { checkFunction, checkOneOf } from '../arguments.ts'
import { valueText } from '../data/valueKinds.ts'
import type { Lowering } from '../engine.ts'
import { PlanError } from '../errors.ts'
import type { Expr } from '../ir/functionIr.ts'
import { columnOf, equals, literalOf, madeFunction } from '../ir/madeFunctions.ts'
import { withEnv } from '../ir/withEnv.ts'
import { checkOptions } from '../options.ts'
import { knownFields } from './columnPlans.ts'
import type { LogicalPlan } from './logicalPlan.ts'
import { type Callback, filterPlan, selectPlan } from './transformations.ts'
import { type NamedWindow, windowNode } from './windowPlan.ts'

/** Helper columns under names that no program uses; the Project above drops them. */
const NUMBER = ' number'
const COUNT = ' count'

export interface DistinctByAny {
  readonly by: Callback
  readonly keep?: 'first' | 'last'
  readonly env?: object
}

/** Whether the windows of these calls are those of `distinct({ by })`, which errors of its function name. */
export function isOfDistinct(calls: readonly { readonly name: string }[]): boolean {
  return calls[0]?.name === NUMBER
}

export function distinctByPlan(engine: Lowering, input: LogicalPlan, options: DistinctByAny): LogicalPlan {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new PlanError(
      `distinct() takes nothing, or what tells rows apart, as in distinct({ by: (row) => row.id }); it was given ${valueText(options)}. For different values of some columns write select(…).distinct().`,
    )
  checkOptions('distinct()', options, ['by', 'keep', 'env'])
  const { keep = 'first' } = options
  checkOneOf('The keep of distinct()', keep, ['first', 'last'])
  checkFunction('distinct()', options.by, '(row)')
  const names = knownFields(input, 'distinct').map(({ name }) => name)
  const by = withEnv('distinct', options.by, options, 1)
  const numbered: NamedWindow[] = [{ name: NUMBER, kind: 'rowNumber' }]
  if (keep === 'last') numbered.push({ name: COUNT, kind: 'count' })
  const over = { by, descending: false, frame: { kind: 'rows', from: null, to: null } } as const
  const place: Expr = keep === 'first' ? literalOf(1) : columnOf(COUNT)
  const isKept = madeFunction(equals(columnOf(NUMBER), place), `the ${keep}`, (row) => row[NUMBER] === (keep === 'first' ? 1 : row[COUNT]))
  const kept = filterPlan(engine, windowNode(engine, input, over, numbered), isKept.original)
  return selectPlan(kept, names)
}
