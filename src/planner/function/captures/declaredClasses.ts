/**
 * Classes that a function declares, `class Node { … }`: they are made once, outside of the function, and then are classes like captured ones
 * (`classes.ts`).
 *
 *     class A { … }  class B extends A { … rate … }    -->    new Function('rate', 'class A { … } class B extends A { … } return { A, B }')(rate)
 *
 * Legal since one class cannot be told from another with the same text: they name nothing of the function but each other, what else they name
 * is captured with the value that it has now, and nothing runs when they are made. A function that captures other values is lowered anew,
 * and then they are other classes.
 */
import type { AnyNode, Class, ClassDeclaration, ClassExpression, Identifier } from 'acorn'
import type { Primitive } from '../../../core/ir/functionIr.ts'
import type { Lowering } from '../lower/lowering.ts'
import { REFUSED, type Value } from '../lower/value.ts'
import { childNodes } from '../source/ast.ts'
import { printNode } from '../source/print.ts'
import type { AnyFunction } from '../unit.ts'
import { fromOutside } from './outside.ts'

type Classes = ReadonlyMap<string, AnyFunction>

/** Classes that were made, by the node of the first one of their block, which is another whenever the function is lowered anew. */
const known = new WeakMap<AnyNode, Classes>()
const declared = new WeakSet<object>()

/** Returns a static field of such a class, which nobody else can give another value; undefined for others. */
export function staticField(of: unknown, name: string): { readonly value: Primitive } | undefined {
  const own = typeof of === 'function' && declared.has(of) ? Object.getOwnPropertyDescriptor(of, name) : undefined
  const value = own?.value as unknown
  return own?.writable === true && (typeof value === 'number' || typeof value === 'boolean') ? { value } : undefined
}

/** Returns the classes that the statements of a block declare, by name; a class that cannot be made is refused where it stands. */
export function declaredClasses(l: Lowering, nodes: readonly AnyNode[]): ReadonlyMap<string, Value> {
  const all = nodes.flatMap((node) => (node.type === 'ClassDeclaration' && node.id !== null ? [node] : []))
  const [first] = all
  const values = new Map<string, Value>()
  if (first === undefined) return values
  const made = classesOf(l, first, all)
  for (const node of all) {
    const f = made?.get(node.id.name)
    values.set(node.id.name, f === undefined ? REFUSED : fromOutside(l, f, node.id.name, 'capture', node))
  }
  return values
}

/** Returns the class of `const Node = class { … }`. */
export function classExpression(l: Lowering, node: ClassExpression): Value {
  const name = node.id?.name ?? l.nameHint ?? 'Class'
  const id = { ...(node.id ?? { type: 'Identifier', start: node.start, end: node.start }), name } as Identifier
  const f = classesOf(l, node, [{ ...node, type: 'ClassDeclaration', id } as ClassDeclaration])?.get(name)
  return f === undefined ? REFUSED : fromOutside(l, f, name, 'capture', node)
}

function classesOf(l: Lowering, key: AnyNode, all: readonly ClassDeclaration[]): Classes | undefined {
  const nodes = all.map(withoutNames)
  const refused = nodes.find((node) => l.context.kind === 'row' || !isMadeWithoutEffects(node))
  if (refused !== undefined) {
    l.refuse(l.context.kind === 'row' ? 'class' : 'class-made', refused)
    return undefined
  }
  const before = known.get(key)
  if (before !== undefined) return before
  const outside = new Map<string, unknown>()
  const own = new Set(all.map(({ id }) => id.name))
  for (const node of nodes) if (!collectOutside(l, node, nodes, own, outside)) return undefined
  const text = `'use strict'; ${nodes.map(printNode).join('\n')}\nreturn { ${[...own].join(', ')} }`
  const made = new Function(...outside.keys(), text)(...outside.values()) as Record<string, AnyFunction> // what the text says
  const classes = new Map(Object.entries(made))
  known.set(key, classes)
  for (const f of classes.values()) declared.add(f)
  return classes
}

/** Drops what tools put into a class so that it keeps its name: `static { __name(this, "Node") }`. */
function withoutNames<C extends Class>(node: C): C {
  const isSelf = (one: AnyNode): boolean =>
    one.type === 'ThisExpression' || (one.type === 'CallExpression' && one.arguments[0]?.type === 'ThisExpression')
  const isName = (one: AnyNode): boolean =>
    one.type === 'StaticBlock' && one.body.every((statement) => statement.type === 'ExpressionStatement' && isSelf(statement.expression))
  const body = { ...node.body, body: node.body.body.filter((one) => !isName(one)) }
  return { ...node, body }
}

/** Whether nothing of the program runs when a class is made: no static block or value that is computed, and no computed name. */
function isMadeWithoutEffects({ superClass, body }: Class): boolean {
  if (superClass != null && superClass.type !== 'Identifier') return false
  return body.body.every((member) => {
    if (member.type === 'StaticBlock' || member.computed) return false
    return member.type !== 'PropertyDefinition' || !member.static || member.value == null || member.value.type === 'Literal'
  })
}

/** Collects what a class names outside of the function, with the values; false, with a refusal, where it names something of the function. */
function collectOutside(
  l: Lowering,
  node: AnyNode,
  all: readonly AnyNode[],
  own: ReadonlySet<string>,
  outside: Map<string, unknown>,
): boolean {
  if (node.type === 'Identifier') {
    const binding = l.unit.names.bindingOf.get(node)
    if (binding === undefined) {
      if (!l.unit.isFree(node)) return true // the name of a member
      const free = l.unit.freeOf(node)
      if (free.kind === 'captured') outside.set(node.name, free.value)
      else if (free.kind === 'absent') return l.refuse('class-names', node, node.name).kind !== 'refused'
      return true
    }
    const isInside = all.some(({ start, end }) => binding.owner.start > start && binding.owner.end < end)
    const isOwn = binding.kind === 'class' && own.has(node.name)
    return isInside || isOwn || l.refuse('class-names', node, node.name).kind !== 'refused'
  }
  return childNodes(node).every((child) => collectOutside(l, child, all, own, outside))
}
