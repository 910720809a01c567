/** Replaces every element by the items the function returns for it; the result is a table. */
import { createBuilder } from '../../../core/data/columnBuilder.ts'
import { PlanError } from '../../../core/errors.ts'
import { conform, structBatch } from './batches.ts'
import { counting, type OpenNarrow } from './operator.ts'
import { returnedValues } from './rows/rowKernel.ts'

export const flatMapExec: OpenNarrow<'FlatMapExec'> = ({ f, element }, context) =>
  counting('flatMap', context, (batch, row) => {
    const builder = createBuilder(element.kind === 'scalar' ? element.type : undefined)
    returnedValues(f, batch, row, (items) => {
      if (!isIterable(items))
        throw new PlanError(`flatMap: the function must return an array, as in flatMap((r) => r.tags). It returned ${String(items)}.`)
      for (const item of items) builder.append(item)
    })
    return conform(structBatch(builder.finish()), element)
  })

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value
}
