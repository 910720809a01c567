/**
 * Dead code elimination: code that only computes the value of a local that nothing reads is removed.
 *
 *     (local.set $a (f64.load (local.get $x)))
 *     (local.set $b (f64.mul (local.get $a) (f64.const 2)))        of these, and no read of $b, nothing is left
 *
 * Legal where the value is computed without an effect: a load of what is not read is no effect, a call of a function that
 * gives a value is none (imported functions that give one are functions of their arguments), a store, a local that is set
 * on the way and a branch are. A quotient that would fail goes as well: kernels report failures by calls, and rely on no trap.
 */
import type { KernelModule } from '../kernelModule.ts'
import type { Pass } from '../pass.ts'
import { codeOf, type Node, treesOf } from '../tree.ts'

export const UNREAD_LOCALS: Pass = { name: 'unread locals', run: withoutUnread }

function withoutUnread(kernel: KernelModule): KernelModule {
  const trees = treesOf(kernel)
  const read = readLocals(trees)
  const kept = (nodes: readonly Node[]): readonly Node[] =>
    nodes.flatMap((node): readonly Node[] => {
      if (isSet(node) && isWithoutEffect(node) && !read.has(node.index)) return []
      if (node.kind === 'if') return [{ ...node, body: kept(node.body), otherwise: node.otherwise && kept(node.otherwise) }]
      return [node.kind === 'block' || node.kind === 'loop' ? { ...node, body: kept(node.body) } : node]
    })
  return { ...kernel, body: codeOf(kept(trees)) }
}

/** Returns the locals whose value is needed: read by code with effects, or for the value of another needed local. */
function readLocals(trees: readonly Node[]): ReadonlySet<number> {
  const readBy = new Map<number, Set<number>>()
  const read = new Set<number>()
  const visit = (node: Node, reads: Set<number>): void => {
    if (node.kind === 'local' && node.name === 'local.get') reads.add(node.index)
    let own = reads
    if (isSet(node) && isWithoutEffect(node)) {
      own = readBy.get(node.index) ?? new Set()
      readBy.set(node.index, own)
    }
    for (const operand of node.operands) visit(operand, own)
    if ('body' in node) for (const one of node.body) visit(one, reads)
    if ('otherwise' in node) for (const one of node.otherwise ?? []) visit(one, reads)
  }
  for (const node of trees) visit(node, read)
  // A set that grows while it is iterated also yields its new members.
  for (const local of read) for (const before of readBy.get(local) ?? []) read.add(before)
  return read
}

function isSet(node: Node): node is Extract<Node, { kind: 'local' }> {
  return node.kind === 'local' && node.name === 'local.set'
}

/** Whether computing the operands has no effect, and all of them are at hand. */
function isWithoutEffect({ operands, takes }: Node): boolean {
  return operands.length === takes && operands.every((one) => isValue(one) && isWithoutEffect(one))
}

function isValue(node: Node): boolean {
  if (node.gives === 0 || 'label' in node) return false
  return node.kind !== 'local' || node.name === 'local.get'
}
