/**
 * Name resolution: the declaration of each name of a function, by node, and the names that are free.
 *
 * Everything after this works with node identity, so shadowing, hoisting and renaming are settled here once. A
 * binding knows how often it is assigned: one that never is can be replaced by its value.
 */
import type { AnyNode, Identifier, Pattern } from 'acorn'
import { childNodes, type FunctionNode, isFunctionNode } from './ast.ts'

export interface Binding {
  readonly name: string
  readonly kind: 'param' | 'var' | 'let' | 'const' | 'function' | 'class' | 'catch' | 'self'
  /** The function whose local this is. */
  readonly owner: FunctionNode
  /** The function of a function declaration; absent for other bindings. */
  readonly declaration?: FunctionNode
  declarators: number
  /** Assignments apart from initializers: `=`, `+=`, `++`, for-in/of heads. */
  assignments: number
  /** The innermost scope of its (last) declarator, where it starts, and whether it has an initializer. */
  declaredIn?: Scope
  declaredAt: number
  initialized: boolean
  /** Whether normalization removed every use. */
  dropped: boolean
  readonly uses: { readonly at: number; readonly scope: Scope }[]
}

export interface Scope {
  readonly node: AnyNode
  readonly parent?: Scope
  readonly names: Map<string, Binding>
}

export interface Names {
  /** References and declarations that are local to the function. */
  readonly bindingOf: ReadonlyMap<Identifier, Binding>
  /** References to names outside the function. */
  readonly free: ReadonlySet<Identifier>
  /** Free references that are assigned. */
  readonly assignedFree: readonly Identifier[]
  /** The locals of each function, parameters included, by the offset at which the function starts. */
  readonly ownedBy: ReadonlyMap<number, readonly Binding[]>
  /** All names that occur, for choosing new ones. */
  readonly all: ReadonlySet<string>
}

type Mode = 'read' | 'assign' | { readonly initialized: boolean }

