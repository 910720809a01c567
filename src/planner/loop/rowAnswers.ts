/** Arrays of what a loop's body asks of the texts, dates and nulls of its rows (`rowQuestions.ts`). */
import type { DistArray } from '../../core/arrays/distArray.ts'
import type { DateMethod, RowQuestion, TextMethod } from './rowQuestions.ts'

type Rows = DistArray<Record<string, never>>

/** The answers for each row of the table. */
export function answersOf(rows: Rows, question: RowQuestion): object {
  const { kind, column } = question
  switch (kind) {
    case 'equals':
      return rows.map((row, _, env) => row[env.column] === env.value, { env: { column, value: question.value } })
    case 'date':
      return DATES[question.method](rows, column)
    case 'text':
      return TEXTS[question.method](rows, column, question.text)
    case 'or':
      return rows.map((row, _, env) => row[env.column] ?? env.value, { env: { column, value: question.value } })
  }
}

/** What an array of answers is called. */
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
  }
}

type OfDate = (row: Record<string, Date>, _: unknown, env: { readonly column: string }) => number
const ofDate =
  (f: OfDate) =>
  (rows: Rows, column: string): object =>
    rows.map(f as never, { env: { column } })

/** A function each: kernels read what a function calls. */
const DATES: { readonly [M in DateMethod]: (rows: Rows, column: string) => object } = {
  getTime: ofDate((row, _, env) => (row[env.column] as Date).getTime()),
  getUTCFullYear: ofDate((row, _, env) => (row[env.column] as Date).getUTCFullYear()),
  getUTCMonth: ofDate((row, _, env) => (row[env.column] as Date).getUTCMonth()),
  getUTCDate: ofDate((row, _, env) => (row[env.column] as Date).getUTCDate()),
  getUTCDay: ofDate((row, _, env) => (row[env.column] as Date).getUTCDay()),
  getUTCHours: ofDate((row, _, env) => (row[env.column] as Date).getUTCHours()),
  getUTCMinutes: ofDate((row, _, env) => (row[env.column] as Date).getUTCMinutes()),
  getUTCSeconds: ofDate((row, _, env) => (row[env.column] as Date).getUTCSeconds()),
}

type OfText = (row: Record<string, string>, _: unknown, env: { readonly column: string; readonly text: string }) => boolean
const ofText =
  (f: OfText) =>
  (rows: Rows, column: string, text: string): object =>
    rows.map(f as never, { env: { column, text } })

const TEXTS: { readonly [M in TextMethod]: (rows: Rows, column: string, text: string) => object } = {
  startsWith: ofText((row, _, env) => (row[env.column] as string).startsWith(env.text)),
  endsWith: ofText((row, _, env) => (row[env.column] as string).endsWith(env.text)),
  includes: ofText((row, _, env) => (row[env.column] as string).includes(env.text)),
}
