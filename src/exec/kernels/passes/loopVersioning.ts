/**
 * Loop versioning: a loop whose variables are doubles that turn out to be small integers has a version for integers.
 *
 *     while (n !== 1) n = n % 2 === 0 ? n / 2 : 3 * n + 1
 *
 *     m = n | 0
 *     if (m === n, and is not -0) { while (0 <= m && m < 2 ** 31 && m !== 1) m = m % 2 === 0 ? m / 2 : 3 * m + 1;  n = m }
 *     while (n !== 1) n = n % 2 === 0 ? n / 2 : 3 * n + 1
 *
 * Legal, since the copy runs the iterations that the loop would begin with, on the same values, and the loop goes on where it ends: with the
 * iteration in which a variable left the bounds, or not at all. What the copy's variables hold is found by the types of the kernel
 * (`wasmKernel.ts`), which asks for versions only of variables that are integers there; so none is ever -0.
 */
import {
  type BinaryOperator,
  type Expr,
  expressionsOf,
  type FunctionIr,
  nestedOf,
  type Stmt,
  visitStmts,
} from '../../../core/ir/functionIr.ts'
import { changedIn, hasLoop, someExpr } from '../../../core/ir/irFacts.ts'
import { type Rewriter, rewriteExpr } from '../../../core/ir/irRewrite.ts'
import { rewrittenStatements } from '../../../core/ir/statementRewrite.ts'
import type { Span } from '../../../core/span.ts'
import { HIGHEST, type WasmType } from '../expressions/types.ts'

type For = Extract<Stmt, { kind: 'For' }>

/** Loops with the variables of which they have a version, by their number in the body. */
export type Versions = ReadonlyMap<number, ReadonlySet<string>>

/** A body with versions, and by loop the names that its variables have in the copy. */
export interface Versioned {
  readonly ir: FunctionIr
  readonly names: ReadonlyMap<number, ReadonlyMap<string, string>>
}

/** The most loops that get a version. */
const MOST_VERSIONS = 4

/** Returns the loops that may gain by a version, with the doubles that they carry and that integers may be assigned to. */
export function versionsOf({ body, uses }: FunctionIr, locals: ReadonlyMap<string, WasmType>): Versions {
  const found = new Map<number, ReadonlySet<string>>()
  const kept = new Set(uses.flatMap(({ keeps }) => keeps ?? []))
  const isDouble = (name: string): boolean => {
    const type = locals.get(name)
    return type?.kind === 'f64' && !type.maybe && !kept.has(name)
  }
  for (const [number, loop] of innermostLoops(body).entries()) {
    if (found.size === MOST_VERSIONS || loop.counted !== undefined || loop.doWhile) continue
    const stmts = [...loop.body, ...loop.update]
    const made = madeIn(stmts)
    const carried = new Set([...changedIn(stmts)].filter((name) => !made.has(name) && isDouble(name)))
    const names = maybeIntegers(stmts, carried, (name) => made.has(name) || !isDouble(name))
    if (names.size > 0 && gains(loop, new Set([...names, ...made]))) found.set(number, names)
  }
  return found
}

/** Returns the versions without these variables, by loop. */
export function fewerVersions({ body }: FunctionIr, versions: Versions, without: ReadonlyMap<number, readonly string[]>): Versions {
  const loops = innermostLoops(body)
  const found = new Map<number, ReadonlySet<string>>()
  for (const [number, names] of versions) {
    const loop = loops[number]
    const fewer = new Set([...names].filter((name) => without.get(number)?.includes(name) !== true))
    if (loop !== undefined && fewer.size > 0 && gains(loop, new Set([...fewer, ...madeIn(loop.body)]))) found.set(number, fewer)
  }
  return found
}

function innermostLoops(body: readonly Stmt[]): readonly For[] {
  const loops: For[] = []
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'For' && !hasLoop([...stmt.body, ...stmt.update])) loops.push(stmt)
  })
  return loops
}

function madeIn(stmts: readonly Stmt[]): ReadonlySet<string> {
  const made = new Set<string>()
  visitStmts(stmts, (stmt) => stmt.kind === 'Let' && made.add(stmt.local))
  return made
}

/** Returns the variables that are assigned nothing but what may be integers where they are. */
function maybeIntegers(stmts: readonly Stmt[], carried: ReadonlySet<string>, isOther: (name: string) => boolean): ReadonlySet<string> {
  let names = carried
  for (;;) {
    const others = new Set<string>()
    visitStmts(stmts, (stmt) => {
      if (stmt.kind === 'Assign' && names.has(stmt.local) && !mayBeInteger(stmt.value, (name) => names.has(name) || isOther(name)))
        others.add(stmt.local)
    })
    if (others.size === 0) return names
    names = new Set([...names].filter((name) => !others.has(name)))
  }
}

