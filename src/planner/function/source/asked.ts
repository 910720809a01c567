/**
 * Which elements and results a function asks whether they are there, by its text.
 *
 *     list[k] ?? 0        if (seen[k])        stack[top] === 5        const [a = 1] = list        const v = list[k]; if (v !== undefined) …
 *
 * JavaScript gives undefined for an element outside of its list. Where nobody asks, that is taken for an error of the program.
 */
import type { AnyNode, LogicalExpression } from 'acorn'
import type { Unit } from '../unit.ts'
import { childNodes, type FunctionNode, isFunctionNode } from './ast.ts'
import { type Binding, isLikeLet, type Names } from './scope.ts'

/** Whether only the truth of a value is asked for, which is false of what is not there, or more. */
export type Asking = 'truth' | 'value'

export interface Asked {
  /** Members, calls and parts of patterns that are asked for. */
  readonly places: ReadonlyMap<AnyNode, Asking>
  /** Those that a function returns: they are asked for as its call is, and by their value where a variable has it. */
  readonly returned: ReadonlyMap<AnyNode, Asking>
  /** What constants are given, and what stands before `?.`: an object there is the element itself, no copy of it. */
  readonly uncopied: ReadonlySet<AnyNode>
}

const known = new WeakMap<FunctionNode, Asked>()

export function askedIn({ node, names }: Pick<Unit, 'node' | 'names'>): Asked {
  const before = known.get(node)
  if (before !== undefined) return before
  const asked = new Finder(names).of(node)
  known.set(node, asked)
  return asked
}

/** What is asked of a, where this is asked of `a && b`, `a || b`, `a ?? b`. */
function leftOf({ operator }: LogicalExpression, asking: Asking | undefined): Asking {
  return operator === '??' ? 'value' : (asking ?? 'value')
}

class Finder {
  readonly #names: Names
  /** What variables are given: the expression, or the part of a pattern. */
  readonly #given: Map<Binding, AnyNode[]> = new Map()
  readonly #places: Map<AnyNode, Asking> = new Map()
  readonly #returned: Map<AnyNode, Asking> = new Map()
  readonly #uncopied: Set<AnyNode> = new Set()

  constructor(names: Names) {
    this.#names = names
  }

  of(root: FunctionNode): Asked {
    this.#note(root)
    this.#visit(root)
    return { places: this.#places, returned: this.#returned, uncopied: this.#uncopied }
  }

  /** Notes what variables are given, below a node. */
  #note(node: AnyNode): void {
    if (node.type === 'VariableDeclarator' && node.init != null) {
      const binding = node.id.type === 'Identifier' ? this.#names.bindingOf.get(node.id) : undefined
      if (binding?.assignments === 0 && binding.declarators === 1 && isLikeLet(binding)) this.#uncopied.add(node.init)
      this.#give(node.id, node.init)
    }
    if (node.type === 'AssignmentExpression' && /^(\|\||&&|\?\?)?=$/.test(node.operator)) this.#give(node.left, node.right)
    if (node.type === 'ArrayPattern') for (const part of node.elements) if (part !== null) this.#give(part, part)
    for (const child of childNodes(node)) this.#note(child)
  }

  #give(to: AnyNode, value: AnyNode): void {
    const target = to.type === 'AssignmentPattern' ? to.left : to
    const binding = target.type === 'Identifier' ? this.#names.bindingOf.get(target) : undefined
    if (binding !== undefined) this.#given.set(binding, [...(this.#given.get(binding) ?? []), value])
  }

  #visit(node: AnyNode): void {
    switch (node.type) {
      case 'LogicalExpression':
        // of `a || b` in a test, and of a in any, only the truth decides
        this.#mark(node.left, this.#places, node.operator === '||' ? 'truth' : leftOf(node, this.#places.get(node)))
        break
      case 'UnaryExpression':
        if (node.operator === '!') this.#mark(node.argument, this.#places, 'truth')
        break
      case 'IfStatement':
      case 'WhileStatement':
      case 'DoWhileStatement':
      case 'ConditionalExpression':
        this.#mark(node.test, this.#places, 'truth')
        break
      case 'ForStatement':
        if (node.test != null) this.#mark(node.test, this.#places, 'truth')
        break
      case 'SwitchStatement':
        this.#mark(node.discriminant, this.#places, 'value')
        break
      case 'AssignmentExpression':
        if (/^(\|\||&&|\?\?)=$/.test(node.operator)) this.#mark(node.left, this.#places, 'value')
        break
      case 'BinaryExpression':
        if (/^[!=]==?$/.test(node.operator)) for (const side of [node.left, node.right]) this.#mark(side, this.#places, 'value')
        break
      case 'MemberExpression':
        if (node.optional) {
          this.#mark(node.object, this.#places, 'value')
          this.#uncopied.add(node.object)
        }
        break
      case 'AssignmentPattern':
        this.#places.set(node, 'value')
        break
      case 'ReturnStatement':
        if (node.argument != null) this.#mark(node.argument, this.#returned, 'truth')
        break
      default:
        if (isFunctionNode(node) && node.body.type !== 'BlockStatement') this.#mark(node.body, this.#returned, 'truth')
    }
    for (const child of childNodes(node)) this.#visit(child)
  }

  /** Marks what an expression may have its value from. */
  #mark(node: AnyNode, as: Map<AnyNode, Asking>, asking: Asking): void {
    if (as.get(node) === 'value' || as.get(node) === asking) return
    switch (node.type) {
      case 'ParenthesizedExpression':
      case 'ChainExpression':
        this.#mark(node.expression, as, asking)
        return
      case 'ConditionalExpression':
        this.#mark(node.consequent, as, asking)
        this.#mark(node.alternate, as, asking)
        return
      case 'LogicalExpression':
        as.set(node, asking)
        this.#mark(node.left, as, leftOf(node, asking))
        this.#mark(node.right, as, asking)
        return
      case 'MemberExpression':
      case 'CallExpression':
      case 'AssignmentPattern':
        as.set(node, asking)
        return
      case 'Identifier': {
        const binding = this.#names.bindingOf.get(node)
        as.set(node, 'value')
        for (const given of (binding && this.#given.get(binding)) ?? []) this.#mark(given, as, 'value')
        return
      }
      default:
        return
    }
  }
}
