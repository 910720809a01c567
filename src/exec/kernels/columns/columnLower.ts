/**
 * Lowers the IR of a row function to column code, which computes its result for four rows at a time.
 *
 *     const t = r.a * 2                t: two vectors of doubles
 *     if (t > r.b) return 0            both results are computed,
 *     return t                         and taken lane by lane
 *
 * What is compiled are numbers, truth values, null, bigints that become numbers or are compared, text searches. Where a row throws, the
 * kernel collects its lane (`ColumnWriter.thrown`), and the row loop in JavaScript does the work instead, whose error has the row.
 */

import type { BinaryOperator, Callee, Expr, FunctionIr, Stmt } from '../../../core/ir/functionIr.ts'
import type { Span } from '../../../core/span.ts'
import { bigintBinary } from '../expressions/bigints.ts'
import type { BigintEmitter, Emitter, Leaf } from '../expressions/emitter.ts'
import { compiled, condition } from '../expressions/expressions.ts'
import { NotCompiled } from '../expressions/types.ts'
import { ColumnBigints } from './columnBigints.ts'
import { bucketsOf } from './columnBuckets.ts'
import { dateMethod } from './columnCalendar.ts'
import { isEqual } from './columnCompare.ts'
import { elementAt, foundKey } from './columnFinds.ts'
import { presentWhen } from './columnPresence.ts'
import { asked, textMatches, textMethod } from './columnTexts.ts'
import type { ColumnValue } from './columnTypes.ts'
import { and, bool, choose, isDate, not, present, truth, validOf } from './columnValues.ts'
import type { ColumnWriter } from './columnWriter.ts'
import { dateOf } from './madeDates.ts'

export interface ColumnLowering {
  /** Compiles arrays as objects with a field for each item; else they are refused. */
  readonly arrays?: boolean
  /** Compiles only whether the result is truthy. */
  readonly truth?: boolean
}

/** Computes what the function returns for the element. Throws NotCompiled where column code cannot express it. */
export function lowerColumns(w: ColumnWriter, ir: FunctionIr, element: ColumnValue, how: ColumnLowering = {}): ColumnValue {
  try {
    const result = new Lowering(w, ir, element, how).body(ir.body, new Map())
    if (result === THROWS) throw new NotCompiled('it throws for each row')
    if (result === undefined) throw new NotCompiled('it may return nothing')
    return result
  } catch (error) {
    if (error instanceof NotCompiled && error.span === undefined) throw new NotCompiled(error.message, ir.span)
    throw error
  }
}

/** The name of the column that holds function `n` of a text; no column of the user's has such a name. */
export function textFunctionName(n: number): string {
  return `${OF_TEXT}${n}`
}

/** The name of one that gives undefined where it gives nothing. */
export function missingTextFunctionName(n: number): string {
  return `${MISSING_OF_TEXT}${n}`
}

export function isTextFunction(name: string): boolean {
  return name.startsWith(OF_TEXT)
}

/** The name of the column that holds answers of lists; of those to which there may be none, which is undefined to the program. */
export function listAnswerName(n: number): string {
  return `${ADDED}list${n}`
}

export function missingAnswerName(n: number): string {
  return `${MISSING}${n}`
}

/** Whether what is null in a column was undefined. */
export function isOfMissing(name: string): boolean {
  return name.startsWith(MISSING) || name.startsWith(MISSING_OF_TEXT)
}

/** The name of the column that holds a field of a struct, the last of the names that lead to it. */
export function structFieldName(path: readonly string[]): string {
  return `${ADDED}field ${path.join(ADDED)}`
}

/** Whether a field of an element is a column that was added for steps to read, and that no step passes on. */
export function isAdded(name: string): boolean {
  return name.startsWith(ADDED)
}

const ADDED = '\0'
const OF_TEXT = `${ADDED}text`
const MISSING = `${ADDED}missing`
const MISSING_OF_TEXT = `${OF_TEXT}missing`

type Locals = Map<string, ColumnValue>

/** What statements return that throw in all lanes that come to them. */
const THROWS = Symbol('throws')
type Returned = ColumnValue | typeof THROWS | undefined

class Lowering extends ColumnBigints implements Emitter<ColumnValue> {
  private readonly ir: FunctionIr
  private readonly element: ColumnValue
  private readonly how: ColumnLowering
  private readonly parameters = new Map<string, ColumnValue>()
  /** The columns and masks of made Dates that tests around the code show to be present in the lanes that are taken. */
  private presence: ReadonlySet<string> = new Set()
  /** The statements after each labeled block, by its label. */
  private readonly behind = new Map<string, readonly Stmt[]>()
  private statements = 0
  private locals: Locals = new Map()
  /** The mask of lanes that come to the statement; undefined for all. */
  private path: number | undefined

