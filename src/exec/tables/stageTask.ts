/**
 * One task of a stage: steps over one partition, or a wide operator over whole inputs.
 *
 * Runs in any thread. Large results are put into the arena, so that the next task finds them without a copy; the
 * receiver of the result owns those blocks.
 */

import { isMainThread } from 'node:worker_threads'
import type { Column } from '../../core/data/column.ts'
import { type NewArray, ordinary } from '../../core/data/columnSlices.ts'
import type { Access, ReadSplit, Scratch } from '../../core/ports.ts'
import { csvKernels } from '../kernels/csv/csvKernels.ts'
import { fallbacksOf } from '../kernels/fallbacks.ts'
import { numberKernels } from '../kernels/tables/numberKernels.ts'
import { READ_BEHIND } from '../kernels/tables/pageKernels.ts'
import type { Arena } from '../memory/arena.ts'
import { ArenaScratch } from '../memory/arenaScratch.ts'
import { arraysIn, withScratch } from '../memory/scratchMemory.ts'
import { copyInto } from '../memory/shareColumns.ts'
import { withAbortSignal } from '../workers/abortSignal.ts'
import type { TaskHandler } from '../workers/worker.ts'
import { runAsofTask } from './asof/asofTask.ts'
import type { Block } from './block.ts'
import { flatColumns, outerPlaces } from './columns/flatColumns.ts'
import { runAnswerTask } from './columns/lists/answerTask.ts'
import { isText, nullsPlaced, place, placeOf } from './columns/loadTask.ts'
import { pageKernels } from './columns/pageValues.ts'
import { AnsweredTexts } from './columns/texts/askedTexts.ts'
import { encodedTexts } from './columns/texts/encodedTexts.ts'
import { countedTexts } from './columns/texts/loadedTexts.ts'
import { withOpenFiles } from './openFiles.ts'
import { concatBatches, type ExecBatch, mapBatch, takeBatch } from './operators/batches.ts'
import { groupValues } from './operators/groupBy/groupValuesTask.ts'
import { runPartitionTask } from './operators/groupBy/partitionTask.ts'
import { openNarrow, runWide } from './operators/index.ts'
import { type JoinOutcome, runJoinTask } from './operators/join/joinTask.ts'
import type { Narrow } from './operators/operator.ts'
import { RowFailure } from './operators/rows/rowFailure.ts'
import { runSortTask } from './operators/sort/sortTask.ts'
import { isOrdered, sampledKeys, spilled, unspilled, type WorkedInput } from './spill/spillTask.ts'
import { type Made, ordered, type PartServices, worked } from './spill/workedPart.ts'
import { dictionariesIn, isReadInPlace, SplitInPlace } from './splitInPlace.ts'
import { type StageResult, type StageTask, splitsIn, type TaskInput } from './stage.ts'
import { runWindowTask } from './windows/windowTask.ts'

export interface StageServices {
  readonly readSplit: ReadSplit
  readonly arena: Arena
  /** Ends the reading of a split. */
  readonly signal?: AbortSignal | undefined
  /** The least bytes of a result's buffer that is put into the arena. */
  readonly sharedFromBytes?: number
}

/** Buffers below this many bytes are sent as ordinary ones: a block and its return cost more than the copy. */
const SHARED_FROM_BYTES = 65_536

/** The handler of tasks of kind 'stage'. */
export function stageHandler(readSplit: ReadSplit, options: Pick<StageServices, 'sharedFromBytes'> = {}): TaskHandler {
  return async (payload, { arena, abortFlag }) => {
    const task = payload as StageTask // the executor sends nothing else
    const services: StageServices = { ...options, readSplit, arena }
    const reads = task.kind === 'load' || (task.kind === 'narrow' && task.input.kind === 'split')
    if (!reads) return await runStageTask(task, services)
    return await withAbortSignal(abortFlag, (signal) => runStageTask(task, { ...services, signal }))
  }
}

