/**
 * What is known at a point of a body: the forms of the locals, and the constraints under which the point is reached.
 *
 * States are values. Where two paths meet, only what both know is kept; where one path has left the body, what the
 * other knows holds from there on, so that `if (i === 0) return` leaves `i >= 1` behind.
 */
import type { Stmt } from '../../core/functionIr.ts'
import { visitStmts } from '../../core/functionIr.ts'
import { type Constraint, type Form, sameForm } from './affine.ts'
import type { Guard } from './guards.ts'

export interface State {
  readonly locals: ReadonlyMap<string, Form>
  readonly constraints: readonly Constraint[]
  /** Whether the point is reached whenever the constraints hold. */
  readonly exact: boolean
}

export const START: State = { locals: new Map(), constraints: [], exact: true }

export function under(state: State, guard: Guard): State {
  return {
    locals: state.locals,
    constraints: guard.constraints.length === 0 ? state.constraints : [...state.constraints, ...guard.constraints],
    exact: state.exact && guard.exact,
  }
}

export function withLocal(state: State, local: string, form: Form | undefined): State {
  const locals = new Map(state.locals)
  if (form === undefined) locals.delete(local)
  else locals.set(local, form)
  return { ...state, locals }
}

export function withoutLocals(state: State, names: ReadonlySet<string>): State {
  if (names.size === 0) return state
  return { ...state, locals: new Map([...state.locals].filter(([name]) => !names.has(name))) }
}

/**
 * The state where the paths of a statement meet again. `before` is the state ahead of the statement, `complete` tells
 * that every path through the statement arrives here. Undefined when no path arrives.
 */
export function joined(before: State, paths: readonly (State | undefined)[], complete: boolean): State | undefined {
  const arriving = paths.filter((path) => path !== undefined)
  const [first, ...others] = arriving
  if (first === undefined) return undefined
  const locals = new Map([...first.locals].filter(([name, form]) => others.every((other) => sameForm(other.locals.get(name), form))))
  if (complete) return { locals, constraints: before.constraints, exact: before.exact }
  if (others.length === 0) return { ...first, locals }
  return { locals, constraints: before.constraints, exact: false }
}

/** Whether control may leave these statements other than by their end. */
export function mayLeave(stmts: readonly Stmt[]): boolean {
  let leaves = false
  visitStmts(stmts, (stmt) => {
    if (stmt.kind === 'Break' || stmt.kind === 'Continue' || stmt.kind === 'Return' || stmt.kind === 'Throw') leaves = true
  })
  return leaves
}

/** The locals that the statements assign; declarations do not count. */
export function assignedIn(stmts: readonly Stmt[]): Set<string> {
  const names = new Set<string>()
  visitStmts(stmts, (stmt) => {
    if (stmt.kind === 'Assign') names.add(stmt.local)
  })
  return names
}
