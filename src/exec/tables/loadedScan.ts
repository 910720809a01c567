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
import { type Field, fieldsOf, typeText } from '../../core/data/schema.ts'
import { Bug, MemoryError } from '../../core/errors.ts'
import { mayHold } from '../../core/plan/predicate.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import type { PhysicalPlan } from '../../planner/physical/physicalPlan.ts'
import type { Arena } from '../memory/arena.ts'
import type { Block } from './block.ts'
import { whyNoProgram } from './columns/columnProgram.ts'
import { isLoadable, isText, textBytes } from './columns/loadTask.ts'
import type { Placed } from './columns/placed.ts'
import { ResultBlocks } from './columns/resultBlocks.ts'
import { type Asked, answeredColumn } from './columns/texts/askedTexts.ts'
import { type CodedTexts, type MergedCodes, mergedCodes } from './columns/texts/loadedTexts.ts'
import { codesOfUnspelled, spelledBytes, unspelled } from './columns/texts/spelledTexts.ts'
import { emptyCodes, giveCodes, type TextCodes } from './columns/texts/textCodes.ts'
import { plannedTextColumns } from './columns/texts/textColumns.ts'
import type { ExecBatch } from './operators/batches.ts'
import { SMALL_ROWS } from './operators/partitions.ts'
import { inOrder } from './scheduler.ts'
import type { PlacedSplit, StageResult, StageTask } from './stage.ts'

export type Scan = Extract<PhysicalPlan, { kind: 'ScanExec' }>

/** Columns that are read whole may take the free memory divided by this. */
const ROOM = 2
/** The factor from the bytes of texts' pages to their memory: pages have the entries of a dictionary once. */
const TEXT_BYTES = 2

export interface LoadServices {
  readonly arena: Arena
  readonly workers: number
  readonly run: (task: StageTask) => Promise<StageResult>
  readonly free: (blocks: readonly Block[]) => void
  readonly onProgress: (done: number, total: number) => void
}

/** The splits that a scan reads: all that its predicate does not rule out. */
export function splitsRead(scan: Scan): readonly SourceSplit[] {
  const { source, predicate } = scan
  if (predicate === undefined) return source.splits
  let known = read.get(scan)
  if (known === undefined) {
    known = source.splits.filter(({ statistics }) => mayHold(predicate, statistics))
    read.set(scan, known)
  }
  return known
}

/** The splits of scans with predicates, which are asked for several times before a scan is read. */
const read = new WeakMap<Scan, readonly SourceSplit[]>()

/** The scan, itself or below a pipeline, to be read whole for a column program; or why it is not; undefined for a plan that is none over a file. */
export function scanToLoad(
  plan: PhysicalPlan,
  { arena, smallRows = SMALL_ROWS }: { readonly arena: Arena; readonly smallRows?: number },
): Scan | { readonly because: string } | undefined {
  const scan = plan.kind === 'PipelineExec' ? plan.input : plan
  if (scan.kind !== 'ScanExec' || scan.source.kind === 'memory' || scan.keys.kind !== 'rowNumber') return undefined
  const splits = splitsRead(scan)
  if (scan.columns.length === 0 || programRefused(plan) !== undefined) return undefined
  const fields = fieldsRead(scan)
  const rows = rowsOf(splits)
  if (fields === undefined || rows === undefined) return { because: 'its rows are not counted before they are read' }
  const odd = fields.find(({ type }) => !isLoadable(type))
  if (odd !== undefined) return { because: `columns of ${typeText(odd.type)}, as ${odd.name}, are not read whole` }
  if (fields.some(({ name, type }) => isText(type) && pageBytes(splits, name) > LARGEST_OFFSET))
    return { because: 'a column has more than 2 GiB of texts' }
  if (rows < smallRows) return { because: `only ${rows} of its rows are read` }
  return hasRoom(scan, arena) ? scan : { because: 'there is no room for whole columns in the session’s memory' }
}

