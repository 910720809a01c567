/**
 * Columns that folders say: Hive's partitions.
 *
 *     sales/year=2024/country=DE/part-0.parquet   -->   year = 2024, country = "DE" in all rows of the file
 *
 * All files of a table have the same of these columns. One that the files have as well, as Polars writes them, is theirs: it has a type there, and
 * its statistics leave out as much. The types of the others follow from all paths: whole numbers, days, or else
 * text. A filter on them leaves out whole files (`prunePartitions` among the optimizer's rules).
 */
import { checkOneOf } from '../../core/arguments.ts'
import { LARGEST_WHOLE } from '../../core/data/fixedValues.ts'
import { type ColumnType, type Field, fieldsOf } from '../../core/data/schema.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { SourceError } from '../../core/errors.ts'
import type { ArraySource } from '../../core/plan/logicalPlan.ts'
import { sameItems } from '../../core/sameItems.ts'
import type { Constant } from '../../core/sourceParts.ts'
import { isUrl } from '../bytes/byteSource.ts'
import type { NamedFiles } from '../bytes/paths.ts'
import type { Int64 } from '../int64.ts'

export interface PartitionOptions {
  /**
   * Folders named `year=2024` on the way to a file are columns of its rows: whole numbers, days, or else text. 'text': all of them
   * are text. 'none': such folders say nothing. A column that the files have themselves is read from them.
   */
  readonly partitions?: 'columns' | 'text' | 'none'
}

const PARTITIONS = ['columns', 'text', 'none'] as const

/** How Hive writes a null. */
export const NULL_PARTITION = '__HIVE_DEFAULT_PARTITION__'

interface AskedFor extends PartitionOptions {
  readonly columns?: readonly string[] | undefined
  readonly int64?: Int64 | undefined
}

/** The names of columns that the paths of all files say, in the order of the folders. SourceError where files differ in them. */
export function partitionNames({ paths }: NamedFiles, { partitions = 'columns' }: PartitionOptions): ReadonlySet<string> {
  checkOneOf('The partitions of a reader', partitions, PARTITIONS)
  return partitions === 'none' ? new Set() : new Set(namesOf(paths))
}

/** The table with a column for each name that the paths of its files say, behind the others unless `columns` says where. */
export function withPartitions(source: ArraySource, { paths }: NamedFiles, options: AskedFor): ArraySource {
  checkOneOf('The partitions of a reader', options.partitions ?? 'columns', PARTITIONS)
  if (options.partitions === 'none') return source
  const own = fieldsOf(source.element)
  const inFiles = new Set(own.map(({ name }) => name))
  const names = namesOf(paths).filter((name) => !inFiles.has(name) && (options.columns?.includes(name) ?? true))
  if (names.length === 0) return source
  const texts = paths.map(partitionOf)
  const columns = names.map((name) => partitionColumn(name, texts, paths, options))
  const constants = paths.map((_, i) => new Map(names.map((name, c) => [name, columns[c]?.values[i] ?? null])))
  const added = columns.map(({ field }) => field)
  const fields = ordered([...own, ...added], options.columns)
  const splits = source.splits.map((split) => {
    const own = constants[split.file ?? 0] ?? new Map<string, Constant>()
    const mayBeNull = split.mayBeNull && new Set([...split.mayBeNull, ...names.filter((name) => own.get(name) === null)])
    return {
      ...split,
      constants: new Map([...(split.constants ?? []), ...own]),
      columnBytes: withTexts(split.columnBytes, own, split.rows),
      ...(mayBeNull && { mayBeNull }),
    }
  })
  return { ...source, element: { kind: 'row', fields }, splits, files: { read: paths.length, all: paths.length } }
}

function ordered(fields: readonly Field[], columns: readonly string[] | undefined): readonly Field[] {
  return columns === undefined ? fields : columns.flatMap((name) => fields.find((field) => field.name === name) ?? [])
}

