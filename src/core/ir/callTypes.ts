/** The types of values of expressions, and of what functions and methods of the platform and the library return. */
import type { ColumnType } from '../data/schema.ts'
import type { Callee, Method } from './builtins.ts'

export interface ValueType {
  readonly type: ColumnType
  readonly nullable: boolean
}

export const F64: ValueType = { type: { kind: 'f64' }, nullable: false }
export const I64: ValueType = { type: { kind: 'i64' }, nullable: false }
export const BOOL: ValueType = { type: { kind: 'bool' }, nullable: false }
export const UTF8: ValueType = { type: { kind: 'utf8' }, nullable: false }
/** The type of Dates that JavaScript makes: milliseconds. */
export const DATE: ValueType = { type: { kind: 'timestamp', unit: 'ms' }, nullable: false }
const TEXTS: ColumnType = { kind: 'list', item: { kind: 'utf8' } }
export const NULL: ValueType = { type: { kind: 'null' }, nullable: true }
export const UNKNOWN: ValueType = { type: { kind: 'unknown' }, nullable: true }

export const NUMBERS: ReadonlySet<string> = new Set(['f64', 'f32', 'i32', 'u32', 'i16', 'u16', 'i8', 'u8'])
/** The kinds of columns whose values are bigints. */
export const BIGINTS: ReadonlySet<string> = new Set(['i64', 'u64', 'time'])

export function typeOfCall(name: Callee): ValueType {
  if (name === 'new Date' || name === 'bucket') return DATE
  if (name === 'parseTime') return { ...DATE, nullable: true }
  if (name === 'formatTime') return UTF8
  if (
    name.startsWith('Math.') ||
    name === 'Number' ||
    name === 'parseFloat' ||
    name === 'parseInt' ||
    name === 'Number.parseFloat' ||
    name === 'Number.parseInt' ||
    name === 'Date.UTC' ||
    name === 'Date.parse' ||
    name === 'duration'
  )
    return F64
  if (name === 'String') return UTF8
  return name.startsWith('BigInt') ? I64 : BOOL
}

export function typeOfMethod(method: Method, object: ValueType): ValueType {
  switch (method) {
    case 'length':
    case 'charCodeAt':
    case 'indexOf':
    case 'lastIndexOf':
    case 'localeCompare':
    case 'getTime':
    case 'getFullYear':
    case 'getMonth':
    case 'getDate':
    case 'getDay':
    case 'getHours':
    case 'getMinutes':
    case 'getSeconds':
    case 'getMilliseconds':
    case 'getUTCFullYear':
    case 'getUTCMonth':
    case 'getUTCDate':
    case 'getUTCDay':
    case 'getUTCHours':
    case 'getUTCMinutes':
    case 'getUTCSeconds':
    case 'getUTCMilliseconds':
      return F64
    case 'split length':
      return F64
    case 'codePointAt':
      return { ...F64, nullable: true }
    case 'search regex':
      return F64
    case 'split part':
    case 'character':
    case 'at':
      return { ...UTF8, nullable: true }
    case 'split':
    case 'split regex':
      return { type: TEXTS, nullable: false }
    case 'match regex':
    case 'exec regex':
      return { type: TEXTS, nullable: true }
    case 'replace':
    case 'replaceAll':
    case 'replace regex':
    case 'replaceAll regex':
    case 'substr':
    case 'toLocaleLowerCase':
    case 'toLocaleUpperCase':
    case 'charAt':
    case 'concat':
    case 'normalize':
    case 'padEnd':
    case 'padStart':
    case 'repeat':
    case 'slice':
    case 'substring':
    case 'toLowerCase':
    case 'toUpperCase':
    case 'trim':
    case 'trimEnd':
    case 'trimStart':
    case 'toFixed':
    case 'toPrecision':
    case 'toString':
    case 'toISOString':
      return UTF8
    case 'endsWith':
    case 'includes':
    case 'startsWith':
      return BOOL
    case 'valueOf':
      if (object.type.kind === 'timestamp' || object.type.kind === 'date') return F64
      return NUMBERS.has(object.type.kind) || BIGINTS.has(object.type.kind) || object.type.kind === 'utf8' || object.type.kind === 'bool'
        ? { ...object, nullable: false }
        : UNKNOWN
  }
}
