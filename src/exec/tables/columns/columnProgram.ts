/**
 * Column programs (vectorized pipelines): narrow steps that can be compiled, over a table whose columns lie in the arena.
 *
 *     PipelineExec [FilterExec, MapExec]  over  ScanExec of a table in memory, or StoredExec of a table
 */

import type { Storage } from '../../../core/arrays/storage.ts'
import type { Column } from '../../../core/data/column.ts'
import { emptyColumn } from '../../../core/data/columnSlices.ts'
import { positionsOf } from '../../../core/data/fieldPositions.ts'
import { type ColumnType, type ElementType, fieldsOf, plainType, sameType, typeText } from '../../../core/data/schema.ts'
import type { PhysicalPlan, Step } from '../../../planner/physical/physicalPlan.ts'
import { isOfMissing } from '../../kernels/columns/columnLower.ts'
import type { KernelColumn } from '../../kernels/columns/columnTypes.ts'
import {
  compiled,
  computedType,
  elementNames,
  type NotColumns,
  type ProgramShape,
  programShape,
} from '../../kernels/columns/programShape.ts'
import { kernelColumns } from '../../kernels/columns/wasmColumns.ts'
import { withStructFields } from './structFields.ts'
import { isUnspelled } from './texts/spelledTexts.ts'
import { codesOf, kindOf } from './texts/textCodes.ts'

/** For each part of a group key that is encoded: the column of texts whose codes it has, or 'doubles' where it has doubles as 32-bit integers. */
export type CodedKeys = readonly (Column | 'doubles' | undefined)[]

/** A table in the arena, and the compiled steps over its rows. */
export interface ColumnProgram {
  readonly element: ElementType
  readonly columns: readonly Column[]
  /** The array's storage that has the columns, where there is one. */
  readonly storage?: Storage
  readonly kernelColumns: readonly KernelColumn[]
  readonly rows: number
  readonly steps: readonly Step[]
  readonly shape: ProgramShape
  /** Present where parts of the group key are encoded. */
  readonly coded?: CodedKeys
  /** The number of columns, the last ones, that are results of functions of a text. */
  readonly ofTexts?: number
  /** The texts that these functions take: of a column, or found by a lookup. */
  readonly textsAre?: 'found' | 'in columns' | 'both'
  /** The columns of texts for whose different texts functions are called. */
  readonly calledFor?: readonly Column[]
  /** Whether columns have what the steps ask of lists. */
  readonly asksLists?: true
  /** The stage's name in events, as `ScanExec fromColumns -> FilterExec`. */
  readonly name: string
}

/** The table that a program is over. */
export interface ProgramSource {
  readonly name: string
  readonly element: ElementType
  readonly columns: readonly Column[]
  readonly storage?: Storage
  readonly rows: number
}

/** A table with columns added for the results of functions of a text, and the steps that read them. */
export interface WithTextColumns {
  readonly element: ElementType
  readonly columns: readonly Column[]
  readonly steps: readonly Step[]
  /** Whether there are functions of texts found by a lookup, and of texts of a column. */
  readonly found: boolean
  readonly texts: boolean
  /** The columns of texts for whose different texts functions are called. */
  readonly calledFor?: readonly Column[]
  /** The number of columns with answers of lists, which stand before those of functions. */
  readonly lists?: number
}

/** Adds columns for what steps compute from single texts; undefined where they compute none, or it cannot be done. */
export type TextColumns = (table: ProgramSource, steps: readonly Step[]) => WithTextColumns | undefined

export function isProgram(program: ColumnProgram | NotColumns): program is ColumnProgram {
  return 'shape' in program
}

/** The column program of a plan, or why it is none. `texts` adds columns for functions of a text; without it, plans with such are no programs. */
export function columnProgramOf(plan: PhysicalPlan, texts?: TextColumns): ColumnProgram | NotColumns {
  if (plan.keys.kind !== 'rowNumber') return no('its elements have explicit keys')
  if (plan.kind === 'PipelineExec') {
    if (plan.where === 'caller') return no('a function runs on the caller’s thread')
    if (plan.numbered) return no('a function reads row numbers')
    const table = tableOf(plan.input)
    return table === undefined ? no('its rows do not come from a table in memory') : programOver(table, plan.steps, plan.element, texts)
  }
  const table = tableOf(plan)
  return table === undefined ? no('its rows do not come from a table in memory') : programOver(table, [], plan.element)
}

/** Why a pipeline over files would be no program if their rows were a table in memory, in which columns that may not be null have none; undefined where it would be one. */
export function whyNoProgram(
  { input, steps, where, numbered, keys }: Extract<PhysicalPlan, { kind: 'PipelineExec' }>,
  texts: TextColumns,
  mayBeNull: (column: string) => boolean,
): string | undefined {
  if (input.kind !== 'ScanExec') return 'its rows do not come from a file'
  if (where === 'caller') return 'a function runs on the caller’s thread'
  if (numbered) return 'a function reads row numbers'
  if (keys.kind !== 'rowNumber') return 'its elements have explicit keys'
  if (input.element.kind === 'unknown') return 'the types of its columns are not known'
  const columns = fieldsOf(input.element).map(({ name, type, nullable }): Column => {
    const column = emptyColumn(type)
    // of structs it is known when they are read, which they are for their fields
    return nullable && type.kind !== 'struct' && mayBeNull(name) ? { ...column, validity: new Uint8Array() } : column
  })
  const table = { name: input.source.name, element: input.element, columns, rows: 0 }
  const program = programOver(table, steps, { kind: 'unknown' }, texts)
  return isProgram(program) ? undefined : program.because
}

