/**
 * Software pipelining, its legality.
 *
 * When the end of an iteration may run beside the beginning of the next (`softwarePipelining.ts`), for bodies of the form
 *
 *     head;  for k: sum;  middle;  for k: update;  tail
 *
 * Iteration k of the next sum then runs right after iteration k of the update, so before the update's iterations after k and before the
 * tail; its head runs before the update. It is legal where
 *
 * - head and sum write only locals of their own, and cannot fail where their accesses are in bounds;
 * - of an array that the update writes, the sum reads only elements at the index in the last axis, and the update writes
 *   only there: iteration k of the sum conflicts with iteration k of the update alone, whatever the other subscripts, which came before;
 * - the head reads no array that the update writes, and neither head nor sum reads what the tail writes.
 *
 * The middle is unrestricted, and so is the tail otherwise: they stay where they are.
 */
import type { Stmt } from '../../../core/ir/functionIr.ts'
import { changedIn, exprId, hasLoop } from '../../../core/ir/irFacts.ts'
import { readsIn, returnsValue } from '../loops/wasmLocals.ts'
import { type Access, deepAccesses, elementMemory, memoryOf } from '../loops/wasmLoopAccess.ts'
import type { For, KernelWriter } from '../loops/wasmWriter.ts'

/** The parts of a body of this form. */
export interface Parts {
  readonly head: readonly Stmt[]
  readonly sum: CountedFor
  readonly middle: readonly Stmt[]
  readonly update: CountedFor
  readonly tail: readonly Stmt[]
}
export type CountedFor = For & { readonly counted: NonNullable<For['counted']> }

/** Splits a body into its parts; undefined where it has another form, or pipelining is not legal. */
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

/** Whether two loops run over the same range. */
function haveSameTurns({ counted: a }: CountedFor, { counted: b }: CountedFor): boolean {
  return a.step === 1 && b.step === 1 && exprId([a.from, a.to]) === exprId([b.from, b.to])
}

/** Whether the loop's index is neither assigned in the body nor read outside of the loop. */
function isOwnIndex(w: KernelWriter, loop: CountedFor): boolean {
  const { local } = loop.counted
  return w.readsOf(local) === readsIn([loop], local) && !changedIn(loop.body).has(local)
}

/** Whether head and sum do not conflict with the parts that they are moved before. */
function areApart(w: KernelWriter, { head, sum, update, tail }: Parts): boolean {
  const memories = (stmts: readonly Stmt[], isWrite: boolean): readonly string[] =>
    deepAccesses(stmts).flatMap((found) => ((found.kind === 'read') === isWrite ? [] : [memoryOf(w, found)]))
  const updated = memories([update], true)
  const last = [...memories(tail, true), ...(returnsValue(tail) ? [elementMemory(w)] : [])]
  const ahead = [...memories(head, false), ...memories([sum], false)]
  // the element of the next iteration is read early
  if ([...updated, ...memories(tail, true)].includes(elementMemory(w))) return false
  return !memories(head, false).some((memory) => updated.includes(memory)) && !ahead.some((memory) => last.includes(memory))
}

/** Whether iteration k of the sum conflicts with no iteration of the update but k. */
export function meetAtIndex(sum: ReadonlyMap<object, Access>, update: ReadonlyMap<object, Access>): boolean {
  const writes = [...update.values()].filter(({ kind }) => kind !== 'read')
  return [...sum.values()].every((read) =>
    writes.every((write) => write.memory !== read.memory || (write.array === read.array && isAtIndex(write) && isAtIndex(read))),
  )
}

/** Whether the last subscript of the access is the index itself. */
export function isAtIndex({ axis, isLast, offset }: Access): boolean {
  return axis >= 0 && isLast && offset === 0
}
