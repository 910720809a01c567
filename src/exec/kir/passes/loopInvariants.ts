/**
 * Loop-invariant code: a local that a loop sets to the same in all iterations is set before it.
 *
 *     (loop (local.set $c (f64x2.splat (local.get $rate))) …)        (local.set $c (f64x2.splat (local.get $rate))) (loop …)
 *
 * Legal for a local that is set in one place, there by a statement of the loop itself or of a block in it, and read only
 * behind that, inside the loop; whose value comes of constants, of locals that the loop does not set, and of others that
 * have left it; and is computed by what neither reads memory nor fails, since the block may be left before it.
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
  /** How often a local is set. */
  readonly sets: ReadonlyMap<number, number>
  /** How often it is read. */
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

/** The statements of a loop that may leave it, in their order. */
function invariantsOf(loop: Loop, uses: Uses): readonly Node[] {
  const changing = new Set(usesOf(loop.body).sets.keys())
  const isSteady = (node: Node): boolean =>
    node.operands.length === node.takes &&
    isPure(node) &&
    !(node.kind === 'local' && changing.has(node.index)) &&
    node.operands.every(isSteady)
  const statements = statementsOf(loop)
  const readBehind = readsBehind(statements)
  return statements.filter((one, at) => {
    if (one.kind !== 'local' || one.name !== 'local.set' || uses.sets.get(one.index) !== 1) return false
    if (readBehind(one.index, at) !== uses.reads.get(one.index) || one.operands.length !== 1 || !one.operands.every(isSteady)) return false
    changing.delete(one.index)
    return true
  })
}

/** What a loop does in each iteration: its statements, and those of blocks in it. */
function statementsOf(block: Loop): readonly Node[] {
  return block.body.flatMap((node) => (node.kind === 'block' ? statementsOf(node) : [node]))
}

/** How often a local is read behind a statement. */
function readsBehind(statements: readonly Node[]): (local: number, at: number) => number | undefined {
  const places = new Map<number, number[]>()
  for (const [at, statement] of statements.entries()) {
    for (const [local, count] of usesOf([statement]).reads)
      for (let i = 0; i < count; i++) places.set(local, [...(places.get(local) ?? []), at])
  }
  return (local, at) => places.get(local)?.filter((place) => place > at).length
}

/** Whether the instruction itself gives the same of the same operands, and always gives. */
function isPure(node: Node): boolean {
  switch (node.kind) {
    case 'const':
    case 'vector':
    case 'shuffle':
    case 'global':
    case 'local': // what is set on the way changes
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
