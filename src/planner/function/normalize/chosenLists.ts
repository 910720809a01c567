/**
 * Names for one of several lists, Sets or Maps: the name keeps which of them it is, and what is done with it is done with the one or the other.
 *
 *     const to = v < 0 ? negative : positive        const to = v < 0 ? 0 : 1
 *     to.push(v)                             -->    to === 0 ? negative.push(v) : positive.push(v)
 *     to[0] += v                                    to === 0 ? negative[0] += v : positive[0] += v
 *
 * Legal where each of the collections has one name, which is given once, before the new name is: in a block around it, as a statement of its
 * own. A name that is used for more than elements, the length and what is put in, as an argument, stays as it is; so does one of
 * arrays that no list literal makes, which are chosen by their numbers (`movedArrays.ts`).
 */
import type { AnyNode, ArrayExpression, Expression, Identifier, MemberExpression, NewExpression, VariableDeclarator } from 'acorn'
import { childNodes, type FunctionNode, isFunctionNode, mapChildren } from '../source/ast.ts'
import type { Binding, Names } from '../source/scope.ts'
import { assignedIn } from './assigned.ts'

interface Declared {
  readonly declarator: VariableDeclarator
  /** The block in which the declaration is a statement. */
  readonly block: AnyNode
}

interface Use {
  readonly node: Identifier
  readonly parents: readonly AnyNode[]
}

/** Most collections that a name stands for. */
const MOST_CHOSEN = 4

export function withChosenLists(root: FunctionNode, { bindingOf }: Names): FunctionNode {
  if (!mayChoose(root)) return root
  const declared = new Map<Binding, Declared>()
  const uses = new Map<Binding, Use[]>()
  const look = (node: AnyNode, parents: readonly AnyNode[]): void => {
    const [block, declaration] = [parents.at(-2), parents.at(-1)]
    const binding = node.type === 'Identifier' ? bindingOf.get(node) : undefined
    if (binding !== undefined && node.type === 'Identifier') {
      if (declaration?.type === 'VariableDeclarator' && declaration.id === node && parents.at(-3)?.type === 'BlockStatement')
        declared.set(binding, { declarator: declaration, block: parents.at(-3) ?? block ?? root })
      else uses.set(binding, [...(uses.get(binding) ?? []), { node, parents }])
    }
    for (const child of childNodes(node)) look(child, [...parents, node])
  }
  look(root, [])

  /** Returns the collections that an expression chooses from; undefined for other expressions. */
  const listsOf = (node: Expression | null | undefined, before: AnyNode): readonly Identifier[] | undefined => {
    if (node?.type === 'Identifier') return isCollection(node, before) ? [node] : undefined
    if (node?.type !== 'ConditionalExpression') return undefined
    const [then, other] = [listsOf(node.consequent, before), listsOf(node.alternate, before)]
    return then && other && [...then, ...other]
  }
  const isCollection = (node: Identifier, { start, end }: AnyNode): boolean => {
    const binding = bindingOf.get(node)
    const made = binding && declared.get(binding)
    if (binding?.declarators !== 1 || binding.assignments > 0 || made === undefined || !isMade(made.declarator.init)) return false
    return made.declarator.end <= start && made.block.start <= start && end <= made.block.end
  }

  const chosen = new Map<Binding, readonly Identifier[]>()
  for (const [binding, { declarator, block }] of declared) {
    if (binding.declarators !== 1) continue
    const first = listsOf(declarator.init, declarator)
    if (first === undefined) continue
    const all = new Map(first.map((node) => [bindingOf.get(node), node] as const))
    const isKnown = (uses.get(binding) ?? []).every(({ node, parents }) => {
      if (node.start < declarator.end || node.start < block.start || node.end > block.end) return false
      const given = assignedIn(node, parents)
      const lists = given && listsOf(given, declarator)
      for (const one of lists ?? []) all.set(bindingOf.get(one), one)
      return given === undefined ? isSimple(node, parents) : lists !== undefined
    })
    const isOne = first.length === 1 && binding.assignments === 0
    if (isKnown && !isOne && all.size <= MOST_CHOSEN && !all.has(binding)) chosen.set(binding, [...all.values()])
  }
  if (chosen.size === 0) return root

  const chosenAt = (node: AnyNode): readonly Identifier[] | undefined => {
    const binding = node.type === 'Identifier' ? bindingOf.get(node) : undefined
    return binding && chosen.get(binding)
  }
  /** Returns the choice with the number of each collection in its place. */
  const numbered = (node: Expression, lists: readonly Identifier[]): Expression => {
    if (node.type !== 'ConditionalExpression')
      return number(
        lists.findIndex((one) => sameName(one, node)),
        node,
      )
    const { test, consequent, alternate } = node
    return { ...node, test: change(test) as Expression, consequent: numbered(consequent, lists), alternate: numbered(alternate, lists) }
  }
  const sameName = (a: Identifier, b: Expression): boolean => b.type === 'Identifier' && bindingOf.get(a) === bindingOf.get(b)
  const change = (node: AnyNode): AnyNode => {
    if (node.type === 'VariableDeclarator' || node.type === 'AssignmentExpression') {
      const [to, given] = node.type === 'VariableDeclarator' ? [node.id, node.init] : [node.left, node.right]
      const lists = chosenAt(to)
      if (lists !== undefined && given != null)
        return { ...node, [node.type === 'VariableDeclarator' ? 'init' : 'right']: numbered(given, lists) } as AnyNode
    }
    const of = placeOf(node)?.object
    const lists = of && chosenAt(of)
    if (lists === undefined) return mapChildren(node, change)
    const { start, end } = node
    const each = lists.map((list) => change(withObject(node, list)) as Expression)
    return each.reduceRight((otherwise, one, k): Expression => {
      const test: Expression = { type: 'BinaryExpression', operator: '===', left: of as Identifier, right: number(k, node), start, end }
      return { type: 'ConditionalExpression', test, consequent: one, alternate: otherwise, start, end }
    })
  }
  return change(root) as FunctionNode
}

