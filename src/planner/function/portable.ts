/**
 * Prints a function so that it can run in another thread: its normalized tree, the functions it calls, and the values
 * all of them capture.
 *
 *     const limit = 5                            captures   { limit: 5 }
 *     const big = (x) => x > limit               source     const $1 = ((limit) => (x => x > limit))(captures.limit);
 *     table.filter((r) => big(r.price))                     const $0 = ((big) => (r => big(r.price)))($1);
 *                                                           return $0
 *
 * Each function gets its captures as parameters of a wrapper, so names of different modules do not meet. Functions
 * that need each other are called through arrows.
 */
import type { AnyNode, Identifier } from 'acorn'
import type { PortableFunction } from '../../core/ir/functionIr.ts'
import { isLibraryPart } from '../../core/libraryParts.ts'
import type { Refusal } from '../../core/span.ts'
import { libraryCallOf } from '../../core/time/library.ts'
import { isOwnName } from './calledNames.ts'
import { copyLoss, functionLoss, type Loss } from './captures/copyLoss.ts'
import { captureEffect } from './effects.ts'
import { SHARED_GLOBALS } from './platform.ts'
import { refusalOf } from './refusals.ts'
import { childNodes, isFunctionNode } from './source/ast.ts'
import { printNode } from './source/print.ts'
import { type AnyFunction, type Unit, unitOf, wholeSpan } from './unit.ts'

/** Returns the printed function, or why it cannot leave its thread. `units` has functions that were looked into, and gets the others. */
export function portableOf(root: Unit, units: Map<unknown, Unit> = new Map()): PortableFunction | Refusal {
  const loss = functionLoss(root.f)
  if (loss?.kind === 'part') return refusalOf('copy-loses', wholeSpan(root), root.f.name, loss.what)
  const writer = new Writer(units)
  const name = writer.write(root)
  if (typeof name !== 'string') return name
  const effect = captureEffect(root, units)
  if (effect !== undefined) return effect
  return { source: `"use strict";\n${writer.lines.join('\n')}\nreturn ${name}`, captures: writer.captures }
}

class Writer {
  readonly lines: string[] = []
  readonly captures: Record<string, unknown> = {}
  readonly #names = new Map<unknown, string>()
  readonly #written = new Set<unknown>()
  readonly #keys = new Map<unknown, string>()
  readonly #units: Map<unknown, Unit>

  constructor(units: Map<unknown, Unit>) {
    this.#units = units
  }

  /** Prints a function after those that it needs, and returns its name. */
  write(unit: Unit): string | Refusal {
    const name = `$${this.#names.size}`
    this.#names.set(unit.f, name)
    const problem = unportableSyntax(unit)
    if (problem !== undefined) return problem
    const params: string[] = []
    const args: string[] = []
    const done = new Set<string>()
    for (const node of freeNames(unit)) {
      if (done.has(node.name)) continue
      done.add(node.name)
      const free = unit.freeOf(node)
      if (free.kind === 'global') {
        if (!SHARED_GLOBALS.has(free.name) || free.name === 'Function') return refusalOf('changes-global', unit.spanOf(node), free.name)
        continue
      }
      if (free.kind === 'absent') {
        if (free.name === 'arguments' && unit.node.type !== 'ArrowFunctionExpression') continue
        return refusalOf(free.inspector ? 'unread-capture' : 'captures-unreadable', unit.spanOf(node), free.name)
      }
      const arg = this.#argument(unit, node, free.value)
      if (typeof arg !== 'string') return arg
      params.push(node.name)
      args.push(arg)
    }
    this.#written.add(unit.f)
    const made = `((${params.join(', ')}) => (${printNode(unit.node)}))(${args.join(', ')})`
    this.lines.push(
      `const ${name} = Object.defineProperty(${made}, 'name', { value: ${JSON.stringify(unit.f.name)}, configurable: true });`,
    )
    return name
  }

  /** Returns the code that passes a captured value to the wrapper. */
  #argument(unit: Unit, node: Identifier, value: unknown): string | Refusal {
    if (typeof value === 'function') return this.#function(unit, node, value as AnyFunction) // callable, and only its text is looked at
    const known = this.#keys.get(value)
    if (known !== undefined) return known
    const loss = copyLoss(value)
    if (loss !== undefined) return lossOf(loss, unit, node)
    let key = node.name
    for (let n = 1; key in this.captures || key === '__proto__'; n++) key = `${node.name}$${n}`
    this.captures[key] = value
    const arg = `captures[${JSON.stringify(key)}]`
    if (typeof value === 'object' && value !== null) this.#keys.set(value, arg)
    return arg
  }

  #function(unit: Unit, node: Identifier, f: AnyFunction): string | Refusal {
    const native = PLATFORM_FUNCTIONS.get(f)
    if (native !== undefined) return native
    const call = libraryCallOf(f)
    if (call !== undefined) return `library.${call}`
    const loss = functionLoss(f)
    if (loss !== undefined) return lossOf(loss, unit, node)
    const known = this.#names.get(f)
    if (known !== undefined && this.#written.has(f)) return known
    // an arrow function around it can be called, but is another object
    if (known !== undefined) return isOnlyCalled(unit, node.name) ? `(...args) => ${known}(...args)` : lossOf(WHOLE, unit, node)
    const inner = this.#units.get(f) ?? unitOf(f)
    if (typeof inner === 'string') return lossOf(WHOLE, unit, node)
    if (inner.f !== f && usesThis(inner.node)) return refusalOf('this', unit.spanOf(node))
    this.#units.set(f, inner)
    return this.write(inner)
  }
}

