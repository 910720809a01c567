/** Converts single values to a dtype; a value that does not fit is an error naming it and its key. */
import { castColumn } from '../../../core/data/columnConversions.ts'
import { PlanError } from '../../../core/errors.ts'
import { isNullable } from './batches.ts'
import { counting, type OpenNarrow } from './operator.ts'

export const castExec: OpenNarrow<'CastExec'> = ({ dtype }, context) =>
  counting('cast', context, (batch, row) => {
    if (batch.length === 0) return undefined
    const [column] = batch.columns
    if (batch.element.kind !== 'scalar' || column === undefined) {
      throw new PlanError('cast converts single values, and the elements are rows. Take a column first, as in map((r) => r.price).')
    }
    const { keys } = batch
    const placeOf = (i: number) => (keys === undefined ? `row ${row.firstRow + i}` : `key [${keys.map((axis) => axis[i]).join(', ')}]`)
    const cast = castColumn(column, { kind: dtype }, placeOf)
    return { ...batch, element: { kind: 'scalar', type: cast.type, nullable: isNullable(cast) }, columns: [cast] }
  })
