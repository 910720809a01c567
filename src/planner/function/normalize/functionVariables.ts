/**
 * Variables that are given one of several functions, and are called: the variable keeps which of them it is.
 *
 *     let f = up                            let f = 0
 *     if (v > 9) f = down            -->    if (v > 9) f = 1
 *     y = f(x)                              y = [up, down][f](x)
 *     f = f === up ? down : up              f = f === 0 ? 1 : 0
 *
 * Legal where each of the functions is captured, or has a name in a block around the variable that is given once, before; and where the
 * variable is called, compared with one of them, or given another, and nothing else. One that is given none before its first call is the
 * TypeError that it was: no function has its number.
 */
import type { AnyNode, Expression, Identifier, MemberExpression } from 'acorn'
import { hasTraps } from '../captures/traps.ts'
import type { Free } from '../free.ts'
import { childNodes, type FunctionNode, isFunctionNode, mapChildren } from '../source/ast.ts'
import type { Binding, Names } from '../source/scope.ts'
import { assignedIn } from './assigned.ts'
import { number } from './chosenLists.ts'

interface Declared {
  readonly init: Expression | null | undefined
  readonly end: number
  /** The block in which the declaration is a statement. */
  readonly block: AnyNode
}

interface Use {
  readonly node: Identifier
  readonly parents: readonly AnyNode[]
}

/** Most functions that a variable stands for. */
const MOST_CHOSEN = 8
/** The number of a variable that has no function yet. */
const NONE = -1

