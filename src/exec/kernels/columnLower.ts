/**
 * The IR of a row function as column code: what it returns for four rows at a time.
 *
 *     const t = r.a * 2                t: two vectors of doubles
 *     if (t > r.b) return 0            both results are computed,
 *     return t                         and taken lane by lane
 *
 * Only functions that cannot fail are compiled: numbers, truth values, null, comparisons of bigints and of text.
 */
import type { Builtin, Expr, FunctionIr, Stmt } from '../../core/functionIr.ts'
import type { Span } from '../../core/span.ts'
import { and, binary, both, called, choose, doubles, not, numberOfBigint, numeric, truth, validOf } from './columnValues.ts'
import type { ColumnValue, ColumnWriter } from './columnWriter.ts'
import { lanesConst, simd, V } from './simd.ts'
import { I } from './wasmEncoder.ts'
import { HIGHEST, LOWEST, NotCompiled } from './wasmTypes.ts'

/** What the function returns for the element. Throws NotCompiled where the code cannot say it. */
export function lowerColumns(w: ColumnWriter, ir: FunctionIr, element: ColumnValue): ColumnValue {
  try {
    const result = new Lowering(w, ir, element).body(ir.body, new Map())
    if (result === undefined) throw new NotCompiled('it may return nothing')
    return result
  } catch (error) {
    if (error instanceof NotCompiled && error.span === undefined) throw new NotCompiled(error.message, ir.span)
    throw error
  }
}

type Locals = Map<string, ColumnValue>

class Lowering {
  private readonly w: ColumnWriter
  private readonly ir: FunctionIr
  private readonly element: ColumnValue
  private readonly parameters = new Map<string, ColumnValue>()

  constructor(w: ColumnWriter, ir: FunctionIr, element: ColumnValue) {
    this.w = w
    this.ir = ir
    this.element = element
  }

  /** What the statements return; undefined when they may end without. */
  body(stmts: readonly Stmt[], locals: Locals): ColumnValue | undefined {
    for (const [i, stmt] of stmts.entries()) {
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
          return this.expr(stmt.value, locals)
        case 'If': {
          const test = truth(this.w, this.expr(stmt.test, locals))
          const rest = stmts.slice(i + 1)
          // what follows is part of both sides, so that a side may return or assign
          const then = this.body([...stmt.then, ...rest], new Map(locals))
          const otherwise = this.body([...stmt.else, ...rest], new Map(locals))
          return then === undefined || otherwise === undefined ? undefined : choose(this.w, test, then, otherwise)
        }
        case 'For':
        case 'Labeled':
        case 'Break':
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
        if (of.kind !== 'row' || !of.names.includes(expr.name))
          throw new NotCompiled(`it reads ${expr.name}, which is no column`, expr.span)
        return of.of(expr.name)
      }
      case 'Unary':
        return this.unary(expr, this.expr(expr.operand, locals))
      case 'Binary':
        return binary(w, expr.operator, this.expr(expr.left, locals), this.expr(expr.right, locals))
      case 'Logical': {
        const left = this.expr(expr.left, locals)
        const right = this.expr(expr.right, locals)
        if (expr.operator === '&&') return choose(w, truth(w, left), right, left)
        if (expr.operator === '||') return choose(w, truth(w, left), left, right)
        const valid = validOf(w, left)
        return valid === undefined ? left : choose(w, valid, left, right)
      }
      case 'Conditional': {
        const test = truth(w, this.expr(expr.test, locals))
        return choose(w, test, this.expr(expr.then, locals), this.expr(expr.else, locals))
      }
      case 'Call':
        return this.call(
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
      case 'MethodCall':
        throw new NotCompiled(`it calls ${expr.method}`, expr.span)
      case 'Lookup':
      case 'LookupLength':
        throw new NotCompiled(`it reads the captured ${expr.table}`, expr.span)
      case 'ArrayLiteral':
        throw new NotCompiled('it makes an array', expr.span)
      case 'Read':
      case 'Has':
      case 'Extent':
      case 'Draw':
        throw new NotCompiled('it reads more than its row', expr.span)
    }
  }

  private literal(value: unknown, span: Span): ColumnValue {
    if (typeof value === 'number') return this.w.number(value)
    if (typeof value === 'boolean') return this.w.truth(value)
    if (value === null || typeof value === 'string' || typeof value === 'bigint') return { kind: 'constant', value }
    throw new NotCompiled(`it uses ${String(value)}`, span)
  }

  private parameter(name: string, span: Span): ColumnValue {
    const value = this.ir.parameters.find((parameter) => parameter.name === name)?.value
    if (typeof value !== 'number') return this.literal(value, span)
    let lanes = this.parameters.get(name)
    if (lanes === undefined) this.parameters.set(name, (lanes = this.w.parameter(value)))
    return lanes
  }

  private unary(expr: Extract<Expr, { kind: 'Unary' }>, operand: ColumnValue): ColumnValue {
    const { w } = this
    switch (expr.operator) {
      case '!':
        return { kind: 'bool', at: not(w, truth(w, operand)) }
      case '+':
        return numeric(w, operand)
      case '-': {
        const value = numeric(w, operand)
        if (value.kind === 'i32' && (value.low > 0 || value.high < 0) && value.low > LOWEST) return binary(w, '-', w.number(0), value)
        return both(w, [doubles(w, value)], ...simd(V.f64Neg))
      }
      case '~':
        return binary(w, '^', operand, w.number(-1))
      case 'typeof':
        throw new NotCompiled('it asks for a type', expr.span)
    }
  }

