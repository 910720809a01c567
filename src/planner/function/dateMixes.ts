/**
 * Refuses row functions that compare a column of texts with a Date, at the call.
 *
 *     r.at >= new Date('2024-01-01')      false for every row where `at` is '2023-06-30 17:18': JavaScript makes NaN of such a text
 *
 * Rows whose type says Date, and whose file has texts, are the usual reason. Texts that are numbers are taken for numbers here, too, where
 * the function says so: `Number(r.at) >= from.getTime()`.
 */
import { PlanError } from '../../core/errors.ts'
import type { Expr, FunctionIr } from '../../core/ir/functionIr.ts'
import { placeText } from '../../core/span.ts'
import type { RowContext } from './lower/context.ts'
import { typesIn } from './lower/returned.ts'
import { reachedExprs } from './reachedExprs.ts'

const ORDERS: ReadonlySet<string> = new Set(['<', '<=', '>', '>=', '-'])

/** Throws PlanError for the first place where a text meets a Date. */
export function checkDates(ir: FunctionIr, context: RowContext): void {
  const reached = reachedExprs(ir)
  if (reached.some((expr) => expr.kind === 'Unary' && expr.operator === 'typeof')) return // it may tell texts from Dates itself
  const met = reached.flatMap((expr) => {
    if (expr.kind !== 'Binary' || !ORDERS.has(expr.operator)) return []
    const { left, right } = expr
    const other = isTime(left) ? right : isTime(right) ? left : undefined
    return other === undefined ? [] : [{ expr, other }]
  })
  if (met.length === 0) return
  const typeOf = typesIn(ir, context)
  const found = met.find(({ other }) => typeOf(other)?.type.kind === 'utf8')
  if (found === undefined) return
  const { left, right, operator, span } = found.expr
  const what = operator === '-' ? 'computes with a text and a Date' : 'compares a text with a Date'
  const cure = `Read it as a time, as readCsv(file, { types: { at: 'timestamp' } }) does, or make one of it, as new Date(${found.other.span.text}), or parseTime(${found.other.span.text}, format).`
  throw new PlanError(
    `${context.method}: ${left.span.text} ${operator} ${right.span.text} ${what}, and a text that is no number is NaN there.\n  ${placeText(span)}  ${span.text}\n${cure}`,
    { span },
  )
}

function isTime(expr: Expr): boolean {
  return (expr.kind === 'Literal' || expr.kind === 'Parameter') && expr.isTime === true
}