/** The pipeline without a last step that leaves less of each partition for the operator above: where columns are in memory, that takes all rows at once. */
export function withoutPartialStep(plan: PhysicalPlan): PhysicalPlan {
  if (plan.kind !== 'PipelineExec' || plan.steps.at(-1)?.kind !== 'TopKExec') return withoutPartialGroups(plan)
  return { ...plan, steps: plan.steps.slice(0, -1) }
}

/** Whether the columns of a scan take no more than the free memory divided by `parts`. */
export function hasRoom(scan: Scan, { budgetBytes, usedBytes }: Pick<Arena, 'budgetBytes' | 'usedBytes'>, parts: number = ROOM): boolean {
  return bytesOf(splitsRead(scan), fieldsRead(scan) ?? []) * parts <= budgetBytes - usedBytes
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

function fieldsRead({ source, columns }: Scan): readonly Field[] | undefined {
  const known = new Map(fieldsOf(source.element).map((field) => [field.name, field]))
  const fields = columns.flatMap((name) => known.get(name) ?? [])
  return fields.length === columns.length ? fields : undefined
}

/** The number of rows of all splits; undefined where a split's is not known. */
function rowsOf(splits: readonly SourceSplit[]): number | undefined {
  let sum = 0
  for (const { rows } of splits) {
    if (rows === undefined) return undefined
    sum += rows
  }
  return sum
}

/** The bytes of a column's pages. */
function pageBytes(splits: readonly SourceSplit[], name: string): number {
  return splits.reduce((sum, { columnBytes }) => sum + (columnBytes?.get(name) ?? 0), 0)
}

/** The approximate bytes of the columns in memory. */
function bytesOf(splits: readonly SourceSplit[], fields: readonly Field[]): number {
  let bytes = 0
  for (const { rows = 0, columnBytes } of splits)
    for (const { name, type } of fields)
      bytes += isText(type) ? 5 * rows + TEXT_BYTES * (columnBytes?.get(name) ?? 0) : rows * widthOf(type.kind)
  return bytes
}

function widthOf(kind: Field['type']['kind']): number {
  return isFixedKind(kind) ? new FIXED_FORMS[kind].array(0).BYTES_PER_ELEMENT : 0
}

export interface LoadedScan {
  /** The stored node that takes the place of the scan. */
  readonly plan: Extract<PhysicalPlan, { kind: 'StoredExec' }> & { readonly storage: Extract<Storage, { kind: 'table' }> }
  /** The blocks of its columns, which the caller owns. */
  readonly blocks: readonly Block[]
}

/** Reads the columns of a scan whose number of rows is known; columns of `asked` as representatives, if dictionaries tell all their texts. MemoryError where there is too little memory after all, or more text than offsets of 32 bits reach. */
export async function loadedScan(scan: Scan, services: LoadServices, asked: ReadonlyMap<string, Asked> = new Map()): Promise<LoadedScan> {
  const { arena } = services
  const splits = splitsRead(scan)
  const rows = rowsOf(splits)
  const fields = fieldsRead(scan)
  if (rows === undefined || fields === undefined) throw new Bug(`${scan.source.name} is not to be read whole.`)
  const name = `ScanExec ${scan.source.name}`
  const blocks = new ResultBlocks(arena, name)
  try {
    const questions = fields.map(({ name }) => asked.get(name))
    const wholes = fields.map((field, i) =>
      wholeColumn(field, rows, { kind: scan.source.kind, blocks, isAsked: questions[i] !== undefined }),
    )
    const texts = fields.flatMap(({ type }, i) => (isText(type) && questions[i] === undefined ? [i] : []))
    const answers: (readonly (readonly string[])[])[] = []
    const nulls = fields.map(() => 0)
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
        const task = own && ({ kind: 'load', source, columns: names, splits: own, wholes, asked: questions } as const)
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
      return await loadedScan(scan, services)
    }
    if (done !== splits.length) throw new Bug(`${name}: ${done} of ${splits.length} splits were read.`)
    const placed = texts.length === 0 ? { columns: wholes, codes: [] } : await textsPlaced(wholes, { texts, parts, blocks, services })
    for (const own of held) services.free(own)
    const columns = placed.columns.map((column, i) => {
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
    for (const { column, codes } of placed.codes) giveCodes(columns[column] as Column, codes) // one of them
    const element = { kind: 'row' as const, fields }
    const storage = { kind: 'table' as const, element, length: rows, columns }
    const plan = { kind: 'StoredExec' as const, name: scan.source.name, storage, element: scan.element, keys: scan.keys }
    return { plan, blocks: blocks.handedOver() }
  } catch (error) {
    blocks.freeAll()
    throw error
  }
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

/** The next task gets the works that are left, divided by the workers and this (guided scheduling). */
const TASKS = 2
/** The shortest task has all works divided by the workers and this, since each costs a message and its answer. */
const MOST_TASKS = 16

/** Values of columns that a task has at least, if that leaves some tasks for each worker: fewer take less time than the task's message. */
const TASK_VALUES = 2 ** 17
/** The factor for columns of which only answers are read. */
const ASKED_VALUES = 1 / 8
const LEAST_TASKS = 4

/** The number of splits, of so many rows on average, that one task is worth. */
function leastSplits(rows: number, questions: readonly (Asked | undefined)[]): number {
  const values = questions.reduce((sum, asked) => sum + rows * (asked === undefined ? 1 : ASKED_VALUES), 0)
  return Math.ceil(TASK_VALUES / Math.max(1, values))
}

/** Cuts works, in their order, into lists for tasks: long ones first and short ones last, so that workers end at about the same time. */
function piecesOf<T>(works: readonly T[], workers: number, enough: number = 1): T[][] {
  const pieces: T[][] = []
  const least = Math.max(
    Math.ceil(works.length / (MOST_TASKS * workers)),
    Math.min(enough, Math.ceil(works.length / (LEAST_TASKS * workers))),
  )
  for (let from = 0; from < works.length; ) {
    const length = Math.max(least, Math.ceil((works.length - from) / (TASKS * workers)))
    pieces.push(works.slice(from, from + length))
    from += length
  }
  return pieces
}

/** The column for all rows of a field; for texts and bytes only the bitmap, and for texts of Parquet also a byte a row for dictionary indices. */
function wholeColumn(
  { type, nullable }: Field,
  rows: number,
  { kind, blocks, isAsked }: { readonly kind: string; readonly blocks: ResultBlocks; readonly isAsked: boolean },
): Column {
  if (type.kind === 'null') return { type, length: rows }
  if (isAsked) return { type, length: rows, values: blocks.like(new Uint8Array(), rows) }
  const validity = nullable ? { validity: blocks.emptyBits(rows) } : {}
  if (kind === 'parquet' && type.kind === 'utf8') return { type, length: rows, values: blocks.like(new Uint8Array(), rows), ...validity }
  if (!isFixedKind(type.kind)) return { type, length: rows, ...validity }
  return { type, length: rows, values: blocks.like(new FIXED_FORMS[type.kind].array(0), rows), ...validity }
}

/** The columns of texts of a split. */
interface LoadedPart {
  readonly batch: ExecBatch
  readonly coded: readonly (CodedTexts | undefined)[]
}

interface Texts {
  /** The indices of the columns of texts among all columns. */
  readonly texts: readonly number[]
  /** Their parts, one a split, in row order. */
  readonly parts: readonly LoadedPart[]
  readonly blocks: ResultBlocks
  readonly services: LoadServices
}

interface PlacedTexts {
  readonly columns: readonly Column[]
  /** The codes of columns that have some, by the index of the column. */
  readonly codes: readonly { readonly column: number; readonly codes: TextCodes }[]
}

/** Whole columns of texts: dictionary codes, where all parts are dictionary encoded and different texts are few; else the bytes end to end. */
async function textsPlaced(wholes: readonly Column[], { texts, parts, blocks, services }: Texts): Promise<PlacedTexts> {
  const columns = [...wholes]
  const codes: PlacedTexts['codes'][number][] = []
  const left: Column['values'][] = []
  const works: Placed[][] = parts.map(() => [])
  for (const [t, i] of texts.entries()) {
    const own = textParts(parts, t)
    const { validity, values: places, ...bare } = wholes[i] as Column // its bits were set when the split was read
    const merged = mergedOf(own, bare.length)
    if (merged !== undefined) {
      const wanted = emptyCodes(merged.firsts.length)
      const isThere = places instanceof Uint8Array && wanted instanceof Uint8Array
      if (!isThere) left.push(places)
      const { column, texts } = unspelled(isThere ? places : blocks.like(wanted, bare.length), merged.texts, blocks)
      columns[i] = validity === undefined ? column : { ...column, validity }
      codes.push({ column: i, codes: codesOfUnspelled(column, merged.firsts, texts) })
      for (const [p, { column: part, firstRow }] of own.entries())
        works[p]?.push({ part: placesOf(part), whole: placesOf(column), firstRow, firstByte: 0, places: merged.maps[p] as Uint16Array }) // one for each part
      continue
    }
    left.push(places)
    const bytes = own.map(({ column }) => (column.dictionary === undefined ? textBytes(column) : spelledBytes(column)))
    const all = bytes.reduce((sum, one) => sum + one, 0)
    if (all > LARGEST_OFFSET)
      throw new MemoryError('A column of texts takes more than 2 GiB. Cut the file into smaller ones, or select fewer rows.', {
        operator: 'texts of files',
        bytes: all,
      })
    const values = blocks.like(new Uint8Array(), all)
    const whole: Column = { ...bare, offsets: blocks.like(new Int32Array(), bare.length + 1), values }
    ;(whole.offsets as Int32Array)[0] = 0
    columns[i] = validity === undefined ? whole : { ...whole, validity }
    let firstByte = 0
    for (const [p, { column, firstRow }] of own.entries()) {
      works[p]?.push({ part: column, whole, firstRow, firstByte })
      firstByte += bytes[p] as number // one for each part
    }
  }
  const pieces = piecesOf(works, services.workers)
  const tasks = inOrder({
    next: () => {
      const columns = pieces.shift()?.flat()
      return columns && (() => services.run({ kind: 'place', columns }))
    },
    window: 2 * services.workers,
    drop: () => undefined,
  })
  for await (const _ of tasks);
  for (const buffer of left) blocks.free(buffer)
  return { columns, codes }
}

/** The column without its dictionary, as it is sent to a worker that writes codes. */
function placesOf({ dictionary: _, ...places }: Column): Column {
  return places
}

interface TextPart {
  readonly column: Column
  readonly coded: CodedTexts | undefined
  readonly firstRow: number
}

/** The parts of a column of texts, in row order. */
function textParts(parts: readonly LoadedPart[], text: number): readonly TextPart[] {
  let firstRow = 0
  return parts.map(({ batch, coded }) => {
    const column = batch.columns[text] as Column // one for each text
    const part = { column, coded: coded[text], firstRow }
    firstRow += column.length
    return part
  })
}

/** The merged codes of a column's parts; undefined where a part is not dictionary encoded, or there are too many texts. */
function mergedOf(parts: readonly TextPart[], rows: number): MergedCodes | undefined {
  const splits = parts.flatMap(({ column: { dictionary }, coded, firstRow }) =>
    dictionary === undefined || coded === undefined ? [] : [{ dictionary, coded, firstRow }],
  )
  return splits.length < parts.length ? undefined : mergedCodes(splits, rows)
}
