/**
 * Writes `src/io/spark/messages.ts` of the .proto files of Apache Spark: the types of the messages that our client uses,
 * and of their fields, as data that `wire.ts` encodes and decodes by.
 *
 *     npx tsx scripts/sparkMessages.ts <folder with spark/connect/*.proto>
 *
 * They are in Spark's repository under sql/connect/common/src/main/protobuf, and in the jar spark-connect of a
 * distribution. Only messages and fields that are named here are taken: the rest would be code that nobody calls, and
 * fields that a server sends beyond them are skipped.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import protobuf from 'protobufjs'
import { ROOT } from './repository.ts'

const FILES = ['base', 'relations', 'expressions', 'types']
const PACKAGE = 'spark.connect'
const ALL = '*'

/** Messages by their names within the package, and their fields. */
const WANTED: Readonly<Record<string, readonly string[] | typeof ALL>> = {
  Plan: ['root'],
  UserContext: ['user_id', 'user_name'],
  AnalyzePlanRequest: ['session_id', 'user_context', 'client_type', 'schema', 'explain', 'spark_version'],
  'AnalyzePlanRequest.Schema': ALL,
  'AnalyzePlanRequest.Explain': ALL,
  'AnalyzePlanRequest.SparkVersion': ALL,
  AnalyzePlanResponse: ['session_id', 'server_side_session_id', 'schema', 'explain', 'spark_version'],
  'AnalyzePlanResponse.Schema': ALL,
  'AnalyzePlanResponse.Explain': ALL,
  'AnalyzePlanResponse.SparkVersion': ALL,
  ExecutePlanRequest: ['session_id', 'user_context', 'operation_id', 'plan', 'client_type', 'request_options'],
  'ExecutePlanRequest.RequestOption': ['reattach_options'],
  ReattachOptions: ALL,
  ExecutePlanResponse: ['session_id', 'server_side_session_id', 'operation_id', 'response_id', 'arrow_batch', 'result_complete'],
  'ExecutePlanResponse.ArrowBatch': ['row_count', 'data', 'start_offset'],
  'ExecutePlanResponse.ResultComplete': ALL,
  KeyValue: ALL,
  ConfigRequest: ['session_id', 'user_context', 'operation', 'client_type'],
  'ConfigRequest.Operation': ['set', 'get_option'],
  'ConfigRequest.Set': ALL,
  'ConfigRequest.GetOption': ALL,
  ConfigResponse: ALL,
  InterruptRequest: ['session_id', 'user_context', 'client_type', 'interrupt_type', 'operation_id'],
  InterruptResponse: ALL,
  ReattachExecuteRequest: ['session_id', 'user_context', 'operation_id', 'client_type', 'last_response_id'],
  ReleaseExecuteRequest: ['session_id', 'user_context', 'operation_id', 'client_type', 'release_all', 'release_until'],
  'ReleaseExecuteRequest.ReleaseAll': ALL,
  'ReleaseExecuteRequest.ReleaseUntil': ALL,
  ReleaseExecuteResponse: ALL,
  ReleaseSessionRequest: ['session_id', 'user_context', 'client_type'],
  ReleaseSessionResponse: ALL,
  Relation: [
    ...['common', 'read', 'project', 'filter', 'join', 'set_op', 'sort', 'limit', 'aggregate', 'local_relation', 'deduplicate'],
    ...['subquery_alias', 'offset', 'sample'],
  ],
  RelationCommon: ['plan_id'],
  Read: ['named_table', 'data_source'],
  'Read.NamedTable': ALL,
  'Read.DataSource': ['format', 'schema', 'options', 'paths'],
  Project: ALL,
  Filter: ALL,
  Join: ['left', 'right', 'join_condition', 'join_type'],
  SetOperation: ['left_input', 'right_input', 'set_op_type', 'is_all', 'by_name'],
  Sort: ALL,
  Limit: ALL,
  Offset: ALL,
  Sample: ['input', 'lower_bound', 'upper_bound', 'with_replacement', 'seed'],
  Aggregate: ['input', 'group_type', 'grouping_expressions', 'aggregate_expressions'],
  LocalRelation: ALL,
  Deduplicate: ['input', 'column_names', 'all_columns_as_keys'],
  SubqueryAlias: ALL,
  Expression: [
    'literal',
    'unresolved_attribute',
    'unresolved_function',
    'alias',
    'cast',
    'sort_order',
    'window',
    'unresolved_extract_value',
  ],
  'Expression.Window': ALL,
  'Expression.Window.WindowFrame': ALL,
  'Expression.Window.WindowFrame.FrameBoundary': ALL,
  'Expression.SortOrder': ALL,
  'Expression.Cast': ['expr', 'type', 'type_str'],
  'Expression.Literal': ['null', 'binary', 'boolean', 'integer', 'long', 'double', 'string', 'date', 'timestamp'],
  'Expression.UnresolvedAttribute': ['unparsed_identifier', 'plan_id'],
  'Expression.UnresolvedFunction': ['function_name', 'arguments', 'is_distinct'],
  'Expression.Alias': ['expr', 'name'],
  'Expression.UnresolvedExtractValue': ALL,
  DataType: [
    ...['null', 'binary', 'boolean', 'byte', 'short', 'integer', 'long', 'float', 'double', 'decimal', 'string', 'char', 'var_char'],
    ...['date', 'timestamp', 'timestamp_ntz', 'array', 'struct', 'map', 'unparsed'],
  ],
  'DataType.Decimal': ['scale', 'precision'],
  'DataType.Array': ['element_type', 'contains_null'],
  'DataType.Struct': ['fields'],
  'DataType.StructField': ['name', 'data_type', 'nullable'],
  'DataType.Map': ['key_type', 'value_type', 'value_contains_null'],
  'DataType.Unparsed': ALL,
  // of these it matters only that they are there
  ...Object.fromEntries(
    ['NULL', 'Binary', 'Boolean', 'Byte', 'Short', 'Integer', 'Long', 'Float', 'Double', 'String', 'Char', 'VarChar', 'Date', 'Timestamp']
      .concat('TimestampNTZ')
      .map((name) => [`DataType.${name}`, []]),
  ),
}

