/**
 * Analyses of a body's locals: which may be read unset, which are changed, and which captured values affect subscripts.
 */
import { type Expr, expressionsOf, type FunctionIr, nestedOf, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { copiesOf, keptLocals } from './wasmCounters.ts'

/** What is known of a body's locals before it is written. */
export interface LocalFacts {
  /** The locals that some path reads before it assigns them. */
  readonly unset: ReadonlySet<string>
  /** The locals that are assigned after their declaration. */
  readonly changed: ReadonlySet<string>
  /** Locals that hold what another local held, by name. */
  readonly copies: ReadonlyMap<string, string>
  /** The locals that arrays keep, by array. */
  readonly keeps: ReadonlyMap<string, readonly string[]>
  /** The captured values that affect subscripts. */
  readonly subscriptParameters: ReadonlySet<string>
  /** By loop, the sums that are 0 where it begins and change nowhere else. */
  readonly zeroSums: ReadonlyMap<Stmt, ReadonlySet<string>>
}

const factsOf = new WeakMap<FunctionIr, LocalFacts>()

/** Returns the facts of a body's locals, which are the same in all rounds in which it is written. */
export function localFacts(ir: FunctionIr): LocalFacts {
  let facts = factsOf.get(ir)
  if (facts === undefined) {
    facts = {
      unset: readUnset(ir),
      changed: assignedIn(ir),
      copies: copiesOf(ir),
      keeps: keptLocals(ir),
      subscriptParameters: subscriptParameters(ir),
      zeroSums: sumsFromZero(ir),
    }
    factsOf.set(ir, facts)
  }
  return facts
}

/** Returns the locals that some path reads before it assigns them (a forward data-flow analysis). */
export function readUnset(ir: FunctionIr): ReadonlySet<string> {
  const found = new Set<string>()
  /** The locals that may be unset; undefined where control never arrives. */
  type State = ReadonlySet<string> | undefined
  const exits: { readonly label: string | undefined; readonly loop: boolean; broken: State; continued: State }[] = []
  const join = (a: State, b: State): State => (a === undefined ? b : b === undefined ? a : new Set([...a, ...b]))
  const read = (expr: Expr, state: State): void =>
    visitExpr(expr, (e) => {
      if (e.kind === 'Local' && state?.has(e.name) === true) found.add(e.name)
    })
  const leave = (label: string | undefined, loopOnly: boolean) =>
    exits.findLast((exit) => (label === undefined ? exit.loop : exit.label === label && (exit.loop || !loopOnly)))
  const all = (stmts: readonly Stmt[], state: State): State => stmts.reduce<State>((s, stmt) => one(stmt, s), state)
  const one = (stmt: Stmt, state: State): State => {
    if (stmt.kind !== 'For') for (const expr of expressionsOf(stmt)) read(expr, state)
    switch (stmt.kind) {
      case 'Let':
        if (stmt.init === undefined) return state === undefined ? state : new Set([...state, stmt.local])
        return without(state, stmt.local)
      case 'Assign':
        return without(state, stmt.local)
      case 'If':
        return join(all(stmt.then, state), all(stmt.else, state))
      case 'Labeled': {
        exits.push({ label: stmt.label, loop: false, broken: undefined, continued: undefined })
        const end = all(stmt.body, state)
        return join(end, exits.pop()?.broken)
      }
      case 'For': {
        let head = all(stmt.init, state)
        for (;;) {
          exits.push({ label: stmt.label, loop: true, broken: undefined, continued: undefined })
          if (stmt.test !== undefined && !stmt.doWhile) read(stmt.test, head)
          const end = all(stmt.body, head)
          const exit = exits.pop()
          const updated = all(stmt.update, join(end, exit?.continued))
          if (stmt.test !== undefined && stmt.doWhile) read(stmt.test, updated)
          const next = join(head, updated)
          if ((next?.size ?? 0) === (head?.size ?? 0)) return join(join(head, updated), exit?.broken)
          head = next
        }
      }
      case 'Break': {
        const exit = leave(stmt.label, false)
        if (exit !== undefined) exit.broken = join(exit.broken, state)
        return undefined
      }
      case 'Continue': {
        const exit = leave(stmt.label, true)
        if (exit !== undefined) exit.continued = join(exit.continued, state)
        return undefined
      }
      case 'Return':
      case 'Throw':
        return undefined
      case 'Write':
      case 'Add':
      case 'Accumulate':
      case 'Evaluate':
        return state
    }
  }
  all(ir.body, new Set())
  return found

  function without(state: State, local: string): State {
    if (state?.has(local) !== true) return state
    return new Set([...state].filter((name) => name !== local))
  }
}

/** Counts the reads of a local in statements. */
export function readsIn(stmts: readonly Stmt[], name: string): number {
  let count = 0
  const visit = (stmt: Stmt): void => {
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (e) => {
        if (e.kind === 'Local' && e.name === name) count++
      })
    }
    nestedOf(stmt).forEach(visit)
  }
  stmts.forEach(visit)
  return count
}