  constructor(w: ColumnWriter, ir: FunctionIr, element: ColumnValue, how: ColumnLowering) {
    super(w)
    ;[this.ir, this.element, this.how] = [ir, element, how]
  }

  /** Compiles statements to the value that they return; undefined where they may end without returning, THROWS where they cannot end. */
  body(stmts: readonly Stmt[], locals: Locals): Returned {
    const outer = this.locals
    this.locals = locals
    try {
      return this.returned(stmts, locals)
    } finally {
      this.locals = outer
    }
  }

  private returned(stmts: readonly Stmt[], locals: Locals): Returned {
    for (const [i, stmt] of stmts.entries()) {
      if (++this.statements > MOST_STATEMENTS) throw new NotCompiled('what follows its conditions is too long', stmt.span)
      switch (stmt.kind) {
        case 'Let':
          if (stmt.init === undefined) locals.delete(stmt.local)
          else locals.set(stmt.local, compiled(this, stmt.init))
          break
        case 'Assign':
          locals.set(stmt.local, compiled(this, stmt.value))
          break
        case 'Evaluate':
          compiled(this, stmt.value)
          break
        case 'Return':
          if (stmt.value === undefined) throw new NotCompiled('it may return nothing', stmt.span)
          return this.how.truth === true ? { kind: 'bool', at: this.test(stmt.value) } : compiled(this, stmt.value)
        case 'If': {
          const test = this.test(stmt.test)
          const rest = stmts.slice(i + 1)
          if (rest.some(branches) && this.assigned(stmt, test, locals)) break
          // both sides are continued with the statements after the if, so that a side may return or assign
          const side = (is: boolean, body: readonly Stmt[]): Returned =>
            this.where<Returned>(stmt.test, is, () =>
              this.along<Returned>(is ? test : not(this.w, test), () => this.body([...body, ...rest], new Map(locals))),
            )
          const [then, otherwise] = [side(true, stmt.then), side(false, stmt.else)] as const
          if (then === THROWS) return otherwise
          if (otherwise === THROWS) return then
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
        case 'Throw':
          this.w.thrown.push(this.path ?? bool(this.w.truth(true)))
          return THROWS
        case 'For':
        case 'Continue':
        case 'Write':
        case 'Add':
        case 'Accumulate':
          throw new NotCompiled(NOT_COLUMNS[stmt.kind], stmt.span)
      }
    }
    return undefined
  }

  /**
   * Compiles an if that only assigns: each variable becomes a selection between both sides, so that the code after it is compiled once.
   * Returns false where a variable's values are of different kinds.
   */
  private assigned(stmt: Extract<Stmt, { kind: 'If' }>, test: number, locals: Locals): boolean {
    if (![...stmt.then, ...stmt.else].every(onlyAssigns)) return false
    const side = (is: boolean, body: readonly Stmt[]): Locals => {
      const own = new Map(locals)
      this.where(stmt.test, is, () => this.body(body, own))
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

  /** Compiles statements that only the lanes of a mask come to. */
  private along<T>(mask: number, work: () => T): T {
    const before = this.path
    this.path = and(this.w, before, mask)
    try {
      return work()
    } finally {
      this.path = before
    }
  }

  /** The mask of lanes in which an expression is truthy. */
  private test(expr: Expr): number {
    return bool(condition(this, expr))
  }

  truth(value: ColumnValue): ColumnValue {
    return { kind: 'bool', at: truth(this.w, value) }
  }

  logicalTruth(operator: '&&' | '||', left: ColumnValue, right: () => ColumnValue): ColumnValue {
    const { w } = this
    const other = asked(w, operator === '&&' ? bool(left) : not(w, bool(left)), right)
    return this.truths(operator === '&&' ? 'and' : 'or', left, other)
  }

  logical(operator: '&&' | '||' | '??', left: ColumnValue, right: () => ColumnValue): ColumnValue {
    const { w } = this
    if (operator === '??') {
      const valid = validOf(w, left)
      // lanes that take the left side have a value
      return valid === undefined ? left : choose(w, valid, present(left), asked(w, not(w, valid), right))
    }
    const test = truth(w, left)
    return operator === '&&' ? choose(w, test, asked(w, test, right), left) : choose(w, test, left, asked(w, not(w, test), right))
  }

  chosen(compileTest: () => ColumnValue, then: () => ColumnValue, otherwise: () => ColumnValue): ColumnValue {
    const { w } = this
    const test = bool(compileTest())
    const taken = asked(w, test, then)
    return choose(w, test, taken, asked(w, not(w, test), otherwise))
  }

  own(operator: BinaryOperator, left: ColumnValue, right: ColumnValue, span: Span | undefined): ColumnValue | undefined {
    const { w } = this
    if (operator === '+' && (isDate(w, left) || isDate(w, right))) throw new NotCompiled('it makes a text of a date')
    if (!(operator === '===' || operator === '==' || operator === '!==' || operator === '!=')) return undefined
    const equal = isEqual(this, left, right, operator.length === 3, () =>
      bool(bigintBinary(this, '==', this.toNumber(left), this.toNumber(right), span)),
    )
    return { kind: 'bool', at: operator.startsWith('!') ? not(w, equal) : equal }
  }

  ownCall(callee: Callee, args: readonly ColumnValue[], span: Span): ColumnValue | undefined {
    const { w } = this
    const [x] = args
    if (callee === 'bucket') return bucketsOf(this, args, span)
    if (callee === 'Date.UTC') return this.called(callee, args)
    return callee === 'new Date' && x !== undefined ? dateOf(w, x) : undefined
  }

  get bigints(): BigintEmitter<ColumnValue> {
    return this
  }

  leaf(expr: Leaf): ColumnValue {
    const { w, locals } = this
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
        const of = compiled(this, expr.of)
        if (of.kind !== 'row' || !(of.names.includes(expr.name) || isAdded(expr.name)))
          throw new NotCompiled(`it reads ${expr.name}, which is no column`, expr.span)
        return of.of(expr.name)
      }
      case 'ObjectLiteral': {
        const fields = new Map(expr.fields.map(({ name, value }) => [name, compiled(this, value)]))
        return { kind: 'row', names: [...fields.keys()], of: (name) => fields.get(name) as ColumnValue }
      }
      case 'Key':
        throw new NotCompiled('it reads the key', expr.span)
      case 'MethodCall': {
        const object = compiled(this, expr.object)
        const called = dateMethod(w, expr.method, object, this.presence) ?? textMethod(w, expr, object, (arg) => compiled(this, arg))
        if (called === undefined) throw new NotCompiled(`it calls ${expr.method}`, expr.span)
        return called
      }
      case 'OfList':
        throw new NotCompiled(`it asks a list for its ${expr.asks}`, expr.span)
      case 'Matches':
        return textMatches(w, expr, compiled(this, expr.of))
      case 'Lookup': {
        const { index } = expr
        if (index.kind === 'Literal' && typeof index.value === 'number') return this.tableElement(expr.table, index.value, expr.span)
        return elementAt(w, this.table(expr.table, expr.span), compiled(this, index), expr.span)
      }
      case 'Find':
        return foundKey(w, expr, this.ir.tables, compiled(this, expr.key))
      case 'LookupLength':
        return w.parameter(this.table(expr.table, expr.span).value.length)
      case 'ArrayLiteral': {
        if (this.how.arrays !== true) throw new NotCompiled('it makes an array', expr.span)
        const items = new Map(expr.items.map((item, i) => [String(i), compiled(this, item)]))
        return { kind: 'row', names: [...items.keys()], of: (name) => items.get(name) as ColumnValue }
      }
      case 'Read':
      case 'Has':
      case 'Extent':
      case 'Draw':
        throw new NotCompiled('it reads more than its row', expr.span)
    }
  }

  where<T>(test: Expr, outcome: boolean, work: () => T): T {
    const before = this.presence
    this.presence = new Set([...before, ...presentWhen(test, outcome, (expr) => this.held(expr))])
    try {
      return work()
    } finally {
      this.presence = before
    }
  }

  /** The value of a field of the row, or of a local variable, which costs nothing to know; undefined for other expressions. */
  private held(expr: Expr): ColumnValue | undefined {
    if (expr.kind === 'Local') return this.locals.get(expr.name)
    if (expr.kind !== 'Field' || expr.of.kind !== 'Input' || expr.of.argument !== 0 || this.element.kind !== 'row') return undefined
    return this.element.names.includes(expr.name) ? this.element.of(expr.name) : undefined
  }

  private literal(value: unknown, span: Span): ColumnValue {
    if (typeof value === 'number') return this.w.number(value)
    if (typeof value === 'boolean') return this.w.truth(value)
    // every text gets its number even where it is unused: kernels for some of the outputs need the same numbers as those for all
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

  /** An element of a captured array. A number is passed in the frame, like a captured one. */
  private tableElement(table: string, index: number, span: Span): ColumnValue {
    const value = this.table(table, span).value[index]
    return typeof value === 'number' ? this.w.parameter(value) : this.literal(value, span)
  }

  private table(name: string, span: Span): FunctionIr['tables'][number] {
    const table = this.ir.tables.find((one) => one.name === name)
    if (table === undefined) throw new NotCompiled(`it reads the captured ${name}`, span)
    return table
  }
}

/** The most statements that are lowered; those after an if are lowered once for each of its sides. */
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
  Write: 'it writes',
  Add: 'it writes',
  Accumulate: 'it writes',
} as const
