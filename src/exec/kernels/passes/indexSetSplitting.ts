/**
 * Index-set splitting.
 *
 * Loops whose body asks whether its index is at a border: the turns between the borders run apart from the others, as a
 * body without those questions, whose subscripts are inside.
 *
 *     for (j = from; j < to; j++) if (i > 0 && j > 0 && j < n - 1) b[i][j] = a[i][j - 1] + a[i][j + 1]
 *
 *     becomes   low = i > 0 ? max(from, 1) : to;  high = min(to, n - 1)
 *               the loop from `from` to `low`;  b[i][j] = … from `low` to `high`;  the loop from `high` to `to`
 *
 * Legal whatever the questions are: they compare what does not change in the loop, without a possible failure, and turns
 * stay in their order. It is done where questions have one answer in most turns: for three of four values of the index, or
 * of the key or local that does not change in the loop, at the least.
 */
import { type BinaryOperator, type Expr, expressionsOf, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { exprId } from '../../../core/ir/irFacts.ts'
import { rewriteExpr, UNCHANGED } from '../../../core/ir/irRewrite.ts'
import { type Code, codeId, I, OP } from '../../kir/instructions.ts'
import { HIGHEST, LOWEST, type WasmType } from '../expressions/types.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import { isSteady, type LoopIndex, offsetFrom, type Turning } from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'

/** Whole numbers from `low` to `high`. */
type Range = Extract<WasmType, { kind: 'i32' }>

/** Where a question has the answer that it has between the borders: from `from` on, and before `to`. */
interface Inside {
  readonly answer: boolean
  readonly from?: Limit
  readonly to?: Limit
  /** Of the range, at most so many values have the other answer. */
  readonly others: number
}

/** What is compared with, plus a number. */
interface Limit {
  readonly of: Range
  readonly plus: number
}

/** A question, and where it has its answer. */
interface Question {
  readonly answer: boolean
  readonly from?: Code
  readonly to?: Code
  /** For questions without the index: whether it has the answer now. */
  readonly holds?: Code
}

export interface Borders {
  /** The body between them. */
  readonly body: readonly Stmt[]
  /** The index there. */
  readonly seen: Range
  /** Keys and locals there, whose ranges are known better. */
  readonly keys: ReadonlyMap<number, Range>
  readonly locals: ReadonlyMap<string, Range>
  readonly from: readonly Code[]
  readonly to: readonly Code[]
  /** Conditions without which no turn lies between them. */
  readonly holds: readonly Code[]
}

/** In shorter loops there is nothing between the borders. */
const SHORTEST = 8
/** At most one value in so many is at a border. */
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

/** The borders that a loop's body asks for; undefined when there are none. */
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

/** Whether a turn may end the loop. */
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
    const question = this.#asked(expr, expr.left, expr.operator, expr.right) ?? this.#asked(expr, expr.right, mirrored, expr.left)
    if (question !== undefined) this.questions.set(exprId(expr), question)
  }

  #asked(expr: Expr, side: Expr, operator: BinaryOperator, other: Expr): Question | undefined {
    if (!isSteady(other, this.#turning)) return undefined
    const distance = offsetFrom(side, this.#index)
    return distance === undefined ? this.#ofSteady(expr, side, operator, other) : this.#ofIndex(distance, operator, other)
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

  /** Of a key, or a local, that does not change in the loop. */
  #ofSteady(expr: Expr, side: Expr, operator: BinaryOperator, other: Expr): Question | undefined {
    if (!isSteady(side, this.#turning)) return undefined
    const variable = side.kind === 'Binary' ? (side.left.kind === 'Literal' ? side.right : side.left) : side
    if (variable.kind !== 'Key' && variable.kind !== 'Local') return undefined
    const { type } = this.#w.expr(variable)
    if (type.kind !== 'i32') return undefined
    const is = (e: Expr): boolean => e.kind === variable.kind && exprId(e) === exprId(variable)
    const distance = offsetFrom(side, { slot: 0, seen: type, held: type, is })
    if (distance === undefined || type.high - type.low < FEW) return undefined
    const inside = insideOf(type, operator, this.#w.expr(other).type, distance)
    if (inside === undefined) return undefined
    if (variable.kind === 'Key') this.keys.set(variable.axis, narrowed(this.keys.get(variable.axis) ?? type, inside))
    else this.locals.set(variable.name, narrowed(this.locals.get(variable.name) ?? type, inside))
    const { answer, others } = inside
    const test = this.#w.condition(expr)
    return others === 0 ? { answer } : { answer, holds: answer ? test : [test, OP.i32Eqz] }
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

/** Where `x + distance operator bound` has one answer for most x of the range; undefined when it has not. */
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

/** The statements with their questions answered. */
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

/** The expression, whose operands have their answers, with its own. */
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

/** The same truth: `x && true` is as true as x. */
function asTest(expr: Expr): Expr {
  if (expr.kind !== 'Logical' || expr.operator === '??' || !isTruth(expr.right)) return expr
  return expr.right.value === (expr.operator === '&&') ? asTest(expr.left) : expr
}
