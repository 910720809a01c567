/**
 * Full unrolling of neighbourhoods: bodies that read around a place, clamped or guarded at the borders, get their short loops unrolled
 * and their clamps written as conditions, before vectorization:
 *
 *     for (let d = -1; d <= 1; d++) s += a.get(Math.max(0, Math.min(n - 1, i + d)))
 *
 *     becomes   s += a[i - 1 < 0 ? 0 : i - 1 > n - 1 ? n - 1 : i - 1];  s += a[i];  s += a[i + 1 …]
 *
 * Between the borders each condition has one outcome (`indexSetSplitting.ts`), and the reads of neighbours that are left are vectorized.
 * Iterations keep their order, and an index is the same number in whatever way it is selected, so that no bit changes.
 */
import { type Expr, type FunctionIr, nestedOf, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { changedIn, hasLoop, someExpr } from '../../../core/ir/irFacts.ts'
import { rewriteExpr, rewriteStmts, UNCHANGED } from '../../../core/ir/irRewrite.ts'
import type { WasmTarget } from '../loops/wasmCode.ts'
import { assignedIn } from '../loops/wasmLocals.ts'
import { sizeOf } from '../vectors/wasmVectorSums.ts'

type For = Extract<Stmt, { kind: 'For' }>
type If = Extract<Stmt, { kind: 'If' }>

/** The most iterations of a loop that is unrolled. */
const MOST_TURNS = 16
/** The most statements and operations of the whole body after unrolling. */
const LARGEST = 1_000

/** Returns the unrolled body; the body itself where it has no clamps or guards, or a loop would be left. */
export function withStencilsWrittenOut(target: WasmTarget): FunctionIr {
  const { ir } = target
  const out = new WrittenOut(target)
  const body = out.body()
  return body === undefined || !out.hasPlaces ? ir : { ...ir, body }
}

class WrittenOut {
  /** Whether a clamp was found, or, inside a loop, a comparison with the key. */
  hasPlaces = false
  readonly #target: WasmTarget
  readonly #names: ReadonlySet<string>
  readonly #assigned: Set<string>
  /** The values of constant locals that are indices; their uses are replaced by these. */
  readonly #indices = new Map<string, Expr>()
  #copies = 0
  /** The number of loops around the code being unrolled. */
  #loops = 0

  constructor(target: WasmTarget) {
    this.#target = target
    this.#names = changedIn(target.ir.body)
    this.#assigned = assignedIn(target.ir)
  }

  body(): readonly Stmt[] | undefined {
    const { ir } = this.#target
    const body = this.#block(ir.body)
    return body === undefined || hasLoop(body) || sizeOf(body) > LARGEST ? undefined : body
  }

  /** Unrolls statements; undefined where a loop cannot be unrolled. */
  #block(stmts: readonly Stmt[]): readonly Stmt[] | undefined {
    const all: Stmt[] = []
    for (const stmt of stmts) {
      const one = this.#statement(stmt)
      if (one === undefined) return undefined
      all.push(...one)
      const last = all.at(-1)
      if (last?.kind === 'Continue' || last?.kind === 'Break') break // what follows never runs
    }
    return all
  }

  #statement(stmt: Stmt): readonly Stmt[] | undefined {
    switch (stmt.kind) {
      case 'Let': {
        if (stmt.init === undefined) return [stmt]
        const init = this.#expr(stmt.init)
        const index = this.#assigned.has(stmt.local) ? undefined : this.#indexOf(init)
        if (index === undefined) return [{ ...stmt, init }]
        this.#indices.set(stmt.local, index)
        return []
      }
      case 'Assign':
      case 'Accumulate':
      case 'Evaluate':
        return [{ ...stmt, value: this.#expr(stmt.value) }]
      case 'Write':
      case 'Add':
        return [{ ...stmt, subscripts: stmt.subscripts.map((one) => this.#subscript(this.#expr(one))), value: this.#expr(stmt.value) }]
      case 'If':
        return this.#if(stmt)
      case 'For':
        return this.#loop(stmt)
      case 'Labeled': {
        const body = this.#block(stmt.body)
        return body === undefined ? undefined : [{ ...stmt, body }]
      }
      case 'Return':
        return [stmt.value === undefined ? stmt : { ...stmt, value: this.#expr(stmt.value) }]
      case 'Break':
      case 'Continue':
      case 'Throw':
        return [stmt]
    }
  }

  #if(stmt: If): readonly Stmt[] | undefined {
    const test = this.#expr(stmt.test)
    if (test.kind === 'Literal') return this.#block(test.value ? stmt.then : stmt.else)
    this.hasPlaces ||= this.#loops > 0 && someExpr(test, isAboutPlace)
    const [then, other] = [this.#block(stmt.then), this.#block(stmt.else)]
    return then === undefined || other === undefined ? undefined : [{ ...stmt, test, then, else: other }]
  }

  #loop({ counted, doWhile, body, label }: For): readonly Stmt[] | undefined {
    const [from, to] = counted === undefined || doWhile ? [] : [this.#number(counted.from), this.#number(counted.to)]
    if (counted === undefined || from === undefined || to === undefined) return undefined
    const count = Math.max(0, Math.ceil((to - from) / counted.step))
    if (!Number.isSafeInteger(from) || count > MOST_TURNS || count * sizeOf(body) > LARGEST) return undefined
    const declared = declaredIn(body)
    const all: Stmt[] = []
    for (let turn = 0; turn < count; turn++) {
      const copy = `$${this.#copies++}`
      const name = (local: string): string => {
        if (!declared.has(local)) return local
        const own = this.#unused(`${local}${copy}`)
        if (this.#assigned.has(local)) this.#assigned.add(own)
        return own
      }
      const isCounter = (expr: Expr): boolean => expr.kind === 'Local' && expr.name === counted.local
      const value = from + turn * counted.step
      const expr = (one: Expr): Expr => (isCounter(one) ? { kind: 'Literal', value, span: one.span } : one)
      this.#loops++
      const written = this.#block(rewriteStmts(body, { ...UNCHANGED, expr, local: name }))
      this.#loops--
      if (written === undefined) return undefined
      const last = written.at(-1)
      const turned = last?.kind === 'Continue' && (last.label === undefined || last.label === label) ? written.slice(0, -1) : written
      if (turned.some((stmt) => leaves(stmt, label))) return undefined
      all.push(...turned)
    }
    return all
  }

  #unused(wanted: string): string {
    return this.#names.has(wanted) ? this.#unused(`${wanted}$`) : wanted
  }

  #expr(given: Expr): Expr {
    return rewriteExpr(given, {
      ...UNCHANGED,
      expr: (one) => {
        if (one.kind === 'Local') return this.#indices.get(one.name) ?? one
        if (one.kind === 'Read') return { ...one, subscripts: one.subscripts.map((subscript) => this.#subscript(subscript)) }
        return folded(one)
      },
    })
  }

  /** Returns an index that a constant local holds: a key plus or minus known numbers, or a clamp of that; undefined for other values. */
  #indexOf(expr: Expr): Expr | undefined {
    if (!hasKey(expr)) return undefined
    return isPlace(expr) ? expr : this.#clamped(expr)
  }

  #subscript(expr: Expr): Expr {
    return this.#clamped(expr) ?? expr
  }

  /** Writes a clamp as conditions; undefined where the expression is no clamp of an index. */
  #clamped(expr: Expr): Expr | undefined {
    const clamp = this.#clampOf(expr)
    if (clamp === undefined || !isPlace(clamp.of) || !hasKey(clamp.of)) return undefined
    this.hasPlaces = true
    const { of, low, high } = clamp
    const { span } = expr
    const below = (operator: '<' | '>', bound: Expr | undefined, other: Expr): Expr =>
      bound === undefined
        ? other
        : // biome-ignore lint/suspicious/noThenProperty: the IR's own name for the branch
          { kind: 'Conditional', test: { kind: 'Binary', operator, left: of, right: bound, span }, then: bound, else: other, span }
    return below('<', low, below('>', high, of))
  }

  #clampOf(expr: Expr): Clamp | undefined {
    if (expr.kind !== 'Call' || expr.args.length !== 2) return undefined
    const [a, b] = expr.args as [Expr, Expr] // two
    const [bound, of] = this.#number(a) === undefined ? [b, a] : [a, b]
    const side = expr.callee === 'Math.max' ? 'low' : expr.callee === 'Math.min' ? 'high' : undefined
    if (side === undefined || this.#number(bound) === undefined) return undefined
    const inner = this.#clampOf(of)
    if (inner === undefined) return { of, [side]: bound }
    const both: Clamp = { ...inner, [side]: bound }
    const [low, high] = [both.low, both.high].map((one) => (one === undefined ? undefined : this.#number(one)))
    // where the bounds may cross, the result depends on which is applied last
    return inner[side] === undefined && low !== undefined && high !== undefined && low <= high ? both : undefined
  }

  /** Returns the value of an expression that is known before the run; else undefined. */
  #number(expr: Expr): number | undefined {
    const { shape } = this.#target
    switch (expr.kind) {
      case 'Literal':
        return typeof expr.value === 'number' ? expr.value : undefined
      case 'Parameter': {
        const value = shape.parameters.get(expr.name)
        return typeof value === 'number' ? value : undefined
      }
      case 'Extent': {
        const array = shape.arrays.get(expr.array)
        return array?.kind === 'dense' ? array.extents[expr.axis] : undefined
      }
      case 'Binary': {
        if (expr.operator !== '+' && expr.operator !== '-') return undefined
        const [a, b] = [this.#number(expr.left), this.#number(expr.right)]
        return a === undefined || b === undefined ? undefined : expr.operator === '+' ? a + b : a - b
      }
      default:
        return undefined
    }
  }
}

interface Clamp {
  readonly of: Expr
  readonly low?: Expr
  readonly high?: Expr
}

const COMPARES: ReadonlySet<string> = new Set(['<', '<=', '>', '>=', '===', '!==', '==', '!='])

function hasKey(expr: Expr): boolean {
  return someExpr(expr, ({ kind }) => kind === 'Key')
}

/** Whether it compares an index that depends on the key, so that it has one outcome between the borders; elements may have any. */
function isAboutPlace(one: Expr): boolean {
  return one.kind === 'Binary' && COMPARES.has(one.operator) && [one.left, one.right].some((side) => hasKey(side) && isPlace(side))
}

/** Whether an expression is a sum or difference of keys and numbers known before the run. */
function isPlace(expr: Expr): boolean {
  let found = true
  visitExpr(expr, (one) => {
    const isSum = one.kind === 'Binary' && (one.operator === '+' || one.operator === '-')
    found &&= isSum || ['Key', 'Parameter', 'Extent'].includes(one.kind) || (one.kind === 'Literal' && typeof one.value === 'number')
  })
  return found
}

function declaredIn(stmts: readonly Stmt[]): ReadonlySet<string> {
  const names = new Set<string>()
  visitStmts(stmts, (stmt) => {
    if (stmt.kind === 'Let') names.add(stmt.local)
  })
  return names
}

/** Whether the statement leaves the iteration of the loop around it, by a jump without a label or with this one. */
function leaves(stmt: Stmt, label: string | undefined): boolean {
  if (stmt.kind === 'Break' || stmt.kind === 'Continue') return stmt.label === undefined || stmt.label === label
  return nestedOf(stmt).some((inner) => leaves(inner, label))
}

/** Folds operations on literals to their result. */
function folded(expr: Expr): Expr {
  const { span } = expr
  const literal = (value: number | boolean): Expr => ({ kind: 'Literal', value, span })
  switch (expr.kind) {
    case 'Unary':
      if (expr.operand.kind !== 'Literal') return expr
      if (expr.operator === '!') return literal(!expr.operand.value)
      return typeof expr.operand.value === 'number' && expr.operator === '-' ? literal(-expr.operand.value) : expr
    case 'Binary': {
      const { left, right } = expr
      if (left.kind !== 'Literal' || right.kind !== 'Literal') return expr
      if (typeof left.value !== 'number' || typeof right.value !== 'number') return expr
      const value = computed(expr.operator, left.value, right.value)
      return value === undefined ? expr : literal(value)
    }
    case 'Logical':
      if (expr.operator === '??' || expr.left.kind !== 'Literal') return expr
      return Boolean(expr.left.value) === (expr.operator === '&&') ? expr.right : expr.left
    case 'Conditional':
      return expr.test.kind === 'Literal' ? (expr.test.value ? expr.then : expr.else) : expr
    default:
      return expr
  }
}

function computed(operator: string, a: number, b: number): number | boolean | undefined {
  switch (operator) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '<':
      return a < b
    case '<=':
      return a <= b
    case '>':
      return a > b
    case '>=':
      return a >= b
    case '===':
    case '==':
      return a === b
    case '!==':
    case '!=':
      return a !== b
    default:
      return undefined
  }
}
