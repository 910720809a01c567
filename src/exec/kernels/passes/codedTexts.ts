/**
 * Enumeration of texts: those that a body only chooses among and compares become numbers.
 *
 *     let state = 'idle'                                        let state = 1
 *     if (state === 'idle' && v > 0) state = 'busy'             if (state === 1 && v > 0) state = 2
 *
 * Legal since only equality and truth of them are used: the empty text is 0, each other text of the body has a number of its own.
 * A local is such a text if it is assigned only literals, other such locals, or choices between two. Where one of them is used in
 * any other way, or compared with anything else, all stay texts.
 */
import { type Expr, expressionsOf, type FunctionIr, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { withOperands } from '../../../core/ir/irRewrite.ts'
import { rewrittenStatements } from '../../../core/ir/statementRewrite.ts'
import { readUnset } from '../loops/wasmLocals.ts'

const EQUALITIES: ReadonlySet<string> = new Set(['===', '!==', '==', '!='])

/** Returns the body with numbers for its texts; the body itself where it has none, or uses them in other ways. */
export function withCodedTexts(ir: FunctionIr): FunctionIr {
  if (!hasTexts(ir.body)) return ir
  const texts = textLocals(ir)
  const codes = new Map<string, number>([['', 0]])
  const codeOf = (text: string): number => {
    const known = codes.get(text) ?? codes.size
    codes.set(text, known)
    return known
  }
  const isText = (expr: Expr): boolean => isChoice(expr, texts)
  /** Whether no text is used in a way that a number does not support. */
  let isLegal = true
  const coded = (expr: Expr): Expr => {
    switch (expr.kind) {
      case 'Literal':
        return { ...expr, value: codeOf(String(expr.value)) }
      case 'Conditional':
        // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
        return { ...expr, test: truth(expr.test), then: coded(expr.then), else: coded(expr.else) }
      default:
        return expr
    }
  }
  /** Rewrites an expression of which only the truth is used. */
  const truth = (expr: Expr): Expr => {
    if (isText(expr)) return coded(expr)
    if (expr.kind === 'Unary' && expr.operator === '!') return { ...expr, operand: truth(expr.operand) }
    if (expr.kind === 'Logical' && expr.operator !== '??') return { ...expr, left: truth(expr.left), right: truth(expr.right) }
    return value(expr)
  }
  const value = (expr: Expr): Expr => {
    if (isText(expr)) {
      isLegal = false
      return expr
    }
    if (expr.kind === 'Binary' && EQUALITIES.has(expr.operator) && isText(expr.left) && isText(expr.right)) {
      return { ...expr, left: coded(expr.left), right: coded(expr.right) }
    }
    if (expr.kind === 'Unary' && expr.operator === '!') return truth(expr)
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    if (expr.kind === 'Conditional') return { ...expr, test: truth(expr.test), then: value(expr.then), else: value(expr.else) }
    return withOperands(expr, value)
  }
  const rewritten = (expr: Expr, stmt: Stmt): Expr => {
    if (stmt.kind === 'Throw') return expr
    if ((stmt.kind === 'Let' || stmt.kind === 'Assign') && texts.has(stmt.local)) return coded(expr)
    return stmt.kind === 'If' || stmt.kind === 'For' ? truth(expr) : value(expr)
  }
  const body = rewrittenStatements(ir.body, { expr: rewritten })
  return isLegal ? { ...ir, body } : ir
}

function hasTexts(stmts: readonly Stmt[]): boolean {
  let found = false
  visitStmts(stmts, (stmt) => {
    if (stmt.kind === 'Throw') return
    for (const top of expressionsOf(stmt)) {
      visitExpr(top, (expr) => {
        found ||= expr.kind === 'Literal' && typeof expr.value === 'string'
      })
    }
  })
  return found
}

/** Returns the locals that are assigned texts only, and are never read unassigned. */
function textLocals(ir: FunctionIr): ReadonlySet<string> {
  const unset = readUnset(ir)
  const given = new Map<string, (Expr | undefined)[]>()
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind !== 'Let' && stmt.kind !== 'Assign') return
    const values = given.get(stmt.local) ?? []
    values.push(stmt.kind === 'Let' ? stmt.init : stmt.value)
    given.set(stmt.local, values)
  })
  const texts = new Set(given.keys())
  for (let shrinks = true; shrinks; ) {
    shrinks = false
    for (const local of texts) {
      const isOne = (value: Expr | undefined): boolean => (value === undefined ? !unset.has(local) : isChoice(value, texts))
      if (given.get(local)?.every(isOne) === true) continue
      texts.delete(local)
      shrinks = true
    }
  }
  return texts
}

function isChoice(expr: Expr, texts: ReadonlySet<string>): boolean {
  if (expr.kind === 'Literal') return typeof expr.value === 'string'
  if (expr.kind === 'Local') return texts.has(expr.name)
  return expr.kind === 'Conditional' && isChoice(expr.then, texts) && isChoice(expr.else, texts)
}