const UNKNOWN: ColumnType = { kind: 'unknown' }

function no(because: string): NotColumns {
  return { because, span: undefined }
}

/** The table of a plan that is a table in memory; undefined for any other plan. */
export function tableOf(plan: PhysicalPlan): ProgramSource | undefined {
  if (plan.kind === 'StoredExec') {
    const { storage, name } = plan
    if (storage.kind !== 'table' || plan.keys.kind !== 'rowNumber') return undefined
    const picked = pickedColumns(storage, plan.columns)
    return picked && { name: `StoredExec ${name}`, ...picked, storage, rows: storage.length }
  }
  if (plan.kind !== 'ScanExec' || plan.source.columns === undefined) return undefined
  const { source } = plan
  const picked = pickedColumns({ element: source.element, columns: plan.source.columns }, plan.columns)
  return picked && { name: `ScanExec ${source.name}`, ...picked, rows: source.rows ?? picked.columns[0]?.length ?? 0 }
}

interface Columns {
  readonly element: ElementType
  readonly columns: readonly Column[]
}

/** The columns of these names, in this order; all where `names` is undefined; undefined where one is missing. */
function pickedColumns({ element, columns }: Columns, names: readonly string[] | undefined): Columns | undefined {
  if (names === undefined) return { element, columns }
  const fields = fieldsOf(element)
  const known = positionsOf(fields)
  const positions = names.map((name) => known.get(name) ?? -1)
  if (positions.includes(-1)) return undefined
  const picked = positions.map((position) => columns[position] as Column) // a column for each field
  if (element.kind !== 'row') return { element, columns: picked }
  return { element: { kind: 'row', fields: positions.map((position) => fields[position] as (typeof fields)[number]) }, columns: picked }
}

function codeKind(column: Column | undefined): Pick<KernelColumn, 'codes' | 'unspelled'> {
  const codes = codesOf(column)
  return codes === undefined || column === undefined ? {} : { codes: kindOf(codes), unspelled: isUnspelled(column) }
}

/** The program of steps over a table, in which fields of structs that are never null are columns. */
function programOver(given: ProgramSource, over: readonly Step[], declared: ElementType, texts?: TextColumns): ColumnProgram | NotColumns {
  const { table, steps } = withStructFields(given, over) ?? { table: given, steps: over }
  const { element, columns, storage, rows } = table
  if (element.kind === 'unknown') return no('the types of its columns are not known')
  const fields = fieldsOf(element)
  const kinds = kernelColumns(columns).map((kind, i) => ({
    ...kind,
    ...codeKind(columns[i]),
    ...(element.kind === 'row' && isOfMissing(fields[i]?.name ?? '') ? { missing: true as const } : {}),
  }))
  const shape = compiled(() => programShape(element, kinds, steps))
  if ('because' in shape) {
    const made = texts?.(table, steps)
    if (made === undefined) return shape
    const program = programOver({ ...table, element: made.element, columns: made.columns }, made.steps, declared)
    if ('because' in program) return program
    const { lists = 0, calledFor = [] } = made
    const ofTexts = made.columns.length - columns.length - lists
    const textsAre = made.found ? (made.texts ? 'both' : 'found') : 'in columns'
    const answers = lists === 0 ? {} : { asksLists: true as const }
    return { ...program, ...answers, ...(ofTexts === 0 ? {} : { ofTexts, textsAre, calledFor }) }
  }
  const name = [table.name, ...steps.map((step) => step.kind)].join(' -> ')
  const program = { element, ...withNothing(columns, kinds, { shape, rows }), ...(storage && { storage }), rows, steps, name }
  // the wide operator above looks at the types of hidden columns
  const own = shape.hidden === undefined ? shape.outputs : shape.outputs.slice(0, shape.payload ?? 0)
  const hidden = shape.outputs.slice(own.length)
  if (own.length === 0) return { ...program, shape }
  const names =
    shape.hidden === undefined
      ? own.map(({ name }) => name)
      : elementNames(
          own.map(({ name }) => name),
          own.length,
        )
  const wanted = fieldsOf(declared)
  const outputs = declared.kind === 'unknown' ? own : wanted.flatMap((field) => own.filter((_, i) => names[i] === field.name))
  if (outputs.length !== own.length) return no('its columns are not those of the plan')
  for (const [i, output] of outputs.entries()) {
    const planned = wanted[i]?.type ?? UNKNOWN
    const actual = output.kind === 'computed' ? computedType(output.type) : (program.columns[output.column]?.type ?? UNKNOWN)
    if (planned.kind !== 'unknown' && !sameType(plainType(planned), plainType(actual)))
      return no(`the plan has ${typeText(planned)} where it has ${typeText(actual)}`)
  }
  return { ...program, shape: { ...shape, outputs: [...outputs, ...hidden] } }
}

/** The columns, with one that holds nothing but null behind the last where an output is that one: of a constant null. */
function withNothing(
  columns: readonly Column[],
  kinds: readonly KernelColumn[],
  { shape, rows }: { readonly shape: ProgramShape; readonly rows: number },
): Pick<ColumnProgram, 'columns' | 'kernelColumns'> {
  const type: ColumnType = { kind: 'null' }
  if (!shape.outputs.some((output) => output.kind === 'column' && output.column === columns.length))
    return { columns, kernelColumns: kinds }
  return { columns: [...columns, { type, length: rows }], kernelColumns: [...kinds, { type, nullable: true }] }
}
