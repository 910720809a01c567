/**
 * Refuses row functions that read what the values of a column surely do not have, at the call, like a column that a table does not have. In
 * JavaScript it is undefined for every row, which a column keeps as null.
 *
 *     r.address.ctiy      where `address` holds { city, zip }
 *     r.tags.lenght       where `tags` holds lists
 *
 * A test for undefined or null, as `i.discount === undefined`, asks whether there is such a field at all, and is answered.
 */
import type { ColumnType } from '../../core/data/schema.ts'
import { PlanError } from '../../core/errors.ts'
import type { Expr, FunctionIr } from '../../core/ir/functionIr.ts'
import { missingFieldMessage, nearestNames } from '../../core/nearestNames.ts'
import { placeText } from '../../core/span.ts'
import type { RowContext } from './lower/context.ts'
import { typesIn } from './lower/returned.ts'
import { reachedExprs } from './reachedExprs.ts'

/** Throws PlanError for the first field that a value does not have. */
export function checkFields(ir: FunctionIr, context: RowContext): void {
  const reached = reachedExprs(ir)
  const asked = new Set(reached.flatMap(askedOf))
  const read = reached.flatMap((expr) => (expr.kind === 'Field' && expr.of.kind !== 'Input' && !asked.has(expr) ? [expr] : []))
  if (read.length === 0) return
  const typeOf = typesIn(ir, context)
  for (const { of, name, span } of read) {
    const message = missing(name, of, typeOf(of)?.type)
    if (message !== undefined) throw new PlanError(`${context.method}: ${message}\n  ${placeText(span)}  ${span.text}`, { span })
  }
}

/** What a comparison with undefined or null asks whether it is there. */
function askedOf(expr: Expr): readonly Expr[] {
  if (expr.kind !== 'Binary' || !/^[!=]==?$/.test(expr.operator)) return []
  const isAbsent = (side: Expr): boolean => side.kind === 'Literal' && (side.value === undefined || side.value === null)
  return isAbsent(expr.right) ? [expr.left] : isAbsent(expr.left) ? [expr.right] : []
}

/** What is wrong with the name; undefined where it may be right. */
function missing(name: string, of: Expr, type: ColumnType | undefined): string | undefined {
  if (type?.kind === 'struct') {
    const { fields } = type
    if (fields.some((field) => field.name === name)) return undefined
    return missingFieldMessage(name, fields, `the objects of ${placeOf(of)}`)
  }
  if (of.kind !== 'Field') return undefined // what a method of texts gives may have more, as /a/.exec(text).index
  const { what, prototype } = (type && METHODS_OF[type.kind]) ?? {}
  if (what === undefined || prototype === undefined || name in prototype) return undefined
  const near = nearestNames(name, Object.getOwnPropertyNames(prototype))
  return `The ${what} of ${placeOf(of)} have no "${name}".${near.length === 0 ? '' : ` Did you mean ${near.map((one) => `"${one}"`).join(' or ')}?`}`
}

const METHODS_OF: { readonly [K in ColumnType['kind']]?: { readonly what: string; readonly prototype: object } } = {
  list: { what: 'lists', prototype: Array.prototype },
  utf8: { what: 'texts', prototype: String.prototype },
}

/** The names that lead to a value from its row, or the text of the function that gives it. */
function placeOf(of: Expr): string {
  const names: string[] = []
  let expr = of
  for (; expr.kind === 'Field'; expr = expr.of) names.unshift(expr.name)
  return expr.kind === 'Input' ? names.join('.') : of.span.text
}
