/** Keeps some columns, in the order given. */

import type { Column } from '../../../core/data/column.ts'
import { positionsOf } from '../../../core/data/fieldPositions.ts'
import { type Field, namesText } from '../../../core/data/schema.ts'
import { PlanError } from '../../../core/errors.ts'
import type { ExecBatch } from './batches.ts'
import { counting, type OpenNarrow } from './operator.ts'

export const projectExec: OpenNarrow<'ProjectExec'> = ({ columns }, context) =>
  counting('select', context, (batch) => projected(batch, columns))

/** The batch with the columns `names` alone. PlanError for a column the elements do not have. */
export function projected(batch: ExecBatch, names: readonly string[]): ExecBatch {
  const { element } = batch
  // counting needs no columns, and no rows to take them from
  if (names.length === 0) return { ...batch, element: { kind: 'row', fields: [] }, columns: [] }
  const known = positionsOf(element.kind === 'row' ? element.fields : [])
  const unseen = batch.length === 0 && names.some((name) => !known.has(name))
  if (unseen) return { ...batch, element: { kind: 'unknown' }, columns: [] }
  if (element.kind !== 'row') throw new PlanError(`select needs rows; the elements are single values. Use map instead.`)
  const positions = names.map((name) => known.get(name) ?? -1)
  const missing = positions.indexOf(-1)
  if (missing >= 0) throw new PlanError(`There is no column "${names[missing]}". The columns are ${namesText(element.fields)}.`)
  return {
    ...batch,
    element: { kind: 'row', fields: positions.map((position) => element.fields[position] as Field) }, // none is -1
    columns: positions.map((position) => batch.columns[position] as Column),
  }
}
