/**
 * An as-of join: one worker finds the matches in a pass over the keys of both sides, and all workers gather the right side's columns, for
 * one batch of the left side each. The left side's columns are not copied.
 */
import type { Column } from '../../../core/data/column.ts'
import { seenAnew } from '../../memory/shareColumns.ts'
import { concatBatches, type ExecBatch, mapBatch } from '../operators/batches.ts'
import { withoutKeys } from '../operators/operator.ts'
import { allOf } from '../scheduler.ts'
import type { SortedServices } from '../wide/sortedBatches.ts'
import type { AsofOperator } from './matches.ts'
import { joinedWith, keysOf, wantedColumns } from './sides.ts'

/** The joined rows: a batch for each batch of the left side that has rows. */
export async function asofRows(
  operator: AsofOperator,
  left: readonly ExecBatch[],
  right: readonly ExecBatch[],
  { run, arena }: Pick<SortedServices, 'run' | 'arena'>,
): Promise<readonly ExecBatch[]> {
  const pieces = left.filter((batch) => batch.length > 0).map(withoutKeys)
  const whole = withoutKeys(concatBatches(right.map((batch) => mapBatch(batch, (buffer) => seenAnew(arena, buffer)))))
  const [found] = await run({ kind: 'asof', work: { kind: 'match', operator, keys: keysOf(operator, pieces, whole) } })
  const matches = (found?.hidden?.[0]?.values ?? new Int32Array()) as Int32Array // as the task gives them
  const wanted = wantedColumns(operator, whole)
  let from = 0
  const tasks = pieces.map(async (piece) => {
    const rows = matches.subarray(from, from + piece.length)
    from += piece.length
    const columns = wanted.map((i) => whole.columns[i] as Column) // one for each field
    const [taken] = wanted.length === 0 ? [] : await run({ kind: 'asof', work: { kind: 'columns', columns, rows } })
    return joinedWith(operator, piece, whole, (i) => taken?.hidden?.[wanted.indexOf(i)] as Column) // one for each that is wanted
  })
  return await allOf(tasks)
}
