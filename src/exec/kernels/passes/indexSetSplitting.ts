/**
 * Index-set splitting.
 *
 * A loop whose body compares its index with borders is split: the iterations between the borders run a body without
 * the comparisons, whose subscripts are in bounds.
 *
 *     for (j = from; j < to; j++) if (i > 0 && j > 0 && j < n - 1) b[i][j] = a[i][j - 1] + a[i][j + 1]
 *
 *     becomes   low = i > 0 ? max(from, 1) : to;  high = min(to, n - 1)
 *               the loop from `from` to `low`;  b[i][j] = … from `low` to `high`;  the loop from `high` to `to`
 *
 * Legal for all comparisons of the index with values that the loop does not change and that cannot fail, since iterations
 * keep their order. It is done where comparisons have one outcome in most iterations: for at least three of four values of the index, or
 * of a key or local that does not change in the loop.
 */
import { type BinaryOperator, type Expr, expressionsOf, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { exprId } from '../../../core/ir/irFacts.ts'
import { rewriteExpr, UNCHANGED } from '../../../core/ir/irRewrite.ts'
import { type Code, codeId, I, OP } from '../../kir/instructions.ts'
import { HIGHEST, LOWEST, type WasmType } from '../expressions/types.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import { isSteady, type LoopIndex, offsetFrom, type Turning } from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'

/** The integers from `low` to `high`. */
type Range = Extract<WasmType, { kind: 'i32' }>

/** The outcome that a comparison has between the borders, and where it has it: from `from` on, and before `to`. */
interface Inside {
  readonly answer: boolean
  readonly from?: Limit
  readonly to?: Limit
  /** The most values of the range for which it has the other outcome. */
  readonly others: number
}

/** A bound: the value compared with, plus a number. */
interface Limit {
  readonly of: Range
  readonly plus: number
}

/** A comparison in the code, with its outcome between the borders and the borders themselves. */
interface Question {
  readonly answer: boolean
  readonly from?: Code
  readonly to?: Code
  /** For comparisons without the index: whether it has the outcome in this run of the loop. */
  readonly holds?: Code
}

export interface Borders {
  /** The body between the borders, without the comparisons. */
  readonly body: readonly Stmt[]
  /** The range of the index between the borders. */
  readonly seen: Range
  /** Keys and locals with their narrower ranges between the borders. */
  readonly keys: ReadonlyMap<number, Range>
  readonly locals: ReadonlyMap<string, Range>
  readonly from: readonly Code[]
  readonly to: readonly Code[]
  /** Conditions that must all hold for the range between the borders not to be empty. */
  readonly holds: readonly Code[]
}

/** The shortest range of the index for which a loop is split. */
const SHORTEST = 8
/** A comparison may have the other outcome for one value in so many, at most. */
const FEW = 4

const MIRRORED: Partial<Readonly<Record<BinaryOperator, BinaryOperator>>> = {
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
  '==': '==',
  '!=': '!=',
  '===': '===',
  '!==': '!==',
}

/** Finds the borders with which a loop's body compares; undefined where there are none. */
export function bordersOf(w: KernelWriter, { body, step, index }: InnerLoop, turning: Turning): Borders | undefined {
  const { seen } = index
  if (step !== 1 || seen.kind !== 'i32' || seen.high - seen.low < SHORTEST || leaves(body)) return undefined
  const finder = new Finder(w, index, seen, turning)
  visitStmts(body, (stmt) => {
    for (const expr of expressionsOf(stmt)) visitExpr(expr, (e) => finder.note(e))
  })
  const known = [finder.seen, ...finder.keys.values(), ...finder.locals.values()]
  if (finder.questions.size === 0 || known.some(({ low, high }) => high < low)) return undefined
  const questions = [...finder.questions.values()]
  return {
    body: settled(body, finder.questions),
    seen: finder.seen,
    keys: finder.keys,
    locals: finder.locals,
    from: unique(questions.flatMap(({ from }) => (from === undefined ? [] : [from]))),
    to: unique(questions.flatMap(({ to }) => (to === undefined ? [] : [to]))),
    holds: unique(questions.flatMap(({ holds }) => (holds === undefined ? [] : [holds]))),
  }
}

function unique(codes: readonly Code[]): readonly Code[] {
  return [...new Map(codes.map((code) => [codeId(code), code])).values()]
}

/** Whether an iteration may end the loop. */
function leaves(body: readonly Stmt[]): boolean {
  const labels = new Set<string | undefined>()
  let found = false
  visitStmts(body, (stmt) => {
    if (stmt.kind === 'Labeled') labels.add(stmt.label)
    if (stmt.kind === 'Break' && !labels.has(stmt.label)) found = true
  })
  return found
}

class Finder {
  readonly questions: Map<string, Question> = new Map()
  readonly keys: Map<number, Range> = new Map()
  readonly locals: Map<string, Range> = new Map()
  seen: Range
  readonly #w: KernelWriter
  readonly #index: LoopIndex
  readonly #range: Range
  readonly #turning: Turning

  constructor(w: KernelWriter, index: LoopIndex, seen: Range, turning: Turning) {
    this.#w = w
    this.#index = index
    this.#range = seen
    this.seen = seen
    this.#turning = turning
  }

  note(expr: Expr): void {
    if (expr.kind !== 'Binary') return
    const mirrored = MIRRORED[expr.operator]
    if (mirrored === undefined || this.questions.has(exprId(expr))) return
    const question = this.#asked(expr.left, expr.operator, expr.right) ?? this.#asked(expr.right, mirrored, expr.left)
    if (question !== undefined) this.questions.set(exprId(expr), question)
  }

  #asked(side: Expr, operator: BinaryOperator, other: Expr): Question | undefined {
    if (!isSteady(other, this.#turning)) return undefined
    const distance = offsetFrom(side, this.#index)
    return distance === undefined ? this.#ofSteady(side, operator, other) : this.#ofIndex(distance, operator, other)
  }

  #ofIndex(distance: number, operator: BinaryOperator, other: Expr): Question | undefined {
    const { type, code } = this.#w.expr(other)
    const inside = insideOf(this.#range, operator, type, distance)
    if (inside === undefined) return undefined
    this.seen = narrowed(this.seen, inside)
    const { answer, from, to, others } = inside
    if (others === 0) return { answer }
    return {
      answer,
      ...(from === undefined ? {} : { from: moved(code, from.plus) }),
      ...(to === undefined ? {} : { to: moved(code, to.plus) }),
    }
  }

  /** A comparison of a key, or a local, that does not change in the loop. */
  #ofSteady(side: Expr, operator: BinaryOperator, other: Expr): Question | undefined {
    if (!isSteady(side, this.#turning)) return undefined
    const variable = side.kind === 'Binary' ? (side.left.kind === 'Literal' ? side.right : side.left) : side
    if (variable.kind !== 'Key' && variable.kind !== 'Local') return undefined
    const { type, code } = this.#w.expr(variable)
    if (type.kind !== 'i32') return undefined
    const is = (e: Expr): boolean => e.kind === variable.kind && exprId(e) === exprId(variable)
    const distance = offsetFrom(side, { slot: 0, seen: type, held: type, is })
    if (distance === undefined || type.high - type.low < FEW) return undefined
    const bound = this.#w.expr(other)
    const inside = insideOf(type, operator, bound.type, distance)
    if (inside === undefined) return undefined
    if (variable.kind === 'Key') this.keys.set(variable.axis, narrowed(this.keys.get(variable.axis) ?? type, inside))
    else this.locals.set(variable.name, narrowed(this.locals.get(variable.name) ?? type, inside))
    const { answer, from, to, others } = inside
    if (others === 0) return { answer }
    // What differs from a value lies on either side of it, and only one of them is between the borders: that is asked, not the comparison.
    if (from !== undefined) return { answer, holds: [code, moved(bound.code, from.plus), OP.i32GeS] }
    return to === undefined ? undefined : { answer, holds: [code, moved(bound.code, to.plus), OP.i32LtS] }
  }
}

function moved(code: Code, plus: number): Code {
  return plus === 0 ? code : [code, I.i32Const(plus), OP.i32Add]
}

function narrowed({ low, high }: Range, { from, to }: Inside): Range {
  return {
    kind: 'i32',
    low: from === undefined ? low : Math.max(low, from.of.low + from.plus),
    high: to === undefined ? high : Math.min(high, to.of.high + to.plus - 1),
  }
}

/** Where `x + distance operator bound` has one outcome for most x of the range; undefined where it has none for enough. */
function insideOf(range: Range, operator: BinaryOperator, bound: WasmType, distance: number): Inside | undefined {
  if (bound.kind !== 'i32') return undefined
  const at = (plus: number): Limit => ({ of: bound, plus: plus - distance })
  const from = (answer: boolean, limit: Limit): Inside => {
    return { answer, from: limit, others: Math.max(0, limit.of.high + limit.plus - range.low) }
  }
  const to = (answer: boolean, limit: Limit): Inside => {
    return { answer, to: limit, others: Math.max(0, range.high + 1 - limit.of.low - limit.plus) }
  }
  const choices = ((): readonly Inside[] => {
    switch (operator) {
      case '<':
        return [to(true, at(0)), from(false, at(0))]
      case '<=':
        return [to(true, at(1)), from(false, at(1))]
      case '>':
        return [from(true, at(1)), to(false, at(1))]
      case '>=':
        return [from(true, at(0)), to(false, at(0))]
      case '==':
      case '===':
        return [from(false, at(1)), to(false, at(0))]
      case '!=':
      case '!==':
        return [from(true, at(1)), to(true, at(0))]
      default:
        return []
    }
  })()
  const [first, second] = choices
  if (first === undefined || second === undefined) return undefined
  const best = second.others < first.others ? second : first
  const { of, plus } = best.from ?? best.to ?? at(0)
  if (of.low + plus < LOWEST || of.high + plus > HIGHEST) return undefined
  return best.others * FEW <= range.high - range.low + 1 ? best : undefined
}

// ------------------------------------------------------------------ the body between the borders

/** Replaces the comparisons in statements by their outcomes. */
function settled(stmts: readonly Stmt[], questions: ReadonlyMap<string, Question>): readonly Stmt[] {
  const expr = (one: Expr): Expr => rewriteExpr(one, { ...UNCHANGED, expr: (e) => answered(e, questions) })
  const block = (inner: readonly Stmt[]): readonly Stmt[] => inner.flatMap(statement)
  const statement = (stmt: Stmt): readonly Stmt[] => {
    switch (stmt.kind) {
      case 'Let':
        return [stmt.init === undefined ? stmt : { ...stmt, init: expr(stmt.init) }]
      case 'Assign':
      case 'Accumulate':
      case 'Evaluate':
        return [{ ...stmt, value: expr(stmt.value) }]
      case 'Write':
      case 'Add':
        return [{ ...stmt, subscripts: stmt.subscripts.map(expr), value: expr(stmt.value) }]
      case 'If': {
        const test = asTest(expr(stmt.test))
        if (isTruth(test)) return block(test.value ? stmt.then : stmt.else)
        // biome-ignore lint/suspicious/noThenProperty: the IR's own word
        return [{ ...stmt, test, then: block(stmt.then), else: block(stmt.else) }]
      }
      case 'Labeled':
        return [{ ...stmt, body: block(stmt.body) }]
      case 'Return':
        return [stmt.value === undefined ? stmt : { ...stmt, value: expr(stmt.value) }]
      case 'For':
      case 'Break':
      case 'Continue':
      case 'Throw':
        return [stmt]
    }
  }
  return block(stmts)
}

type Truth = Extract<Expr, { kind: 'Literal' }> & { readonly value: boolean }

function isTruth(expr: Expr): expr is Truth {
  return expr.kind === 'Literal' && typeof expr.value === 'boolean'
}

/** Replaces an expression whose operands have been replaced by its outcome, and simplifies it. */
function answered(expr: Expr, questions: ReadonlyMap<string, Question>): Expr {
  switch (expr.kind) {
    case 'Binary': {
      const question = MIRRORED[expr.operator] === undefined ? undefined : questions.get(exprId(expr))
      return question === undefined ? expr : { kind: 'Literal', value: question.answer, span: expr.span }
    }
    case 'Unary':
      return expr.operator === '!' && isTruth(expr.operand) ? { ...expr.operand, value: !expr.operand.value } : expr
    case 'Logical':
      if (expr.operator === '??' || !isTruth(expr.left)) return expr
      return expr.left.value === (expr.operator === '&&') ? expr.right : expr.left
    case 'Conditional': {
      const test = asTest(expr.test)
      return isTruth(test) ? (test.value ? expr.then : expr.else) : { ...expr, test }
    }
    default:
      return expr
  }
}

/** Simplifies an expression of which only the truth matters: `x && true` is as true as x. */
function asTest(expr: Expr): Expr {
  if (expr.kind !== 'Logical' || expr.operator === '??' || !isTruth(expr.right)) return expr
  return expr.right.value === (expr.operator === '&&') ? asTest(expr.left) : expr
}
