/** A node with its functions as they are at the call of an action. */
import { foldingWith } from '../ir/folding.ts'
import type { UserFunction } from '../ir/functionIr.ts'
import type { AggregateCall, GroupHow, LogicalPlan, SidesBy } from './logicalPlan.ts'

/** The same node with its functions replaced; the node itself when none changed. */
export function withFunctions(plan: LogicalPlan, now: (f: UserFunction) => UserFunction): LogicalPlan {
  switch (plan.kind) {
    case 'Map':
    case 'Filter':
    case 'WithColumns':
    case 'FlatMap':
    case 'MapPartitions': {
      const f = now(plan.f)
      return f === plan.f ? plan : { ...plan, f }
    }
    case 'Index': {
      const f = now(plan.f)
      const combine = plan.combine === undefined ? undefined : now(plan.combine)
      if (f === plan.f && combine === plan.combine) return plan
      return { ...plan, f, ...(combine === undefined ? {} : { combine }) }
    }
    case 'GroupBy': {
      const by = plan.by.kind === 'axis' ? plan.by : ({ kind: 'function', f: now(plan.by.f) } as const)
      const how = howWithFunctions(plan.how, now)
      const isSame = how === plan.how && (plan.by.kind === 'axis' || (by.kind === 'function' && by.f === plan.by.f))
      return isSame ? plan : { ...plan, by, how }
    }
    case 'Join': {
      if (plan.on.kind !== 'functions') return plan
      const [left, right] = [now(plan.on.left), now(plan.on.right)]
      return left === plan.on.left && right === plan.on.right ? plan : { ...plan, on: { ...plan.on, left, right } }
    }
    case 'AsofJoin': {
      const on = sidesWith(plan.on, now)
      const by = plan.by === undefined ? {} : { by: sidesWith(plan.by, now) }
      return on === plan.on && by.by === plan.by ? plan : { ...plan, on, ...by }
    }
    case 'Sort': {
      const by = now(plan.by)
      return by === plan.by ? plan : { ...plan, by }
    }
    case 'Window': {
      const by = plan.by === undefined ? {} : { by: now(plan.by) }
      const orderBy = plan.orderBy === undefined ? {} : { orderBy: now(plan.orderBy) }
      const calls = callsWithFunctions(plan.calls, now)
      const isSame = by.by === plan.by && orderBy.orderBy === plan.orderBy && calls === plan.calls
      return isSame ? plan : { ...plan, ...by, ...orderBy, calls }
    }
    case 'Repartition': {
      const by = plan.by === undefined ? undefined : now(plan.by)
      return by === undefined || by === plan.by ? plan : { ...plan, by }
    }
    case 'Scan':
    case 'Array':
    case 'Stored':
    case 'Project':
    case 'Cast':
    case 'Distinct':
    case 'Union':
    case 'Sample':
    case 'Draw':
    case 'Limit':
    case 'Offset':
    case 'ShuffleKeys':
    case 'Materialize':
    case 'IndexBuild':
    case 'IndexLookup':
      return plan
  }
}

function sidesWith(sides: SidesBy, now: (f: UserFunction) => UserFunction): SidesBy {
  const [left, right] = [now(sides.left), now(sides.right)]
  return left === sides.left && right === sides.right ? sides : { left, right }
}

function howWithFunctions(how: GroupHow, now: (f: UserFunction) => UserFunction): GroupHow {
  switch (how.kind) {
    case 'agg': {
      const aggregates = callsWithFunctions(how.aggregates, now)
      return aggregates === how.aggregates ? how : { ...how, aggregates }
    }
    case 'reduce':
    case 'map': {
      const f = now(how.f)
      return f === how.f ? how : { ...how, f }
    }
  }
}

function callsWithFunctions<C extends Pick<AggregateCall, 'of' | 'second' | 'folding'>>(
  calls: readonly C[],
  now: (f: UserFunction) => UserFunction,
): readonly C[] {
  const replaced = calls.map((call): C => {
    const of = call.of === undefined ? {} : { of: now(call.of) }
    const second = call.second === undefined ? {} : { second: now(call.second) }
    const folding = call.folding === undefined ? {} : { folding: foldingWith(call.folding, now) }
    const isSame = of.of === call.of && second.second === call.second && folding.folding === call.folding
    return isSame ? call : { ...call, ...of, ...second, ...folding }
  })
  return replaced.every((call, i) => call === calls[i]) ? calls : replaced
}
