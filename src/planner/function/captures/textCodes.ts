/**
 * Elements of captured lists of texts, and characters of captured texts, that a loop's body compares with each other or with texts, as
 * numbers: each text has one, whichever list it is in.
 *
 *     a[i - 1] === b[j - 1]        (a_codes[i - 1] ?? -1) === (b_codes[j - 1] ?? -1)
 *
 * Legal since equal texts have one number, and undefined, which is what lies outside of a list, has one that no text has. The tables are
 * made when the body is lowered, which it is anew when a run finds that a list has changed.
 */
import type { Expr } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { binary, literal, logical } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import { addTable } from './outside.ts'

const EQUALITIES: ReadonlySet<string> = new Set(['===', '!==', '==', '!='])
/** Of what lies outside of a list. */
const NONE = -1

type Lookup = Expr & { readonly kind: 'Lookup' }
type Equality = '===' | '!==' | '==' | '!='

/** Whether it is an element of a captured list of texts, which has it as long as the loop runs: what is asked of it is asked of the list. */
export function isCapturedText(l: Lowering, expr: Expr): expr is Lookup {
  return l.context.kind === 'loop' && expr.kind === 'Lookup' && textsOf(l, expr) !== undefined
}

/** The comparison, of numbers; undefined for one of anything else. */
export function comparedTexts(l: Lowering, operator: string, left: Expr, right: Expr, span: Span): Expr | undefined {
  if (!EQUALITIES.has(operator)) return undefined
  const isText = (expr: Expr): boolean => expr.kind === 'Literal' && typeof expr.value === 'string'
  const isOne = [left, right].some((expr) => isCapturedText(l, expr))
  if (!isOne || ![left, right].every((expr) => isText(expr) || isCapturedText(l, expr))) return undefined
  return binary(operator as Equality, coded(l, left), coded(l, right), span)
}

function coded(l: Lowering, expr: Expr): Expr {
  const { span } = expr
  if (expr.kind !== 'Lookup') return literal(codeOf(l, expr.kind === 'Literal' ? String(expr.value) : ''), span)
  const texts = textsOf(l, expr) ?? []
  const parts = l.partsOfConstants.get(texts) ?? {}
  l.partsOfConstants.set(texts, parts)
  const table = (parts.codes ??= addTable(
    l,
    `${expr.table}_codes`,
    Int32Array.from(texts, (text) => codeOf(l, text)),
    'capture',
    undefined,
    { made: true },
  ))
  return logical('??', { kind: 'Lookup', table, index: expr.index, span }, literal(NONE, span), span)
}

function textsOf(l: Lowering, { table }: Lookup): readonly string[] | undefined {
  const held = l.tables.find(({ name }) => name === table)?.value
  return Array.isArray(held) && held.length > 0 && held.every((one) => typeof one === 'string') ? held : undefined
}

function codeOf(l: Lowering, text: string): number {
  const code = l.textCodes.get(text) ?? l.textCodes.size
  l.textCodes.set(text, code)
  return code
}
