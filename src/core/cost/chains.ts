/**
 * The latency of loop-carried dependence chains: an iteration of `sum += x` waits for an addition, one of `a[i] = a[i - 1] + x` for an
 * addition and a store-to-load forward. Whatever is on no chain overlaps from iteration to iteration.
 */
import { childrenOf, type Expr, expressionsOf, type Stmt, visitExpr } from '../ir/functionIr.ts'
import { exprId, someExpr } from '../ir/irFacts.ts'
import { costOf } from './operations.ts'

/** The latency of store-to-load forwarding. */
const FORWARD_NS = 0.5

type Read = Extract<Expr, { kind: 'Read' }>
type Store = Extract<Stmt, { kind: 'Write' | 'Add' }>

/** The latency of integer operations, as a fraction of that of floats. */
const INTEGER_SHARE = 0.4

/** The index of a loop, and the locals that vary with it. */
export interface Turning {
  readonly isIndex: (expr: Expr) => boolean
  /** Locals whose values may differ from iteration to iteration. */
  readonly changed: ReadonlySet<string>
}

export function turningOf(stmts: readonly Stmt[], isIndex: Turning['isIndex']): Turning {
  const changed = new Set<string>()
  const flat = flattened(stmts)
  // a local may follow from one that is assigned further down
  for (let size = -1; size !== changed.size; ) {
    size = changed.size
    for (const stmt of flat) {
      if (stmt.kind === 'Assign') changed.add(stmt.local)
      if (stmt.kind === 'Let' && stmt.init !== undefined && moves(stmt.init, { isIndex, changed })) changed.add(stmt.local)
    }
  }
  return { isIndex, changed }
}

/** Whether an expression may vary from iteration to iteration, by the index or by locals that follow from it. */
export function moves(expr: Expr, { isIndex, changed }: Turning): boolean {
  return someExpr(expr, (e) => isIndex(e) || (e.kind === 'Local' && changed.has(e.name)))
}

/** The nanoseconds from iteration to iteration on the longest carried chain; 0 where there is none. Inner loops are left out. */
export function chainNs(stmts: readonly Stmt[], turning: Turning, isInteger: (array: string) => boolean): number {
  const flat = flattened(stmts)
  const declared = new Set(flat.flatMap((stmt) => (stmt.kind === 'Let' ? [stmt.local] : [])))
  const carried = new Set(flat.flatMap((stmt) => (stmt.kind === 'Assign' && !declared.has(stmt.local) ? [stmt.local] : [])))
  const stores = flat.filter((stmt) => stmt.kind === 'Write')
  /** The nanoseconds from the iteration's beginning to a local's value, for locals that wait for the iteration before. */
  const since = new Map<string, number>([...carried].map((local) => [local, 0]))
  const latency = (expr: Expr): number | undefined => {
    if (expr.kind === 'Local') return since.get(expr.name)
    if (expr.kind === 'Read' && stores.some((store) => isCarried(expr, store, turning))) return 0
    let longest: number | undefined
    for (const child of childrenOf(expr)) {
      const one = latency(child)
      if (one !== undefined) longest = Math.max(longest ?? 0, one)
    }
    return longest === undefined ? undefined : longest + costOf(expr).latencyNs
  }
  let chain = 0
  for (const stmt of flat) {
    if (stmt.kind === 'Let' || stmt.kind === 'Assign') {
      const value = stmt.kind === 'Let' ? stmt.init : stmt.value
      const ns = value === undefined ? undefined : latency(value)
      if (ns === undefined) continue
      since.set(stmt.local, Math.max(since.get(stmt.local) ?? 0, ns))
      if (carried.has(stmt.local)) chain = Math.max(chain, ns)
    } else if (stmt.kind === 'Write') {
      const ns = latency(stmt.value)
      if (ns !== undefined) chain = Math.max(chain, FORWARD_NS + ns * (isInteger(stmt.array) ? INTEGER_SHARE : 1))
    }
  }
  return chain
}

/** Whether the read may load what the store wrote in the iteration before. */
function isCarried(read: Read, store: Store, turning: Turning): boolean {
  if (read.array !== store.array) return false
  let isSame = true
  let turns = false
  for (const [axis, subscript] of read.subscripts.entries()) {
    const written = store.subscripts[axis]
    if (written === undefined) return false
    turns ||= moves(subscript, turning)
    if (exprId(subscript) === exprId(written)) continue
    isSame = false
    // different subscripts of which one is the same in all iterations: iterations rarely meet at one element
    if (!moves(subscript, turning) || !moves(written, turning)) return false
  }
  return !isSame || !turns
}

/** The statements with those in branches and labelled blocks, in order; inner loops are left out. */
export function flattened(stmts: readonly Stmt[]): Stmt[] {
  return stmts.flatMap((stmt): Stmt[] => {
    if (stmt.kind === 'If') return [stmt, ...flattened(stmt.then), ...flattened(stmt.else)]
    return stmt.kind === 'Labeled' ? flattened(stmt.body) : stmt.kind === 'For' ? [] : [stmt]
  })
}

/** The accesses of an iteration, those of inner loops left out. */
export function accessesIn(
  stmts: readonly Stmt[],
): { readonly array: string; readonly subscripts: readonly Expr[]; readonly writes: boolean }[] {
  return flattened(stmts).flatMap((stmt) => {
    const own = stmt.kind === 'Write' || stmt.kind === 'Add' ? [{ array: stmt.array, subscripts: stmt.subscripts, writes: true }] : []
    const reads: { readonly array: string; readonly subscripts: readonly Expr[]; readonly writes: boolean }[] = []
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (e) => {
        if (e.kind === 'Read') reads.push({ array: e.array, subscripts: e.subscripts, writes: false })
      })
    }
    return [...own, ...reads]
  })
}
