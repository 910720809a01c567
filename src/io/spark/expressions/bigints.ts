/**
 * Bigints: 64 bits on the server. JavaScript's have any number; a result beyond 64 fails the query, also where a later
 * operation would have brought it back.
 */
import type { BinaryOperator } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import type { Expression } from '../messages.ts'
import type { Scope } from '../scope.ts'
import { Untranslated } from '../untranslated.ts'
import { call, cast, long, NULL, text, when } from './build.ts'
import { bigintValue, type Value } from './values.ts'

const TOO_LARGE = 'A bigint has more than 64 bits. Compute with numbers, as in Number(row.id)'
const CHECKED: Readonly<Partial<Record<BinaryOperator, string>>> = { '+': 'try_add', '-': 'try_subtract', '*': 'try_multiply' }

/** An operation of two bigints that are there. */
export function ofBigints(
  operator: BinaryOperator,
  left: Value,
  right: Value,
  { span, scope }: { readonly span: Span; readonly scope: Scope },
): Value {
  const other = [left, right].find(({ is, nullable }) => is !== 'bigint' || nullable)
  if (other !== undefined)
    throw new Untranslated(
      other.is === 'bigint'
        ? `computes (${operator}) with a bigint that may be null`
        : `computes (${operator}) with a bigint and a ${other.is}`,
      span,
      other.is === 'bigint'
        ? 'Say what null is, as in (row.id ?? 0n) + 1n.'
        : 'Convert one of them: Number(…), or read the column as numbers.',
    )
  const [a, b] = [scope.bindExpr(left.expr), scope.bindExpr(right.expr)]
  const checked = CHECKED[operator]
  if (checked !== undefined) return bigintValue(within(call(checked, a, b)))
  switch (operator) {
    case '&':
    case '|':
    case '^':
      return bigintValue(call(operator, a, b))
    case '/':
    case '%': {
      // a quotient by -1 is the opposite, which the least of 64 bits has not
      // a rest by -1 is 0, and the dividend is computed all the same: it may fail
      const ofOpposite = within(operator === '%' ? call('try_subtract', a, a) : call('try_subtract', long(0n), a))
      const refused = cast(
        call('raise_error', text(`Division of a bigint by zero at ${span.line}:${span.column}. Test for 0n before`)),
        'BIGINT',
      )
      const tests = [
        [call('=', b, long(0n)), refused],
        [call('=', b, long(-1n)), ofOpposite],
      ] as const
      return bigintValue(when(tests, call(operator === '/' ? 'div' : '%', a, b)))
    }
    default:
      throw new Untranslated(`computes (${operator}) with bigints`, span, 'Read the column as numbers, or use fallback: "local".')
  }
}

export function opposite(value: Value, span: Span): Value {
  if (value.nullable) throw new Untranslated('negates a bigint that may be null', span, 'Say what null is, as in -(row.id ?? 0n).')
  return bigintValue(within(call('try_subtract', long(0n), value.expr)))
}

/** The sum of integers of 64 bits as one of them; null where there are none. */
export function sumOfBigints(value: Expression, over: (aggregate: Expression) => Expression): Expression {
  const total = over(call('sum', cast(value, 'DECIMAL(19,0)')))
  return when([[call('isnotnull', total), within(cast(total, 'BIGINT'))]], cast(NULL, 'BIGINT'))
}

/** A result whose null stands for more than 64 bits, with an error in the place of null. */
function within(result: Expression): Expression {
  return call('coalesce', result, cast(call('raise_error', text(TOO_LARGE)), 'BIGINT'))
}
