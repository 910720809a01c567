/** Sets columns of every row: those the function returns replace columns of the same name, or come last. */
import type { Column } from '../../../core/data/column.ts'
import { PlanError } from '../../../core/errors.ts'
import { conform, type ExecBatch, rowBatch } from './batches.ts'
import { counting, type OpenNarrow } from './operator.ts'
import { mapRows } from './rows/rowKernel.ts'

export const withColumnsExec: OpenNarrow<'WithColumnsExec'> = ({ f, element }, context) =>
  counting('withColumns', context, (batch, row) => {
    if (batch.length === 0) return undefined
    return conform(merged(batch, mapRows(f, batch, row, element)), element)
  })

function merged(batch: ExecBatch, added: ExecBatch): ExecBatch {
  if (batch.element.kind !== 'row' || added.element.kind !== 'row') {
    throw new PlanError(
      'withColumns needs rows and a function that returns an object, as in withColumns((r) => ({ total: r.price * r.count })).',
    )
  }
  const columns = new Map<string, Column>(batch.element.fields.map((field, i) => [field.name, batch.columns[i] as Column]))
  for (const [i, field] of added.element.fields.entries()) columns.set(field.name, added.columns[i] as Column)
  return { ...batch, ...rowBatch([...columns.keys()], [...columns.values()], batch.length) }
}
