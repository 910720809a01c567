/**
 * Methods of texts in row functions that take a regular expression, or give a list of texts, of which the function asks something.
 *
 *     r.day.replace(/\//g, '-')     r.tags.split(',').includes('x')     r.url.match(/p(\d+)/)?.[1]
 */
import type { CallExpression } from 'acorn'
import type { Expr, Method } from '../../core/ir/functionIr.ts'
import { argumentExprs } from './captures/handleMethods.ts'
import { elements } from './lists/elements.ts'
import { literal } from './lower/build.ts'
import type { Lowering } from './lower/lowering.ts'
import type { Regex } from './lower/regexes.ts'
import { exprValue, REFUSED, type Value } from './lower/value.ts'

/** The methods, each with what it takes first: a text, a regular expression, or either. */
const METHODS: ReadonlyMap<string, 'text' | 'regex' | 'either'> = new Map([
  ['replace', 'either'],
  ['replaceAll', 'either'],
  ['search', 'regex'],
  ['split', 'either'],
  ['match', 'regex'],
  ['substr', 'text'],
  ['toLocaleLowerCase', 'text'],
  ['toLocaleUpperCase', 'text'],
])

/** Lowers a call of one of these methods; undefined for others, and in loops. */
export function textMethod(l: Lowering, object: Expr, name: string, node: CallExpression): Value | undefined {
  const takes = METHODS.get(name)
  if (l.context.kind !== 'row' || takes === undefined) return undefined
  const span = l.span(node)
  const before = l.out.length
  const values = elements(l, node.arguments)
  if (values === undefined) return REFUSED
  const emitted = l.out.splice(before)
  const of = emitted.length === 0 ? object : l.stabilized(object)
  l.out.push(...emitted)
  const [regex] = values
  const isRegex = regex?.kind === 'regex'
  if (takes !== 'either' && isRegex !== (takes === 'regex')) return l.refuse(isRegex ? 'regex' : 'unknown-method', node, name)
  if (isRegex && name === 'replaceAll' && !regex.flags.includes('g')) return l.refuse('regex', node) // it throws
  const exprs = argumentExprs(l, isRegex ? values.slice(1) : values, node)
  if (exprs === undefined) return REFUSED
  const args = isRegex ? [literal(regex.pattern, span), literal(regex.flags, span), ...exprs] : exprs
  const method = (isRegex ? `${name} regex` : name) as Method // those of the map have such names in the IR
  return exprValue({ kind: 'MethodCall', method, object: of, args, optional: false, span })
}

/**
 * Lowers `/x/.test(value)`, and in row functions `/x/.exec(value)`. With the flag g an expression remembers where it ended, and the next
 * call begins there.
 */
export function regexMethod(l: Lowering, { pattern, flags }: Regex, name: string, node: CallExpression): Value {
  const isKnown = name === 'test' || (name === 'exec' && l.context.kind === 'row')
  const regex = node.callee.type === 'MemberExpression' ? node.callee.object : node
  if (!isKnown || flags.includes('g') || node.arguments.length !== 1) return l.refuse('regex', regex)
  const values = elements(l, node.arguments)
  const [of] = values === undefined ? [] : (argumentExprs(l, values, node) ?? [])
  const span = l.span(node)
  if (of === undefined) return REFUSED
  if (name === 'test') return exprValue({ kind: 'Matches', pattern, flags, of, span })
  const args = [literal(pattern, span), literal(flags, span)]
  return exprValue({ kind: 'MethodCall', method: 'exec regex', object: of, args, optional: false, span })
}
