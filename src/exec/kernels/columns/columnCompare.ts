/** JavaScript's comparisons, four rows at a time, and all its operators together. Null equals null only; a bigint is compared by value. */
import type { BinaryOperator } from '../../../core/ir/functionIr.ts'
import { type Code, I, type Plain, SIMD } from '../../kir/instructions.ts'
import { i64Const } from '../../kir/simd.ts'
import { NotCompiled } from '../loops/wasmTypes.ts'
import { bigintArithmetic, exactBigints, isBigint } from './columnBigints.ts'
import type { ColumnValue } from './columnTypes.ts'
import { and, arithmetic, bool, type Doubles, doubles, not, numeric, or, validOf } from './columnValues.ts'
import type { ColumnWriter } from './columnWriter.ts'
import { textEquals } from './textEquals.ts'
import { choiceEquals } from './textPlaces.ts'

export function binary(w: ColumnWriter, operator: BinaryOperator, left: ColumnValue, right: ColumnValue): ColumnValue {
  switch (operator) {
    case '<':
    case '<=':
    case '>':
    case '>=':
      return { kind: 'bool', at: compared(w, operator, left, right) }
    case '==':
    case '!=':
    case '===':
    case '!==': {
      const equal = isEqual(w, left, right, operator.length === 3)
      return { kind: 'bool', at: operator.startsWith('!') ? not(w, equal) : equal }
    }
    default:
      return isBigint(left) || isBigint(right) ? bigintArithmetic(w, operator, left, right) : arithmetic(w, operator, left, right)
  }
}

const COMPARE = {
  '<': { i32: SIMD.i32Lt, f64: SIMD.f64Lt, i64: SIMD.i64LtS },
  '<=': { i32: SIMD.i32Le, f64: SIMD.f64Le, i64: SIMD.i64LeS },
  '>': { i32: SIMD.i32Gt, f64: SIMD.f64Gt, i64: SIMD.i64GtS },
  '>=': { i32: SIMD.i32Ge, f64: SIMD.f64Ge, i64: SIMD.i64GeS },
  '=': { i32: SIMD.i32Eq, f64: SIMD.f64Eq, i64: SIMD.i64Eq },
} as const

/** Lanes where the comparison of the values as numbers, or as bigints, holds. */
function compared(w: ColumnWriter, operator: keyof typeof COMPARE, left: ColumnValue, right: ColumnValue): number {
  const opcodes = COMPARE[operator]
  const halves = (a: Doubles, b: Doubles, opcode: Plain): number => {
    const half = (part: 'lo' | 'hi'): Code => [...I.localGet(a[part]), ...I.localGet(b[part]), opcode]
    return w.joined(half('lo'), half('hi'))
  }
  if (left.kind === 'i64' || right.kind === 'i64') return halves(bigints(w, left), bigints(w, right), opcodes.i64)
  const [a, b] = [numeric(w, left), numeric(w, right)]
  if (a.kind === 'i32' && b.kind === 'i32') return w.keep([...I.localGet(a.at), ...I.localGet(b.at), opcodes.i32])
  return halves(doubles(w, a), doubles(w, b), opcodes.f64)
}

/** 64-bit integers for a comparison with some: bigints, and integers of 32 bits. */
function bigints(w: ColumnWriter, value: ColumnValue): Doubles {
  if (value.kind === 'i64') {
    exactBigints(value)
    return value
  }
  if (value.kind === 'constant' && typeof value.value === 'bigint' && BigInt.asIntN(64, value.value) === value.value) {
    const lanes = w.constant([...i64Const(value.value), SIMD.i64Splat])
    return { kind: 'i64', lo: lanes, hi: lanes }
  }
  const number = numeric(w, value)
  if (number.kind !== 'i32') throw new NotCompiled('it compares a bigint with a number that need not be an integer')
  const { lo, hi } = w.halves(number.at)
  return { kind: 'i64', lo, hi }
}

type Sort = 'number' | 'bool' | 'bigint' | 'text' | 'null' | 'row'

function sortOf(w: ColumnWriter, value: ColumnValue): Sort {
  switch (value.kind) {
    case 'f64':
    case 'i32':
      return 'number'
    case 'i64':
      return 'bigint'
    case 'bool':
      return 'bool'
    case 'row':
      return 'row'
    case 'constant':
      return value.value === null || value.value === undefined ? 'null' : typeof value.value === 'string' ? 'text' : 'bigint'
    case 'text':
      return 'text'
    case 'date':
      throw new NotCompiled('it compares Dates, which are objects')
    case 'other':
      if (w.typeOf(value.column) === 'utf8') return 'text'
      throw new NotCompiled(`it compares a column of ${w.typeOf(value.column)}`)
  }
}

/** `===`, or `==`. Null equals null only. */
function isEqual(w: ColumnWriter, left: ColumnValue, right: ColumnValue, strict: boolean): number {
  if (strict && validOf(w, left) !== undefined && validOf(w, right) !== undefined) {
    const [a, b] = [left, right].map((value) => 'missing' in value || (value.kind === 'constant' && value.value === undefined))
    const isConstant = left.kind === 'constant' || right.kind === 'constant'
    // null is not undefined
    if (a !== b && isConstant) return bool(w.truth(false))
    if (a !== b) throw new NotCompiled('it compares what may be undefined')
  }
  if ([left, right].some((value) => value.kind === 'constant' && (value.value === null || value.value === undefined)))
    return areNull(w, left, right)
  const [a, b] = [sortOf(w, left), sortOf(w, right)]
  if (a === 'row' || b === 'row') throw new NotCompiled('it compares rows')
  if (a !== b && !(strict || [a, b].every((sort) => sort === 'number' || sort === 'bool'))) {
    throw new NotCompiled(`it compares a ${a} with a ${b}`)
  }
  const [x, y] = [validOf(w, left), validOf(w, right)]
  const bothNull = x === undefined || y === undefined ? undefined : and(w, not(w, x), not(w, y))
  const same = a !== b && strict ? bool(w.truth(false)) : a === 'text' ? textsEqual(w, left, right) : compared(w, '=', left, right)
  const present = and(w, and(w, same, x), y) ?? same
  return bothNull === undefined ? present : or(w, present, bothNull)
}

/** Lanes where two texts, if they are not null, are the same. */
function textsEqual(w: ColumnWriter, left: ColumnValue, right: ColumnValue): number {
  return left.kind === 'text' || right.kind === 'text' ? choiceEquals(w, left, right) : textEquals(w, left, right)
}

function areNull(w: ColumnWriter, left: ColumnValue, right: ColumnValue): number {
  const isNull = (value: ColumnValue): number => {
    const valid = validOf(w, value)
    return valid === undefined ? bool(w.truth(false)) : not(w, valid)
  }
  return and(w, isNull(left), isNull(right)) ?? bool(w.truth(false))
}