/** The bytes of columns, with those of partitions that are texts, counted for all rows. */
function withTexts(
  known: ReadonlyMap<string, number> | undefined,
  constants: ReadonlyMap<string, Constant>,
  rows = 0,
): ReadonlyMap<string, number> {
  const bytes = new Map(known)
  for (const [name, value] of constants) if (typeof value === 'string') bytes.set(name, rows * Buffer.byteLength(value))
  return bytes
}

/** The names that all paths have. */
function namesOf(paths: readonly string[]): readonly string[] {
  const [first = '', ...others] = paths
  const names = [...partitionOf(first).keys()]
  for (const path of others) {
    const found = [...partitionOf(path).keys()]
    if (!sameItems(found, names))
      throw new SourceError(
        `${path} lies in ${foldersText(found)}, and ${first} in ${foldersText(names)}. Files read together need the same of these folders; { partitions: 'none' } makes no columns of them.`,
        path,
      )
  }
  return names
}

function foldersText(names: readonly string[]): string {
  return names.length === 0 ? 'no folder named column=value' : `folders of ${names.join(', ')}`
}

/** The values that the folders of a path say, by column. SourceError where two say the same column. */
export function partitionOf(path: string): ReadonlyMap<string, string> {
  const folders = (isUrl(path) ? new URL(path).pathname : path).split(/[/\\]/).slice(0, -1)
  const found = new Map<string, string>()
  for (const folder of folders) {
    const at = folder.indexOf('=')
    if (at <= 0) continue
    const name = decoded(folder.slice(0, at))
    if (found.has(name))
      throw new SourceError(
        `${path} has two folders on its way that say what "${name}" is. { partitions: 'none' } makes no columns of them.`,
        path,
      )
    found.set(name, decoded(folder.slice(at + 1)))
  }
  return found
}

/** Resolves escapes: characters that names of files cannot have are written as %2F. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // a percent sign that means itself
  }
}

interface PartitionColumn {
  readonly field: Field
  /** The value of each file. */
  readonly values: readonly Constant[]
}

/** Whole numbers as in CSV: text that a number would not give back, as 007, stays text. */
const WHOLE = /^-?(?:0|[1-9]\d{0,18})$/
const DAY = /^\d{4}-\d{2}-\d{2}$/

function partitionColumn(
  name: string,
  partitions: readonly ReadonlyMap<string, string>[],
  paths: readonly string[],
  { partitions: as, int64 }: AskedFor,
): PartitionColumn {
  const texts = partitions.map((one) => {
    const text = one.get(name) ?? NULL_PARTITION
    return text === NULL_PARTITION ? null : text
  })
  const nullable = texts.includes(null)
  const present = texts.filter((text) => text !== null)
  const column = (type: ColumnType, valueIn: (text: string, file: number) => Constant): PartitionColumn => ({
    field: { name, type, nullable },
    values: texts.map((text, i) => (text === null ? null : valueIn(text, i))),
  })
  if (as !== 'text' && present.length > 0) {
    if (present.every(isWhole)) {
      if (int64 === 'bigint') return column({ kind: 'i64' }, BigInt)
      return column({ kind: 'f64', integers: 'i64' }, (text, i) => numberOf(text, name, paths[i] ?? ''))
    }
    if (present.every(isDay)) return column({ kind: 'date' }, (text) => new Date(text))
  }
  return column({ kind: 'utf8' }, (text) => text)
}

function isWhole(text: string): boolean {
  return WHOLE.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text)
}

function isDay(text: string): boolean {
  return DAY.test(text) && new Date(text).toJSON()?.startsWith(text) === true
}

function numberOf(text: string, name: string, path: string): number {
  const number = Number(BigInt(text))
  if (Math.abs(number) < LARGEST_WHOLE) return number
  throw new SourceError(
    `${path}: the ${name} ${valueText(text)} is beyond ±2^53, up to where numbers are exact. Read partitions as text with { partitions: 'text' }.`,
    path,
  )
}
