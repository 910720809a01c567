/** The outputs of a column program, traced through its steps from the source's columns without writing a kernel. */
import { type ColumnType, type ElementType, fieldsOf, VALUE_COLUMN } from '../../../core/data/schema.ts'
import { Bug } from '../../../core/errors.ts'
import { rowIrOf } from '../../../core/ir/functionUse.ts'
import type { Span } from '../../../core/span.ts'
import type { Step } from '../../../planner/physical/physicalPlan.ts'
import { NotCompiled } from '../expressions/types.ts'
import { isBucketImport } from './columnBuckets.ts'
import { isLocalImport } from './columnCalendar.ts'
import { type ColumnLowering, isAdded, lowerColumns } from './columnLower.ts'
import type { ColumnValue, KernelColumn } from './columnTypes.ts'
import { and, present, truth, validOf } from './columnValues.ts'
import { ColumnWriter } from './columnWriter.ts'
import { keptByProgram } from './keptPrograms.ts'
import { askedAmong, invalidAmong } from './madeDates.ts'
import type { ChosenTexts } from './textPlaces.ts'

/** `utf8` is computed as numbers of entries in the program's dictionary. */
export type ComputedType = 'f64' | 'bool' | 'i32' | 'timestamp' | 'utf8'

/** The type of a column that a kernel has computed. */
export function computedType(kind: ComputedType): ColumnType {
  return kind === 'timestamp' ? { kind, unit: 'ms' } : { kind }
}

/** An output of a program: a computed column, or one of the source. */
export type ProgramOutput =
  /** A computed column: doubles, truth in a byte, chosen texts, or timestamps in ms. `whole`: the doubles can be stored as 32-bit integers. */
  | {
      readonly kind: 'computed'
      readonly name: string
      readonly type: ComputedType
      readonly nullable: boolean
      readonly whole?: true
      /** Whether a text may come from a column, not only from constants. */
      readonly ofColumns?: true
    }
  /** A column of the source, unchanged; the one behind the last holds nothing but null. */
  | { readonly kind: 'column'; readonly name: string; readonly column: number; readonly nullable: boolean }

export interface ProgramShape {
  readonly outputs: readonly ProgramOutput[]
  readonly scalar: boolean
  /** Whether a step drops rows. */
  readonly filters: boolean
  /** Whether steps make Dates that are stored: kernels report invalid ones at `inexact`. */
  readonly dates?: true
  /** Whether a function may throw: kernels report at `inexact` that it does for a row. */
  readonly throws?: true
  /** The texts that the program chooses from. */
  readonly texts?: ChosenTexts
  /** Whether a kernel calls JavaScript for buckets in a time zone, or for methods of Dates in local time, a row at a time. */
  readonly zones?: true
  /** The hidden columns for a wide operator, where the outputs are such: one entry each, with its fields where it is an object. */
  readonly hidden?: readonly HiddenFields[]
  /** The number of leading outputs that belong to the elements, where these are handed on beside hidden columns. */
  readonly payload?: number
}

/** The outputs of a hidden column: one of this name, or one for each field of a key that is an object. */
export type HiddenFields =
  | { readonly kind: 'value'; readonly output: string }
  | { readonly kind: 'object'; readonly fields: readonly { readonly name: string; readonly output: string }[] }

export type NotColumns = { readonly because: string; readonly span: Span | undefined }

/** Runs a compilation; a NotCompiled that it throws becomes the reason that is returned. */
export function compiled<T>(compile: () => T): T | NotColumns {
  try {
    return compile()
  } catch (error) {
    if (error instanceof NotCompiled) return { because: error.message, span: error.span }
    throw error
  }
}

interface Traced {
  readonly writer: ColumnWriter
  readonly result: ColumnValue
  /** The mask of lanes that every filter keeps; undefined where there is no filter. */
  readonly kept: number | undefined
  readonly hidden?: readonly HiddenFields[]
  readonly payload?: ColumnValue
  /** Masks of the lanes in which a Date that a step stores is invalid, or a function throws. */
  readonly invalid: readonly number[]
  readonly dates: boolean
  readonly throws: boolean
}

