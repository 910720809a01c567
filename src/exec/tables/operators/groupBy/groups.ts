/** The operators of groupBy's reduce and map, which call a function of the user's with the values of a group. */

import { CHUNK, combinePairwise } from '../../../../core/arrays/fixedTree.ts'
import { createBuilder } from '../../../../core/data/columnBuilder.ts'
import { rowReader, valueReader } from '../../../../core/data/columnReaders.ts'
import { takeColumn } from '../../../../core/data/columnSlices.ts'
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
  const read = rowReader(batch)
  const call = callable(f)
  const values: unknown[] = []
  for (let g = 0; g < ids.size; g++) {
    const rows = groups.rows.subarray(groups.starts[g], groups.starts[g + 1])
    let row = rows[0] ?? 0
    try {
      const chunks: unknown[] = []
      for (let from = 0; from < rows.length; from += CHUNK) {
        let folded = read(rows[from] as number)
        for (let i = from + 1; i < Math.min(from + CHUNK, rows.length); i++) {
          row = rows[i] as number
          folded = call(folded, read(row))
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
