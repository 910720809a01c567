/** Dead-code elimination in a slice: its accesses stay, with the locals they need and the control flow around and before them. */
import type { Stmt } from '../../../core/ir/functionIr.ts'
import { nestedOf, visitStmts } from '../../../core/ir/functionIr.ts'
import { localsRead } from '../../../core/ir/irFacts.ts'

/** Drops what serves no access. The accesses, `Evaluate` and `Write`, stay the same in the same iterations of inner loops. */
export function pruned(stmts: readonly Stmt[]): Stmt[] {
  let needed: ReadonlySet<string> = new Set()
  for (;;) {
    const kept = untilLastAccess(keptOf(stmts, needed))
    const read = localsRead(kept)
    if (read.size === needed.size) return kept
    needed = read
  }
}

function keptOf(stmts: readonly Stmt[], needed: ReadonlySet<string>): Stmt[] {
  return stmts.flatMap((stmt): Stmt[] => {
    switch (stmt.kind) {
      case 'Let':
      case 'Assign':
        return needed.has(stmt.local) ? [stmt] : []
      case 'If': {
        const [whenTrue, whenFalse] = [keptOf(stmt.then, needed), keptOf(stmt.else, needed)]
        // biome-ignore lint/suspicious/noThenProperty: the IR's own word
        return whenTrue.length + whenFalse.length === 0 ? [] : [{ ...stmt, then: whenTrue, else: whenFalse }]
      }
      case 'For': {
        const body = keptOf(stmt.body, needed)
        // The locals of the test become needed once the loop is kept.
        const update = keptOf(stmt.update, needed)
        // A loop that only counts is left out; what its index begins with is read all the same.
        const init = keptOf(stmt.init, needed)
        return matters({ ...stmt, body }) ? [{ ...stmt, init, body, update }] : init
      }
      case 'Labeled': {
        const body = keptOf(stmt.body, needed)
        return body.length === 0 ? [] : [{ ...stmt, body }]
      }
      default:
        return [stmt]
    }
  })
}

/** Whether a loop does more than count: it has an access, assigns a local from outside, or jumps beyond itself. */
function matters(loop: Extract<Stmt, { kind: 'For' }>): boolean {
  const declared = new Set<string>()
  const labels = new Set<string | undefined>([loop.label])
  visitStmts([loop], (stmt) => {
    if (stmt.kind === 'Let') declared.add(stmt.local)
    if (stmt.kind === 'For' || stmt.kind === 'Labeled') labels.add(stmt.label)
  })
  let found = false
  visitStmts(loop.body, (stmt) => {
    if (stmt.kind === 'Evaluate' || stmt.kind === 'Write' || stmt.kind === 'Return') found = true
    if (stmt.kind === 'Assign' && !declared.has(stmt.local)) found = true
    if ((stmt.kind === 'Break' || stmt.kind === 'Continue') && stmt.label !== undefined && !labels.has(stmt.label)) found = true
  })
  visitStmts(loop.update, (stmt) => {
    if (stmt.kind === 'Evaluate' || stmt.kind === 'Write' || (stmt.kind === 'Assign' && !declared.has(stmt.local))) found = true
  })
  return found
}

/** Drops the statements after the last access. */
function untilLastAccess(stmts: readonly Stmt[]): Stmt[] {
  return stmts.slice(0, stmts.findLastIndex(hasAccess) + 1)
}

function hasAccess(stmt: Stmt): boolean {
  return stmt.kind === 'Evaluate' || stmt.kind === 'Write' || nestedOf(stmt).some(hasAccess)
}
