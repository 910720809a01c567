/** Replaces every element by what the function returns for it; keys stay. */

import { conform } from './batches.ts'
import { counting, type OpenNarrow } from './operator.ts'
import { mapRows } from './rows/rowKernel.ts'

export const mapExec: OpenNarrow<'MapExec'> = ({ f, element }, context) =>
  counting('map', context, (batch, row) => conform(mapRows(f, batch, row, element), element))
