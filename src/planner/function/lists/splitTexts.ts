/**
 * The parts of a text between separators, where one of them is asked for, or how many there are: no list is made of them.
 *
 *     r.url.split('/')[2]     r.name.split(' ').at(-1)     r.mail.split('@').pop()     r.path.split('/').length
 */
import type { AnyNode, CallExpression, Expression, MemberExpression } from 'acorn'
import type { Expr } from '../../../core/ir/functionIr.ts'
import { literal } from '../lower/build.ts'
import type { Lowering } from '../lower/lowering.ts'
import { exprValue, REFUSED, type Value } from '../lower/value.ts'
import { memberOf } from './literals.ts'

/** The question about the parts: one of them, by its number, or how many there are. */
type Question = number | 'length'

interface Split {
  readonly call: CallExpression
  /** What is split. */
  readonly of: Expression
  readonly separator: string
}

/** Lowers a question about the parts of a text; undefined where the expression is none. `object`: what is split, where it has been lowered. */
export function splitText(l: Lowering, node: MemberExpression | CallExpression, object?: Value): Value | undefined {
  if (l.context.kind === 'loop') return undefined
  const found = questionOf(node)
  const split = found && splitOf(found.of)
  if (found === undefined || split === undefined) return undefined
  const text = object ?? l.verbs.value(l, split.of)
  if (text.kind === 'refused') return REFUSED
  const span = l.span(node)
  if (text.kind !== 'expr') return ofOther(l, text, split.call, node)
  const separator = literal(split.separator, span)
  const expr: Expr = {
    ...{ kind: 'MethodCall', optional: false, object: text.expr, span },
    ...(found.asks === 'length'
      ? { method: 'split length', args: [separator] }
      : { method: 'split part', args: [separator, literal(found.asks, span)] }),
  }
  return exprValue(expr)
}

/** Lowers the same of what is no text, as an object with a function `split`. */
function ofOther(l: Lowering, object: Value, call: CallExpression, node: MemberExpression | CallExpression): Value {
  const parts = l.verbs.method(l, object, 'split', call)
  if (node.type === 'MemberExpression' && node.property.type !== 'PrivateIdentifier')
    return memberOf(l, parts, node.computed ? l.verbs.value(l, node.property) : (node.property as { name: string }).name, node)
  return l.verbs.method(l, parts, ((node as CallExpression).callee as { property: { name: string } }).property.name, node as CallExpression)
}

/** The `text.split` that one of the forms above calls. */
export function splitIn(node: MemberExpression | CallExpression): MemberExpression | undefined {
  const found = questionOf(node)
  return found && (splitOf(found.of)?.call.callee as MemberExpression | undefined)
}

function questionOf(node: MemberExpression | CallExpression): { readonly of: AnyNode; readonly asks: Question } | undefined {
  if (node.type === 'MemberExpression') {
    const { object, property, computed, optional } = node
    if (optional) return undefined
    if (!computed) return property.type === 'Identifier' && property.name === 'length' ? { of: object, asks: 'length' } : undefined
    const at = numberOf(property)
    return at === undefined || at < 0 ? undefined : { of: object, asks: at }
  }
  const { callee, arguments: args, optional } = node
  if (optional || callee.type !== 'MemberExpression' || callee.computed || callee.optional || callee.property.type !== 'Identifier')
    return undefined
  const { name } = callee.property
  if (args.length === 0 && (name === 'pop' || name === 'shift')) return { of: callee.object, asks: name === 'pop' ? -1 : 0 }
  const at = name === 'at' && args.length === 1 ? numberOf(args[0] as AnyNode) : undefined
  return at === undefined ? undefined : { of: callee.object, asks: at }
}

/** A whole number that is written out, and of which lists may have an element. */
function numberOf(node: AnyNode): number | undefined {
  if (node.type === 'UnaryExpression' && node.operator === '-') {
    const of = numberOf(node.argument)
    return of === undefined || of === 0 ? undefined : -of
  }
  if (node.type !== 'Literal' || typeof node.value !== 'number') return undefined
  return Number.isInteger(node.value) && node.value >= 0 && node.value < 2 ** 16 ? node.value : undefined
}

function splitOf(node: AnyNode): Split | undefined {
  if (node.type !== 'CallExpression' || node.optional || node.arguments.length !== 1) return undefined
  const { callee } = node
  if (callee.type !== 'MemberExpression' || callee.computed || callee.object.type === 'Super') return undefined
  const [separator] = node.arguments
  const isSplit = callee.property.type === 'Identifier' && callee.property.name === 'split'
  if (!isSplit || separator?.type !== 'Literal' || typeof separator.value !== 'string' || separator.value === '') return undefined
  return { call: node, of: callee.object as Expression, separator: separator.value }
}
