/**
 * Unboxing of optional values: each local that may be undefined or null, and is tested for it, gets a second local, which says
 * whether it is present.
 *
 *     let best                                  let best = NaN, there = false
 *     if (v > 0) best = v                       if (v > 0) { best = v; there = true }
 *     return best ?? 1                          return there ? best : 1
 *
 * Legal since an absent value is held as the number to which arithmetic, stores and comparisons convert it: NaN for undefined, 0 for null.
 * Equality with another value could tell the two apart, so it tests presence first, of both sides where both may be absent, and so do
 * `Number.isNaN` and its like, which are false of what is absent; other uses that could tell are refused: a returned value, a null that is
 * stored. Elements of captured lists of numbers are present by their index, and captured numbers always. A body that tests columns,
 * collections or other captured values, or a local that may be either undefined or null, stays as it is.
 */
import { type Expr, expressionsOf, type FunctionIr, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { someExpr } from '../../../core/ir/irFacts.ts'
import { withOperands } from '../../../core/ir/irRewrite.ts'
import { rewrittenStatements } from '../../../core/ir/statementRewrite.ts'
import { readUnset } from '../loops/wasmLocals.ts'

/** The value of a local where it is absent. */
type Absent = null | undefined

const STRICT: ReadonlySet<string> = new Set(['===', '!=='])
/** Statements that pass a value on. */
const STORES: ReadonlySet<Stmt['kind']> = new Set(['Write', 'Add', 'Accumulate', 'Return'])
/** Functions that distinguish undefined from NaN, or null from 0. */
const TELLS = /^(Number\.is|Object\.is|String|BigInt)/
/** Those that are false of undefined and null. */
const QUESTIONS = /^Number\.is(NaN|Finite|Integer|SafeInteger)$/
const EQUALITIES: ReadonlySet<string> = new Set(['===', '!==', '==', '!='])

/** Returns the body with locals for presence; the body itself where it has no tests, or presence cannot be decided. */
export function withPresence(ir: FunctionIr): FunctionIr {
  const absent = absentLocals(ir)
  if (absent === undefined || !asks(ir.body, absent)) return ir
  const names = new Set<string>([...absent.keys()].map(thereOf))
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Let' && names.has(stmt.local)) names.delete(stmt.local)
  })
  if (names.size < absent.size) return ir
  const p = new Presence(absent, ir)
  const lets = (stmt: Stmt, original: Stmt): readonly Stmt[] => {
    if ((original.kind !== 'Let' && original.kind !== 'Assign') || !absent.has(original.local)) return [stmt]
    const { local, span } = original
    const given = original.kind === 'Let' ? original.init : original.value
    const there = given === undefined ? literal(false, span) : p.isThere(given)
    const value = given === undefined ? numberOf(absent.get(local), span) : p.held(given)
    const set = { span, local: thereOf(local) }
    if (original.kind === 'Let')
      return [
        { ...original, init: value },
        { kind: 'Let', ...set, init: there },
      ]
    if (!someExpr(value, (one) => one.kind === 'Local' && one.name === set.local)) {
      return [
        { kind: 'Assign', ...set, value: there },
        { ...original, value },
      ]
    }
    // the value depends on the previous presence of the local
    const next = { span, local: `${set.local}$next` }
    return [
      { kind: 'Let', ...next, init: there },
      { ...original, value },
      { kind: 'Assign', ...set, value: { kind: 'Local', name: next.local, span } },
    ]
  }
  const isOf = (stmt: Stmt): boolean => (stmt.kind === 'Let' || stmt.kind === 'Assign') && absent.has(stmt.local)
  const rewritten = (expr: Expr, stmt: Stmt): Expr => {
    if (isOf(stmt)) return expr
    if (STORES.has(stmt.kind)) p.store(expr, stmt.kind === 'Return')
    return p.value(expr)
  }
  const body = rewrittenStatements(ir.body, { expr: rewritten, stmt: lets })
  return p.isLegal ? { ...ir, body: withoutUnread(body, names) } : ir
}

