/**
 * What an operator gives of a part: as all workers carry it out over the whole (`sharedWork.ts`), by kernels over the arena, but
 * by the worker alone that has the part. Where memory is short for that, over ordinary memory, as one task.
 */

import type { NewArray } from '../../../core/data/columnSlices.ts'
import { MemoryError } from '../../../core/errors.ts'
import type { Arena } from '../../memory/arena.ts'
import { Blocks } from '../blocks.ts'
import { ResultBlocks } from '../columns/resultBlocks.ts'
import { concatBatches, type ExecBatch } from '../operators/batches.ts'
import { runWide } from '../operators/index.ts'
import { RowFailure } from '../operators/rows/rowFailure.ts'
import { sharedWork } from '../sharedWork.ts'
import type { Block, StageResult, StageTask } from '../stageTask.ts'
import { MOST_ROWS } from './rowNumbers.ts'
import { unspilled, type WorkedInput } from './spillTask.ts'

export interface WorkedServices {
  readonly arena: Arena
  /** Carries out a task at once. */
  readonly run: (task: StageTask) => Promise<Pick<StageResult, 'batches' | 'blocks'>>
  /** Makes room for what is read, until the task ends. */
  readonly newArray: NewArray
}

/** What there is of the part, and the blocks that it lies in. */
export async function worked(input: WorkedInput, services: WorkedServices): Promise<Pick<StageResult, 'batches' | 'blocks'>> {
  return (await byKernels(input, services)) ?? { batches: asOneTask(input, services.newArray), blocks: [] }
}

/** Undefined where kernels do not carry out the operator, or where memory is short for them. */
async function byKernels(
  { operator, sides }: WorkedInput,
  { arena, run, newArray }: WorkedServices,
): Promise<Pick<StageResult, 'batches' | 'blocks'> | undefined> {
  const own = new Blocks(arena)
  const taken: Block[] = []
  const hold = (blocks: readonly Block[]): void => {
    own.add(blocks)
    taken.push(...blocks)
  }
  const inputs: ExecBatch[] = []
  try {
    for (const side of sides) {
      const read = new ResultBlocks(arena, operator.kind)
      try {
        inputs.push(concatBatches(unspilled(side, newArray), undefined, arraysOf(read)))
        hold(read.handedOver())
      } catch (error) {
        read.freeAll()
        throw error
      }
    }
    const runHere = async (task: StageTask): Promise<readonly ExecBatch[]> => {
      const made = await run(task)
      hold(made.blocks)
      return made.batches
    }
    const batches = await sharedWork(
      operator,
      inputs.map((batch) => [batch]),
      { workers: 1, arena, hold, isBounded: true, run: runHere },
    )
    if (batches === undefined) own.freeAll()
    return batches && { batches, blocks: own.keep(taken, batches) }
  } catch (error) {
    own.freeAll()
    if (error instanceof MemoryError) return undefined
    throw withPlace(error, inputs)
  }
}

function arraysOf(blocks: ResultBlocks): NewArray {
  return (ArrayOf, length) => blocks.like(new ArrayOf(0), length)
}

function asOneTask({ operator, sides }: WorkedInput, newArray: NewArray): readonly ExecBatch[] {
  const inputs = sides.map((side) => concatBatches(unspilled(side, newArray), undefined, newArray))
  try {
    return runWide(operator, inputs)
  } catch (error) {
    throw withPlace(error, inputs)
  }
}

/** The error with the place that the failed row had in the table: functions are of groups, whose rows are numbered. */
function withPlace(error: unknown, [first]: readonly ExecBatch[]): unknown {
  const number = error instanceof RowFailure ? (first?.hidden?.at(-1)?.values?.[error.position] as number | undefined) : undefined // numbers are f64
  if (error instanceof RowFailure && number !== undefined) {
    error.partition = Math.floor(number / MOST_ROWS)
    error.position = number % MOST_ROWS
  }
  return error
}