/** Resolves every name of the function. */
export function resolveNames(root: FunctionNode): Names {
  const bindingOf = new Map<Identifier, Binding>()
  const free = new Set<Identifier>()
  const assignedFree: Identifier[] = []
  const ownedBy = new Map<number, Binding[]>()
  const all = new Set<string>()

  const open = (node: AnyNode, parent: Scope | undefined): Scope => ({
    node,
    ...(parent === undefined ? {} : { parent }),
    names: new Map(),
  })

  const declare = (scope: Scope, name: string, kind: Binding['kind'], owner: FunctionNode, declaration?: FunctionNode): void => {
    if (scope.names.has(name) && kind !== 'function') return
    const known = scope.names.get(name)
    if (known !== undefined) known.declarators++
    else {
      const more = declaration === undefined ? {} : { declaration }
      const counts = { declarators: kind === 'function' || kind === 'param' ? 1 : 0, assignments: 0, declaredAt: 0, initialized: false }
      const binding: Binding = { name, kind, owner, ...more, ...counts, dropped: false, uses: [] }
      scope.names.set(name, binding)
      const owned = ownedBy.get(owner.start)
      if (owned === undefined) ownedBy.set(owner.start, [binding])
      else owned.push(binding)
    }
  }

  const use = (node: Identifier, scope: Scope, mode: Mode): void => {
    all.add(node.name)
    let at: Scope | undefined = scope
    while (at !== undefined && !at.names.has(node.name)) at = at.parent
    const binding = at?.names.get(node.name)
    if (binding === undefined) {
      free.add(node)
      if (mode === 'assign') assignedFree.push(node)
      return
    }
    bindingOf.set(node, binding)
    if (typeof mode === 'object') {
      if (binding.kind !== 'param' || binding.declaredIn !== undefined) binding.declarators++
      binding.declaredIn = scope
      binding.declaredAt = node.start
      binding.initialized = mode.initialized
    } else {
      if (mode === 'assign') binding.assignments++
      binding.uses.push({ at: node.start, scope })
    }
  }

  const pattern = (node: Pattern, scope: Scope, mode: Mode, owner: FunctionNode): void => {
    switch (node.type) {
      case 'Identifier':
        use(node, scope, mode)
        return
      case 'MemberExpression':
        visit(node, scope, owner)
        return
      case 'RestElement':
        pattern(node.argument, scope, mode, owner)
        return
      case 'AssignmentPattern':
        visit(node.right, scope, owner)
        pattern(node.left, scope, mode, owner)
        return
      case 'ArrayPattern':
        for (const element of node.elements) if (element !== null) pattern(element, scope, mode, owner)
        return
      case 'ObjectPattern':
        for (const property of node.properties) {
          if (property.type === 'RestElement') pattern(property.argument, scope, mode, owner)
          else {
            if (property.computed) visit(property.key, scope, owner)
            pattern(property.value, scope, mode, owner)
          }
        }
    }
  }

  /** Declares the names that the statements of a scope declare lexically. */
  const lexical = (statements: readonly AnyNode[], scope: Scope, owner: FunctionNode): void => {
    for (const statement of statements) {
      if (statement.type === 'VariableDeclaration' && statement.kind !== 'var') {
        const kind = statement.kind === 'let' ? 'let' : 'const'
        for (const one of statement.declarations) for (const name of boundNames(one.id)) declare(scope, name, kind, owner)
      } else if (statement.type === 'FunctionDeclaration' && statement.id !== null)
        declare(scope, statement.id.name, 'function', owner, statement)
      else if (statement.type === 'ClassDeclaration' && statement.id !== null) declare(scope, statement.id.name, 'class', owner)
    }
  }

  const enterFunction = (node: FunctionNode, parent: Scope | undefined): void => {
    let outer = parent
    if (node.type === 'FunctionExpression' && node.id) {
      outer = open(node, parent)
      declare(outer, node.id.name, 'self', node)
      bindingOf.set(node.id, outer.names.get(node.id.name) as Binding)
    }
    const scope = open(node, outer)
    for (const param of node.params) for (const name of boundNames(param)) declare(scope, name, 'param', node)
    if (node.body.type === 'BlockStatement') {
      for (const name of varNames(node.body)) declare(scope, name, 'var', node)
      lexical(node.body.body, scope, node)
    }
    for (const param of node.params) pattern(param, scope, { initialized: true }, node)
    if (node.body.type === 'BlockStatement') for (const statement of node.body.body) visit(statement, scope, node)
    else visit(node.body, scope, node)
  }

  const visitAll = (nodes: readonly AnyNode[], scope: Scope, owner: FunctionNode): void => {
    for (const node of nodes) visit(node, scope, owner)
  }

  const visit = (node: AnyNode, scope: Scope, owner: FunctionNode): void => {
    if (isFunctionNode(node)) {
      if (node.type === 'FunctionDeclaration' && node.id !== null) {
        const binding = lookup(scope, node.id.name)
        if (binding !== undefined) bindingOf.set(node.id, binding)
      }
      enterFunction(node, scope)
      return
    }
    switch (node.type) {
      case 'Identifier':
        use(node, scope, 'read')
        return
      case 'VariableDeclaration':
        for (const one of node.declarations) {
          if (one.init) visit(one.init, scope, owner)
          pattern(one.id, scope, { initialized: one.init !== undefined && one.init !== null }, owner)
        }
        return
      case 'AssignmentExpression':
        pattern(node.left, scope, 'assign', owner)
        visit(node.right, scope, owner)
        return
      case 'UpdateExpression':
        if (node.argument.type === 'Identifier') use(node.argument, scope, 'assign')
        else visit(node.argument, scope, owner)
        return
      case 'MemberExpression':
        visit(node.object, scope, owner)
        if (node.computed) visit(node.property, scope, owner)
        return
      case 'Property':
      case 'PropertyDefinition':
      case 'MethodDefinition':
        if (node.computed) visit(node.key, scope, owner)
        if (node.value) visit(node.value, scope, owner)
        return
      case 'LabeledStatement':
        visit(node.body, scope, owner)
        return
      case 'BreakStatement':
      case 'ContinueStatement':
      case 'MetaProperty':
        return
      case 'BlockStatement':
      case 'StaticBlock': {
        const inner = open(node, scope)
        lexical(node.body, inner, owner)
        visitAll(node.body, inner, owner)
        return
      }
      case 'SwitchStatement': {
        visit(node.discriminant, scope, owner)
        const inner = open(node, scope)
        for (const one of node.cases) lexical(one.consequent, inner, owner)
        visitAll(node.cases, inner, owner)
        return
      }
      case 'ForStatement': {
        const inner = open(node, scope)
        if (node.init) lexical([node.init], inner, owner)
        visitAll(childNodes(node), inner, owner)
        return
      }
      case 'ForInStatement':
      case 'ForOfStatement': {
        visit(node.right, scope, owner)
        const inner = open(node, scope)
        if (node.left.type === 'VariableDeclaration') {
          lexical([node.left], inner, owner)
          for (const one of node.left.declarations) pattern(one.id, inner, { initialized: true }, owner)
        } else pattern(node.left, inner, 'assign', owner)
        visit(node.body, inner, owner)
        return
      }
      case 'CatchClause': {
        const inner = open(node, scope)
        if (node.param) {
          for (const name of boundNames(node.param)) declare(inner, name, 'catch', owner)
          pattern(node.param, inner, { initialized: true }, owner)
        }
        visit(node.body, inner, owner)
        return
      }
      case 'ClassDeclaration':
      case 'ClassExpression': {
        if (node.type === 'ClassDeclaration' && node.id !== null) use(node.id, scope, { initialized: true })
        if (node.superClass) visit(node.superClass, scope, owner)
        const inner = open(node, scope)
        if (node.id) declare(inner, node.id.name, 'class', owner)
        visit(node.body, inner, owner)
        return
      }
      default:
        visitAll(childNodes(node), scope, owner)
        return
    }
  }

  enterFunction(root, undefined)
  return { bindingOf, free, assignedFree, ownedBy, all }
}

