/** Keeps the elements for which the function is truthy. */
import { selectRows } from '../kernels/rowKernel.ts'
import { takeBatch } from './batches.ts'
import { counting, type OpenNarrow } from './operator.ts'

export const filterExec: OpenNarrow<'FilterExec'> = ({ f }, context) =>
  counting('filter', context, (batch, row) => {
    const selection = selectRows(f, batch, row)
    return selection.length === batch.length ? batch : takeBatch(batch, selection)
  })