/** Returns the locals that are assigned after their declaration, apart from the indices of counted loops. */
export function assignedIn(ir: FunctionIr): Set<string> {
  const found = new Set<string>()
  const visit = (stmt: Stmt, counted: ReadonlySet<string>): void => {
    if (stmt.kind === 'Assign' && !counted.has(stmt.local)) found.add(stmt.local)
    if (stmt.kind === 'For' && stmt.counted !== undefined && !stmt.doWhile) {
      const own = new Set([...counted, stmt.counted.local])
      for (const inner of stmt.update) visit(inner, own)
      for (const inner of [...stmt.init, ...stmt.body]) visit(inner, counted)
    } else for (const inner of nestedOf(stmt)) visit(inner, counted)
  }
  for (const stmt of ir.body) visit(stmt, new Set())
  return found
}

/**
 * Returns by loop the sums that are 0 where it begins and change nowhere else: declared as 0 in the block in which the loop stands,
 * and read in that block only, so that later reads see what the loop has left.
 */
function sumsFromZero(ir: FunctionIr): ReadonlyMap<Stmt, ReadonlySet<string>> {
  const changes = new Map<string, number>()
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'Let' || stmt.kind === 'Assign') changes.set(stmt.local, (changes.get(stmt.local) ?? 0) + 1)
  })
  const found = new Map<Stmt, ReadonlySet<string>>()
  const visit = (stmts: readonly Stmt[]): void => {
    const zeros = new Set<string>()
    for (const stmt of stmts) {
      if (stmt.kind === 'Let' && stmt.init?.kind === 'Literal' && Object.is(stmt.init.value, 0)) zeros.add(stmt.local)
      if (stmt.kind === 'For') {
        const sums = stmt.body.flatMap((one) => (one.kind === 'Assign' && zeros.has(one.local) ? [one.local] : []))
        const own = sums.filter((name) => changes.get(name) === 2 && readsIn(stmts, name) === readsIn(ir.body, name))
        if (own.length > 0) found.set(stmt, new Set(own))
      }
      visit(nestedOf(stmt))
    }
  }
  visit(ir.body)
  return found
}

const COMPARISONS: ReadonlySet<string> = new Set(['<', '<=', '>', '>=', '==', '!=', '===', '!=='])

/**
 * Returns the captured values that affect subscripts, or decide which iterations are at a border: as integer constants, they can
 * prove subscripts in bounds.
 */
function subscriptParameters(ir: FunctionIr): Set<string> {
  const found = new Set<string>()
  const indices = new Set<string>()
  visitStmts(ir.body, (stmt) => stmt.kind === 'For' && stmt.counted !== undefined && indices.add(stmt.counted.local))
  /** Whether an expression is a key or an index, plus a literal. */
  const isIndex = (expr: Expr): boolean => {
    if (expr.kind === 'Binary')
      return isIndex(expr.left) ? expr.right.kind === 'Literal' : expr.left.kind === 'Literal' && isIndex(expr.right)
    return expr.kind === 'Key' || (expr.kind === 'Local' && indices.has(expr.name))
  }
  const note = (expr: Expr): void =>
    visitExpr(expr, (e) => {
      if (e.kind === 'Parameter') found.add(e.name)
    })
  visitStmts(ir.body, (stmt) => {
    if (stmt.kind === 'For' && stmt.counted !== undefined) [stmt.counted.from, stmt.counted.to].forEach(note)
    if (stmt.kind === 'Write' || stmt.kind === 'Add') stmt.subscripts.forEach(note)
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (e) => {
        if (e.kind === 'Read') e.subscripts.forEach(note)
        if (e.kind === 'Lookup') note(e.index)
        if (e.kind === 'Binary' && COMPARISONS.has(e.operator) && (isIndex(e.left) || isIndex(e.right))) note(e)
      })
    }
  })
  return found
}

/** Whether an iteration may replace its element, by returning a value. */
export function returnsValue(stmts: readonly Stmt[]): boolean {
  let found = false
  visitStmts(stmts, (stmt) => {
    if (stmt.kind === 'Return' && stmt.value !== undefined) found = true
  })
  return found
}
