/** Errors of a run: memory that is short, and what a function of whole partitions has thrown. */
import { MemoryError, TaskError } from '../../core/errors.ts'
import type { Partition, Pipeline } from './dataset.ts'
import { stageName } from './runPlans.ts'

/** Memory was short for one partition alone: where it is, and how to cut it finer. */
export function tooLargeError(error: MemoryError, partition: Partition | undefined): MemoryError {
  if (partition?.kind !== 'split' || partition.split.place === undefined) return error
  const { what, cure } = partition.split.place
  const [first] = error.message.split('\n')
  return new MemoryError(
    `${first}\nIt computes ${what}, one piece that is read at once. ${cure}, or raise { memory } in Session.start.`,
    error,
  )
}

/** Memory was short for results that are kept at once: why they are. */
export function keptError(error: MemoryError, plan: Pipeline): MemoryError {
  const [first = '', ...cures] = error.message.split('\n')
  if (cures.some((line) => line.startsWith(KEPT))) return error // the stage below said so
  const because =
    plan.edge?.kind === 'stored'
      ? plan.edge.because
      : 'the action takes them so; iteration, folds and writers take partition after partition'
  return new MemoryError([first, `${KEPT} ${stageName(plan)} are kept at once, because ${because}.`, ...cures].join('\n'), error)
}

const KEPT = 'All results of'

export function mapPartitionsError(message: string, cause: unknown, partition: number): TaskError {
  return new TaskError(`mapPartitions: the function threw in partition ${partition}: ${message}`, { cause, partition })
}
