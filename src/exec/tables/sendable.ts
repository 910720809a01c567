/**
 * A task as it is sent to another thread: without closures, which cannot be cloned, and with views cut out of larger buffers,
 * which would be cloned whole.
 */
import type { Column } from '../../core/data/column.ts'
import { mapFolding } from '../../core/ir/folding.ts'
import type { ArraySource } from '../../core/plan/logicalPlan.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import type { Aggregate, ExecFunction, Step, WideOperator } from '../../planner/physical/physicalPlan.ts'
import { mapBuffers } from '../memory/shareColumns.ts'
import type { AsofWork } from './asof/asofTask.ts'
import { type ExecBatch, mapBatch } from './operators/batches.ts'
import { packed } from './packedValues.ts'
import { type StageTask, splitsIn, type TaskInput } from './stage.ts'

export function sendable(task: StageTask): StageTask {
  switch (task.kind) {
    case 'narrow': {
      const { input } = task
      return {
        ...task,
        input: sendableInput(input),
        steps: task.steps.map(sendableOperator),
      }
    }
    case 'wide':
      return { ...task, inputs: task.inputs.map((batches) => batches.map(compact)), operator: sendableOperator(task.operator) }
    case 'sort':
    case 'window':
    case 'partition':
    case 'place':
      return task // all its columns lie in the arena
    case 'load':
      return {
        ...task,
        source: withoutSplits(task.source),
        splits: packed(splitsIn(task).map(({ split, firstRow }) => ({ split: splitFor(task.columns, split), firstRow }))),
      }
    case 'answers':
      return { ...task, rows: compact(task.rows) }
    case 'together':
      return { ...task, batches: task.batches.map(compact) }
    case 'asof':
      return { ...task, work: asofWork(task.work) }
    case 'take':
      return { ...task, batch: compact(task.batch) }
    case 'groupValues':
      return { ...task, batch: compact(task.batch), call: sendableAggregate(task.call) }
    case 'join':
      return { ...task, left: task.left.map(compact), right: task.right.map(compact) }
  }
}

function sendableInput(input: TaskInput): TaskInput {
  switch (input.kind) {
    case 'batches':
      return { ...input, batches: input.batches.map(compact) }
    case 'split':
      return { ...input, source: withoutSplits(input.source), split: splitFor(input.columns, input.split) }
    case 'spilled':
      return input
    case 'worked':
      return { ...input, operator: sendableOperator(input.operator) }
  }
}

function asofWork(work: AsofWork): AsofWork {
  if (work.kind === 'columns') return { ...work, columns: work.columns.map(compactColumn) }
  const { left, right } = work.keys
  return { ...work, keys: { left: left.map((columns) => columns.map(compactColumn)), right: right.map(compactColumn) } }
}

/** The split with what a read of these columns needs: for a wide table, the facts of all columns are larger than the rest of the task. */
function splitFor(columns: readonly string[], { rows, bytes, columns: known, constants, rowNumbers, detail }: SourceSplit): SourceSplit {
  return { rows, bytes, columns: known && new Map(columns.map((name) => [name, known.get(name)])), constants, rowNumbers, detail }
}

/** The source without splits; the same object for all tasks, since an object that a message has twice is written once. */
function withoutSplits(source: ArraySource): ArraySource {
  let bare = bares.get(source)
  if (bare === undefined) bares.set(source, (bare = { ...source, splits: [] }))
  return bare
}
const bares = new WeakMap<ArraySource, ArraySource>()

function compact(batch: ExecBatch): ExecBatch {
  return mapBatch(batch, whole)
}

function compactColumn(column: Column): Column {
  return mapBuffers(column, whole)
}

function whole<B extends NonNullable<Column['values']>>(buffer: B): B {
  if (buffer.buffer instanceof SharedArrayBuffer || buffer.byteLength === buffer.buffer.byteLength) return buffer
  return buffer.slice() as B // the same class
}

/** The operator with its functions as texts. */
function sendableOperator<O extends Step | WideOperator>(operator: O): O {
  if ('f' in operator) return { ...operator, f: withoutClosure(operator.f) }
  if (operator.kind === 'EvaluateExec')
    return { ...operator, columns: operator.columns.map((column) => ({ ...column, f: withoutClosure(column.f) })) }
  if (operator.kind === 'IndexExec' && operator.combine !== undefined) return { ...operator, combine: withoutClosure(operator.combine) }
  if (operator.kind === 'HashAggregateExec') return { ...operator, aggregates: operator.aggregates.map(sendableAggregate) }
  return operator
}

function sendableAggregate(call: Aggregate): Aggregate {
  return call.folding === undefined ? call : { ...call, folding: mapFolding(call.folding, withoutClosure) }
}

function withoutClosure(f: ExecFunction): ExecFunction {
  const { original: _, ...rest } = f
  return rest
}
