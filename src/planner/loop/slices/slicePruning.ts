/** Leaves of a slice what matters to its accesses: the locals they need, the control flow around and before them. */
import type { Stmt } from '../../../core/ir/functionIr.ts'
import { nestedOf, visitStmts } from '../../../core/ir/functionIr.ts'
import { localsRead } from './sliceSources.ts'

/** The same accesses in the same turns; `Evaluate` and `Write` are accesses, all else serves them. */
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
        // What the test reads is known to be needed only once the loop is kept.
        const update = keptOf(stmt.update, needed)
        return matters({ ...stmt, body }) ? [{ ...stmt, init: keptOf(stmt.init, needed), body, update }] : []
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

/** Whether a loop does more than count: an access, a local from outside, a jump beyond it. */
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

/** Behind the last access nothing matters. */
function untilLastAccess(stmts: readonly Stmt[]): Stmt[] {
  return stmts.slice(0, stmts.findLastIndex(hasAccess) + 1)
}

function hasAccess(stmt: Stmt): boolean {
  return stmt.kind === 'Evaluate' || stmt.kind === 'Write' || nestedOf(stmt).some(hasAccess)
}
