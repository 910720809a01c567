/** An as-of join as one task. */
import type { Column } from '../../../../core/data/column.ts'
import { matchesInMemory } from '../../asof/asofTask.ts'
import { joinedWith, keysOf } from '../../asof/sides.ts'
import type { ExecBatch } from '../batches.ts'
import { takenColumn } from '../gather/takenTexts.ts'
import { type RunWide, withoutKeys } from '../operator.ts'

export const asofJoinExec: RunWide<'AsofJoinExec'> = (operator, inputs) => {
  const [left, whole] = inputs.map(withoutKeys) as [ExecBatch, ExecBatch] // a join has two
  const matches = matchesInMemory(operator, keysOf(operator, [left], whole))
  return joinedWith(operator, left, whole, (i) => takenColumn(whole.columns[i] as Column, matches)) // one for each field
}
