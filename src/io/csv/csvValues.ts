/**
 * Infers column types from the texts of CSV fields, and converts one field.
 *
 * Inference is cautious: numbers and true/false are recognised, everything else stays text. Text that a number would
 * not give back, as 007, stays text; integers beyond 2^53 make the column i64.
 */

import type { ColumnType, DType } from '../../core/data/schema.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { PlanError } from '../../core/errors.ts'
import { nearestNames } from '../../core/nearestNames.ts'
import { dateOfText, digitsOfText, timestampOfDigits } from '../timestampTexts.ts'

/** The types that `{ types }` may give a column. */
export type CsvType = DType | 'u64' | 'utf8' | 'timestamp' | 'timestamp(ms)' | 'timestamp(us)' | 'timestamp(ns)' | 'date'

const TYPES: { readonly [K in CsvType]: true } = {
  f64: true,
  f32: true,
  i64: true,
  i32: true,
  u32: true,
  i16: true,
  u16: true,
  i8: true,
  u8: true,
  bool: true,
  u64: true,
  utf8: true,
  timestamp: true,
  'timestamp(ms)': true,
  'timestamp(us)': true,
  'timestamp(ns)': true,
  date: true,
}

export const CSV_TYPES: readonly string[] = Object.keys(TYPES)

/** Throws PlanError unless `type` is one that `{ types }`, or what `says` it, may give a column. */
export function checkCsvType(column: string, type: unknown, says = '{ types } says'): void {
  if (typeof type === 'string' && Object.hasOwn(TYPES, type)) return
  const names = Object.keys(TYPES)
  const near = typeof type === 'string' ? nearestNames(type, names) : []
  const guess = near.length === 0 ? '' : ` Did you mean ${near.map((one) => `'${one}'`).join(' or ')}?`
  throw new PlanError(`${says} that column "${column}" is ${valueText(type)}, which is no type.${guess} Types are ${names.join(', ')}.`)
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
/** The form of most fields of number columns; no more than 15 digits before the point. */
const PLAIN = /^-?(?:0|[1-9]\d{0,14})(?:\.\d+)?$/
const INTEGER = /^[+-]?\d+$/
const LEADING_ZERO = /^[+-]?0\d/
const SPECIAL = new Set(['NaN', 'Infinity', '-Infinity'])

/** The kinds of values that all fields of a column seen so far can be. */
export interface Guess {
  seen: number
  number: boolean
  bool: boolean
  /** Whether all are integers that i64 holds. */
  integer: boolean
  /** Whether some integer is not exactly an f64. */
  wide: boolean
  /** The most digits of a second, of a column that is known to have times. */
  digits?: number
}

export function newGuess(): Guess {
  return { seen: 0, number: true, bool: true, integer: true, wide: false }
}

/** What is seen of a column that `{ types }` says to be timestamps, without their unit. */
export function newTimes(): Guess {
  return { ...newGuess(), digits: 0 }
}

export function observeTime(guess: Guess, field: string): void {
  guess.digits = Math.max(guess.digits ?? 0, digitsOfText(field))
}

/** Whether the column is text, whatever is still to come. */
export function isText({ number, bool }: Guess): boolean {
  return !number && !bool
}

export function observe(guess: Guess, field: string): void {
  guess.seen++
  const text = field.trim()
  if (guess.bool && !isBool(text)) guess.bool = false
  if (guess.number && !isNumber(text)) guess.number = false
  if (guess.number) {
    const integer = INTEGER.test(text)
    if (!integer) guess.integer = false
    else if (isWide(text)) {
      guess.wide = true
      if (!fitsI64(text)) guess.integer = false
    }
  }
}

/** Observes a field that `plainNumber` reads, with or without a point, where it is known not to be true or false. */
export function observeNumber(guess: Guess, hasPoint: boolean): void {
  guess.seen++
  if (hasPoint) guess.integer = false
}

/** The type of a column. Without values it has none where all of the file was seen, so that it goes for numbers as well, and else is text; so are wide integers among decimals, which no number type has both. */
export function guessedType(guess: Guess, isSeen: boolean): ColumnType {
  if (guess.seen === 0) return { kind: isSeen ? 'null' : 'utf8' }
  if (guess.bool) return { kind: 'bool' }
  if (!guess.number) return { kind: 'utf8' }
  if (!guess.wide) return { kind: 'f64' }
  return { kind: guess.integer ? 'i64' : 'utf8' }
}

export function mergedGuess(a: Guess, b: Guess): Guess {
  return {
    seen: a.seen + b.seen,
    number: a.number && b.number,
    bool: a.bool && b.bool,
    integer: a.integer && b.integer,
    wide: a.wide || b.wide,
    digits: Math.max(a.digits ?? 0, b.digits ?? 0),
  }
}

/** The column of a type that is asked for; of timestamps without a unit one that holds so many `digits` of a second. */
export function typeOfCsv(type: CsvType, digits = 0): ColumnType {
  switch (type) {
    case 'timestamp':
      return timestampOfDigits(digits)
    case 'timestamp(ms)':
      return { kind: 'timestamp', unit: 'ms' }
    case 'timestamp(us)':
      return { kind: 'timestamp', unit: 'us' }
    case 'timestamp(ns)':
      return { kind: 'timestamp', unit: 'ns' }
    default:
      return { kind: type }
  }
}

/**
 * A field as a value of a column type, or undefined when it is none. `guessed` types are read as strictly as they were
 * inferred.
 */
export function valueOfField(field: string, type: ColumnType, guessed: boolean): unknown {
  const text = field.trim()
  switch (type.kind) {
    case 'utf8':
      return field
    case 'f64':
    case 'f32': {
      if (PLAIN.test(field)) return Number(field)
      if (guessed ? !isNumber(text) || isWide(text) : !NUMBER.test(text) && !SPECIAL.has(text)) return undefined
      const value = Number(text)
      if (!Number.isFinite(value) && !SPECIAL.has(text)) return undefined
      return value
    }
    case 'i32':
    case 'u32':
    case 'i16':
    case 'u16':
    case 'i8':
    case 'u8':
      return NUMBER.test(text) ? Number(text) + 0 : undefined
    case 'i64':
    case 'u64':
      return INTEGER.test(text) ? BigInt(text.startsWith('+') ? text.slice(1) : text) : undefined
    case 'bool':
      return isBool(text) ? text.toLowerCase() === 'true' : !guessed && (text === '1' || text === '0') ? text === '1' : undefined
    case 'timestamp':
    case 'date':
      return dateOfText(text)
    case 'binary':
    case 'null':
    case 'time':
    case 'list':
    case 'struct':
    case 'object':
    case 'unknown':
      return undefined
  }
}

function isNumber(text: string): boolean {
  return (NUMBER.test(text) && !LEADING_ZERO.test(text) && Number.isFinite(Number(text))) || SPECIAL.has(text)
}

function isBool(text: string): boolean {
  const lower = text.toLowerCase()
  return lower === 'true' || lower === 'false'
}

function isWide(text: string): boolean {
  if (text.length < 16 || !INTEGER.test(text)) return false
  const value = Number(text)
  return !Number.isSafeInteger(value) && BigInt(text.startsWith('+') ? text.slice(1) : text) !== BigInt(value)
}

function fitsI64(text: string): boolean {
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text)
  return value >= -(2n ** 63n) && value < 2n ** 63n
}
