/**
 * Texts that a row lambda looks up by a number in a captured list, Map or object. An expression over such a text is computed once
 * for each of the texts, as over a column of text, and gathered by the place of each row's number.
 *
 *     labels[r.kind].toUpperCase()      labels  'a' 'b'      of each text  'A' 'B'      kind 1 0 1   -->   'B' 'A' 'B'
 */
import { type Column, isValid } from '../../../../core/data/column.ts'
import { childrenOf, type Expr, type FunctionIr } from '../../../../core/ir/functionIr.ts'
import { exprId } from '../../../../core/ir/irFacts.ts'
import { keyIndexOf } from '../../../kernels/columns/keyIndex.ts'

export interface FoundText {
  readonly expr: Extract<Expr, { kind: 'Lookup' | 'Find' }>
  readonly texts: readonly string[]
  /** For a `Find`, the keys of the texts. */
  readonly keys?: readonly unknown[]
}

/** A column of texts, of numbers by which texts are found, or of dates. */
export interface Source {
  readonly column: string
  /** For dates: the milliseconds of a span within which all give the same result (`dateValues.ts`). */
  readonly spanMs?: number
  readonly found?: FoundText
  /** All columns, of a text that is computed from several, or from numbers. */
  readonly several?: readonly string[]
}

/** The kinds of expressions that show a dependence on more than the text that is found. */
const OTHERS: ReadonlySet<Expr['kind']> = new Set([
  ...(['Input', 'Local', 'Key', 'Read', 'Has', 'Extent', 'Draw', 'ArrayLiteral', 'ObjectLiteral', 'Find', 'Lookup'] as const),
])

/** With more texts than these the function runs row by row: finding the different ones would take longer. */
const MOST_TEXTS = 2 ** 17

/** The number's column and the texts, where an expression depends on nothing but one text that is found; else undefined. */
export function foundSource(expr: Expr, ir: FunctionIr, numbers: ReadonlySet<string>): Source | undefined {
  const found = new Map<string, Extract<Expr, { kind: 'Lookup' | 'Find' }>>()
  let isOther = false
  const visit = (one: Expr): void => {
    if (isFound(one)) found.set(exprId(one), one)
    else if (OTHERS.has(one.kind)) isOther = true
    else childrenOf(one).forEach(visit)
  }
  visit(expr)
  const [only, ...more] = found.values()
  if (isOther || only === undefined || more.length > 0) return undefined
  const key = only.kind === 'Lookup' ? only.index : only.key
  if (key.kind !== 'Field' || key.of.kind !== 'Input' || key.of.argument !== 0 || !numbers.has(key.name)) return undefined
  const tableOf = (name: string | undefined): readonly unknown[] | undefined => {
    const value = ir.tables.find((table) => table.name === name)?.value
    return Array.isArray(value) && value.length <= MOST_TEXTS ? value : undefined
  }
  const texts = tableOf(only.kind === 'Lookup' ? only.table : only.values)
  const keys = only.kind === 'Find' ? tableOf(only.keys) : undefined
  if (texts === undefined || texts.length === 0 || !texts.every((text) => typeof text === 'string')) return undefined
  if (only.kind === 'Find' && keys === undefined) return undefined
  return { column: key.name, found: { expr: only, texts, ...(keys === undefined ? {} : { keys }) } }
}

function isFound(expr: Expr): expr is Extract<Expr, { kind: 'Lookup' | 'Find' }> {
  return expr.kind === 'Lookup'
    ? expr.index.kind === 'Field'
    : expr.kind === 'Find' && expr.values !== undefined && expr.key.kind === 'Field'
}

/** The different texts that rows find: the index of each row's text, and for each text its first row and the text itself. */
export interface FoundPlaces {
  readonly ofRows: Int32Array
  readonly firsts: Int32Array
  /** Has undefined among them where some row finds no text. */
  readonly texts: readonly (string | undefined)[]
}

export function foundPlaces({ expr, texts, keys }: FoundText, column: Column): FoundPlaces {
  const placeOf = keys === undefined ? inList(texts.length) : among(keys, expr.kind === 'Find' && expr.of !== 'keyed')
  const numberOf = new Int32Array(texts.length + 1).fill(-1)
  const firsts: number[] = []
  const found: (string | undefined)[] = []
  const ofRows = new Int32Array(column.length)
  const values = column.values as Float64Array // or another array of numbers, which is read alike
  const none = texts.length
  for (let i = 0; i < column.length; i++) {
    const place = placeOf(isValid(column, i) ? (values[i] as number) : null) ?? none
    let number = numberOf[place] as number // one of the places, or the one behind them
    if (number < 0) {
      number = firsts.push(i) - 1
      found.push(texts[place])
      numberOf[place] = number
    }
    ofRows[i] = number
  }
  return { ofRows, firsts: Int32Array.from(firsts), texts: found }
}

type PlaceOf = (key: number | null) => number | undefined

function inList(length: number): PlaceOf {
  return (index) => (index !== null && index >= 0 && index < length && Number.isInteger(index) ? index : undefined)
}

/** Finds a key's place: by direct index where the keys are numbers in a dense range, else by a Map. */
function among(keys: readonly unknown[], asTexts: boolean): PlaceOf {
  const known = new Map<unknown, number>()
  for (const [place, key] of keys.entries()) if (!known.has(key)) known.set(key, place)
  if (asTexts) return (key) => known.get(String(key))
  const numbers = new Map([...known].filter((entry): entry is [number, number] => typeof entry[0] === 'number'))
  const index = numbers.size === known.size && !numbers.has(Number.NaN) ? keyIndexOf(numbers) : undefined
  if (index?.kind !== 'direct') return (key) => known.get(key)
  const { least, places } = index
  return (key) => {
    // the difference of a key that is not whole may be rounded to a whole number, as of 1e-17 and -1
    const place = Number.isInteger(key) ? (places[(key as number) - least] ?? -1) : -1
    return place < 0 ? undefined : place
  }
}
