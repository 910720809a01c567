/**
 * Escape analysis of captures: running a function elsewhere, on copies of what it captures, could be noticed where it assigns a captured
 * variable, or may change a captured object.
 *
 * Captured objects are followed through the names they are given, into parameters of functions that are called, and
 * through members. A *flat* object holds primitives only, so its members are harmless; members of a *deep* one are
 * followed on. Whatever is not known to leave an object as it is counts as a change.
 */

import type { AnyNode, CallExpression, Expression, Identifier, NewExpression, Pattern, SpreadElement, Super } from 'acorn'
import type { Refusal } from '../../core/span.ts'
import { libraryCallOf } from '../../core/time/library.ts'
import { capturesObjects, declaredFunction, globalName, isCapturedFunction, isGlobalObject, isOwnName, staticValue } from './calledNames.ts'
import { isFlat } from './captures/flat.ts'
import { refusalOf } from './refusals.ts'
import { childNodes, type FunctionNode, isFunctionNode } from './source/ast.ts'
import type { Binding } from './source/scope.ts'
import { type AnyFunction, type Unit, unitOf } from './unit.ts'

/** The part of an expression's value that may belong to a captured object; undefined for none. */
type Reach = { readonly kind: 'flat' | 'deep'; readonly name: string } | undefined

/** Methods of arrays, typed arrays, maps, sets, dates and strings that change nothing. */
const READING_METHODS: ReadonlySet<string> = new Set(
  'at concat entries every filter find findIndex findLast findLastIndex flat flatMap forEach get has includes indexOf isSubsetOf isSupersetOf join keys lastIndexOf map padEnd padStart reduce reduceRight slice some startsWith endsWith subarray toLocaleString toReversed toSorted toSpliced toString values with valueOf test toISOString toJSON hasOwnProperty difference intersection union symmetricDifference'.split(
    ' ',
  ),
)

/** Methods that call back with what the object holds. */
const CALLING_METHODS: ReadonlySet<string> = new Set(
  'every filter find findIndex findLast findLastIndex flatMap forEach map reduce reduceRight some toSorted'.split(' '),
)

/** Functions of the platform that change none of their arguments. */
const READING_GLOBALS: ReadonlySet<string> = new Set(
  'Array Array.from Array.of Array.isArray BigInt Boolean Date Float32Array.from Float64Array.from Int32Array.from JSON.stringify Map Number Number.isFinite Number.isInteger Number.isNaN Object.entries Object.fromEntries Object.hasOwn Object.is Object.keys Object.values Set String Float32Array Float64Array Int32Array Uint8Array isFinite isNaN parseFloat parseInt structuredClone'.split(
    ' ',
  ),
)

/** Functions of the platform that change their first argument, which may be a function. */
const CHANGING_GLOBALS = /^(Object\.(assign|define|setPrototypeOf)|Reflect\.(set|define|delete))/

/**
 * Returns the first effect on what the function captures; undefined where there is none. All functions that it names are looked into,
 * whatever it does with them: one that is handed on may be called by whoever has it.
 */
export function captureEffect(unit: Unit, units: Map<unknown, Unit>): Refusal | undefined {
  return new Effects(units).of(unit)
}

class Effects {
  readonly #tainted = new Map<Binding, Exclude<Reach, undefined>>()
  /** Units that exist already, by their functions. */
  readonly #made: Map<unknown, Unit>
  readonly #units = new Map<unknown, Unit>()
  #grown = false
  #found: Refusal | undefined

  constructor(made: Map<unknown, Unit>) {
    this.#made = made
  }

  /** Walks all functions that can be reached until no more names are found to hold captured objects (a fixed point). */
  of(root: Unit): Refusal | undefined {
    this.#units.set(root.f, root)
    do {
      this.#grown = false
      for (const unit of this.#units.values()) this.#walk(unit, unit.node)
    } while (this.#grown && this.#found === undefined)
    return this.#found
  }

  #refuse(unit: Unit, node: AnyNode, code: Parameters<typeof refusalOf>[0], name: string): void {
    this.#found ??= refusalOf(code, unit.spanOf(node), name)
  }

  #unitFor(f: AnyFunction): Unit | undefined {
    const known = this.#units.get(f)
    if (known !== undefined) return known
    if (libraryCallOf(f) !== undefined) return undefined // it keeps nothing that it is given
    const unit = this.#made.get(f) ?? unitOf(f)
    if (typeof unit === 'string') return undefined
    this.#made.set(f, unit)
    this.#units.set(f, unit)
    this.#grown = true
    return unit
  }

