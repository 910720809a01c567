/**
 * Undoes what compilers, test runners and coverage tools do to a function, so that the same function gives the same
 * tree under all of them.
 *
 *     __name(f, "f")                        f                 esbuild, tsx: keep-names, whatever the helper is called
 *     (0, helpers_1.dot)(w, h)              dot(w, h)         tsc CommonJS, vite: members of modules are captures
 *     (cov_x().s[28]++, x)                  x                 istanbul: counters
 *     (_a = r.x) !== null && _a !== void 0 ? _a : 0           r.x ?? 0    tsc below ES2020
 *     if (c) return a; return b             return c ? a : b  and its inverse in minifiers
 *     (c ? few : many).push(v)              c ? few.push(v) : many.push(v)    no list is chosen; the order of evaluation is the same
 *     const to = c ? few : many; to.push(v)                   `chosenLists.ts`
 *     let f = up; if (c) f = down; f(v)                       `functionVariables.ts`
 *
 * Nodes that stay keep their identity, on which the meaning of names hangs.
 */
import type { AnyNode, CallExpression, Expression, Identifier, MemberExpression, Statement } from 'acorn'
import { hasTraps } from '../captures/traps.ts'
import type { Free } from '../free.ts'
import { childNodes, type FunctionNode, isFunctionNode, mapChildren } from '../source/ast.ts'
import type { Names } from '../source/scope.ts'
import { withChosenLists } from './chosenLists.ts'
import { withFunctionVariables } from './functionVariables.ts'
import { structureReturns } from './returns.ts'
import { unlowerOptional } from './unlowerOptional.ts'

export interface NormalizeContext {
  readonly names: Names
  readonly freeOf: (node: Identifier) => Free
  /** Gives a new free identifier its meaning. */
  readonly rename: (made: Identifier, free: Free) => void
}

