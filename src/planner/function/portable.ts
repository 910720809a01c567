/**
 * A function printed so that it can run in another thread: its normalized tree, the functions it calls, and the values
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
import type { PortableFunction } from '../../core/functionIr.ts'
import type { Refusal } from '../../core/span.ts'
import { childNodes, isFunctionNode } from './ast.ts'
import { isCloneable } from './cloneable.ts'
import { captureEffect } from './effects.ts'
import { printNode } from './print.ts'
import { refusalOf } from './refusals.ts'
import { type AnyFunction, type Unit, unitOf } from './unit.ts'

/** The printed function, or why it cannot leave its thread. */
export function portableOf(root: Unit): PortableFunction | Refusal {
  const writer = new Writer()
  const name = writer.write(root)
  if (typeof name !== 'string') return name
  const effect = captureEffect(root)
  if (effect !== undefined) return effect
  return { source: `"use strict";\n${writer.lines.join('\n')}\nreturn ${name}`, captures: writer.captures }
}

class Writer {
  readonly lines: string[] = []
  readonly captures: Record<string, unknown> = {}
  readonly #names = new Map<unknown, string>()
  readonly #written = new Set<unknown>()
  readonly #keys = new Map<unknown, string>()

  /** Prints a function after those it needs, and returns its name. */
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
        if (!SHARED_GLOBALS.has(free.name)) return refusalOf('changes-global', unit.spanOf(node), free.name)
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
    this.lines.push(`const ${name} = ((${params.join(', ')}) => (${printNode(unit.node)}))(${args.join(', ')});`)
    return name
  }

  /** How the wrapper is given a captured value. */
  #argument(unit: Unit, node: Identifier, value: unknown): string | Refusal {
    if (typeof value === 'function') return this.#function(unit, node, value as AnyFunction) // callable, and only its text is looked at
    const known = this.#keys.get(value)
    if (known !== undefined) return known
    if (!isCloneable(value)) return refusalOf('cannot-be-sent', unit.spanOf(node), node.name)
    let key = node.name
    for (let n = 1; key in this.captures || key === '__proto__'; n++) key = `${node.name}$${n}`
    this.captures[key] = value
    const arg = `captures[${JSON.stringify(key)}]`
    if (typeof value === 'object' && value !== null) this.#keys.set(value, arg)
    return arg
  }

  #function(unit: Unit, node: Identifier, f: AnyFunction): string | Refusal {
    const known = this.#names.get(f)
    if (known !== undefined) return this.#written.has(f) ? known : `(...args) => ${known}(...args)`
    const native = PLATFORM_FUNCTIONS.get(f)
    if (native !== undefined) return native
    const inner = unitOf(f)
    return typeof inner === 'string' ? refusalOf('cannot-be-sent', unit.spanOf(node), node.name) : this.write(inner)
  }
}

/** Syntax that means something else, or nothing, outside its place. */
function unportableSyntax(unit: Unit): Refusal | undefined {
  const found = findUnportable(unit.node, unit.node.type === 'ArrowFunctionExpression')
  return found === undefined ? undefined : refusalOf('this', unit.spanOf(found))
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

function freeNames(unit: Unit): Identifier[] {
  const found: Identifier[] = []
  const visit = (node: AnyNode): void => {
    if (node.type === 'Identifier' && unit.isFree(node)) found.push(node)
    for (const child of childNodes(node)) visit(child)
  }
  visit(unit.node)
  return found
}

/** Globals that every thread of Node has, with the same meaning. */
const SHARED_GLOBALS: ReadonlySet<string> = new Set(
  'AggregateError Array ArrayBuffer BigInt BigInt64Array BigUint64Array Boolean Buffer DataView Date Error EvalError Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array Intl JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String Symbol SyntaxError TextDecoder TextEncoder TypeError URIError URL URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet atob btoa console decodeURI decodeURIComponent encodeURI encodeURIComponent escape isFinite isNaN parseFloat parseInt performance structuredClone undefined unescape'.split(
    ' ',
  ),
)

/** Functions of the platform by identity, as they are written. */
const PLATFORM_FUNCTIONS: ReadonlyMap<unknown, string> = platformFunctions()

/** Whether a function belongs to the platform: it captures nothing, and is the same in every thread. */
export function isPlatformFunction(f: AnyFunction): boolean {
  return PLATFORM_FUNCTIONS.has(f)
}

function platformFunctions(): ReadonlyMap<unknown, string> {
  const found = new Map<unknown, string>()
  for (const name of SHARED_GLOBALS) {
    const value = Reflect.get(globalThis, name) as unknown
    if (typeof value === 'function') found.set(value, name)
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || name === 'console') continue
    for (const [inner, own] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
      if (typeof own.value === 'function' && /^\w+$/.test(inner) && inner !== 'constructor') found.set(own.value, `${name}.${inner}`)
    }
  }
  return found
}
