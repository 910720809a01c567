/**
 * The IR of a row function as column code: what it returns for four rows at a time.
 *
 *     const t = r.a * 2                t: two vectors of doubles
 *     if (t > r.b) return 0            both results are computed,
 *     return t                         and taken lane by lane
 *
 * Only functions that cannot fail are compiled: numbers, truth values, null, bigints that are made numbers or compared, questions about texts.
 */

import type { Expr, FunctionIr, Stmt } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { SIMD } from '../../kir/instructions.ts'
import { LOWEST, NotCompiled } from '../loops/wasmTypes.ts'
import { bigintNegated, isBigint } from './columnBigints.ts'
import { dateMethod } from './columnCalendar.ts'
import { calledColumn } from './columnCalls.ts'
import { binary } from './columnCompare.ts'
import { elementAt, foundKey } from './columnFinds.ts'
import { presentWhen } from './columnPresence.ts'
import { asked, textMatches, textMethod } from './columnTexts.ts'
import type { ColumnValue } from './columnTypes.ts'
import { and, bool, both, choose, doubles, not, numeric, or, present, truth, validOf } from './columnValues.ts'
import type { ColumnWriter } from './columnWriter.ts'

export interface ColumnLowering {
  /** Arrays are objects with a field for each item, else they are not compiled. */
  readonly arrays?: boolean
  /** Only whether what it returns is true is asked for. */
  readonly truth?: boolean
}

/** What the function returns for the element. Throws NotCompiled where the code cannot say it. */
export function lowerColumns(w: ColumnWriter, ir: FunctionIr, element: ColumnValue, how: ColumnLowering = {}): ColumnValue {
  try {
    const result = new Lowering(w, ir, element, how).body(ir.body, new Map())
    if (result === undefined) throw new NotCompiled('it may return nothing')
    return result
  } catch (error) {
    if (error instanceof NotCompiled && error.span === undefined) throw new NotCompiled(error.message, ir.span)
    throw error
  }
}

/** The name of the column of a function of a text; no column of the user's has such a name. */
export function textFunctionName(n: number): string {
  return `${OF_TEXT}${n}`
}

/** Whether a field of an element is the column of a function of a text, which no step hands on. */
export function isTextFunction(name: string): boolean {
  return name.startsWith(OF_TEXT)
}

const OF_TEXT = '\0text'

type Locals = Map<string, ColumnValue>

class Lowering {
  private readonly w: ColumnWriter
  private readonly ir: FunctionIr
  private readonly element: ColumnValue
  private readonly how: ColumnLowering
  private readonly parameters = new Map<string, ColumnValue>()
  /** Columns, and validities of made Dates, that are there in the lanes which are taken: tests around say so. */
  private presence: ReadonlySet<string> = new Set()
  /** What follows a block that may be left early, by its label. */
  private readonly behind = new Map<string, readonly Stmt[]>()
  private statements = 0

  constructor(w: ColumnWriter, ir: FunctionIr, element: ColumnValue, how: ColumnLowering) {
    this.w = w
    this.ir = ir
    this.element = element
    this.how = how
  }

  /** What the statements return; undefined when they may end without. */
  body(stmts: readonly Stmt[], locals: Locals): ColumnValue | undefined {
    for (const [i, stmt] of stmts.entries()) {
      if (++this.statements > MOST_STATEMENTS) throw new NotCompiled('what follows its conditions is too long', stmt.span)
      switch (stmt.kind) {
        case 'Let':
          if (stmt.init === undefined) locals.delete(stmt.local)
          else locals.set(stmt.local, this.expr(stmt.init, locals))
          break
        case 'Assign':
          locals.set(stmt.local, this.expr(stmt.value, locals))
          break
        case 'Evaluate':
          this.expr(stmt.value, locals)
          break
        case 'Return':
          if (stmt.value === undefined) throw new NotCompiled('it may return nothing', stmt.span)
          return this.how.truth === true ? { kind: 'bool', at: this.test(stmt.value, locals) } : this.expr(stmt.value, locals)
        case 'If': {
          const test = this.test(stmt.test, locals)
          const rest = stmts.slice(i + 1)
          if (rest.some(branches) && this.assigned(stmt, test, locals)) break
          // what follows is part of both sides, so that a side may return or assign
          const then = this.where(stmt.test, true, locals, () => this.body([...stmt.then, ...rest], new Map(locals)))
          const otherwise = this.where(stmt.test, false, locals, () => this.body([...stmt.else, ...rest], new Map(locals)))
          return then === undefined || otherwise === undefined ? undefined : choose(this.w, test, then, otherwise)
        }
        case 'Labeled': {
          const rest = stmts.slice(i + 1)
          this.behind.set(stmt.label, rest)
          return this.body([...stmt.body, ...rest], locals)
        }
        case 'Break': {
          const rest = stmt.label === undefined ? undefined : this.behind.get(stmt.label)
          if (rest === undefined) throw new NotCompiled('it leaves a loop', stmt.span)
          return this.body(rest, locals)
        }
        case 'For':
        case 'Continue':
        case 'Throw':
        case 'Write':
        case 'Add':
        case 'Accumulate':
          throw new NotCompiled(NOT_COLUMNS[stmt.kind], stmt.span)
      }
    }
    return undefined
  }

