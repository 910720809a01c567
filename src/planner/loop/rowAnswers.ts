/** Questions that a loop's body may ask of the texts, dates and nulls of its rows (`rowQuestions.ts`), and the arrays of their answers. */
import type { DistArray } from '../../core/arrays/distArray.ts'

export type RowQuestion =
  /** `row.column === value`. */
  | { readonly kind: 'equals'; readonly column: string; readonly value: string | null }
  /** A method of a date without arguments, as `getUTCDay`. */
  | { readonly kind: 'date'; readonly column: string; readonly method: string }
  /** A method of a text with another text as argument, as `startsWith`. */
  | { readonly kind: 'text'; readonly column: string; readonly method: string; readonly text: string }
  /** `row.column ?? value`, where the column and the value are numbers. */
  | { readonly kind: 'or'; readonly column: string; readonly value: number }
  /** Whether a collection has `row.column`; with `numbers`, the number that a map has for it, or 0. */
  | { readonly kind: 'among'; readonly column: string; readonly texts: readonly string[]; readonly numbers?: readonly number[] }

type Rows = DistArray<Record<string, never>>

/** Returns a lazy array with the answer for each row of the table. */
export function answersOf(rows: Rows, question: RowQuestion): object {
  const { kind, column } = question
  switch (kind) {
    case 'equals':
      return rows.map((row, _, env) => row[env.column] === env.value, { env: { column, value: question.value } })
    case 'date':
      return (DATES.get(question.method) as OfDates)(rows, column) // `isDateMethod` has found the method
    case 'text':
      return (TEXTS.get(question.method) as OfTexts)(rows, column, question.text)
    case 'or':
      return rows.map((row, _, env) => row[env.column] ?? env.value, { env: { column, value: question.value } })
    case 'among': {
      const { texts, numbers } = question
      if (numbers === undefined)
        return rows.map((row, _, env) => env.texts.has(row[env.column]), { env: { column, texts: new Set<unknown>(texts) } })
      const found = new Map<unknown, number>(texts.map((text, i) => [text, numbers[i] as number])) // one number for each text
      return rows.map((row, _, env) => env.found.get(row[env.column]) ?? 0, { env: { column, found } })
    }
  }
}

/** Returns the same text for the same question. JSON writes NaN and the infinities as null, and -0 as 0. */
export function questionId(question: RowQuestion): string {
  if (question.kind === 'among') {
    const numbers = question.numbers?.map((value) => (Object.is(value, -0) ? '-0' : String(value)))
    return JSON.stringify({ ...question, numbers })
  }
  if (question.kind !== 'or') return JSON.stringify(question)
  const { kind, column, value } = question
  return JSON.stringify([kind, column, Object.is(value, -0) ? '-0' : String(value)])
}

/** Returns the name of an array of answers. */
export function answerName(question: RowQuestion): string {
  const word = (text: string): string => text.replaceAll(/\W+/g, '_').slice(0, 20)
  switch (question.kind) {
    case 'equals':
      return `${word(question.column)}_is_${word(String(question.value))}`
    case 'date':
      return `${word(question.column)}_${question.method}`
    case 'text':
      return `${word(question.column)}_${question.method}_${word(question.text)}`
    case 'or':
      return `${word(question.column)}_or_${word(String(question.value))}`
    case 'among':
      return `${word(question.column)}_${question.numbers === undefined ? 'among' : 'of'}_${word(question.texts.slice(0, 2).join('_'))}`
  }
}

type OfDates = (rows: Rows, column: string) => object
type OfDate = (row: Record<string, Date>, _: unknown, env: { readonly column: string }) => number
const ofDate =
  (f: OfDate): OfDates =>
  (rows, column) =>
    rows.map(f as never, { env: { column } })

/** Date methods, each in a function of its own, since a kernel is compiled from the source of the function. */
const DATES: ReadonlyMap<string, OfDates> = new Map([
  ['getTime', ofDate((row, _, env) => (row[env.column] as Date).getTime())],
  ['getUTCFullYear', ofDate((row, _, env) => (row[env.column] as Date).getUTCFullYear())],
  ['getUTCMonth', ofDate((row, _, env) => (row[env.column] as Date).getUTCMonth())],
  ['getUTCDate', ofDate((row, _, env) => (row[env.column] as Date).getUTCDate())],
  ['getUTCDay', ofDate((row, _, env) => (row[env.column] as Date).getUTCDay())],
  ['getUTCHours', ofDate((row, _, env) => (row[env.column] as Date).getUTCHours())],
  ['getUTCMinutes', ofDate((row, _, env) => (row[env.column] as Date).getUTCMinutes())],
  ['getUTCSeconds', ofDate((row, _, env) => (row[env.column] as Date).getUTCSeconds())],
  ['getUTCMilliseconds', ofDate((row, _, env) => (row[env.column] as Date).getUTCMilliseconds())],
])

type OfTexts = (rows: Rows, column: string, text: string) => object
type OfText = (row: Record<string, string>, _: unknown, env: { readonly column: string; readonly text: string }) => boolean
const ofText =
  (f: OfText): OfTexts =>
  (rows, column, text) =>
    rows.map(f as never, { env: { column, text } })

const TEXTS: ReadonlyMap<string, OfTexts> = new Map([
  ['startsWith', ofText((row, _, env) => (row[env.column] as string).startsWith(env.text))],
  ['endsWith', ofText((row, _, env) => (row[env.column] as string).endsWith(env.text))],
  ['includes', ofText((row, _, env) => (row[env.column] as string).includes(env.text))],
])

export function isDateMethod(method: string): boolean {
  return DATES.has(method)
}

export function isTextMethod(method: string): boolean {
  return TEXTS.has(method)
}
