/**
 * Prints the IR of a row lambda as JavaScript. The IR's semantics are JavaScript's, so every node prints as itself;
 * the caller's `KernelWords` print elements, fields, keys and returned values.
 *
 * Names cannot collide: locals print as `l_…`, labels as `L_…`, captured numbers as `p_0`, tables as `t_0`, collections of keys as `f_0`; everything
 * else in a kernel starts with `$`.
 */

import { Bug } from '../../../../core/errors.ts'
import { collectionOf, findId, findsOf, findText } from '../../../../core/ir/collections.ts'
import {
  type BinaryOperator,
  type Expr,
  expressionsOf,
  type FunctionIr,
  isLibraryCall,
  type LibraryCall,
  regexText,
  type Stmt,
  type UnaryOperator,
  visitExpr,
  visitStmts,
} from '../../../../core/ir/functionIr.ts'
import { listText, type OfList } from '../../../../core/ir/listQuestions.ts'
import { methodText } from '../../../../core/ir/methodText.ts'
import { LIBRARY_FUNCTIONS } from '../../../../core/time/library.ts'

export interface KernelWords {
  /** The element at the function's `argument`, as a value. */
  input(argument: number): string
  /** Column `name` of the element, or undefined to read the property of `input(argument)`. */
  field(argument: number, name: string): string | undefined
  /** The milliseconds of a Date, in column `name` or of the element itself; undefined where the column holds no Dates. */
  time?(argument: number, name: string | undefined): string | undefined
  /** What `Date.parse` reads off a text, in column `name` or the element itself, `absent` for null; undefined where the column holds no texts of its own. */
  timeOfText?(argument: number, name: string | undefined, absent: 0 | 'NaN'): string | undefined
  /** What a list of the element is asked, where it lies in a column; undefined to ask an array. */
  ofList?(expr: OfList, print: (expr: Expr) => string): string | undefined
  /** The test whether column `name` is null, where it holds lists; undefined where it holds others. */
  isNoList?(argument: number, name: string): string | undefined
  /** The comparison of an element of a list with a text; undefined for other operands. */
  equals?(left: Expr, right: Expr): string | undefined
  key(axis: number): string
  /** Statements that store the returned value and go on to the next row; `value` is undefined for a bare `return`. */
  returned(value: Expr | undefined, print: (expr: Expr) => string): string
}

/** The statements of one row, and the declarations of its locals. */
export function printRow(ir: FunctionIr, words: KernelWords): { readonly locals: string; readonly body: string } {
  const locals = new Set<string>()
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Let') locals.add(`l_${stmt.local}`)
  })
  const printer = new Printer(ir, words)
  return { locals: locals.size === 0 ? '' : `let ${[...locals].join(', ')};`, body: printer.stmts(ir.body) }
}

function libraryName(call: LibraryCall): string {
  return `$library_${call}`
}

/** The values bound to the names `p_…`, `t_…`, `f_…` and `$library_…`. */
export function constantsOf(ir: FunctionIr): Record<string, unknown> {
  const called = new Set<LibraryCall>()
  visitStmts(ir.body, (stmt) => {
    for (const top of expressionsOf(stmt))
      visitExpr(top, (expr) => {
        if (expr.kind === 'Call' && isLibraryCall(expr.callee)) called.add(expr.callee)
      })
  })
  return Object.fromEntries([
    ...[...called].map((call) => [libraryName(call), LIBRARY_FUNCTIONS[call].run] as const),
    ...ir.parameters.map((parameter, i) => [`p_${i}`, parameter.value] as const),
    ...ir.tables.map((table, i) => [`t_${i}`, table.value] as const),
    ...findsOf(ir).map((find, i) => [`f_${i}`, collectionOf(find, ir.tables)] as const),
  ])
}

/** Operators that convert a Date to a number; `+` is none of them, since it converts a Date to a text. */
const NUMERIC: ReadonlySet<UnaryOperator | BinaryOperator> = new Set([
  '-',
  '~',
  '<',
  '<=',
  '>',
  '>=',
  '*',
  '/',
  '%',
  '**',
  '&',
  '|',
  '^',
  '<<',
  '>>',
  '>>>',
])

class Printer {
  private readonly words: KernelWords
  private readonly parameters: ReadonlyMap<string, string>
  private readonly tables: ReadonlyMap<string, string>
  private readonly collections: ReadonlyMap<string, string>

