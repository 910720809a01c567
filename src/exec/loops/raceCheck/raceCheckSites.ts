/** The places of a body that touch arrays, numbered, and the arrays that it writes. */

import type { Storage } from '../../../core/arrays/storage.ts'
import { type Expr, expressionsOf, type FunctionIr, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import type { LoopSpec } from '../../../core/loop/loopSpec.ts'
import type { Span } from '../../../core/span.ts'
import type { AccessSite } from '../interpreted/interpreter.ts'
import type { LoopInputs } from '../loopInputs.ts'

export interface Site {
  /** Identity of the array. */
  readonly array: number | undefined
  readonly name: string
  readonly verb: 'reads' | 'writes' | 'adds to'
  readonly span: Span
}

export interface Sites {
  readonly sites: readonly Site[]
  readonly numbers: ReadonlyMap<AccessSite, number>
  /** The number of the site at which the body first uses the element iterated over; undefined if it does not. */
  readonly elementRead: number | undefined
}

export function sitesOf(ir: FunctionIr, spec: LoopSpec): Sites {
  const sites: Site[] = []
  const numbers = new Map<AccessSite, number>()
  let elementRead: number | undefined
  const arrayOf = (name: string): number | undefined => {
    const binding = spec.env[name]
    return binding?.kind === 'array' || binding?.kind === 'buffer' ? binding.array : undefined
  }
  const element = { array: spec.over.array, name: iteratedName(spec) }
  const add = (node: AccessSite, site: Site): void => {
    if (!numbers.has(node)) numbers.set(node, sites.push(site) - 1)
  }
  const expression = (expr: Expr): void => {
    if (expr.kind === 'Input') elementRead ??= sites.push({ ...element, verb: 'reads', span: expr.span }) - 1
    if (expr.kind === 'Read' || expr.kind === 'Has') {
      add(expr, { array: arrayOf(expr.array), name: expr.array, verb: 'reads', span: expr.span })
    }
  }
  visitStmts(ir.body, (stmt) => {
    for (const expr of expressionsOf(stmt)) visitExpr(expr, expression)
    if (stmt.kind === 'Write') add(stmt, { array: arrayOf(stmt.array), name: stmt.array, verb: 'writes', span: stmt.span })
    if (stmt.kind === 'Add') add(stmt, { array: arrayOf(stmt.array), name: stmt.array, verb: 'adds to', span: stmt.span })
    if (stmt.kind === 'Return' && stmt.value !== undefined) add(stmt, { ...element, verb: 'writes', span: stmt.span })
  })
  return { sites, numbers, elementRead }
}

/** The name that stands for the array iterated over where it has none in `env`. */
function iteratedName({ env, over }: LoopSpec): string {
  const named = Object.entries(env).find(([, binding]) => binding.kind === 'array' && binding.array === over.array)
  return named?.[0] ?? over.label
}

/** The arrays that the body writes or adds to, not counting buffers, by identity: what the body says, whatever the analysis does. */
export function writtenBy({ arrays, over }: LoopInputs, ir: FunctionIr): ReadonlyMap<number, Storage> {
  const written = new Map<number, Storage>()
  visitStmts(ir.body, (stmt) => {
    const input = stmt.kind === 'Write' || stmt.kind === 'Add' ? arrays.get(stmt.array) : undefined
    if (input !== undefined) written.set(input.array, input.storage)
    if (stmt.kind === 'Return' && stmt.value !== undefined && over.kind === 'storage') written.set(over.array, over.storage)
  })
  return written
}
