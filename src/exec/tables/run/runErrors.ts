/** The errors of a run: for memory that is short, and for functions of whole partitions that have thrown. */
import { MemoryError, TaskError } from '../../../core/errors.ts'
import type { WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { Partition, Pipeline } from '../dataset.ts'
import { stageName } from './runPlans.ts'

/** The error where memory was short for one partition alone: it tells which, and how to cut it finer. */
export function tooLargeError(error: MemoryError, partition: Partition | undefined): MemoryError {
  if (partition?.kind !== 'split' || partition.split.place === undefined) return error
  const { what, cure } = partition.split.place
  const [first] = error.message.split('\n')
  return new MemoryError(
    `${first}\nIt computes ${what}, one piece that is read at once. ${cure}, or raise { memory } in Session.start.`,
    error,
  )
}

/** The error where memory was short for results that are kept at once: it tells why they are. */
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

/** The error where memory was short for an operator that cannot go by way of disk: it tells why not. */
export function wholeError(error: MemoryError, operator: WideOperator): MemoryError {
  const lines = error.message.split('\n')
  if (lines.some((line) => line.endsWith(NOT_SPILLED))) return error // the operator below said so
  const because = notSpilledBecause(operator)
  if (because === undefined) return error
  return new MemoryError([...lines.slice(0, -1), `${operator.kind} ${because}, ${NOT_SPILLED}`, ...lines.slice(-1)].join('\n'), error)
}

const NOT_SPILLED = 'and does not go by way of disk.'

function notSpilledBecause(operator: WideOperator): string | undefined {
  switch (operator.kind) {
    case 'GroupReduceExec':
    case 'GroupMapExec':
      return 'has a function that sees the rows of a group'
    case 'WindowExec':
      return operator.by ? undefined : 'has one partition, and a frame that ends with it but does not begin with it'
    case 'HashAggregateExec':
    case 'HashJoinExec':
    case 'AsofJoinExec':
    case 'SortExec':
    case 'IndexExec':
    case 'DistinctExec':
    case 'DrawExec':
    case 'ShuffleKeysExec':
    case 'RepartitionExec':
      return undefined
  }
}
