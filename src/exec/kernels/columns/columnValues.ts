/** Conversions of column values, four rows at a time: to numbers, to truth, to a choice between two, to masks of nulls. */
import { type Code, I, SIMD } from '../../kir/instructions.ts'
import { i64Const, lanesConst, shuffle32 } from '../../kir/simd.ts'
import { type BigintType, bigintType, joinTypes, LEAVES_64_BITS, NotCompiled } from '../expressions/types.ts'
import { dateNumbers, dateType } from './columnDates.ts'
import type { ColumnValue } from './columnTypes.ts'
import type { ColumnWriter } from './columnWriter.ts'
import { textEquals } from './textEquals.ts'
import { asChoice, choiceEquals } from './textPlaces.ts'

export type Doubles = Extract<ColumnValue, { kind: 'f64' | 'i64' }>
export type Integers = Extract<ColumnValue, { kind: 'i32' }>

/** ToNumber: null is 0, true is 1. */
export function numeric(w: ColumnWriter, value: ColumnValue): Doubles | Integers {
  switch (value.kind) {
    case 'f64':
      return value.missing === true ? orNaN(w, value) : { kind: 'f64', lo: value.lo, hi: value.hi }
    case 'i32':
      if (value.missing === true) return orNaN(w, { ...inDoubles(w, value), ...(value.valid === undefined ? {} : { valid: value.valid }) })
      return { kind: 'i32', at: value.at, low: value.low, high: value.high, ...(value.equal === true ? { equal: true } : {}) }
    case 'bool': {
      const one = w.constant(lanesConst([1, 1, 1, 1]))
      const number = { kind: 'i32', at: w.keep([...I.localGet(value.at), ...I.localGet(one), SIMD.and]), low: 0, high: 1 } as const
      if (value.missing !== true) return number
      return orNaN(w, { ...inDoubles(w, number), ...(value.valid === undefined ? {} : { valid: value.valid }) })
    }
    case 'constant':
      if (value.value === null) return w.number(0) as Integers
      if (value.value === undefined) return w.number(Number.NaN) as Doubles
      throw new NotCompiled(`it computes with a ${typeof value.value}`)
    case 'i64':
      throw new NotCompiled('it computes with bigints')
    case 'other': {
      const type = dateType(w, value)
      if (type === undefined) throw new NotCompiled(`it computes with a column of ${w.typeOf(value.column)}`)
      return dateNumbers(w, value.column, type)
    }
    case 'date':
      return { kind: 'f64', lo: value.lo, hi: value.hi }
    case 'text':
      throw new NotCompiled('it computes with a text')
    case 'row':
      throw new NotCompiled('it computes with a row')
  }
}

/** Converts a value to a number in doubles. */
export function doubles(w: ColumnWriter, value: ColumnValue): Doubles {
  const number = numeric(w, value)
  return number.kind === 'i32' ? inDoubles(w, number) : number
}

/** Replaces the doubles of absent values by NaN, for values that may be undefined. */
function orNaN(w: ColumnWriter, { lo, hi, valid }: { readonly lo: number; readonly hi: number; readonly valid?: number }): Doubles {
  if (valid === undefined) return { kind: 'f64', lo, hi }
  const halves = w.halves(valid)
  const nan = doubles(w, w.number(Number.NaN))
  const half = (part: 'lo' | 'hi', value: number): number =>
    w.keep([...I.localGet(value), ...I.localGet(nan[part]), ...I.localGet(halves[part]), SIMD.bitSelect])
  return { kind: 'f64', lo: half('lo', lo), hi: half('hi', hi) }
}

function inDoubles(w: ColumnWriter, number: Pick<Integers, 'at' | 'equal'>): Extract<Doubles, { kind: 'f64' | 'i64' }> {
  const { at } = number
  const lo = w.keep([...I.localGet(at), SIMD.f64ConvertI32S])
  if (number.equal === true) return { kind: 'f64', lo, hi: lo }
  const high = [...I.localGet(at), ...I.localGet(at), ...shuffle32([2, 3, 2, 3])]
  return { kind: 'f64', lo, hi: w.keep([...high, SIMD.f64ConvertI32S]) }
}

/** Applies code to the two halves of values in doubles. */
export function both(w: ColumnWriter, values: readonly Doubles[], ...code: Code): Doubles {
  const half = (part: 'lo' | 'hi'): number => w.keep([...values.flatMap((value) => I.localGet(value[part])), ...code])
  return { kind: 'f64', lo: half('lo'), hi: half('hi') }
}