export async function runStageTask(task: StageTask, services: StageServices): Promise<StageResult> {
  switch (task.kind) {
    case 'narrow': {
      const { kind } = task.input
      return task.spill !== undefined || task.sample !== undefined || kind === 'spilled' || kind === 'worked'
        ? await withScratch((scratch) => narrowed(task, { ...services, sharedFromBytes: 1 }, scratch)) // small buffers too, since their memory is used again
        : await narrowed(task, services)
    }
    case 'wide': {
      const started = performance.now()
      const out = runWide(
        task.operator,
        task.inputs.map((batches) => concatBatches(batches)),
      )
      const spentMs = fallbacksOf(task.operator).length === 0 ? {} : { spentMs: [performance.now() - started] }
      return { rowsIn: [], ...spentMs, ...share(out, services, task.operator.kind) }
    }
    case 'load':
      return await loaded(task, services)
    case 'place':
      for (const column of task.columns) place(column, services.arena)
      return { batches: [], rowsIn: [], blocks: [] }
    case 'answers': {
      const nulls = runAnswerTask(task)
      return { rowsIn: [], batches: [], blocks: [], ...(nulls === undefined ? { refused: 'an answer is none for columns' } : { nulls }) }
    }
    case 'partition':
      runPartitionTask(task, services.arena)
      return { rowsIn: [], batches: [], blocks: [] }
    case 'groupValues':
      return {
        rowsIn: [],
        refused: `${task.call.kind} takes the values of each group`,
        ...share([groupValues(task)], services, 'HashAggregateExec'),
      }
    case 'sort':
      runSortTask(task, services.arena)
      return { rowsIn: [], batches: [], blocks: [] }
    case 'window':
      return { rowsIn: [], ...share(runWindowTask(task), services, 'WindowExec') }
    case 'together':
      return { rowsIn: [], ...share([concatBatches(task.batches)], services, 'SortExec') }
    case 'take':
      return {
        rowsIn: [],
        refused: 'some columns are taken row by row',
        ...share([takeBatch(task.batch, task.rows)], services, 'SortExec'),
      }
    case 'asof':
      return { rowsIn: [], ...sharedJoin(runAsofTask(task, services.arena), services, 'AsofJoinExec') }
    case 'join':
      return { rowsIn: [], ...sharedJoin(runJoinTask(task, services.arena), services, task.join.kind) }
  }
}

/** Runs the steps over a partition. `scratch` is memory for arrays that are not needed after the task. */
async function narrowed(task: Extract<StageTask, { kind: 'narrow' }>, services: StageServices, scratch?: Scratch): Promise<StageResult> {
  const newArray = scratch === undefined ? ordinary : arraysIn(scratch)
  const { input } = task
  const part: PartServices = { arena: services.arena, run: (one) => runStageTask(one, services), newArray }
  if (input.kind === 'worked') return handedOver(await worked(input, part), task, services, newArray)
  if (input.kind === 'spilled' && isOrdered(input)) return handedOver(await ordered(input, part), task, services, newArray)
  const isHandedOn = task.sample === undefined && task.spill === undefined
  if (isHandedOn && input.kind === 'split' && isReadInPlace(input)) return await readInPlace(task, input, services)
  const batches = await readInput(input, services, { scratch }, newArray)
  const { rowsIn, spentMs } = countsOf(task)
  const out = runSteps(task, batches, { rowsIn, spentMs })
  if (task.sample !== undefined) return { rowsIn, spentMs, batches: sampledKeys(out, task.sample), blocks: [] }
  if (task.spill !== undefined)
    return { rowsIn, spentMs, batches: [], blocks: [], spilled: spilled(out, task.spill, task.partition, newArray) }
  return { rowsIn, spentMs, ...share(out, services, task.steps.at(-1)?.kind ?? 'ScanExec') }
}

/** Runs the steps over a split that is read into the arena, so that what they hand on need not be copied there. */
async function readInPlace(
  task: Extract<StageTask, { kind: 'narrow' }>,
  input: Extract<TaskInput, { kind: 'split' }>,
  services: StageServices,
): Promise<StageResult> {
  const place = new SplitInPlace(services.arena, input)
  const counts = countsOf(task)
  try {
    const { batches, blocks } = await withScratch(async (scratch) => {
      const out = runSteps(task, await readInput(input, services, { scratch, ...place.access() }), counts)
      // small buffers too, since their memory is used again
      return share(out, { ...services, sharedFromBytes: 1 }, task.steps.at(-1)?.kind ?? 'ScanExec')
    })
    return { ...counts, batches, blocks: [...place.kept(batches), ...blocks] }
  } catch (error) {
    place.kept([])
    throw error
  }
}

function countsOf({ steps }: Extract<StageTask, { kind: 'narrow' }>): Counts {
  return { rowsIn: new Array<number>(steps.length).fill(0), spentMs: new Array<number>(steps.length).fill(0) }
}

