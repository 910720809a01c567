/** The operators of groupBy's reduce and map, which call a function of the user's with the values of a group. */

import { CHUNK, combinePairwise } from '../../../../core/arrays/fixedTree.ts'
import type { Batch } from '../../../../core/data/column.ts'
import { createBuilder } from '../../../../core/data/columnBuilder.ts'
import { rowReader, type ValueReader, valueReader } from '../../../../core/data/columnReaders.ts'
import { takeColumn } from '../../../../core/data/columnSlices.ts'
import { fieldsOf } from '../../../../core/data/schema.ts'
import { type Expr, expressionsOf, type FunctionIr, visitExpr, visitStmts } from '../../../../core/ir/functionIr.ts'
import { rowIrOf } from '../../../../core/ir/functionUse.ts'
import type { ExecFunction } from '../../../../planner/physical/physicalPlan.ts'
import { conform, type ExecBatch, elementColumn, emptyBatch, fittingColumn, structBatch } from '../batches.ts'
import { firstRows, KeyIds, rowsById } from '../hashing/keyIds.ts'
import type { RunWide } from '../operator.ts'
import { RowFailure, rowFailure } from '../rows/rowFailure.ts'
import { callable } from '../rows/rowKernel.ts'
import { groupRows } from './hashAggregate.ts'

/** Folds each group by the fixed tree: chunks of 4,096 values left to right, then pairwise. */
export const groupReduceExec: RunWide<'GroupReduceExec'> = ({ f, element }, [input]) => {
  const batch = input as ExecBatch
  const [key] = batch.hidden ?? []
  if (key === undefined || batch.length === 0) return emptyBatch(element)
  const ids = new KeyIds(key.type)
  const encoded = ids.encode(key)
  const values = foldedGroups({ f, batch }, encoded, ids.size)
  const columns = [fittingColumn(values, elementColumn(batch).type)]
  const rows = groupRows(takeColumn(key, firstRows(encoded, ids.size)), { method: 'reduce', named: [{ name: 'value' }], columns })
  return conform(rows, element)
}

/** The value of each group. Rows are folded in their order, each into its group. */
function foldedGroups({ f, batch }: { readonly f: ExecFunction; readonly batch: ExecBatch }, codes: Int32Array, size: number): unknown[] {
  const { first, next, element } = readers(f, batch)
  const call = callable(f)
  const open = new Array<unknown>(size)
  const counts = new Int32Array(size)
  const chunks: (unknown[] | undefined)[] = new Array(size)
  let row = 0
  try {
    for (; row < codes.length; row++) {
      const group = codes[row] as number // a group for each row
      const count = counts[group] as number
      counts[group] = count + 1
      if (count % CHUNK !== 0) open[group] = call(open[group], next(row))
      else {
        if (count > 0) (chunks[group] ??= []).push(open[group])
        open[group] = first(row)
      }
    }
    for (let group = 0; group < size; group++) {
      const full = chunks[group]
      if (full !== undefined) open[group] = combinePairwise([...full, open[group]], (a, b) => call(a, b))
    }
  } catch (error) {
    throw rowFailure(error, batch, { method: 'groupBy.reduce', firstRow: 0, position: 0 }, Math.min(row, codes.length - 1))
  }
  const rows = firstRows(codes, size)
  return open.map((value, group) => (counts[group] === 1 ? element(rows[group] as number) : wholeOf(value, element))) // one first row per group
}

interface Readers {
  /** The elements themselves. */
  readonly element: ValueReader
  /** Elements as the function's first or second argument, and as its second: objects with the fields that it reads, and with `ROW` where it may return them. */
  readonly first: ValueReader
  readonly next: ValueReader
}

/** The field with the row number of an object that stands for an element; no column has such a name. */
const ROW = '\0row'