export function normalize(root: FunctionNode, context: NormalizeContext): FunctionNode {
  const madeNames = new Map<unknown, string>()

  /** Members that are assigned, and callees `(0, a.b)` whose `this` would change: nodes that stay unchanged. */
  const asTheyAre = new Set<AnyNode>()

  const change = (node: AnyNode): AnyNode => {
    const own = rewrite(node)
    const next = mapChildren(own, change)
    return asTheyAre.has(own) ? next : tidy(next)
  }

  /** Rewrites a node before its children: shapes that are recognised by their parts. */
  const rewrite = (node: AnyNode): AnyNode => {
    if (node.type === 'CallExpression') {
      const [f] = node.arguments
      if (f !== undefined && isNameCall(node)) return rewrite(f)
      const last = node.callee.type === 'SequenceExpression' ? node.callee.expressions.at(-1) : undefined
      if (last?.type === 'MemberExpression' && memberCapture(last) === undefined) asTheyAre.add(node.callee)
    }
    if (node.type === 'ParenthesizedExpression') return rewrite(node.expression)
    if (node.type === 'CallExpression') return assignedLiteral(node) ?? node
    if (node.type === 'AssignmentExpression') keepMembers(node.left)
    if (node.type === 'UpdateExpression' || (node.type === 'UnaryExpression' && node.operator === 'delete')) keepMembers(node.argument)
    if (node.type === 'ForOfStatement' || node.type === 'ForInStatement') keepMembers(node.left)
    if (node.type === 'MemberExpression') return asTheyAre.has(node) ? node : (memberCapture(node) ?? node)
    return unlowerOptional(node, context.names)
  }

  /** Returns `{ a, ...b }` for `Object.assign({ a }, b)`, which is how tsc writes spreads below ES2018; undefined for other calls. */
  const assignedLiteral = (node: CallExpression): AnyNode | undefined => {
    const { callee } = node
    const [first, ...rest] = node.arguments
    if (callee.type !== 'MemberExpression' || callee.object.type !== 'Identifier' || callee.property.type !== 'Identifier') return undefined
    if (callee.computed || callee.object.name !== 'Object' || callee.property.name !== 'assign') return undefined
    if (!context.names.free.has(callee.object) || context.freeOf(callee.object).kind !== 'global') return undefined
    const inner = first?.type === 'CallExpression' ? assignedLiteral(first) : first
    if (inner?.type !== 'ObjectExpression' || rest.some((one) => one.type === 'SpreadElement')) return undefined
    const properties = rest.flatMap((one) =>
      one.type === 'SpreadElement'
        ? []
        : one.type === 'ObjectExpression'
          ? one.properties
          : [{ type: 'SpreadElement' as const, argument: one, start: one.start, end: one.end }],
    )
    return { ...inner, properties: [...inner.properties, ...properties] }
  }

  const keepMembers = (node: AnyNode): void => {
    if (node.type === 'MemberExpression') asTheyAre.add(node)
    else for (const child of childNodes(node)) if (child.type !== 'AssignmentPattern' || node.type !== 'Property') keepMembers(child)
  }

  /** Rewrites a node after its children: removes what is left of counters and wrappers. */
  const tidy = (node: AnyNode): AnyNode => {
    switch (node.type) {
      case 'SequenceExpression': {
        const last = node.expressions.length - 1
        const kept = node.expressions.filter((one, i) => i === last || !(isCounter(one) || isIdle(one)))
        return kept.length === 1 ? (kept[0] as Expression) : kept.length === node.expressions.length ? node : { ...node, expressions: kept }
      }
      case 'BlockStatement':
      case 'StaticBlock':
      case 'Program':
        return { ...node, body: withoutIdle(node.body as Statement[]) } as AnyNode
      case 'SwitchCase':
        return { ...node, consequent: withoutIdle(node.consequent) }
      case 'VariableDeclaration': {
        const kept = node.declarations.filter((one) => !isDropped(one.id))
        if (kept.length === 0) return { type: 'EmptyStatement', start: node.start, end: node.end }
        return kept.length === node.declarations.length ? node : { ...node, declarations: kept }
      }
      case 'IfStatement':
        if (node.alternate?.type === 'BlockStatement' && node.alternate.body.length === 0) return { ...node, alternate: null }
        return node
      case 'ArrowFunctionExpression':
      case 'FunctionExpression':
      case 'FunctionDeclaration':
        // an anonymous declaration is only the default export of a module
        return structureReturns(node as FunctionNode)
      case 'CallExpression':
        return ofEither(node) ?? node
      case 'ForStatement':
        return (node.init as AnyNode | null | undefined)?.type === 'EmptyStatement' ? { ...node, init: null } : node
      default:
        return node
    }
  }

  const withoutIdle = (statements: readonly Statement[]): Statement[] =>
    statements.filter((one) => {
      if (one.type === 'EmptyStatement' || one.type === 'DebuggerStatement') return false
      if (one.type !== 'ExpressionStatement' || one.directive !== undefined) return true
      return !(isCounter(one.expression) || isIdle(one.expression) || one.expression.type === 'FunctionExpression')
    })

  const isDropped = (node: AnyNode): boolean => node.type === 'Identifier' && context.names.bindingOf.get(node)?.dropped === true

  /** Whether an expression has no effect: a literal or a local name that stands alone. */
  const isIdle = (node: AnyNode): boolean => node.type === 'Literal' || (node.type === 'Identifier' && context.names.bindingOf.has(node))

  /** Whether a call is `__name(f, "f")`, recognised by what the callee is. */
  const isNameCall = (node: AnyNode & { type: 'CallExpression' }): boolean => {
    const { callee } = node
    const [, name] = node.arguments
    if (callee.type !== 'Identifier' || !context.names.free.has(callee) || node.arguments.length !== 2) return false
    if (name?.type !== 'Literal' || typeof name.value !== 'string') return false
    const meaning = context.freeOf(callee)
    return meaning.kind === 'captured' ? isNameHelper(meaning.value) : callee.name === '__name'
  }

  /** Whether an expression is a coverage counter, `cov_x().s[28]++`: a member of what a free function called `cov_…` returns. */
  const isCounter = (node: AnyNode): boolean => {
    if (node.type !== 'UpdateExpression') return false
    let at: AnyNode = node.argument
    while (at.type === 'MemberExpression') at = at.object
    if (at.type !== 'CallExpression' || at.arguments.length > 0 || at.callee.type !== 'Identifier') return false
    if (!/^cov_/.test(at.callee.name) || !context.names.free.has(at.callee)) return false
    const counters = context.freeOf(at.callee)
    return (
      counters.kind === 'captured' &&
      typeof counters.value === 'function' &&
      /actualCoverage/.test(Function.prototype.toString.call(counters.value))
    )
  }

  /** Returns a capture for `helpers_1.dot`, a member of a module, or a function of a captured plain object; undefined otherwise. */
  const memberCapture = (node: MemberExpression): Identifier | undefined => {
    const { object, property } = node
    if (object.type !== 'Identifier' || !context.names.free.has(object)) return undefined
    const name = node.computed
      ? property.type === 'Literal'
        ? property.value
        : undefined
      : property.type === 'Identifier'
        ? property.name
        : undefined
    if (typeof name !== 'string') return undefined
    const meaning = context.freeOf(object)
    if (meaning.kind !== 'captured') return undefined
    const found = memberOf(meaning.value, meaning.name, name)
    if (found === undefined) return undefined
    const id = `${meaning.name}.${name}`
    let made = madeNames.get(id)
    if (made === undefined) {
      made = freshName(/^[A-Za-z_$][\w$]*$/.test(name) && name !== 'default' ? name : meaning.name, context.names.all, madeNames)
      madeNames.set(id, made)
    }
    const identifier: Identifier = { type: 'Identifier', name: made, start: node.start, end: node.end }
    const { value } = found
    context.rename(
      identifier,
      value === undefined ? { kind: 'absent', name: made, inspector: true } : { kind: 'captured', name: made, value },
    )
    return identifier
  }

  const mapTidy = (one: AnyNode): AnyNode => (asTheyAre.has(one) ? one : tidy(mapChildren(one, mapTidy)))
  let node = change(withFunctionVariables(withChosenLists(root, context.names), context.names, context.freeOf))
  // temporaries are declared before they are found to be unused
  if ([...context.names.bindingOf.values()].some((binding) => binding.dropped)) node = mapTidy(node)
  return isFunctionNode(node) ? node : root
}