/** The result of a spilled part, over which no steps run: returned, or spilled in its turn. */
function handedOver(
  { batches, blocks, repeated }: Made,
  { spill, partition }: Extract<StageTask, { kind: 'narrow' }>,
  services: StageServices,
  newArray: NewArray,
): StageResult {
  const free = (): void => {
    for (const { offset } of blocks) services.arena.free(offset)
  }
  try {
    if (spill === undefined) {
      const shared = share(batches, services, 'ExchangeExec')
      return { rowsIn: [], ...shared, ...(repeated && { repeated }), blocks: [...blocks, ...shared.blocks] }
    }
    const done = spilled(batches, spill, partition, newArray)
    free()
    return { rowsIn: [], batches: [], blocks: [], spilled: done }
  } catch (error) {
    free()
    throw error
  }
}

async function readInput(
  input: Exclude<TaskInput, WorkedInput>,
  { readSplit, signal }: StageServices,
  to: Access = {},
  newArray: NewArray = ordinary,
): Promise<readonly ExecBatch[]> {
  if (input.kind === 'batches') return input.batches
  if (input.kind === 'spilled') return unspilled(input, newArray)
  return await readSplit(input.source, input.split, input.columns, input.predicate, {
    ...reading(signal),
    ...dictionariesIn(input),
    rows: input.rows,
    ...to,
  })
}

/** The options with which a worker reads splits. */
function reading(signal: AbortSignal | undefined): Access {
  return { signal, waits: !isMainThread, numbers: numberKernels, csv: csvKernels }
}

/** Reads splits one after another into the whole columns. */
async function loaded(task: Extract<StageTask, { kind: 'load' }>, services: StageServices): Promise<StageResult> {
  const { source, columns, wholes, asked, encodes } = task
  const { readSplit, arena, signal } = services
  const results: StageResult[] = []
  const answered = asked.map((one) => one && new AnsweredTexts(one))
  const outer = outerPlaces(wholes)
  const blocks: Block[] = []
  const pages = pageKernels(arena, blocks)
  const packed = new ArenaScratch(arena, READ_BEHIND)
  await withOpenFiles((files) =>
    withScratch(async (scratch) => {
      let [rows, before]: [number | undefined, number] = [undefined, 0]
      // one object for all splits, so that V8's accesses to it stay monomorphic
      const into = (i: number, within: number = 0) =>
        rows === undefined ? undefined : placeOf(wholes[(outer[i] as number) + within] as Column, before, rows) // one for each
      const narrowed = (i: number) => wholes[outer[i] as number]?.type
      const numbered = (i: number) => answered[outer[i] as number]
      const access: Access = { ...reading(signal), files, scratch, packed, into, narrowed, dictionaries: true, pages, numbered }
      for (const { split, firstRow } of splitsIn(task)) {
        rows = split.rows
        before = firstRow
        const batches = await readSplit(source, split, columns, undefined, access)
        results.push(placedSplit(batches, { wholes, answered, encodes, firstRow }, services))
        scratch.reset()
        packed.reset()
      }
    }),
  ).finally(() => packed.free())
  const nulls = wholes.map((_, i) => results.reduce((sum, result) => sum + (result.nulls?.[i] ?? 0), 0))
  const isAnswered = results.every(({ answers }) => answers !== undefined)
  return {
    answers: isAnswered ? answered.map((one) => one?.texts ?? []) : undefined,
    ...{ rowsIn: [], nulls, coded: results.flatMap(({ coded = [] }) => coded) },
    ...{ batches: results.flatMap(({ batches }) => batches), blocks: [...blocks, ...results.flatMap(({ blocks }) => blocks)] },
  }
}

interface Places {
  readonly wholes: readonly Column[]
  /** The numbers of texts, for columns of `asked`. */
  readonly answered: readonly (AnsweredTexts | undefined)[]
  readonly encodes: readonly boolean[]
  readonly firstRow: number
}

