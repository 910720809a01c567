/**
 * The kind of the values at a place in JSON, over all lines: one kind, or null.
 *
 *     {"a":1,"b":[]}    a is a number, b a list of nothing yet
 *     {"b":["x"]}       a is perhaps absent, b a list of texts
 */

import type { ColumnType, Field } from '../../core/data/schema.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { SourceError } from '../../core/errors.ts'

type Kind = 'a truth value' | 'a number' | 'a text' | 'a list' | 'an object'

/** The values seen at one place, so far. */
export interface Seen {
  /** The number of values that are not null. */
  count: number
  kind: Kind | undefined
  /** The place of the first value, in words. */
  first: string
  /** Of numbers: whether all are integers that 64 bits hold. */
  integers: boolean
  /** Of numbers: the first that is not exactly a number and its line, in words; undefined for none. */
  wide: string | undefined
  item: Seen | undefined
  readonly fields: Map<string, Seen>
}

export function nothingSeen(): Seen {
  return { count: 0, kind: undefined, first: '', integers: true, wide: undefined, item: undefined, fields: new Map() }
}

/** The place of a value, for messages. */
export interface JsonPlace {
  readonly path: string
  readonly line: number
  /** The column, and what is inside of it. */
  readonly name: string
}

/** Most levels of values: deeper ones are a mistake, or made to exhaust the stack. */
const DEEPEST = 100
/** Most fields of an object: where there are more, values were made its keys. */
const MOST_FIELDS = 10_000
export const MOST_I64: bigint = 2n ** 63n

/** Takes a value into account. SourceError where it is of another kind than those before. */
export function see(seen: Seen, value: unknown, place: JsonPlace, depth = 0): void {
  if (value === null || value === undefined) return
  const kind = kindOf(value)
  if (seen.kind === undefined) {
    seen.kind = kind
    seen.first = `line ${place.line}${depth === 0 ? '' : ` (${place.name})`}`
  } else if (seen.kind !== kind) throw mixed(seen, kind, place)
  seen.count++
  if (depth > DEEPEST) throw jsonError(place, `has more than ${DEEPEST} lists and objects inside one another.`)
  switch (kind) {
    case 'a truth value':
      return
    case 'a number':
      seeNumber(seen, value as number | bigint, place) // as its kind says
      return
    case 'a text':
      if (!(value as string & { isWellFormed(): boolean }).isWellFormed())
        throw jsonError(place, 'has half of a surrogate pair, which UTF-8 cannot write.')
      return
    case 'a list': {
      seen.item ??= nothingSeen()
      const item = { ...place, name: `${place.name}[]` }
      for (const one of value as readonly unknown[]) see(seen.item, one, item, depth + 1)
      return
    }
    case 'an object':
      for (const [key, one] of Object.entries(value))
        see(fieldOf(seen, key, place), one, { ...place, name: `${place.name}.${key}` }, depth + 1)
  }
}

/** The values seen of a field of objects, which is added if it is new. */
export function fieldOf(seen: Seen, key: string, place: JsonPlace): Seen {
  let field = seen.fields.get(key)
  if (field === undefined) {
    if (seen.fields.size >= MOST_FIELDS)
      throw jsonError(
        place,
        `has more than ${MOST_FIELDS} different fields. Are its keys values? Take it as text with { types: { … : 'json' } }.`,
      )
    seen.fields.set(key, (field = nothingSeen()))
  }
  return field
}

function kindOf(value: NonNullable<unknown>): Kind {
  if (Array.isArray(value)) return 'a list'
  switch (typeof value) {
    case 'boolean':
      return 'a truth value'
    case 'number':
    case 'bigint':
      return 'a number'
    case 'string':
      return 'a text'
    default:
      return 'an object'
  }
}

function seeNumber(seen: Seen, value: number | bigint, place: JsonPlace): void {
  if (typeof value === 'bigint') seen.wide ??= `the integer ${value} in line ${place.line}`
  const isInteger =
    typeof value === 'bigint' ? value >= -MOST_I64 && value < MOST_I64 : Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63
  seen.integers &&= isInteger
}

/** The type of a place; null where there are no values: of what kind they would be nobody knows, and `r.address?.city` is no field of a text. SourceError for integers that no column holds exactly. */
export function typeOfSeen(seen: Seen, path: string, name: string): ColumnType {
  switch (seen.kind) {
    case undefined:
      return { kind: 'null' }
    case 'a text':
      return { kind: 'utf8' }
    case 'a truth value':
      return { kind: 'bool' }
    case 'a number':
      if (seen.wide === undefined) return { kind: 'f64' }
      if (seen.integers) return { kind: 'i64' }
      throw new SourceError(
        `${path}, column "${name}": ${seen.wide} is not exactly a number, and not all of its values are integers of 64 bits. Say what it is: ${typesText(name, 'f64')} rounds it, 'json' keeps its digits as text.`,
        path,
      )
    case 'a list': {
      const item = seen.item ?? nothingSeen()
      return { kind: 'list', item: typeOfSeen(item, path, `${name}[]`) }
    }
    case 'an object':
      return { kind: 'struct', fields: fieldsOfSeen(seen, path, `${name}.`) }
  }
}

/** The fields of objects, in the order in which they were first seen. */
export function fieldsOfSeen(seen: Seen, path: string, before = ''): readonly Field[] {
  return [...seen.fields].map(([name, field]) => ({
    name,
    type: typeOfSeen(field, path, before + name),
    nullable: field.count < seen.count,
  }))
}

function mixed(seen: Seen, kind: Kind, place: JsonPlace): SourceError {
  return jsonError(
    place,
    `is ${kind}, and in ${seen.first} it is ${seen.kind}. A column holds values of one kind. Take it as text with ${typesText(place.name, 'json')}.`,
  )
}

/** The `{ types }` that give a column a type, as text. */
export function typesText(name: string, type: string): string {
  const column = name.replace(/[.[].*$/s, '')
  return `{ types: { ${/^[A-Za-z_$][\w$]*$/.test(column) ? column : JSON.stringify(column)}: '${type}' } }`
}

export function jsonError({ path, line, name }: JsonPlace, what: string): SourceError {
  return new SourceError(`${path}, line ${line}: ${name.length > 60 ? `${name.slice(0, 60)}…` : name} ${what}`, path)
}

/** The error for a line that holds no object. */
export function lineError(path: string, line: number, text: string, value: unknown): SourceError {
  const what = value === undefined ? 'is no JSON' : 'is no object'
  return new SourceError(`${path}, line ${line}: ${valueText(text.trim())} ${what}. Each line holds one object, as {"id": 1}.`, path)
}
