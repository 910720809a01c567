/**
 * Errors of the source whose message is computed: kernels hand over the numbers in it, of which the host makes the text.
 *
 *     throw new RangeError(`row ${i} has ${v.toFixed(2)}`)       said(i); said(v); fail(the error whose message is row, number, has, fixed(2))
 */
import type { Expr } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { type Code, I } from '../../kir/instructions.ts'
import { asF64, isMaybe, NotCompiled } from '../expressions/types.ts'
import type { MessagePart } from './wasmCode.ts'
import type { KernelWriter } from './wasmWriter.ts'

/** Writes the code that hands over the numbers of a message, and returns what it is made of. */
export function messageOf(w: KernelWriter, message: Expr, span: Span): { readonly code: Code; readonly parts: readonly MessagePart[] } {
  const code: Code[] = []
  const parts: MessagePart[] = []
  const say = (expr: Expr, fixed?: number): void => {
    const value = w.expr(expr)
    if (value.type.kind === 'bigint' || isMaybe(value.type))
      throw new NotCompiled('it throws a message with a bigint, or what may be undefined', span)
    code.push(asF64(value), I.call(w.function('said', ['f64'], [])))
    parts.push(fixed !== undefined ? { of: 'fixed', digits: fixed } : { of: value.type.kind === 'bool' ? 'truth' : 'number' })
  }
  const add = (expr: Expr): void => {
    if (expr.kind === 'Literal' && (typeof expr.value === 'string' || expr.value === null || expr.value === undefined))
      parts.push(String(expr.value))
    else if (expr.kind === 'Binary' && isText(expr)) {
      add(expr.left)
      add(expr.right)
    } else if (expr.kind === 'Call' && expr.callee === 'String' && expr.args.length === 1) add(expr.args[0] as Expr)
    else if (expr.kind === 'MethodCall') {
      const [digits] = expr.args
      const isKnown =
        digits?.kind === 'Literal' &&
        typeof digits.value === 'number' &&
        Number.isInteger(digits.value) &&
        digits.value >= 0 &&
        digits.value <= 100
      if (expr.method !== 'toFixed' || !isKnown) throw new NotCompiled('it throws a message that is computed', span)
      say(expr.object, Number(digits.value))
    } else say(expr)
  }
  if (!isText(message)) throw new NotCompiled('it throws a message that is computed', span)
  add(message)
  return { code, parts }
}

/** Whether an expression is a text: `+` joins where one side is. */
function isText(expr: Expr): boolean {
  if (expr.kind === 'Literal') return typeof expr.value === 'string'
  if (expr.kind === 'Binary') return expr.operator === '+' && (isText(expr.left) || isText(expr.right))
  return (expr.kind === 'Call' && expr.callee === 'String') || (expr.kind === 'MethodCall' && expr.method === 'toFixed')
}

/** Makes the message of the numbers that were handed over. */
export function messageText(parts: readonly MessagePart[], said: readonly number[]): string {
  let next = 0
  return parts
    .map((part) => {
      if (typeof part === 'string') return part
      const value = said[next++] as number // one for each part
      return part.of === 'fixed' ? value.toFixed(part.digits) : String(part.of === 'truth' ? value !== 0 : value)
    })
    .join('')
}
