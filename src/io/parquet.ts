/**
 * Parquet files as a source: one split per row group.
 *
 * Opening reads footers only. A split is read by any thread: the pages of the columns asked for are fetched, checked
 * (`parquet/pages.ts`), put into a small file of their own (`parquet/singleGroup.ts`) and decoded by parquet-wasm.
 */
import { checkList, checkOneOf } from '../core/arguments.ts'
import { agreedType, type ColumnType, type Field, typeText } from '../core/data/schema.ts'
import { PlanError, SourceError } from '../core/errors.ts'
import { missingColumnMessage } from '../core/nearestNames.ts'
import type { ArraySource } from '../core/plan/logicalPlan.ts'
import type { Access } from '../core/ports.ts'
import type { SourceSplit } from '../core/sourceParts.ts'
import { openBytes } from './bytes/byteSource.ts'
import { inGroups, OPENED_AT_ONCE } from './bytes/inGroups.ts'
import { filesOf } from './bytes/paths.ts'
import { checkExpected, type ExpectOptions } from './expected.ts'
import { INT64_OPTIONS, type Int64 } from './int64.ts'
import { describeFile, type FileColumns, splitsOf } from './parquet/describe.ts'
import { readFooter } from './parquet/footer.ts'
import { type KeptFile, keepFile, keptFile } from './parquet/keptFiles.ts'
import { type DecodeLimits, decodeLimits, mostRows } from './parquet/limits.ts'
import { loadParquet } from './parquet/parquetLibrary.ts'
import { type PartitionOptions, partitionNames, withPartitions } from './partitions/partitions.ts'
import { checkReading, type FileSource, type ReadOptions, requestsOf } from './reading.ts'

export { readParquetSplit } from './parquet/readGroup.ts'

export interface ParquetOptions extends ReadOptions, PartitionOptions, ExpectOptions {
  /** The columns to have, in this order; all of them when absent. */
  readonly columns?: readonly string[]
  /** 64-bit integers are read as numbers, and one beyond ±2^53 is refused, unless this is 'bigint'. */
  readonly int64?: Int64
}

/**
 * A table of one or more Parquet files with the same columns, row groups in file order. Reads footers. How much of a
 * row group is decoded at once follows from the budget of the session that reads.
 */
export async function openParquet(
  source: FileSource,
  options: ParquetOptions = {},
  budgetBytes: number = Number.POSITIVE_INFINITY,
): Promise<ArraySource> {
  const limits = decodeLimits(budgetBytes)
  checkReading('readParquet', options, ['columns', 'int64', 'partitions', 'expect'])
  if (options.columns !== undefined) checkList('The columns of readParquet()', options.columns)
  if (options.int64 !== undefined) checkOneOf('The int64 of readParquet()', options.int64, INT64_OPTIONS)
  const named = await filesOf(source, options)
  const access = { ...options, given: named.given }
  await loadParquet()
  const ofPaths = partitionNames(named, options)
  const files = await inGroups(named.paths, OPENED_AT_ONCE, (path) => openOne(path, { ...access, ofPaths }, limits))
  const [first, ...more] = files
  if (first === undefined) throw new SourceError('No file was named.', '')
  const fields = more.reduce((known, { columns }) => agreedFields(known, first.columns.path, columns), first.columns.fields)
  const splits = files.flatMap((file, number): readonly SourceSplit[] => {
    const known = file.splits.get(number) ?? splitsOf(file.columns, number)
    file.splits.set(number, known)
    return withoutTypes(known, file.columns.fields, fields)
  })
  const table: ArraySource = {
    kind: 'parquet',
    name: named.name,
    element: { kind: 'row', fields },
    rows: splits.reduce((sum, split) => sum + (split.rows ?? 0), 0),
    splits,
    ...requestsOf(access, named.paths),
  }
  return checkExpected(withPartitions(table, named, options), options)
}

async function openOne(
  path: string,
  { ofPaths, ...options }: ParquetOptions & Access & { readonly ofPaths: ReadonlySet<string> },
  limits: DecodeLimits,
): Promise<KeptFile> {
  const bytes = await openBytes(path, options)
  const int64 = options.int64 ?? 'number'
  const key = bytes.version && JSON.stringify([path, bytes.version, int64, options.columns, [...ofPaths], limits])
  const kept = key && keptFile(key)
  try {
    if (kept) return kept
    const footer = await readFooter(bytes, path, limits)
    if (footer.rows > mostRows(bytes.size)) {
      throw new SourceError(
        `${path} declares ${footer.rows} rows in ${bytes.size} bytes, and at most ${mostRows(bytes.size)} are read of so few.`,
        path,
      )
    }
    const known = new Map(footer.columns.map((column) => [column.name, column]))
    const wanted = options.columns ?? footer.columns.map((column) => column.name)
    const names = wanted.filter((name) => known.has(name) || !ofPaths.has(name)) // what the path says, the file need not
    const columns = names.map((name) => {
      const column = known.get(name)
      if (column === undefined) {
        const fields = footer.columns.map((known): Field => ({ name: known.name, type: { kind: 'unknown' }, nullable: true }))
        throw new PlanError(missingColumnMessage(name, fields, path))
      }
      return column
    })
    if (new Set(names).size !== names.length)
      throw new PlanError(`A column is named twice in { columns: [${names.map((name) => JSON.stringify(name)).join(', ')}] }.`)
    const described = describeFile({ path, stamp: bytes.stamp, footer, columns, int64, limits })
    return key ? keepFile(key, described) : { columns: described, splits: new Map() }
  } finally {
    await bytes.close()
  }
}

const CURE = ": read them one by one, and put them together with union(…, { columns: 'all' })."

/** The pieces of a file, of whose columns those without a type, which hold nothing but null, are not read where other files have a type. */
function withoutTypes(splits: readonly SourceSplit[], own: readonly Field[], fields: readonly Field[]): readonly SourceSplit[] {
  const typed = new Set(fields.flatMap(({ name, type }) => (type.kind === 'null' ? [] : [name])))
  const names = own.flatMap(({ name, type }) => (type.kind === 'null' && typed.has(name) ? [name] : []))
  if (names.length === 0) return splits
  const constants = new Map(names.map((name) => [name, null] as const))
  return splits.map((split) => ({ ...split, constants }))
}

/** The type of a column of two files; undefined where they differ. A column that holds nothing but null may have no type. */
function typeOfBoth(a: ColumnType, b: ColumnType): ColumnType | undefined {
  if (a.kind === 'null') return b
  return b.kind === 'null' ? a : agreedType(a, b)
}

/** The fields of files read as one: the same names and types, nullable where one file says so. */
function agreedFields(known: readonly Field[], firstPath: string, file: FileColumns): readonly Field[] {
  const others = new Map(file.fields.map((field) => [field.name, field]))
  const merged = known.map((field) => {
    const other = others.get(field.name)
    others.delete(field.name)
    if (other === undefined)
      throw new SourceError(
        `${file.path} has no column "${field.name}", which ${firstPath} has. Files read together need the same columns${CURE}`,
        file.path,
      )
    const type = typeOfBoth(field.type, other.type)
    if (type === undefined) {
      throw new SourceError(
        `Column "${field.name}" is ${typeText(other.type)} in ${file.path} and ${typeText(field.type)} in ${firstPath}. Files read together need the same types.`,
        file.path,
      )
    }
    return { ...field, type, nullable: field.nullable || other.nullable }
  })
  const [extra] = others.keys()
  if (extra !== undefined)
    throw new SourceError(
      `${file.path} has a column "${extra}", which ${firstPath} has not. Files read together need the same columns${CURE}`,
      file.path,
    )
  return merged
}