const CHANGES = /^(push|unshift|add|set|delete)$/

/** Returns `c ? a.push(v) : b.push(v)` for `(c ? a : b).push(v)`, and other calls that change one of two; undefined for all else. */
function ofEither(node: CallExpression): AnyNode | undefined {
  const { callee } = node
  if (callee.type !== 'MemberExpression' || callee.object.type !== 'ConditionalExpression' || node.optional || callee.optional)
    return undefined
  if (callee.computed || callee.property.type !== 'Identifier' || !CHANGES.test(callee.property.name)) return undefined
  // a function is declared once
  const hasFunction = (one: AnyNode): boolean => isFunctionNode(one) || childNodes(one).some(hasFunction)
  if (node.arguments.some(hasFunction)) return undefined
  const of = (object: Expression): CallExpression => ({ ...node, callee: { ...callee, object } })
  const { consequent, alternate } = callee.object
  return { ...callee.object, consequent: of(consequent), alternate: of(alternate) }
}

/** Names that vite gives to imported modules; one in another format is wrapped in a Proxy. */
const IMPORTED = /^__vi(te_ssr)?_import_\d+__$/

/** Returns the member of a captured module; of a captured plain object only functions that do not use `this`. Undefined otherwise. */
function memberOf(value: unknown, objectName: string, name: string): { readonly value: unknown } | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if ((hasTraps(value) && !IMPORTED.test(objectName)) || !(name in value)) return undefined
  const record = value as Readonly<Record<string, unknown>> // name is in it
  if (isModule(value, objectName)) {
    try {
      return { value: record[name] }
    } catch {
      return undefined // an export that is not initialized yet
    }
  }
  const own = Object.getOwnPropertyDescriptor(value, name)
  if (typeof own?.value !== 'function' || Object.getPrototypeOf(value) !== Object.prototype) return undefined
  return /\bthis\b|\bsuper\b|\[native code\]/.test(Function.prototype.toString.call(own.value)) ? undefined : { value: own.value }
}

function isModule(value: object, name: string): boolean {
  if (!hasTraps(value) && Object.getOwnPropertyDescriptor(value, Symbol.toStringTag)?.value === 'Module') return true
  if (!hasTraps(value) && Object.getOwnPropertyDescriptor(value, '__esModule')?.value === true) return true
  return IMPORTED.test(name)
}

function isNameHelper(value: unknown): boolean {
  if (typeof value !== 'function') return false
  const text = Function.prototype.toString.call(value).replace(/\s+/g, '')
  return /^\(([\w$]+),([\w$]+)\)=>[\w$]+\(\1,"name",\{(value:\2|value),configurable:(true|!0)\}\);?$/.test(text)
}

function freshName(wanted: string, taken: ReadonlySet<string>, made: ReadonlyMap<unknown, string>): string {
  const others = new Set(made.values())
  let name = wanted
  for (let n = 1; taken.has(name) || others.has(name); n++) name = `${wanted}$${n}`
  return name
}
