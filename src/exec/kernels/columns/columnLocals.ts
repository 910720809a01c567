/**
 * Locals of a column kernel's loop that are `kept`, each set once by code that does nothing else: which of them may be left
 * out, and which are the same in all turns.
 */
import type { Node } from '../../kir/tree.ts'

/** Those that are read, if only to set one that is. */
export function usedLocals(body: readonly Node[], kept: ReadonlySet<number>): ReadonlySet<number> {
  const readBy = new Map<number, Set<number>>()
  const used = new Set<number>()
  const visit = (node: Node, reads: Set<number>): void => {
    let own = reads
    if (node.kind === 'local' && node.name === 'local.get') reads.add(node.index)
    if (node.kind === 'local' && node.name === 'local.set' && kept.has(node.index)) readBy.set(node.index, (own = new Set()))
    for (const operand of node.operands) visit(operand, own)
    if ('body' in node) for (const one of node.body) visit(one, reads)
    if ('otherwise' in node) for (const one of node.otherwise ?? []) visit(one, reads)
  }
  for (const node of body) visit(node, used)
  // A set grows while it is gone through.
  for (const local of used) for (const read of readBy.get(local) ?? []) used.add(read)
  return used
}

/** Those that come of what is set before the loop, and of one another. */
export function steadyLocals(body: readonly Node[], kept: ReadonlySet<number>): ReadonlySet<number> {
  const sets: Extract<Node, { kind: 'local' }>[] = []
  const visit = (node: Node, isInside: boolean): void => {
    for (const operand of node.operands) visit(operand, isInside)
    if (isInside && node.kind === 'local' && node.name !== 'local.get') sets.push(node)
    if ('body' in node) for (const one of node.body) visit(one, isInside || node.kind === 'loop')
    if ('otherwise' in node) for (const one of node.otherwise ?? []) visit(one, isInside)
  }
  for (const node of body) visit(node, false)
  const changing = new Set(sets.map(({ index }) => index))
  const isSteady = (node: Node): boolean => node.operands.length === node.takes && node.operands.every(isSteady) && isFree(node, changing)
  const steady = new Set<number>()
  // in the order of the code, so that what one comes of is known before it
  for (const { index, operands } of sets) {
    if (!kept.has(index) || operands.length !== 1 || !operands.every(isSteady)) continue
    steady.add(index)
    changing.delete(index)
  }
  return steady
}

/** Whether the instruction itself gives the same of the same operands. Functions that kernels import do. */
function isFree(node: Node, changing: ReadonlySet<number>): boolean {
  if (node.kind === 'local') return node.name === 'local.get' && !changing.has(node.index)
  return node.kind === 'call' || (node.kind === 'plain' && node.gives === 1 && !node.operation.immediate.startsWith('memory'))
}
