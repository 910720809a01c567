/**
 * Bound hoisting.
 *
 * A loop that ends at an element which it does not write becomes a counted loop; a kernel knows which arrays share memory.
 *
 *     for (let e = first.get(v); e < first.get(v + 1); e++) sum += rank.get(from.get(e))
 *
 * The element is read once, where the first test reads it, and an out-of-bounds access fails there.
 */
import { type CountedLoop, type Expr, type FunctionIr, type Stmt, visitStmts } from '../../../core/ir/functionIr.ts'
import { changedIn } from '../../../core/ir/irFacts.ts'
import type { WasmTarget } from '../loops/wasmCode.ts'

type For = Extract<Stmt, { kind: 'For' }>

export function withElementBounds({ ir, shape, identities }: WasmTarget): FunctionIr {
  const names = [...shape.arrays.keys()]
  const memoryOf = (array: string): number | undefined => identities[names.indexOf(array)]

  /** Returns the bounds of the loop; undefined where it is not of this form. `start` is the declaration of the index. */
  function counted({ test, update, body, doWhile }: For, start: Stmt | undefined): CountedLoop | undefined {
    const [step] = update
    if (doWhile || update.length !== 1 || start?.kind !== 'Let' || start.init === undefined) return undefined
    const { local } = start
    const isIndex = (expr: Expr): boolean => expr.kind === 'Local' && expr.name === local
    if (step?.kind !== 'Assign' || step.local !== local || step.value.kind !== 'Binary' || step.value.operator !== '+') return undefined
    if (!isIndex(step.value.left) || step.value.right.kind !== 'Literal' || step.value.right.value !== 1) return undefined
    if (test?.kind !== 'Binary' || test.operator !== '<' || !isIndex(test.left)) return undefined
    const changed = changedIn(body)
    if (changed.has(local)) return undefined
    const written = new Set<number | undefined>()
    visitStmts(body, (inner) => {
      if (inner.kind === 'Write' || inner.kind === 'Add') written.add(memoryOf(inner.array))
    })
    return isFixed(test.right, changed.add(local), written) ? { local, from: start.init, to: test.right, step: 1 } : undefined
  }

  /** Whether an expression has the same value, or the same failure, in every iteration. */
  function isFixed(expr: Expr, changed: ReadonlySet<string>, written: ReadonlySet<number | undefined>): boolean {
    switch (expr.kind) {
      case 'Literal':
      case 'Key':
      case 'Parameter':
      case 'Extent':
      case 'LookupLength':
        return true
      case 'Local':
        return !changed.has(expr.name)
      case 'Unary':
        return isFixed(expr.operand, changed, written)
      case 'Binary':
        return isFixed(expr.left, changed, written) && isFixed(expr.right, changed, written)
      case 'Read':
        return !written.has(memoryOf(expr.array)) && expr.subscripts.every((subscript) => isFixed(subscript, changed, written))
      default:
        return false
    }
  }

  /** Moves the declaration of an index, which stands before its loop, into the loop. */
  function block(stmts: readonly Stmt[]): Stmt[] {
    const written: Stmt[] = []
    for (const stmt of stmts) {
      const start = written.at(-1)
      if (stmt.kind === 'For' && stmt.counted === undefined && stmt.init.length === 0) {
        const loop = counted(stmt, start)
        if (loop !== undefined && start !== undefined) {
          written[written.length - 1] = { ...stmt, init: [start], body: block(stmt.body), counted: loop }
          continue
        }
      }
      written.push(inside(stmt))
    }
    return written
  }

  function inside(stmt: Stmt): Stmt {
    switch (stmt.kind) {
      case 'If':
        // biome-ignore lint/suspicious/noThenProperty: the IR's own word
        return { ...stmt, then: block(stmt.then), else: block(stmt.else) }
      case 'For':
      case 'Labeled':
        return { ...stmt, body: block(stmt.body) }
      default:
        return stmt
    }
  }

  return { ...ir, body: block(ir.body) }
}
