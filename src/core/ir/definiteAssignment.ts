/**
 * Definite assignment: finds the locals declared without a value that have one wherever they are read.
 *
 *     let sign; if (v < 0) sign = -1; else sign = 1; f(sign)          sign is never undefined
 *
 * A forward data-flow walk over the statements behind the declaration, with the state of the local: where paths join, the meet of their
 * states holds, and a break or continue carries its state to its target. The state at the head of a loop is that before the loop, since
 * a back edge can only bring an assigned state.
 */
import { type Expr, expressionsOf, type Stmt } from './functionIr.ts'
import { someExpr } from './irFacts.ts'

/** The state of the local at a point. `gone`: the point is unreachable. */
type State = 'assigned' | 'not' | 'gone'

/** A loop or block that breaks and continues may target, and the meet of the states that they brought. */
interface Exit {
  readonly label: string | undefined
  readonly isLoop: boolean
  broken: State
  continued: State
}

interface Walk {
  readonly local: string
  readonly exits: Exit[]
  isReadBefore: boolean
}

/** The declarations without a value whose locals are assigned before each read. */
export function surelyAssigned(body: readonly Stmt[]): ReadonlySet<Stmt> {
  const found = new Set<Stmt>()
  const visit = (stmts: readonly Stmt[]): void => {
    for (const [i, stmt] of stmts.entries()) {
      if (stmt.kind === 'Let' && stmt.init === undefined) {
        const walk: Walk = { local: stmt.local, exits: [], isReadBefore: false }
        walked(walk, stmts.slice(i + 1), 'not')
        if (!walk.isReadBefore) found.add(stmt)
      } else if (stmt.kind === 'If') {
        visit(stmt.then)
        visit(stmt.else)
      } else if (stmt.kind === 'For' || stmt.kind === 'Labeled') visit(stmt.body)
    }
  }
  visit(body)
  return found
}

function walked(walk: Walk, stmts: readonly Stmt[], before: State): State {
  return stmts.reduce((state, stmt) => after(walk, stmt, state), before)
}

function after(walk: Walk, stmt: Stmt, before: State): State {
  if (stmt.kind !== 'For') for (const expr of expressionsOf(stmt)) read(walk, expr, before)
  switch (stmt.kind) {
    case 'Let':
      return before
    case 'Assign':
      return stmt.local === walk.local && before !== 'gone' ? 'assigned' : before
    case 'If':
      return met(walked(walk, stmt.then, before), walked(walk, stmt.else, before))
    case 'Labeled': {
      const exit: Exit = { label: stmt.label, isLoop: false, broken: 'gone', continued: 'gone' }
      return met(inside(walk, exit, stmt.body, before), exit.broken)
    }
    case 'For':
      return afterLoop(walk, stmt, before)
    case 'Break':
    case 'Continue': {
      const exit = walk.exits.findLast(({ label, isLoop }) => (stmt.label === undefined ? isLoop : label === stmt.label))
      const left = stmt.kind === 'Break' ? 'broken' : 'continued'
      if (exit !== undefined) exit[left] = met(exit[left], before)
      return 'gone'
    }
    case 'Return':
    case 'Throw':
      return 'gone'
    case 'Write':
    case 'Add':
    case 'Accumulate':
    case 'Evaluate':
      return before
  }
}

function afterLoop(walk: Walk, loop: Stmt & { readonly kind: 'For' }, before: State): State {
  const head = walked(walk, loop.init, before)
  if (loop.test !== undefined && !loop.doWhile) read(walk, loop.test, head)
  const exit: Exit = { label: loop.label, isLoop: true, broken: 'gone', continued: 'gone' }
  const turned = met(inside(walk, exit, loop.body, head), exit.continued)
  const updated = walked(walk, loop.update, turned)
  if (loop.test !== undefined && loop.doWhile) read(walk, loop.test, updated)
  const ended = loop.test === undefined ? 'gone' : loop.doWhile ? updated : head
  return met(ended, exit.broken)
}

function inside(walk: Walk, exit: Exit, body: readonly Stmt[], before: State): State {
  walk.exits.push(exit)
  const state = walked(walk, body, before)
  walk.exits.pop()
  return state
}

function read(walk: Walk, expr: Expr, state: State): void {
  walk.isReadBefore ||= state === 'not' && someExpr(expr, (one) => one.kind === 'Local' && one.name === walk.local)
}

function met(a: State, b: State): State {
  if (a === 'gone') return b
  if (b === 'gone') return a
  return a === b ? a : 'not'
}
