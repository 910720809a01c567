/**
 * Two filters in a row become one.
 *
 *     Filter q              Filter p and q
 *       Filter p     -->      X
 *         X
 *
 * Sound because `q` is asked only where `p` holds. In a table the elements that `p` leaves are numbered anew, so `q`
 * must not read its key; and it must not fail, since the failure would name another row.
 */

import type { Expr, FunctionIr, UserFunction } from '../../core/ir/functionIr.ts'
import { readsKey } from '../../core/ir/functionUse.ts'
import { renamedApart } from '../../core/ir/irNames.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { cannotFail, isPure } from '../lambdaFacts.ts'
import type { Rule } from '../rule.ts'
import { straight } from './compose.ts'
import { closureOf, composedFunction } from './irRewrite.ts'

export const mergeFilters: Rule = {
  name: 'mergeFilters',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    if (plan.kind !== 'Filter' || plan.input.kind !== 'Filter') return undefined
    const inner = plan.input
    const renumbers = inner.keys.kind === 'rowNumber'
    if (renumbers && (readsKey(plan.f) || !cannotFail(plan.f, [plan.input.element]))) return undefined
    const f = both(inner.f, plan.f)
    return f === undefined ? undefined : { ...plan, f, input: inner.input, ...(inner.isNarrowed && { isNarrowed: true }) }
  },
}

/** Returns `p && q` where both are straight; undefined otherwise. What `q` computes before its answer is computed only where `p` holds. */
function both(p: UserFunction, q: UserFunction): UserFunction | undefined {
  if (!isPure(p) || !isPure(q)) return undefined
  const first = straight(p.ir)
  const { ir: other } = renamedApart(q.ir, p.ir)
  const second = straight(other)
  if (first === undefined || second === undefined) return undefined
  const { span } = q
  const value: Expr = { kind: 'Logical', operator: '&&', left: first.value, right: second.value, span }
  const tail: FunctionIr['body'] =
    second.before.length === 0
      ? [{ kind: 'Return', value, span }]
      : [
          // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
          { kind: 'If', test: first.value, then: [...second.before, { kind: 'Return', value: second.value, span }], else: [], span },
          { kind: 'Return', value: { kind: 'Literal', value: false, span }, span },
        ]
  const ir: FunctionIr = {
    ...other,
    keyRank: Math.max(p.ir.keyRank, other.keyRank),
    body: [...first.before, ...tail],
    parameters: [...p.ir.parameters, ...other.parameters],
    tables: [...p.ir.tables, ...other.tables],
  }
  const one = closureOf(p)
  const two = closureOf(q)
  return composedFunction(ir, { text: `${p.text} and ${q.text}`, span, original: (row, key) => one(row, key) && two(row, key) })
}
