/**
 * Works on a spilled part in a task, by kernels over the arena: runs an operator over it by the code that all workers run over whole
 * inputs (`sharedWork.ts`), here one worker alone; or sorts its rows by their numbers. Where the arena is too full, or there is
 * no kernel, it works in ordinary memory.
 */
import type { Column } from '../../../core/data/column.ts'
import type { NewArray } from '../../../core/data/columnSlices.ts'
import { MemoryError } from '../../../core/errors.ts'
import type { WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { Arena } from '../../memory/arena.ts'
import { endsOf } from '../asof/ends.ts'
import type { Block } from '../block.ts'
import { Blocks } from '../blocks.ts'
import { ResultBlocks } from '../columns/resultBlocks.ts'
import { concatBatches, type ExecBatch } from '../operators/batches.ts'
import { runWide } from '../operators/index.ts'
import { indexedBatch, keysInOrder, type Repeated } from '../operators/indexKeys.ts'
import { RowFailure } from '../operators/rows/rowFailure.ts'
import type { StageResult, StageTask } from '../stage.ts'
import { gatheredColumns, isGatherable } from '../wide/gatherRun.ts'
import { sharedWork } from '../wide/sharedWork.ts'
import { SortRun } from '../wide/sortRun.ts'
import type { WindowOperator } from '../windows/windowColumns.ts'
import { type WindowPiece, windowPiece } from '../windows/windowPiece.ts'
import { MOST_ROWS, rowsInOrder } from './rowNumbers.ts'
import { numbersOf, type OrderedInput, type SpilledInput, unspilled, type WorkedInput, withoutNumbers } from './spillTask.ts'

export interface PartServices {
  readonly arena: Arena
  /** Runs a task at once, on this thread. */
  readonly run: (task: StageTask) => Promise<Made>
  /** Makes arrays for the rows read, which live until the task ends. */
  readonly newArray: NewArray
}

/** The result of a part, and the blocks that it lies in. */
export type Made = Pick<StageResult, 'batches' | 'blocks' | 'repeated'>

/** The result of an operator over one part of each of its inputs. */
export async function worked({ operator, sides, piece, isEnds }: WorkedInput, services: PartServices): Promise<Made> {
  const { newArray } = services
  if (operator.kind === 'WindowExec' && piece !== undefined) return await windowed(operator, sides, piece, services)
  if (isEnds === true)
    return { batches: [endsOf(concatBatches(unspilled(sides[0] as SpilledInput, newArray), undefined, newArray))], blocks: [] } // one side
  if (operator.kind === 'IndexExec') return await indexed(operator, sides, services)
  const made = await inArena(services, operator.kind, async ({ whole, ...shared }) => {
    const inputs: ExecBatch[] = []
    for (const side of sides) inputs.push(whole(side))
    try {
      return await sharedWork(
        operator,
        inputs.map((batch) => [batch]),
        shared,
      )
    } catch (error) {
      throw withPlace(error, inputs)
    }
  })
  if (made !== undefined) return made
  const inputs = sides.map((side) => concatBatches(unspilled(side, newArray), undefined, newArray))
  try {
    return { batches: runWide(operator, inputs), blocks: [] }
  } catch (error) {
    throw withPlace(error, inputs)
  }
}

/** The results for the rows of one piece of a window's partition, which is sorted. */
async function windowed(
  operator: WindowOperator,
  [side]: readonly SpilledInput[],
  piece: WindowPiece,
  services: PartServices,
): Promise<Made> {
  const part = side as SpilledInput // there is one
  const made = await inArena(services, operator.kind, async ({ whole }) => [windowPiece(operator, whole(part), piece)])
  if (made !== undefined) return made
  const batch = concatBatches(unspilled(part, services.newArray), undefined, services.newArray)
  return { batches: [windowPiece(operator, batch, piece)], blocks: [] }
}

/** The error with the partition and position of the failed row, from its number: only functions of groups fail here, whose rows have numbers. */
function withPlace(error: unknown, [first]: readonly ExecBatch[]): unknown {
  const number = error instanceof RowFailure ? (first?.hidden?.at(-1)?.values?.[error.position] as number | undefined) : undefined // numbers are f64
  if (error instanceof RowFailure && number !== undefined) {
    error.partition = Math.floor(number / MOST_ROWS)
    error.position = number % MOST_ROWS
  }
  return error
}

/** The elements of a part in the order of their keys, or the rows that have one key. */
async function indexed(
  operator: Extract<WideOperator, { kind: 'IndexExec' }>,
  [side]: readonly SpilledInput[],
  services: PartServices,
): Promise<Made> {
  const part = side as SpilledInput // there is one
  let repeated: Repeated | undefined
  const made = await inArena(services, operator.kind, async ({ whole, ...shared }) => {
    if (operator.combine !== undefined) return undefined
    const batch = whole(part)
    const { keys = [] } = batch
    const inOrder = keysInOrder(keys, batch.length)
    repeated = inOrder.repeated && byNumbers(inOrder.repeated, batch)
    if (repeated !== undefined) return []
    return inOrder.rows === undefined ? [withoutHidden(batch)] : await gathered(withoutHidden(batch), inOrder.rows, operator.kind, shared)
  })
  if (made !== undefined) return { ...made, ...(repeated && { repeated }) }
  const batch = concatBatches(unspilled(part, services.newArray), undefined, services.newArray)
  try {
    const found = indexedBatch(operator, batch)
    if ('batch' in found) return { batches: [withoutHidden(found.batch)], blocks: [] }
    return { batches: [], blocks: [], repeated: byNumbers(found.repeated, batch) }
  } catch (error) {
    throw withPlace(error, [batch])
  }
}

function withoutHidden({ hidden: _, ...batch }: ExecBatch): ExecBatch {
  return batch
}

/** A repeated key with the rows' positions in the batch replaced by their numbers. */
function byNumbers({ first, second, key }: Repeated, batch: ExecBatch): Repeated {
  const numbers = numbersOf(batch, { in: 'hidden' })
  return { first: numbers[first] as number, second: numbers[second] as number, key } // rows of the batch
}

/** The rows of a batch gathered in this order by kernels into the arena; undefined where a column is of a type that these cannot move. */
async function gathered(
  batch: ExecBatch,
  order: Int32Array,
  operator: string,
  shared: Omit<Alone, 'whole'>,
): Promise<readonly ExecBatch[] | undefined> {
  if (batch.hidden !== undefined || !batch.columns.every(isGatherable)) return undefined
  const run = new SortRun(shared)
  const blocks = new ResultBlocks(shared.arena, operator)
  try {
    const rows = { address: run.memory.addressOf(order), length: batch.length }
    const keys: readonly Column[] = (batch.keys ?? []).map((values) => ({ type: { kind: 'i32' }, length: batch.length, values }))
    const columns = await gatheredColumns([...keys, ...batch.columns], rows, run, { workers: 1, blocks })
    shared.hold(blocks.handedOver())
    const axes = columns.slice(0, keys.length).map(({ values }) => values as Int32Array) // as they were
    return [{ ...batch, columns: columns.slice(keys.length), ...(batch.keys && { keys: axes }) }]
  } catch (error) {
    blocks.freeAll()
    throw error
  } finally {
    run.end()
  }
}

/** The rows of a part, sorted by their numbers, without these. */
export async function ordered({ inOrder, ...part }: OrderedInput, services: PartServices): Promise<Made> {
  const { place, scalar } = inOrder
  const made = await inArena(services, 'ExchangeExec', async ({ whole, ...shared }) => {
    const numbered = whole(part)
    const batch = withoutNumbers(numbered, place, scalar)
    return batch.keys === undefined ? await gathered(batch, rowsInOrder(numbersOf(numbered, place)), 'ExchangeExec', shared) : undefined
  })
  return made ?? { batches: unspilled({ ...part, inOrder }, services.newArray), blocks: [] }
}

/** The services of shared work for one worker alone; and `whole`, which reads a part as one batch into the arena. */
interface Alone {
  readonly workers: 1
  readonly arena: Arena
  readonly isBounded: true
  readonly hold: (blocks: readonly Block[]) => void
  readonly run: (task: StageTask) => Promise<readonly ExecBatch[]>
  readonly whole: (part: SpilledInput) => ExecBatch
}

/** The result of `make` with the blocks it lies in; undefined, with all blocks freed, where `make` returns undefined or the arena is too full. */
async function inArena(
  { arena, run, newArray }: PartServices,
  operator: string,
  make: (alone: Alone) => Promise<readonly ExecBatch[] | undefined>,
): Promise<Made | undefined> {
  const own = new Blocks(arena)
  const taken: Block[] = []
  const hold = (blocks: readonly Block[]): void => {
    own.add(blocks)
    taken.push(...blocks)
  }
  const runHere = async (task: StageTask): Promise<readonly ExecBatch[]> => {
    const { batches, blocks } = await run(task)
    hold(blocks)
    return batches
  }
  const whole = (part: SpilledInput): ExecBatch => {
    const read = new ResultBlocks(arena, operator)
    try {
      return concatBatches(unspilled(part, newArray), undefined, (ArrayOf, length) => read.like(new ArrayOf(0), length))
    } finally {
      hold(read.handedOver())
    }
  }
  try {
    const batches = await make({ workers: 1, arena, isBounded: true, hold, run: runHere, whole })
    if (batches === undefined) own.freeAll()
    return batches && { batches, blocks: own.keep(taken, batches) }
  } catch (error) {
    own.freeAll()
    if (error instanceof MemoryError) return undefined
    throw error
  }
}
