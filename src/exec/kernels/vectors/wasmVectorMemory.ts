/**
 * Dependence test of vector loops: iterations may run side by side if no lane reads an element that another lane of its vector
 * writes, or wrote before it in serial order. For each element that the loop writes, at the index itself in a row:
 *
 *     a[k] = f(a[k])            each lane has its own element
 *     a[k] = f(a[k + 1])        an anti dependence: loads come before the store, as in the statement
 *     a[k] = f(a[k - 1])        a flow dependence on the iteration before: not vectorized
 *     a[t + 1][k] = f(a[t][k])  another row, since a subscript differs by a literal
 *     a[k] = f(b[k + 1])        other memory, unless a and b alias
 *
 * The element of an iteration is read at its start: writes of the body to its memory are at the index.
 */
import type { Expr } from '../../../core/ir/functionIr.ts'
import { exprId } from '../../../core/ir/irFacts.ts'
import { codeId } from '../../kir/instructions.ts'
import type { InnerLoop } from '../loops/innerLoop.ts'
import { LOG2_BYTES } from '../loops/wasmCode.ts'
import { returnsValue } from '../loops/wasmLocals.ts'
import { type Access, accessesOf, elementMemory } from '../loops/wasmLoopAccess.ts'
import type { KernelWriter } from '../loops/wasmWriter.ts'
import { Scalar } from './wasmLanes.ts'
import { usesElement } from './wasmVectorSums.ts'

/** Throws `Scalar` where lanes could conflict. */
export function checkLanes(w: KernelWriter, loop: InnerLoop, accesses: ReadonlyMap<object, Access>): void {
  const found = accessesOf(loop.body)
  if (found.some(({ node }) => !accesses.has(node))) throw new Scalar('an access is not at the index, or not checked before the loop')
  // in the order of an iteration; an add is a read and a write in one
  const ordered = found.map(({ node }) => accesses.get(node) as Access) // just asked for
  const writes = ordered.filter(({ kind }) => kind !== 'read')
  const element = loop.isRun && returnsValue(loop.body) ? elementMemory(w) : undefined
  const read = loop.isRun && usesElement(loop.body) ? elementMemory(w) : undefined
  for (const access of ordered) {
    const { memory, array, axis, isLast, offset } = access
    const isAtIndex = axis >= 0 && isLast && offset === 0
    if (memory === read && access.kind !== 'read' && !isAtIndex) throw new Scalar(`${array} is written, and not only at the index`)
    if (memory === element && !isAtIndex) throw new Scalar(`${array} is written, and not only at the index`)
    for (const write of writes) {
      if (write.memory !== memory || write === access) continue
      if (!areApart(write, access)) throw new Scalar(`${array} is written, and not only at the index`)
    }
  }
  for (const { axis, isLast, array } of writes) {
    if (axis < 0) throw new Scalar(`${array} is written, and not only at the index`)
    if (!isLast) throw new Scalar(`${array} is not contiguous along the loop`)
  }

  /** Whether different lanes never conflict in the two accesses, or only as a read that precedes the write. */
  function areApart(write: Access, access: Access): boolean {
    if (areOtherRows(write, access)) return true
    if (access.axis < 0 || !access.isLast || access.row !== write.row) return false
    if (access.offset === write.offset) return true
    return access.kind === 'read' && access.offset > write.offset && ordered.indexOf(access) < ordered.indexOf(write)
  }
}

/** Whether a subscript off the loop's axis separates the two accesses: both are the same but for different literals. */
function areOtherRows(a: Access, b: Access): boolean {
  if (a.array !== b.array || a.axis !== b.axis) return false
  return a.subscripts.some((subscript, axis) => {
    const other = b.subscripts[axis]
    if (axis === a.axis || other === undefined) return false
    const [one, two] = [parts(subscript), parts(other)]
    return one.rest === two.rest && one.literal !== two.literal
  })
}

/** Splits an expression into its non-literal part and the literal added to it. */
function parts(expr: Expr): { readonly rest: string; readonly literal: number } {
  if (expr.kind === 'Literal' && typeof expr.value === 'number') return { rest: '', literal: expr.value }
  if (expr.kind === 'Binary' && (expr.operator === '+' || expr.operator === '-')) {
    const { left, right, operator } = expr
    if (right.kind === 'Literal' && typeof right.value === 'number' && Number.isInteger(right.value)) {
      const inner = parts(left)
      return { rest: inner.rest, literal: inner.literal + (operator === '+' ? right.value : -right.value) }
    }
    if (operator === '+' && left.kind === 'Literal' && typeof left.value === 'number' && Number.isInteger(left.value)) {
      const inner = parts(right)
      return { rest: inner.rest, literal: inner.literal + left.value }
    }
  }
  return { rest: exprId(expr), literal: 0 }
}

/**
 * Finds reads that share a vector with another read, of the same vector of iterations or an adjacent one,
 * with a name for each one's row: `a[i - 1] + a[i + 1]` in two lanes reads each vector twice. Memory that the loop
 * writes is excluded, except for elements that a body returns: a lane reads nothing after it has returned, and no other's.
 */
export function readAgain(
  accesses: ReadonlyMap<object, Access>,
  { copies, count }: { readonly copies: number; readonly count: number },
): ReadonlyMap<object, string> {
  const all = [...accesses.values()]
  const written = new Set(all.flatMap(({ kind, memory }) => (kind === 'read' ? [] : [memory])))
  const reads = all
    .filter(({ kind, memory, isLast, axis }) => kind === 'read' && isLast && axis >= 0 && !written.has(memory))
    .map(({ node, dtype, known }) => ({ node, dtype, row: `${dtype} ${codeId(known.code())}`, offset: known.offset }))
  const again = reads.filter((one) => {
    const vector = count << LOG2_BYTES[one.dtype]
    return reads.some((other) => {
      const apart = Math.abs(one.offset - other.offset)
      return one !== other && one.row === other.row && (apart === 0 || (apart === vector && copies > 1))
    })
  })
  return new Map(again.map(({ node, row }) => [node, row]))
}