/** Traces the steps for four rows, from the source's element to the result. */
export function trace(element: ElementType, columns: readonly KernelColumn[], steps: readonly Step[]): Traced {
  const writer = new ColumnWriter(columns)
  const columnNames = fieldsOf(element).map((field) => field.name)
  const names = columnNames.filter((name) => !isAdded(name))
  let value: ColumnValue =
    element.kind === 'scalar' ? writer.column(0) : { kind: 'row', names, of: (name) => writer.column(columnNames.indexOf(name)) }
  let kept: number | undefined
  let hidden: readonly HiddenFields[] | undefined
  let payload: ColumnValue | undefined
  const invalid: number[] = []
  let [dates, throws] = [false, false]
  const returned = (f: RowFunction, element: ColumnValue, how: ColumnLowering = {}): ColumnValue => {
    const result = loweredResult(writer, f, element, how)
    const thrown = writer.thrown.splice(0)
    if (thrown.length > 0) invalid.push(askedAmong(writer, thrown, kept))
    throws ||= thrown.length > 0
    return result
  }
  const stored = (value: ColumnValue): ColumnValue => {
    const made = partsOf(value).flatMap((part) => (part.kind === 'date' ? [part] : []))
    if (made.length > 0) invalid.push(invalidAmong(writer, made, kept))
    dates ||= made.length > 0
    return withoutMissing(value)
  }
  for (const step of steps) {
    if (hidden !== undefined) throw new NotCompiled(`${step.kind} takes hidden columns`)
    switch (step.kind) {
      case 'FilterExec':
        kept = and(writer, kept, truth(writer, returned(step.f, value, { truth: true })))
        writer.needed = kept
        break
      case 'MapExec':
        value = stored(returned(step.f, value))
        break
      case 'WithColumnsExec':
        value = extended(value, stored(returned(step.f, value)))
        break
      case 'ProjectExec':
        value = picked(value, step.columns)
        break
      case 'EvaluateExec': {
        if (step.axis !== undefined) throw new NotCompiled('it takes keys of an axis')
        const element = value
        const columns = step.columns.map(({ f, use }) =>
          stored(returned(f, element, { arrays: use === 'match' || use === 'order' || use === 'part' })),
        )
        hidden = columns.map(hiddenFields)
        value = flattened(columns, hidden)
        if (step.payload !== false) payload = step.payload === true ? element : picked(element, step.payload)
        break
      }
      default:
        throw new NotCompiled(`${step.kind} is no column program`)
    }
  }
  if (payload !== undefined) value = beside(payload, value)
  return {
    writer,
    result: value,
    kept,
    invalid,
    dates,
    throws,
    ...(hidden === undefined ? {} : { hidden }),
    ...(payload === undefined ? {} : { payload }),
  }
}

/** Makes undefined null, as it is once it is stored. */
function withoutMissing(value: ColumnValue): ColumnValue {
  return value.kind === 'row' ? { ...value, of: (name) => present(value.of(name)) } : present(value)
}

/** The values of the columns in which a value is stored. */
function partsOf(value: ColumnValue): readonly ColumnValue[] {
  return value.kind === 'row' ? value.names.map((name) => value.of(name)) : [value]
}

const NO_COLUMNS: ColumnValue = {
  kind: 'row',
  names: [],
  of: (name) => {
    throw new Bug(`Elements without columns were asked for ${name}.`)
  },
}

function picked(row: ColumnValue, names: readonly string[]): ColumnValue {
  if (names.length === 0) return NO_COLUMNS // of elements that are counted, whatever they are
  if (row.kind !== 'row') throw new NotCompiled('it takes columns of what is no row')
  return { kind: 'row', names, of: row.of }
}

/** Combines the columns of elements, renamed apart from hidden columns, with the hidden columns. */
function beside(element: ColumnValue, hidden: ColumnValue): ColumnValue {
  if (hidden.kind !== 'row') return hidden
  const names = namesOf(element)
  const of = (name: string): ColumnValue => {
    if (!name.startsWith(ELEMENT)) return hidden.of(name)
    return element.kind === 'row' ? element.of(name.slice(ELEMENT.length)) : element
  }
  return { kind: 'row', names: [...names.map((name) => ELEMENT + name), ...hidden.names], of }
}

/** The prefix of the elements' columns; names of hidden columns begin with a digit. */
const ELEMENT = 'element.'

/** Restores the elements' own names of their columns, the first `payload` outputs of a program. */
export function elementNames(outputs: readonly string[], payload: number): readonly string[] {
  return outputs.slice(0, payload).map((name) => name.slice(ELEMENT.length))
}

function namesOf(element: ColumnValue): readonly string[] {
  return element.kind === 'row' ? element.names : [VALUE_COLUMN]
}

function hiddenFields(column: ColumnValue, i: number): HiddenFields {
  if (column.kind !== 'row') return { kind: 'value', output: String(i) }
  return { kind: 'object', fields: column.names.map((name) => ({ name, output: `${i}.${name}` })) }
}