/** The mask of lanes whose value is truthy: null, 0 and NaN are false. */
export function truth(w: ColumnWriter, value: ColumnValue): number {
  switch (value.kind) {
    case 'bool':
      return value.at
    case 'i32':
      return w.keep([...I.localGet(value.at), ...lanesConst([0, 0, 0, 0]), SIMD.i32Ne])
    case 'f64': {
      const isTrue = (at: number): Code => [...I.localGet(at), SIMD.f64Abs, ...lanesConst([0, 0, 0, 0]), SIMD.f64Gt]
      return w.joined(isTrue(value.lo), isTrue(value.hi))
    }
    case 'i64': {
      if (value.bigint !== undefined && value.bigint.range === undefined) throw new NotCompiled(LEAVES_64_BITS)
      const isTrue = (at: number): Code => [...I.localGet(at), ...lanesConst([0, 0, 0, 0]), SIMD.i64Ne]
      return w.joined(isTrue(value.lo), isTrue(value.hi))
    }
    case 'constant':
      return bool(w.truth(Boolean(value.value)))
    case 'date':
      return value.valid ?? bool(w.truth(true))
    case 'row':
      return bool(w.truth(true))
    case 'text': {
      const some = not(w, choiceEquals(w, value, { kind: 'constant', value: '' }))
      return and(w, some, value.valid) ?? some
    }
    case 'other': {
      if (w.typeOf(value.column) !== 'utf8') throw new NotCompiled(`it asks for the truth of a column of ${w.typeOf(value.column)}`)
      const some = not(w, textEquals(w, value, { kind: 'constant', value: '' }))
      return and(w, some, w.validity(value.column)) ?? some
    }
  }
}

/** The mask of a truth value; throws where the value is none. */
export function bool(value: ColumnValue): number {
  if (value.kind !== 'bool') throw new NotCompiled('it is no truth value')
  return value.at
}

export function not(w: ColumnWriter, mask: number): number {
  return w.keep([...I.localGet(mask), SIMD.not])
}

export function and(w: ColumnWriter, a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined || a === b) return a ?? b
  return w.keep([...I.localGet(a), ...I.localGet(b), SIMD.and])
}

export function or(w: ColumnWriter, a: number, b: number): number {
  return w.keep([...I.localGet(a), ...I.localGet(b), SIMD.or])
}

/** The mask of lanes where the value is neither null nor undefined; undefined where it always is. */
export function validOf(w: ColumnWriter, value: ColumnValue): number | undefined {
  switch (value.kind) {
    case 'constant':
      return value.value === null || value.value === undefined ? bool(w.truth(false)) : undefined
    case 'other':
      return w.validity(value.column)
    case 'row':
      return undefined
    case 'f64':
    case 'i64':
    case 'i32':
    case 'bool':
    case 'date':
    case 'text':
      return value.valid
  }
}

/** Selects `test ? a : b` lane by lane; both are computed. */
export function choose(w: ColumnWriter, test: number, a: ColumnValue, b: ColumnValue): ColumnValue {
  if (a === b) return a
  if (a.kind === 'row' && b.kind === 'row') {
    if (a.names.join() !== b.names.join()) throw new NotCompiled('it returns objects of different columns')
    return { kind: 'row', names: a.names, of: (name) => choose(w, test, a.of(name), b.of(name)) }
  }
  const select = (mask: number, x: number, y: number): number =>
    w.keep([...I.localGet(x), ...I.localGet(y), ...I.localGet(mask), SIMD.bitSelect])
  const valid = chosenValid(w, test, a, b)
  const nulls = valid === undefined ? {} : { valid }
  const missing = isMissing(w, a, b) ? { missing: true as const } : {}
  const [x, y] = [nullAs(w, a, b), nullAs(w, b, a)]
  if (x.kind === 'bool' && y.kind === 'bool') {
    // `test && a` and `test || b` need no selection
    const at = y.at === test ? and(w, test, x.at) : x.at === test ? or(w, test, y.at) : undefined
    return { kind: 'bool', at: at ?? select(test, x.at, y.at), ...nulls, ...missing }
  }
  if (x.kind === 'i32' && y.kind === 'i32') {
    return { kind: 'i32', at: select(test, x.at, y.at), low: Math.min(x.low, y.low), high: Math.max(x.high, y.high), ...nulls, ...missing }
  }
  if (x.kind === 'i64' && y.kind === 'i64') {
    const [{ lo, hi }, bigint] = [w.halves(test), joinTypes(bigintTypeOf(x), bigintTypeOf(y)) as BigintType]
    return { kind: 'i64', lo: select(lo, x.lo, y.lo), hi: select(hi, x.hi, y.hi), bigint, ...nulls, ...missing }
  }
  const [s, t] = [asChoice(w, x), asChoice(w, y)]
  if (s !== undefined && t !== undefined) {
    const columns = [...new Set([...s.columns, ...t.columns])]
    return { kind: 'text', at: select(test, s.at, t.at), columns, ...nulls, ...missing }
  }
  if (isDate(w, x) && isDate(w, y)) {
    const { lo, hi } = w.halves(test)
    const [p, q] = [madeDate(w, x), madeDate(w, y)]
    return { kind: 'date', lo: select(lo, p.lo, q.lo), hi: select(hi, p.hi, q.hi), ...nulls }
  }
  const isNumber = (value: ColumnValue): boolean => value.kind === 'i32' || value.kind === 'f64'
  if (!(isNumber(x) && isNumber(y))) throw new NotCompiled('a value is of one kind or another')
  const { lo, hi } = w.halves(test)
  const [p, q] = [doubles(w, present(x)), doubles(w, present(y))]
  return { kind: 'f64', lo: select(lo, p.lo, q.lo), hi: select(hi, p.hi, q.hi), ...nulls, ...missing }
}

