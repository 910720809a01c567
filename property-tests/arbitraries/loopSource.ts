/** Prints the loop bodies of `loopBody.ts` as JavaScript. Knows only the part of the IR that they use. */
import type { Expr, Stmt } from '../../src/core/functionIr.ts'

export const AXES: readonly string[] = ['i', 'j', 'l', 'h']

/** `([i, j], { a }) => { … }`, with `value` first where the loop runs over an array. */
export function printFunction(body: readonly Stmt[], rank: number, names: readonly string[], hasValue: boolean): string {
  const key = `[${AXES.slice(0, rank).join(', ')}]`
  return `(${hasValue ? 'value, ' : ''}${key}, { ${names.join(', ')} }) => {\n${printStmts(body, '  ')}\n}`
}

function printStmts(stmts: readonly Stmt[], indent: string): string {
  return stmts.map((stmt) => indent + printStmt(stmt, indent)).join('\n')
}

function block(stmts: readonly Stmt[], indent: string): string {
  return stmts.length === 0 ? '{}' : `{\n${printStmts(stmts, `${indent}  `)}\n${indent}}`
}

export function printStmt(stmt: Stmt, indent = ''): string {
  switch (stmt.kind) {
    case 'Let':
      return `let ${stmt.local}${stmt.init === undefined ? '' : ` = ${printExpr(stmt.init)}`}`
    case 'Assign':
      return `${stmt.local} = ${printExpr(stmt.value)}`
    case 'Write':
      return `${stmt.array}.set(${[...stmt.subscripts, stmt.value].map(printExpr).join(', ')})`
    case 'Add':
      return `${stmt.array}.add(${[...stmt.subscripts, stmt.value].map(printExpr).join(', ')})`
    case 'Accumulate':
      return `${stmt.accumulator}.add(${printExpr(stmt.value)})`
    case 'If':
      return `if (${printExpr(stmt.test)}) ${block(stmt.then, indent)}${stmt.else.length === 0 ? '' : ` else ${block(stmt.else, indent)}`}`
    case 'For': {
      const head = [
        ...stmt.init.map((s) => printStmt(s)),
        stmt.test === undefined ? '' : printExpr(stmt.test),
        ...stmt.update.map((s) => printStmt(s)),
      ]
      return `for (${head.join('; ')}) ${block(stmt.body, indent)}`
    }
    case 'Labeled':
      return `${stmt.label}: ${block(stmt.body, indent)}`
    case 'Break':
      return stmt.label === undefined ? 'break' : `break ${stmt.label}`
    case 'Continue':
      return 'continue'
    case 'Return':
      return stmt.value === undefined ? 'return' : `return ${printExpr(stmt.value)}`
    case 'Throw':
      return `throw new ${stmt.error}(${stmt.message === undefined ? '' : printExpr(stmt.message)})`
    case 'Evaluate':
      return printExpr(stmt.value)
  }
}

export function printExpr(expr: Expr): string {
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
      return `${expr.callee}(${expr.args.map(printExpr).join(', ')})`
    case 'Conditional':
      return `(${printExpr(expr.test)} ? ${printExpr(expr.then)} : ${printExpr(expr.else)})`
    case 'Input':
      return 'value'
    case 'Unary':
      return `${expr.operator}(${printExpr(expr.operand)})`
    case 'Binary':
    case 'Logical':
      return `(${printExpr(expr.left)} ${expr.operator} ${printExpr(expr.right)})`
    case 'Read':
      return `${expr.array}.get(${expr.subscripts.map(printExpr).join(', ')})`
    case 'Extent':
      return `${expr.array}.shape[${expr.axis}]`
    case 'Has':
    case 'Field':
    case 'MethodCall':
    case 'Lookup':
    case 'LookupLength':
    case 'Draw':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      throw new Error(`loopBody.ts never makes a ${expr.kind}`)
  }
}