  private call(callee: Builtin, args: readonly ColumnValue[], span: Span): ColumnValue {
    const { w } = this
    const [x] = args
    if (x === undefined) throw new NotCompiled(`${callee} is called without an argument`, span)
    switch (callee) {
      case 'Math.abs':
        return both(w, [doubles(w, x)], ...simd(V.f64Abs))
      case 'Math.sqrt':
        return both(w, [doubles(w, x)], ...simd(V.f64Sqrt))
      case 'Math.ceil':
      case 'Math.floor':
      case 'Math.trunc': {
        const value = numeric(w, x)
        return value.kind === 'i32' ? value : both(w, [value], ...simd(ROUND[callee]))
      }
      case 'Math.round':
        return this.rounded(x)
      case 'Math.fround':
        return both(w, [doubles(w, x)], ...simd(V.demote), ...simd(V.promote))
      case 'Math.min':
      case 'Math.max': {
        const opcode = callee === 'Math.min' ? V.f64Min : V.f64Max
        return args.map((arg) => doubles(w, arg)).reduce((a, b) => doubles(w, both(w, [a, b], ...simd(opcode))))
      }
      case 'Math.imul': {
        const [a, b] = [numeric(w, x), numeric(w, args[1] ?? w.number(0))]
        if (a.kind !== 'i32' || b.kind !== 'i32') throw new NotCompiled('it takes the bits of a number that need not be an integer', span)
        return { kind: 'i32', at: w.keep([...I.localGet(a.at), ...I.localGet(b.at), ...simd(V.i32Mul)]), low: LOWEST, high: HIGHEST }
      }
      case 'Number':
        return x.kind === 'i64' ? numberOfBigint(w, x) : numeric(w, x)
      case 'Boolean':
        return { kind: 'bool', at: truth(w, x) }
      case 'isNaN': {
        const value = numeric(w, x)
        return value.kind === 'i32' ? w.truth(false) : { kind: 'bool', at: this.isNotItself(value) }
      }
      case 'Number.isNaN':
        return x.kind === 'f64' ? { kind: 'bool', at: this.isNotItself(x) } : w.truth(false)
      case 'isFinite':
        return { kind: 'bool', at: this.isFinite(x) }
      case 'Number.isFinite':
      case 'Number.isInteger':
      case 'Number.isSafeInteger': {
        if (x.kind !== 'f64' && x.kind !== 'i32') return w.truth(false)
        const tests = [this.isFinite(x), validOf(w, x)]
        if (callee !== 'Number.isFinite') tests.push(truth(w, binary(w, '===', x, this.call('Math.trunc', [x], span))))
        if (callee === 'Number.isSafeInteger') {
          tests.push(truth(w, binary(w, '<=', this.call('Math.abs', [x], span), w.number(Number.MAX_SAFE_INTEGER))))
        }
        return { kind: 'bool', at: tests.reduce((a, b) => and(w, a, b)) as number }
      }
      case 'Math.acos':
      case 'Math.acosh':
      case 'Math.asin':
      case 'Math.asinh':
      case 'Math.atan':
      case 'Math.atan2':
      case 'Math.atanh':
      case 'Math.cbrt':
      case 'Math.cos':
      case 'Math.cosh':
      case 'Math.exp':
      case 'Math.expm1':
      case 'Math.hypot':
      case 'Math.log':
      case 'Math.log10':
      case 'Math.log1p':
      case 'Math.log2':
      case 'Math.pow':
      case 'Math.sign':
      case 'Math.sin':
      case 'Math.sinh':
      case 'Math.tan':
      case 'Math.tanh':
        return called(w, callee, args)
      case 'Math.clz32':
      case 'String':
      case 'BigInt':
      case 'BigInt.asIntN':
      case 'BigInt.asUintN':
      case 'Number.parseFloat':
      case 'Number.parseInt':
      case 'parseFloat':
      case 'parseInt':
      case 'Object.is':
      case 'Date.UTC':
        throw new NotCompiled(`it calls ${callee}`, span)
    }
  }

  /** The integer above unless it is more than a half away: `Math.round`, -0 included. */
  private rounded(x: ColumnValue): ColumnValue {
    const { w } = this
    const value = numeric(w, x)
    if (value.kind === 'i32') return value
    const up = doubles(w, both(w, [value], ...simd(V.f64Ceil)))
    const below = doubles(w, binary(w, '-', up, w.number(1)))
    return choose(w, truth(w, binary(w, '>', binary(w, '-', up, w.number(0.5)), value)), below, up)
  }

  private isNotItself(value: Extract<ColumnValue, { kind: 'f64' | 'i64' }>): number {
    return truth(this.w, binary(this.w, '!==', value, value))
  }

  private isFinite(x: ColumnValue): number {
    const { w } = this
    const value = numeric(w, x)
    if (value.kind === 'i32') return w.constant(lanesConst([-1, -1, -1, -1]))
    return truth(w, binary(w, '<', both(w, [value], ...simd(V.f64Abs)), w.number(Number.POSITIVE_INFINITY)))
  }
}

const ROUND = { 'Math.ceil': V.f64Ceil, 'Math.floor': V.f64Floor, 'Math.trunc': V.f64Trunc } as const

const NOT_COLUMNS = {
  For: 'it contains a loop',
  Labeled: 'it leaves a block early',
  Break: 'it leaves a block early',
  Continue: 'it leaves a block early',
  Throw: 'it may throw',
  Write: 'it writes',
  Add: 'it writes',
  Accumulate: 'it writes',
} as const