/** Declares without a value what is declared as undefined: where it is assigned before anything reads it, it never has that value. */
export function withoutUndefined(ir: FunctionIr): FunctionIr {
  const declared = (stmt: Stmt): readonly Stmt[] => {
    const isUndefined = stmt.kind === 'Let' && stmt.init?.kind === 'Literal' && stmt.init.value === undefined
    return [isUndefined ? { kind: 'Let', local: stmt.local, span: stmt.span } : stmt]
  }
  return { ...ir, body: rewrittenStatements(ir.body, { expr: (expr) => expr, stmt: declared }) }
}

/** Removes the locals of these names that nothing reads. */
function withoutUnread(body: readonly Stmt[], names: ReadonlySet<string>): readonly Stmt[] {
  const read = new Set<string>()
  const own = (stmt: Stmt): string | undefined => (stmt.kind === 'Let' || stmt.kind === 'Assign' ? stmt.local : undefined)
  visitStmts(body, (stmt) => {
    for (const top of expressionsOf(stmt)) {
      visitExpr(top, (expr) => {
        if (expr.kind === 'Local' && expr.name !== own(stmt)) read.add(expr.name)
      })
    }
  })
  const isUnread = (stmt: Stmt): boolean => names.has(own(stmt) ?? '') && !read.has(own(stmt) ?? '')
  const kept = rewrittenStatements(body, { expr: (expr) => expr, stmt: (stmt) => (isUnread(stmt) ? [] : [stmt]) })
  // locals that only served their values are unread by then
  const left = new Set([...names].filter((name) => read.has(name)))
  return left.size < names.size && left.size > 0 ? withoutUnread(kept, left) : kept
}

function thereOf(local: string): string {
  return `${local}$there`
}

function literal(value: boolean | number | undefined, span: Expr['span']): Expr {
  return { kind: 'Literal', value, span }
}

/** Returns the number to which ToNumber converts an absent value. */
function numberOf(absent: Absent, span: Expr['span']): Expr {
  return literal(absent === null ? 0 : Number.NaN, span)
}

function isAbsentLiteral(expr: Expr): expr is Extract<Expr, { kind: 'Literal' }> {
  return expr.kind === 'Literal' && (expr.value === undefined || expr.value === null)
}

/** Whether the body tests a value for presence, or whether one that may be absent equals another. */
function asks(stmts: readonly Stmt[], absent: ReadonlyMap<string, Absent>): boolean {
  let found = false
  const isAsked = (expr: Expr): boolean =>
    isAbsentLiteral(expr) ||
    (expr.kind === 'Local' && absent.has(expr.name)) ||
    (expr.kind === 'Conditional' && (isAsked(expr.then) || isAsked(expr.else)))
  const visit = (expr: Expr): void => {
    found ||= expr.kind === 'Logical' && expr.operator === '??'
    found ||= expr.kind === 'Call' && QUESTIONS.test(expr.callee) && expr.args.some((arg) => arg.kind === 'Lookup' || isAsked(arg))
    found ||= expr.kind === 'Binary' && EQUALITIES.has(expr.operator) && (isAsked(expr.left) || isAsked(expr.right))
  }
  visitStmts(stmts, (stmt) => {
    for (const top of expressionsOf(stmt)) visitExpr(top, visit)
  })
  return found
}

