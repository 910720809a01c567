/**
 * The keys of one side of a join as a filter of the other side's rows, in the pass over its columns: rows without a match are not
 * copied, hashed or looked up. The plan says which side is first (`planner/physical/keyFilter.ts`).
 */
import type { Column } from '../../../core/data/column.ts'
import { fieldsOf } from '../../../core/data/schema.ts'
import type { KeyPart, KeyReach } from '../../../planner/physical/keyParts.ts'
import type { WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { Arena } from '../../memory/arena.ts'
import type { ExecBatch } from '../operators/batches.ts'
import { rangeSeen } from '../operators/hashing/keyWindows.ts'
import { popcount } from './bitmap.ts'
import type { ColumnProgram } from './columnProgram.ts'
import { type KeySet, keySetOf, namedColumns } from './semiJoin.ts'

type Join = Extract<WideOperator, { kind: 'HashJoinExec' }>

/** The widest range of keys, of a bit each: 64 MiB. */
const WIDEST_SET = 2 ** 29
/** The set may take the free memory divided by this. */
const SET_ROOM = 16
/** A set with more than this part of the keys that rows are likely to have is not used, as it would keep most rows. */
const MOST_KEYS = 3 / 4
/** The size of the sample of the other side's keys, in rows. */
const LOOKED_AT = 4096

/** The keys of a side that has been computed; undefined where a batch has none. */
export function keysOfSide(join: Join, batches: readonly ExecBatch[]): readonly Column[] | undefined {
  const filled = batches.filter((batch) => batch.length > 0)
  if (join.on !== undefined) return namedColumns(filled, join.on)
  const keys = filled.flatMap((batch) => batch.hidden?.[0] ?? [])
  return keys.length < filled.length ? undefined : keys
}

/** The filters of a program's rows by the keys of joins that the plan names, as far as these are known and few. */
export function keyFilters(
  filteredBy: readonly KeyReach[],
  known: ReadonlyMap<number, readonly Column[]>,
  program: ColumnProgram,
  { budgetBytes, usedBytes }: Pick<Arena, 'budgetBytes' | 'usedBytes'>,
): readonly KeySet[] {
  const widest = Math.min(WIDEST_SET, ((budgetBytes - usedBytes) / SET_ROOM) * 8)
  return filteredBy.flatMap(({ keys, column, part }) => {
    const parts = keyParts(known.get(keys), part)
    const set = parts && keyFilter(column, parts, program, widest)
    if (set === undefined) return []
    return part === undefined ? { ...set, keys } : set
  })
}

/** The field of the keys that a column is compared with; undefined where they have no such field. */
function keyParts(keys: readonly Column[] | undefined, part: KeyPart | undefined): readonly Column[] | undefined {
  if (keys === undefined || part === undefined) return keys
  const names = part.of.join()
  const found = keys.flatMap(({ type, children }) =>
    type.kind === 'struct' && type.fields.map(({ name }) => name).join() === names ? (children?.[part.at] ?? []) : [],
  )
  return found.length < keys.length ? undefined : found
}

/** The keys as a filter of a program's rows; undefined where the set would be too wide or keep too many rows. */
function keyFilter(on: string, keys: readonly Column[], { columns, element, rows }: ColumnProgram, widest: number): KeySet | undefined {
  const column = columns[fieldsOf(element).findIndex((field) => field.name === on)]
  const count = keys.reduce((sum, key) => sum + key.length, 0)
  if (column === undefined || count >= rows) return undefined
  const set = keySetOf({ on, anti: false }, keys, column, widest)
  if (set === undefined) return undefined
  const most = MOST_KEYS * (set.coded ? set.window.span : spanOfBoth(set, column))
  return count > most && keysIn(set) > most ? undefined : set
}

/** The span of the set's keys and a sample of the rows' keys together. */
function spanOfBoth({ window: { base, span } }: KeySet, column: Column): number {
  const [least, most] = rangeSeen(column, LOOKED_AT) ?? [base, base]
  return Math.max(most, base + span - 1) - Math.min(least, base) + 1
}

function keysIn({ present }: KeySet): number {
  return present.reduce((sum, byte) => sum + popcount(byte), 0)
}