export function withFunctionVariables(root: FunctionNode, { bindingOf, free }: Names, freeOf: (node: Identifier) => Free): FunctionNode {
  const declared = new Map<Binding, Declared>()
  const uses = new Map<Binding, Use[]>()
  const look = (node: AnyNode, parents: readonly AnyNode[]): void => {
    const binding = node.type === 'Identifier' ? bindingOf.get(node) : undefined
    if (binding !== undefined && node.type === 'Identifier') {
      const [block, statement, declarator] = parents.slice(-3)
      if (declarator?.type === 'VariableDeclarator' && declarator.id === node && statement?.type === 'VariableDeclaration') {
        if (block?.type === 'BlockStatement') declared.set(binding, { init: declarator.init, end: declarator.end, block })
      } else uses.set(binding, [...(uses.get(binding) ?? []), { node, parents }])
    }
    for (const child of childNodes(node)) look(child, [...parents, node])
  }
  const isGiven = (one: Binding): boolean => one.kind === 'let' && one.assignments > 0
  if (![...bindingOf.values()].some(isGiven)) return root
  look(root, [])

  /** The functions that an expression chooses from, by a text for each; undefined for other expressions. */
  const functionsOf = (node: Expression, before: Declared): ReadonlyMap<unknown, Expression> | undefined => {
    if (node.type === 'ParenthesizedExpression') return functionsOf(node.expression, before)
    if (node.type === 'ConditionalExpression') {
      const [then, other] = [functionsOf(node.consequent, before), functionsOf(node.alternate, before)]
      return then && other && new Map([...then, ...other])
    }
    const id = idOf(node, before)
    return id === undefined ? undefined : new Map([[id, node]])
  }
  /** What tells a function from others: its declaration, or the value that is captured. */
  const idOf = (node: Expression, { end, block }: Declared): unknown => {
    if (node.type === 'MemberExpression') return memberOf(node)
    if (node.type !== 'Identifier') return undefined
    const binding = bindingOf.get(node)
    if (binding === undefined) {
      const meaning = free.has(node) ? freeOf(node) : undefined
      return meaning?.kind === 'captured' && typeof meaning.value === 'function' ? meaning.value : undefined
    }
    const made = declared.get(binding)
    const isFunction = made?.init != null && isFunctionNode(made.init)
    const isBefore = isFunction && binding.declarators === 1 && binding.assignments === 0 && made.end <= end
    return isBefore && made.block.start <= block.start && block.end <= made.block.end ? binding : undefined
  }

  /** The function that an object of the program or of the platform has under a name: `Math.sin`, `ops.add`. */
  const memberOf = ({ object, property, computed }: MemberExpression): unknown => {
    if (object.type !== 'Identifier' || !free.has(object) || computed || property.type !== 'Identifier') return undefined
    const { kind, value } = freeOf(object) as { readonly kind: string; readonly value?: unknown }
    if (kind === 'absent' || typeof value !== 'object' || value === null || hasTraps(value)) return undefined
    const own: unknown = Object.getOwnPropertyDescriptor(value, property.name)?.value
    return typeof own === 'function' ? own : undefined
  }

  const chosen = new Map<Binding, ReadonlyMap<unknown, Expression>>()
  for (const [binding, made] of declared) {
    if (binding.kind !== 'let' || binding.declarators !== 1 || binding.assignments === 0) continue
    const all = new Map<unknown, Expression>()
    const add = (node: Expression): boolean => {
      const functions = functionsOf(node, made)
      for (const [id, one] of functions ?? []) if (!all.has(id)) all.set(id, one)
      return functions !== undefined
    }
    const isKnown = (uses.get(binding) ?? []).every(({ node, parents }) => {
      const given = assignedIn(node, parents)
      if (given !== undefined) return add(given)
      const compared = comparedWith(node, parents)
      return isCallee(node, parents) || (compared !== undefined && add(compared))
    })
    if (isKnown && (made.init == null || add(made.init)) && all.size <= MOST_CHOSEN) chosen.set(binding, all)
  }
  if (chosen.size === 0) return root

  const chosenAt = (node: AnyNode): Binding | undefined => {
    const binding = node.type === 'Identifier' ? bindingOf.get(node) : undefined
    return binding && chosen.has(binding) ? binding : undefined
  }
  const numbered = (node: Expression, of: Binding): Expression => {
    const [functions, made] = [chosen.get(of), declared.get(of)]
    if (node.type === 'ParenthesizedExpression') return numbered(node.expression, of)
    if (node.type === 'ConditionalExpression')
      return {
        ...node,
        test: change(node.test) as Expression,
        consequent: numbered(node.consequent, of),
        alternate: numbered(node.alternate, of),
      }
    if (functions === undefined || made === undefined || chosenAt(node) === of) return node
    return number([...functions.keys()].indexOf(idOf(node, made)), node)
  }
  const change = (node: AnyNode): AnyNode => {
    if (node.type === 'VariableDeclarator') {
      const of = chosenAt(node.id)
      if (of !== undefined) return { ...node, init: node.init ? numbered(node.init, of) : number(NONE, node.id) }
    }
    if (node.type === 'AssignmentExpression') {
      const of = chosenAt(node.left)
      if (of !== undefined) return { ...node, right: numbered(node.right, of) }
    }
    if (node.type === 'BinaryExpression' && node.left.type !== 'PrivateIdentifier') {
      const of = chosenAt(node.left) ?? chosenAt(node.right)
      if (of !== undefined) return { ...node, left: numbered(node.left, of), right: numbered(node.right, of) }
    }
    const of = node.type === 'CallExpression' ? chosenAt(node.callee) : undefined
    if (node.type !== 'CallExpression' || of === undefined) return mapChildren(node, change)
    const { start, end } = node.callee
    const elements = [...(chosen.get(of)?.values() ?? [])]
    const callee: Expression = {
      type: 'MemberExpression',
      object: { type: 'ArrayExpression', elements, start, end },
      property: node.callee as Identifier, // whose binding was just found
      computed: true,
      optional: false,
      start,
      end,
    }
    return { ...node, callee, arguments: node.arguments.map(change) as typeof node.arguments }
  }
  return change(root) as FunctionNode
}

function isCallee(node: Identifier, parents: readonly AnyNode[]): boolean {
  const call = parents.at(-1)
  return call?.type === 'CallExpression' && call.callee === node && !call.optional
}

/** Returns what a variable is compared with, where that tells which of two functions it is; undefined for other uses. */
function comparedWith(node: Identifier, parents: readonly AnyNode[]): Expression | undefined {
  const test = parents.at(-1)
  if (test?.type !== 'BinaryExpression' || !/^[!=]==?$/.test(test.operator) || test.left.type === 'PrivateIdentifier') return undefined
  return test.left === node ? test.right : test.left
}
