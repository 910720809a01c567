/** Storage as the batches a plan reads, in key order; columns are views of the storage wherever its layout allows. */

import type { Storage } from '../../core/arrays/storage.ts'
import type { ElementType } from '../../core/data/schema.ts'
import type { Keys } from '../../core/plan/logicalPlan.ts'
import { batchesFromStorage } from '../arrays/toBatches.ts'
import { type ExecBatch, scalarBatch } from './operators/batches.ts'
import { PARTITION_ROWS } from './operators/partitions.ts'
import { projected } from './operators/project.ts'

/** Batches of at most `PARTITION_ROWS` elements, at least one; with keys, unless the array is a table. */
export function storedBatches(
  storage: Storage,
  { keys, element, columns }: { readonly keys: Keys; readonly element: ElementType; readonly columns?: readonly string[] },
): readonly ExecBatch[] {
  return batchesFromStorage(storage, { rowsPerBatch: PARTITION_ROWS }).map((batch) => {
    const whole = asNumbers(batch, element)
    const { keys: explicit, ...rest } = columns === undefined ? whole : projected(whole, columns)
    return explicit === undefined || keys.kind === 'rowNumber' ? rest : { ...rest, keys: explicit }
  })
}

/** The batch of an array of dtype bool with its elements as the numbers 0 and 1, where the plan has them so. */
function asNumbers(batch: ExecBatch, element: ElementType): ExecBatch {
  const [column] = batch.columns
  if (element.kind !== 'scalar' || element.type.kind !== 'u8' || column?.type.kind !== 'bool') return batch
  return { ...batch, ...scalarBatch({ ...column, type: element.type }) }
}
