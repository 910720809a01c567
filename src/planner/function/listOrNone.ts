/**
 * A list of a column that may be null, for which an empty one is written, as one of two expressions:
 *
 *     (r.tags ?? []).some(f)          r.tags != null ? r.tags.some(f) : [].some(f)
 *     r.tags?.filter(f).map(g) ?? []  r.tags != null ? r.tags.filter(f).map(g) : []
 *     r.tags ?? []                    r.tags != null ? r.tags : []
 *
 * Statement: both are the same to a program, since reading a column twice does nothing, and no method of a list that is asked for here gives
 * null or undefined where a list is wanted.
 */
import type {
  AnyNode,
  ArrayExpression,
  BinaryExpression,
  CallExpression,
  ConditionalExpression,
  Expression,
  Literal,
  MemberExpression,
} from 'acorn'
import type { Lowering } from './lower/lowering.ts'
import { isListColumn } from './rowLists.ts'

/** The expression as one of two; undefined for any other. */
export function listOrNone(l: Lowering, node: Expression): ConditionalExpression | undefined {
  if (node.type === 'LogicalExpression') {
    if (node.operator !== '??' || !isEmpty(node.right)) return undefined
    const asked = node.left.type === 'ChainExpression' ? withoutOptional(node.left.expression) : { list: node.left, whole: node.left }
    return asked && isList(l, asked.list) ? oneOf(node, asked.list, { none: node.right, some: asked.whole }) : undefined
  }
  const parts = either(node)
  return parts !== undefined && isList(l, parts.list) ? oneOf(node, parts.list, parts) : undefined
}

function isEmpty(node: AnyNode): node is ArrayExpression {
  return node.type === 'ArrayExpression' && node.elements.length === 0
}

/** Whether an expression names a column of lists, by names alone. */
function isList(l: Lowering, node: Expression): boolean {
  if (!isPath(node)) return false
  const value = l.verbs.value(l, node)
  return value.kind === 'expr' && isListColumn(l, value.expr)
}

function isPath(node: AnyNode): boolean {
  if (node.type === 'MemberExpression') return !node.computed && !node.optional && isPath(node.object)
  return node.type === 'Identifier'
}

interface Either {
  readonly list: Expression
  /** What is asked of the empty list, and of the other one. */
  readonly none: Expression
  readonly some: Expression
}

/** What a chain of members and calls asks of `list ?? []`; undefined for other chains. */
function either(node: Expression): Either | undefined {
  if (node.type === 'ParenthesizedExpression') return either(node.expression) ?? ofNone(node.expression)
  if (node.type === 'CallExpression') {
    if (node.optional || node.callee.type !== 'MemberExpression') return undefined
    const callee = either(node.callee)
    if (callee !== undefined && givesNone(callee.none, node)) {
      return { list: callee.list, none: callee.none.object, some: { ...node, callee: callee.some } }
    }
    return callee && { list: callee.list, none: { ...node, callee: callee.none }, some: { ...node, callee: callee.some } }
  }
  if (node.type !== 'MemberExpression' || node.optional || node.object.type === 'Super') return undefined
  const object = ofNone(node.object) ?? either(node.object)
  return object && { list: object.list, none: { ...node, object: object.none }, some: { ...node, object: object.some } }
}

/** Whether a method of an empty list gives such a list again, and does nothing else. */
function givesNone(
  callee: Expression,
  { arguments: args }: CallExpression,
): callee is MemberExpression & { readonly object: ArrayExpression } {
  if (callee.type !== 'MemberExpression' || !isEmpty(callee.object) || callee.computed || callee.property.type !== 'Identifier')
    return false
  return (
    GIVES_LIST.test(callee.property.name) && args.every(({ type }) => /^(ArrowFunctionExpression|FunctionExpression|Literal)$/.test(type))
  )
}

function ofNone(node: Expression): Either | undefined {
  const isOne = node.type === 'LogicalExpression' && node.operator === '??' && isEmpty(node.right)
  return isOne ? { list: node.left, none: node.right, some: node.left } : undefined
}

/** Methods of a list that give one again. */
const GIVES_LIST = /^(map|filter|slice|toSorted|toReversed)$/

/** The chain of methods behind `list?.`, without the question mark; undefined where there are others, or one gives no list. */
function withoutOptional(node: Expression): { readonly list: Expression; readonly whole: CallExpression } | undefined {
  if (node.type !== 'CallExpression' || node.optional || node.callee.type !== 'MemberExpression') return undefined
  const { callee } = node
  const { object, property, computed } = callee
  if (computed || property.type !== 'Identifier' || !GIVES_LIST.test(property.name) || object.type === 'Super') return undefined
  if (callee.optional) return { list: object, whole: { ...node, callee: { ...callee, optional: false } } }
  const inner = withoutOptional(object)
  return inner && { list: inner.list, whole: { ...node, callee: { ...callee, object: inner.whole } } }
}

function oneOf({ start, end }: Expression, list: Expression, { none, some }: Pick<Either, 'none' | 'some'>): ConditionalExpression {
  const nothing: Literal = { type: 'Literal', value: null, raw: 'null', start, end }
  const test: BinaryExpression = { type: 'BinaryExpression', operator: '!=', left: list, right: nothing, start, end }
  return { type: 'ConditionalExpression', test, consequent: some, alternate: none, start, end }
}
