/**
 * Columns of functions of a text: the results of a function for each different text of a column with codes, gathered by the codes.
 *
 *     city      'Rome '  'Bern'  'Rome '     codes  0 1 0
 *     city.trim().length  of each text       4 4     -->   4 4 4
 */
import type { Column } from '../../../../core/data/column.ts'
import { columnFromValues } from '../../../../core/data/columnBuilder.ts'
import { valueReader } from '../../../../core/data/columnReaders.ts'
import { emptyColumn, takeColumn } from '../../../../core/data/columnSlices.ts'
import { type ElementType, fieldsOf } from '../../../../core/data/schema.ts'
import type { Step } from '../../../../planner/physical/physicalPlan.ts'
import { isOfMissing } from '../../../kernels/columns/columnLower.ts'
import type { Arena } from '../../../memory/arena.ts'
import type { Block } from '../../block.ts'
import { callable } from '../../operators/rows/rowKernel.ts'
import type { ProgramSource, TextColumns, WithTextColumns } from '../columnProgram.ts'
import { listAnswersOf, plannedAnswers, withAnswers } from '../lists/listAnswers.ts'
import { ResultBlocks } from '../resultBlocks.ts'
import { codesNow, mayHaveCodes } from './codesOnDemand.ts'
import { datePlaces } from './dateValues.ts'
import { type FoundText, foundPlaces } from './foundTexts.ts'
import { areScattered, severalPlaces } from './severalColumns.ts'
import { codesOfUnspelled, unspelled } from './spelledTexts.ts'
import { type Codes, codesOf, differentTexts, emptyCodes, giveCodes, type TextCodes } from './textCodes.ts'
import { type TextFunction, textFunctionsOf, typeOfTextFunction } from './textFunctions.ts'

/** The columns of functions of a text and of answers of lists for explain(), without values; undefined where a column is known to have too many different texts. */
export const plannedTextColumns: TextColumns = (given, asking) => {
  const lists = listAnswersOf(given, asking)
  const { answers, steps } = lists ?? { answers: [], steps: asking }
  const table = answers.length === 0 ? given : withAnswers(given, answers, plannedAnswers(answers))
  const element = withKnownNulls(table)
  const found = textFunctionsOf(element, steps)
  if (found === undefined)
    return lists && { element: table.element, columns: table.columns, steps, found: false, texts: false, lists: answers.length }
  const made: Made[] = []
  const calledFor = new Set<Column>()
  for (const f of found.functions) {
    const type = typeOfTextFunction(f, element)
    const given = f.found !== undefined || f.spanMs !== undefined ? [] : columnsOf(f, table).map(([, column]) => column)
    if (!given.every((column) => mayBeFew(column, table))) return undefined
    for (const column of given) if (column.type.kind === 'utf8') calledFor.add(column)
    if (f.isUnread) continue
    if (type === undefined) return undefined
    const empty = emptyColumn(type.type)
    made.push({ f, column: type.nullable ? { ...empty, validity: new Uint8Array() } : empty })
  }
  return { ...withColumns(table, made, found.steps), calledFor: [...calledFor], lists: answers.length }
}

/** The columns with values, in blocks that `keep` takes over; undefined where a column of text gets no codes, or a function throws. */
export function madeTextColumns(arena: Arena, keep: (blocks: readonly Block[]) => void): TextColumns {
  return (table, steps) => {
    const found = textFunctionsOf(withKnownNulls(table), steps)
    if (found === undefined) return undefined
    const blocks = new ResultBlocks(arena, 'functions of texts')
    try {
      const made: Made[] = []
      for (const f of found.functions) {
        const column = functionColumn(f, columnsOf(f, table), (text) => codesNow(text, table, arena), blocks)
        if (column === undefined) {
          blocks.freeAll()
          return undefined
        }
        if (!f.isUnread) made.push({ f, column })
      }
      keep(blocks.handedOver())
      return withColumns(table, made, found.steps)
    } catch (error) {
      blocks.freeAll()
      throw error
    }
  }
}

interface Made {
  readonly f: TextFunction
  readonly column: Column
}

