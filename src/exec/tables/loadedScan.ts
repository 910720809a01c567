/**
 * Reads the columns of a scan of files whole into the arena, where that has room for them: the plan then is one over a table in
 * memory, and runs as a column program.
 *
 *     FilterExec, EvaluateExec over ScanExec lineitem.parquet  -->  FilterExec, EvaluateExec over StoredExec lineitem.parquet
 *
 * Statement: the table has the rows of the splits that the scan's predicate does not rule out, in their order.
 */

import type { Storage } from '../../core/arrays/storage.ts'
import type { Column } from '../../core/data/column.ts'
import { FIXED_FORMS, isFixedKind } from '../../core/data/fixedValues.ts'
import { LARGEST_OFFSET } from '../../core/data/leafBuilders.ts'
import { type ElementType, type Field, fieldsOf, typeText } from '../../core/data/schema.ts'
import { Bug } from '../../core/errors.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import type { PhysicalPlan, Step } from '../../planner/physical/physicalPlan.ts'
import type { Arena } from '../memory/arena.ts'
import type { Block } from './block.ts'
import { whyNoProgram } from './columns/columnProgram.ts'
import { type FlatField, flatFields, nestedColumns } from './columns/flatColumns.ts'
import { isLoadable, isText } from './columns/loadTask.ts'
import { ResultBlocks } from './columns/resultBlocks.ts'
import { fieldsNarrowed } from './columns/structFields.ts'
import { type Asked, answeredColumn } from './columns/texts/askedTexts.ts'
import { isUnspelled, spelled } from './columns/texts/spelledTexts.ts'
import { giveCodes } from './columns/texts/textCodes.ts'
import { plannedTextColumns } from './columns/texts/textColumns.ts'
import { type LoadedPart, textsPlaced } from './columns/texts/wholeTexts.ts'
import type { Pipeline } from './dataset.ts'
import { SMALL_ROWS } from './operators/partitions.ts'
import {
  bytesIn,
  fieldsRead,
  hasRoom,
  isCounted,
  type LoadOptions,
  pageBytes,
  rowsEstimated,
  rowsOf,
  type Scan,
  splitsRead,
} from './scanSplits.ts'
import { inOrder, piecesOf } from './scheduler.ts'
import type { PlacedSplit, StageResult, StageTask } from './stage.ts'

export interface LoadServices {
  readonly arena: Arena
  readonly workers: number
  readonly run: (task: StageTask) => Promise<StageResult>
  readonly free: (blocks: readonly Block[]) => void
  readonly onProgress: (done: number, total: number) => void
}

/** Why a scan is not read whole. */
interface NotLoaded {
  readonly because: string
  /** Whether it has so few rows that kernels over whole columns would gain nothing. */
  readonly isSmall?: true
  /** The scan that there is no room for, of which joins and groups take range after range. */
  readonly tooLarge?: Scan
}

/** The scan, itself or below a pipeline, to be read whole for a column program; or why it is not; undefined for a plan that is none over a file. */
export function scanToLoad(plan: PhysicalPlan, { arena, smallRows = SMALL_ROWS, rangeBytes }: LoadOptions): Scan | NotLoaded | undefined {
  const scan = plan.kind === 'PipelineExec' ? plan.input : plan
  if (scan.kind !== 'ScanExec' || scan.source.kind === 'memory' || scan.keys.kind !== 'rowNumber') return undefined
  const splits = splitsRead(scan)
  if (scan.columns.length === 0 || programRefused(plan) !== undefined) return undefined
  const fields = fieldsRead(scan)
  const rows = rowsOf(splits) ?? rowsEstimated(scan)
  if (fields === undefined || rows === undefined) return { because: 'its rows are not counted before they are read' }
  const odd = fields.find(({ type }) => !isLoadable(type))
  if (odd !== undefined) return { because: `columns of ${typeText(odd.type)}, as ${odd.name}, are not read whole` }
  if (fields.some(({ name, type }) => !isFixedKind(type.kind) && pageBytes(splits, name) > LARGEST_OFFSET))
    return { because: 'a column has more than 2 GiB of texts', tooLarge: scan }
  if (rows < smallRows) return { because: isCounted(scan) ? `only ${rows} of its rows are read` : 'the file is small', isSmall: true }
  const narrowed = plan.kind === 'PipelineExec' ? fieldsNarrowed(fields, plan.steps) : undefined
  const read = narrowed === undefined ? scan : { ...scan, fields: narrowed }
  return hasRoom(read, arena) && (rangeBytes === undefined || bytesIn(read) <= rangeBytes)
    ? read
    : { because: 'there is no room for whole columns in the session’s memory', tooLarge: read }
}

