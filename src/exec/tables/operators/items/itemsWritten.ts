/**
 * The items of a function that writes out a list, as columns: each item is computed for all rows, and then the rows of all of them are
 * put one behind the other.
 *
 *     (r) => [{ k: r.a, v: 1 }, { k: r.b, v: 2 }]      k of a and of b  -->  a0 b0 a1 b1 …      v  -->  1 2 1 2 …
 *
 * Statement: the column is the one that a builder makes of the items, row after row. Where that is not known, as where items differ in
 * their fields or types or one of them throws, there is none, and the items are made row after row.
 */
import type { Batch, Column } from '../../../../core/data/column.ts'
import { concatColumns } from '../../../../core/data/columnConcat.ts'
import { convertColumn, NUMBERS } from '../../../../core/data/columnConversions.ts'
import { nullColumn, takeColumn } from '../../../../core/data/columnSlices.ts'
import { type ColumnType, type ElementType, sameType } from '../../../../core/data/schema.ts'
import { PlanError } from '../../../../core/errors.ts'
import type { Expr, FunctionIr } from '../../../../core/ir/functionIr.ts'
import { rowIrOf } from '../../../../core/ir/functionUse.ts'
import type { ExecFunction } from '../../../../planner/physical/physicalPlan.ts'
import { type RowContext, RowFailure } from '../rows/rowFailure.ts'
import { outputColumns, structColumn } from '../rows/rowKernel.ts'

/** The items of all rows; undefined where they have to be made row after row. */
export function itemsWritten(f: ExecFunction, batch: Batch, context: RowContext, element: ElementType): Column | undefined {
  const ir = rowIrOf(f)
  const [only, ...others] = ir?.body ?? []
  if (ir === undefined || only?.kind !== 'Return' || only.value?.kind !== 'ArrayLiteral' || others.length > 0) return undefined
  const { items, span } = only.value
  const names = itemNames(items, element)
  if (names === undefined) return undefined
  const asFields = items.map(
    (item): Expr => (item.kind === 'ObjectLiteral' ? item : { kind: 'ObjectLiteral', fields: [{ name: VALUE, value: item }], span }),
  )
  const columns = asFields.map((value) => ofItem({ ...ir, body: [{ ...only, value }] }, batch, context, names))
  const rows = oneBehindTheOther(items.length, batch.length)
  const wholes: Column[] = []
  for (const [i, name] of names.entries()) {
    const whole = together(
      columns.map((own) => own?.[i]),
      name,
    )
    if (whole === undefined) return undefined
    wholes.push(takeColumn(whole, rows))
  }
  const [first] = wholes
  return items[0]?.kind === 'ObjectLiteral' ? structColumn(names, wholes, rows.length) : first
}

/** The name of the one column of items that are no objects. */
export const VALUE = 'value'

/** The rows of columns that lie one behind the other: the first of each, the second of each, … */
function oneBehindTheOther(columns: number, length: number): Int32Array {
  const rows = new Int32Array(columns * length)
  let at = 0
  for (let row = 0; row < length; row++) for (let column = 0; column < columns; column++) rows[at++] = column * length + row
  return rows
}

/** The fields that all items have, in one order; undefined where they differ, or are no items of single values. */
export function itemNames(items: readonly Expr[], element: ElementType): readonly string[] | undefined {
  const [first] = items
  if (first === undefined) return undefined
  if (first.kind !== 'ObjectLiteral') {
    const isBuiltSo =
      element.kind !== 'scalar' || element.type.kind === 'f64' || element.type.kind === 'utf8' || element.type.kind === 'bool'
    return isBuiltSo && items.every(isSingle) ? [VALUE] : undefined
  }
  const names = first.fields.map(({ name }) => name)
  const isAlike = (item: Expr): boolean =>
    item.kind === 'ObjectLiteral' &&
    item.fields.length === names.length &&
    item.fields.every(({ name, value }, i) => name === names[i] && isSingle(value))
  return names.length > 0 && new Set(names).size === names.length && items.every(isAlike) ? names : undefined
}

function isSingle({ kind }: Expr): boolean {
  return kind !== 'ObjectLiteral' && kind !== 'ArrayLiteral' && kind !== 'Input'
}

/** The columns of one item; undefined where it throws, or has values that no column holds: which row is the first, is found row after row. */
function ofItem(ir: FunctionIr, batch: Batch, context: RowContext, names: readonly string[]): readonly Column[] | undefined {
  try {
    return outputColumns(ir, batch, context, names, () => undefined)
  } catch (error) {
    if (error instanceof RowFailure || error instanceof PlanError) return undefined
    throw error
  }
}

/** The columns of a field of all items, one behind the other; undefined where a builder would not make one type of them. */
function together(parts: readonly (Column | undefined)[], name: string): Column | undefined {
  const built: Column[] = []
  for (const part of parts) {
    const own = part && asBuilt(part)
    if (own === undefined) return undefined
    built.push(own)
  }
  const type = built.find((part) => part.type.kind !== 'null')?.type ?? NULL
  if (built.some((part) => part.type.kind !== 'null' && !sameType(part.type, type))) return undefined
  return concatColumns(
    built.map((part) => (part.type.kind === type.kind ? part : nullColumn(type, part.length))),
    name,
  )
}

const NULL: ColumnType = { kind: 'null' }

/** The column with the type that a builder gives its values; undefined for values whose types it finds otherwise. */
export function asBuilt(column: Column): Column | undefined {
  const { kind } = column.type
  if (kind !== 'f64' && NUMBERS.has(kind)) return convertColumn(column, { kind: 'f64' })
  switch (column.type.kind) {
    case 'f64':
    case 'utf8':
      return column.dictionary === undefined ? { ...column, type: { kind: column.type.kind } } : undefined
    case 'bool':
    case 'i64':
    case 'null':
      return column
    case 'timestamp':
      return column.type.unit === 'ms' && column.type.timezone === undefined ? column : undefined
    case 'struct': {
      if (column.validity !== undefined || column.length === 0) return undefined
      const children = (column.children ?? []).map(asBuilt)
      const names = column.type.fields.map(({ name }) => name)
      return children.includes(undefined) ? undefined : structColumn(names, children as Column[], column.length) // none is undefined
    }
    default:
      return undefined
  }
}
