/**
 * The nominal weight of an iteration, whatever kernel runs it: a fixed time for each operation, that of a slow kernel. Blocks are cut by
 * it, and a cut decides on bits: so it may not depend on what was compiled. `iterationCost.ts` estimates the real time.
 */
import { type Expr, expressionsOf, type FunctionIr, nestedOf, type Primitive, type Stmt, visitExpr } from '../ir/functionIr.ts'
import type { Schedule } from '../loop/schedules.ts'
import { finiteNs, turnsBetween, UNKNOWN_TURNS } from './turns.ts'

const NS_PER_NODE = 0.5
const NS_PER_CALL = 8

/** Nominal nanoseconds of one iteration of the body. */
export function nominalNs(ir: FunctionIr, extentOf: (array: string, axis: number) => number | undefined): number {
  const parameters = new Map(ir.parameters.map((parameter) => [parameter.name, parameter.value]))
  return 2 + blockNs(ir.body, { parameters, extentOf })
}

/** The nominal time of a light iteration; see `blockCounts`. */
const LIGHT_ITERATION_NS = 50

/** The weight of an iteration, as a multiple of a light one of some dozen operations: heavy ones are worth smaller blocks. Only in steps may it be less than 1. */
export function weightIn({ kind }: Schedule, nominal: number): number {
  const weight = nominal / LIGHT_ITERATION_NS
  return kind === 'stepped' ? weight : Math.max(1, weight)
}

interface Known {
  readonly parameters: ReadonlyMap<string, Primitive>
  readonly extentOf: (array: string, axis: number) => number | undefined
}

function blockNs(stmts: readonly Stmt[], known: Known): number {
  return stmts.reduce((sum, stmt) => sum + stmtNs(stmt, known), 0)
}

function stmtNs(stmt: Stmt, known: Known): number {
  const own = expressionsOf(stmt).reduce((sum, expr) => sum + exprNs(expr), 1)
  return stmt.kind === 'For'
    ? own + finiteNs(turns(stmt, known) * blockNs([...stmt.body, ...stmt.update], known))
    : own + blockNs(nestedOf(stmt), known)
}

function exprNs(expr: Expr): number {
  let ns = 0
  visitExpr(expr, (e) => {
    ns += e.kind === 'Call' || e.kind === 'MethodCall' || e.kind === 'Draw' ? NS_PER_CALL : NS_PER_NODE
  })
  return ns
}

function turns(stmt: Extract<Stmt, { kind: 'For' }>, known: Known): number {
  const { counted } = stmt
  if (counted === undefined) return UNKNOWN_TURNS
  const [from, to] = [numberOf(counted.from, known), numberOf(counted.to, known)]
  return from === undefined || to === undefined ? UNKNOWN_TURNS : turnsBetween(from, to, counted.step)
}

function numberOf(expr: Expr, known: Known): number | undefined {
  const value =
    expr.kind === 'Literal'
      ? expr.value
      : expr.kind === 'Parameter'
        ? known.parameters.get(expr.name)
        : expr.kind === 'Extent'
          ? known.extentOf(expr.array, expr.axis)
          : undefined
  return typeof value === 'number' ? value : undefined
}