/** What a scalar is in TypeScript. */
const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  bytes: 'Uint8Array',
  bool: 'boolean',
  int32: 'number',
  int64: 'bigint',
  double: 'number',
}

const root = new protobuf.Root()
const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('Name the folder of the .proto files.')
for (const file of FILES) protobuf.parse(readFileSync(join(folder, `spark/connect/${file}.proto`), 'utf8'), root, { keepCase: true })
const licence = /^\/\*[\s\S]*?\*\//.exec(readFileSync(join(folder, 'spark/connect/base.proto'), 'utf8'))?.[0] ?? ''
root.resolveAll = () => root // imports that were not read are of no field that is taken

const enums = new Map<string, protobuf.Enum>()

function nameOf(type: protobuf.ReflectionObject): string {
  return type.fullName.slice(`.${PACKAGE}.`.length).replaceAll('.', '_')
}

function camel(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

interface FieldText {
  readonly type: string
  readonly row: string
  readonly name: string
}

function fieldText(field: protobuf.Field, within: protobuf.Type): FieldText {
  const name = camel(field.name)
  const resolved = SCALARS[field.type] === undefined ? within.lookupTypeOrEnum(field.type) : undefined
  if (resolved instanceof protobuf.Enum) enums.set(nameOf(resolved), resolved)
  const kind = resolved === undefined ? field.type : nameOf(resolved)
  const one = SCALARS[field.type] ?? kind
  const isMap = field instanceof protobuf.MapField
  const type = isMap ? `Readonly<Record<string, ${one}>>` : field.repeated ? `readonly ${one}[]` : one
  const form = isMap ? ", 'map'" : field.repeated ? ", 'repeated'" : ''
  return { name, type, row: `[${field.id}, '${name}', '${kind}'${form}]` }
}

const interfaces: string[] = []
const rows: string[] = []
const names: string[] = []
for (const [path, wanted] of Object.entries(WANTED)) {
  const type = root.lookupType(`${PACKAGE}.${path}`)
  const taken = wanted === ALL ? type.fieldsArray : wanted.map((name) => type.fields[name] ?? missing(path, name))
  const fields = taken.map((field) => fieldText(field, type))
  const name = nameOf(type)
  names.push(name)
  interfaces.push(
    fields.length === 0
      ? `export type ${name} = Readonly<Record<never, never>>`
      : `export interface ${name} {\n${fields.map((field) => `  readonly ${field.name}?: ${field.type}`).join('\n')}\n}`,
  )
  rows.push(fields.length === 0 ? `  ${name}: [],` : `  ${name}: [\n${fields.map(({ row }) => `    ${row},`).join('\n')}\n  ],`)
}

function missing(message: string, field: string): never {
  throw new Error(`${message} has no field ${field}.`)
}

const enumTypes = [...enums].map(
  ([name, { values }]) =>
    `export type ${name} =\n${Object.keys(values)
      .map((value) => `  | '${value}'`)
      .join('\n')}`,
)
const enumRows = [...enums].map(
  ([name, { values }]) =>
    `  ${name}: {\n${Object.entries(values)
      .map(([value, number]) => `    ${value}: ${number},`)
      .join('\n')}\n  },`,
)

writeFileSync(
  join(ROOT, 'src/io/spark/messages.ts'),
  `${licence}

/**
 * Messages of Spark Connect: those, and of them the fields, that our client uses. Made of the .proto files of Apache
 * Spark by \`scripts/sparkMessages.ts\`; not to be edited. Of the fields of a \`oneof\` at most one is there.
 */
${enumTypes.join('\n')}
${interfaces.join('\n')}

export interface Messages {
${names.map((name) => `  readonly ${name}: ${name}`).join('\n')}
}

/** Number, name, and what it holds: a scalar, or the name of a message or an enumeration. */
export type FieldRow = readonly [number: number, name: string, holds: string, form?: 'repeated' | 'map']

export const MESSAGES: Readonly<Record<keyof Messages, readonly FieldRow[]>> = {
${rows.join('\n')}
}

export const ENUMS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
${enumRows.join('\n')}
}
`,
)
