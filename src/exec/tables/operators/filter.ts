/** Keeps the elements for which the function is truthy. */

import { takeBatch } from './batches.ts'
import { counting, type OpenNarrow } from './operator.ts'
import { selectRows } from './rows/rowKernel.ts'

export const filterExec: OpenNarrow<'FilterExec'> = ({ f }, context) =>
  counting('filter', context, (batch, row) => {
    const selection = selectRows(f, batch, row)
    return selection.length === batch.length ? batch : takeBatch(batch, selection)
  })
