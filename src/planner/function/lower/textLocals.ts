/**
 * Texts of a loop's body as numbers: keys of its collections, and variables that hold nothing but texts which are written out or
 * captured, and are only compared, have the codes of `textCodes.ts` instead.
 *
 *     let state = 'idle'                                let state = 0
 *     if (words[k] === 'go') state = 'busy'     -->     if ((words_codes[k] ?? -1) === 1) state = 2
 *     if (state === 'busy') seen.add(words[k])          if (state === 2) … words_codes[k] ?? -1 …
 *
 * Legal since equal texts have one code, and undefined and null have codes that no text has. All that a variable is ever given decides, so
 * this is done when the body is lowered: until then a key is a lookup, in a table of no array, at the text itself.
 */
import { childrenOf, type Expr, expressionsOf, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { withOperands } from '../../../core/ir/irRewrite.ts'
import { rewrittenStatements } from '../../../core/ir/statementRewrite.ts'
import type { Span } from '../../../core/span.ts'
import { coded, codeOf, isCapturedText, NONE } from '../captures/textCodes.ts'
import { noteShapes } from '../lists/keyed/builtTexts.ts'
import { FIRST_BUILT } from '../lists/keyed/textShapes.ts'
import { refusalOf } from '../refusals.ts'
import { binary, conditional, literal, logical, unary } from './build.ts'
import type { Lowering } from './lowering.ts'

/** Tables that no array has: the code of a text, and that of the name that an object makes of a key. */
const CODES = 'codes of texts'
const CODES_OF_NAMES = 'codes of names'
/** The code of null. */
const NULL = -2

export function isCodesTable(table: string): boolean {
  return table === CODES || table === CODES_OF_NAMES
}

/** Returns the code of a text, which is found once all of the function is lowered. */
export function codeOfText(l: Lowering, text: Expr, span: Span, { isName = false }: { readonly isName?: boolean } = {}): Expr {
  if (text.kind === 'Literal' && typeof text.value === 'string') return literal(codeOf(l, text.value), span)
  return unary('+', { kind: 'Lookup', table: isName ? CODES_OF_NAMES : CODES, index: text, span }, span)
}

export interface Coded {
  readonly body: readonly Stmt[]
  /** The locals that hold codes. */
  readonly locals: ReadonlySet<string>
}

/** Puts codes in the place of texts wherever that cannot be told; a key of which no code is known is refused. */
export function withCodes(l: Lowering, body: readonly Stmt[]): Coded {
  if (l.context.kind !== 'loop') return { body, locals: new Set() }
  const coded = codedLocals(l, body)
  const { locals } = coded
  const rewritten = rewrittenStatements(body, {
    expr: (expr, of) => (of.kind === 'If' || of.kind === 'For' ? testedExpr(l, coded, expr) : rewrittenExpr(l, coded, expr)),
    stmt: (stmt, original) => {
      const local = stmt.kind === 'Let' || stmt.kind === 'Assign' ? stmt.local : ''
      if (!locals.has(local)) return [stmt]
      if (original.kind === 'Assign') return [{ ...original, value: codeIn(l, coded, original.value) }]
      if (original.kind !== 'Let') return [stmt]
      const { init, span } = original
      return [{ ...original, init: init === undefined ? literal(NONE, span) : codeIn(l, coded, init) }]
    },
  })
  if (l.textShapes.length > 0) refuseUncoded(l, rewritten, coded)
  return { body: rewritten, locals }
}

/** Refuses texts of codes that are used as texts: no table has those that the body makes of numbers. */
function refuseUncoded(l: Lowering, body: readonly Stmt[], { given }: Locals): void {
  const before = l.refusals.length
  const all: Expr[] = []
  visitStmts(body, (stmt) => {
    for (const expr of expressionsOf(stmt)) visitExpr(expr, (one) => void all.push(one))
  })
  for (const expr of all)
    if (expr.kind === 'Lookup' && (expr.table === l.textTable || l.textsByCode.length > FIRST_BUILT))
      l.refuseWith(refusalOf('text-key', expr.span, expr.span.text))
  if (l.refusals.length === before) return
  // what such a text is compared with may be another of which the next try knows the shape
  for (const expr of all)
    if (expr.kind === 'Binary' && /^[!=]==?$/.test(expr.operator)) for (const side of [expr.left, expr.right]) noteShapes(l, side, given)
}

interface Locals {
  readonly locals: ReadonlySet<string>
  /** Those that may hold null. */
  readonly nulls: ReadonlySet<string>
  /** What locals are given. */
  readonly given: ReadonlyMap<string, readonly (Expr | undefined)[]>
}

/** Returns the locals that only hold texts which have codes, undefined and null, and are only compared, given to each other, or keys. */
function codedLocals(l: Lowering, body: readonly Stmt[]): Locals {
  const given = new Map<string, (Expr | undefined)[]>()
  const rest: Expr[] = []
  const tested: Expr[] = []
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'Let' || stmt.kind === 'Assign') {
      const all = given.get(stmt.local) ?? []
      given.set(stmt.local, all)
      all.push(stmt.kind === 'Let' ? stmt.init : stmt.value)
    } else if (stmt.kind === 'If' || (stmt.kind === 'For' && stmt.test !== undefined)) tested.push(stmt.test as Expr)
    else rest.push(...expressionsOf(stmt))
  })
  const locals = new Set<string>()
  for (let size = -1; size !== locals.size; ) {
    size = locals.size
    for (const [local, all] of given) if (all.some((one) => one !== undefined && mayBeText(l, locals, one))) locals.add(local)
  }
  for (let size = -1; size !== locals.size; ) {
    size = locals.size
    for (const local of [...locals])
      if (!given.get(local)?.every((one) => one === undefined || hasCode(l, locals, one))) locals.delete(local)
    const uses = (expr: Expr): void => {
      if (expr.kind === 'Local') locals.delete(expr.name)
      else if (expr.kind === 'Unary' && expr.operator === '!') tests(expr.operand)
      else if (expr.kind === 'Conditional') {
        tests(expr.test)
        for (const one of [expr.then, expr.else]) uses(one)
      } else if (isCompared(l, locals, expr)) [expr.left, expr.right].forEach(inside)
      else if (expr.kind === 'Lookup' && isCodesTable(expr.table) && hasCode(l, locals, expr.index)) inside(expr.index)
      else childrenOf(expr).forEach(uses)
    }
    // of a text that has a code, what decides which text it is
    const inside = (expr: Expr): void => {
      if (expr.kind === 'Conditional') {
        tests(expr.test)
        for (const one of [expr.then, expr.else]) inside(one)
      } else if (expr.kind === 'Logical') [expr.left, expr.right].forEach(inside)
      else if (expr.kind === 'Lookup') uses(expr.index)
    }
    // of a text that is only tested, whether it is empty
    const tests = (expr: Expr): void => {
      if (expr.kind === 'Logical' && expr.operator !== '??') [expr.left, expr.right].forEach(tests)
      else if (expr.kind === 'Unary' && expr.operator === '!') tests(expr.operand)
      else if (expr.kind !== 'Local') uses(expr)
    }
    for (const expr of rest) uses(expr)
    for (const test of tested) tests(test)
    for (const [local, all] of given) for (const one of all) if (one !== undefined) (locals.has(local) ? inside : uses)(one)
  }
  const nulls = new Set<string>()
  for (let size = -1; size !== nulls.size; ) {
    size = nulls.size
    for (const local of locals) if (given.get(local)?.some((one) => one !== undefined && mayBeNull(nulls, one))) nulls.add(local)
  }
  return { locals, nulls, given }
}