function mayBeInteger(expr: Expr, isInteger: (name: string) => boolean): boolean {
  const may = (one: Expr): boolean => mayBeInteger(one, isInteger)
  switch (expr.kind) {
    case 'Literal':
      return Number.isInteger(expr.value)
    case 'Local':
      return isInteger(expr.name)
    case 'Key':
    case 'Extent':
    case 'LookupLength':
    case 'Lookup':
    case 'Read':
      return true
    case 'Unary':
      return expr.operator === '~' || may(expr.operand)
    case 'Binary':
      return BITS.has(expr.operator) || (ARITHMETIC.has(expr.operator) && may(expr.left) && may(expr.right))
    case 'Conditional':
      return may(expr.then) && may(expr.else)
    case 'Call':
      return /^Math\.(floor|trunc|ceil|round|min|max|abs|imul|clz32)$/.test(expr.callee)
    default:
      return false
  }
}

const BITS: ReadonlySet<BinaryOperator> = new Set(['&', '|', '^', '<<', '>>', '>>>'])
const ARITHMETIC: ReadonlySet<BinaryOperator> = new Set(['+', '-', '*', '/', '%'])

/** Whether an iteration does to a variable what takes longer of doubles: a remainder, bits, a rounded quotient, or a subscript. */
function gains({ test, body, update }: For, names: ReadonlySet<string>): boolean {
  const isOf = (expr: Expr): boolean => someExpr(expr, (one) => one.kind === 'Local' && names.has(one.name))
  const isSlow = (expr: Expr): boolean => {
    switch (expr.kind) {
      case 'Binary':
        return (expr.operator === '%' || BITS.has(expr.operator)) && (isOf(expr.left) || isOf(expr.right))
      case 'Call':
        return /^Math\.(floor|trunc)$/.test(expr.callee) && isOf(expr)
      case 'Read':
        return expr.subscripts.some(isOf)
      case 'Lookup':
        return isOf(expr.index)
      default:
        return false
    }
  }
  const all = test === undefined ? [] : [test]
  visitStmts([...body, ...update], (stmt) => all.push(...expressionsOf(stmt)))
  return all.some((expr) => someExpr(expr, isSlow)) && !all.some((expr) => someExpr(expr, ({ kind }) => kind === 'Draw'))
}

/** Writes the versions of a body before their loops. */
export function withVersions(ir: FunctionIr, versions: Versions): Versioned {
  const numbers = new Map([...innermostLoops(ir.body).entries()].map(([number, loop]) => [loop, number] as const))
  const names = new Map<number, ReadonlyMap<string, string>>()
  const block = (stmts: readonly Stmt[]): readonly Stmt[] => stmts.flatMap((stmt, k) => inside(stmt, stmts.slice(0, k)))
  const inside = (stmt: Stmt, before: readonly Stmt[]): readonly Stmt[] => {
    switch (stmt.kind) {
      case 'If':
        // biome-ignore lint/suspicious/noThenProperty: the IR's own word
        return [{ ...stmt, then: block(stmt.then), else: block(stmt.else) }]
      case 'Labeled':
        return [{ ...stmt, body: block(stmt.body) }]
      case 'For': {
        const number = numbers.get(stmt)
        const carried = number === undefined ? undefined : versions.get(number)
        if (number === undefined || carried === undefined) return [{ ...stmt, body: block(stmt.body) }]
        // no name or label of a program has this sign
        const renamed = new Map([...carried].map((name) => [name, `${name}@int${number}`]))
        names.set(number, renamed)
        return versioned(stmt, renamed, { label: `@int${number}`, before: [...before, ...stmt.init] })
      }
      default:
        return [stmt]
    }
  }
  return { ir: { ...ir, body: block(ir.body) }, names }
}