  constructor(ir: FunctionIr, words: KernelWords) {
    this.words = words
    this.parameters = new Map(ir.parameters.map((parameter, i) => [parameter.name, `p_${i}`]))
    this.tables = new Map(ir.tables.map((table, i) => [table.name, `t_${i}`]))
    this.collections = new Map(findsOf(ir).map((find, i) => [findId(find), `f_${i}`]))
  }

  stmts(stmts: readonly Stmt[]): string {
    return stmts.map((stmt) => this.stmt(stmt)).join('\n')
  }

  private stmt(stmt: Stmt): string {
    switch (stmt.kind) {
      case 'Let':
        return `l_${stmt.local} = ${stmt.init === undefined ? 'undefined' : this.expr(stmt.init)};`
      case 'Assign':
        return `l_${stmt.local} = ${this.expr(stmt.value)};`
      case 'If':
        return `if (${this.test(stmt.test)}) {\n${this.stmts(stmt.then)}\n}${stmt.else.length === 0 ? '' : ` else {\n${this.stmts(stmt.else)}\n}`}`
      case 'For':
        return this.loop(stmt)
      case 'Labeled':
        return `L_${stmt.label}: {\n${this.stmts(stmt.body)}\n}`
      case 'Break':
        return stmt.label === undefined ? 'break;' : `break L_${stmt.label};`
      case 'Continue':
        return stmt.label === undefined ? 'continue;' : `continue L_${stmt.label};`
      case 'Return':
        return this.words.returned(stmt.value, (expr) => this.expr(expr))
      case 'Throw':
        return `throw new ${stmt.error}(${stmt.message === undefined ? '' : this.expr(stmt.message)});`
      case 'Evaluate':
        return `${this.expr(stmt.value)};`
      case 'Write':
      case 'Add':
      case 'Accumulate':
        throw new Bug(`A row function contains ${stmt.kind}.`)
    }
  }

  private loop(stmt: Extract<Stmt, { kind: 'For' }>): string {
    const label = stmt.label === undefined ? '' : `L_${stmt.label}: `
    const test = stmt.test === undefined ? 'true' : this.expr(stmt.test)
    const body = `{\n${this.stmts(stmt.body)}\n}`
    const init = this.stmts(stmt.init)
    if (stmt.doWhile) return `${init}\n${label}do ${body} while (${test});`
    return `${init}\n${label}for (; ${test}; ${stmt.update.map((update) => this.update(update)).join(', ')}) ${body}`
  }

  private update(stmt: Stmt): string {
    if (stmt.kind === 'Assign') return `l_${stmt.local} = ${this.expr(stmt.value)}`
    if (stmt.kind === 'Evaluate') return this.expr(stmt.value)
    throw new Bug(`The update of a for loop contains ${stmt.kind}.`)
  }

  private expr(expr: Expr): string {
    switch (expr.kind) {
      case 'Literal':
        return literalText(expr.value)
      case 'Local':
        return `l_${expr.name}`
      case 'Parameter':
        return this.named(this.parameters, expr.name)
      case 'Input':
        return this.words.input(expr.argument)
      case 'Field': {
        const column = expr.of.kind === 'Input' ? this.words.field(expr.of.argument, expr.name) : undefined
        return column ?? `(${this.expr(expr.of)})${expr.optional ? '?.' : ''}[${JSON.stringify(expr.name)}]`
      }
      case 'Key':
        return this.words.key(expr.axis)
      case 'Unary':
        if (expr.operator === '!') return `(!${this.test(expr.operand)})`
        return `(${expr.operator} (${this.operand(expr.operator, expr.operand)}))`
      case 'Binary':
        return (
          this.equality(expr) ??
          `((${this.operand(expr.operator, expr.left)}) ${expr.operator} (${this.operand(expr.operator, expr.right)}))`
        )
      case 'Logical': {
        const absent = expr.operator === '&&' ? this.noList(expr.left) : undefined
        if (absent !== undefined) return `(${absent} ? null : (${this.expr(expr.right)}))`
        return `((${this.expr(expr.left)}) ${expr.operator} (${this.expr(expr.right)}))`
      }
      case 'Conditional':
        return `((${this.test(expr.test)}) ? (${this.expr(expr.then)}) : (${this.expr(expr.else)}))`
      case 'Call':
        return this.timeOfText(expr) ?? `${isLibraryCall(expr.callee) ? libraryName(expr.callee) : expr.callee}(${this.list(expr.args)})`
      case 'MethodCall':
        return methodText(
          `(${this.expr(expr.object)})`,
          expr,
          expr.args.map((arg) => `(${this.expr(arg)})`),
        )
      case 'OfList': {
        const ofColumn = this.words.ofList?.(expr, (one) => this.expr(one))
        if (ofColumn !== undefined) return ofColumn
        const value = expr.each === undefined ? '' : `(${this.expr(expr.each.value)})`
        const args = expr.args.map((arg) => `(${this.expr(arg)})`)
        return `(${listText(`(${this.expr(expr.list)})`, expr, { args, value, name: (local) => `l_${local}` })})`
      }
      case 'Matches':
        return `${regexText(expr)}.test(${this.expr(expr.of)})`
      case 'Lookup':
        return `${this.named(this.tables, expr.table)}[${this.expr(expr.index)}]`
      case 'LookupLength':
        return `${this.named(this.tables, expr.table)}.length`
      case 'Find':
        return findText(expr, this.named(this.collections, findId(expr)), this.expr(expr.key))
      case 'ArrayLiteral':
        return `[${this.list(expr.items)}]`
      case 'ObjectLiteral':
        return `({${expr.fields.map((field) => `[${JSON.stringify(field.name)}]: (${this.expr(field.value)})`).join(', ')}})`
      case 'Read':
      case 'Has':
      case 'Extent':
      case 'Draw':
        throw new Bug(`A row function contains ${expr.kind}.`)
    }
  }

