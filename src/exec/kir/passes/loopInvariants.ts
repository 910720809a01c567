/**
 * Loop-invariant code motion: a local that a loop sets to the same value in each iteration is set before the loop.
 *
 *     (loop (local.set $c (f64x2.splat (local.get $rate))) …)        (local.set $c (f64x2.splat (local.get $rate))) (loop …)
 *
 * Legal for a local that is set in one place, there by a statement of the loop itself or of a block in it, and read only by what follows
 * in that loop or block (code behind the block also runs where a branch left the block before the local was set). Its value comes from
 * constants, from locals that the loop does not set, and from locals that were hoisted already; the operations that compute it neither
 * read memory nor trap, since the loop may never reach it.
 */
import type { KernelModule } from '../kernelModule.ts'
import type { Pass } from '../pass.ts'
import { codeOf, type Node, nameOf, treesOf } from '../tree.ts'

export const LOOP_INVARIANTS: Pass = { name: 'loop invariants', run: withInvariantsBefore }

type Loop = Extract<Node, { kind: 'block' | 'loop' }>

function withInvariantsBefore(kernel: KernelModule): KernelModule {
  const trees = treesOf(kernel)
  const uses = usesOf(trees)
  const moved = (nodes: readonly Node[]): readonly Node[] =>
    nodes.flatMap((node): readonly Node[] => {
      if (node.kind === 'if') return [{ ...node, body: moved(node.body), otherwise: node.otherwise && moved(node.otherwise) }]
      if (node.kind !== 'block' && node.kind !== 'loop') return [node]
      const inner = { ...node, body: moved(node.body) }
      if (node.kind === 'block') return [inner]
      const before = invariantsOf(inner, uses)
      return [...before, without(inner, new Set(before))]
    })
  return { ...kernel, body: codeOf(moved(trees)) }
}

interface Uses {
  /** How often each local is set in the kernel. */
  readonly sets: ReadonlyMap<number, number>
  /** How often each local is read in the kernel. */
  readonly reads: ReadonlyMap<number, number>
}

function usesOf(nodes: readonly Node[]): Uses {
  const [sets, reads] = [new Map<number, number>(), new Map<number, number>()]
  const add = (to: Map<number, number>, local: number): unknown => to.set(local, (to.get(local) ?? 0) + 1)
  forEach(nodes, (node) => {
    if (node.kind !== 'local') return
    if (node.name !== 'local.get') add(sets, node.index)
    if (node.name !== 'local.set') add(reads, node.index)
  })
  return { sets, reads }
}

/** Returns the statements of a loop that can be hoisted, in their order. */
function invariantsOf(loop: Loop, uses: Uses): readonly Node[] {
  const changing = new Set(usesOf(loop.body).sets.keys())
  const isSteady = (node: Node): boolean =>
    node.operands.length === node.takes &&
    isPure(node) &&
    !(node.kind === 'local' && changing.has(node.index)) &&
    node.operands.every(isSteady)
  const among = (statements: readonly Node[]): readonly Node[] => {
    const behind = readsBehind(statements)
    return statements.flatMap((one, at): readonly Node[] => {
      if (one.kind === 'block') return among(one.body)
      if (one.kind !== 'local' || one.name !== 'local.set' || uses.sets.get(one.index) !== 1) return []
      if (behind[at] !== (uses.reads.get(one.index) ?? 0) || one.operands.length !== 1 || !one.operands.every(isSteady)) return []
      changing.delete(one.index)
      return [one]
    })
  }
  return among(loop.body)
}

/** Returns for each statement that sets a local how often the statements after it read that local; 0 for other statements. */
function readsBehind(statements: readonly Node[]): readonly number[] {
  const reads = new Map<number, number>()
  return [...statements]
    .reverse()
    .map((statement): number => {
      const behind = statement.kind === 'local' ? (reads.get(statement.index) ?? 0) : 0
      for (const [local, count] of usesOf([statement]).reads) reads.set(local, (reads.get(local) ?? 0) + count)
      return behind
    })
    .reverse()
}

/** Whether the operation itself is a function of its operands, and never traps. */
function isPure(node: Node): boolean {
  switch (node.kind) {
    case 'const':
    case 'vector':
    case 'shuffle':
    case 'global':
    case 'local': // // a local.tee or local.set counts as a change
      return true
    case 'call':
      return node.gives === 1
    case 'plain':
      return node.gives === 1 && !node.operation.immediate.startsWith('memory') && !/^i\d\d\.(div|rem|trunc_f)/.test(nameOf(node))
    case 'branch':
    case 'block':
    case 'loop':
    case 'if':
      return false
  }
}

function without(loop: Loop, moved: ReadonlySet<Node>): Loop {
  const body = loop.body.filter((node) => !moved.has(node))
  return { ...loop, body: body.map((node) => (node.kind === 'block' ? without(node, moved) : node)) }
}

function forEach(nodes: readonly Node[], visit: (node: Node) => void): void {
  for (const node of nodes) {
    forEach(node.operands, visit)
    visit(node)
    if ('body' in node) forEach(node.body, visit)
    if ('otherwise' in node) forEach(node.otherwise ?? [], visit)
  }
}
