/**
 * Facts about row functions: where they can run, and which columns and keys they read.
 */

import type { Refusal, Span } from '../span.ts'
import { childrenOf, type Expr, expressionsOf, type FunctionIr, type UserFunction, visitExpr, visitStmts } from './functionIr.ts'

type RowFunction = Omit<UserFunction, 'original'>

/** The IR of a function that a row kernel can run; undefined where it was refused, or uses arrays, accumulators or generators. */
export function rowIrOf(f: RowFunction): FunctionIr | undefined {
  return f.ir !== undefined && f.ir.uses.length === 0 ? f.ir : undefined
}

/** Whether the function can only run on the caller's thread, as the closure it is. */
export function needsCaller(f: RowFunction): boolean {
  return rowIrOf(f) === undefined && f.portable === undefined
}

/** The way a row function runs: compiled, from its IR; as a copy of the user's own on workers; or as it stands, on the caller's thread. */
export type FunctionRun = 'compiled' | 'workers' | 'caller'

export function runOf(f: RowFunction): FunctionRun {
  if (rowIrOf(f) !== undefined) return 'compiled'
  return f.portable === undefined ? 'caller' : 'workers'
}

/** A function that is not compiled, for events, warnings and errors. */
export interface Fallback {
  readonly text: string
  readonly span: Span
  readonly runs: Exclude<FunctionRun, 'compiled'>
  readonly reason: Refusal
}

/** The fallback of a function; undefined where it is compiled. */
export function fallbackOf(f: RowFunction): Fallback | undefined {
  const runs = runOf(f)
  if (runs === 'compiled') return undefined
  return { text: f.text, span: f.span, runs, reason: f.refusals[0] ?? f.unportable ?? handles(f) }
}

/** The refusal of a row function that uses an array or accumulator, which only loop bodies can. */
function handles({ ir, span }: RowFunction): Refusal {
  const name = ir?.uses[0]?.name ?? 'something'
  return {
    code: 'handle-in-row-function',
    message: `It uses ${name}, which has a meaning in the bodies of loops.`,
    cure: 'Write a loop with session.loop(), or join the array.',
    span,
  }
}

/** Writes where a fallback runs, as the predicate of a sentence about it. */
export function runText(runs: Fallback['runs']): string {
  return runs === 'workers' ? 'runs as JavaScript in the workers' : "runs as it stands on the caller's thread"
}

/** The argument that the function returns as it is, and does nothing else; undefined for any other function. */
export function argumentReturned({ ir }: RowFunction): number | undefined {
  const [only, ...others] = ir?.body ?? []
  return others.length === 0 && only?.kind === 'Return' && only.value?.kind === 'Input' ? only.value.argument : undefined
}

/** Whether the function may look at the key; true for a refused one. */
export function readsKey(f: RowFunction): boolean {
  const ir = rowIrOf(f)
  if (ir === undefined || ir.keyRank > 0) return true
  let found = false
  const search = (expr: Expr): void => {
    if (expr.kind === 'Key') found = true
    else childrenOf(expr).forEach(search)
  }
  visitStmts(ir.body, (stmt) => expressionsOf(stmt).forEach(search))
  return found
}

/** The columns of one argument that a function reads; 'all' when it takes the element as a whole, or was refused and may. */
export function columnsRead(f: Pick<UserFunction, 'ir' | 'fields'>, argument = 0): ReadonlySet<string> | 'all' {
  if (f.ir === undefined) return f.fields === undefined || argument > 0 ? 'all' : new Set(f.fields)
  const columns = new Set<string>()
  let inputs = 0
  let fields = 0
  visitStmts(f.ir.body, (stmt) => {
    for (const top of expressionsOf(stmt)) {
      visitExpr(top, (expr) => {
        if (expr.kind === 'Input' && expr.argument === argument) inputs++
        if (expr.kind !== 'Field' || expr.of.kind !== 'Input' || expr.of.argument !== argument) return
        fields++
        columns.add(expr.name)
      })
    }
  })
  return inputs === fields ? columns : 'all'
}
