/**
 * Sorts elements by their explicit keys, by all workers, and finds those whose keys are equal. Of these the first or the last row is kept,
 * or they are an error, or a function combines them: a task for each range of the order, which ends where a key does.
 *
 *     keys     [2, 0] [0, 7] [2, 0]      rows in order   1 0 2
 *     kept     the last of each          rows            1 2         which are gathered, other columns once they are known
 */
import type { Column } from '../../../core/data/column.ts'
import { fieldsOf, sameType } from '../../../core/data/schema.ts'
import { MemoryError } from '../../../core/errors.ts'
import type { WideOperator } from '../../../planner/physical/physicalPlan.ts'
import { ResultBlocks } from '../columns/resultBlocks.ts'
import { type ExecBatch, sliceBatch } from '../operators/batches.ts'
import { repeatedKey, repeatedOf } from '../operators/indexKeys.ts'
import { sortParts } from '../operators/sort/sortParts.ts'
import { allOf } from '../scheduler.ts'
import { gatheredColumns, isGatherable } from './gatherRun.ts'
import { type SortedServices, together } from './sortedBatches.ts'
import { repeatsOf, rowsKept } from './sortedRepeats.ts'
import { SortRun } from './sortRun.ts'

type Indexing = Extract<WideOperator, { kind: 'IndexExec' }>

/** The elements in the order of their keys, which differ; undefined where kernels cannot gather a column, a function fails, or memory is short. */
export async function indexedBatches(
  operator: Indexing,
  batches: readonly ExecBatch[],
  services: SortedServices,
): Promise<readonly ExecBatch[] | undefined> {
  const { combine, keeps } = operator
  const whole = await together(
    batches.filter((batch) => batch.length > 0),
    services,
  )
  if (whole?.keys === undefined || whole.hidden !== undefined || !whole.columns.every(isGatherable)) return undefined
  const { length, element, columns } = whole
  const keys = whole.keys.map((values): Column => ({ type: { kind: 'i32' }, length, values }))
  const run = new SortRun(services)
  const blocks = new ResultBlocks(services.arena, 'IndexExec')
  try {
    const sorted = await run.rowsBy(
      keys.flatMap((key) => sortParts(key) ?? []),
      length,
      { descending: false, limit: length },
    )
    if (sorted === undefined) return undefined
    const { workers } = services
    const repeats = await repeatsOf(keys, sorted, length, { run, workers })
    if (repeats !== undefined && combine === undefined)
      throw repeatedKey(repeatedOf(whole.keys, run.memory.integers(sorted.address, length), repeats.flags))
    const rows =
      repeats === undefined || keeps === undefined ? { ...sorted, length } : await rowsKept(repeats, sorted, keeps, { run, workers })
    const taken = await gatheredColumns([...keys, ...columns], rows, run, { workers, blocks })
    const axes = taken.slice(0, keys.length).map(({ values }) => values as Int32Array) // as they were
    const inOrder = { element, length: rows.length, columns: taken.slice(keys.length), keys: axes }
    services.hold(blocks.handedOver())
    return repeats !== undefined && keeps === undefined ? await combinedBatches(operator, inOrder, repeats.flags, services) : [inOrder]
  } catch (error) {
    blocks.freeAll()
    if (error instanceof MemoryError && services.isBounded !== true) return undefined // one task needs less at a time
    throw error
  } finally {
    run.end()
  }
}

/** Tasks for each worker: functions may take longer for some keys. */
const TASKS_EACH = 4

/** The elements in order with those of one key combined by tasks; undefined where a function fails, as one task over all rows tells which, or where they make different types. */
async function combinedBatches(
  operator: Indexing,
  batch: ExecBatch,
  repeats: Uint8Array,
  { workers, run }: SortedServices,
): Promise<readonly ExecBatch[] | undefined> {
  const pieces: ExecBatch[] = []
  const tasks = workers * TASKS_EACH
  let from = 0
  for (let task = 1; task <= tasks; task++) {
    let to = Math.max(from, Math.floor((batch.length * task) / tasks))
    while (repeats[to] === 1) to++
    if (to > from) pieces.push(sliceBatch(batch, from, to))
    from = to
  }
  try {
    const made = (await allOf(pieces.map((piece) => run({ kind: 'wide', inputs: [[piece]], operator })))).flat()
    return made.every((one) => isAlike(one, made[0] as ExecBatch)) ? made : undefined // there is one, as there are rows
  } catch (error) {
    if (error instanceof MemoryError) throw error
    return undefined
  }
}

function isAlike({ element }: ExecBatch, { element: other }: ExecBatch): boolean {
  const [fields, others] = [fieldsOf(element), fieldsOf(other)]
  return (
    element.kind === other.kind &&
    fields.length === others.length &&
    fields.every(({ name, type }, i) => name === others[i]?.name && sameType(type, (others[i] as (typeof others)[number]).type))
  )
}
