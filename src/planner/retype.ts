/**
 * A node over other inputs than it was made for: what it yields is found anew, as if its method had been called on them.
 *
 *     Filter (r) => r.p > 1        unknown           Filter (r) => r.p > 1    { p: f64 }
 *       Materialize                unknown   -->       Stored                 { p: f64 }
 *
 * What a function returns that runs as JavaScript is not known before it ran; once the array is stored it is, and with it
 * what the nodes above yield. So too what is wrong with them, which is then said as it is at the call: other columns in a
 * union, a sum of texts. But a column that a function reads and the rows have not is undefined there, as before.
 */

import type { Lowering } from '../core/engine.ts'
import { Bug } from '../core/errors.ts'
import { mapFolding } from '../core/ir/folding.ts'
import type { UserFunction } from '../core/ir/functionIr.ts'
import { madeOf } from '../core/ir/madeFunctions.ts'
import { asofNode } from '../core/plan/asofPlan.ts'
import { joinPlan, unionPlan } from '../core/plan/combinations.ts'
import { aggregatesPlan, groupCountPlan, groupingOf, groupMapPlan, groupReducePlan } from '../core/plan/groupPlan.ts'
import { inputsOf, type LogicalPlan, type SidesBy, withInputs } from '../core/plan/logicalPlan.ts'
import {
  type Callback,
  castPlan,
  distinctPlan,
  filterPlan,
  flatMapPlan,
  indexPlan,
  limitPlan,
  mapPlan,
  materializePlan,
  offsetPlan,
  repartitionPlan,
  samplePlan,
  selectPlan,
  shuffleKeysPlan,
  sortedBy,
  sortNode,
  withColumnsPlan,
} from '../core/plan/transformations.ts'
import { functionsOf } from '../core/plan/tree.ts'
import { windowNode } from '../core/plan/windowPlan.ts'
import { checkBigints } from './function/bigintMixes.ts'
import { returnedElement } from './function/userFunction.ts'

/** The node over these inputs, typed by them; PlanError where they are none for it. */
export function retyped(plan: LogicalPlan, inputs: readonly LogicalPlan[]): LogicalPlan {
  if (inputs.every((input, i) => input === inputsOf(plan)[i])) return plan
  const [input, right] = inputs
  if (input === undefined) return plan
  const again = loweredBefore(functionsOf(plan))
  switch (plan.kind) {
    case 'Map':
      return mapPlan(again, input, call(plan.f))
    case 'Filter':
      return filterPlan(again, input, call(plan.f))
    case 'WithColumns':
      return withColumnsPlan(again, input, call(plan.f))
    case 'FlatMap':
      return flatMapPlan(again, input, call(plan.f))
    case 'Project':
      // counting needs no columns, and none of the rows' own
      return plan.columns.length === 0 ? { ...plan, input, keys: input.keys } : selectPlan(input, plan.columns)
    case 'Cast':
      return castPlan(input, plan.dtype)
    case 'Index': {
      const { shape, storage, combine } = plan
      return indexPlan(again, input, call(plan.f), {
        ...(combine === undefined ? {} : { combine: call(combine) }),
        ...(shape === undefined ? {} : { shape }),
        ...(storage === undefined ? {} : { storage }),
      })
    }
    case 'GroupBy':
      return regrouped(plan, input, again)
    case 'Join': {
      if (right === undefined) return withInputs(plan, inputs)
      const { on, how, suffix } = plan
      const byFunctions = on.kind === 'functions' ? (on.shared ?? { left: call(on.left), right: call(on.right) }) : ''
      const by = on.kind === 'column' ? on.column : byFunctions
      return joinPlan(again, input, right, by, { how, suffix })
    }
    case 'AsofJoin': {
      if (right === undefined) return withInputs(plan, inputs)
      const { on, by, direction, tolerance, suffix, shared } = plan
      const sides = (one: SidesBy) => ({ left: call(one.left), right: call(one.right) })
      const given = { on: sides(on), ...(by === undefined ? {} : { by: sides(by) }), ...(tolerance === undefined ? {} : { tolerance }) }
      return asofNode(again, input, right, { ...given, direction, suffix, shared })
    }
    case 'Sort':
      return sortNode(input, sortedBy(again, input, call(plan.by)), plan.descending)
    case 'Window': {
      const { by, orderBy, descending, frame, calls } = plan
      const given = { ...(by === undefined ? {} : { by: call(by) }), ...(orderBy === undefined ? {} : { orderBy: call(orderBy) }) }
      const functions = calls.map(({ of, ...one }) => (of === undefined ? one : { ...one, of: call(of) }))
      return windowNode(again, input, { ...given, descending, frame }, functions)
    }
    case 'Distinct':
      return distinctPlan(input)
    case 'Union':
      return unionPlan(inputs)
    case 'Sample':
      return samplePlan(again, input, plan.fraction, { seed: plan.seed })
    case 'Draw':
      return samplePlan(again, input, { n: plan.count, seed: plan.seed })
    case 'Limit':
      return limitPlan(input, plan.count)
    case 'Offset':
      return offsetPlan(input, plan.offset)
    case 'Repartition': {
      const { partitions, by } = plan
      return repartitionPlan(again, input, {
        ...(partitions === undefined ? {} : { partitions }),
        ...(by === undefined ? {} : { by: call(by) }),
      })
    }
    case 'ShuffleKeys':
      return shuffleKeysPlan(input, { axes: plan.axes, seed: plan.seed })
    case 'Materialize':
      return materializePlan(input)
    case 'Scan':
    case 'Array':
    case 'Stored':
    case 'MapPartitions':
    case 'IndexBuild':
    case 'IndexLookup':
      return withInputs(plan, inputs)
  }
}

function regrouped(plan: Extract<LogicalPlan, { kind: 'GroupBy' }>, input: LogicalPlan, again: Lowering): LogicalPlan {
  const { by, how } = plan
  const grouping = groupingOf(again, input, by.kind === 'axis' ? { axis: by.axis } : call(by.f))
  switch (how.kind) {
    case 'agg':
      if (how.method === 'count') return groupCountPlan(grouping)
      return aggregatesPlan(
        grouping,
        how.aggregates.map(({ of, second, folding, ...aggregate }) => ({
          ...aggregate,
          ...(of === undefined ? {} : { of: call(of) }),
          ...(second === undefined ? {} : { second: call(second) }),
          ...(folding === undefined ? {} : { folding: mapFolding(folding, call) }),
        })),
        how.whole === true ? { whole: true } : {},
      )
    case 'reduce':
      return groupReducePlan(grouping, call(how.f))
    case 'map':
      return groupMapPlan(grouping, call(how.f))
  }
}

function call(f: UserFunction): Callback {
  return f.original as Callback
}

/** Gives out what functions were lowered to at the call, one after another: what they captured was read then. Those of the library are not asked for. */
function loweredBefore(functions: readonly UserFunction[]): Lowering {
  const rest = functions.filter(({ original }) => madeOf(original) === undefined)
  return {
    seed: 0,
    lowerRowLambda: (_, context) => {
      const next = rest.shift()
      if (next === undefined) throw new Bug('A node asks for more functions than it has.')
      if (next.ir !== undefined) checkBigints(next.ir, { kind: 'row', ...context })
      return next
    },
    returnedElement: (f, context) => returnedElement(f, { kind: 'row', ...context }),
  }
}
