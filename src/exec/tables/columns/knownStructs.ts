/**
 * Where structs that may be null are known not to be: behind a filter that asks, and in what a condition decides.
 *
 *     filter r => r.geo !== null            map r => r.geo.city
 *     r => r.geo && r.geo.city === 'Bern'   r => r.geo === null ? 'none' : r.geo.city
 *
 * There a field of the struct is what its column has, since rows for which it would be something else are not asked for it.
 *
 * Statement: whenever JavaScript evaluates an expression for a row, the structs at the paths that are said to be known there are objects.
 */
import type { Expr, FunctionIr, Stmt } from '../../../core/ir/functionIr.ts'
import { withOperands } from '../../../core/ir/irRewrite.ts'

/** Paths of names from the row, as one text each; they lead to what is neither null nor undefined. */
export type Known = ReadonlySet<string>
export type PathOf = (expr: Expr) => readonly string[] | undefined

export const NONE_KNOWN: Known = new Set()

export const pathText = (path: readonly string[]): string => JSON.stringify(path)

/** What is known besides `known` of rows that a filter keeps. */
export function knownBehind({ body }: FunctionIr, pathOf: PathOf, known: Known): Known {
  const last = body.at(-1)
  const isOne = body.slice(0, -1).every(({ kind }) => kind === 'Let')
  return isOne && last?.kind === 'Return' && last.value !== undefined ? knownWhere(last.value, true, known, pathOf) : known
}

/** The statements with each expression that `read` replaces, given what is known where it stands. */
export function withKnown(
  stmts: readonly Stmt[],
  known: Known,
  pathOf: PathOf,
  read: (expr: Expr, known: Known) => Expr | undefined,
): readonly Stmt[] {
  const inExpr = (expr: Expr, here: Known): Expr => {
    const own = read(expr, here)
    if (own !== undefined) return own
    switch (expr.kind) {
      case 'Logical': {
        const { operator, left, right } = expr
        const then = operator === '??' ? here : knownWhere(left, operator === '&&', here, pathOf)
        return { ...expr, left: inExpr(left, here), right: inExpr(right, then) }
      }
      case 'Conditional': {
        const { test } = expr
        const [yes, no] = [true, false].map((is) => knownWhere(test, is, here, pathOf)) as [Known, Known]
        // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
        return { ...expr, test: inExpr(test, here), then: inExpr(expr.then, yes), else: inExpr(expr.else, no) }
      }
      default:
        return withOperands(expr, (operand) => inExpr(operand, here))
    }
  }
  const inBlock = (block: readonly Stmt[], from: Known): readonly Stmt[] => {
    let here = from
    return block.map((stmt): Stmt => {
      switch (stmt.kind) {
        case 'Let':
          return stmt.init === undefined ? stmt : { ...stmt, init: inExpr(stmt.init, here) }
        case 'Assign':
        case 'Evaluate':
          return { ...stmt, value: inExpr(stmt.value, here) }
        case 'Return':
          return stmt.value === undefined ? stmt : { ...stmt, value: inExpr(stmt.value, here) }
        case 'If': {
          const [yes, no] = [true, false].map((is) => knownWhere(stmt.test, is, here, pathOf)) as [Known, Known]
          // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
          const own: Stmt = { ...stmt, test: inExpr(stmt.test, here), then: inBlock(stmt.then, yes), else: inBlock(stmt.else, no) }
          if (leaves(stmt.then)) here = no
          else if (leaves(stmt.else)) here = yes
          return own
        }
        default:
          return stmt
      }
    })
  }
  return inBlock(stmts, known)
}

const leaves = (block: readonly Stmt[]): boolean => {
  const last = block.at(-1)
  return last?.kind === 'Return' || last?.kind === 'Throw'
}

/** What is known besides `known` where a test is true, or false. */
function knownWhere(test: Expr, is: boolean, known: Known, pathOf: PathOf): Known {
  switch (test.kind) {
    case 'Unary':
      return test.operator === '!' ? knownWhere(test.operand, !is, known, pathOf) : known
    case 'Logical':
      // both sides have been true, or false
      return (test.operator === '&&' && is) || (test.operator === '||' && !is)
        ? knownWhere(test.right, is, knownWhere(test.left, is, known, pathOf), pathOf)
        : known
    case 'Binary': {
      const { operator, left, right } = test
      const isNull = (expr: Expr): boolean => expr.kind === 'Literal' && expr.value === null
      const one = isNull(right) ? left : isNull(left) ? right : undefined
      const path = one && pathOf(one)
      if (path === undefined) return known
      // `!== null` is also true of undefined, which a path has whose beginning is null
      const isThere = (operator === '!=' && is) || (operator === '==' && !is)
      const isNotNull = (operator === '!==' && is) || (operator === '===' && !is)
      return isThere || (isNotNull && path.length === 1) ? withPath(known, path) : known
    }
    default: {
      const path = is ? pathOf(test) : undefined
      return path === undefined ? known : withPath(known, path)
    }
  }
}

/** What leads to a value that is there is there itself. */
function withPath(known: Known, path: readonly string[]): Known {
  return new Set([...known, ...path.map((_, i) => pathText(path.slice(0, i + 1)))])
}