  /** Prints an expression that is only asked whether it is truthy. */
  private test(expr: Expr): string {
    const absent = this.noList(expr)
    if (absent !== undefined) return `(!${absent})`
    if (expr.kind === 'Logical' && expr.operator !== '??') return `(${this.test(expr.left)} ${expr.operator} ${this.test(expr.right)})`
    return `(${this.expr(expr)})`
  }

  private noList(expr: Expr): string | undefined {
    return expr.kind === 'Field' && expr.of.kind === 'Input' ? this.words.isNoList?.(expr.of.argument, expr.name) : undefined
  }

  /** Prints comparisons for which no list and no text has to be made; undefined for others. */
  private equality({ operator, left, right }: Extract<Expr, { kind: 'Binary' }>): string | undefined {
    if (!/^[!=]==?$/.test(operator)) return undefined
    const isNull = (expr: Expr): boolean =>
      expr.kind === 'Literal' && (expr.value === null || (expr.value === undefined && operator.length === 2))
    const equal = (isNull(right) ? this.noList(left) : isNull(left) ? this.noList(right) : undefined) ?? this.words.equals?.(left, right)
    return equal === undefined ? undefined : operator.startsWith('!') ? `(!${equal})` : `(${equal})`
  }

  /** Prints an operand; a Date under a numeric operator prints as its number, so that no Date object is made. */
  private operand(operator: UnaryOperator | BinaryOperator, expr: Expr): string {
    const time = NUMERIC.has(operator) ? this.time(expr) : undefined
    return time ?? this.expr(expr)
  }

  private time(expr: Expr): string | undefined {
    if (expr.kind === 'Input') return this.words.time?.(expr.argument, undefined)
    return expr.kind === 'Field' && expr.of.kind === 'Input' ? this.words.time?.(expr.of.argument, expr.name) : undefined
  }

  /** Prints the time that a text of the element tells, for which no text has to be made; undefined for other calls. */
  private timeOfText({ callee, args: [of, another] }: Extract<Expr, { kind: 'Call' }>): string | undefined {
    if ((callee !== 'new Date' && callee !== 'Date.parse') || of === undefined || another !== undefined) return undefined
    const input = of.kind === 'Input' ? of : of.kind === 'Field' && of.of.kind === 'Input' ? of.of : undefined
    const absent = callee === 'new Date' ? 0 : 'NaN' // new Date(null) is 1970
    const time = input && this.words.timeOfText?.(input.argument, of.kind === 'Field' ? of.name : undefined, absent)
    return time !== undefined && callee === 'new Date' ? `new Date(${time})` : time
  }

  private list(exprs: readonly Expr[]): string {
    return exprs.map((expr) => `(${this.expr(expr)})`).join(', ')
  }

  private named(names: ReadonlyMap<string, string>, name: string): string {
    const found = names.get(name)
    if (found === undefined) throw new Bug(`The row function reads ${name}, which its IR does not list.`)
    return found
  }
}

function literalText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'bigint') return `(${value}n)`
  if (typeof value === 'number') return Object.is(value, -0) ? '(-0)' : `(${value})`
  return String(value)
}
