/**
 * The splits that a scan of a file reads, the bytes of their columns, and ranges of them that memory has room for.
 *
 *     row groups 1 to 550, of which statistics leave 400 of 6 MB each; 500 MB at a time  -->  83, 83, 83, 83 and 68 row groups
 */
import { FIXED_FORMS, isFixedKind } from '../../core/data/fixedValues.ts'
import { type Field, fieldsOf } from '../../core/data/schema.ts'
import type { ArraySource } from '../../core/plan/logicalPlan.ts'
import { type ColumnPredicate, mayHold } from '../../core/plan/predicate.ts'
import type { FileFilters } from '../../core/ports.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import type { PhysicalPlan } from '../../planner/physical/physicalPlan.ts'
import type { Arena } from '../memory/arena.ts'
import { flatFields } from './columns/flatColumns.ts'
import { isText } from './columns/loadTask.ts'
import { inputsOf } from './planInputs.ts'
import { allOf } from './scheduler.ts'

export type Scan = Extract<PhysicalPlan, { kind: 'ScanExec' }>

/** Columns that are read whole may take the free memory divided by this. */
const ROOM = 2

/** The factor from the bytes of texts' pages to their memory: pages have the entries of a dictionary once. */
const TEXT_BYTES = 2

/** The splits that a scan reads: all that its predicate does not rule out. */
export function splitsRead(scan: Scan): readonly SourceSplit[] {
  const { source, predicate } = scan
  if (predicate === undefined) return source.splits
  let known = read.get(scan)
  if (known === undefined) {
    known = (filtered.get(source)?.get(predicate) ?? source.splits).filter((split) => mayHold(predicate, split))
    read.set(scan, known)
  }
  return known
}

/** Asks filters and indexes of files which splits, and which of their rows, the predicates of a plan's scans need; what they rule out is not among `splitsRead` from then on. SourceError where a file of which nothing is left has changed. */
export async function askFilters(plan: PhysicalPlan, filters: FileFilters): Promise<void> {
  if (plan.kind !== 'ScanExec') {
    await allOf(inputsOf(plan).map((input) => askFilters(input, filters)))
    return
  }
  const { source, predicate } = plan
  if (predicate === undefined) return
  const known = filtered.get(source) ?? new WeakMap<ColumnPredicate, readonly SourceSplit[]>()
  if (!known.has(predicate)) {
    known.set(predicate, await filters.ruleOut(source, splitsRead(plan), predicate))
    filtered.set(source, known)
    read.delete(plan)
  }
  await filters.checkUnread(source, splitsRead(plan))
}

/** The splits that filters leave of a source's for a predicate. */
const filtered = new WeakMap<ArraySource, WeakMap<ColumnPredicate, readonly SourceSplit[]>>()

/** The splits of scans with predicates, which are asked for several times before a scan is read. */
const read = new WeakMap<Scan, readonly SourceSplit[]>()

/** What decides whether a scan is read whole. */
export interface LoadOptions {
  readonly arena: Pick<Arena, 'budgetBytes' | 'usedBytes'>
  /** Scans of fewer rows are not read whole. */
  readonly smallRows?: number
  /** Bytes of a scan's columns that are read at once; without it, as many as the free memory has room for. */
  readonly rangeBytes?: number
}

/** Whether the columns of a scan take no more than the free memory divided by `parts`. */
export function hasRoom(scan: Scan, { budgetBytes, usedBytes }: Pick<Arena, 'budgetBytes' | 'usedBytes'>, parts: number = ROOM): boolean {
  return bytesIn(scan) * parts <= budgetBytes - usedBytes
}

/** The approximate bytes of a scan's columns in memory. */
export function bytesIn(scan: Scan): number {
  return isCounted(scan) ? bytesOf(splitsRead(scan), fieldsRead(scan) ?? []) : bytesEstimated(scan)
}

/** A range may take the free memory divided by this: what is kept of the ranges before it lies there, too. */
const RANGE_ROOM = 8

/** The scan as scans of ranges of its splits, one after another, which have room; a split is never divided. */
export function scanRanges(scan: Scan, { arena, rangeBytes }: LoadOptions): readonly Scan[] {
  const { predicate: _, ...rest } = scan
  const over = (splits: readonly SourceSplit[]): Scan => ({ ...rest, source: { ...scan.source, splits } })
  const most = rangeBytes ?? (arena.budgetBytes - arena.usedBytes) / RANGE_ROOM
  const ranges: SourceSplit[][] = []
  let room = 0
  for (const split of splitsRead(scan)) {
    const bytes = bytesIn(over([split]))
    if (bytes > room || ranges.length === 0) {
      ranges.push([])
      room = most
    }
    ranges.at(-1)?.push(split)
    room -= bytes
  }
  return ranges.map(over)
}

/** The approximate bytes of columns of text, in parts and put together. */
function bytesEstimated(scan: Scan): number {
  const fields = fieldsRead(scan) ?? []
  const values = (rowsEstimated(scan) ?? 0) * fields.length
  return 2 * values * (VALUE_BYTES + 8)
}

export function fieldsRead({ source, columns, fields: narrowed }: Scan): readonly Field[] | undefined {
  if (narrowed !== undefined) return narrowed
  const known = new Map(fieldsOf(source.element).map((field) => [field.name, field]))
  const fields = columns.flatMap((name) => known.get(name) ?? [])
  return fields.length === columns.length ? fields : undefined
}

/** Whether the splits of a scan tell their numbers of rows. */
export function isCounted(scan: Scan): boolean {
  return rowsOf(splitsRead(scan)) !== undefined
}

/** The bytes of a value in text, with what separates it from the next one. */
const VALUE_BYTES = 6

/** The approximate number of rows of CSV; undefined for other formats, and where the number of bytes is not known. */
export function rowsEstimated(scan: Scan): number | undefined {
  const { source } = scan
  if (source.kind !== 'csv') return undefined
  let bytes = 0
  for (const split of splitsRead(scan)) {
    if (split.bytes === undefined) return undefined
    bytes += split.bytes
  }
  return Math.ceil(bytes / VALUE_BYTES / Math.max(1, fieldsOf(source.element).length))
}

/** The number of rows of all splits; undefined where a split's is not known. */
export function rowsOf(splits: readonly SourceSplit[]): number | undefined {
  let sum = 0
  for (const { rows } of splits) {
    if (rows === undefined) return undefined
    sum += rows
  }
  return sum
}

/** The bytes of a column's pages. */
export function pageBytes(splits: readonly SourceSplit[], name: string): number {
  return splits.reduce((sum, { columnBytes }) => sum + (columnBytes?.get(name) ?? 0), 0)
}

/** The approximate bytes of the columns in memory. */
function bytesOf(splits: readonly SourceSplit[], fields: readonly Field[]): number {
  let bytes = 0
  for (const { rows = 0, columnBytes } of splits)
    for (const { name, type } of fields) {
      const inside = flatFields([{ name, type, nullable: true }])
      const texts = inside.filter((one) => isText(one.type)).length
      bytes += inside.reduce((sum, one) => sum + rows * widthOf(one.type.kind), 5 * rows * texts)
      if (texts > 0) bytes += TEXT_BYTES * (columnBytes?.get(name) ?? 0)
    }
  return bytes
}

function widthOf(kind: Field['type']['kind']): number {
  return isFixedKind(kind) ? new FIXED_FORMS[kind].array(0).BYTES_PER_ELEMENT : 0
}
