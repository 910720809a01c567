/** Explains what runs as kernels over columns of tables in memory: whole chains, and the chain under a `groupBy`. */
import type { Column } from '../../core/data/column.ts'
import { fieldsOf } from '../../core/data/schema.ts'
import type { ExplainedColumns, ExplainedGroups } from '../../core/ir/kernelCode.ts'
import type { PhysicalPlan } from '../../planner/physical/physicalPlan.ts'
import type { Arena } from '../memory/arena.ts'
import { type ColumnProgram, columnProgramOf, isProgram } from './columns/columnProgram.ts'
import { uncodedKeys, withCodedKeys } from './columns/groups/codedKeys.ts'
import { elementGroups } from './columns/groups/elementGroups.ts'
import { addressOf } from './columns/kernelBinding.ts'
import { programCode } from './columns/programCode.ts'
import { mayHaveCodes } from './columns/texts/codesOnDemand.ts'
import { plannedTextColumns } from './columns/texts/textColumns.ts'
import { isFree } from './operators/freeSteps.ts'
import { keyParts, wholeRange, windowsOf } from './operators/hashing/keyWindows.ts'
import { SMALL_ROWS } from './operators/partitions.ts'
import { structColumn } from './operators/rows/rowKernel.ts'

interface Options {
  readonly arena: Arena
  readonly smallRows?: number
}

/** The kernels of a pipeline over a table in memory, or why there are none. */
export function explainedColumns(plan: PhysicalPlan, { arena, smallRows = SMALL_ROWS }: Options): ExplainedColumns {
  const program = columnProgramOf(plan, plannedTextColumns)
  if (!isProgram(program))
    return program.span === undefined ? { because: program.because } : { because: program.because, span: program.span }
  if (program.rows < smallRows) return { because: `the table has only ${program.rows} rows` }
  const outside = program.columns.some((column) => column.values !== undefined && addressOf(column.values, arena) === undefined)
  return outside
    ? { because: 'there was no room for the table in the session’s memory' }
    : {
        kernels: programCode(withCodedKeys(program) ?? program, arena.addresses),
        ...besidesOf(program),
      }
}

function besidesOf({ textsAre, shape }: ColumnProgram): { readonly besides?: string } {
  const all = [...(textsAre === undefined ? [] : OF_TEXTS[textsAre]), ...(shape.zones === true ? [OF_ZONES] : [])]
  return all.length === 0 ? {} : { besides: all.join(', and ') }
}

const OF_ZONES = 'time zones are looked up in JavaScript, a row at a time'
const OF_COLUMNS =
  'what depends on one column of texts or dates alone, or gives a text, is computed once for each of the values, as long as they are few'
const OF_FOUND = 'what depends on one text alone that is looked up is computed once for each such text'
const OF_TEXTS = { 'in columns': [OF_COLUMNS], found: [OF_FOUND], both: [OF_COLUMNS, OF_FOUND] } as const

/** Explains how the last `groupBy` with aggregates, or `distinct`, finds its groups; undefined where there is none. */
export function explainedGroups(plan: PhysicalPlan, options: Options): ExplainedGroups | undefined {
  if (plan.kind === 'PipelineExec' || plan.kind === 'LimitExec') return explainedGroups(plan.input, options)
  if (plan.kind !== 'WideExec') return undefined
  const [input] = plan.inputs
  if (input === undefined) return undefined
  if (plan.operator.kind === 'DistinctExec') return explainedElements(plan, options)
  if (plan.operator.kind !== 'HashAggregateExec') return explainedGroups(input, options)
  if (input.kind !== 'PipelineExec' || plan.where === 'caller') return { found: BY_HASH }
  const rows = explainedColumns(input, options)
  const program = columnProgramOf(input, plannedTextColumns)
  const asTheyAre = input.steps.every(isFree) && isProgram(program) && program.rows >= (options.smallRows ?? SMALL_ROWS)
  const found = isProgram(program) && (asTheyAre || 'kernels' in rows) ? foundBy(program) : BY_HASH_IF_FAR
  return { found, ...(asTheyAre ? {} : { rows }) }
}

/** Explains how `distinct` finds equal elements. */
function explainedElements(plan: Extract<PhysicalPlan, { kind: 'WideExec' }>, options: Options): ExplainedGroups {
  const groups = elementGroups(plan)
  const explained = groups && explainedGroups({ ...plan, inputs: [groups.input], operator: groups.operator }, options)
  return explained === undefined || explained.found === BY_HASH_IF_FAR ? { ...explained, found: BY_HASH } : explained
}

const BY_HASH = 'by hash'
const BY_HASH_IF_FAR = 'by direct index where keys are whole numbers that lie together, else by hash'

function foundBy(program: ColumnProgram): string {
  const few = fieldNames(
    program,
    uncodedKeys(program).filter((column) => mayHaveCodes(column, program)),
  )
  if (few.length > 0) return `${BY_HASH}, or by codes of ${few.join(' and ')} once there are any`
  const coded = withCodedKeys(program)
  const key = keyOf(coded ?? program)
  if (key === undefined) return BY_HASH_IF_FAR
  const names = fieldNames(program, coded?.coded ?? [])
  const codes = names.length === 0 ? '' : `, by codes of ${names.join(' and ')}`
  const places = directPlaces(key)
  if (places === undefined) return `${BY_HASH}${codes}`
  const most = program.shape.filters ? 'at most ' : ''
  return `by direct index over ${most}${places.toLocaleString('en')} place${places === 1 ? '' : 's'}${codes}`
}

/** The names of the fields whose columns are among `some`. */
function fieldNames({ element, columns }: ColumnProgram, some: readonly unknown[]): readonly string[] {
  return fieldsOf(element).flatMap(({ name }, i) => (some.includes(columns[i]) ? [name] : []))
}

/** The key where it consists of columns of the table; undefined where it is computed. */
function keyOf({ shape, columns, rows }: ColumnProgram): Column | undefined {
  const [key] = shape.hidden ?? []
  const columnOf = (name: string): Column | undefined => {
    const output = shape.outputs.find((one) => one.name === name)
    return output?.kind === 'column' ? columns[output.column] : undefined
  }
  if (key?.kind === 'value') return columnOf(key.output)
  const fields = (key?.fields ?? []).map(({ output }) => columnOf(output))
  const known = fields.filter((field) => field !== undefined)
  if (key === undefined || known.length < fields.length) return undefined
  return structColumn(
    key.fields.map(({ name }) => name),
    known,
    rows,
  )
}

/** The number of places of the keys' dense ranges, null's included; undefined where keys are hashed. */
function directPlaces(key: Column): number | undefined {
  const windows = windowsOf([key], key.type)
  const parts = keyParts(key)
  if (windows === undefined || parts === undefined) return undefined
  let places = 1
  for (const [p, { base, span }] of windows.entries()) {
    const part = parts[p] as Column // a window for each
    const range = wholeRange(part, part.length)
    if (range === undefined || range[0] < base || range[1] >= base + span) return undefined
    places *= range[1] - range[0] + 1 + (part.validity === undefined ? 0 : 1)
  }
  return places
}
