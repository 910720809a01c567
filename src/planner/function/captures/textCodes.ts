/**
 * Dictionary encoding of captured lists of texts, and of characters of captured texts, that a loop's body compares with each other or
 * with texts: each text has one code, whichever list it is in.
 *
 *     a[i - 1] === b[j - 1]        (a_codes[i - 1] ?? -1) === (b_codes[j - 1] ?? -1)
 *
 * Legal since equal texts have one code, and undefined, which is what lies outside of a list, has one that no text has. The tables are
 * made when the body is lowered, which it is anew when a run finds that a list has changed.
 */
import type { Expr } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { codeOfBuilt } from '../lists/keyed/textShapes.ts'
import { binary, literal, logical } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import { addTable } from './outside.ts'

const EQUALITIES: ReadonlySet<string> = new Set(['===', '!==', '==', '!='])
/** The code of undefined, which lies outside of a list. */
export const NONE = -1

type Lookup = Expr & { readonly kind: 'Lookup' }
type Equality = '===' | '!==' | '==' | '!='

/** Whether an expression is an element of a captured list of texts, which does not change while the loop runs. */
export function isCapturedText(l: Lowering, expr: Expr): expr is Lookup {
  return l.context.kind === 'loop' && expr.kind === 'Lookup' && l.textsOf(expr) !== undefined
}

/** Whether an expression may be a text that the body makes of numbers, of which the table of texts has none. */
export function hasMoreTexts(l: Lowering, expr: Lookup): boolean {
  return expr.table === l.textTable && l.textShapes.length > 0
}

/** Returns the comparison as one of codes; undefined where the sides are not all captured texts and literals. */
export function comparedTexts(l: Lowering, operator: string, left: Expr, right: Expr, span: Span): Expr | undefined {
  if (!EQUALITIES.has(operator)) return undefined
  const isText = (expr: Expr): boolean => expr.kind === 'Literal' && typeof expr.value === 'string'
  const isOne = [left, right].some((expr) => isCapturedText(l, expr))
  if (!isOne || ![left, right].every((expr) => isText(expr) || isCapturedText(l, expr))) return undefined
  return binary(operator as Equality, coded(l, left), coded(l, right), span)
}

/** Returns the code of a captured text, or of one that is written out. */
export function coded(l: Lowering, expr: Expr): Expr {
  const { span } = expr
  if (expr.kind !== 'Lookup') return literal(codeOf(l, expr.kind === 'Literal' ? String(expr.value) : ''), span)
  if (expr.table === l.textTable) return expr.index
  const texts = l.textsOf(expr) ?? []
  const parts = l.partsOfConstants.get(texts) ?? {}
  l.partsOfConstants.set(texts, parts)
  const table = (parts.codes ??= addTable(l, `${expr.table}_codes`, codesOf(l, texts), 'capture', undefined, { made: true }))
  return logical('??', { kind: 'Lookup', table, index: expr.index, span }, literal(NONE, span), span)
}

function codesOf(l: Lowering, texts: readonly string[]): Int32Array | Float64Array {
  const codes = texts.map((text) => codeOf(l, text))
  return l.textShapes.length === 0 ? Int32Array.from(codes) : Float64Array.from(codes) // those of texts that are made of numbers are large
}

/** Returns the code of a text. */
export function codeOf(l: Lowering, text: string): number {
  const known = l.textCodes.get(text)
  if (known !== undefined) return known
  const built = codeOfBuilt(l.textShapes, text)
  if (built !== undefined) return built
  l.textCodes.set(text, l.textsByCode.push(text) - 1)
  return l.textsByCode.length - 1
}

/** Returns the text of a code, which is undefined for that of undefined. The table is whole once the function is lowered. */
export function textOfCode(l: Lowering, code: Expr, span: Span): Expr {
  l.textTable ??= addTable(l, 'texts', l.textsByCode, 'capture', undefined, { made: true })
  l.textTables.add(l.textTable)
  return { kind: 'Lookup', table: l.textTable, index: code, span }
}