const WHOLE: Loss = { kind: 'whole' }

function lossOf(loss: Loss, unit: Unit, node: Identifier): Refusal {
  return loss.kind === 'whole'
    ? refusalOf('cannot-be-sent', unit.spanOf(node), node.name)
    : refusalOf('copy-loses', unit.spanOf(node), node.name, loss.what)
}

/** Whether a function other than an arrow uses its `this`, which `bind` may have set. */
export function usesThis(node: AnyNode): boolean {
  return node.type !== 'ArrowFunctionExpression' && findUnportable(node, true) !== undefined
}

/** Whether a free name occurs only as a callee. */
function isOnlyCalled(unit: Unit, name: string): boolean {
  const visit = (node: AnyNode): boolean => {
    const isCall = node.type === 'CallExpression' && node.callee.type === 'Identifier' && node.callee.name === name
    if (node.type === 'Identifier' && node.name === name && unit.isFree(node)) return false
    return childNodes(node).every((child) => (isCall && child === node.callee) || visit(child))
  }
  return visit(unit.node)
}

/** Returns the refusal of syntax that means something else, or nothing, outside its place; undefined where there is none. */
function unportableSyntax(unit: Unit): Refusal | undefined {
  const found = findUnportable(unit.node, unit.node.type === 'ArrowFunctionExpression' || hasOtherThis(unit.f))
  if (found !== undefined) return refusalOf('this', unit.spanOf(found))
  const told = findTelling(unit, unit.node)
  return told === undefined ? undefined : refusalOf('tells-copy', unit.spanOf(told.node), told.name)
}

function findUnportable(node: AnyNode, isArrow: boolean): AnyNode | undefined {
  if (node.type === 'MetaProperty' || node.type === 'ImportExpression' || node.type === 'Super') return node
  if (node.type === 'ThisExpression' && isArrow) return node
  for (const child of childNodes(node)) {
    const own = isFunctionNode(child) && child.type !== 'ArrowFunctionExpression'
    const found = findUnportable(child, isArrow && !own)
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether `this` of a function called by its name is not undefined: in sloppy mode, where it has properties `caller` and `prototype`. */
function hasOtherThis(f: AnyFunction): boolean {
  return Object.hasOwn(f, 'caller') && Object.hasOwn(f, 'prototype')
}

/** Members that tell a copy from the original: how an object was made, and where the code stands. */
const TELLING =
  /^(isFrozen|isSealed|isExtensible|getOwnPropertyDescriptors?|stack|captureStackTrace|caller|callee|lastMatch|lastParen|leftContext|rightContext|\$[1-9_&`'+])$/
const CALLS: ReadonlySet<string> = new Set(['call', 'apply', 'bind'])

function findTelling(unit: Unit, node: AnyNode): { readonly node: AnyNode; readonly name: string } | undefined {
  if (node.type === 'MemberExpression') {
    const { object, property } = node
    const name =
      property.type === 'Identifier' && !node.computed ? property.name : property.type === 'Literal' ? String(property.value) : ''
    if (TELLING.test(name) || ((isCapturedFunction(unit, object) || isOwnName(unit, object)) && !CALLS.has(name)))
      return { node, name: name === '' ? 'a property' : name }
  }
  for (const child of childNodes(node)) {
    const found = findTelling(unit, child)
    if (found !== undefined) return found
  }
  return undefined
}

function isCapturedFunction(unit: Unit, node: AnyNode): boolean {
  if (node.type !== 'Identifier' || !unit.isFree(node)) return false
  const free = unit.freeOf(node)
  return free.kind === 'captured' && typeof free.value === 'function' && !PLATFORM_FUNCTIONS.has(free.value)
}

function freeNames(unit: Unit): Identifier[] {
  const found: Identifier[] = []
  const visit = (node: AnyNode): void => {
    if (node.type === 'Identifier' && unit.isFree(node)) found.push(node)
    for (const child of childNodes(node)) visit(child)
  }
  visit(unit.node)
  return found
}

/** Names of the platform's functions, by identity, as they are printed. */
const PLATFORM_FUNCTIONS: ReadonlyMap<unknown, string> = platformFunctions()

/** Returns the name of a platform function in code; undefined for any other value. */
export function platformName(f: unknown): string | undefined {
  return PLATFORM_FUNCTIONS.get(f)
}

/** Whether a function belongs to the platform, or to the library: none of the program's variables is behind it. */
export function isPlatformFunction(f: AnyFunction): boolean {
  return PLATFORM_FUNCTIONS.has(f) || libraryCallOf(f) !== undefined || isLibraryPart(f)
}

function platformFunctions(): ReadonlyMap<unknown, string> {
  const found = new Map<unknown, string>()
  for (const name of SHARED_GLOBALS) {
    const value = Reflect.get(globalThis, name) as unknown
    if (typeof value === 'function') found.set(value, name)
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) continue
    for (const [inner, own] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
      if (typeof own.value === 'function' && /^\w+$/.test(inner) && inner !== 'constructor') found.set(own.value, `${name}.${inner}`)
    }
  }
  return found
}