  /**
   * An if that assigns and does nothing else, before others: each variable is one value or the other, so that what follows is computed once.
   * False where the two are of different kinds.
   */
  private assigned(stmt: Extract<Stmt, { kind: 'If' }>, test: number, locals: Locals): boolean {
    if (![...stmt.then, ...stmt.else].every(onlyAssigns)) return false
    const side = (is: boolean, body: readonly Stmt[]): Locals => {
      const own = new Map(locals)
      this.where(stmt.test, is, locals, () => this.body(body, own))
      return own
    }
    const [then, otherwise] = [side(true, stmt.then), side(false, stmt.else)]
    try {
      const chosen = [...then].flatMap(([name, value]): readonly [string, ColumnValue][] => {
        const other = otherwise.get(name)
        return other === undefined ? [] : [[name, choose(this.w, test, value, other)]]
      })
      for (const [name, value] of chosen) locals.set(name, value)
      return true
    } catch (error) {
      if (error instanceof NotCompiled) return false
      throw error
    }
  }

  /** Lanes in which an expression is true; operands of `&&` and `||` may be of different kinds there. */
  private test(expr: Expr, locals: Locals): number {
    const { w } = this
    if (expr.kind === 'Unary' && expr.operator === '!') return not(w, this.test(expr.operand, locals))
    if (expr.kind === 'Conditional')
      return truth(
        w,
        this.chosen(expr, locals, (side) => ({ kind: 'bool', at: this.test(side, locals) })),
      )
    if (expr.kind !== 'Logical' || expr.operator === '??') return truth(w, this.expr(expr, locals))
    const isAnd = expr.operator === '&&'
    const left = this.test(expr.left, locals)
    const right = asked(w, isAnd ? left : not(w, left), () =>
      this.where(expr.left, isAnd, locals, (): ColumnValue => ({ kind: 'bool', at: this.test(expr.right, locals) })),
    )
    return isAnd ? (and(w, left, bool(right)) as number) : or(w, left, bool(right))
  }

  private chosen(expr: Extract<Expr, { kind: 'Conditional' }>, locals: Locals, of: (side: Expr) => ColumnValue): ColumnValue {
    const { w } = this
    const test = this.test(expr.test, locals)
    const side = (taken: boolean, value: Expr) => () => this.where(expr.test, taken, locals, () => of(value))
    const then = asked(w, test, side(true, expr.then))
    const otherwise = asked(w, not(w, test), side(false, expr.else))
    return choose(w, test, then, otherwise)
  }

  private expr(expr: Expr, locals: Locals): ColumnValue {
    const { w } = this
    switch (expr.kind) {
      case 'Literal':
        return this.literal(expr.value, expr.span)
      case 'Local': {
        const value = locals.get(expr.name)
        if (value === undefined) throw new NotCompiled(`${expr.name} is read before it is declared`, expr.span)
        return value
      }
      case 'Parameter':
        return this.parameter(expr.name, expr.span)
      case 'Input':
        if (expr.argument !== 0) throw new NotCompiled('it takes two elements', expr.span)
        return this.element
      case 'Field': {
        const of = this.expr(expr.of, locals)
        if (of.kind !== 'row' || !(of.names.includes(expr.name) || isTextFunction(expr.name)))
          throw new NotCompiled(`it reads ${expr.name}, which is no column`, expr.span)
        return of.of(expr.name)
      }
      case 'Unary':
        return this.unary(expr, this.expr(expr.operand, locals))
      case 'Binary':
        return binary(w, expr.operator, this.expr(expr.left, locals), this.expr(expr.right, locals))
      case 'Logical': {
        const left = this.expr(expr.left, locals)
        const right = (mask: number): ColumnValue =>
          asked(w, mask, () =>
            expr.operator === '??'
              ? this.expr(expr.right, locals)
              : this.where(expr.left, expr.operator === '&&', locals, () => this.expr(expr.right, locals)),
          )
        if (expr.operator === '??') {
          const valid = validOf(w, left)
          // where the left side is taken it is there
          return valid === undefined ? left : choose(w, valid, present(left), right(not(w, valid)))
        }
        const test = truth(w, left)
        return expr.operator === '&&' ? choose(w, test, right(test), left) : choose(w, test, left, right(not(w, test)))
      }
      case 'Conditional':
        return this.chosen(expr, locals, (side) => this.expr(side, locals))
      case 'Call':
        return calledColumn(
          w,
          expr.callee,
          expr.args.map((arg) => this.expr(arg, locals)),
          expr.span,
        )
      case 'ObjectLiteral': {
        const fields = new Map(expr.fields.map(({ name, value }) => [name, this.expr(value, locals)]))
        return { kind: 'row', names: [...fields.keys()], of: (name) => fields.get(name) as ColumnValue }
      }
      case 'Key':
        throw new NotCompiled('it reads the key', expr.span)
      case 'MethodCall': {
        const object = this.expr(expr.object, locals)
        const called = dateMethod(w, expr.method, object, this.presence) ?? textMethod(w, expr, object, (arg) => this.expr(arg, locals))
        if (called === undefined) throw new NotCompiled(`it calls ${expr.method}`, expr.span)
        return called
      }
      case 'Matches':
        return textMatches(w, expr, this.expr(expr.of, locals))
      case 'Lookup': {
        const { index } = expr
        if (index.kind === 'Literal' && typeof index.value === 'number') return this.tableElement(expr.table, index.value, expr.span)
        return elementAt(w, this.table(expr.table, expr.span), this.expr(index, locals), expr.span)
      }
      case 'Find':
        return foundKey(w, expr, this.ir.tables, this.expr(expr.key, locals))
      case 'LookupLength':
        return w.parameter(this.table(expr.table, expr.span).value.length)
      case 'ArrayLiteral': {
        if (this.how.arrays !== true) throw new NotCompiled('it makes an array', expr.span)
        const items = new Map(expr.items.map((item, i) => [String(i), this.expr(item, locals)]))
        return { kind: 'row', names: [...items.keys()], of: (name) => items.get(name) as ColumnValue }
      }
      case 'Read':
      case 'Has':
      case 'Extent':
      case 'Draw':
        throw new NotCompiled('it reads more than its row', expr.span)
    }
  }

