/**
 * What a filter above a join says of one side's columns alone is asked of that side before the join; the filter stays.
 *
 *     Filter a.x === 1 && b.y === 2 || a.x === 3 && b.y === 4         Filter a.x === 1 && b.y === 2 || a.x === 3 && b.y === 4
 *       Join                                                            Join
 *         A                                                  -->          Filter a.x === 1 || a.x === 3
 *         B                                                                 A
 *                                                                         Filter b.y === 2 || b.y === 4
 *                                                                           B
 *
 * Of `p && q` a side is asked what either says of it, of `p || q` only what both do. Sound as `pushFilterDown` is: a row of a side for which
 * its part is false is in no row for which the whole is true. What only asks whether a column is null goes along with other parts, not alone:
 * it drops few rows.
 */
import { type ElementType, fieldsOf } from '../../core/data/schema.ts'
import type { Expr, FunctionIr, UserFunction } from '../../core/ir/functionIr.ts'
import { visitExpr } from '../../core/ir/functionIr.ts'
import { readsKey } from '../../core/ir/functionUse.ts'
import { howRun } from '../../core/plan/combinations.ts'
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import type { Constant } from '../../core/sourceParts.ts'
import { cannotFail, isPure } from '../lambdaFacts.ts'
import { partialValue, truthOf } from '../partialValue.ts'
import type { Rule } from '../rule.ts'
import { composedFunction, isColumn, isSafe } from './irRewrite.ts'
import { filterOver, keysCannotFail, readRight, rightNames, SIDES } from './pushFilterDown.ts'

export const narrowJoins: Rule = {
  name: 'narrowJoins',
  rewrite(plan: LogicalPlan): LogicalPlan | undefined {
    if (plan.kind !== 'Filter' || plan.isNarrowed === true || plan.input.kind !== 'Join') return undefined
    const join = plan.input
    if (readsKey(plan.f) || !isPure(plan.f) || !cannotFail(plan.f, [join.element]) || !keysCannotFail(join)) return undefined
    const { left, right } = join
    const how = howRun(join)
    const names = new Set(fieldsOf(left.element).map(({ name }) => name))
    const ofLeft = SIDES[how].left && left.element.kind === 'row' ? partOf(plan.f, names, join.element) : undefined
    const joined = rightNames(join)
    const part = SIDES[how].right && right.element.kind === 'row' ? partOf(plan.f, new Set(joined.keys()), join.element) : undefined
    const ofRight = part && readRight(part, joined)
    if (ofLeft === undefined && ofRight === undefined) return undefined
    const input = {
      ...join,
      left: ofLeft === undefined ? left : filterOver(left, ofLeft),
      right: ofRight === undefined ? right : filterOver(right, ofRight),
    }
    return { ...plan, input, isNarrowed: true }
  },
}

/** How the text of a part begins. */
const PART = 'part of '

type Lowered = UserFunction & { readonly ir: FunctionIr }

/** A predicate over some columns of `element` that is true wherever `f` is; undefined where there is none worth asking. */
function partOf(f: Lowered, columns: ReadonlySet<string>, element: ElementType): Lowered | undefined {
  const [only, ...others] = f.ir.body
  if (only?.kind !== 'Return' || only.value === undefined || others.length > 0) return undefined
  const value = impliedBy(only.value, (expr) => readsOnly(expr, columns) && isSafe(expr, f.ir, element))
  if (value === undefined || asksForNullsAlone(value)) return undefined
  const ir = { ...f.ir, body: [{ kind: 'Return', value, span: value.span } as const] }
  // where the parts cannot be told by hand, any answer will do that keeps the row
  const original = (row: unknown): boolean =>
    truthOf(partialValue(value, { ir, columns: new Map(Object.entries(row as Readonly<Record<string, Constant>>)) })) !== false // of rows
  return { ...composedFunction(ir, { text: f.text.startsWith(PART) ? f.text : PART + f.text, span: f.span, original }), ir }
}

/** What follows from a condition, made of those of its parts that may be taken. */
function impliedBy(expr: Expr, isTaken: (part: Expr) => boolean): Expr | undefined {
  if (expr.kind !== 'Logical' || expr.operator === '??') return isTaken(expr) ? expr : undefined
  const left = impliedBy(expr.left, isTaken)
  const right = impliedBy(expr.right, isTaken)
  if (left !== undefined && right !== undefined) return { ...expr, left, right }
  return expr.operator === '&&' ? (left ?? right) : undefined
}

/** Whether an expression reads some of these columns, and nothing else of its row. */
function readsOnly(expr: Expr, columns: ReadonlySet<string>): boolean {
  let some = false
  let others = false
  const inputs = new Set<Expr>()
  visitExpr(expr, (one) => {
    if (isColumn(one)) {
      inputs.add(one.of)
      if (columns.has(one.name)) some = true
      else others = true
    } else others ||= one.kind === 'Local' || (one.kind === 'Input' && !inputs.has(one))
  })
  return some && !others
}

function asksForNullsAlone(expr: Expr): boolean {
  if (expr.kind === 'Logical') return asksForNullsAlone(expr.left) && asksForNullsAlone(expr.right)
  if (expr.kind !== 'Binary' || !/^!==?$/.test(expr.operator)) return false
  return [expr.left, expr.right].some((side) => side.kind === 'Literal' && (side.value === null || side.value === undefined))
}
