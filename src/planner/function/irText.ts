/** Prints an IR, a line a statement, close to the JavaScript it came from. */
import { type Expr, type FunctionIr, type Primitive, regexText, type Stmt } from '../../core/ir/functionIr.ts'
import { listText } from '../../core/ir/listQuestions.ts'
import { methodText } from '../../core/ir/methodText.ts'

export function irText(ir: FunctionIr): string {
  return ir.body.flatMap(stmtLines).join('\n')
}

/** Prints an IR below the values of its parameters, one a line. */
export function irListing(ir: FunctionIr): string {
  const values = ir.parameters.map(({ name, value }) => `$${name} = ${primitiveText(value)}`)
  return [...values, irText(ir)].join('\n')
}

function stmtLines(stmt: Stmt): string[] {
  const indented = (stmts: readonly Stmt[]): string[] => stmts.flatMap(stmtLines).map((line) => `  ${line}`)
  switch (stmt.kind) {
    case 'Let':
      return [stmt.init === undefined ? `let ${stmt.local}` : `let ${stmt.local} = ${exprText(stmt.init)}`]
    case 'Assign':
      return [`${stmt.local} = ${exprText(stmt.value)}`]
    case 'Write':
      return [`${element(stmt.array, stmt.subscripts)} = ${exprText(stmt.value)}`]
    case 'Add':
      return [`${element(stmt.array, stmt.subscripts)} += ${exprText(stmt.value)}`]
    case 'Accumulate':
      return [`${stmt.accumulator} <- ${exprText(stmt.value)}`]
    case 'If':
      return [`if ${exprText(stmt.test)}`, ...indented(stmt.then), ...(stmt.else.length === 0 ? [] : ['else', ...indented(stmt.else)])]
    case 'For': {
      const { counted } = stmt
      const label = stmt.label === undefined ? '' : `${stmt.label}: `
      const test = stmt.test === undefined ? '' : ` ${exprText(stmt.test)}`
      const head =
        counted === undefined
          ? `${stmt.doWhile ? 'do while' : 'while'}${test}`
          : `for ${counted.local} from ${exprText(counted.from)} to ${exprText(counted.to)} by ${counted.step}`
      if (counted !== undefined) return [label + head, ...indented(stmt.body)]
      const update = stmt.update.length > 0 ? ['update', ...indented(stmt.update)] : []
      return [...stmt.init.flatMap(stmtLines), label + head, ...indented(stmt.body), ...update]
    }
    case 'Labeled':
      return [`${stmt.label}:`, ...indented(stmt.body)]
    case 'Break':
      return [stmt.label === undefined ? 'break' : `break ${stmt.label}`]
    case 'Continue':
      return [stmt.label === undefined ? 'continue' : `continue ${stmt.label}`]
    case 'Return':
      return [stmt.value === undefined ? 'return' : `return ${exprText(stmt.value)}`]
    case 'Throw':
      return [`throw ${stmt.error}(${stmt.message === undefined ? '' : exprText(stmt.message)})`]
    case 'Evaluate':
      return [`evaluate ${exprText(stmt.value)}`]
  }
}

/** Prints an expression: `#0` is an argument, `@0` a component of the key, `$rate` a parameter. */
export function exprText(expr: Expr): string {
  switch (expr.kind) {
    case 'Literal':
      return primitiveText(expr.value)
    case 'Local':
      return expr.name
    case 'Parameter':
      return `$${expr.name}`
    case 'Input':
      return `#${expr.argument}`
    case 'Key':
      return `@${expr.axis}`
    case 'Field':
      return `${exprText(expr.of)}${expr.optional ? '?.' : '.'}${expr.name}`
    case 'Unary':
      return `${expr.operator}${expr.operator === 'typeof' ? ' ' : ''}${exprText(expr.operand)}`
    case 'Binary':
    case 'Logical':
      return `(${exprText(expr.left)} ${expr.operator} ${exprText(expr.right)})`
    case 'Conditional':
      return `(${exprText(expr.test)} ? ${exprText(expr.then)} : ${exprText(expr.else)})`
    case 'Call':
      return `${expr.callee}(${list(expr.args)})`
    case 'MethodCall':
      return methodText(exprText(expr.object), expr, expr.args.map(exprText))
    case 'OfList': {
      const value = expr.each === undefined ? '' : exprText(expr.each.value)
      return listText(exprText(expr.list), expr, { args: expr.args.map(exprText), value })
    }
    case 'Matches':
      return `${regexText(expr)}.test(${exprText(expr.of)})`
    case 'Read':
      return element(expr.array, expr.subscripts)
    case 'Has':
      return `has ${element(expr.array, expr.subscripts)}`
    case 'Extent':
      return `${expr.array}.shape[${expr.axis}]`
    case 'Lookup':
      return `$${expr.table}[${exprText(expr.index)}]`
    case 'Find': {
      const found = `find ${exprText(expr.key)} in $${expr.keys}`
      return expr.values === undefined ? `(${found})` : `$${expr.values}[${found}]`
    }
    case 'LookupLength':
      return `$${expr.table}.length`
    case 'Draw':
      return `${expr.rng}.${expr.method}(${list(expr.args)})`
    case 'ArrayLiteral':
      return `[${list(expr.items)}]`
    case 'ObjectLiteral':
      return `{ ${expr.fields.map((field) => `${field.name}: ${exprText(field.value)}`).join(', ')} }`
  }
}

function primitiveText(value: Primitive): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'bigint') return `${value}n`
  return Object.is(value, -0) ? '-0' : String(value)
}

function list(exprs: readonly Expr[]): string {
  return exprs.map(exprText).join(', ')
}

function element(array: string, subscripts: readonly Expr[]): string {
  return `${array}[${list(subscripts)}]`
}