function withColumns({ element, columns }: ProgramSource, made: readonly Made[], steps: readonly Step[]): WithTextColumns {
  const fields = made.map(({ f, column }) => ({ name: f.name, type: column.type, nullable: column.validity !== undefined }))
  return {
    element: { kind: 'row', fields: [...fieldsOf(element), ...fields] },
    columns: [...columns, ...made.map(({ column }) => column)],
    steps,
    found: made.some(({ f }) => f.found !== undefined),
    texts: made.some(({ f }) => f.found === undefined),
  }
}

/** The type of rows in which columns without a bitmap cannot be null: null and a number would add up to a number, not to a text. */
function withKnownNulls({ element, columns }: ProgramSource): ElementType {
  if (element.kind !== 'row') return element
  const fields = element.fields.map((field, i) => ({ ...field, nullable: field.nullable && columns[i]?.validity !== undefined }))
  return { ...element, fields }
}

type Named = readonly [name: string, column: Column]

/** The columns that a function is of. */
function columnsOf({ column, several = [column] }: TextFunction, { element, columns }: ProgramSource): readonly Named[] {
  const fields = fieldsOf(element)
  return several.map((name) => [name, columns[fields.findIndex((field) => field.name === name)] as Column]) // a function is of some of them
}

/** Whether a column may have few different values: one of texts has codes, or gets some, maybe when its values are known. */
function mayBeFew(column: Column, table: ProgramSource): boolean {
  if (column.type.kind !== 'utf8') return !areScattered(column)
  return column.length === 0 || codesOf(column) !== undefined || mayHaveCodes(column, table)
}

/** The index of each row's text among the different texts: its code, or for null the index behind them. */
interface Places {
  readonly ofRows: Codes
  /** The first row of each text. */
  readonly firsts: Int32Array
  /** The first row without a text; -1 where all have one. */
  readonly firstNull: number
}

/** The column of a function; undefined where its argument has too many values, and as for `textColumn`. */
function functionColumn(
  f: TextFunction,
  columns: readonly Named[],
  codes: (text: Column) => TextCodes | undefined,
  blocks: ResultBlocks,
): Column | undefined {
  if (f.several !== undefined) {
    const several = severalPlaces(columns, codes)
    return several && textColumn(f, several.values, { ...several, firstNull: -1 }, blocks)
  }
  const [, given] = columns[0] as Named // the only one
  if (f.found !== undefined) return ofFound(f, f.found, given, blocks)
  if (f.spanMs === undefined) return ofTexts(f, given, codes(given), blocks)
  const dates = datePlaces(given, f.spanMs)
  return dates && textColumn(f, dates.values, { ...dates, firstNull: -1 }, blocks)
}

/** The column of a function of a column's texts; undefined where they have no codes, and as for `textColumn`. */
function ofTexts(f: TextFunction, text: Column, codes: TextCodes | undefined, blocks: ResultBlocks): Column | undefined {
  if (codes === undefined) return undefined
  const places = placesOf(text, codes)
  const read = valueReader(differentTexts(text, codes))
  const texts = Array.from(places.firsts.keys(), (code) => read(code))
  return textColumn(f, places.firstNull < 0 ? texts : [...texts, null], places, blocks)
}

/** The column of a function of texts that are looked up for a column's numbers. */
function ofFound(f: TextFunction, found: FoundText, numbers: Column, blocks: ResultBlocks): Column | undefined {
  const { texts, ...places } = foundPlaces(found, numbers)
  return textColumn(f, texts, { ...places, firstNull: -1 }, blocks)
}

/** The column of one function; undefined where the function throws, or its results are of types that no such column holds. */
function textColumn(f: TextFunction, given: readonly unknown[], places: Places, blocks: ResultBlocks): Column | undefined {
  const results = resultsOf(f, given)
  if (f.isUnread) return results && emptyColumn({ kind: 'null' }) // it did not throw
  const entries = results && entriesOf(results)
  if (results === undefined || entries === undefined) return undefined
  const isText = entries.type.kind === 'utf8'
  const texts = isText ? textsOfResults(results, entries, places, blocks) : undefined
  const values = texts?.column ?? fixed(entries, places, blocks)
  const column = results.includes(null) ? { ...values, validity: validityOf(results, places, blocks) } : values
  if (texts !== undefined) giveCodes(column, texts.codes)
  return column
}

function validityOf(results: readonly unknown[], { ofRows }: Places, blocks: ResultBlocks): Uint8Array {
  const validity = blocks.emptyBits(ofRows.length)
  const present = Uint8Array.from(results, (result) => (result === null ? 0 : 1))
  for (let i = 0; i < ofRows.length; i++) {
    const bit = (present[ofRows[i] as number] as number) << (i & 7) // a place has a result
    validity[i >> 3] = (validity[i >> 3] as number) | bit
  }
  return validity
}

