/**
 * Applies rules, one after another over the whole plan, until none has anything to say.
 *
 * The optimizer distrusts every rule: after each rewrite the invariants are compared, and a rule that breaks one is
 * named and stops everything. A node that occurs in several places stays one node.
 */
import { Bug } from '../core/errors.ts'
import type { LogicalPlan } from '../core/plan/logicalPlan.ts'
import { mapInputs, planText } from '../core/plan/tree.ts'
import { Invariants } from './invariants.ts'
import type { Rule } from './rule.ts'
import { RULES } from './rules/index.ts'

/** Most passes, far above what any real plan needs; reaching it means that two rules undo each other. */
const MAX_PASSES = 50

export interface Optimized {
  readonly plan: LogicalPlan
  /** Names of the rules that changed something, in the order of their first change. */
  readonly applied: readonly string[]
}

/** Returns the plan to run; the same object where no rule changes it. */
export function optimize(plan: LogicalPlan, rules: readonly Rule[] = RULES): Optimized {
  const applied = new Set<string>()
  const invariants = new Invariants()
  let current = plan
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    const before = current
    for (const rule of rules) {
      const after = applyEverywhere(current, rule, invariants)
      if (after !== current) applied.add(rule.name)
      current = after
    }
    if (current === before) return { plan: current, applied: [...applied] }
  }
  throw new Bug(`The plan\n${planText(current)}\nis still changing after ${MAX_PASSES} passes of the rules ${[...applied].join(', ')}.`)
}

function applyEverywhere(plan: LogicalPlan, rule: Rule, invariants: Invariants): LogicalPlan {
  const done = new Map<LogicalPlan, LogicalPlan>()
  const visit = (node: LogicalPlan): LogicalPlan => {
    const known = done.get(node)
    if (known !== undefined) return known
    const result = rewriteOnce(mapInputs(node, visit), rule, invariants)
    done.set(node, result)
    return result
  }
  return visit(plan)
}

function rewriteOnce(node: LogicalPlan, rule: Rule, invariants: Invariants): LogicalPlan {
  const better = rule.rewrite(node)
  if (better === undefined) return node
  const broken = invariants.broken(node, better)
  if (broken === undefined) return better
  throw new Bug(`Rule ${rule.name} ${broken} of\n${planText(node)}\nby turning it into\n${planText(better)}`)
}