/** The pipeline without a last step that leaves less of each partition for the operator above: where columns are in memory, that takes all rows at once. */
export function withoutPartialStep(plan: PhysicalPlan): PhysicalPlan {
  if (plan.kind !== 'PipelineExec' || plan.steps.at(-1)?.kind !== 'TopKExec') return withoutPartialGroups(plan)
  return { ...plan, steps: plan.steps.slice(0, -1) }
}

/** The pipeline without a last step that keeps the first of equal elements; undefined for other plans. Over columns in memory equal elements are found as groups. */
export function beforeDistinct(plan: PhysicalPlan): Pipeline | undefined {
  if (plan.kind !== 'PipelineExec' || plan.steps.at(-1)?.kind !== 'PartialDistinctExec') return undefined
  return { ...plan, steps: plan.steps.slice(0, -1) }
}

/** The pipeline with the keys of its last step as a hidden column, as column programs make them (`withAxes` in `run/runPlans.ts` takes them), which refuse functions that read row numbers; undefined for other plans. */
export function withHiddenKeys(plan: PhysicalPlan): Pipeline | undefined {
  const step = plan.kind === 'PipelineExec' ? plan.steps.at(-1) : undefined
  if (plan.kind !== 'PipelineExec' || step?.kind !== 'KeysExec') return undefined
  const { input } = plan
  // steps that drop rows are another pipeline, since a message about a key has the number of its row
  const isCut = plan.steps.length === 1 && input.kind === 'PipelineExec' && input.edge?.kind === 'streamed' && input.where === plan.where
  const { edge: _, ...whole } = isCut ? input : { ...plan, numbered: false }
  const steps = isCut ? input.steps : plan.steps.slice(0, -1)
  const key: Step = { kind: 'EvaluateExec', columns: [{ f: step.f, method: 'index', use: 'order' }], payload: true }
  return { ...whole, steps: [...steps, key], keys: { kind: 'rowNumber' } }
}

/** Why no column program runs over the columns of a pipeline over files, were they read whole; undefined where one does, and for other plans. */
export function programRefused(plan: PhysicalPlan): string | undefined {
  if (plan.kind !== 'PipelineExec' || plan.input.kind !== 'ScanExec' || plan.input.source.kind === 'memory') return undefined
  const splits = splitsRead(plan.input)
  return whyNoProgram(plan, plannedTextColumns, (column) => splits.some((split) => split.mayBeNull?.has(column) !== false))
}

/** The pipeline without a last PartialGroupsExec: where columns are in memory, the groups of all rows are found at once. */
export function withoutPartialGroups(plan: PhysicalPlan): PhysicalPlan {
  if (plan.kind !== 'PipelineExec' || plan.steps.at(-1)?.kind !== 'PartialGroupsExec') return plan
  return { ...plan, steps: plan.steps.slice(0, -1) }
}

/** The scan over splits that were read: each has the columns of the scan. */
export function ofParsed({ predicate: _, ...scan }: Scan, splits: readonly SourceSplit[]): Scan {
  const element: ElementType = { kind: 'row', fields: fieldsRead(scan) ?? [] }
  return { ...scan, source: { kind: 'memory', name: scan.source.name, element, splits } }
}

