/**
 * Texts of columns' values for the cells of a table: one short line each, in JavaScript's notation.
 */

import type { ColumnType } from '../data/schema.ts'
import { kindOfValue, valueText } from '../data/valueKinds.ts'
import { clipped, printable } from './width.ts'

const MOST_CELLS = 40
/** The most items of a list, or fields of a struct, that are shown. */
const MOST_ITEMS = 5
/** The depth down to which nested lists and structs are shown. */
const DEEPEST = 3

/** The cell's text for a value of a column of the type. */
export function cellText(value: unknown, type: ColumnType): string {
  return clipped(textOf(value, type, 0), MOST_CELLS)
}

function textOf(value: unknown, type: ColumnType | undefined, depth: number): string {
  if (value === null || value === undefined) return 'null'
  switch (typeof value) {
    case 'string':
      return stringText(value, depth > 0)
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value)
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'object':
      return objectText(value, type, depth)
  }
  return valueText(value)
}

/** The text without quotes, except inside of others, and where it would not be seen, or be taken for null. */
function stringText(text: string, isInside: boolean): string {
  const head = text.length > MOST_CELLS * 16 ? `${text.slice(0, MOST_CELLS * 16)}…` : text
  return isInside || head === 'null' || /^\s|\s$|^$/u.test(head) ? printable(JSON.stringify(head)) : printable(head)
}

function objectText(value: object, type: ColumnType | undefined, depth: number): string {
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) return 'invalid date'
    return type?.kind === 'date' ? value.toISOString().slice(0, 10) : value.toISOString()
  }
  if (value instanceof Uint8Array) {
    const hex = Array.from(value.subarray(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join(' ')
    return `<${hex}${value.length > 8 ? ' …' : ''}>`
  }
  if (Array.isArray(value)) {
    if (depth >= DEEPEST) return '[…]'
    const item = type?.kind === 'list' ? type.item : undefined
    return `[${listed(
      value.slice(0, MOST_ITEMS).map((one) => textOf(one, item, depth + 1)),
      value.length,
    )}]`
  }
  // a value of the program's own, whose fields may be getters
  if (type?.kind === 'object' || kindOfValue(value) !== 'object') return valueText(value)
  if (depth >= DEEPEST) return '{…}'
  const fields = Object.entries(value)
  const typeOf = (name: string): ColumnType | undefined =>
    type?.kind === 'struct' ? type.fields.find((field) => field.name === name)?.type : undefined
  const texts = fields.slice(0, MOST_ITEMS).map(([name, one]) => `${printable(name)}: ${textOf(one, typeOf(name), depth + 1)}`)
  return `{${listed(texts, fields.length)}}`
}

function listed(texts: readonly string[], all: number): string {
  return texts.length < all ? `${texts.join(', ')}, … (${all})` : texts.join(', ')
}
