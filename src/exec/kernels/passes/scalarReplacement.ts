/**
 * Scalar replacement.
 *
 * Keeps elements in locals instead of memory during an innermost loop: elements that do not change while it runs, and those that the
 * iteration before has written.
 *
 *     H.set(i, j, f(H.get(i, j - 1)))      left = H[i, from - 1]
 *                                          for j: left = f(left), H[i, j] = left
 *
 * A read gets the previous iteration's write where both are in one row, one step apart, and nothing else writes to that
 * memory. Every iteration makes the write: it is a statement of the body itself, and nothing leaves the body before its end.
 * The local holds what a load would return: the value rounded or wrapped by the array's type.
 */
import { expressionsOf, type Stmt, visitExpr, visitStmts } from '../../../core/ir/functionIr.ts'
import { type Code, type GrowingCode, I, OP } from '../../kir/instructions.ts'
import { heldAs, type Value } from '../expressions/types.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import { loadOf } from '../loops/wasmCode.ts'
import { known } from '../loops/wasmElements.ts'
import { returnsValue } from '../loops/wasmLocals.ts'
import { type Access, accessesOf, elementMemory, isSteady, memoryOf, type Turning } from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'

export interface Carried {
  readonly reads: ReadonlyMap<object, Value>
  /** The locals in which writes leave their value for the next iteration. */
  readonly writes: ReadonlyMap<object, number>
  readonly before: Code
  readonly after: Code
  /** The number of reads that take the value written by the iteration before. */
  readonly count: number
}

/** The members of a loop that decide what it carries. */
type CarryingLoop = Pick<InnerLoop, 'body' | 'index' | 'limit' | 'step'>

export function carriedReads(w: KernelWriter, loop: CarryingLoop, accesses: ReadonlyMap<object, Access>, turning: Turning): Carried {
  const written = writtenMemories(w, loop.body)
  const reads = new Map<object, Value>()
  const writes = new Map<object, number>()
  const first: GrowingCode = []
  const steady: GrowingCode = []
  const after: GrowingCode = []
  let count = 0
  for (const access of accesses.values()) {
    if (access.kind !== 'read') continue
    const loaded = known(w, access.array, loadOf(access.dtype, access.known.code(), access.known.offset))
    if (access.axis < 0 && !written.has(access.memory)) {
      reads.set(access.node, kept(w, loaded, steady))
      continue
    }
    const write = lastTurn(loop, accesses, access, written.get(access.memory))
    if (write === undefined) continue
    count++
    const slot = w.declare(heldAs(loaded.type))
    first.push(loaded.code, I.localSet(slot))
    reads.set(access.node, { type: loaded.type, code: I.localGet(slot) })
    let next = writes.get(write)
    if (next === undefined) writes.set(write, (next = w.declare(heldAs(loaded.type))))
    after.push(I.localGet(next), I.localSet(slot))
  }
  lookups(w, loop.body, turning, reads, steady)
  const test = [I.localGet(loop.index.slot), I.localGet(loop.limit), loop.step > 0 ? OP.i32LtS : OP.i32GtS]
  // a loop without iterations may have no element to read
  const before = [...steady, ...(first.length === 0 ? [] : [test, I.if(), ...first, OP.end])]
  return { reads, writes, before, after, count }
}

/** Counts the writes of the body to each memory. */
function writtenMemories(w: KernelWriter, body: readonly Stmt[]): ReadonlyMap<string, number> {
  const written = new Map<string, number>()
  for (const found of accessesOf(body)) {
    if (found.kind === 'read') continue
    const memory = memoryOf(w, found)
    written.set(memory, (written.get(memory) ?? 0) + 1)
  }
  if (returnsValue(body)) written.set(elementMemory(w), (written.get(elementMemory(w)) ?? 0) + 1)
  return written
}

/** Returns the write of the previous iteration from which a read gets its value; undefined where it may be none, or not always the same. */
function lastTurn(loop: CarryingLoop, accesses: ReadonlyMap<object, Access>, read: Access, count: number | undefined): object | undefined {
  if (count !== 1 || read.axis < 0 || leaves(loop.body)) return undefined
  const write = [...accesses.values()].find(({ kind, memory }) => kind === 'write' && memory === read.memory)
  if (write === undefined || !loop.body.includes(write.node as Stmt)) return undefined // nodes of writes are statements
  const isSameRow = write.isLast && write.row === read.row
  return isSameRow && write.offset === read.offset + loop.step ? write.node : undefined
}

/** Whether an iteration may end before its last statement. */
function leaves(body: readonly Stmt[]): boolean {
  let found = false
  visitStmts(body, ({ kind }) => {
    if (kind === 'Break' || kind === 'Continue' || kind === 'Return' || kind === 'Labeled') found = true
  })
  return found
}

/** Hoists elements of captured tables at an index that does not change. */
function lookups(w: KernelWriter, body: readonly Stmt[], turning: Turning, reads: Map<object, Value>, before: GrowingCode): void {
  visitStmts(body, (stmt) => {
    for (const expr of expressionsOf(stmt)) {
      visitExpr(expr, (e) => {
        if (e.kind !== 'Lookup' || reads.has(e) || !isSteady(e, turning)) return
        const value = w.expr(e)
        if (value.type.kind !== 'f64' || !value.type.maybe) reads.set(e, kept(w, value, before))
      })
    }
  })
}

/** Keeps a value in a local, which `before` sets. */
function kept(w: KernelWriter, value: Value, before: GrowingCode): Value {
  const slot = w.declare(heldAs(value.type))
  before.push(value.code, I.localSet(slot))
  return { type: value.type, code: I.localGet(slot) }
}
