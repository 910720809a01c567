/**
 * Lowers what a loop's body asks of the characters of captured texts, to tables of all characters, end to end:
 *
 *     seqs[p][k]   grid[r][c] === '#'        a text of a list of characters, which is compared by its code (`textCodes.ts`)
 *     seqs[p].length                         a table of lengths
 *     s.charCodeAt(k)                        a table of numbers, NaN outside of the text
 *     for (const base of seqs[p])            a loop over the part of the table
 */
import type { AnyNode, CallExpression } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import { literal, logical, unary } from '../lower/build.ts'
import { rangeOf } from '../lower/indexRanges.ts'
import type { Lowering } from '../lower/lowering.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'
import { elementOfRow, nestedRow } from './capturedLookups.ts'
import { addTable, tableOfString, tableOfText } from './outside.ts'
import { isCapturedText } from './textCodes.ts'

type TableRow = Value & { readonly kind: 'tableRow' }

/** Returns the characters of a text that a loop captures, that is written out, or that is in a captured list; undefined for other values. */
export function charactersOf(l: Lowering, of: Expr, node: AnyNode): TableRow | undefined {
  if (l.context.kind !== 'loop') return undefined
  const span = l.span(node)
  if (of.kind === 'Parameter' || (of.kind === 'Literal' && typeof of.value === 'string')) {
    const table = of.kind === 'Parameter' ? tableOfString(l, of.name) : tableOfText(l, String(of.value))
    const length = l.tables.find((one) => one.name === table)?.value.length
    if (table === undefined || length === undefined) return undefined
    l.textTables.add(table)
    const name = of.kind === 'Parameter' ? of.name : span.text
    return { kind: 'tableRow', table, start: literal(0, span), length: literal(length, span), name }
  }
  if (!isCapturedText(l, of)) return undefined
  const texts = l.textsOf(of) ?? []
  const value = l.characters.get(texts) ?? texts.map((text) => text.split(''))
  l.characters.set(texts, value)
  const row = nestedRow(l, { kind: 'data', value, name: of.table, origin: 'capture', made: true }, of.index, node)
  if (row?.kind !== 'tableRow' || typeof row.table !== 'string') return undefined
  l.textTables.add(row.table)
  return row
}

/** Returns the characters of a text as an iteration goes through them, which is by code points; undefined where some take two units. */
export function iteratedCharacters(l: Lowering, of: Expr, node: AnyNode): TableRow | undefined {
  const before = l.out.length
  const row = charactersOf(l, of, node)
  const units = l.tables.find((one) => one.name === row?.table)?.value
  if (units === undefined || !Array.from(units).some((unit) => /[\ud800-\udfff]/.test(String(unit)))) return row
  l.out.length = before
  return undefined
}

/** Lowers `text.charCodeAt(k)`; undefined for other values and methods. */
export function codeOfCharacter(l: Lowering, of: Expr, name: string, node: CallExpression): Value | undefined {
  const [argument, another] = node.arguments
  if (name !== 'charCodeAt' || argument === undefined || another !== undefined || argument.type === 'SpreadElement') return undefined
  const row = charactersOf(l, of, node)
  if (row === undefined) return undefined
  const index = l.scalarOrNothing(l.verbs.value(l, argument), argument)
  if (index === undefined) return REFUSED
  const span = l.span(node)
  const whole: Expr = { kind: 'Call', callee: 'Math.trunc', args: [unary('+', index, span)], span }
  const at = rangeOf(l, index) === undefined ? logical('||', whole, literal(0, span), span) : index
  const unit = elementOfRow(row, at, l, node)
  if (unit.kind !== 'expr' || unit.expr.kind !== 'Lookup') return undefined
  return exprValue(unary('+', { ...unit.expr, table: codesOf(l, unit.expr.table) }, span))
}

/** Returns the table of the numbers of characters. */
function codesOf(l: Lowering, table: string): string {
  const units = l.tables.find((one) => one.name === table)?.value ?? []
  const parts = l.partsOfConstants.get(units) ?? {}
  l.partsOfConstants.set(units, parts)
  const codes = (): Int32Array => Int32Array.from(Array.from(units), (unit) => String(unit).charCodeAt(0))
  return (parts.units ??= addTable(l, `${table}_units`, codes(), 'capture', undefined, { made: true }))
}
