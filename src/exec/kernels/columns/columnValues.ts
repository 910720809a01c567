/**
 * JavaScript's operators on what a column kernel computes four rows at a time, bit for bit.
 *
 * Integers are kept as integers while 32 bits surely hold them; whatever these operators cannot say exactly is not
 * compiled.
 */
import type { BinaryOperator } from '../../../core/ir/functionIr.ts'
import { type Code, I, OP, type Plain, SIMD } from '../../kir/instructions.ts'
import { lanesConst, shuffle32 } from '../../kir/simd.ts'
import { HIGHEST, integerResult, LEAVES_64_BITS, LOWEST, NotCompiled, type WasmType } from '../loops/wasmTypes.ts'
import { dateNumbers, dateType } from './columnDates.ts'
import type { ColumnValue } from './columnTypes.ts'
import type { ColumnWriter } from './columnWriter.ts'
import { textEquals } from './textEquals.ts'
import { asChoice, choiceEquals } from './textPlaces.ts'

export type Comparison = '<' | '<=' | '>' | '>=' | '==' | '!=' | '===' | '!=='
export type Doubles = Extract<ColumnValue, { kind: 'f64' | 'i64' }>
type Integers = Extract<ColumnValue, { kind: 'i32' }>

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

/** The same number as doubles. */
export function doubles(w: ColumnWriter, value: ColumnValue): Doubles {
  const number = numeric(w, value)
  return number.kind === 'i32' ? inDoubles(w, number) : number
}

/** Doubles of which those that are undefined are NaN. */
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

/** Each half of doubles by the code. */
export function both(w: ColumnWriter, values: readonly Doubles[], ...code: Code): Doubles {
  const half = (part: 'lo' | 'hi'): number => w.keep([...values.flatMap((value) => I.localGet(value[part])), ...code])
  return { kind: 'f64', lo: half('lo'), hi: half('hi') }
}

/** Truth of each lane: null, 0 and NaN are false. */
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

/** The lanes of a truth value. */
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

/** Lanes where the value is not null; undefined when it never is. */
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

