/**
 * A left join whose rows without a match are dropped above it gives its matches alone.
 *
 *     Filter r => r.returned > 0                Filter r => r.returned > 0
 *       Join left                                 Join left, matches alone
 *         sales                         -->         sales
 *         returns                                   returns
 *
 * Such a filter is false where the right side's columns are null, whatever the left ones are: `r.returned > 0`, `r.reason === 'late'`,
 * `r.returned !== null`, and not `r.returned < 9`, as null is less than 9 in JavaScript. So too below an inner or a semi-join by one of these
 * columns, as null matches nothing. Filters can then go down to the right side, and its keys filter the left one.
 *
 * Sound where the predicate, or the function of the key, is pure, cannot fail, and reads no row numbers. The columns stay nullable.
 */
import type { Expr, FunctionIr, UserFunction } from '../../core/ir/functionIr.ts'
import { readsKey } from '../../core/ir/functionUse.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import { cannotFail, isPure } from '../lambdaFacts.ts'
import { isValue, type Partial, partialValue, truthOf } from '../partialValue.ts'
import type { Rule } from '../rule.ts'
import { rightNames } from './pushFilterDown.ts'

type Join = Extract<LogicalPlan, { kind: 'Join' }>

export const innerJoins: Rule = {
  name: 'innerJoins',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    if (plan.kind === 'Filter') {
      const join = leftJoin(plan.input)
      if (join === undefined || truthOf(ofUnmatched(plan.f, join, (value) => value)) !== false) return undefined
      return { ...plan, input: { ...join, matchesAlone: true } }
    }
    if (plan.kind !== 'Join' || (plan.how !== 'inner' && plan.how !== 'semi')) return undefined
    const left = leftJoin(plan.left)
    if (left !== undefined && isNullKey(plan, 'left', left)) return { ...plan, left: { ...left, matchesAlone: true } }
    const right = leftJoin(plan.right)
    if (right !== undefined && isNullKey(plan, 'right', right)) return { ...plan, right: { ...right, matchesAlone: true } }
    return undefined
  },
}

function leftJoin(plan: LogicalPlan): Join | undefined {
  if (plan.kind !== 'Join' || plan.how !== 'left' || plan.matchesAlone === true) return undefined
  return plan.left.element.kind === 'row' && plan.right.element.kind === 'row' ? plan : undefined
}

/** Whether the key of a join has a null for every row that a left join below it, on that side, has without a match. */
function isNullKey({ on }: Join, side: 'left' | 'right', join: Join): boolean {
  if (on.kind === 'none') return false
  if (on.kind === 'column') return rightNames(join).has(on.column)
  const found = ofUnmatched(on[side], join, itemsOf)
  return found !== undefined
}

/** What a function returns for rows without a match, by the expression that `part` finds in what it returns; undefined where that is not known. */
function ofUnmatched(f: UserFunction, join: Join, part: (value: Expr, isNull: (one: Expr) => boolean) => Expr | undefined): Partial {
  const ir = returned(f, join)
  if (ir === undefined) return undefined
  const columns = new Map([...rightNames(join).keys()].map((name) => [name, null]))
  const isNull = (one: Expr): boolean => {
    const value = partialValue(one, { ir: ir.ir, columns })
    return isValue(value) && (value.value === null || value.value === undefined)
  }
  const found = part(ir.value, isNull)
  return found && partialValue(found, { ir: ir.ir, columns })
}

/** The expression itself, or an item of the list or object that it makes, that is null. */
function itemsOf(value: Expr, isNull: (one: Expr) => boolean): Expr | undefined {
  if (value.kind === 'ObjectLiteral') return value.fields.map((field) => field.value).find(isNull)
  if (value.kind === 'ArrayLiteral') return value.items.find(isNull)
  return isNull(value) ? value : undefined
}

function returned(f: UserFunction, join: Join): { readonly ir: FunctionIr; readonly value: Expr } | undefined {
  if (readsKey(f) || !isPure(f) || !cannotFail(f, [join.element])) return undefined
  const [only, ...others] = f.ir.body
  return only?.kind === 'Return' && only.value !== undefined && others.length === 0 ? { ir: f.ir, value: only.value } : undefined
}