function readers(f: ExecFunction, batch: ExecBatch): Readers {
  const ir = rowIrOf(f)
  const element = rowReader(batch)
  if (ir === undefined || batch.element.kind !== 'row') return { element, first: element, next: element }
  const [of, other] = [fieldsAsked(ir, 0), fieldsAsked(ir, 1)]
  if (of === undefined || other === undefined) return { element, first: element, next: element }
  const isReturned = of.isReturned || other.isReturned
  const first = rowReader(withColumns(batch, new Set([...of.names, ...other.names]), isReturned))
  return { element, first, next: isReturned ? first : rowReader(withColumns(batch, other.names, false)) }
}

/** The fields that a function reads of an argument, and whether it may return it; undefined where it does something else with it. */
function fieldsAsked(ir: FunctionIr, argument: number): { readonly names: ReadonlySet<string>; readonly isReturned: boolean } | undefined {
  const names = new Set<string>()
  let others = 0
  let returned = 0
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Return' && stmt.value !== undefined) returned += timesReturned(stmt.value, argument)
    for (const top of expressionsOf(stmt)) {
      visitExpr(top, (expr) => {
        if (expr.kind === 'Input' && expr.argument === argument) others++
        if (expr.kind !== 'Field' || expr.of.kind !== 'Input' || expr.of.argument !== argument) return
        names.add(expr.name)
        others--
      })
    }
  })
  return others === returned ? { names, isReturned: returned > 0 } : undefined
}

/** How often an expression that is returned is the argument itself. */
function timesReturned(expr: Expr, argument: number): number {
  if (expr.kind === 'Conditional') return timesReturned(expr.then, argument) + timesReturned(expr.else, argument)
  return expr.kind === 'Input' && expr.argument === argument ? 1 : 0
}

function withColumns(batch: ExecBatch, names: ReadonlySet<string>, hasRows: boolean): Batch {
  const fields = fieldsOf(batch.element)
  const places = fields.flatMap(({ name }, i) => (names.has(name) ? [i] : []))
  const of = <T>(all: readonly T[]): T[] => places.map((place) => all[place] as T) // places of columns
  const part = { fields: of(fields), columns: of(batch.columns) }
  if (!hasRows) return { element: { kind: 'row', fields: part.fields }, length: batch.length, columns: part.columns }
  const values = new Int32Array(batch.length)
  for (let row = 0; row < values.length; row++) values[row] = row
  const rows = { type: { kind: 'i32' }, length: batch.length, values } as const
  return {
    element: { kind: 'row', fields: [...part.fields, { name: ROW, type: rows.type, nullable: false }] },
    length: batch.length,
    columns: [...part.columns, rows],
  }
}

/** The element that an object stands for; other values are themselves. */
function wholeOf(value: unknown, element: ValueReader): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, ROW) ? element((value as { [ROW]: number })[ROW]) : value
}

/** Maps each group to one element: the function's result for its key and its values. */
export const groupMapExec: RunWide<'GroupMapExec'> = ({ f, element }, [input]) => {
  const batch = input as ExecBatch
  const [key] = batch.hidden ?? []
  if (key === undefined || batch.length === 0) return emptyBatch(element)
  const { ids, encoded, groups } = grouped(batch)
  const read = rowReader(batch)
  const first = firstRows(encoded, ids.size)
  const readKey = valueReader(key)
  const call = callable(f)
  const builder = createBuilder(element.kind === 'scalar' ? element.type : undefined)
  for (let g = 0; g < ids.size; g++) {
    const values = Array.from(groups.rows.subarray(groups.starts[g], groups.starts[g + 1]), (row) => read(row))
    const row = first[g] as number // one first row per group
    let result: unknown
    try {
      result = call(readKey(row), values)
    } catch (error) {
      throw error instanceof RowFailure ? error : rowFailure(error, batch, { method: 'groupBy.map', firstRow: 0, position: 0 }, row)
    }
    builder.append(result)
  }
  return conform(structBatch(builder.finish()), element)
}

function grouped(batch: ExecBatch) {
  const [key] = batch.hidden ?? []
  const ids = new KeyIds(key?.type ?? { kind: 'null' })
  const encoded = key === undefined ? new Int32Array(batch.length) : ids.encode(key)
  return { ids, encoded, groups: rowsById(encoded, ids.size) }
}