/** Copies a split's batches into the whole columns; texts are returned. */
function placedSplit(batches: readonly ExecBatch[], { wholes, answered, encodes, firstRow }: Places, services: StageServices): StageResult {
  const { arena } = services
  const { columns: nested, length } = concatBatches(batches)
  const columns = flatColumns(
    nested,
    outerPlaces(wholes).map((at) => (wholes[at] as Column).type), // one of them
  )
  let answers: StageResult['answers'] = []
  const nulls = columns.map((part, i) => {
    const whole = wholes[i] as Column // one for each
    const own = answered[i]
    if (own === undefined)
      return isText(part.type) ? nullsPlaced(part, whole, firstRow) : place({ part, whole, firstRow, firstByte: 0 }, arena)
    if (!own.write(part, whole.values as Uint8Array, { firstRow, arena })) answers = undefined // as the caller made it
    return 0
  })
  const texts = columns.flatMap((part, i) => {
    if (!isText(part.type) || answered[i] !== undefined) return []
    const place = encodes[i] === true ? placeOf(wholes[i] as Column, firstRow, length) : undefined // one for each
    return [(place && encodedTexts(part, place, arena)) ?? part]
  })
  if (texts.length === 0) return { rowsIn: [], nulls, answers, batches: [], blocks: [] }
  const counted = texts.map((column) => (column.dictionary === undefined ? { column, coded: undefined } : countedTexts(column)))
  const bare = counted.map(({ column }) => withoutNulls(column))
  // small buffers too, since their memory is used again
  const shared = share([{ element: { kind: 'unknown' }, length, columns: bare }], { ...services, sharedFromBytes: 1 }, 'ScanExec')
  return { rowsIn: [], nulls, answers, coded: [counted.map(({ coded }) => coded)], ...shared }
}

function withoutNulls({ validity: _, ...column }: Column): Column {
  return column
}

/** The counts of each step. */
interface Counts {
  readonly rowsIn: number[]
  readonly spentMs: number[]
}

function runSteps(
  task: Extract<StageTask, { kind: 'narrow' }>,
  batches: readonly ExecBatch[],
  { rowsIn, spentMs }: Counts,
): readonly ExecBatch[] {
  const isTimed = task.steps.map((step) => fallbacksOf(step).length > 0)
  const timed = <T>(s: number, run: () => T): T => {
    if (isTimed[s] !== true) return inStep(s, run)
    const started = performance.now()
    const result = inStep(s, run)
    spentMs[s] = (spentMs[s] ?? 0) + performance.now() - started
    return result
  }
  const running = task.steps.map((step) => openNarrow(step, task))
  const out: ExecBatch[] = []
  const push = (batch: ExecBatch, from: number): void => {
    let current: ExecBatch | undefined = batch
    for (let s = from; s < running.length && current !== undefined; s++) {
      rowsIn[s] = (rowsIn[s] ?? 0) + current.length
      const narrow = running[s] as Narrow // s < length
      const now: ExecBatch = current
      current = timed(s, () => narrow.next(now))
    }
    if (current !== undefined) out.push(current)
  }
  for (const batch of batches) {
    if (running.some((narrow) => narrow.done === true)) break
    push(batch, 0)
  }
  for (const [s, narrow] of running.entries()) {
    const last = timed(s, () => narrow.end?.())
    if (last !== undefined) push(last, s + 1)
  }
  const filled = out.filter((batch) => batch.length > 0)
  return filled.length === 0 ? out.slice(0, 1) : filled
}

function inStep<T>(step: number, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof RowFailure) error.step = step
    throw error
  }
}

/** Copies large ordinary buffers of a result into the arena. */
function share(
  batches: readonly ExecBatch[],
  { arena, sharedFromBytes = SHARED_FROM_BYTES }: StageServices,
  operator: string,
): { readonly batches: readonly ExecBatch[]; readonly blocks: readonly Block[] } {
  const blocks: Block[] = []
  const copies = new Map<ArrayBufferView, ArrayBufferView>()
  try {
    const shared = batches.map((batch) =>
      mapBatch(batch, (buffer) => {
        // another thread would get the whole buffer of an empty view
        if (buffer.byteLength === 0) return buffer.slice() as typeof buffer
        if (buffer.byteLength < sharedFromBytes || buffer.buffer instanceof SharedArrayBuffer) return buffer
        const known = copies.get(buffer) as typeof buffer | undefined // copies keep the class
        if (known !== undefined) return known
        const copy = copyInto(arena, buffer, operator)
        blocks.push({ offset: copy.byteOffset, bytes: copy.byteLength })
        copies.set(buffer, copy)
        return copy
      }),
    )
    return { batches: shared, blocks }
  } catch (error) {
    for (const { offset } of blocks) arena.free(offset)
    throw error
  }
}

/** Shares the result of a join, much of which is in the arena already. */
function sharedJoin({ batches, blocks, ...outcome }: JoinOutcome, services: StageServices, operator: string): ReturnType<typeof share> {
  try {
    const shared = share(batches, services, operator)
    return { ...shared, ...outcome, blocks: [...blocks, ...shared.blocks] }
  } catch (error) {
    for (const { offset } of blocks) services.arena.free(offset)
    throw error
  }
}
