/**
 * Reassociation and invariant factoring.
 *
 * Regroups linear combinations by their coefficients, in fast and relaxed precision: loop-invariant factors are
 * multiplied out before the loop.
 *
 *     w + rate * (e * h - penalty * w)     becomes     (1 - rate * penalty) * w + (rate * e) * h
 *
 * Three vector operations instead of five. Rounding differs, by no more than the expression's own: a sum is multiplied out
 * only where each of its terms is a product with a loop-invariant factor, which is rounded anyway; beside such
 * products there may be one other term. So the digits that a sum or difference of plain values preserves, as in
 * `c * (x - mean)`, `x + c * (y - x)` and `(sum + y) - sum`, stay preserved.
 */
import { type BinaryOperator, type Callee, type Expr, type Stmt, visitExpr } from '../../../core/ir/functionIr.ts'
import { changedIn, exprId, someExpr } from '../../../core/ir/irFacts.ts'
import { readsIn } from '../loops/wasmLocals.ts'
import { boundsOf, isTruth, type Vector } from '../vectors/wasmLanes.ts'

/** The services of a vectorized loop that regrouping uses. */
interface Lanes {
  expr(expr: Expr): Vector
  /** The value that all lanes and iterations share; undefined where there is none. */
  steady(expr: Expr): Vector | undefined
}

export class Regrouping {
  /** Locals whose value is substituted where they are used. */
  readonly folded: ReadonlyMap<string, Expr>
  /** Whether an expression was regrouped. */
  isUsed = false
  readonly #lanes: Lanes
  /** Results by expression: unrolled iterations have the same expressions. */
  readonly #known = new Map<Expr, Expr | undefined>()

  constructor(lanes: Lanes, body: readonly Stmt[]) {
    this.#lanes = lanes
    this.folded = foldedLocals(body)
  }

