/**
 * Narrowing: in fast precision a sum by lanes of f32 stays an f32 for the lanes of later loops, and so do values computed
 * from it: between two loops it is not widened to a double and narrowed again.
 *
 *     let p = 0
 *     for k: p += w[k] * h[k]         p: a double, and beside it the f32 sum of the lanes
 *     const e = x - p                 e: likewise, each computed from p of its own type
 *     for k: w[k] += e * h[k]         the lanes use the f32
 *
 * The dependence chain from an iteration's first load to its last store is shorter by two conversions and two additions, some
 * seventh of a factorization's time for rows of 16 and 32. All other uses keep the double.
 */
import type { Expr } from '../../../core/ir/functionIr.ts'
import { type Code, I, OP } from '../../kir/instructions.ts'
import { asF64 } from '../expressions/types.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'

const SINGLE = { '+': OP.f32Add, '-': OP.f32Sub, '*': OP.f32Mul, '/': OP.f32Div } as const

/** Computes an expression as an f32 where it contains such a sum; else undefined. */
export function singleOf(w: KernelWriter, expr: Expr): Code | undefined {
  if (w.singles.size === 0) return undefined
  if (expr.kind === 'Local') {
    const slot = w.singles.get(expr.name)
    return slot === undefined ? undefined : I.localGet(slot)
  }
  if (expr.kind !== 'Binary' || !isArithmetic(expr.operator)) return undefined
  const [left, right] = [singleOf(w, expr.left), singleOf(w, expr.right)]
  if (left === undefined && right === undefined) return undefined
  const [a, b] = [left ?? narrowed(w, expr.left), right ?? narrowed(w, expr.right)]
  return a === undefined || b === undefined ? undefined : [a, b, SINGLE[expr.operator]]
}

function isArithmetic(operator: string): operator is keyof typeof SINGLE {
  return operator in SINGLE
}

/** Narrows an operand to f32; undefined where it is not at hand: it is computed a second time, which must cost and change nothing. */
function narrowed(w: KernelWriter, expr: Expr): Code | undefined {
  const isAtHand =
    expr.kind === 'Literal' ||
    expr.kind === 'Local' ||
    expr.kind === 'Parameter' ||
    expr.kind === 'Key' ||
    expr.kind === 'Input' ||
    (expr.kind === 'Field' && expr.of.kind === 'Input')
  if (!isAtHand) return undefined
  const value = w.expr(expr)
  if (value.type.kind === 'bool' || (value.type.kind === 'f64' && value.type.maybe)) return undefined
  return [asF64(value), OP.f32DemoteF64]
}
