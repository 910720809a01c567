/**
 * The state at a point of a body: the forms of the locals, and the constraints under which the point is reached.
 *
 * States are values. Where two paths meet, only what both know is kept; where one path has left the body, what the
 * other knows holds from there on, so that `if (i === 0) return` leaves `i >= 1` behind.
 */
import type { Stmt } from '../../../core/ir/functionIr.ts'
import { visitStmts } from '../../../core/ir/functionIr.ts'
import { type Constraint, type Form, sameForm, type Variable } from './affine.ts'
import type { Guard } from './guards.ts'

/** The running iteration of a counted inner loop: its index, and the number of iterations before it where the step is not 1 or -1. */
export interface Turn {
  readonly index: Variable
  readonly turns?: Variable
  readonly from: Form
  readonly step: number
}

/** A place that may not be reached: a branch on data, an iteration of a loop that may end early. Two doubts differ by identity. */
export interface Doubt {
  /** Number of counted loops around the place. */
  readonly turns: number
}

export interface State {
  readonly locals: ReadonlyMap<string, Form>
  readonly constraints: readonly Constraint[]
  /** The other things that decide on whether the point is reached; none where it is reached whenever the constraints hold. */
  readonly doubts: readonly Doubt[]
  /** The counted loops around the point, outermost first. */
  readonly turns: readonly Turn[]
}

export const START: State = { locals: new Map(), constraints: [], doubts: [], turns: [] }

export function under(state: State, guard: Guard): State {
  return {
    ...state,
    constraints: guard.constraints.length === 0 ? state.constraints : [...state.constraints, ...guard.constraints],
    doubts: guard.exact ? state.doubts : doubted(state),
  }
}

/** Returns the doubts of a state and a new one. */
export function doubted({ doubts, turns }: Pick<State, 'doubts' | 'turns'>): readonly Doubt[] {
  return [...doubts, { turns: turns.length }]
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
 * Returns the state where the paths of a statement meet again; undefined where no path arrives. `before` is the state ahead of the
 * statement, `complete` tells that every path through it arrives here.
 */
export function joined(before: State, paths: readonly (State | undefined)[], complete: boolean): State | undefined {
  const arriving = paths.filter((path) => path !== undefined)
  const [first, ...others] = arriving
  if (first === undefined) return undefined
  const locals = new Map([...first.locals].filter(([name, form]) => others.every((other) => sameForm(other.locals.get(name), form))))
  if (complete) return { ...before, locals }
  if (others.length === 0) return { ...first, locals }
  return { ...before, locals, doubts: doubted(before) }
}

/** Whether control may leave these statements other than by their end. */
export function mayLeave(stmts: readonly Stmt[]): boolean {
  let leaves = false
  visitStmts(stmts, (stmt) => {
    if (stmt.kind === 'Break' || stmt.kind === 'Continue' || stmt.kind === 'Return' || stmt.kind === 'Throw') leaves = true
  })
  return leaves
}

/** Returns the locals that the statements assign; declarations do not count. */
export function assignedIn(stmts: readonly Stmt[]): Set<string> {
  const names = new Set<string>()
  visitStmts(stmts, (stmt) => {
    if (stmt.kind === 'Assign') names.add(stmt.local)
  })
  return names
}