export function number(value: number, { start, end }: AnyNode): Expression {
  return { type: 'Literal', value, raw: String(value), start, end }
}

/** Whether a name is declared with one of two names, or given another one. */
function mayChoose(node: AnyNode): boolean {
  if (node.type === 'VariableDeclarator' && node.init?.type === 'ConditionalExpression' && isChoice(node.init)) return true
  if (node.type === 'AssignmentExpression' && node.left.type === 'Identifier' && node.right.type === 'Identifier') return true
  return childNodes(node).some(mayChoose)
}

function isChoice(node: Expression): boolean {
  return node.type === 'Identifier' || (node.type === 'ConditionalExpression' && isChoice(node.consequent) && isChoice(node.alternate))
}

/** Whether an expression makes a list of scalars, a Set or a Map. */
function isMade(node: Expression | null | undefined): node is ArrayExpression | NewExpression {
  if (node?.type === 'NewExpression') return node.callee.type === 'Identifier' && /^(Set|Map)$/.test(node.callee.name)
  const isScalar = (one: AnyNode | null): boolean => one !== null && !/^(SpreadElement|ArrayExpression|ObjectExpression)$/.test(one.type)
  return node?.type === 'ArrayExpression' && node.elements.every(isScalar)
}

const CALLED = /^(push|unshift|add|set|get|has|delete)$/

/** Whether all that is used is an element, the length, or a call that puts something in, which may be written twice. */
function isSimple(node: Identifier, parents: readonly AnyNode[]): boolean {
  const [above, member] = [parents.at(-2), parents.at(-1)]
  if (member?.type !== 'MemberExpression' || member.object !== node || member.optional) return false
  const whole = above !== undefined && placeOf(above) === member ? above : member
  if (hasFunction(whole) || isTarget(member, parents)) return false
  if (member.computed) return above?.type !== 'CallExpression' || above.callee !== member
  if (member.property.type !== 'Identifier') return false
  if (/^(length|size)$/.test(member.property.name)) return whole === member
  return CALLED.test(member.property.name) && above?.type === 'CallExpression' && above.callee === member && !above.optional
}

/** Whether a member is assigned as a part of a pattern, or deleted. */
function isTarget(member: AnyNode, parents: readonly AnyNode[]): boolean {
  const [around, above] = [parents.at(-3), parents.at(-2)]
  switch (above?.type) {
    case 'UnaryExpression':
      return above.operator === 'delete'
    case 'ForOfStatement':
    case 'ForInStatement':
      return above.left === member
    case 'Property':
      return around?.type === 'ObjectPattern'
    case 'ArrayPattern':
    case 'AssignmentPattern':
    case 'RestElement':
      return true
    default:
      return false
  }
}

/** The member that an expression is, assigns, changes or calls; undefined for other nodes. */
function placeOf(node: AnyNode): MemberExpression | undefined {
  const at =
    node.type === 'AssignmentExpression'
      ? node.left
      : node.type === 'UpdateExpression'
        ? node.argument
        : node.type === 'CallExpression'
          ? node.callee
          : node
  return at.type === 'MemberExpression' ? at : undefined
}

/** Returns the expression with another object of its member. */
function withObject(node: AnyNode, object: Identifier): AnyNode {
  const of = placeOf(node)
  if (of === undefined) return node
  const member = { ...of, object }
  if (node.type === 'AssignmentExpression') return { ...node, left: member }
  if (node.type === 'UpdateExpression') return { ...node, argument: member }
  return node.type === 'CallExpression' ? { ...node, callee: member } : member
}

function hasFunction(node: AnyNode): boolean {
  return isFunctionNode(node) || childNodes(node).some(hasFunction)
}