/** Returns the locals that may be absent, with undefined or null; undefined where one may be either. */
function absentLocals(ir: FunctionIr): ReadonlyMap<string, Absent> | undefined {
  const found = new Map<string, Set<Absent>>()
  const note = (local: string, absent: Absent): boolean => {
    const kinds = found.get(local) ?? new Set()
    const before = kinds.size
    found.set(local, kinds.add(absent))
    return kinds.size > before
  }
  for (const local of readUnset(ir)) note(local, undefined)
  const absentsOf = (expr: Expr): readonly Absent[] => {
    if (isAbsentLiteral(expr)) return [expr.value as Absent]
    if (expr.kind === 'Local') return [...(found.get(expr.name) ?? [])]
    if (expr.kind === 'Lookup') return [undefined]
    if (expr.kind === 'Conditional') return [...absentsOf(expr.then), ...absentsOf(expr.else)]
    // a truthy value is present
    if (expr.kind === 'Logical') return [...(expr.operator === '&&' ? absentsOf(expr.left) : []), ...absentsOf(expr.right)]
    return []
  }
  for (let grows = true; grows; ) {
    grows = false
    visitStmts(ir.body, (stmt) => {
      if (stmt.kind !== 'Let' && stmt.kind !== 'Assign') return
      const given = stmt.kind === 'Let' ? stmt.init : stmt.value
      for (const absent of given === undefined ? [] : absentsOf(given)) grows = note(stmt.local, absent) || grows
    })
  }
  const kinds = new Map<string, Absent>()
  for (const [local, absents] of found) {
    if (absents.size > 1) return undefined
    for (const absent of absents) kinds.set(local, absent)
  }
  return kinds
}

class Presence {
  isLegal = true
  readonly #absent: ReadonlyMap<string, Absent>
  readonly #tables: FunctionIr['tables']
  readonly #parameters: FunctionIr['parameters']

  constructor(absent: ReadonlyMap<string, Absent>, { tables, parameters }: Pick<FunctionIr, 'tables' | 'parameters'>) {
    this.#absent = absent
    this.#tables = tables
    this.#parameters = parameters
  }