/** Whether an expression gives a text on some way, or null, which a variable may hold before it holds a text. */
function mayBeText(l: Lowering, locals: ReadonlySet<string>, expr: Expr): boolean {
  if (expr.kind === 'Local') return locals.has(expr.name)
  if (expr.kind === 'Conditional') return mayBeText(l, locals, expr.then) || mayBeText(l, locals, expr.else)
  if (expr.kind === 'Logical' && expr.operator === '??') return mayBeText(l, locals, expr.left) || mayBeText(l, locals, expr.right)
  if (expr.kind === 'Literal') return typeof expr.value === 'string' || expr.value === null
  return textOfParameter(l, expr) !== undefined || (expr.kind === 'Lookup' && (expr.table === l.textTable || isCapturedText(l, expr)))
}

/** Whether an expression gives nothing but texts that have codes, undefined and null. */
function hasCode(l: Lowering, locals: ReadonlySet<string>, expr: Expr): boolean {
  const each = (...all: readonly Expr[]): boolean => all.every((one) => hasCode(l, locals, one))
  if (expr.kind === 'Local') return locals.has(expr.name)
  if (expr.kind === 'Conditional') return each(expr.then, expr.else)
  if (expr.kind === 'Logical') return expr.operator === '??' && each(expr.left, expr.right)
  if (expr.kind === 'Literal') return typeof expr.value === 'string' || expr.value === undefined || expr.value === null
  return mayBeText(l, locals, expr)
}

function textOfParameter(l: Lowering, expr: Expr): string | undefined {
  const value = expr.kind === 'Parameter' ? l.parameters.find(({ name }) => name === expr.name)?.value : undefined
  return typeof value === 'string' ? value : undefined
}

type Comparison = Expr & { readonly kind: 'Binary'; readonly operator: '===' | '!==' | '==' | '!=' }

/** Whether an expression compares two texts that have codes. */
function isCompared(l: Lowering, locals: ReadonlySet<string>, expr: Expr): expr is Comparison {
  if (expr.kind !== 'Binary' || !/^[!=]==?$/.test(expr.operator)) return false
  const sides = [expr.left, expr.right]
  if (!sides.every((one) => hasCode(l, locals, one)) || !sides.some((one) => one.kind !== 'Literal')) return false
  // by == undefined equals null: one side is written out
  return expr.operator.length === 3 || sides.some((one) => one.kind === 'Literal')
}