  /** What is computed where the test is true, or where it is false. */
  private where<T>(test: Expr, is: boolean, locals: Locals, compute: () => T): T {
    const before = this.presence
    this.presence = new Set([...before, ...presentWhen(test, is, (expr) => this.held(expr, locals))])
    try {
      return compute()
    } finally {
      this.presence = before
    }
  }

  /** The value of a field of the row, or of a local variable: finding it out computes nothing. */
  private held(expr: Expr, locals: Locals): ColumnValue | undefined {
    if (expr.kind === 'Local') return locals.get(expr.name)
    if (expr.kind !== 'Field' || expr.of.kind !== 'Input' || expr.of.argument !== 0 || this.element.kind !== 'row') return undefined
    return this.element.names.includes(expr.name) ? this.element.of(expr.name) : undefined
  }

  private literal(value: unknown, span: Span): ColumnValue {
    if (typeof value === 'number') return this.w.number(value)
    if (typeof value === 'boolean') return this.w.truth(value)
    // each text has its number, whatever becomes of it: kernels for some of the outputs have the numbers of all
    if (typeof value === 'string') this.w.textConstant(value)
    if (value === null || value === undefined || typeof value === 'string' || typeof value === 'bigint') return { kind: 'constant', value }
    throw new NotCompiled(`it uses ${String(value)}`, span)
  }

  private parameter(name: string, span: Span): ColumnValue {
    const value = this.ir.parameters.find((parameter) => parameter.name === name)?.value
    if (typeof value !== 'number') return this.literal(value, span)
    let lanes = this.parameters.get(name)
    if (lanes === undefined) this.parameters.set(name, (lanes = this.w.parameter(value)))
    return lanes
  }

  /** An element of a captured array: a number is an argument of the kernel, as a captured one is. */
  private tableElement(table: string, index: number, span: Span): ColumnValue {
    const value = this.table(table, span).value[index]
    return typeof value === 'number' ? this.w.parameter(value) : this.literal(value, span)
  }

  private table(name: string, span: Span): FunctionIr['tables'][number] {
    const table = this.ir.tables.find((one) => one.name === name)
    if (table === undefined) throw new NotCompiled(`it reads the captured ${name}`, span)
    return table
  }

  private unary(expr: Extract<Expr, { kind: 'Unary' }>, operand: ColumnValue): ColumnValue {
    const { w } = this
    if ((expr.operator === '-' || expr.operator === '~') && isBigint(operand)) return bigintNegated(w, expr.operator, operand)
    switch (expr.operator) {
      case '!':
        return { kind: 'bool', at: not(w, truth(w, operand)) }
      case '+':
        return numeric(w, operand)
      case '-': {
        const value = numeric(w, operand)
        if (value.kind === 'i32' && (value.low > 0 || value.high < 0) && value.low > LOWEST) return binary(w, '-', w.number(0), value)
        return both(w, [doubles(w, value)], SIMD.f64Neg)
      }
      case '~':
        return binary(w, '^', operand, w.number(-1))
      case 'typeof':
        throw new NotCompiled('it asks for a type', expr.span)
    }
  }
}

/** So many statements are lowered at most, what follows an if once for each of its sides. */
const MOST_STATEMENTS = 4_096

function branches(stmt: Stmt): boolean {
  return stmt.kind === 'If' || stmt.kind === 'Labeled'
}

function onlyAssigns(stmt: Stmt): boolean {
  if (stmt.kind === 'If') return [...stmt.then, ...stmt.else].every(onlyAssigns)
  return stmt.kind === 'Assign' || stmt.kind === 'Let' || stmt.kind === 'Evaluate'
}

const NOT_COLUMNS = {
  For: 'it contains a loop',
  Continue: 'it contains a loop',
  Throw: 'it may throw',
  Write: 'it writes',
  Add: 'it writes',
  Accumulate: 'it writes',
} as const