function lookup(scope: Scope | undefined, name: string): Binding | undefined {
  for (let at = scope; at !== undefined; at = at.parent) {
    const binding = at.names.get(name)
    if (binding !== undefined) return binding
  }
  return undefined
}

/** Whether a scope is `outer` or lies inside it. */
export function isWithin(scope: Scope, outer: Scope): boolean {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) if (at === outer) return true
  return false
}

/**
 * Whether a `var` can be taken as a `let` where it is declared: one declarator with a value, and every use after it
 * and inside its block.
 */
export function isLikeLet(binding: Binding): boolean {
  const { declaredIn } = binding
  if (binding.kind !== 'var') return true
  if (binding.declarators !== 1 || !binding.initialized || declaredIn === undefined) return false
  return binding.uses.every((use) => use.at > binding.declaredAt && isWithin(use.scope, declaredIn))
}

/** Returns the names that a pattern binds. */
export function boundNames(pattern: Pattern): string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name]
    case 'MemberExpression':
      return []
    case 'RestElement':
      return boundNames(pattern.argument)
    case 'AssignmentPattern':
      return boundNames(pattern.left)
    case 'ArrayPattern':
      return pattern.elements.flatMap((element) => (element === null ? [] : boundNames(element)))
    case 'ObjectPattern':
      return pattern.properties.flatMap((property) => boundNames(property.type === 'RestElement' ? property.argument : property.value))
  }
}

/** Returns the names declared by `var` anywhere in a function's body, without those of nested functions. */
function varNames(node: AnyNode): string[] {
  const own = node.type === 'VariableDeclaration' && node.kind === 'var' ? node.declarations.flatMap((one) => boundNames(one.id)) : []
  return [...own, ...childNodes(node).flatMap((child) => (isFunctionNode(child) ? [] : varNames(child)))]
}
