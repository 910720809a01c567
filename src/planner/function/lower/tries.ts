/**
 * Lowers `try` around failures that the IR can test for before they happen: a `throw`, and an element outside of a dense array.
 *
 *     try { y.set(i, x.get(k)) } catch { y.set(i, 0) }
 *
 *     done: { caught: { if (k is outside of x) break caught; y[i] = x[k]; break done }  y[i] = 0 }
 *
 * Each statement is asked first whether it would fail, so that what was written before it stays written, as in JavaScript. Where
 * nothing in it can fail, the block alone is left. What may fail in another way (a method of null, a bigint) is refused.
 */
import type { BlockStatement, TryStatement } from 'acorn'
import { ARRAY_OF_DTYPE } from '../../../core/arrays/storage.ts'
import { childrenOf, type Expr, expressionsOf, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import type { Reason } from '../refusals.ts'
import { someNode } from '../source/ast.ts'
import { binary, literal, logical, makeIf, negated } from './build.ts'
import { inputElement } from './context.ts'
import { counted } from './counted.ts'
import { rangeOf } from './indexRanges.ts'
import type { Lowering } from './lowering.ts'

class MayFail extends Error {
  readonly what: string
  constructor(what: string) {
    super(what)
    this.what = what
  }
}

export function lowerTry(l: Lowering, node: TryStatement): void {
  const span = l.span(node)
  const refuse = (reason: Reason, what = ''): void => {
    l.refuse(reason, node, what)
  }
  const { handler, finalizer } = node
  const param = handler?.param
  if (param != null && (param.type !== 'Identifier' || handler == null || uses(handler.body, param.name))) {
    refuse('try-error')
    return
  }
  const block = (of: BlockStatement): Stmt[] => l.collect(() => l.verbs.statements(l, of.body))
  const body = block(node.block)
  const caught = handler == null ? undefined : block(handler.body)
  const last = finalizer == null ? undefined : () => block(finalizer)
  const after = last?.() ?? []
  const [label, done] = [l.newLabel('caught'), l.newLabel('done')]
  try {
    const guarded = guardedStmts(l, body, label)
    const isCaught = leaves(guarded, label)
    if (finalizer != null) {
      const rest = caught ?? []
      const isWhole = !throws(guarded) && !throws(rest) && guardedStmts(l, rest, label).every((one, i) => one === rest[i])
      if (!isWhole || (isCaught && caught === undefined)) {
        refuse('try-finally')
        return
      }
    }
    if (leavesLoop(after) && leavesInLoop(body.concat(caught ?? []))) {
      refuse('finally-leaves')
      return
    }
    if (isCaught) {
      const inner: Stmt = {
        kind: 'Labeled',
        label,
        body: [...leaving(l, guarded, label, last), { kind: 'Break', label: done, span }],
        span,
      }
      l.emit({ kind: 'Labeled', label: done, body: [inner, ...leaving(l, caught ?? [], label, last)], span })
    } else l.emit(...leaving(l, body, label, last))
    l.emit(...after)
  } catch (error) {
    if (!(error instanceof MayFail)) throw error
    refuse('try', error.what)
  }
}

function uses(body: BlockStatement, name: string): boolean {
  return someNode(body, (one) => one.type === 'Identifier' && one.name === name, { intoFunctions: true })
}

function leaves(stmts: readonly Stmt[], label: string): boolean {
  let found = false
  visitStmts(stmts, (stmt) => {
    found ||= stmt.kind === 'Break' && stmt.label === label
  })
  return found
}

/** Whether statements may throw an error of the program. */
function throws(stmts: readonly Stmt[]): boolean {
  let found = false
  visitStmts(stmts, (stmt) => {
    found ||= stmt.kind === 'Throw' && stmt.isLimit !== true
  })
  return found
}

/** Whether statements have a `break` or `continue` of the loop around them, by no label. */
function leavesLoop(stmts: readonly Stmt[]): boolean {
  return stmts.some((stmt) => {
    if (stmt.kind === 'Break' || stmt.kind === 'Continue') return stmt.label === undefined
    if (stmt.kind === 'If') return leavesLoop(stmt.then) || leavesLoop(stmt.else)
    return stmt.kind === 'Labeled' && leavesLoop(stmt.body)
  })
}

/** Whether a loop among statements may be left for what is around them: there, a `break` without a label is one of that loop. */
function leavesInLoop(stmts: readonly Stmt[]): boolean {
  let found = false
  const look = (one: Stmt): void => {
    found ||= one.kind === 'Return' || ((one.kind === 'Break' || one.kind === 'Continue') && one.label !== undefined)
  }
  visitStmts(stmts, (stmt) => {
    if (stmt.kind === 'For') visitStmts(stmt.body, look)
  })
  return found
}

/**
 * Puts what `finally` does before each statement that leaves the block, as `break`, `continue` and `return` do; what is returned is evaluated
 * before.
 */
function leaving(l: Lowering, stmts: readonly Stmt[], label: string, last: (() => readonly Stmt[]) | undefined): readonly Stmt[] {
  if (last === undefined) return stmts
  const own = new Set([label])
  let depth = 0
  const each = (all: readonly Stmt[]): readonly Stmt[] => all.flatMap(inside)
  const inside = (stmt: Stmt): readonly Stmt[] => {
    switch (stmt.kind) {
      case 'Return': {
        if (stmt.value === undefined) return [...last(), stmt]
        const local = l.newName('returned')
        const value: Expr = { kind: 'Local', name: local, span: stmt.span }
        return [{ kind: 'Let', local, init: stmt.value, span: stmt.span }, ...last(), { ...stmt, value }]
      }
      case 'Break':
      case 'Continue':
        return (stmt.label === undefined ? depth === 0 : !own.has(stmt.label)) ? [...last(), stmt] : [stmt]
      case 'If':
        return makeIf(stmt.test, each(stmt.then), each(stmt.else), stmt.span)
      case 'Labeled':
        own.add(stmt.label)
        return [{ ...stmt, body: each(stmt.body) }]
      case 'For': {
        if (stmt.label !== undefined) own.add(stmt.label)
        depth++
        const body = each(stmt.body)
        depth--
        const { counted: _, ...loop } = stmt
        const found = stmt.counted === undefined ? undefined : counted({ init: stmt.init, test: stmt.test, update: stmt.update, body })
        return [found === undefined ? { ...loop, body } : { ...stmt, body }]
      }
      case 'Let':
      case 'Assign':
      case 'Write':
      case 'Add':
      case 'Accumulate':
      case 'Throw':
      case 'Evaluate':
        return [stmt]
    }
  }
  return each(stmts)
}

/** Returns the statements, each after a test whether it fails; the very same where none does. */
function guardedStmts(l: Lowering, stmts: readonly Stmt[], label: string): readonly Stmt[] {
  const guarded = stmts.flatMap((stmt) => guardedStmt(l, stmt, label))
  return guarded.length === stmts.length && guarded.every((one, i) => one === stmts[i]) ? stmts : guarded
}

function guardedStmt(l: Lowering, stmt: Stmt, label: string): readonly Stmt[] {
  const { span } = stmt
  const leave: Stmt = { kind: 'Break', label, span }
  // what only the compiled body has no room for is no error of the program, which would catch it
  if (stmt.kind === 'Throw' && stmt.isLimit === true) return [stmt]
  if (stmt.kind === 'Throw') return [...(stmt.message === undefined ? [] : guard(failsIn(l, stmt.message))), leave]
  if (stmt.kind === 'For') {
    const never = [...stmt.init, ...stmt.update].every((one) => guardedStmt(l, one, label)[0] === one)
    if (!never || (stmt.test !== undefined && !isNever(failsIn(l, stmt.test)))) throw new MayFail('the test of a loop')
    const body = guardedStmts(l, stmt.body, label)
    return [body === stmt.body ? stmt : { ...stmt, body }]
  }
  const own = expressionsOf(stmt).reduce<Expr>((sum, one) => either(sum, failsIn(l, one)), literal(false, span))
  const all = stmt.kind === 'Write' || stmt.kind === 'Add' ? either(own, outsideOf(l, stmt, { isWritten: true })) : own
  return [...guard(all), inside(stmt)]

  function guard(test: Expr): readonly Stmt[] {
    return isNever(test) ? [] : makeIf(test, [leave], [], span)
  }
  function inside(one: Stmt): Stmt {
    if (one.kind === 'If') {
      const [then, other] = [guardedStmts(l, one.then, label), guardedStmts(l, one.else, label)]
      return then === one.then && other === one.else ? one : { ...one, then, else: other }
    }
    if (one.kind !== 'Labeled') return one
    const body = guardedStmts(l, one.body, label)
    return body === one.body ? one : { ...one, body }
  }
}

const isNever = (test: Expr): boolean => test.kind === 'Literal' && test.value === false

function either(a: Expr, b: Expr): Expr {
  return isNever(b) ? a : logical('||', a, b, a.span)
}

/** Returns an expression that is true where evaluating another would fail. */
function failsIn(l: Lowering, expr: Expr): Expr {
  const { span } = expr
  const never = literal(false, span)
  const parts = (): Expr => childrenOf(expr).reduce<Expr>((sum, one) => either(sum, failsIn(l, one)), never)
  switch (expr.kind) {
    case 'Literal':
      if (typeof expr.value === 'bigint') throw new MayFail('a bigint')
      return never
    case 'Parameter':
      if (typeof l.parameters.find((one) => one.name === expr.name)?.value === 'bigint') throw new MayFail('a bigint')
      return never
    case 'Local':
    case 'Key':
    case 'Extent':
    case 'LookupLength':
      return never
    case 'Input': {
      const element = inputElement(l.context, expr.argument)
      if (element.kind !== 'scalar' || element.type.kind === 'i64' || element.type.kind === 'u64') throw new MayFail('its element')
      return never
    }
    case 'Field': {
      const element = expr.of.kind === 'Input' ? inputElement(l.context, expr.of.argument) : undefined
      const field = element?.kind === 'row' ? element.fields.find((one) => one.name === expr.name) : undefined
      if (field === undefined || field.type.kind === 'i64' || field.type.kind === 'u64') throw new MayFail(expr.name)
      return never
    }
    case 'OfList':
      throw new MayFail('a list')
    case 'Unary':
    case 'Binary':
    case 'Lookup':
    case 'Find':
    case 'Matches':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      return parts()
    case 'Logical': {
      const [left, right] = [failsIn(l, expr.left), failsIn(l, expr.right)]
      if (isNever(right)) return left
      const reached =
        expr.operator === '&&'
          ? expr.left
          : expr.operator === '||'
            ? negated(expr.left, span)
            : binary('==', expr.left, literal(null, span), span)
      return either(left, logical('&&', reached, right, span))
    }
    case 'Conditional': {
      const [test, then, other] = [failsIn(l, expr.test), failsIn(l, expr.then), failsIn(l, expr.else)]
      const first = isNever(then) ? test : either(test, logical('&&', expr.test, then, span))
      return isNever(other) ? first : either(first, logical('&&', negated(expr.test, span), other, span))
    }
    case 'Call':
      if (!SAFE_CALLS.test(expr.callee)) throw new MayFail(expr.callee)
      return parts()
    case 'MethodCall':
      if (!SAFE_METHODS.has(expr.method) || !(expr.optional || isText(l, expr.object))) throw new MayFail(expr.method)
      return parts()
    case 'Read':
      return either(parts(), outsideOf(l, expr, { isWritten: false }))
    case 'Has':
    case 'Draw':
      throw new MayFail(expr.kind === 'Has' ? 'has' : expr.method)
  }
}

/** Functions that never fail for numbers, texts, truth values, null or undefined. */
const SAFE_CALLS = /^(Math\.\w+|Number|String|Boolean|Number\.\w+|isNaN|isFinite|parseFloat|parseInt|Object\.is|Date\.UTC)$/
const SAFE_METHODS: ReadonlySet<string> = new Set([
  ...['length', 'at', 'charAt', 'charCodeAt', 'codePointAt', 'endsWith', 'includes', 'indexOf', 'lastIndexOf', 'slice'],
  ...['startsWith', 'substring', 'toLowerCase', 'toUpperCase', 'trim', 'trimEnd', 'trimStart'],
])

/** Whether an expression is a text in every row. */
function isText(l: Lowering, expr: Expr): boolean {
  if (expr.kind === 'Literal') return typeof expr.value === 'string'
  if (expr.kind === 'Call') return expr.callee === 'String'
  if (expr.kind === 'MethodCall') return /^(slice|substring|to|trim)/.test(expr.method) && isText(l, expr.object)
  if (expr.kind === 'Binary') return expr.operator === '+' && (isText(l, expr.left) || isText(l, expr.right))
  if (expr.kind !== 'Field' || expr.of.kind !== 'Input') return false
  const element = inputElement(l.context, expr.of.argument)
  const field = element.kind === 'row' ? element.fields.find((one) => one.name === expr.name) : undefined
  return field !== undefined && field.type.kind === 'utf8' && !field.nullable
}

/** Returns a test that is true where subscripts name no element of an array. */
function outsideOf(
  l: Lowering,
  { array, subscripts, span }: { readonly array: string; readonly subscripts: readonly Expr[]; readonly span: Span },
  { isWritten }: { readonly isWritten: boolean },
): Expr {
  const never = literal(false, span)
  if (l.locals.has(array)) return never // outside, JavaScript has undefined
  const shape = l.shapes.get(array)
  const dtype = l.dtypes.get(array)
  const rank = shape?.length ?? (l.tableColumns.has(array) ? 1 : undefined)
  const holdsNumbers = dtype !== undefined && dtype in ARRAY_OF_DTYPE && dtype !== 'i64'
  if (rank !== subscripts.length || !holdsNumbers || (isWritten && shape === undefined)) throw new MayFail(array)
  return subscripts.reduce<Expr>((sum, index, axis) => {
    if (isInside(l, index, shape?.[axis])) return sum
    if (!isRepeatable(index)) throw new MayFail(`a subscript of ${array}`)
    const end: Expr = { kind: 'Extent', array, axis, span }
    const tests = [
      ...((rangeOf(l, index)?.low ?? -1) >= 0 ? [] : [binary('>=', index, literal(0, span), span)]),
      binary('<', index, end, span),
      ...(rangeOf(l, index) === undefined ? [binary('===', binary('%', index, literal(1, span), span), literal(0, span), span)] : []),
    ]
    const isThere = tests.reduce((a, b) => logical('&&', a, b, span))
    return either(sum, { kind: 'Unary', operator: '!', operand: isThere, span })
  }, never)
}

/** Whether an index can be computed a second time with the same value. */
function isRepeatable(index: Expr): boolean {
  let found = true
  visitExpr(index, (one) => {
    found &&= one.kind !== 'Draw'
  })
  return found
}

/** Whether an index surely lies inside a known extent, as that of the loop's own axis may. */
function isInside(l: Lowering, index: Expr, extent: number | undefined): boolean {
  if (extent === undefined) return false
  const known = l.context.kind === 'loop' && index.kind === 'Key' ? l.context.extents?.[index.axis] : undefined
  if (known !== undefined) return known <= extent
  const range = rangeOf(l, index)
  return range !== undefined && range.low >= 0 && range.high < extent
}
