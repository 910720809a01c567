/**
 * Prints the loop bodies of `loopBody.ts` as JavaScript. Knows only the part of the IR that they use.
 *
 * `asRows` goes through row views where an array has several axes: `a.row(i)[j] = x` for `a.set(i, j, x)`.
 */
import type { Expr, Stmt } from '../../src/core/ir/functionIr.ts'

export const AXES: readonly string[] = ['i', 'j', 'l', 'h']

/** `([i, j], { a }) => { … }`, with `value` first where the loop runs over an array. */
export function printFunction(body: readonly Stmt[], rank: number, names: readonly string[], hasValue: boolean, asRows = false): string {
  const key = `[${AXES.slice(0, rank).join(', ')}]`
  return `(${hasValue ? 'value, ' : ''}${key}, { ${names.join(', ')} }) => {\n${printStmts(body, '  ', asRows)}\n}`
}

function printStmts(stmts: readonly Stmt[], indent: string, asRows: boolean): string {
  return stmts.map((stmt) => indent + printStmt(stmt, indent, asRows)).join('\n')
}

function block(stmts: readonly Stmt[], indent: string, asRows: boolean): string {
  return stmts.length === 0 ? '{}' : `{\n${printStmts(stmts, `${indent}  `, asRows)}\n${indent}}`
}

export function printStmt(stmt: Stmt, indent = '', asRows = false): string {
  switch (stmt.kind) {
    case 'Let':
      return `let ${stmt.local}${stmt.init === undefined ? '' : ` = ${printExpr(stmt.init, asRows)}`}`
    case 'Assign':
      return `${stmt.local} = ${printExpr(stmt.value, asRows)}`
    case 'Write':
      if (asRows && stmt.subscripts.length > 1) return `${rowElement(stmt)} = ${printExpr(stmt.value, asRows)}`
      return `${stmt.array}.set(${[...stmt.subscripts, stmt.value].map((expr) => printExpr(expr, asRows)).join(', ')})`
    case 'Add':
      return `${stmt.array}.add(${[...stmt.subscripts, stmt.value].map((expr) => printExpr(expr, asRows)).join(', ')})`
    case 'Accumulate':
      return `${stmt.accumulator}.add(${printExpr(stmt.value, asRows)})`
    case 'If':
      return `if (${printExpr(stmt.test, asRows)}) ${block(stmt.then, indent, asRows)}${stmt.else.length === 0 ? '' : ` else ${block(stmt.else, indent, asRows)}`}`
    case 'For': {
      const head = [
        ...stmt.init.map((s) => printStmt(s, '', asRows)),
        stmt.test === undefined ? '' : printExpr(stmt.test, asRows),
        ...stmt.update.map((s) => printStmt(s, '', asRows)),
      ]
      return `for (${head.join('; ')}) ${block(stmt.body, indent, asRows)}`
    }
    case 'Labeled':
      return `${stmt.label}: ${block(stmt.body, indent, asRows)}`
    case 'Break':
      return stmt.label === undefined ? 'break' : `break ${stmt.label}`
    case 'Continue':
      return 'continue'
    case 'Return':
      return stmt.value === undefined ? 'return' : `return ${printExpr(stmt.value, asRows)}`
    case 'Throw':
      return `throw new ${stmt.error}(${stmt.message === undefined ? '' : printExpr(stmt.message, asRows)})`
    case 'Evaluate':
      return printExpr(stmt.value, asRows)
  }
}

export function printExpr(expr: Expr, asRows = false): string {
  switch (expr.kind) {
    case 'Literal':
      return typeof expr.value === 'number' && expr.value < 0 ? `(${expr.value})` : String(expr.value)
    case 'Local':
      return expr.name
    case 'Parameter':
      return expr.name
    case 'Key':
      return AXES[expr.axis] ?? '?'
    case 'Call':
      return `${expr.callee}(${expr.args.map((expr) => printExpr(expr, asRows)).join(', ')})`
    case 'Conditional':
      return `(${printExpr(expr.test, asRows)} ? ${printExpr(expr.then, asRows)} : ${printExpr(expr.else, asRows)})`
    case 'Input':
      return 'value'
    case 'Unary':
      return `${expr.operator}(${printExpr(expr.operand, asRows)})`
    case 'Binary':
    case 'Logical':
      return `(${printExpr(expr.left, asRows)} ${expr.operator} ${printExpr(expr.right, asRows)})`
    case 'Read':
      if (asRows && expr.subscripts.length > 1) return rowElement(expr)
      return `${expr.array}.get(${expr.subscripts.map((expr) => printExpr(expr, asRows)).join(', ')})`
    case 'Extent':
      return `${expr.array}.shape[${expr.axis}]`
    case 'Has':
    case 'Field':
    case 'MethodCall':
    case 'OfList':
    case 'Matches':
    case 'Lookup':
    case 'LookupLength':
    case 'Find':
    case 'Draw':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      throw new Error(`loopBody.ts never makes a ${expr.kind}`)
  }
}

/** `a.row(i)[j]` */
function rowElement({ array, subscripts }: { readonly array: string; readonly subscripts: readonly Expr[] }): string {
  const texts = subscripts.map((subscript) => printExpr(subscript, true))
  return `${array}.row(${texts.slice(0, -1).join(', ')})[${texts.at(-1)}]`
}