/** `test ? a : b`, both computed. */
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
    // `test && a` and `test || b`
    const at = y.at === test ? and(w, test, x.at) : x.at === test ? or(w, test, y.at) : undefined
    return { kind: 'bool', at: at ?? select(test, x.at, y.at), ...nulls, ...missing }
  }
  if (x.kind === 'i32' && y.kind === 'i32') {
    return { kind: 'i32', at: select(test, x.at, y.at), low: Math.min(x.low, y.low), high: Math.max(x.high, y.high), ...nulls, ...missing }
  }
  const [s, t] = [asChoice(w, x), asChoice(w, y)]
  if (s !== undefined && t !== undefined) {
    const columns = [...new Set([...s.columns, ...t.columns])]
    return { kind: 'text', at: select(test, s.at, t.at), columns, ...nulls, ...missing }
  }
  if (x.kind === 'date' || y.kind === 'date') {
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

/** Whether what is not there is undefined; it may not be null on one side and undefined on the other. */
function isMissing(w: ColumnWriter, a: ColumnValue, b: ColumnValue): boolean {
  const isAbsent = (value: ColumnValue): boolean => validOf(w, value) !== undefined
  const isUndefined = (value: ColumnValue): boolean => 'missing' in value || (value.kind === 'constant' && value.value === undefined)
  const some = [a, b].filter(isAbsent)
  if (some.some(isUndefined) && !some.every(isUndefined)) throw new NotCompiled('a value may be undefined or null')
  return some.some(isUndefined)
}

/** The value where it is there, 0 or false elsewhere: what becomes of it where it is null. */
export function present(value: ColumnValue): ColumnValue {
  if (!('missing' in value)) return value
  const { missing: _, ...rest } = value
  return rest
}

/** A Date, or one of a column beside it. */
function madeDate(w: ColumnWriter, value: ColumnValue): Pick<Doubles, 'lo' | 'hi'> {
  const type = dateType(w, value)
  if (value.kind === 'other' && type !== undefined) return dateNumbers(w, value.column, type)
  if (value.kind !== 'date') throw new NotCompiled('a value is of one kind or another')
  return value
}

function chosenValid(w: ColumnWriter, test: number, a: ColumnValue, b: ColumnValue): number | undefined {
  const [x, y] = [validOf(w, a), validOf(w, b)]
  if (x === undefined && y === undefined) return undefined
  const always = bool(w.truth(true))
  return w.keep([...I.localGet(x ?? always), ...I.localGet(y ?? always), ...I.localGet(test), SIMD.bitSelect])
}

/** Null, or undefined, beside a value of some kind is of that kind. */
function nullAs(w: ColumnWriter, value: ColumnValue, other: ColumnValue): ColumnValue {
  if (value.kind !== 'constant' || (value.value !== null && value.value !== undefined)) return value
  if (other.kind === 'date') return { kind: 'date', lo: w.zeros(), hi: w.zeros() }
  if (asChoice(w, other) !== undefined) return { kind: 'text', at: w.zeros(), columns: [] }
  return other.kind === 'bool' ? w.truth(false) : w.number(0)
}

function isDate(w: ColumnWriter, value: ColumnValue): boolean {
  return value.kind === 'date' || dateType(w, value) !== undefined
}

const INTEGER = { '+': SIMD.i32Add, '-': SIMD.i32Sub, '*': SIMD.i32Mul } as const
const DOUBLE = { '+': SIMD.f64Add, '-': SIMD.f64Sub, '*': SIMD.f64Mul, '/': SIMD.f64Div } as const
const BITS = { '&': SIMD.and, '|': SIMD.or, '^': SIMD.xor } as const

/** The operators that give a number. */
export function arithmetic(
  w: ColumnWriter,
  operator: Exclude<BinaryOperator, Comparison>,
  left: ColumnValue,
  right: ColumnValue,
): ColumnValue {
  if (operator === '+' && (isDate(w, left) || isDate(w, right))) throw new NotCompiled('it makes a text of a date')
  switch (operator) {
    case '+':
    case '-':
    case '*':
    case '/': {
      const [a, b] = [numeric(w, left), numeric(w, right)]
      const type = operator === '/' ? undefined : rangeOf(operator, a, b)
      if (type === undefined || operator === '/') return both(w, [doubles(w, a), doubles(w, b)], DOUBLE[operator])
      return integers(w, a, b, [INTEGER[operator]], type)
    }
    case '%':
      return remainder(w, numeric(w, left), numeric(w, right))
    case '**': {
      const [a, b] = [doubles(w, left), numeric(w, right)]
      // x ** 2 is x * x to the last bit in every tier of the engine
      if (b.kind === 'i32' && b.low === 2 && b.high === 2) return both(w, [a, a], SIMD.f64Mul)
      return called(w, 'Math.pow', [a, doubles(w, b)])
    }
    case '&':
    case '|':
    case '^': {
      const [a, b] = [asInteger(w, left), asInteger(w, right)]
      const highs = operator === '&' ? [a, b].flatMap(({ low, high }) => (low >= 0 ? [high] : [])) : []
      const range = highs.length > 0 ? { low: 0, high: Math.min(...highs) } : { low: LOWEST, high: HIGHEST }
      return { ...integers(w, a, b, [BITS[operator]], range) }
    }
    case '<<':
    case '>>':
    case '>>>':
      return shifted(w, operator, asInteger(w, left), asInteger(w, right))
  }
}

function integers(
  w: ColumnWriter,
  a: Doubles | Integers,
  b: Doubles | Integers,
  code: Code,
  range: { low: number; high: number },
): ColumnValue {
  if (a.kind !== 'i32' || b.kind !== 'i32') throw new NotCompiled('it needs integers')
  return { kind: 'i32', at: w.keep([...I.localGet(a.at), ...I.localGet(b.at), ...code]), low: range.low, high: range.high }
}

function rangeOf(operator: string, a: Doubles | Integers, b: Doubles | Integers): { low: number; high: number } | undefined {
  const typeOf = (value: Doubles | Integers): WasmType =>
    value.kind === 'i32' ? { kind: 'i32', low: value.low, high: value.high } : { kind: 'f64', maybe: false }
  const type = integerResult(operator, typeOf(a), typeOf(b))
  return type?.kind === 'i32' ? type : undefined
}

function remainder(w: ColumnWriter, a: Doubles | Integers, b: Doubles | Integers): ColumnValue {
  const range = rangeOf('%', a, b)
  if (a.kind !== 'i32' || b.kind !== 'i32' || (range === undefined && b.low <= 0)) return called(w, '%', [doubles(w, a), doubles(w, b)])
  const lane = (at: number, i: number): Code => [...I.localGet(at), ...I.simdLane(SIMD.i32ExtractLane, i)]
  // of a literal the engine makes a product
  const divisor = (i: number): Code => (b.low === b.high ? I.i32Const(b.low) : lane(b.at, i))
  const each = (opcode: Plain): number => w.eachInteger((i) => [...lane(a.at, i), ...divisor(i), opcode])
  if (range !== undefined) return { kind: 'i32', at: each(OP.i32RemU), ...range }
  // a remainder has the sign of what was divided, -0 included
  const [size, from] = [doubles(w, { kind: 'i32', at: each(OP.i32RemS), low: LOWEST, high: HIGHEST }), doubles(w, a)]
  const sign = w.constant(lanesConst([0, LOWEST, 0, LOWEST]))
  const signed = [...I.localGet(sign), SIMD.and, SIMD.or]
  const half = (part: 'lo' | 'hi'): number => w.keep([...I.localGet(size[part]), SIMD.f64Abs, ...I.localGet(from[part]), ...signed])
  return { kind: 'f64', lo: half('lo'), hi: half('hi') }
}

function asInteger(w: ColumnWriter, value: ColumnValue): Integers {
  const number = numeric(w, present(value)) // NaN has no bits
  if (number.kind !== 'i32') throw new NotCompiled('it takes the bits of a number that need not be an integer')
  return number
}

function shifted(w: ColumnWriter, operator: '<<' | '>>' | '>>>', a: Integers, by: Integers): ColumnValue {
  if (by.low !== by.high) throw new NotCompiled('it shifts by a number that varies')
  const count = by.low & 31
  const result = (opcode: Plain, low: number, high: number): ColumnValue => ({
    kind: 'i32',
    at: w.keep([...I.localGet(a.at), ...I.i32Const(count), opcode]),
    low,
    high,
  })
  if (operator === '<<') return result(SIMD.i32Shl, LOWEST, HIGHEST)
  if (operator === '>>') return result(SIMD.i32ShrS, a.low >> count, a.high >> count)
  if (count > 0) return result(SIMD.i32ShrU, 0, HIGHEST)
  if (a.low >= 0) return a
  throw new NotCompiled('an unsigned shift may exceed 32 bits')
}

/** JavaScript's own function, a row at a time. */
export function called(w: ColumnWriter, name: string, args: readonly ColumnValue[]): ColumnValue {
  const numbers = args.map((arg) => doubles(w, arg))
  const number = w.imported(name, args.length)
  return w.eachDouble((lane) => [...numbers.flatMap(lane), ...I.call(number)])
}

/** `Number(bigint)`: rounded to the nearest double. */
export function numberOfBigint(w: ColumnWriter, value: Doubles): ColumnValue {
  const half = (at: number): number => {
    const lane = (i: number): Code => [...I.localGet(at), ...I.simdLane(SIMD.i64ExtractLane, i), OP.f64ConvertI64S]
    return w.keep([...lane(0), SIMD.f64Splat, ...lane(1), ...I.simdLane(SIMD.f64ReplaceLane, 1)])
  }
  return { kind: 'f64', lo: half(value.lo), hi: half(value.hi) }
}
