/**
 * Lowers a field that a text chooses, of an object of a captured list or object of objects, as matrices of scores are written.
 *
 *     const scores = { A: { A: 4, C: -1 }, C: { A: -1, C: 9 } }
 *     scores[a[i]][b[j]]      -->      fields [column of b[j] * rows + row of a[i]], where column is -1 for a text that is no field
 *
 * Legal where all fields are numbers. What lies before the table is undefined, as such a field is.
 */
import { types } from 'node:util'
import type { AnyNode } from 'acorn'
import type { Primitive } from '../../../../core/ir/functionIr.ts'
import { byTexts } from '../../captures/capturedKeys.ts'
import { rowThatIsThere } from '../../captures/capturedLookups.ts'
import { addTable } from '../../captures/outside.ts'
import { binary, literal, logical } from '../../lower/build.ts'
import type { Lowering } from '../../lower/lowering.ts'
import { exprValue, type Value } from '../../lower/value.ts'

/** Returns the field; undefined for other objects and for names that are no captured texts. */
export function fieldByText(l: Lowering, of: Value, name: Value, node: AnyNode): Value | undefined {
  if (of.kind !== 'recordRow' || name.kind !== 'expr' || l.context.kind !== 'loop') return undefined
  const columns = [...of.tables.values()].map((table) => l.tables.find((one) => one.name === table)?.value)
  if (!columns.every(areNumbers)) return undefined
  const { tables, row, name: object } = rowThatIsThere(l, of, node)
  const names = [...tables.keys()]
  const answer = (text: string): number | undefined => (text in Object.prototype && !names.includes(text) ? undefined : names.indexOf(text))
  const found = byTexts(l, { kind: 'data', value: tables, name: object, origin: 'capture' }, name.expr, { name: 'column', answer }, node)
  if (found?.kind !== 'expr') return undefined
  const span = l.span(node)
  const rows = columns[0]?.length ?? 0
  const parts = l.partsOfConstants.get(tables) ?? {}
  l.partsOfConstants.set(tables, parts)
  const table = (parts['all fields'] ??= addTable(
    l,
    `${object}_fields`,
    Float64Array.from(columns.flatMap((one) => [...one])),
    'capture',
    undefined,
    {
      made: true,
    },
  ))
  const column = l.stabilized(logical('??', found.expr, literal(-1, span), span), 'column')
  const index = binary('+', binary('*', column, literal(rows, span), span), row, span)
  return exprValue({ kind: 'Lookup', table, index, span })
}

function areNumbers(values: ArrayLike<Primitive> | undefined): values is Float64Array | Int32Array {
  return types.isFloat64Array(values) || types.isInt32Array(values)
}
