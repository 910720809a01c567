/**
 * Keys of one side of a join as a filter of the rows of the other, in the pass over its columns: what no row of the first
 * side matches is not copied, not hashed and not looked up. Which side is first the plan says (`planner/physical/keyFilter.ts`).
 */
import type { Column } from '../../core/column.ts'
import { fieldsOf } from '../../core/schema.ts'
import type { WideOperator } from '../../planner/physical/physicalPlan.ts'
import type { ExecBatch } from '../operators/batches.ts'
import type { ColumnProgram } from './columnProgram.ts'
import { type KeySet, keySetOf, namedColumns } from './semiJoin.ts'

type Join = Extract<WideOperator, { kind: 'HashJoinExec' }>

/** Bytes of the widest set: a table of a hundred million keys has them in 16 MiB if one in six is there. */
const WIDEST_SET = 2 ** 24
/** Keys beyond this part of all that the set could have would keep most rows. */
const MOST_KEYS = 3 / 4

/** The keys of a side that is there; undefined where a batch has none. */
export function keysOfSide(join: Join, batches: readonly ExecBatch[]): readonly Column[] | undefined {
  const filled = batches.filter((batch) => batch.length > 0)
  if (join.on !== undefined) return namedColumns(filled, join.on)
  const keys = filled.flatMap((batch) => batch.hidden?.[0] ?? [])
  return keys.length < filled.length ? undefined : keys
}

/** The keys as a filter of a program's rows; undefined where its key is no column of the table, or the set would be too wide or keep too much. */
export function keyFilter(join: Join, keys: readonly Column[], program: ColumnProgram): KeySet | undefined {
  const { shape, columns, element, rows } = program
  const [hidden] = shape.hidden ?? []
  const name = join.on ?? (hidden?.kind === 'value' ? hidden.output : undefined)
  const output = shape.outputs.find((one) => one.name === name)
  if (output?.kind !== 'column') return undefined
  const on = fieldsOf(element)[output.column]?.name
  const column = columns[output.column]
  const count = keys.reduce((sum, key) => sum + key.length, 0)
  if (on === undefined || column === undefined || count >= rows) return undefined
  const set = keySetOf({ on, anti: false }, keys, column, WIDEST_SET)
  return set === undefined || count > MOST_KEYS * set.window.span ? undefined : set
}
