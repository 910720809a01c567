/**
 * Texts that are computed from several columns, or from numbers: once for each combination of values that some row has, where these are
 * few. Each value has a place, as its text's code or its distance from the least number, and a row's places together are a cell.
 *
 *     `${r.town} ${r.year}`     town  Rome Bern Rome    year  1 1 2    -->    of rows  0 1 2    values  Rome 1, Bern 1, Rome 2
 */
import { type Column, isValid } from '../../../../core/data/column.ts'
import { valueReader } from '../../../../core/data/columnReaders.ts'
import { type ElementType, fieldsOf } from '../../../../core/data/schema.ts'
import type { Expr } from '../../../../core/ir/functionIr.ts'
import { isNumberType, type TypeOf } from '../../../../core/ir/irTypes.ts'
import { differentTexts, mostTexts, type TextCodes } from './textCodes.ts'

/** The columns, of those that an expression reads, where it computes a text from texts, numbers and truth values alone; undefined for any other. */
export function severalColumns(
  expr: Expr,
  read: ReadonlySet<string>,
  { element, typeOf }: { readonly element: ElementType; readonly typeOf: TypeOf },
): readonly string[] | undefined {
  // what is looked up is chosen by kernels
  if (!/^(Binary|MethodCall|Call|OfList)$/.test(expr.kind)) return undefined
  if (read.size === 0 || typeOf(expr)?.type.kind !== 'utf8') return undefined
  const fields = fieldsOf(element).filter(({ name }) => read.has(name))
  const areFew = fields.every(({ type }) => type.kind === 'utf8' || type.kind === 'bool' || isNumberType(type))
  return areFew && fields.length === read.size ? [...read] : undefined
}

/** The different combinations: the index of each row's, and for each its first row and its values by name. */
export interface SeveralPlaces {
  readonly ofRows: Int32Array
  readonly firsts: Int32Array
  readonly values: readonly Readonly<Record<string, unknown>>[]
}

/** The most cells, each a combination of places. */
const MOST_CELLS = 2 ** 20
/** The most numbers from the least to the largest. */
const MOST_NUMBERS = 2 ** 16

/** The combinations of named columns' values; undefined where they may be many. `codes` gives the codes of a column of texts. */
export function severalPlaces(
  columns: readonly (readonly [name: string, column: Column])[],
  codes: (column: Column) => TextCodes | undefined,
): SeveralPlaces | undefined {
  const length = columns[0]?.[1].length ?? 0
  const ofRows = new Int32Array(length)
  const readers: (readonly [name: string, read: (row: number) => unknown])[] = []
  let cells = 1
  for (const [name, column] of columns) {
    const own = placesOf(column, codes)
    if (own === undefined) return undefined
    const width = own.count + 1 // the last one is that of null
    if (cells * width > MOST_CELLS) return undefined
    addPlaces(ofRows, column, own)
    cells *= width
    readers.push([name, own.read])
  }
  const firsts = numbered(ofRows, cells)
  if (firsts === undefined) return undefined
  const values = Array.from(firsts, (row) => Object.fromEntries(readers.map(([name, read]) => [name, read(row)])))
  return { ofRows, firsts, values }
}

interface Places {
  /** The number of a row's value, from `least` on; of any value where it is null. */
  readonly of: ArrayLike<number>
  readonly least: number
  readonly count: number
  readonly read: (row: number) => unknown
}

function placesOf(column: Column, codesOf: (column: Column) => TextCodes | undefined): Places | undefined {
  if (column.type.kind === 'utf8') {
    const codes = codesOf(column)
    if (codes === undefined) return undefined
    const text = valueReader(differentTexts(column, codes))
    const read = (row: number): unknown => (isValid(column, row) ? text(codes.codes[row] as number) : null) // a row has a code
    return { of: codes.codes, least: 0, count: codes.firsts.length, read }
  }
  const of = column.values as Float64Array | undefined // or another array of numbers, or of bytes, which is read alike
  const range = of === undefined || scattered.has(column) ? undefined : rangeOf(of, column)
  if (range === undefined) scattered.add(column)
  return range && { ...range, of: of as Float64Array, read: valueReader(column) }
}

/** Columns of numbers that are not whole, or lie far apart. */
const scattered = new WeakSet<Column>()

/** Whether a column of numbers is known to have no places. */
export function areScattered(column: Column): boolean {
  return scattered.has(column)
}

/** The range of whole numbers; undefined where one is no whole number, or is -0, or they lie far apart. */
function rangeOf(numbers: ArrayLike<number>, column: Column): Pick<Places, 'least' | 'count'> | undefined {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let row = 0; row < column.length; row++) {
    if (column.validity !== undefined && !isValid(column, row)) continue
    const number = numbers[row] as number // row < length
    if (!Object.is(number | 0, number)) return undefined
    if (number < least) least = number
    if (number > most) most = number
    if (most - least >= MOST_NUMBERS) return undefined
  }
  return least > most ? { least: 0, count: 0 } : { least, count: most - least + 1 }
}

function addPlaces(cells: Int32Array, column: Column, { of, least, count }: Places): void {
  const width = count + 1
  const { validity, length } = column
  for (let row = 0; row < length; row++) {
    const isNull = validity !== undefined && ((validity[row >> 3] as number) & (1 << (row & 7))) === 0
    cells[row] = (cells[row] as number) * width + (isNull ? count : (of[row] as number) - least) // row < length
  }
}

/** Numbers cells in the order of their first rows, in place; returns these rows, undefined for too many. */
function numbered(cells: Int32Array, count: number): Int32Array | undefined {
  const most = mostTexts(cells.length)
  const numbers = new Int32Array(count).fill(-1)
  const firsts: number[] = []
  for (let row = 0; row < cells.length; row++) {
    const cell = cells[row] as number // row < length
    let number = numbers[cell] as number
    if (number < 0) {
      if (firsts.length === most) return undefined
      numbers[cell] = number = firsts.push(row) - 1
    }
    cells[row] = number
  }
  return Int32Array.from(firsts)
}
