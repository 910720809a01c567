/** Tables of a server as sources: files that it reads, and tables of its catalogue. */
import { checkOneOf } from '../../core/arguments.ts'
import type { ElementType, Field } from '../../core/data/schema.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { PlanError, SourceError } from '../../core/errors.ts'
import type { ArraySource } from '../../core/plan/logicalPlan.ts'
import type { CsvOptions } from '../csv/csv.ts'
import { INT64_OPTIONS, type Int64, readType } from '../int64.ts'
import type { NdjsonOptions } from '../json/ndjson.ts'
import { checkReading, type FileSource, type ReadOptions } from '../reading.ts'
import type { SparkClient } from './client.ts'
import type { Relation } from './messages.ts'
import { columnTypeOfSpark } from './sparkTypes.ts'

/** Opens a table: its relation, and its columns as the server says that Spark has them. */
export async function openTable(
  client: SparkClient,
  relation: Relation,
  {
    name,
    int64 = 'number',
    columns,
    signal,
  }: { readonly name: string; readonly int64?: Int64; readonly columns?: readonly string[]; readonly signal?: AbortSignal },
): Promise<ArraySource> {
  const schema = await client.schemaOf(relation, signal)
  const all = schema.struct?.fields ?? []
  if (all.length === 0)
    throw new SourceError(
      `${name} has no columns: nothing lies where Spark at ${client.address.text} looks for it, or nothing that it reads.`,
      name,
    )
  const known = new Set<string>()
  for (const { name: column = '' } of all) {
    if (known.has(column)) throw new SourceError(`${name} has two columns "${column}". Rename one of them in Spark.`, name)
    known.add(column)
  }
  for (const column of columns ?? []) {
    if (!known.has(column)) throw new PlanError(`${name} has no column "${column}". Its columns: ${[...known].join(', ')}.`)
  }
  const fields = all
    .filter(({ name: column = '' }) => columns === undefined || columns.includes(column))
    .map(({ name: column = '', dataType = {}, nullable = false }): Field => {
      return { name: column, type: readType(columnTypeOfSpark(dataType, `column "${column}" of ${name}`), int64), nullable }
    })
  const ordered = columns === undefined ? fields : columns.flatMap((column) => fields.find((field) => field.name === column) ?? [])
  const element: ElementType = { kind: 'row', fields: ordered }
  return { kind: 'spark', name, element, splits: [], remote: { kind: 'table', detail: relation } }
}

export async function openParquetThere(
  client: SparkClient,
  source: FileSource,
  options: ReadOptions & { readonly columns?: readonly string[]; readonly int64?: Int64 },
): Promise<ArraySource> {
  checkReading('readParquet', options, ['columns', 'int64'])
  const { int64 = 'number', columns, signal } = options
  checkOneOf('The int64 of readParquet()', int64, INT64_OPTIONS)
  const paths = pathsThere('readParquet', source)
  const relation: Relation = { read: { dataSource: { format: 'parquet', paths } } }
  return await openTable(client, relation, {
    name: nameOf(paths),
    int64,
    ...(columns === undefined ? {} : { columns }),
    ...(signal === undefined ? {} : { signal }),
  })
}

const CSV_OPTIONS = ['delimiter', 'header'] as const

export async function openCsvThere(client: SparkClient, source: FileSource, options: CsvOptions): Promise<ArraySource> {
  checkReading('readCsv', options, ['delimiter', 'header', 'columns', 'types', 'int64', 'quote', 'nulls'])
  const other = Object.keys(options).find((name) => !['signal', 'timeoutMs', ...CSV_OPTIONS].includes(name))
  if (other !== undefined)
    throw new PlanError(
      `Spark reads CSV without the option "${other}" of readCsv(). It takes ${CSV_OPTIONS.join(' and ')}; make a table of the file in Spark, and open that by session.table().`,
    )
  const { delimiter = ',', header = true, signal } = options
  const paths = pathsThere('readCsv', source)
  const relation: Relation = {
    read: { dataSource: { format: 'csv', paths, options: { header: String(header), inferSchema: 'true', sep: delimiter } } },
  }
  return await openTable(client, relation, { name: nameOf(paths), ...(signal === undefined ? {} : { signal }) })
}

export async function openNdjsonThere(client: SparkClient, source: FileSource, options: NdjsonOptions): Promise<ArraySource> {
  checkReading('readNdjson', options, ['types', 'partitions', 'expect'])
  const other = Object.keys(options).find((name) => name !== 'signal' && name !== 'timeoutMs')
  if (other !== undefined)
    throw new PlanError(
      `Spark reads JSON without the option "${other}" of readNdjson(). Make a table of the file in Spark, and open that by session.table().`,
    )
  const { signal } = options
  const paths = pathsThere('readNdjson', source)
  const relation: Relation = { read: { dataSource: { format: 'json', paths } } }
  return await openTable(client, relation, { name: nameOf(paths), ...(signal === undefined ? {} : { signal }) })
}

export async function openTableThere(
  client: SparkClient,
  table: unknown,
  options: ReadOptions & { readonly int64?: Int64 },
): Promise<ArraySource> {
  checkReading('table', options, ['int64'])
  if (typeof table !== 'string' || table === '')
    throw new PlanError(`table() takes the name of a table, as 'db.sales'; it was given ${valueText(table)}.`)
  const { int64 = 'number', signal } = options
  checkOneOf('The int64 of table()', int64, INT64_OPTIONS)
  return await openTable(
    client,
    { read: { namedTable: { unparsedIdentifier: table } } },
    { name: table, int64, ...(signal === undefined ? {} : { signal }) },
  )
}

/** The paths of a source as the server understands them. */
function pathsThere(method: string, source: FileSource): readonly string[] {
  const paths = (Array.isArray(source) ? (source as readonly unknown[]) : [source]).map((one) => (one instanceof URL ? one.href : one))
  const wrong = paths.find((path) => typeof path !== 'string' || path === '')
  if (paths.length === 0 || wrong !== undefined)
    throw new PlanError(`${method}() takes a path, an address, or a list of them; it was given ${valueText(source)}.`)
  return paths as readonly string[]
}

function nameOf(paths: readonly string[]): string {
  const [first = ''] = paths
  const name = first.replace(/\/+$/, '').split('/').at(-1) ?? first
  return paths.length === 1 ? name : `${name} and ${paths.length - 1} more`
}