  /** Returns an equivalent with fewer vector operations; undefined where there is none. */
  regrouped(expr: Expr): Expr | undefined {
    if (!this.#known.has(expr)) this.#known.set(expr, regrouped(this, expr))
    const other = this.#known.get(expr)
    this.isUsed ||= other !== undefined
    return other
  }

  /** Excludes an expression with its parts: in `c * x - (c * x - x)` the subtraction is there to keep the upper digits of `x`. */
  leave(expr: Expr): void {
    visitExpr(expr, (part) => this.#known.set(part, undefined))
  }

  /** Whether the expression is a number that all lanes and iterations share. */
  isSteady(expr: Expr): boolean {
    const steady = this.#lanes.steady(expr)
    return steady?.kind === 'steady' && steady.value.type.kind !== 'bool'
  }

  /** Whether the expression is certainly computed in floating point, not as an integer. */
  isFraction(expr: Expr): boolean {
    switch (expr.kind) {
      case 'Local':
      case 'Input':
      case 'Field':
      case 'Read': {
        const vector = this.#lanes.expr(expr)
        return !isTruth(vector) && boundsOf(vector) === undefined
      }
      case 'Unary':
        return expr.operator === '-' && this.isFraction(expr.operand)
      case 'Binary':
        return expr.operator === '/' || (isArithmetic(expr) && (this.isFraction(expr.left) || this.isFraction(expr.right)))
      case 'Call':
        return OF_FRACTIONS.has(expr.callee) || (AS_ARGUMENTS.has(expr.callee) && expr.args.some((arg) => this.isFraction(arg)))
      default:
        return false
    }
  }
}

const OF_FRACTIONS: ReadonlySet<Callee> = new Set<Callee>([
  ...(['Math.cos', 'Math.exp', 'Math.fround', 'Math.log', 'Math.pow', 'Math.sin', 'Math.sqrt', 'Math.tanh'] as const),
])
const AS_ARGUMENTS: ReadonlySet<Callee> = new Set<Callee>(['Math.abs', 'Math.max', 'Math.min'])

/** A term `sign * factors[0] * factors[1] * … * atom`: the atom varies, factors are loop-invariant; no atom means 1. */
interface Term {
  readonly sign: 1 | -1
  readonly factors: readonly Expr[]
  readonly atom: Expr | undefined
}

type Binary = Extract<Expr, { kind: 'Binary' }>

function regrouped(of: Regrouping, expr: Expr): Expr | undefined {
  const terms = termsOf(of, expr)
  if (terms.filter((term) => !isProduct(term)).length > 1) return undefined
  if (!terms.every(({ atom }) => atom === undefined || of.isFraction(atom))) return undefined
  const groups = [...groupedBy(terms, ({ atom }) => (atom === undefined ? '' : exprId(atom))).values()]
  if (groups.some((group) => groupedBy(group, factorsId).size < group.length)) {
    of.leave(expr)
    return undefined
  }
  const sum = sumOf(groups, expr)
  return sum !== undefined && operationsOf(of, sum) < operationsOf(of, expr) ? sum : undefined
}

/** Splits an expression into its terms, in the order of the source. */
function termsOf(of: Regrouping, expr: Expr): readonly Term[] {
  if (of.isSteady(expr)) return [{ sign: 1, factors: [expr], atom: undefined }]
  if (expr.kind === 'Local') {
    const value = of.folded.get(expr.name)
    if (value !== undefined) return termsOf(of, value)
  }
  if (expr.kind === 'Unary' && expr.operator === '-') return termsOf(of, expr.operand).map(negated)
  if (expr.kind === 'Binary') {
    const { operator, left, right } = expr
    if (operator === '+') return [...termsOf(of, left), ...termsOf(of, right)]
    if (operator === '-') return [...termsOf(of, left), ...termsOf(of, right).map(negated)]
    if (operator === '*' && of.isSteady(left)) return multiplied(of, left, right)
    if (operator === '*' && of.isSteady(right)) return multiplied(of, right, left)
  }
  return [{ sign: 1, factors: [], atom: expr }]
}

function negated(term: Term): Term {
  return { ...term, sign: term.sign === 1 ? -1 : 1 }
}

function multiplied(of: Regrouping, factor: Expr, other: Expr): readonly Term[] {
  const terms = termsOf(of, other)
  if (terms.length > 1 && !terms.every(isProduct)) return [{ sign: 1, factors: [factor], atom: other }]
  return terms.map((term) => ({ ...term, factors: [factor, ...term.factors] }))
}

/** Whether the term is a product that is rounded. */
function isProduct({ atom, factors }: Term): boolean {
  return atom !== undefined && factors.some(rounds)
}

/** Whether multiplication by the factor may round: not by a power of two. */
function rounds(factor: Expr): boolean {
  if (factor.kind !== 'Literal' || typeof factor.value !== 'number') return true
  return !Number.isInteger(Math.log2(Math.abs(factor.value)))
}

/** Identifies the factors of a term, without powers of two. */
function factorsId({ factors }: Term): string {
  return factors
    .filter(rounds)
    .map((factor) => exprId(factor))
    .sort()
    .join()
}

function groupedBy(terms: readonly Term[], idOf: (term: Term) => string): ReadonlyMap<string, readonly Term[]> {
  const groups = new Map<string, Term[]>()
  for (const term of terms) {
    const group = groups.get(idOf(term))
    if (group === undefined) groups.set(idOf(term), [term])
    else group.push(term)
  }
  return groups
}

/** Sums the products of coefficients and atoms, beginning with a positive term; undefined where there is none. */
function sumOf(groups: readonly (readonly Term[])[], { span }: Expr): Expr | undefined {
  const binary = (operator: BinaryOperator, left: Expr, right: Expr): Expr => ({ kind: 'Binary', operator, left, right, span })
  const one: Expr = { kind: 'Literal', value: 1, span }
  const productOf = ({ factors }: Term): Expr =>
    factors.length === 0 ? one : factors.reduceRight((product, factor) => binary('*', factor, product))
  const summed = groups.flatMap((group) => {
    const [first, ...others] = group
    if (first === undefined) return []
    const coefficient = others.reduce((sum, term) => binary(term.sign === first.sign ? '+' : '-', sum, productOf(term)), productOf(first))
    const { atom, sign } = first
    const isOne = others.length === 0 && first.factors.length === 0
    return [{ sign, value: atom === undefined ? coefficient : isOne ? atom : binary('*', coefficient, atom) }]
  })
  const first = summed.find(({ sign }) => sign === 1)
  if (first === undefined) return undefined
  return summed.reduce((sum, term) => (term === first ? sum : binary(term.sign === 1 ? '+' : '-', sum, term.value)), first.value)
}

/** Counts the additions, subtractions and multiplications in lanes; those inside atoms are the same in any form. */
function operationsOf(of: Regrouping, expr: Expr): number {
  if (of.isSteady(expr)) return 0
  if (expr.kind === 'Local') {
    const value = of.folded.get(expr.name)
    return value === undefined ? 0 : operationsOf(of, value)
  }
  if (expr.kind === 'Unary' && expr.operator === '-') return 1 + operationsOf(of, expr.operand)
  return isArithmetic(expr) ? 1 + operationsOf(of, expr.left) + operationsOf(of, expr.right) : 0
}

function isArithmetic(expr: Expr): expr is Binary {
  return expr.kind === 'Binary' && (expr.operator === '+' || expr.operator === '-' || expr.operator === '*')
}

/**
 * Returns locals of a loop's body that are read once and hold arithmetic, with their values: these can be computed where they are
 * read. A value that reads memory is not moved past statements that write it.
 */
function foldedLocals(body: readonly Stmt[]): ReadonlyMap<string, Expr> {
  const folded = new Map<string, Expr>()
  /** Folded locals whose values read no memory. */
  const movable = new Set<string>()
  const assigned = changedIn(body.filter(({ kind }) => kind !== 'Let'))
  for (const [at, stmt] of body.entries()) {
    if (stmt.kind !== 'Let' || stmt.init === undefined || !isArithmetic(stmt.init)) continue
    const { local, init } = stmt
    const isChanged = someExpr(init, (one) => one.kind === 'Local' && assigned.has(one.name))
    if (isChanged || assigned.has(local) || readsIn(body, local) !== 1) continue
    const use = body.findIndex((other) => readsIn([other], local) > 0)
    const isMovable = !someExpr(init, (one) => !isArithmetic(one) && !isAtHand(one, folded, movable))
    const isPassed = body.slice(at + 1, use).every(({ kind }) => kind === 'Let' || (isMovable && COMPUTES_FIRST.has(kind)))
    if (!isPassed || !COMPUTES_FIRST.has(body[use]?.kind ?? 'If')) continue
    folded.set(local, init)
    if (isMovable) movable.add(local)
  }
  return folded
}

/** Statements that compute a value before they write it. */
const COMPUTES_FIRST: ReadonlySet<Stmt['kind']> = new Set(['Let', 'Assign', 'Write', 'Add'])

/** Whether no write of the body changes the value. */
function isAtHand(expr: Expr, folded: ReadonlyMap<string, Expr>, movable: ReadonlySet<string>): boolean {
  if (expr.kind === 'Local') return !folded.has(expr.name) || movable.has(expr.name)
  return expr.kind === 'Literal' || expr.kind === 'Parameter' || expr.kind === 'Key'
}
