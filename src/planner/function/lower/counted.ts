/**
 * Recognises `for (let i = from; i < to; i += step)`: how often it runs is known when it starts.
 *
 * Legal when nothing in the body assigns i, and nothing that `to` reads can change in the loop: literals, parameters,
 * keys, extents, inputs, and locals that the loop does not assign.
 */
import { type CountedLoop, type Expr, type Stmt, visitExpr } from '../../../core/ir/functionIr.ts'
import { changedIn, usesLocal } from '../../../core/ir/irFacts.ts'
import { binary, literal } from './build.ts'

export interface ForParts {
  readonly init: readonly Stmt[]
  readonly test: Expr | undefined
  readonly update: readonly Stmt[]
  readonly body: readonly Stmt[]
}

/** Splits the counter's declaration from the rest of the head, and tells how it counts; undefined where the loop is not counted. */
export function counted({
  init,
  test,
  update,
  body,
}: ForParts): { readonly before: readonly Stmt[]; readonly counter: Stmt; readonly loop: CountedLoop } | undefined {
  const [step] = update
  if (update.length !== 1 || step?.kind !== 'Assign' || test?.kind !== 'Binary') return undefined
  const { local } = step
  const at = init.findIndex((one) => one.kind === 'Let' && one.local === local)
  const counter = init[at]
  if (counter?.kind !== 'Let' || counter.init === undefined) return undefined
  const after = init.slice(at + 1)
  if (after.some((one) => usesLocal([one], local))) return undefined
  const by = stepOf(step.value, local)
  const assigned = changedIn([...body, ...update])
  if (by === undefined || changedIn(body).has(local)) return undefined
  const to = boundOf(test, local, by > 0)
  if (to === undefined || !isFixed(to, assigned)) return undefined
  return { before: [...init.slice(0, at), ...after], counter, loop: { local, from: counter.init, to, step: by } }
}

function stepOf(value: Expr, local: string): number | undefined {
  if (value.kind !== 'Binary' || (value.operator !== '+' && value.operator !== '-')) return undefined
  if (value.left.kind !== 'Local' || value.left.name !== local || value.right.kind !== 'Literal') return undefined
  const by = value.right.value
  if (typeof by !== 'number' || !Number.isInteger(by) || by === 0) return undefined
  return value.operator === '+' ? by : -by
}

/**
 * Returns the exclusive end of `i < n` or `n > i`. For `i <= n` it is one beyond the whole number that n reaches, since users of a counted
 * loop make sure that i is whole. Undefined for other tests.
 */
function boundOf(test: Expr & { kind: 'Binary' }, local: string, up: boolean): Expr | undefined {
  const { operator, left, right, span } = test
  const isLocal = (expr: Expr): boolean => expr.kind === 'Local' && expr.name === local
  const [bound, form] = isLocal(left) ? [right, operator] : isLocal(right) ? [left, MIRRORED[operator]] : [undefined, undefined]
  if (bound === undefined) return undefined
  if (form === (up ? '<' : '>')) return bound
  if (form !== (up ? '<=' : '>=')) return undefined
  const by = up ? 1 : -1
  const reached: Expr = isInteger(bound) ? bound : { kind: 'Call', callee: up ? 'Math.floor' : 'Math.ceil', args: [bound], span }
  return binary('+', reached, literal(by, span), span)
}

const MIRRORED: Readonly<Partial<Record<string, string>>> = { '<': '>', '>': '<', '<=': '>=', '>=': '<=' }

function isInteger(expr: Expr): boolean {
  switch (expr.kind) {
    case 'Literal':
      return Number.isSafeInteger(expr.value) && Math.abs(Number(expr.value)) < 2 ** 50
    case 'Key':
    case 'Extent':
    case 'LookupLength':
      return true
    case 'Binary':
      return (expr.operator === '+' || expr.operator === '-') && isInteger(expr.left) && isInteger(expr.right)
    case 'Unary':
      return expr.operator === '-' && isInteger(expr.operand)
    case 'Local':
    case 'Parameter':
    case 'Input':
    case 'Field':
    case 'Logical':
    case 'Conditional':
    case 'Call':
    case 'MethodCall':
    case 'OfList':
    case 'Matches':
    case 'Read':
    case 'Has':
    case 'Lookup':
    case 'Find':
    case 'Draw':
    case 'ArrayLiteral':
    case 'ObjectLiteral':
      return false
  }
}

function isFixed(expr: Expr, assigned: ReadonlySet<string>): boolean {
  let fixed = true
  visitExpr(expr, (one) => {
    if (one.kind === 'Local' && assigned.has(one.name)) fixed = false
    if (one.kind === 'Read' || one.kind === 'Has' || one.kind === 'Draw') fixed = false
  })
  return fixed
}