  /** Checks a value that is passed on: where it may be absent, undefined may be stored as NaN, but neither null nor a returned value. */
  store(expr: Expr, isReturned: boolean): void {
    if (!MAY_BE_ABSENT.has(expr.kind) || isTrue(this.isThere(expr))) return
    if (isReturned || this.#absentOf(expr) === null) this.isLegal = false
  }

  /** Returns an expression for whether a value is present. */
  isThere(expr: Expr): Expr {
    const { span } = expr
    const both = (operator: '&&' | '||', left: Expr, right: Expr): Expr => ({ kind: 'Logical', operator, left, right, span })
    if (isAbsentLiteral(expr)) return literal(false, span)
    switch (expr.kind) {
      case 'Local':
        return this.#absent.has(expr.name) ? { kind: 'Local', name: thereOf(expr.name), span } : literal(true, span)
      case 'Lookup': {
        if (!this.#isOfNumbers(expr.table)) this.isLegal = false
        this.#again(expr.index)
        const index = this.#key(expr.index)
        const compared = (operator: '>=' | '<' | '===', right: Expr): Expr => ({ kind: 'Binary', operator, left: index, right, span })
        const isInside = both('&&', compared('>=', literal(0, span)), compared('<', { kind: 'LookupLength', table: expr.table, span }))
        return both('&&', isInside, compared('===', { kind: 'Call', callee: 'Math.floor', args: [index], span }))
      }
      case 'Conditional': {
        const [then, other] = [this.isThere(expr.then), this.isThere(expr.else)]
        if (isTrue(then) && isTrue(other)) return then
        return { ...expr, test: this.#again(expr.test), then, else: other }
      }
      case 'Logical': {
        const [left, right] = [this.isThere(expr.left), this.isThere(expr.right)]
        if (expr.operator === '??') return isTrue(left) || isTrue(right) ? literal(true, span) : both('||', left, right)
        // the side depends on the truth of the first operand; a truthy value is present
        if (!isTrue(right) || (expr.operator === '&&' && !isTrue(left))) this.isLegal = false
        return literal(true, span)
      }
      case 'Parameter':
        // the values of parameters belong to the body that is compiled
        if (typeof this.#parameters.find(({ name }) => name === expr.name)?.value !== 'number') this.isLegal = false
        return literal(true, span)
      case 'Field':
      case 'Find':
      case 'Input':
      case 'MethodCall':
        this.isLegal = false
        return literal(true, span)
      default:
        return literal(true, span)
    }
  }

  /** Rewrites the value of a local; a number that may be absent is held as one. */
  held(expr: Expr): Expr {
    const value = this.value(expr)
    return value.kind === 'Lookup' && this.#isOfNumbers(value.table)
      ? { kind: 'Unary', operator: '+', operand: value, span: value.span }
      : value
  }

  #isOfNumbers(name: string): boolean {
    const table = this.#tables.find((one) => one.name === name)?.value
    return table !== undefined && (ArrayBuffer.isView(table) || Array.from(table).every((value) => typeof value === 'number'))
  }

  /** Rewrites an expression so that absent values are numbers, as ToNumber converts them. */
  value(expr: Expr): Expr {
    if (isAbsentLiteral(expr)) return numberOf(expr.value as Absent, expr.span)
    if (expr.kind === 'Read' || expr.kind === 'Has') return { ...expr, subscripts: expr.subscripts.map((one) => this.#key(one)) }
    if (expr.kind === 'Lookup') return { ...expr, index: this.#key(expr.index) }
    if (expr.kind === 'Logical' && expr.operator === '??') {
      const there = this.isThere(expr.left)
      if (isTrue(there)) return this.value(expr.left)
      const left = this.value(expr.left)
      // a value that is present is a number
      const then: Expr = left.kind === 'Lookup' ? { kind: 'Unary', operator: '+', operand: left, span: left.span } : left
      return { kind: 'Conditional', test: there, then, else: this.value(expr.right), span: expr.span }
    }
    if (expr.kind === 'Binary' && EQUALITIES.has(expr.operator)) return this.#equality(expr)
    if (expr.kind === 'Unary' && expr.operator === 'typeof') this.isLegal = false
    const [asked] = expr.kind === 'Call' && QUESTIONS.test(expr.callee) ? expr.args : []
    if (asked !== undefined && MAY_BE_ABSENT.has(asked.kind)) {
      const there = this.isThere(asked)
      const call = withOperands(expr, (operand) => this.held(operand))
      return isTrue(there) ? call : { kind: 'Logical', operator: '&&', left: there, right: call, span: expr.span }
    }
    if (expr.kind === 'Call' && TELLS.test(expr.callee)) {
      for (const arg of expr.args) if (MAY_BE_ABSENT.has(arg.kind) && !isTrue(this.isThere(arg))) this.isLegal = false
    }
    return withOperands(expr, (operand) => this.value(operand))
  }

  /** Rewrites a subscript or an index. Arithmetic holds null as 0, but no element is at null. */
  #key(expr: Expr): Expr {
    const { span } = expr
    if (expr.kind === 'Literal' && expr.value === undefined) return expr
    if (expr.kind === 'Conditional') {
      // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
      return { ...expr, test: this.value(expr.test), then: this.#key(expr.then), else: this.#key(expr.else) }
    }
    if (!this.#mayBeNull(expr)) return this.value(expr)
    // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
    return { kind: 'Conditional', test: this.isThere(expr), then: this.value(expr), else: literal(Number.NaN, span), span }
  }

  #mayBeNull(expr: Expr): boolean {
    if (expr.kind === 'Literal') return expr.value === null
    if (expr.kind === 'Local') return this.#absent.get(expr.name) === null
    if (expr.kind !== 'Logical') return false
    return (expr.operator !== '??' && this.#mayBeNull(expr.left)) || this.#mayBeNull(expr.right)
  }

  #equality(expr: Extract<Expr, { kind: 'Binary' }>): Expr {
    const { span, operator } = expr
    const isEqual = operator === '===' || operator === '=='
    const [left, right] = isAbsentLiteral(expr.left) ? [expr.right, expr.left] : [expr.left, expr.right]
    const there = this.isThere(left)
    if (isAbsentLiteral(right)) {
      // an element is always there, but its key may lie outside of the array, which is an error
      if (isTrue(there) && someExpr(left, ({ kind }) => ACTS.has(kind)))
        return { ...expr, left: this.value(left), right: literal(undefined, span) }
      if (STRICT.has(operator) && !isTrue(there) && this.#absentOf(left) !== right.value) return literal(!isEqual, span)
      return isEqual ? { kind: 'Unary', operator: '!', operand: there, span } : there
    }
    const other = this.isThere(right)
    if (!isTrue(there) && !isTrue(other)) return this.#bothMayBeAbsent(expr, there, other)
    const same = withOperands(expr, (operand) => this.value(presentOf(operand)))
    const asked = isTrue(there) ? other : there
    if (isTrue(asked)) return same
    if (isEqual) return { kind: 'Logical', operator: '&&', left: asked, right: same, span }
    return { kind: 'Logical', operator: '||', left: { kind: 'Unary', operator: '!', operand: asked, span }, right: same, span }
  }

  /** Rewrites an equality of which both sides may be absent: they are equal as numbers, or as what is absent of both. */
  #bothMayBeAbsent(expr: Extract<Expr, { kind: 'Binary' }>, left: Expr, right: Expr): Expr {
    const { span, operator } = expr
    const areAlike = this.#absentOf(expr.left) === this.#absentOf(expr.right)
    if (!areAlike && !STRICT.has(operator)) this.isLegal = false
    const not = (operand: Expr): Expr => ({ kind: 'Unary', operator: '!', operand, span })
    const joined = (how: '&&' | '||', a: Expr, b: Expr): Expr => ({ kind: 'Logical', operator: how, left: a, right: b, span })
    const same = withOperands({ ...expr, operator: '===' }, (operand) => this.value(presentOf(operand)))
    const asNumbers = joined('&&', joined('&&', left, right), same)
    const equal = areAlike ? joined('||', asNumbers, joined('&&', not(left), not(right))) : asNumbers
    return operator.startsWith('!') ? not(equal) : equal
  }

  /** Returns the absent value of an expression that may be absent. */
  #absentOf(expr: Expr): Absent {
    if (isAbsentLiteral(expr)) return expr.value as Absent
    if (expr.kind === 'Local') return this.#absent.get(expr.name)
    if (expr.kind === 'Lookup') return undefined
    if (expr.kind === 'Conditional') {
      // A branch that is there for certain has no absent value; two that may be absent need one that is alike.
      const sides = [expr.then, expr.else].filter((side) => !isTrue(this.isThere(side))).map((side) => this.#absentOf(side))
      if (new Set(sides).size === 1) return sides[0]
    }
    this.isLegal = false
    return undefined
  }

  /** Rewrites an expression that is evaluated twice; not legal for draws. */
  #again(expr: Expr): Expr {
    if (someExpr(expr, ({ kind }) => kind === 'Draw')) this.isLegal = false
    return this.value(expr)
  }
}

/** Returns what a value is where it is present. */
function presentOf(expr: Expr): Expr {
  if (expr.kind !== 'Conditional') return expr
  return isAbsentLiteral(expr.else) ? expr.then : isAbsentLiteral(expr.then) ? expr.else : expr
}

/** Kinds of expressions that throw, or change what is drawn next. */
const ACTS: ReadonlySet<Expr['kind']> = new Set(['Read', 'Has', 'Draw'])
/** Kinds of expressions that may be undefined or null, and whose presence `isThere` can express. */
const MAY_BE_ABSENT: ReadonlySet<Expr['kind']> = new Set(['Local', 'Lookup', 'Conditional', 'Logical', 'Literal'])

function isTrue(expr: Expr): boolean {
  return expr.kind === 'Literal' && expr.value === true
}