/** Combines hidden columns into one row, with each field of an object as a column. */
function flattened(columns: readonly ColumnValue[], hidden: readonly HiddenFields[]): ColumnValue {
  const parts = new Map<string, () => ColumnValue>()
  for (const [i, shape] of hidden.entries()) {
    const column = columns[i] as ColumnValue // a shape for each
    if (shape.kind === 'value') parts.set(shape.output, () => column)
    else if (column.kind === 'row') for (const { name, output } of shape.fields) parts.set(output, () => column.of(name))
  }
  return { kind: 'row', names: [...parts.keys()], of: (name) => (parts.get(name) as () => ColumnValue)() } // one of the names
}

type RowFunction = Extract<Step, { kind: 'MapExec' }>['f']

function loweredResult(writer: ColumnWriter, f: RowFunction, element: ColumnValue, how: ColumnLowering): ColumnValue {
  const ir = rowIrOf(f)
  if (ir === undefined) throw new NotCompiled('it could not be analysed', f.span)
  return lowerColumns(writer, ir, element, how)
}

function extended(row: ColumnValue, added: ColumnValue): ColumnValue {
  if (row.kind !== 'row' || added.kind !== 'row') throw new NotCompiled('it adds columns to what is no row')
  const names = [...row.names, ...added.names.filter((name) => !row.names.includes(name))]
  return { kind: 'row', names, of: (name) => (added.names.includes(name) ? added.of(name) : row.of(name)) }
}

/** Traces the steps and returns their outputs. Throws NotCompiled where a step cannot be compiled. */
export const programShape: typeof makeShape = keptByProgram(makeShape)

function makeShape(element: ElementType, columns: readonly KernelColumn[], steps: readonly Step[]): ProgramShape {
  const { writer, result, kept, hidden, payload, dates, throws } = trace(element, columns, steps)
  const outputs =
    result.kind === 'row' ? result.names.map((name) => outputOf(writer, name, result.of(name))) : [outputOf(writer, VALUE_COLUMN, result)]
  return {
    outputs,
    scalar: (payload ?? result).kind !== 'row',
    filters: kept !== undefined,
    ...(dates ? { dates } : {}),
    ...(throws ? { throws } : {}),
    ...(outputs.some(isChosenText) || writer.chosenColumns.size > 0 ? { texts: chosenTexts(writer) } : {}),
    ...(writer.functions.some((name) => isBucketImport(name) || isLocalImport(name)) ? { zones: true as const } : {}),
    ...(hidden === undefined ? {} : { hidden }),
    ...(payload === undefined ? {} : { payload: namesOf(payload).length }),
  }
}

function isChosenText(output: ProgramOutput): boolean {
  return output.kind === 'computed' && output.type === 'utf8'
}

function chosenTexts({ textConstants, chosenColumns }: ColumnWriter): ChosenTexts {
  if (!textConstants.every(isStored)) throw new NotCompiled('it gives a text with half of a surrogate pair')
  return { constants: [...textConstants].reverse(), columns: [...chosenColumns].sort((a, b) => a - b) }
}

/** Whether a text survives UTF-8: lone surrogates would all become the same bytes. */
function isStored(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}

function outputOf(writer: ColumnWriter, name: string, value: ColumnValue): ProgramOutput {
  const nullable = validOf(writer, value) !== undefined
  switch (value.kind) {
    case 'f64':
    case 'i32':
      if (value.column !== undefined) return { kind: 'column', name, column: value.column, nullable }
      return { kind: 'computed', name, type: 'f64', nullable, ...(value.kind === 'i32' ? { whole: true as const } : {}) }
    case 'bool':
      if (value.column !== undefined) return { kind: 'column', name, column: value.column, nullable }
      return { kind: 'computed', name, type: 'bool', nullable }
    case 'i64':
      if (value.column !== undefined) return { kind: 'column', name, column: value.column, nullable }
      throw new NotCompiled('it computes bigints')
    case 'date':
      return { kind: 'computed', name, type: 'timestamp', nullable }
    case 'other':
      return { kind: 'column', name, column: value.column, nullable }
    case 'text':
      return { kind: 'computed', name, type: 'utf8', nullable, ...(value.columns.length === 0 ? {} : { ofColumns: true as const }) }
    case 'constant':
      if (typeof value.value === 'string') return { kind: 'computed', name, type: 'utf8', nullable }
      if (typeof value.value === 'bigint') throw new NotCompiled('it returns a bigint')
      return { kind: 'column', name, column: value.column ?? writer.columnCount, nullable: true } // of nothing but null
    case 'row':
      throw new NotCompiled('it returns an object in an object')
  }
}
