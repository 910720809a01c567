/**
 * Functions of a date, which are computed once for each different day, or for each span of time that they tell apart:
 *
 *     r.day.toISOString()               for each day of a column of days
 *     r.at.toISOString().slice(0, 7)    for each day of a column of timestamps: the first ten characters depend on nothing else
 *
 * Statement: all values of a column within one span of `spanMs`, which begin at multiples of it, give the same result.
 */
import { type Column, isValid } from '../../../../core/data/column.ts'
import { valueReader } from '../../../../core/data/columnReaders.ts'
import { MS_PER_DAY, UNITS } from '../../../../core/data/fixedValues.ts'
import { type ElementType, fieldsOf } from '../../../../core/data/schema.ts'
import { childrenOf, type Expr } from '../../../../core/ir/functionIr.ts'

const MS_PER_HOUR = 3_600_000
const MS_PER_MINUTE = 60_000
/** Instants that are this many milliseconds from 1970 or more have no Date, but for this one. */
const LARGEST_MS = 8.64e15
/** With more different spans than these, or spans this far apart, the function runs row by row. */
const MOST_SPANS = 2 ** 20

/** The spans of the columns of dates of an element: of days, any function is one of the day. */
export function spansOfDays(element: ElementType): ReadonlyMap<string, number> {
  return new Map(fieldsOf(element).flatMap(({ name, type }) => (type.kind === 'date' ? [[name, MS_PER_DAY]] : [])))
}

export function instantsIn(element: ElementType): ReadonlySet<string> {
  return new Set(fieldsOf(element).flatMap(({ name, type }) => (type.kind === 'timestamp' ? [name] : [])))
}

/** The column of timestamps that an expression depends on, by the beginnings of its texts alone; undefined for any other. */
export function spanSource(expr: Expr, instants: ReadonlySet<string>): { readonly column: string; readonly spanMs: number } | undefined {
  const columns = new Set<string>()
  let spanMs = MS_PER_DAY
  let isOther = false
  const visit = (one: Expr): void => {
    const begun = beginningOf(one)
    if (begun !== undefined) {
      columns.add(begun.column)
      spanMs = Math.min(spanMs, begun.spanMs)
    } else if (one.kind === 'Input' || OTHERS.has(one.kind)) isOther = true
    else childrenOf(one).forEach(visit)
  }
  visit(expr)
  const [column, another] = columns
  return isOther || column === undefined || another !== undefined || !instants.has(column) ? undefined : { column, spanMs }
}

const OTHERS: ReadonlySet<Expr['kind']> = new Set([
  ...(['Local', 'Key', 'Read', 'Has', 'Extent', 'Draw', 'ArrayLiteral', 'ObjectLiteral', 'Find', 'Lookup'] as const),
])

/** The column and the span of `r.at.toISOString().slice(0, n)`. A year of more than four digits only moves what follows it to the end. */
function beginningOf(expr: Expr): { readonly column: string; readonly spanMs: number } | undefined {
  if (expr.kind !== 'MethodCall' || (expr.method !== 'slice' && expr.method !== 'substring') || expr.optional) return undefined
  const { object: text, args } = expr
  const [from, to] = args.map((one) => (one.kind === 'Literal' ? one.value : undefined))
  if (text.kind !== 'MethodCall' || text.method !== 'toISOString' || text.optional) return undefined
  const { object: at } = text
  if (at.kind !== 'Field' || at.of.kind !== 'Input' || at.of.argument !== 0 || at.optional) return undefined
  if (typeof from !== 'number' || typeof to !== 'number' || !(from >= 0 && to >= 0)) return undefined
  const end = Math.max(from, to) // substring takes them in either order
  if (end > MINUTES_END) return undefined
  return { column: at.name, spanMs: end <= DAYS_END ? MS_PER_DAY : end <= HOURS_END ? MS_PER_HOUR : MS_PER_MINUTE }
}

/** The lengths of `2024-05-01`, `2024-05-01T10` and `2024-05-01T10:20`. */
const [DAYS_END, HOURS_END, MINUTES_END] = [10, 13, 16]

/** The different spans that rows lie in: the index of each row's, and for each its first row and the value there. */
export interface DatePlaces {
  readonly ofRows: Int32Array
  readonly firsts: Int32Array
  readonly values: readonly unknown[]
}

/** The spans of a column of days or timestamps, one of them for null; undefined where they are many or far apart, or dates are invalid. */
export function datePlaces(column: Column, spanMs: number): DatePlaces | undefined {
  const spans = spansOf(column, spanMs)
  if (spans === undefined) return undefined
  const { of, least, count } = spans
  const places = new Int32Array(count + 1).fill(-1) // the last one is that of null
  const ofRows = new Int32Array(column.length)
  const firsts: number[] = []
  for (let row = 0; row < column.length; row++) {
    const span = isValid(column, row) ? (of[row] as number) - least : count // row < length
    let place = places[span] as number
    if (place < 0) places[span] = place = firsts.push(row) - 1
    ofRows[row] = place
  }
  const read = valueReader(column)
  return { ofRows, firsts: Int32Array.from(firsts), values: firsts.map((row) => read(row)) }
}

interface Spans {
  /** The number of each row's span; of any value where it is null. */
  readonly of: Int32Array
  readonly least: number
  readonly count: number
}

function spansOf(column: Column, spanMs: number): Spans | undefined {
  const of = column.values instanceof Int32Array ? column.values : spansOfInstants(column, spanMs)
  if (of === undefined) return undefined
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let row = 0; row < column.length; row++) {
    if (column.validity !== undefined && !isValid(column, row)) continue
    const span = of[row] as number // row < length
    if (span < least) least = span
    if (span > most) most = span
  }
  if (least > most) return { of, least: 0, count: 0 }
  const isFar = Math.max(-least, most + 1) * spanMs >= LARGEST_MS
  return isFar || most - least >= MOST_SPANS ? undefined : { of, least, count: most - least + 1 }
}

/** The spans of timestamps, whose halves are read as numbers: as a bigint each would be an object. Undefined where one is no i32. */
function spansOfInstants({ type, values, validity, length }: Column, spanMs: number): Int32Array | undefined {
  if (type.kind !== 'timestamp' || !(values instanceof BigInt64Array)) return undefined
  const { perMs, ms } = UNITS[type.unit]
  const span = (spanMs * Number(perMs)) / Number(ms)
  const [low, high] = [
    new Uint32Array(values.buffer, values.byteOffset, 2 * values.length),
    new Int32Array(values.buffer, values.byteOffset, 2 * values.length),
  ]
  const spans = new Int32Array(length)
  for (let row = 0; row < length; row++) {
    const value = (high[2 * row + 1] as number) * 2 ** 32 + (low[2 * row] as number)
    const number = Number.isSafeInteger(value) ? floored(value, span) : Number(flooredBigint(values[row] as bigint, BigInt(span)))
    spans[row] = number
    if (spans[row] !== number && (validity === undefined || ((validity[row >> 3] as number) & (1 << (row & 7))) !== 0)) return undefined
  }
  return spans
}

/** The quotient, rounded down: that of a multiple is exact, where one of doubles may be rounded up to the next whole number. */
function floored(value: number, span: number): number {
  const rest = value % span
  return (value - (rest < 0 ? rest + span : rest)) / span
}

function flooredBigint(value: bigint, span: bigint): bigint {
  const quotient = value / span
  return value < 0n && quotient * span !== value ? quotient - 1n : quotient
}