export interface LoadedScan {
  /** The stored node that takes the place of the scan. */
  readonly plan: Extract<PhysicalPlan, { kind: 'StoredExec' }> & { readonly storage: Extract<Storage, { kind: 'table' }> }
  /** The blocks of its columns, which the caller owns. */
  readonly blocks: readonly Block[]
}

/** The columns of texts that a plan wants otherwise than as they are. */
export interface TextsWanted {
  /** Columns of which only the answers to questions are wanted. */
  readonly asked: ReadonlyMap<string, Asked>
  /** Columns whose texts are encoded as they are read, where they repeat. */
  readonly encoded: ReadonlySet<string>
}

const AS_THEY_ARE: TextsWanted = { asked: new Map(), encoded: new Set() }

/** Reads the columns of a scan whose number of rows is known; columns of `asked` as representatives, if dictionaries tell all their texts. MemoryError where there is too little memory after all, or more text than offsets of 32 bits reach. */
export async function loadedScan(scan: Scan, services: LoadServices, { asked, encoded }: TextsWanted = AS_THEY_ARE): Promise<LoadedScan> {
  const { arena } = services
  const splits = splitsRead(scan)
  const rows = rowsOf(splits)
  const fields = fieldsRead(scan)
  if (rows === undefined || fields === undefined) throw new Bug(`${scan.source.name} is not to be read whole.`)
  const name = `ScanExec ${scan.source.name}`
  const blocks = new ResultBlocks(arena, name)
  try {
    const flat = flatFields(fields)
    const questions = flat.map(({ name, isInside }) => (isInside ? undefined : asked.get(name)))
    const encodes = flat.map(({ name, type, isInside }) => !isInside && type.kind === 'utf8' && encoded.has(name))
    const wholes = flat.map((field, i) => {
      const hasCodes = scan.source.kind === 'parquet' || encodes[i] === true
      return wholeColumn(field, rows, { hasCodes, blocks, isAsked: questions[i] !== undefined })
    })
    const texts = flat.flatMap(({ type }, i) => (isText(type) && questions[i] === undefined ? [i] : []))
    const answers: (readonly (readonly string[])[])[] = []
    const nulls = flat.map(() => 0)
    const parts: LoadedPart[] = []
    const held: Block[][] = []
    let done = 0
    const all = placedSplits(splits)
    const alone = asked.size === 0 ? 0 : 1 // the first split tells whether there are dictionaries
    const works = [
      ...(alone === 0 ? [] : [all.slice(0, alone)]),
      ...piecesOf(all.slice(alone), services.workers, leastSplits(rows / all.length, questions)),
    ]
    const { source, columns: names } = scan
    const tasks = inOrder<StageResult & { readonly splits: number }>({
      next: () => {
        const own = works.shift()
        const task = own && ({ kind: 'load', source, columns: names, splits: own, wholes, asked: questions, encodes } as const)
        return task && (async () => ({ ...(await services.run(task)), splits: task.splits.length }))
      },
      window: 2 * services.workers,
      firstWindow: alone === 0 ? 2 * services.workers : alone,
      drop: (result) => services.free(result.blocks),
    })
    let isAnswered = true
    for await (const { batches, blocks: own, nulls: found, coded, answers: texts, splits: read } of tasks) {
      isAnswered = asked.size === 0 || texts !== undefined
      if (texts !== undefined) answers.push(texts)
      parts.push(...batches.map((batch, i) => ({ batch, coded: coded?.[i] ?? [] })))
      held.push([...own])
      for (const [i, count] of (found ?? []).entries()) nulls[i] = (nulls[i] ?? 0) + count
      done += read
      if (!isAnswered) break
      services.onProgress(done, splits.length)
    }
    if (!isAnswered) {
      for (const own of held) services.free(own)
      blocks.freeAll()
      return await loadedScan(scan, services, { ...AS_THEY_ARE, encoded })
    }
    if (done !== splits.length) throw new Bug(`${name}: ${done} of ${splits.length} splits were read.`)
    const placed = texts.length === 0 ? { columns: wholes, codes: [] } : await textsPlaced(wholes, { texts, parts, blocks, services })
    for (const own of held) services.free(own)
    const found = placed.columns.map((column, i) => {
      const own = questions[i]
      if (own !== undefined)
        return answeredColumn(
          column,
          own,
          answers.map((texts) => texts[i] ?? []),
          blocks,
        )
      return nulls[i] === 0 ? blocks.withoutValidity(column) : column
    })
    const columns = await withTextsInside(found, flat, { blocks, services })
    for (const { column, codes } of placed.codes) giveCodes(columns[column] as Column, codes) // one of them
    const element = { kind: 'row' as const, fields }
    const types = fields.map(({ type }) => type)
    const storage = { kind: 'table' as const, element, length: rows, columns: nestedColumns(types, columns) }
    const plan = { kind: 'StoredExec' as const, name: scan.source.name, storage, element: scan.element, keys: scan.keys }
    return { plan, blocks: blocks.handedOver() }
  } catch (error) {
    blocks.freeAll()
    throw error
  }
}

