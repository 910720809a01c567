/**
 * Restores `??` and `?.` from the form in which tsc writes them below ES2020.
 *
 *     (_a = x) !== null && _a !== void 0 ? _a : y      x ?? y
 *     (_a = x) === null || _a === void 0 ? void 0 : _a.b      x?.b
 *
 * Also without `_a` where x is a plain name. Sound because `_a` is local, assigned here only and read here only.
 */
import type { AnyNode, ChainExpression, Expression, LogicalExpression } from 'acorn'
import type { Binding, Names } from '../source/scope.ts'

export function unlowerOptional(node: AnyNode, names: Names): AnyNode {
  if (node.type !== 'ConditionalExpression') return node
  const { consequent, alternate } = node
  const tested = nullTest(node.test, names)
  if (tested === undefined) return node
  const place = { start: node.start, end: node.end }
  if (!tested.nullish) {
    if (consequent.type !== 'Identifier' || consequent.name !== tested.name) return node
    drop(tested.temporary)
    const made: LogicalExpression = { type: 'LogicalExpression', operator: '??', left: tested.value, right: alternate, ...place }
    return made
  }
  const expression = isVoid(consequent) ? withOptionalHead(alternate, tested.name, tested.value) : undefined
  if (expression === undefined) return node
  drop(tested.temporary)
  const made: ChainExpression = { type: 'ChainExpression', expression, ...place }
  return made
}

function drop(binding: Binding | undefined): void {
  if (binding !== undefined) binding.dropped = true
}

interface NullTest {
  /** Whether the test holds for null and undefined, or for everything else. */
  readonly nullish: boolean
  readonly value: Expression
  /** The name of the value in the branches. */
  readonly name: string
  readonly temporary: Binding | undefined
}

/** Recognizes `x === null || x === void 0`, `x == null` (esbuild) and their negations; x or its temporary is assigned in the first. */
function nullTest(test: Expression, names: Names): NullTest | undefined {
  let first: AnyNode
  let nullish: boolean
  let uses = 2
  let second: AnyNode | undefined
  if (test.type === 'LogicalExpression') {
    nullish = test.operator === '||'
    const operator = nullish ? '===' : '!=='
    const { left, right } = test
    if (test.operator === '??' || left.type !== 'BinaryExpression' || left.operator !== operator || !isNull(left.right)) return undefined
    if (right.type !== 'BinaryExpression' || right.operator !== operator || !isVoid(right.right)) return undefined
    first = left.left
    second = right.left
    uses = 3
  } else if (test.type === 'BinaryExpression' && (test.operator === '!=' || test.operator === '==') && isNull(test.right)) {
    nullish = test.operator === '=='
    first = test.left
  } else return undefined
  const inner = first.type === 'ParenthesizedExpression' ? first.expression : first
  if (inner.type === 'Identifier') {
    const same = second === undefined || (second.type === 'Identifier' && second.name === inner.name)
    return same ? { nullish, value: inner, name: inner.name, temporary: undefined } : undefined
  }
  if (inner.type !== 'AssignmentExpression' || inner.operator !== '=' || inner.left.type !== 'Identifier') return undefined
  const { name } = inner.left
  if (second !== undefined && (second.type !== 'Identifier' || second.name !== name)) return undefined
  const binding = names.bindingOf.get(inner.left)
  const isTemporary = binding?.kind === 'var' && binding.assignments === 1 && !binding.initialized && binding.uses.length === uses
  return isTemporary ? { nullish, value: inner.right, name, temporary: binding } : undefined
}

/** Returns `_a.b.c` as `value?.b.c`; undefined where the head is not `_a`. */
function withOptionalHead(node: Expression, name: string, value: Expression): ChainExpression['expression'] | undefined {
  if (node.type === 'MemberExpression') {
    if (node.object.type === 'Identifier' && node.object.name === name) return { ...node, object: value, optional: true }
    const object = node.object.type === 'Super' ? undefined : withOptionalHead(node.object, name, value)
    return object === undefined ? undefined : { ...node, object }
  }
  if (node.type === 'CallExpression' && node.callee.type !== 'Super') {
    const callee = withOptionalHead(node.callee, name, value)
    return callee === undefined ? undefined : { ...node, callee }
  }
  return undefined
}

function isNull(node: AnyNode): boolean {
  return node.type === 'Literal' && node.value === null && node.raw === 'null'
}

function isVoid(node: AnyNode): boolean {
  return node.type === 'UnaryExpression' && node.operator === 'void' && node.argument.type === 'Literal'
}
