/**
 * A hash join on all workers: each joins a range of the left side's rows with the whole right side, the build side. The ranges'
 * results, one after another, are in the order of the left side; rows of the right side that no range matched come last.
 *
 * Every worker builds its own hash table of the right side's keys, so building takes as long as with one worker, and joins whose right
 * side is the larger one gain less.
 */
import { convertColumn, unifyTypes } from '../../../core/data/columnConversions.ts'
import type { ColumnType } from '../../../core/data/schema.ts'
import type { WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { Arena } from '../../memory/arena.ts'
import { seenAnew } from '../../memory/shareColumns.ts'
import { batchAs, concatBatches, type ExecBatch, mapBatch, unifyElements } from '../operators/batches.ts'
import { keyTypeOf, MOST_ROWS, tooMany, unmatchedPiece } from '../operators/join/hashJoin.ts'
import type { JoinTask } from '../operators/join/joinTask.ts'
import { rangesOf } from '../operators/partitions.ts'
import { allOf } from '../scheduler.ts'

type Join = Extract<WideOperator, { kind: 'HashJoinExec' }>

export interface JoinServices {
  /** The number of tasks worth running at once. */
  readonly workers: number
  readonly arena: Arena
  readonly run: (task: JoinTask) => Promise<readonly ExecBatch[]>
}

/** The joined rows in pieces, at least one. */
export async function joinedRows(
  join: Join,
  left: readonly ExecBatch[],
  right: readonly ExecBatch[],
  services: JoinServices,
): Promise<readonly ExecBatch[]> {
  const leftBatches = alike(left)
  const rightWhole = concatBatches(right.map((batch) => mapBatch(batch, (buffer) => seenAnew(services.arena, buffer))))
  const type = keyTypeOf(join, leftBatches, [rightWhole])
  const tasks = rangesOf(leftBatches, services.workers).map(
    (range): JoinTask => ({ kind: 'join', join, left: range, right: [rightWhole], type }),
  )
  const results = await allOf(tasks.map(services.run))
  const pieces = results.map(([piece]) => piece as ExecBatch) // every task gives one
  const flags = results.flatMap(([, matched]) =>
    matched?.hidden?.[0]?.values === undefined ? [] : [matched.hidden[0].values as Uint8Array],
  )
  const [first] = leftBatches
  if ((join.how === 'right' || join.how === 'full') && first !== undefined)
    pieces.push(unmatchedPiece(join, first, rightWhole, anyOf(flags, rightWhole.length)))
  const rows = pieces.reduce((sum, piece) => sum + piece.length, 0)
  if (rows > MOST_ROWS) throw tooMany(rows)
  const filled = pieces.filter((piece) => piece.length > 0)
  return filled.length === 0 ? pieces.slice(0, 1) : filled
}

function anyOf(flags: readonly Uint8Array[], length: number): Uint8Array {
  const any = new Uint8Array(length)
  for (const one of flags) for (let i = 0; i < length; i++) any[i] = (any[i] as number) | (one[i] as number) // one flag a row
  return any
}

/** The batches that have elements, converted to their common types; the first batch if none has elements. */
function alike(batches: readonly ExecBatch[]): readonly ExecBatch[] {
  const filled = batches.filter((batch) => batch.length > 0)
  if (filled.length < 2) return filled.length === 0 ? batches.slice(0, 1) : filled
  const element = unifyElements(filled.map((batch) => batch.element))
  const hidden = filled[0]?.hidden?.map((_, i) =>
    filled.map((batch) => batch.hidden?.[i]?.type ?? NULL).reduce((a, b) => unifyTypes(a, b, 'key')),
  )
  return filled.map((batch) => {
    const same = batchAs(batch, element)
    if (hidden === undefined) return same
    return { ...same, hidden: hidden.map((type, i) => convertColumn(batch.hidden?.[i] ?? { type: NULL, length: batch.length }, type)) }
  })
}

const NULL: ColumnType = { kind: 'null' }
