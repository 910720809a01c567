/** `===` and `==`, four rows at a time. Null equals null only; texts and bigints are compared by value. */
import { NotCompiled } from '../expressions/types.ts'
import type { ColumnNumbers } from './columnNumbers.ts'
import type { ColumnValue } from './columnTypes.ts'
import { and, bool, not, or, validOf } from './columnValues.ts'
import type { ColumnWriter } from './columnWriter.ts'
import { textEquals } from './textEquals.ts'
import { choiceEquals } from './textPlaces.ts'

/** The kind of a value for equality: values of different kinds are never `===`. */
function sortOf(e: ColumnNumbers, value: ColumnValue): 'number' | 'bool' | 'bigint' | 'text' {
  const type = e.typeOf(value)
  if (type !== undefined) return type.kind === 'bool' || type.kind === 'bigint' ? type.kind : 'number'
  if (value.kind === 'date') throw new NotCompiled('it compares Dates, which are objects')
  if (value.kind === 'row') throw new NotCompiled('it compares rows')
  if (value.kind !== 'other' || e.w.typeOf(value.column) === 'utf8') return 'text'
  throw new NotCompiled(`it compares a column of ${e.w.typeOf(value.column)}`)
}

/** The mask of lanes where the values are equal by `===`, or by `==` where it is not strict. Null equals null only. */
export function isEqual(e: ColumnNumbers, left: ColumnValue, right: ColumnValue, strict: boolean, bigints: () => number): number {
  const { w } = e
  if (strict && validOf(w, left) !== undefined && validOf(w, right) !== undefined) {
    const [a, b] = [left, right].map((value) => 'missing' in value || (value.kind === 'constant' && value.value === undefined))
    const isConstant = left.kind === 'constant' || right.kind === 'constant'
    // null is not undefined
    if (a !== b && isConstant) return bool(w.truth(false))
    if (a !== b) throw new NotCompiled('it compares what may be undefined')
  }
  if ([left, right].some((value) => value.kind === 'constant' && (value.value === null || value.value === undefined)))
    return areNull(w, left, right)
  const [a, b] = [sortOf(e, left), sortOf(e, right)]
  if (a !== b && !(strict || [a, b].every((sort) => sort === 'number' || sort === 'bool'))) {
    throw new NotCompiled(`it compares a ${a} with a ${b}`)
  }
  const [x, y] = [validOf(w, left), validOf(w, right)]
  const bothNull = x === undefined || y === undefined ? undefined : and(w, not(w, x), not(w, y))
  const areSame = (): number => {
    if (a !== b && strict) return bool(w.truth(false))
    if (a === 'text') return textsEqual(w, left, right)
    return a === 'bigint' || b === 'bigint' ? bigints() : e.compared('==', left, right).at
  }
  const same = areSame()
  const present = and(w, and(w, same, x), y) ?? same
  return bothNull === undefined ? present : or(w, present, bothNull)
}

/** The mask of lanes where two texts are the same; lanes in which one is null are arbitrary. */
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