/** Whether absent values are undefined; throws where they may be null on one side and undefined on the other. */
function isMissing(w: ColumnWriter, a: ColumnValue, b: ColumnValue): boolean {
  const isAbsent = (value: ColumnValue): boolean => validOf(w, value) !== undefined
  const isUndefined = (value: ColumnValue): boolean => 'missing' in value || (value.kind === 'constant' && value.value === undefined)
  const some = [a, b].filter(isAbsent)
  if (some.some(isUndefined) && !some.every(isUndefined)) throw new NotCompiled('a value may be undefined or null')
  return some.some(isUndefined)
}

/** The value without its mark of being undefined where absent: as null, which is 0 or false. */
export function present(value: ColumnValue): ColumnValue {
  if (!('missing' in value)) return value
  const { missing: _, ...rest } = value
  return rest
}

/** The milliseconds of a Date that was made, or of a date in a column. */
function madeDate(w: ColumnWriter, value: ColumnValue): Pick<Doubles, 'lo' | 'hi'> {
  const type = dateType(w, value)
  if (value.kind === 'other' && type !== undefined) return dateNumbers(w, value.column, type)
  return value as Pick<Doubles, 'lo' | 'hi'> // of the kind `date`
}

function chosenValid(w: ColumnWriter, test: number, a: ColumnValue, b: ColumnValue): number | undefined {
  const [x, y] = [validOf(w, a), validOf(w, b)]
  if (x === undefined && y === undefined) return undefined
  const always = bool(w.truth(true))
  return w.keep([...I.localGet(x ?? always), ...I.localGet(y ?? always), ...I.localGet(test), SIMD.bitSelect])
}

/** A bigint constant in every lane. */
export function bigintConstant(w: ColumnWriter, value: bigint): Doubles {
  const lanes = w.constant([i64Const(value), SIMD.i64Splat])
  return { kind: 'i64', lo: lanes, hi: lanes, bigint: bigintType(value, value) }
}

/** The type of a bigint; a column's may be any of 64 bits. */
export function bigintTypeOf({ bigint }: Doubles): BigintType {
  return bigint ?? bigintType(-(2n ** 63n), 2n ** 63n - 1n)
}

/** Converts a constant null or undefined to the kind of the value beside it, and a constant bigint to lanes. */
function nullAs(w: ColumnWriter, value: ColumnValue, other: ColumnValue): ColumnValue {
  if (value.kind === 'constant' && typeof value.value === 'bigint') return bigintConstant(w, value.value)
  if (value.kind !== 'constant' || (value.value !== null && value.value !== undefined)) return value
  if (other.kind === 'i64') return bigintConstant(w, 0n)
  if (isDate(w, other)) return { kind: 'date', lo: w.zeros(), hi: w.zeros() }
  if (asChoice(w, other) !== undefined) return { kind: 'text', at: w.zeros(), columns: [] }
  return other.kind === 'bool' ? w.truth(false) : w.number(0)
}

export function isDate(w: ColumnWriter, value: ColumnValue): boolean {
  return value.kind === 'date' || dateType(w, value) !== undefined
}
