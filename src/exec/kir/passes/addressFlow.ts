/**
 * Data-flow analysis of addresses: which values of a kernel are addresses, and which are distances that are added to them. The sources
 * of addresses are marked parameters and imported numbers, and loads from memory that are marked as addresses.
 *
 *     address     a source, or an address plus a number of bytes; a local that is set to one anywhere
 *     stride      an imported number of elements between rows, its multiples, and sums with it
 */
import { Bug } from '../../../core/errors.ts'
import { globalsOf, type KernelModule } from '../kernelModule.ts'
import { type Node, nameOf } from '../tree.ts'

export class AddressFlow {
  /** Instructions whose value no other takes, also those inside blocks. */
  readonly roots: readonly Node[]
  /** Locals that may hold distances of 64 bits: optimistic at first, `wideAddresses.ts` removes those that are used as numbers. */
  readonly distances: Set<number> = new Set()
  readonly #operands = new Map<Node, readonly Node[]>()
  readonly #module: KernelModule
  /** The imported numbers by index. */
  readonly #globals: readonly ReturnType<typeof globalsOf>[number][]
  readonly #addresses: Set<number>
  readonly #strides = new Set<number>()
  #known = new Map<Node, boolean>()

  /** Analyses `module`; `trees` are those of its body. */
  constructor(module: KernelModule, trees: readonly Node[]) {
    this.#module = module
    this.#globals = globalsOf(module)
    this.#addresses = new Set(module.parameters.flatMap((type, i) => (type === 'address' ? [i] : [])))
    const roots: Node[] = []
    this.#link(trees, roots)
    this.roots = roots
    const sets = [...this.#operands.keys()].filter((node) => node.kind === 'local' && node.name !== 'local.get')
    this.#spread(sets)
    const first = module.parameters.length
    for (const [i, type] of module.locals.entries()) if (type === 'i32' && !this.#addresses.has(first + i)) this.distances.add(first + i)
    this.#keepStrides(sets)
  }

  /** Returns the operands of an instruction, in order: its subtrees, after values that instructions before it left on the stack. */
  operandsOf(node: Node): readonly Node[] {
    return this.#operands.get(node) ?? []
  }

  /** Whether a local has 64 bits. */
  isWide(local: number): boolean {
    return this.#addresses.has(local) || this.distances.has(local)
  }

  isAddress(node: Node): boolean {
    let known = this.#known.get(node)
    if (known === undefined) this.#known.set(node, (known = this.#makesAddress(node)))
    return known
  }

  /** Whether an instruction subtracts one address from another. */
  isBetweenAddresses(node: Node): boolean {
    return isNamed(node, 'i32.sub') && this.operandsOf(node).every((operand) => this.isAddress(operand))
  }

  /** Whether a value is a number of elements or bytes between rows, or a sum with one. */
  isStride(node: Node): boolean {
    switch (node.kind) {
      case 'global':
        return this.#globals[node.index]?.type === 'stride'
      case 'local':
        return this.#strides.has(node.index)
      case 'plain': {
        const operands = this.operandsOf(node)
        if (isNamed(node, 'i32.shl')) return operands[0] !== undefined && this.isStride(operands[0]) && isNamed(operands[1], 'i32.const')
        return /^i32\.(add|sub|mul)$/.test(nameOf(node)) && operands.some((operand) => this.isStride(operand))
      }
      default:
        return false
    }
  }

  /** Whether a value is a number of bytes: elements scaled by a constant shift, or a sum with such or with a stride. */
  isShifted(node: Node): boolean {
    const operands = this.operandsOf(node)
    if (isNamed(node, 'i32.shl')) return isNamed(operands[1], 'i32.const')
    return (isNamed(node, 'i32.add') || isNamed(node, 'i32.sub')) && operands.some((one) => this.isShifted(one) || this.isStride(one))
  }

  #makesAddress(node: Node): boolean {
    const [first, second] = this.operandsOf(node).map((operand) => this.isAddress(operand))
    if (node.kind === 'local') return node.name !== 'local.set' && this.#addresses.has(node.index)
    if (node.kind === 'global') return this.#globals[node.index]?.type === 'address'
    if (node.kind !== 'plain') return false
    switch (nameOf(node)) {
      case 'i32.load':
        return isAddressAccess(node)
      case 'i32.add':
        if (first === true && second === true) throw new Bug('A kernel adds two addresses.')
        return first === true || second === true
      case 'i32.sub':
        if (first !== true && second === true) throw new Bug('A kernel takes an address from a number.')
        return first === true && second !== true
      case 'select':
        return first === true || second === true
      default:
        return false
    }
  }

  /** Marks locals that are set to addresses, until no more are found. */
  #spread(sets: readonly Node[]): void {
    for (let grows = true; grows; ) {
      grows = false
      this.#known = new Map()
      for (const node of sets) {
        const [value] = this.operandsOf(node)
        if (node.kind !== 'local' || value === undefined || this.#addresses.has(node.index) || !this.isAddress(value)) continue
        if (node.index < this.#module.parameters.length) throw new Bug('A kernel keeps an address where a number came.')
        this.#addresses.add(node.index)
        grows = true
      }
    }
    this.#known = new Map()
  }

  /** Keeps those locals as strides that are only set to strides. */
  #keepStrides(sets: readonly Node[]): void {
    for (const node of sets) if (node.kind === 'local' && !this.#addresses.has(node.index)) this.#strides.add(node.index)
    for (let shrinks = true; shrinks; ) {
      shrinks = false
      for (const node of sets) {
        const [value] = this.operandsOf(node)
        if (node.kind !== 'local' || !this.#strides.has(node.index) || (value !== undefined && this.isStride(value))) continue
        this.#strides.delete(node.index)
        shrinks = true
      }
    }
  }

  /** Assigns to instructions with missing operands the values left by the instructions before them; each value is taken once. */
  #link(nodes: readonly Node[], roots: Node[]): void {
    const left: Node[] = []
    const visit = (node: Node): void => {
      for (const operand of node.operands) visit(operand)
      const missing = Math.min(node.takes - node.operands.length, left.length)
      this.#operands.set(node, [...left.splice(left.length - missing), ...node.operands])
      if (node.kind === 'block' || node.kind === 'loop' || node.kind === 'if') this.#link(node.body, roots)
      if (node.kind === 'if' && node.otherwise !== undefined) this.#link(node.otherwise, roots)
    }
    for (const node of nodes) {
      visit(node)
      if (node.gives === 1) left.push(node)
      else roots.push(node)
    }
    roots.push(...left)
  }
}

/** Whether an instruction loads or stores an address, which the alignment marks: nothing else is aligned. */
export function isAddressAccess(node: Node): boolean {
  return node.kind === 'plain' && node.alignment !== 0 && (isNamed(node, 'i32.load') || isNamed(node, 'i32.store'))
}

function isNamed(node: Node | undefined, name: string): boolean {
  return node !== undefined && nameOf(node) === name
}
