/**
 * The tasks of an as-of join: `asofRun.ts` says in which order they come.
 *
 *     match      the row of the right side for each of the left, by one task: one pass over both
 *     columns    the right side's columns for rows of the left, in blocks that are the result's
 */
import type { Column } from '../../../core/data/column.ts'
import { concatColumns } from '../../../core/data/columnConcat.ts'
import { takeColumn } from '../../../core/data/columnSlices.ts'
import { MemoryError } from '../../../core/errors.ts'
import type { Arena } from '../../memory/arena.ts'
import { ResultBlocks } from '../columns/resultBlocks.ts'
import { type ExecBatch, hiddenBatch } from '../operators/batches.ts'
import { Gather } from '../operators/gather/gather.ts'
import { GroupMemory } from '../operators/groupBy/groupMemory.ts'
import { KeyIds } from '../operators/hashing/keyIds.ts'
import { joinKeys } from '../operators/join/joinKeys.ts'
import type { JoinOutcome } from '../operators/join/joinTask.ts'
import { withoutNulls } from '../operators/join/nullKeys.ts'
import { type AsofOperator, type EqualKeys, matchesOf } from './matches.ts'

/** The columns that rows are matched by: the equal key, where there is one, and the order; each of one type for both sides. */
export interface AsofKeys {
  readonly left: readonly (readonly Column[])[]
  readonly right: readonly Column[]
}

export type AsofWork =
  | { readonly kind: 'match'; readonly operator: AsofOperator; readonly keys: AsofKeys }
  | { readonly kind: 'columns'; readonly columns: readonly Column[]; readonly rows: Int32Array }

export interface AsofTask {
  readonly kind: 'asof'
  readonly work: AsofWork
}

export function runAsofTask({ work }: AsofTask, arena: Arena): JoinOutcome {
  switch (work.kind) {
    case 'match': {
      const matches = matchesInArena(work.operator, work.keys, arena)
      return { batches: [hiddenBatch([{ type: { kind: 'i32' }, length: matches.length, values: matches }])], blocks: [] }
    }
    case 'columns':
      return taken(work.columns, work.rows, arena)
  }
}

/** Matches with hash tables of keys in the arena, or in ordinary memory where the arena is too full. */
function matchesInArena(operator: AsofOperator, keys: AsofKeys, arena: Arena): Int32Array {
  const memory = new GroupMemory(arena, operator.kind)
  try {
    return matchesBy(operator, keys, (right, pieces) => {
      const found = joinKeys(right, right.type, memory)
      return { right: found.right, left: together(pieces.map((piece) => found.left(piece))), size: found.size }
    })
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error
    return matchesInMemory(operator, keys)
  } finally {
    memory.end()
  }
}

/** Matches with hash tables of keys in ordinary memory. */
export function matchesInMemory(operator: AsofOperator, keys: AsofKeys): Int32Array {
  return matchesBy(operator, keys, (right, pieces) => {
    const ids = new KeyIds(right.type)
    const rightIds = withoutNulls(ids.encode(right), right)
    return { right: rightIds, left: together(pieces.map((piece) => withoutNulls(ids.lookUp(piece), piece))), size: ids.size }
  })
}

type KeysOf = (right: Column, pieces: readonly Column[]) => EqualKeys

function matchesBy(operator: AsofOperator, { left, right }: AsofKeys, keysOf: KeysOf): Int32Array {
  const pieces = (k: number): readonly Column[] => left.map((columns) => columns[k] as Column) // as many as the right side has
  const at = operator.by ? 1 : 0
  const orders = { left: concatColumns(pieces(at), 'on'), right: right[at] as Column }
  return matchesOf(operator, orders, operator.by ? keysOf(right[0] as Column, pieces(0)) : undefined)
}

function together(pieces: readonly Int32Array[]): Int32Array {
  const [first] = pieces
  if (first !== undefined && pieces.length === 1) return first
  const all = new Int32Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}

function taken(columns: readonly Column[], rows: Int32Array, arena: Arena): JoinOutcome {
  const memory = new GroupMemory(arena, 'AsofJoinExec')
  const blocks = new ResultBlocks(arena, 'AsofJoinExec')
  try {
    const own = memory.integers(memory.room(4 * rows.length), rows.length)
    own.set(rows)
    const gather = new Gather(memory, blocks)
    const from = { rows: own, cuts: [0, rows.length], nullable: rows.includes(-1) }
    const batches = [hiddenBatch(columns.map((column) => gather.take([column], from)))]
    return { batches, blocks: blocks.handedOver() }
  } catch (error) {
    blocks.freeAll()
    if (!(error instanceof MemoryError)) throw error
    return { batches: [takenBatch(columns, rows)], blocks: [] }
  } finally {
    memory.end()
  }
}

function takenBatch(columns: readonly Column[], rows: Int32Array): ExecBatch {
  return hiddenBatch(columns.map((column) => takeColumn(column, rows)))
}
