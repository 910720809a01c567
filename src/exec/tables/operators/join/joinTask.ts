/** The task of a parallel join: joins a range of the left side with the whole right side. */

import type { ColumnType } from '../../../../core/data/schema.ts'
import { MemoryError } from '../../../../core/errors.ts'
import type { WideOperator } from '../../../../planner/physical/physicalPlan.ts'
import type { Arena } from '../../../memory/arena.ts'
import type { Block } from '../../block.ts'
import { ResultBlocks } from '../../columns/resultBlocks.ts'
import { concatBatches, type ExecBatch, hiddenBatch } from '../batches.ts'
import { Gather, type PieceRows } from '../gather/gather.ts'
import { GroupMemory } from '../groupBy/groupMemory.ts'
import { withoutKeys } from '../operator.ts'
import { ArenaMatches } from './arenaJoin.ts'
import { type JoinedPiece, joined, joinPiece, keysOf, MOST_ROWS, tooMany } from './hashJoin.ts'
import { joinKeys } from './joinKeys.ts'

export interface JoinTask {
  readonly kind: 'join'
  readonly join: Extract<WideOperator, { kind: 'HashJoinExec' }>
  readonly left: readonly ExecBatch[]
  readonly right: readonly ExecBatch[]
  /** The common type of both sides' keys. */
  readonly type: ColumnType
}

export interface JoinOutcome {
  /** The joined rows; for right and full joins also a batch whose one hidden column flags the right rows that matched. */
  readonly batches: readonly ExecBatch[]
  /** The blocks of the arena that hold the batches' buffers; they belong to the result. */
  readonly blocks: readonly Block[]
  /** The reason why there is no hash table in the arena. */
  readonly refused?: string
}

/** Joins with hash tables in the arena, or in ordinary memory where the arena is too full. */
export function runJoinTask(task: JoinTask, arena: Arena): JoinOutcome {
  const found = inArena(task, arena)
  const { batch, matched, blocks } = found ?? { ...inMemory(task), blocks: [] }
  const flags = matched && hiddenBatch([{ type: { kind: 'u8' }, length: matched.length, values: matched }])
  const batches = flags === undefined ? [batch] : [batch, flags]
  if (found !== undefined) return { batches, blocks }
  return { batches, blocks, refused: task.join.how === 'cross' ? 'all pairs need no table' : 'memory is short for tables of keys' }
}

function inMemory({ join, left, right, type }: JoinTask): JoinedPiece {
  return joinPiece(join, concatBatches(left), concatBatches(right), type)
}

/** Joins by kernels in the arena; undefined where that is too full, and for a cross join, which needs no hash table. */
function inArena(task: JoinTask, arena: Arena): (JoinedPiece & { readonly blocks: readonly Block[] }) | undefined {
  if (task.join.how === 'cross') return undefined
  const memory = new GroupMemory(arena, task.join.kind)
  const blocks = new ResultBlocks(arena, task.join.kind)
  try {
    const piece = matchedPiece(task, memory, blocks)
    return { ...piece, blocks: blocks.handedOver() }
  } catch (error) {
    blocks.freeAll()
    if (!(error instanceof MemoryError)) throw error
    return undefined
  } finally {
    memory.end()
  }
}

function matchedPiece({ join, left, right, type }: JoinTask, memory: GroupMemory, blocks: ResultBlocks): JoinedPiece {
  const { how } = join
  const pieces = left.map(withoutKeys)
  const whole = withoutKeys(concatBatches(right))
  const keys = joinKeys(keysOf(join, whole, 1), type, memory)
  const matches = new ArenaMatches(memory, keys.right, keys.size)
  const leftKeys = pieces.map((piece) => keys.left(keysOf(join, piece, 0)))
  const gather = new Gather(memory, blocks)
  const first = pieces[0] as ExecBatch // of a range
  const taken = (i: number, rows: PieceRows) =>
    gather.take(
      pieces.flatMap(({ columns }) => columns[i] ?? []),
      rows,
    )
  if (how === 'semi' || how === 'anti') {
    const rows = matches.kept(leftKeys, { anti: how === 'anti' })
    return { batch: { element: first.element, length: rows.rows.length, columns: first.columns.map((_, i) => taken(i, rows)) } }
  }
  const keeps = how === 'left' || how === 'full'
  const { found, pairs } = matches.found(leftKeys, { keeps })
  if (pairs > MOST_ROWS) throw tooMany(pairs)
  const rows = matches.pairs(found, pairs, { keeps })
  const batch = joined(join, first, whole, {
    length: pairs,
    left: (i) => taken(i, rows.left),
    right: (i) => gather.take(whole.columns.slice(i, i + 1), rows.right),
    shared: (i) => taken(i, rows.left),
  })
  return how === 'right' || how === 'full' ? { batch, matched: matches.matched(found) } : { batch }
}
