/** The operators of groupBy's reduce and map, which call a function of the user's with the values of a group. */

import { CHUNK, combinePairwise } from '../../../../core/arrays/fixedTree.ts'
import type { Batch } from '../../../../core/data/column.ts'
import { createBuilder } from '../../../../core/data/columnBuilder.ts'
import { rowReader, type ValueReader, valueReader } from '../../../../core/data/columnReaders.ts'
import { takeColumn } from '../../../../core/data/columnSlices.ts'
import { fieldsOf } from '../../../../core/data/schema.ts'
import { columnsRead, rowIrOf } from '../../../../core/ir/functionUse.ts'
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
  const { ids, encoded, groups } = grouped(batch)
  const { whole, first, next } = readers(f, batch)
  const call = callable(f)
  const values: unknown[] = []
  for (let g = 0; g < ids.size; g++) {
    const rows = groups.rows.subarray(groups.starts[g], groups.starts[g + 1])
    let row = rows[0] ?? 0
    try {
      const chunks: unknown[] = []
      const begin = rows.length === 1 ? whole : first
      for (let from = 0; from < rows.length; from += CHUNK) {
        let folded = begin(rows[from] as number)
        for (let i = from + 1; i < Math.min(from + CHUNK, rows.length); i++) {
          row = rows[i] as number
          folded = call(folded, next(row))
        }
        chunks.push(folded)
      }
      values.push(combinePairwise(chunks, (a, b) => call(a, b)))
    } catch (error) {
      throw rowFailure(error, batch, { method: 'groupBy.reduce', firstRow: 0, position: 0 }, row)
    }
  }
  const columns = [fittingColumn(values, elementColumn(batch).type)]
  const rows = groupRows(takeColumn(key, firstRows(encoded, ids.size)), { method: 'reduce', named: [{ name: 'value' }], columns })
  return conform(rows, element)
}

interface Readers {
  /** The elements themselves, which a group of one element is folded to. */
  readonly whole: ValueReader
  /** Elements as the function's first or second argument, and as its second: objects with the fields that it reads of these. */
  readonly first: ValueReader
  readonly next: ValueReader
}

function readers(f: ExecFunction, batch: ExecBatch): Readers {
  const ir = rowIrOf(f)
  const whole = rowReader(batch)
  if (ir === undefined || batch.element.kind !== 'row') return { whole, first: whole, next: whole }
  const [one, other] = [columnsRead({ ir }, 0), columnsRead({ ir }, 1)]
  const reading = (columns: ReadonlySet<string> | 'all'): ValueReader =>
    columns === 'all' ? whole : rowReader(withColumns(batch, columns))
  return { whole, first: reading(one === 'all' || other === 'all' ? 'all' : new Set([...one, ...other])), next: reading(other) }
}

function withColumns(batch: ExecBatch, names: ReadonlySet<string>): Batch {
  const fields = fieldsOf(batch.element)
  const places = fields.flatMap(({ name }, i) => (names.has(name) ? [i] : []))
  const of = <T>(all: readonly T[]): T[] => places.map((place) => all[place] as T) // places of columns
  return { element: { kind: 'row', fields: of(fields) }, length: batch.length, columns: of(batch.columns) }
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
