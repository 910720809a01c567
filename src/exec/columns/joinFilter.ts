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

/** The keys as filters of a program's rows, one for each part that is a column of the table and whose set is neither too wide nor keeps too much. */
export function keyFilters(join: Join, keys: readonly Column[], program: ColumnProgram): readonly KeySet[] {
  const [hidden] = program.shape.hidden ?? []
  if (join.on !== undefined) return keySetFor(join.on, keys, program)
  if (hidden === undefined) return []
  if (hidden.kind === 'value') return keySetFor(hidden.output, keys, program)
  const names = hidden.fields.map(({ name }) => name).join()
  return hidden.fields.flatMap(({ output }, part) => {
    const parts = keys.flatMap(({ type, children }) =>
      type.kind === 'struct' && type.fields.map(({ name }) => name).join() === names ? (children?.[part] ?? []) : [],
    )
    return parts.length < keys.length ? [] : keySetFor(output, parts, program)
  })
}

function keySetFor(name: string, keys: readonly Column[], { shape, columns, element, rows }: ColumnProgram): readonly KeySet[] {
  const output = shape.outputs.find((one) => one.name === name)
  if (output?.kind !== 'column') return []
  const on = fieldsOf(element)[output.column]?.name
  const column = columns[output.column]
  const count = keys.reduce((sum, key) => sum + key.length, 0)
  if (on === undefined || column === undefined || count >= rows) return []
  const set = keySetOf({ on, anti: false }, keys, column, WIDEST_SET)
  return set === undefined || (count > MOST_KEYS * set.window.span && keysIn(set) > MOST_KEYS * set.window.span) ? [] : [set]
}

function keysIn({ present }: KeySet): number {
  return present.reduce((sum, one) => sum + one, 0)
}
