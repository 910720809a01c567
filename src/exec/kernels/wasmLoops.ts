/**
 * Innermost counted loops of WebAssembly kernels: bounds are checked once before the loop, rows have their address once,
 * and where lanes do not depend on each other several elements are computed at a time.
 *
 *     if (all subscripts stay inside) { vectors while a whole one is left; then one by one, unchecked }
 *     else the loop as it stands, which fails where the source does
 *
 * Lanes are independent when every access to an array that the loop writes is at the index itself: then two iterations
 * never meet in one element, and statements keep their order within an iteration. In exact precision a sum keeps its
 * order and is no vector; in fast precision it has four accumulators of a vector each.
 */

import { type Code, I, OP } from './wasmEncoder.ts'
import { changedIn, hasLoop } from './wasmLocals.ts'
import { type Access, accessesOf, accessOf, isSteady, type LoopIndex } from './wasmLoopAccess.ts'
import { HIGHEST } from './wasmTypes.ts'
import { vectorLoop } from './wasmVectors.ts'
import type { For, KernelWriter } from './wasmWriter.ts'

/** The loop after its index has its first value; undefined when nothing is gained. */
export function fastLoop(w: KernelWriter, stmt: For, index: LoopIndex): Code | undefined {
  const { counted } = stmt
  if (counted === undefined || hasLoop(stmt.body)) return undefined
  const changed = changedIn(stmt.body).add(counted.local)
  if (changedIn(stmt.body).has(counted.local) || !isSteady(counted.to, changed)) return undefined
  const end = w.expr(counted.to)
  if (end.type.kind !== 'i32' || index.held.kind !== 'i32' || index.held.high - index.held.low >= HIGHEST) return undefined
  const limit = w.declare('i32')
  const setup: number[] = [...end.code, ...I.localSet(limit)]
  const checks: Code[] = []
  const accesses = new Map<object, Access>()
  const bases = new Map<string, number>()
  for (const found of accessesOf(stmt.body)) {
    const access = accessOf(w, found, { index, local: counted.local, changed, limit, step: counted.step, setup, checks, bases })
    if (access !== undefined) accesses.set(found.node, access)
  }
  if (accesses.size === 0) return undefined
  const outer = w.known
  w.known = new Map([...outer, ...[...accesses].map(([node, { known }]) => [node, known] as const)])
  const vectors = vectorLoop(w, stmt, { index, limit, accesses, changed })
  const test = [...I.localGet(index.slot), ...I.localGet(limit), counted.step > 0 ? OP.i32LtS : OP.i32GtS]
  const written = checks.length === 0 ? undefined : w.within({ kind: 'other' }, () => w.plainLoop(stmt, index.seen, test))
  const unchecked = written ?? w.plainLoop(stmt, index.seen, test)
  w.known = outer
  if (checks.length === 0) return [...setup, ...vectors, ...unchecked]
  const unique = [...new Map(checks.map((check) => [check.join(), check])).values()]
  const inside = [...unique.flat(), ...unique.slice(1).map(() => OP.i32And)]
  const checked = w.within({ kind: 'other' }, () => w.plainLoop(stmt, index.seen))
  return [...setup, ...inside, ...I.if(), ...vectors, ...unchecked, OP.else, ...checked, OP.end]
}