function comparedCodes(l: Lowering, of: Locals, { operator, left, right, span }: Comparison): Expr {
  const isNothing = (one: Expr): boolean => one.kind === 'Literal' && typeof one.value !== 'string'
  const [a, b] = isNothing(left) ? [right, left] : [left, right]
  if (operator.length === 3 || !isNothing(b)) return binary(operator, codeIn(l, of, a), codeIn(l, of, b), span)
  return binary(operator === '==' ? '<' : '>=', codeIn(l, of, a), literal(0, span), span)
}

/** Returns a test: a text is true where it is there and not empty. */
function testedExpr(l: Lowering, of: Locals, expr: Expr): Expr {
  if (expr.kind === 'Logical' && expr.operator !== '??')
    return { ...expr, left: testedExpr(l, of, expr.left), right: testedExpr(l, of, expr.right) }
  if (expr.kind === 'Unary' && expr.operator === '!') return { ...expr, operand: testedExpr(l, of, expr.operand) }
  if ((expr.kind !== 'Local' && expr.kind !== 'Lookup') || !mayBeText(l, of.locals, expr)) return rewrittenExpr(l, of, expr)
  const { span } = expr
  const code = codeIn(l, of, expr)
  const isEmpty = binary('!==', code, literal(codeOf(l, ''), span), span)
  return logical('&&', binary('>=', code, literal(0, span), span), isEmpty, span)
}

function rewrittenExpr(l: Lowering, of: Locals, expr: Expr): Expr {
  if (expr.kind === 'Unary' && expr.operator === '!') return { ...expr, operand: testedExpr(l, of, expr.operand) }
  if (expr.kind === 'Conditional') {
    const [then, other] = [rewrittenExpr(l, of, expr.then), rewrittenExpr(l, of, expr.else)]
    return conditional(testedExpr(l, of, expr.test), then, other, expr.span)
  }
  if (isCompared(l, of.locals, expr)) return comparedCodes(l, of, expr)
  if (expr.kind === 'Lookup' && isCodesTable(expr.table)) {
    const isName = expr.table === CODES_OF_NAMES
    if (hasCode(l, of.locals, expr.index) && (isName || !mayBeNull(of.nulls, expr.index))) {
      const code = codeIn(l, of, expr.index)
      return isName ? codeOfName(l, code, expr.span) : code
    }
    noteShapes(l, expr.index, of.given)
    l.refuseWith(refusalOf('text-key', expr.span, expr.index.span.text))
    return literal(NONE, expr.span)
  }
  return withOperands(expr, (one) => rewrittenExpr(l, of, one))
}

/** Whether a text may be null, which has no code among those that collections hold. */
function mayBeNull(nulls: ReadonlySet<string>, expr: Expr): boolean {
  if (expr.kind === 'Local') return nulls.has(expr.name)
  if (expr.kind === 'Conditional') return mayBeNull(nulls, expr.then) || mayBeNull(nulls, expr.else)
  return expr.kind === 'Logical' ? mayBeNull(nulls, expr.right) : expr.kind === 'Literal' && expr.value === null
}

/** Returns the code of the name that an object makes of a text, of undefined or of null. */
function codeOfName(l: Lowering, code: Expr, span: Span): Expr {
  if (code.kind === 'Literal')
    return literal(code.value === NONE ? codeOf(l, 'undefined') : code.value === NULL ? codeOf(l, 'null') : code.value, span)
  if (code.kind === 'Logical' && code.right.kind === 'Literal' && code.right.value === NONE)
    return { ...code, right: literal(codeOf(l, 'undefined'), span) }
  const absent = conditional(
    binary('===', code, literal(NULL, span), span),
    literal(codeOf(l, 'null'), span),
    literal(codeOf(l, 'undefined'), span),
    span,
  )
  return conditional(binary('<', code, literal(0, span), span), absent, code, span)
}

/** Returns the code of a text that has one. */
function codeIn(l: Lowering, of: Locals, expr: Expr): Expr {
  const { span } = expr
  switch (expr.kind) {
    case 'Local':
      return expr
    case 'Literal':
      return literal(typeof expr.value === 'string' ? codeOf(l, expr.value) : expr.value === null ? NULL : NONE, span)
    case 'Conditional':
      return conditional(testedExpr(l, of, expr.test), codeIn(l, of, expr.then), codeIn(l, of, expr.else), span)
    case 'Logical': {
      const [left, right] = [codeIn(l, of, expr.left), codeIn(l, of, expr.right)]
      if (left.kind === 'Logical') return logical('??', left.left, right, span)
      return conditional(binary('<', left, literal(0, span), span), right, left, span)
    }
    case 'Lookup': {
      const index = rewrittenExpr(l, of, expr.index)
      return coded(l, { ...expr, index })
    }
    default:
      return literal(codeOf(l, textOfParameter(l, expr) ?? ''), span)
  }
}
