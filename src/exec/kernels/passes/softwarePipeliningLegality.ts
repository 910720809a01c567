/**
 * Software pipelining, when it is legal.
 *
 * Bodies whose end may run beside the beginning of the next iteration: of `softwarePipelining.ts`, what is legal.
 *
 *     head;  for k: sum;  middle;  for k: update;  tail
 *
 * Turn k of the next iteration's sum runs right after turn k of the update, and so before its turns after k and before the
 * tail; its head runs before the update. It is legal where
 *
 * - head and sum write nothing but locals of their own, and cannot fail where what they reach is inside;
 * - of an array that the update writes, the sum reads elements at the index in the last axis only, and the update writes
 *   there only: turn k of the sum meets turn k of the update alone, whatever the other subscripts are, and that came before;
 * - the head reads no array that the update writes, and neither reads what the tail writes.
 *
 * The middle, and the tail but for that, do what they like: they stay where they are.
 */
import type { Stmt } from '../../../core/ir/functionIr.ts'
import { changedIn, exprId, hasLoop } from '../../../core/ir/irFacts.ts'
import { readsIn, returnsValue } from '../loops/wasmLocals.ts'
import { type Access, deepAccesses, elementMemory, memoryOf } from '../loops/wasmLoopAccess.ts'
import type { For, KernelWriter } from '../loops/wasmWriter.ts'

/** The parts of such a body. */
export interface Parts {
  readonly head: readonly Stmt[]
  readonly sum: CountedFor
  readonly middle: readonly Stmt[]
  readonly update: CountedFor
  readonly tail: readonly Stmt[]
}
export type CountedFor = For & { readonly counted: NonNullable<For['counted']> }

/** The parts of a body whose end may run beside the next iteration's beginning. */
export function partsOf(w: KernelWriter, body: readonly Stmt[]): Parts | undefined {
  const first = body.findIndex(({ kind }) => kind === 'For')
  const last = body.findLastIndex(({ kind }) => kind === 'For')
  const [sum, update] = [body[first], body[last]]
  if (first === last || !isCounted(sum) || !isCounted(update) || !haveSameTurns(sum, update)) return undefined
  const parts: Parts = { head: body.slice(0, first), sum, middle: body.slice(first + 1, last), update, tail: body.slice(last + 1) }
  const isHead = parts.head.every(({ kind }) => kind === 'Let' || kind === 'Assign' || kind === 'Evaluate')
  const isSum = sum.body.every(
    (stmt) => stmt.kind === 'Assign' || stmt.kind === 'Evaluate' || (stmt.kind === 'Let' && stmt.init !== undefined),
  )
  const isPlain = isHead && isSum && !hasLoop(update.body) && isOwnIndex(w, sum) && isOwnIndex(w, update)
  return isPlain && areApart(w, parts) ? parts : undefined
}

function isCounted(stmt: Stmt | undefined): stmt is CountedFor {
  return stmt?.kind === 'For' && stmt.counted !== undefined && !stmt.doWhile
}

/** Whether two loops count alike. */
function haveSameTurns({ counted: a }: CountedFor, { counted: b }: CountedFor): boolean {
  return a.step === 1 && b.step === 1 && exprId([a.from, a.to]) === exprId([b.from, b.to])
}

/** Whether only the loop sees its index. */
function isOwnIndex(w: KernelWriter, loop: CountedFor): boolean {
  const { local } = loop.counted
  return w.readsOf(local) === readsIn([loop], local) && !changedIn(loop.body).has(local)
}

/** Whether what moves ahead meets nothing that it must not. */
function areApart(w: KernelWriter, { head, sum, update, tail }: Parts): boolean {
  const memories = (stmts: readonly Stmt[], isWrite: boolean): readonly string[] =>
    deepAccesses(stmts).flatMap((found) => ((found.kind === 'read') === isWrite ? [] : [memoryOf(w, found)]))
  const updated = memories([update], true)
  const last = [...memories(tail, true), ...(returnsValue(tail) ? [elementMemory(w)] : [])]
  const ahead = [...memories(head, false), ...memories([sum], false)]
  // The element of the next iteration is read ahead.
  if ([...updated, ...memories(tail, true)].includes(elementMemory(w))) return false
  return !memories(head, false).some((memory) => updated.includes(memory)) && !ahead.some((memory) => last.includes(memory))
}

/** Whether the sum's turn k meets no turn of the update but k. */
export function meetAtIndex(sum: ReadonlyMap<object, Access>, update: ReadonlyMap<object, Access>): boolean {
  const writes = [...update.values()].filter(({ kind }) => kind !== 'read')
  return [...sum.values()].every((read) =>
    writes.every((write) => write.memory !== read.memory || (write.array === read.array && isAtIndex(write) && isAtIndex(read))),
  )
}

/** Whether the index is its last subscript. */
export function isAtIndex({ axis, isLast, offset }: Access): boolean {
  return axis >= 0 && isLast && offset === 0
}
