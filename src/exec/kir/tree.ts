/**
 * Code as trees: an instruction with the instructions that compute its operands, a block with the code inside it.
 *
 *     local.get 0; f64.const 0.5; f64.mul      becomes      mul of (get, const)
 */
import { Bug } from '../../core/errors.ts'
import { type Code, flat, type Instruction, OP } from './instructions.ts'
import type { Import, KernelModule } from './kernelModule.ts'
import type { Closing } from './namedOperations.ts'

/** A block as a target of branches, which leave it, or go to the start of a loop. */
export interface Label {
  /** The number of the block, counted from 0 in the order in which blocks begin. */
  readonly number: number
  /** Whether a branch targets the block. */
  used: boolean
}

type Block = Extract<Instruction, { readonly result: unknown }>
type Branch = Extract<Instruction, { readonly depth: number }>
type Simple = Exclude<Instruction, Block | Branch | Closing>

/** An instruction with its operands as subtrees. Operands that are missing here were left on the stack by the instructions before it. */
export type Node = { readonly operands: readonly Node[]; readonly takes: number; readonly gives: 0 | 1 } & (
  | Simple
  | { readonly kind: 'branch'; readonly name: 'br' | 'br_if'; readonly label: Label; readonly depth: number }
  | { readonly kind: 'block' | 'loop'; readonly result: Block['result']; readonly label: Label; readonly body: readonly Node[] }
  | {
      readonly kind: 'if'
      readonly result: Block['result']
      readonly label: Label
      readonly body: readonly Node[]
      readonly otherwise: readonly Node[] | undefined
    }
)

/** Returns the name of an instruction in the text form. */
export function nameOf(one: Node | Instruction): string {
  switch (one.kind) {
    case 'plain':
      return one.operation.name
    case 'const':
      return `${one.type}.const`
    case 'vector':
      return 'v128.const'
    case 'shuffle':
      return 'i8x16.shuffle'
    case 'local':
    case 'branch':
      return one.name
    case 'global':
      return 'global.get'
    case 'call':
    case 'block':
    case 'loop':
    case 'if':
    case 'else':
    case 'end':
      return one.kind
  }
}

/** Builds the trees of a kernel's body, in the order of execution. */
export function treesOf({ body, imports }: Pick<KernelModule, 'body' | 'imports'>): readonly Node[] {
  const functions = imports.flatMap((entry) => (entry.kind === 'function' ? [entry] : []))
  return new Folding(flat(body), functions).sequence().nodes
}

/** The instruction that a node is written as, and code to follow it. */
export interface Written {
  readonly instruction: Exclude<Instruction, Closing>
  readonly after?: Code
}

/** Writes trees as code: the inverse of `treesOf`, unless `write` replaces instructions. */
export function codeOf(nodes: readonly Node[], write: (node: Node) => Written = (node) => ({ instruction: node })): Code {
  return nodes.map((node) => {
    const { instruction, after = [] } = write(node)
    const operands = codeOf(node.operands, write)
    if (!('body' in node)) return [operands, instruction, after]
    const otherwise = node.kind === 'if' && node.otherwise !== undefined ? [OP.else, codeOf(node.otherwise, write)] : []
    return [operands, instruction, codeOf(node.body, write), otherwise, OP.end, after]
  })
}

type Signature = Pick<Extract<Import, { kind: 'function' }>, 'parameters' | 'results'>

class Folding {
  readonly #instructions: readonly Instruction[]
  readonly #functions: readonly Signature[]
  readonly #labels: Label[] = []
  #blocks = 0
  #at = 0

  constructor(instructions: readonly Instruction[], functions: readonly Signature[]) {
    this.#instructions = instructions
    this.#functions = functions
  }

  /** Reads nodes up to the `end` or `else` that closes the block, or to the end of the body. */
  sequence(): { readonly nodes: readonly Node[]; readonly closedBy: 'end' | 'else' } {
    const nodes: Node[] = []
    for (;;) {
      const one = this.#instructions[this.#at++]
      if (one === undefined) return { nodes, closedBy: 'end' }
      if (isClosing(one)) return { nodes, closedBy: one.kind }
      nodes.push(this.#node(one, nodes))
    }
  }

  #node(one: Exclude<Instruction, Closing>, before: Node[]): Node {
    switch (one.kind) {
      case 'plain': {
        const { takes, gives } = one.operation
        return { ...one, operands: taken(before, takes.length), takes: takes.length, gives: gives === undefined ? 0 : 1 }
      }
      case 'const':
      case 'vector':
      case 'global':
        return { ...one, operands: [], takes: 0, gives: 1 }
      case 'shuffle':
        return { ...one, operands: taken(before, 2), takes: 2, gives: 1 }
      case 'local': {
        const takes = one.name === 'local.get' ? 0 : 1
        return { ...one, operands: taken(before, takes), takes, gives: one.name === 'local.set' ? 0 : 1 }
      }
      case 'call': {
        const { parameters, results } = this.#functions[one.index] ?? { parameters: [], results: [] }
        return { ...one, operands: taken(before, parameters.length), takes: parameters.length, gives: results.length === 0 ? 0 : 1 }
      }
      case 'branch': {
        const takes = one.name === 'br' ? 0 : 1
        return { ...one, label: this.#label(one.depth), operands: taken(before, takes), takes, gives: 0 }
      }
      case 'block':
      case 'loop':
      case 'if':
        return this.#block(one, one.kind === 'if' ? taken(before, 1) : [])
    }
  }

  #block({ kind, result }: Block, operands: readonly Node[]): Node {
    const label: Label = { number: this.#blocks++, used: false }
    this.#labels.push(label)
    const { nodes: body, closedBy } = this.sequence()
    const otherwise = closedBy === 'else' ? this.sequence().nodes : undefined
    this.#labels.pop()
    const gives = result === undefined ? 0 : 1
    if (kind === 'if') return { kind, result, label, body, otherwise, operands, takes: 1, gives }
    return { kind, result, label, body, operands, takes: 0, gives }
  }

  #label(depth: number): Label {
    const label = this.#labels[this.#labels.length - 1 - depth]
    if (label === undefined) throw new Bug('A kernel leaves a block that does not enclose it.')
    label.used = true
    return label
  }
}

function isClosing(one: Instruction): one is Closing {
  return one.kind === 'end' || one.kind === 'else'
}

/** Removes and returns the last nodes, at most so many, as far as each leaves a value: they are the operands of the next. */
function taken(before: Node[], most: number): readonly Node[] {
  let count = 0
  while (count < most && before[before.length - 1 - count]?.gives === 1) count++
  return before.splice(before.length - count)
}
