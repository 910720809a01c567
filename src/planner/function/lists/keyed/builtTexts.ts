/**
 * Lowers texts that a body makes of whole numbers to their numbers (`textShapes.ts`), where an earlier try has found that collections hold
 * texts of this shape.
 *
 *     seen.has(`${x},${y}`)     -->     x and y are whole and in range, or the body runs as it stands;  seen.has(code of x and y)
 */
import type { AnyNode, CallExpression } from 'acorn'
import type { Expr } from '../../../../core/ir/functionIr.ts'
import { textOfCode } from '../../captures/textCodes.ts'
import { binary, literal, logical, makeIf, unary } from '../../lower/build.ts'
import { rangeOf } from '../../lower/indexRanges.ts'
import type { Lowering } from '../../lower/lowering.ts'
import { exprValue, type Value } from '../../lower/value.ts'
import { refusalOf } from '../../refusals.ts'
import { NUMBERS } from '../madeArrays.ts'
import { type BuiltText, builtText, firstOfShape, isNewShape, numberOfShape, rangeOfParts } from './textShapes.ts'

/** Returns the text as one of those that have numbers, after tests that it is one; the expression itself where its shape is not known. */
export function codedText(l: Lowering, expr: Expr, node: AnyNode): Expr {
  const built = l.textShapes.length === 0 || expr.kind === 'Literal' ? undefined : builtText(expr)
  const number = built && numberOfShape(l.textShapes, built.shape)
  if (built === undefined || number === undefined) return expr
  const span = l.span(node)
  const { half, factor } = rangeOfParts(built.parts.length)
  let code: Expr = literal(0, span)
  for (const [i, given] of built.parts.entries()) {
    const part = l.stabilized(given, 'part')
    inRange(l, part, half, node)
    const counted = binary('+', part, literal(half, span), span)
    code = i === 0 ? counted : binary('+', binary('*', code, literal(factor, span), span), counted, span)
  }
  return textOfCode(l, l.temporary(binary('+', code, literal(firstOfShape(number), span), span), 'code'), span)
}

/** Lowers `[x, y].join(',')` of a few numbers to the text that it is; undefined for other calls. */
export function joinedNumbers(l: Lowering, of: Value, name: string, node: CallExpression): Value | undefined {
  const [given, another] = node.arguments
  if (name !== 'join' || l.context.kind !== 'loop' || of.kind !== 'tuple' || of.items.length < 2 || another !== undefined) return undefined
  const separator = given === undefined ? ',' : given.type === 'Literal' ? given.value : undefined
  const items = of.items.flatMap((item) => (item.kind === 'expr' ? [item.expr] : []))
  if (typeof separator !== 'string' || items.length < of.items.length) return undefined
  const span = l.span(node)
  let text: Expr = literal('', span)
  for (const [i, item] of items.entries()) {
    l.checks.push({ expr: item, holds: areNumbers, refusal: refusalOf('list-method', span, name) }) // what is absent is no text there
    const part: Expr = { kind: 'Call', callee: 'String', args: [item], span }
    text = i === 0 ? part : binary('+', separator === '' ? text : binary('+', text, literal(separator, span), span), part, span)
  }
  return exprValue(codedText(l, text, node))
}

function areNumbers(kinds: readonly string[] | undefined): boolean {
  return kinds?.every((kind) => NUMBERS.has(kind)) === true
}

/** Emits the test that a part of a text is a whole number within the range. */
function inRange(l: Lowering, part: Expr, half: number, node: AnyNode): void {
  const span = l.span(node)
  l.checks.push({ expr: part, holds: areNumbers, refusal: refusalOf('text-key', span, span.text) })
  const range = rangeOf(l, part)
  if (range !== undefined && range.low >= -half && range.high < half) return
  const whole: Expr = { kind: 'Call', callee: 'Math.floor', args: [part], span }
  const tests = [
    binary('>=', part, literal(-half, span), span),
    binary('<', part, literal(half, span), span),
    binary('===', whole, part, span),
  ]
  const isInside = tests.reduce((a, b) => logical('&&', a, b, span))
  const message = literal(
    `${span.text} is made of a number that is not whole, or not from ${(-half).toLocaleString('en')} to ${(half - 1).toLocaleString('en')}. Use a number as the key, as x * width + y.`,
    span,
  )
  l.emit(...makeIf(unary('!', isInside, span), [{ kind: 'Throw', error: 'RangeError', message, isLimit: true, span }], [], span))
}

/** Notes the shapes of texts that are used as keys: the next try has numbers for them. `given`: what locals are given. */
export function noteShapes(
  l: Lowering,
  key: Expr,
  given: ReadonlyMap<string, readonly (Expr | undefined)[]>,
  seen: Set<string> = new Set(),
): void {
  const built: BuiltText | undefined = builtText(key)
  if (built !== undefined) {
    if (isNewShape([...l.textShapes, ...l.foundShapes], built.shape)) l.foundShapes.push(built.shape)
  } else if (key.kind === 'Local' && !seen.has(key.name)) {
    seen.add(key.name)
    for (const one of given.get(key.name) ?? []) if (one !== undefined) noteShapes(l, one, given, seen)
  } else if (key.kind === 'Conditional') for (const one of [key.then, key.else]) noteShapes(l, one, given, seen)
  else if (key.kind === 'Logical') for (const one of [key.left, key.right]) noteShapes(l, one, given, seen)
}
