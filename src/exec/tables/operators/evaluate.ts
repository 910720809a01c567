/** Computes the hidden columns a wide operator asks for, next to the elements or instead of them. */

import type { Column } from '../../../core/data/column.ts'
import { PlanError } from '../../../core/errors.ts'
import type { HiddenColumn } from '../../../planner/physical/physicalPlan.ts'
import type { ExecBatch } from './batches.ts'
import type { ArrayForm } from './hashing/tupleKeys.ts'
import { counting, type OpenNarrow, withoutKeys } from './operator.ts'
import { projected } from './project.ts'
import { columnOf } from './rows/rowKernel.ts'
import { wholeMilliseconds } from './sort/wholeMilliseconds.ts'

export const evaluateExec: OpenNarrow<'EvaluateExec'> = ({ columns, axis, payload }, context) =>
  counting('groupBy', context, (batch, row) => {
    const hidden = columns.map((column) => {
      const values = columnOf(column.f, batch, { ...row, method: column.method }, { arrays: ARRAYS[column.use] })
      return column.use === 'argument' ? values : wholeMilliseconds(values)
    })
    const all = axis === undefined ? hidden : [axisColumn(batch, axis, row.firstRow), ...hidden]
    if (payload !== false) return { ...(payload === true ? batch : projected(batch, payload)), hidden: all }
    return { ...withoutKeys(batch), element: { kind: 'row', fields: [] }, columns: [], hidden: all }
  })

const ARRAYS: { readonly [U in HiddenColumn['use']]: ArrayForm } = {
  argument: 'list',
  group: 'list',
  part: 'counted',
  order: 'order',
  match: 'match',
  piece: 'counted',
}

function axisColumn(batch: ExecBatch, axis: number, firstRow: number): Column {
  const keys = batch.keys
  if (keys === undefined && axis === 0) {
    return { type: { kind: 'f64' }, length: batch.length, values: Float64Array.from({ length: batch.length }, (_, i) => firstRow + i) }
  }
  const values = keys?.[axis]
  if (values === undefined) throw new PlanError(`There is no key axis ${axis}: the keys have ${keys?.length ?? 1}.`)
  return { type: { kind: 'f64' }, length: batch.length, values: Float64Array.from(values) }
}
