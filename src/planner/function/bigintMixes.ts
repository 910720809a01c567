/**
 * Refuses row functions that mix a bigint column with numbers, or a column of numbers with bigints, at the call.
 *
 *     r.big === 5      false for every row, whatever it holds
 *     r.big + 1        throws at the first row
 *     r.id === 5n      false for every row, as where a file's integers of 64 bits were read as numbers
 *
 * What has a meaning in JavaScript keeps it: `r.big > 5`, `r.big == 5`. Branches that a constant leaves out are not looked
 * at, and no function that asks for a `typeof`, as it may tell bigints from numbers itself.
 */

import type { ColumnType } from '../../core/data/schema.ts'
import { fieldsOf } from '../../core/data/schema.ts'
import { PlanError } from '../../core/errors.ts'
import type { BinaryOperator, Expr, FunctionIr } from '../../core/ir/functionIr.ts'
import { BIGINTS, isNumberType } from '../../core/ir/irTypes.ts'
import { placeText } from '../../core/span.ts'
import type { RowContext } from './lower/context.ts'
import { typesIn } from './lower/returned.ts'
import { reachedExprs } from './reachedExprs.ts'

/** Operators that throw, or know no equality, where one side is a bigint and the other a number. */
const MIXED: Readonly<Partial<Record<BinaryOperator, 'equal' | 'throws'>>> = {
  '===': 'equal',
  '!==': 'equal',
  '+': 'throws',
  '-': 'throws',
  '*': 'throws',
  '/': 'throws',
  '%': 'throws',
  '**': 'throws',
  '&': 'throws',
  '|': 'throws',
  '^': 'throws',
  '<<': 'throws',
  '>>': 'throws',
  '>>>': 'throws',
}

/** Throws PlanError for the first place where a bigint meets a number and nothing useful can come of it. */
export function checkBigints(ir: FunctionIr, context: RowContext): void {
  const isOfColumns = context.inputs.some((input) => fieldsOf(input).some(({ type }) => holdsBigints(type)))
  const reached = reachedExprs(ir)
  if (!isOfColumns && !reached.some((expr) => isBigintConstant(expr, ir) || (expr.kind === 'Call' && expr.callee.startsWith('BigInt'))))
    return
  if (reached.some((expr) => expr.kind === 'Unary' && expr.operator === 'typeof')) return
  const typeOf = typesIn(ir, context)
  const mayBeNull = (expr: Expr): boolean => typeOf(expr)?.nullable !== false
  const isBigint = (expr: Expr): boolean => BIGINTS.has(typeOf(expr)?.type.kind ?? 'unknown')
  const isNumber = (expr: Expr): boolean => isNumberType(typeOf(expr)?.type ?? { kind: 'unknown' })
  for (const expr of reached) {
    if (expr.kind === 'Binary') {
      const [big, number] = isBigint(expr.left) ? [expr.left, expr.right] : [expr.right, expr.left]
      const mixed = MIXED[expr.operator]
      if (mixed === undefined || !isBigint(big) || !isNumber(number)) continue
      if (mixed === 'equal' && mayBeNull(big) && mayBeNull(number)) continue // null is null
      const text = `${sideText(expr.left)} ${expr.operator} ${sideText(expr.right)}`
      const what = `${text} ${mixed === 'equal' ? 'compares' : 'computes with'} a bigint and a number, which`
      const outcome = mixed === 'throws' ? 'throws in JavaScript' : expr.operator === '===' ? 'are never equal' : 'always differ'
      const cures = isBigintConstant(big, ir)
        ? [...literalCure(big), `convert with BigInt(${number.span.text})`, "if it is of a file, read it with { int64: 'bigint' }"]
        : [...literalCure(number), `convert with Number(${big.span.text})`, ...fileCure(typeOf(big)?.type)]
      throw mix(context, expr, `${what} ${outcome}`, cures)
    }
    const taken =
      expr.kind === 'Unary' && expr.operator === '+'
        ? [expr.operand]
        : expr.kind === 'Call' && expr.callee.startsWith('Math.')
          ? expr.args
          : []
    const big = taken.find(isBigint)
    if (big === undefined) continue
    const what = `${expr.span.text} takes numbers, and ${big.span.text} is a bigint, which throws in JavaScript`
    throw mix(context, expr, what, [`convert with Number(${big.span.text})`, ...fileCure(typeOf(big)?.type)])
  }
}

/** Prints one side of an operator by its own span: the operator's may be elsewhere, as the case of a switch or a line of a helper. */
function sideText({ kind, span }: Expr): string {
  return kind === 'Binary' || kind === 'Logical' || kind === 'Conditional' ? `(${span.text})` : span.text
}

function mix({ method }: RowContext, { span }: Expr, what: string, cures: readonly string[]): PlanError {
  const [first = '', ...others] = cures
  const all = [first.charAt(0).toUpperCase() + first.slice(1), ...others]
  const cure = all.length < 3 ? all.join(', or ') : `${all.slice(0, -1).join(', ')}, or ${all.at(-1)}`
  return new PlanError(`${method}: ${what}.\n  ${placeText(span)}  ${span.text}\n${cure}.`, { span })
}

/** How a literal is written as the other kind. */
function literalCure(expr: Expr): readonly string[] {
  if (expr.kind !== 'Literal') return []
  if (typeof expr.value === 'bigint') return Number.isSafeInteger(Number(expr.value)) ? [`write ${expr.value}`] : []
  return Number.isSafeInteger(expr.value) ? [`write ${String(expr.value)}n`] : []
}

function isBigintConstant(expr: Expr, ir: FunctionIr): boolean {
  if (expr.kind === 'Literal') return typeof expr.value === 'bigint'
  return expr.kind === 'Parameter' && typeof ir.parameters.find(({ name }) => name === expr.name)?.value === 'bigint'
}

function fileCure(type: ColumnType | undefined): readonly string[] {
  return type?.kind === 'time' ? [] : ["if it is of a file, read it without { int64: 'bigint' }"]
}

function holdsBigints(type: ColumnType): boolean {
  if (type.kind === 'list') return holdsBigints(type.item)
  if (type.kind === 'struct') return type.fields.some((field) => holdsBigints(field.type))
  return BIGINTS.has(type.kind)
}
