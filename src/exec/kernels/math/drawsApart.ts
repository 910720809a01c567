/**
 * Makes each random number that a body draws a statement of its own, in the order of the source.
 *
 *     if (d < 0 || rng.uniform() < p) …       let chosen = d < 0
 *                                             if (!chosen) { let rng$0 = rng.uniform(); chosen = rng$0 < p }
 *                                             if (chosen) …
 *
 * A draw advances its generator: an expression whose code is written twice, or skipped, would draw twice, or not at all. Operands that
 * are evaluated conditionally become branches, and operands before such branches that could fail are evaluated ahead of them.
 */
import { type Expr, expressionsOf, type FunctionIr, type Stmt, visitStmts } from '../../../core/ir/functionIr.ts'
import { someExpr } from '../../../core/ir/irFacts.ts'
import { withOperands } from '../../../core/ir/irRewrite.ts'
import { NotCompiled } from '../expressions/types.ts'

export function draws(stmts: readonly Stmt[]): boolean {
  let found = false
  visitStmts(stmts, (stmt) => {
    found ||= expressionsOf(stmt).some(hasDraw)
  })
  return found
}

function hasDraw(expr: Expr): boolean {
  return someExpr(expr, ({ kind }) => kind === 'Draw')
}

/** Whether an expression draws in a part that is evaluated conditionally. */
function hasChoice(expr: Expr): boolean {
  return someExpr(expr, (one) => {
    if (one.kind === 'Logical') return hasDraw(one.right)
    return one.kind === 'Conditional' && (hasDraw(one.then) || hasDraw(one.else))
  })
}

/** Whether evaluating the expression later, or not at all, could be observed. */
function mayFail(expr: Expr): boolean {
  return someExpr(expr, ({ kind }) => kind === 'Read' || kind === 'Has' || kind === 'MethodCall' || kind === 'Field')
}

/** Returns the body with each draw in a local of its own. Throws NotCompiled for loop heads in which no statement can stand. */
export function drawsApart(ir: FunctionIr): FunctionIr {
  const names = new Set<string>()
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Let') names.add(stmt.local)
  })
  const newName = (wanted: string): string => {
    let n = 0
    while (names.has(`${wanted}$${n}`)) n++
    names.add(`${wanted}$${n}`)
    return `${wanted}$${n}`
  }
  const kept = (expr: Expr, wanted: string, before: Stmt[]): Expr => {
    const local = newName(wanted)
    before.push({ kind: 'Let', local, init: expr, span: expr.span })
    return { kind: 'Local', name: local, span: expr.span }
  }
  /** Rewrites expressions that are evaluated one after another; the statements of their draws are appended to `before`. */
  const inOrder = (exprs: readonly Expr[], before: Stmt[]): Expr[] => {
    const lastChoice = exprs.findLastIndex(hasChoice)
    return exprs.map((expr, i) => {
      const rest = apart(expr, before)
      return i < lastChoice && mayFail(rest) ? kept(rest, 'kept', before) : rest
    })
  }
  const apart = (expr: Expr, before: Stmt[]): Expr => {
    if (!hasDraw(expr)) return expr
    if (hasChoice(expr) && (expr.kind === 'Logical' || expr.kind === 'Conditional')) return chosen(expr, before)
    const operands: Expr[] = []
    withOperands(expr, (operand) => {
      operands.push(operand)
      return operand
    })
    const rest = inOrder(operands, before)
    const whole = withOperands(expr, (operand) => rest.shift() ?? operand)
    return whole.kind === 'Draw' ? kept(whole, whole.rng, before) : whole
  }
  /** Rewrites `a && b`, `a || b`, `a ?? b` or `t ? a : b` to branches that assign its value to a local. */
  const chosen = (expr: Expr & { kind: 'Logical' | 'Conditional' }, before: Stmt[]): Expr => {
    const { span } = expr
    const local = newName('chosen')
    const current: Expr = { kind: 'Local', name: local, span }
    const branch = (value: Expr): Stmt[] => {
      const inside: Stmt[] = []
      const given = apart(value, inside)
      return [...inside, { kind: 'Assign', local, value: given, span: value.span }]
    }
    if (expr.kind === 'Conditional') {
      const test = apart(expr.test, before)
      before.push({ kind: 'Let', local, span })
      // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
      before.push({ kind: 'If', test, then: branch(expr.then), else: branch(expr.else), span })
      return current
    }
    before.push({ kind: 'Let', local, init: apart(expr.left, before), span })
    const right = branch(expr.right)
    const nothing: Expr = { kind: 'Literal', value: null, span }
    const test: Expr = expr.operator === '??' ? { kind: 'Binary', operator: '==', left: current, right: nothing, span } : current
    const isElse = expr.operator === '||'
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    before.push({ kind: 'If', test, then: isElse ? [] : right, else: isElse ? right : [], span })
    return current
  }
  const one = (stmt: Stmt): readonly Stmt[] => {
    const before: Stmt[] = []
    const after = (rewritten: Stmt): readonly Stmt[] => [...before, rewritten]
    const expr = (of: Expr): Expr => apart(of, before)
    switch (stmt.kind) {
      case 'Let':
        return stmt.init === undefined ? [stmt] : after({ ...stmt, init: expr(stmt.init) })
      case 'Assign':
      case 'Accumulate':
      case 'Evaluate':
        return after({ ...stmt, value: expr(stmt.value) })
      case 'Write':
      case 'Add': {
        const all = inOrder([...stmt.subscripts, stmt.value], before)
        return after({ ...stmt, subscripts: all.slice(0, -1), value: all.at(-1) ?? stmt.value })
      }
      case 'If':
        // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
        return after({ ...stmt, test: expr(stmt.test), then: block(stmt.then), else: block(stmt.else) })
      case 'For':
        return loop(stmt)
      case 'Labeled':
        return [{ ...stmt, body: block(stmt.body) }]
      case 'Return':
        return stmt.value === undefined ? [stmt] : after({ ...stmt, value: expr(stmt.value) })
      case 'Throw':
        return stmt.message === undefined ? [stmt] : after({ ...stmt, message: expr(stmt.message) })
      case 'Break':
      case 'Continue':
        return [stmt]
    }
  }
  /** Moves a test that draws to the start of the body (that of a do … while is in it already), and draws of the init before the loop. */
  const loop = (stmt: Extract<Stmt, { kind: 'For' }>): readonly Stmt[] => {
    if (draws(stmt.update)) throw new NotCompiled('it draws random numbers in what a loop does after each turn', stmt.span)
    const isCounted = !draws(stmt.init) && (stmt.test === undefined || !hasDraw(stmt.test))
    if (isCounted) return [{ ...stmt, body: block(stmt.body) }]
    const { span, test, counted: _, ...rest } = stmt
    const [ahead, init] = draws(stmt.init) ? [block(stmt.init), []] : [[], stmt.init]
    const body = block(stmt.body)
    if (test === undefined || !hasDraw(test)) return [...ahead, { ...rest, ...(test === undefined ? {} : { test }), init, body, span }]
    const before: Stmt[] = []
    const drawn = apart(test, before)
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    const ends: Stmt = { kind: 'If', test: drawn, then: [], else: [{ kind: 'Break', span }], span }
    return [...ahead, { ...rest, init, span, body: [...before, ends, ...body] }]
  }
  const block = (stmts: readonly Stmt[]): readonly Stmt[] => stmts.flatMap(one)
  return { ...ir, body: block(ir.body) }
}