/** The columns with the bytes of texts that are fields of structs: what reads structs knows no texts that are dictionary codes alone. */
async function withTextsInside(
  columns: readonly Column[],
  fields: readonly FlatField[],
  { blocks, services }: { readonly blocks: ResultBlocks; readonly services: LoadServices },
): Promise<readonly Column[]> {
  const whole: Column[] = []
  for (const [i, column] of columns.entries()) {
    const isBare = fields[i]?.isInside === true && isUnspelled(column)
    whole.push(isBare ? await spelled(column, blocks, (placed) => services.run({ kind: 'place', columns: placed })) : column)
  }
  return whole
}

/** The stored node with the columns of this scan alone, all of which it has. */
export function columnsFor(scan: Scan, { storage, name }: LoadedScan['plan']): LoadedScan['plan'] {
  const fields = fieldsOf(storage.element)
  const places = scan.columns.map((column) => fields.findIndex((field) => field.name === column))
  const element = { kind: 'row' as const, fields: places.map((place) => fields[place] as Field) } // all are there
  const columns = places.map((place) => storage.columns[place] as Column)
  return { kind: 'StoredExec', name, storage: { ...storage, element, columns }, element: scan.element, keys: scan.keys }
}

/** The splits, each with the number of rows before it. */
function placedSplits(splits: readonly SourceSplit[]): readonly PlacedSplit[] {
  let firstRow = 0
  return splits.map((split) => {
    const placed = { split, firstRow }
    firstRow += split.rows ?? 0
    return placed
  })
}

/** Values of columns that a task has at least, if that leaves some tasks for each worker: fewer take less time than the task's message. */
const TASK_VALUES = 2 ** 17
/** The factor for columns of which only answers are read. */
const ASKED_VALUES = 1 / 8

/** The number of splits, of so many rows on average, that one task is worth. */
function leastSplits(rows: number, questions: readonly (Asked | undefined)[]): number {
  const values = questions.reduce((sum, asked) => sum + rows * (asked === undefined ? 1 : ASKED_VALUES), 0)
  return Math.ceil(TASK_VALUES / Math.max(1, values))
}

/** The column for all rows of a field; for texts and bytes only the bitmap, and for texts that may have dictionaries also a byte a row for their indices. */
function wholeColumn(
  { type, nullable }: Field,
  rows: number,
  { hasCodes, blocks, isAsked }: { readonly hasCodes: boolean; readonly blocks: ResultBlocks; readonly isAsked: boolean },
): Column {
  if (type.kind === 'null') return { type, length: rows }
  if (isAsked) return { type, length: rows, values: blocks.like(new Uint8Array(), rows) }
  const validity = nullable ? { validity: blocks.emptyBits(rows) } : {}
  if (hasCodes && type.kind === 'utf8') return { type, length: rows, values: blocks.like(new Uint8Array(), rows), ...validity }
  if (!isFixedKind(type.kind)) return { type, length: rows, ...validity }
  return { type, length: rows, values: blocks.like(new FIXED_FORMS[type.kind].array(0), rows), ...validity }
}