  #taint(unit: Unit, pattern: Pattern | AnyNode, reach: Reach): void {
    if (reach === undefined) return
    switch (pattern.type) {
      case 'Identifier': {
        const binding = unit.names.bindingOf.get(pattern)
        if (binding === undefined) return
        const before = this.#tainted.get(binding)
        if (before === undefined || (before.kind === 'flat' && reach.kind === 'deep')) {
          this.#tainted.set(binding, reach)
          this.#grown = true
        }
        return
      }
      case 'MemberExpression': {
        // stored inside another object, which now holds it
        let root: AnyNode = pattern
        while (root.type === 'MemberExpression') root = root.object
        this.#taint(unit, root, { ...reach, kind: 'deep' })
        return
      }
      case 'AssignmentPattern':
        this.#taint(unit, pattern.left, reach)
        return
      case 'RestElement':
        this.#taint(unit, pattern.argument, reach)
        return
      case 'ArrayPattern':
      case 'ObjectPattern':
        // parts of a flat object are primitives
        if (reach.kind === 'flat') return
        for (const part of pattern.type === 'ArrayPattern' ? pattern.elements : pattern.properties) {
          if (part !== null) this.#taint(unit, part.type === 'Property' ? part.value : part, reach)
        }
        return
      default:
        return
    }
  }

  #reachOfName(unit: Unit, node: Identifier): Reach {
    const binding = unit.names.bindingOf.get(node)
    if (binding !== undefined) return this.#tainted.get(binding)
    if (!unit.isFree(node)) return undefined
    const free = unit.freeOf(node)
    if (free.kind !== 'captured' || typeof free.value !== 'object' || free.value === null) return undefined
    return { kind: isFlat(free.value) ? 'flat' : 'deep', name: free.name }
  }

  #reach(unit: Unit, node: Expression | SpreadElement | Super | AnyNode): Reach {
    switch (node.type) {
      case 'Identifier':
        return this.#reachOfName(unit, node)
      case 'MemberExpression': {
        const known = staticValue(unit, node)
        if (known !== undefined) {
          const { value, name } = known
          return typeof value === 'object' && value !== null ? { kind: isFlat(value) ? 'flat' : 'deep', name } : undefined
        }
        const object = this.#reach(unit, node.object)
        return object?.kind === 'deep' ? object : undefined
      }
      case 'ConditionalExpression':
        return this.#reach(unit, node.consequent) ?? this.#reach(unit, node.alternate)
      case 'LogicalExpression':
        return deepest(this.#reach(unit, node.left), this.#reach(unit, node.right))
      case 'SequenceExpression': {
        const last = node.expressions.at(-1)
        return last === undefined ? undefined : this.#reach(unit, last)
      }
      case 'AssignmentExpression':
        return this.#reach(unit, node.right)
      case 'ChainExpression':
      case 'ParenthesizedExpression':
        return this.#reach(unit, node.expression)
      case 'AwaitExpression':
        return this.#reach(unit, node.argument)
      case 'YieldExpression':
        return node.argument ? this.#reach(unit, node.argument) : undefined
      case 'SpreadElement': {
        const spread = this.#reach(unit, node.argument)
        return spread?.kind === 'deep' ? spread : undefined
      }
      case 'ArrayExpression':
        return holding(node.elements.map((one) => (one === null ? undefined : this.#reach(unit, one))))
      case 'ObjectExpression':
        return holding(node.properties.map((one) => this.#reach(unit, one.type === 'Property' ? one.value : one)))
      case 'CallExpression':
      case 'NewExpression':
        return this.#reachOfCall(unit, node)
      default:
        return undefined
    }
  }

  /** Returns the reach of a call's result: an argument, or something that the called function captured. */
  #reachOfCall(unit: Unit, node: CallExpression | NewExpression): Reach {
    const given = holding(node.arguments.map((one) => this.#reach(unit, one)))
    if (node.callee.type === 'MemberExpression') {
      const object = this.#reach(unit, node.callee.object)
      if (object !== undefined)
        return object.kind === 'deep'
          ? object
          : node.callee.property.type === 'Identifier' && node.callee.property.name === 'subarray'
            ? object
            : undefined
      return given
    }
    const called = node.callee.type === 'Identifier' && unit.isFree(node.callee) ? unit.freeOf(node.callee) : undefined
    if (called?.kind === 'captured' && typeof called.value === 'function') {
      const inner = this.#unitFor(called.value as AnyFunction) // callable, and only its text is looked at
      if (inner !== undefined && capturesObjects(inner)) return { kind: 'deep', name: called.name }
    }
    return given
  }

  #walk(unit: Unit, node: AnyNode): void {
    if (this.#found !== undefined) return
    switch (node.type) {
      case 'AssignmentExpression':
        this.#target(unit, node.left)
        this.#taint(unit, node.left, this.#reach(unit, node.right))
        break
      case 'UpdateExpression':
        this.#target(unit, node.argument)
        break
      case 'UnaryExpression':
        if (node.operator === 'delete') this.#target(unit, node.argument)
        break
      case 'VariableDeclarator':
        if (node.init) this.#taint(unit, node.id, this.#reach(unit, node.init))
        break
      case 'ForOfStatement':
      case 'ForInStatement': {
        const over = this.#reach(unit, node.right)
        const left = node.left.type === 'VariableDeclaration' ? node.left.declarations[0]?.id : node.left
        if (node.left.type !== 'VariableDeclaration') this.#target(unit, node.left)
        if (over?.kind === 'deep' && left !== undefined && node.type === 'ForOfStatement') this.#taint(unit, left, over)
        break
      }
      case 'CallExpression':
      case 'NewExpression':
        this.#call(unit, node)
        break
      case 'TaggedTemplateExpression':
        for (const one of node.quasi.expressions) this.#given(unit, one, undefined)
        break
      case 'Identifier': {
        const named = unit.isFree(node) ? unit.freeOf(node) : undefined
        if (named?.kind === 'captured' && typeof named.value === 'function') this.#unitFor(named.value as AnyFunction) // callable, and only its text is looked at
        break
      }
      default:
        break
    }
    for (const child of childNodes(node)) this.#walk(unit, child)
  }

  /** Refuses an assignment whose target is a captured variable, or belongs to a captured or global object. */
  #target(unit: Unit, node: AnyNode): void {
    if (node.type === 'Identifier') {
      if (unit.isFree(node)) this.#refuse(unit, node, 'assigns-captured-variable', node.name)
      return
    }
    if (node.type === 'MemberExpression') {
      const reach = this.#reach(unit, node.object)
      if (reach !== undefined) this.#refuse(unit, node, 'mutates-captured-object', reach.name)
      let root: AnyNode = node
      while (root.type === 'MemberExpression') root = root.object
      if (isOwnName(unit, root)) this.#refuse(unit, node, 'mutates-captured-object', (root as Identifier).name) // an own name is an identifier
      if (root.type === 'Identifier' && unit.isFree(root))
        this.#refuse(unit, node, unit.freeOf(root).kind === 'global' ? 'changes-global' : 'mutates-captured-object', root.name)
      return
    }
    if (node.type === 'ChainExpression' || node.type === 'ParenthesizedExpression') this.#target(unit, node.expression)
    if (/Pattern$|^RestElement$|^Property$/.test(node.type)) {
      for (const child of childNodes(node)) if (!(node.type === 'AssignmentPattern' && child === node.right)) this.#target(unit, child)
    }
  }

  #call(unit: Unit, node: CallExpression | NewExpression): void {
    const { callee } = node
    if (callee.type === 'MemberExpression') {
      const object = this.#reach(unit, callee.object)
      const name = callee.property.type === 'Identifier' && !callee.computed ? callee.property.name : undefined
      if (object !== undefined) {
        const reads = name !== undefined && (READING_METHODS.has(name) || /^get[A-Z]/.test(name))
        if (!reads) this.#refuse(unit, node, 'may-change-captured', object.name)
        if (object.kind === 'deep' && name !== undefined && CALLING_METHODS.has(name)) this.#calledBack(unit, node.arguments[0], object)
      }
      const global = globalName(unit, callee)
      const [first] = node.arguments
      if (global !== undefined && CHANGING_GLOBALS.test(global) && first !== undefined && isCapturedFunction(unit, first))
        this.#refuse(unit, node, 'may-change-captured', unit.spanOf(first).text)
      if (global !== undefined && (READING_GLOBALS.has(global) || /^(Math|console)\./.test(global))) return
      // a reading method of the function's own object keeps none of its arguments; any other may
      if (name !== undefined && READING_METHODS.has(name) && name !== 'concat') return
      for (const one of node.arguments) this.#given(unit, one, undefined)
      return
    }
    const f = this.#functionBehind(unit, callee)
    if (f === 'reads') return
    for (const [i, one] of node.arguments.entries())
      this.#given(unit, one, f === undefined ? undefined : { ...f, position: one.type === 'SpreadElement' ? undefined : i })
  }

  /** Taints the parameters of a callback, which gets what the object holds. */
  #calledBack(unit: Unit, callback: Expression | SpreadElement | undefined, object: Exclude<Reach, undefined>): void {
    if (callback === undefined) return
    const f = this.#functionBehind(unit, callback)
    if (f === 'reads') return
    if (f === undefined) this.#refuse(unit, callback, 'may-change-captured', object.name)
    else for (const param of f.node.params) this.#taint(f.unit, param, object)
  }

  /** Follows an argument that reaches into a captured object into the parameter, or refuses it where the callee is not known. */
  #given(
    unit: Unit,
    argument: Expression | SpreadElement,
    to: { readonly unit: Unit; readonly node: FunctionNode; readonly position: number | undefined } | undefined,
  ): void {
    if (to === undefined && isGlobalObject(unit, argument)) this.#refuse(unit, argument, 'changes-global', unit.spanOf(argument).text)
    const reach = this.#reach(unit, argument)
    if (reach === undefined) return
    const param = to?.position === undefined ? undefined : (to.node.params[to.position] ?? to.node.params.at(-1))
    if (to === undefined || to.position === undefined) this.#refuse(unit, argument, 'may-change-captured', reach.name)
    else if (param !== undefined) this.#taint(to.unit, param, reach)
  }

  #functionBehind(unit: Unit, callee: AnyNode): { readonly unit: Unit; readonly node: FunctionNode } | 'reads' | undefined {
    if (isFunctionNode(callee)) return { unit, node: callee }
    if (callee.type !== 'Identifier') return undefined
    const binding = unit.names.bindingOf.get(callee)
    if (binding !== undefined) {
      const node = binding.declaration ?? declaredFunction(unit.node, unit, binding)
      return node === undefined || binding.assignments > 0 ? undefined : { unit, node }
    }
    const free = unit.freeOf(callee)
    if (free.kind === 'global') return READING_GLOBALS.has(free.name) ? 'reads' : undefined
    if (free.kind !== 'captured' || typeof free.value !== 'function') return undefined
    if (libraryCallOf(free.value) !== undefined) return 'reads'
    const inner = this.#unitFor(free.value as AnyFunction) // callable, and only its text is looked at
    return inner === undefined ? undefined : { unit: inner, node: inner.node }
  }
}

function deepest(a: Reach, b: Reach): Reach {
  return a?.kind === 'deep' ? a : (b ?? a)
}

/** Returns the reach of a new object that holds one of these. */
function holding(parts: readonly Reach[]): Reach {
  const inside = parts.find((part) => part !== undefined)
  return inside === undefined ? undefined : { ...inside, kind: 'deep' }
}
