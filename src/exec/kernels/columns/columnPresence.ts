/**
 * Presence analysis: which values a test shows to be not null. In `r.at === null ? 0 : r.at.getTime()` the date is there where it is read.
 *
 * Statement: where the test has the outcome, each value whose name is given is not null. Values in other lanes are computed as well,
 * from whatever lies there, and not taken.
 */
import type { Expr } from '../../../core/ir/functionIr.ts'
import type { ColumnValue } from './columnTypes.ts'

/** Names the column or mask that decides whether a value is present; undefined where that is no single one. */
export function presenceOf(value: ColumnValue): string | undefined {
  if (value.kind === 'other') return `column ${value.column}`
  return value.kind === 'date' && value.valid !== undefined ? `mask ${value.valid}` : undefined
}

/** Names the values that are present where the test's outcome is `is`; `held` returns the value of an expression that only names one. */
export function presentWhen(test: Expr, is: boolean, held: (expr: Expr) => ColumnValue | undefined): readonly string[] {
  const named = (expr: Expr): readonly string[] => {
    const value = held(expr)
    const name = value && presenceOf(value)
    return name === undefined ? [] : [name]
  }
  switch (test.kind) {
    case 'Field':
    case 'Local':
      return is ? named(test) : []
    case 'Unary':
      return test.operator === '!' ? presentWhen(test.operand, !is, held) : []
    case 'Logical':
      if (test.operator === '??' || is !== (test.operator === '&&')) return []
      return [...presentWhen(test.left, is, held), ...presentWhen(test.right, is, held)]
    case 'Binary': {
      const { operator, left, right } = test
      if (!(operator === '===' || operator === '==' || operator === '!==' || operator === '!=')) return []
      if (is !== operator.startsWith('!')) return []
      return isNull(right) ? named(left) : isNull(left) ? named(right) : []
    }
    default:
      return []
  }
}

function isNull(expr: Expr): boolean {
  return expr.kind === 'Literal' && expr.value === null
}