/** `before`: the statements of the block up to the loop. */
function versioned(
  loop: For,
  carried: ReadonlyMap<string, string>,
  { label, before }: { readonly label: string; readonly before: readonly Stmt[] },
): readonly Stmt[] {
  const { span } = loop
  const stmts = [...loop.body, ...loop.update]
  const renamed = new Map([...carried, ...[...madeIn(stmts)].map((name) => [name, `${name}${label}`] as const)])
  // nodes of their own, since what is known of accesses is known by their nodes
  const by: Rewriter = { expr: (one) => ({ ...one }), local: (name) => renamed.get(name) ?? name, label: (name) => name }
  const expr = (one: Expr): Expr => rewriteExpr(one, by)
  const back = [...carried].map(([name, copy]): Stmt => ({ kind: 'Assign', local: name, value: local(copy, span), span }))
  /** Statements of the copy; what leaves the loop gives the variables their values first. */
  const copy = (of: readonly Stmt[]): readonly Stmt[] =>
    rewrittenStatements(of, {
      expr,
      stmt: (stmt) => {
        if (stmt.kind === 'Let' || stmt.kind === 'Assign') return [{ ...stmt, local: renamed.get(stmt.local) ?? stmt.local }]
        const isOwn = (stmt.kind === 'Break' || stmt.kind === 'Continue') && (stmt.label === undefined || stmt.label === loop.label)
        if (stmt.kind === 'Break') return leavesBlock(loop.body, stmt.label) ? [stmt] : [...back, isOwn ? { ...stmt, label } : stmt]
        if (stmt.kind === 'Continue') return isOwn ? [stmt] : [...back, stmt]
        return [stmt]
      },
    })
  const inBounds = [...carried.values()].flatMap((name) => [
    binary('>=', local(name, span), literal(0, span), span),
    binary('<=', local(name, span), literal(HIGHEST, span), span),
  ])
  const test = [...inBounds, ...(loop.test === undefined ? [] : [expr(loop.test)])].reduce((left, right) => and(left, right, span))
  const version: Stmt = { ...loop, init: [], test, update: copy(loop.update), body: copy(loop.body) }
  const known = new Map([...carried.keys()].map((name) => [name, integerBefore(before, name)] as const))
  const asIntegers = [...carried].map(([name, held]): Stmt => {
    const given = known.get(name)
    const init = given === undefined ? binary('|', local(name, span), literal(0, span), span) : literal(given, span)
    return { kind: 'Let', local: held, init, span }
  })
  const areSame = [...carried]
    .filter(([name]) => known.get(name) === undefined)
    .map(([name, held]) => isSame(local(name, span), local(held, span), span))
  const first: Stmt[] = [version, ...back]
  // biome-ignore lint/suspicious/noThenProperty: the IR's own word
  const tested = (test: Expr): Stmt => ({ kind: 'If', test, then: first, else: [], span })
  const tries = areSame.length === 0 ? first : [tested(areSame.reduce((left, right) => and(left, right, span)))]
  return [...loop.init, { kind: 'Labeled', label, body: [...asIntegers, ...tries, { ...loop, init: [] }], span }]
}

/** Returns the integer that a variable was given last by these statements, as one of them says; undefined where none does. */
function integerBefore(before: readonly Stmt[], name: string): number | undefined {
  const last = before.findLast((stmt) => changedIn([stmt]).has(name))
  const given = last?.kind === 'Let' ? last.init : last?.kind === 'Assign' ? last.value : undefined
  const value = given?.kind === 'Literal' ? given.value : undefined
  return typeof value === 'number' && Number.isInteger(value) && value <= HIGHEST && (value > 0 || Object.is(value, 0)) ? value : undefined
}

/** Whether a label is that of a block in the loop's body, which a `break` there leaves. */
function leavesBlock(stmts: readonly Stmt[], label: string | undefined): boolean {
  return (
    label !== undefined && stmts.some((stmt) => (stmt.kind === 'Labeled' && stmt.label === label) || leavesBlock(nestedOf(stmt), label))
  )
}

/** Whether a double is the integer: the same number, and not -0. */
function isSame(double: Expr, integer: Expr, span: Span): Expr {
  const isAbove = binary('>', integer, literal(0, span), span)
  const isZero = binary('>', binary('/', literal(1, span), double, span), literal(0, span), span)
  const either: Expr = { kind: 'Logical', operator: '||', left: isAbove, right: isZero, span }
  return and(binary('===', double, integer, span), either, span)
}

function local(name: string, span: Span): Expr {
  return { kind: 'Local', name, span }
}

function literal(value: number, span: Span): Expr {
  return { kind: 'Literal', value, span }
}

function binary(operator: BinaryOperator, left: Expr, right: Expr, span: Span): Expr {
  return { kind: 'Binary', operator, left, right, span }
}

function and(left: Expr, right: Expr, span: Span): Expr {
  return { kind: 'Logical', operator: '&&', left, right, span }
}