function placesOf(text: Column, { codes, firsts }: TextCodes): Places {
  const { validity, length } = text
  if (validity === undefined) return { ofRows: codes, firsts, firstNull: -1 }
  const ofRows = Int32Array.from(codes)
  let firstNull = -1
  for (let i = length - 1; i >= 0; i--) {
    if (((validity[i >> 3] as number) & (1 << (i & 7))) !== 0) continue // i < length
    ofRows[i] = firsts.length
    firstNull = i
  }
  return firstNull < 0 ? { ofRows: codes, firsts, firstNull } : { ofRows, firsts, firstNull }
}

/** The result of the function for each text; undefined where it throws, or returns undefined and its use tells that from null. */
function resultsOf(f: TextFunction, texts: readonly unknown[]): readonly unknown[] | undefined {
  const [call, ...guards] = [f.ir, ...f.guards].map((ir) => callable({ ir, text: f.name, span: ir.span, refusals: [] }))
  const resultOf = (value: unknown): unknown => (guards.every((guard) => guard(value)) ? call?.(value) : null)
  const results: unknown[] = []
  try {
    for (const text of texts) results.push(resultOf(text))
  } catch {
    return undefined // a step before it may drop the rows of such a text; over rows it throws only where it is reached
  }
  if (!f.isStored && !isOfMissing(f.name) && results.includes(undefined)) return undefined
  return results.map((result) => result ?? null)
}

/** The results as a column; undefined unless all are numbers, booleans, texts without lone surrogates or valid Dates, of one kind. */
function entriesOf(results: readonly unknown[]): Column | undefined {
  const kinds = new Set(results.flatMap((result) => (result === null ? [] : [kindOfResult(result)])))
  const [kind] = kinds
  if (kinds.size !== 1 || !(kind === 'number' || kind === 'boolean' || kind === 'string' || kind === 'Date')) return undefined
  if (kind === 'string' && results.some((result) => typeof result === 'string' && /\p{Surrogate}/u.test(result))) return undefined
  return columnFromValues(results)
}

function kindOfResult(result: unknown): string {
  if (!(result instanceof Date)) return typeof result
  return Number.isNaN(result.getTime()) ? 'an invalid Date' : 'Date'
}

function fixed(entries: Column, { ofRows }: Places, blocks: ResultBlocks): Column {
  const { kind } = entries.type
  const column = blocks.column(kind === 'bool' || kind === 'timestamp' ? kind : 'f64', ofRows.length, { nullable: false })
  const [to, from] = [column.values, entries.values] as [Float64Array, Float64Array] // or bytes, or bigints, which are read and written alike
  for (let i = 0; i < ofRows.length; i++) to[i] = from[ofRows[i] as number] as number // a place has an entry
  return column
}

/** The column of results that are texts, dictionary encoded in the order of their first rows. */
function textsOfResults(
  results: readonly unknown[],
  entries: Column,
  { ofRows, firsts, firstNull }: Places,
  blocks: ResultBlocks,
): { readonly column: Column; readonly codes: TextCodes } {
  const rows = [...firsts, ...(firstNull < 0 ? [] : [firstNull])]
  const inOrder = results.map((_, place) => place).sort((a, b) => (rows[a] as number) - (rows[b] as number)) // a place has a first row
  const codeOf = new Map<unknown, number>()
  const own: number[] = []
  const different: number[] = []
  const codeOfPlace = new Int32Array(results.length)
  for (const place of inOrder) {
    const result = results[place]
    if (result === null) continue
    let code = codeOf.get(result)
    if (code === undefined) {
      code = own.push(rows[place] as number) - 1
      different.push(place)
      codeOf.set(result, code)
    }
    codeOfPlace[place] = code
  }
  const codes = blocks.like(emptyCodes(own.length), ofRows.length)
  for (let i = 0; i < ofRows.length; i++) codes[i] = codeOfPlace[ofRows[i] as number] as number // a place has a code
  const { column, texts } = unspelled(codes, takeColumn(entries, Int32Array.from(different)), blocks)
  return { column, codes: codesOfUnspelled(column, Int32Array.from(own), texts) }
}
