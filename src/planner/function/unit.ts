/**
 * One function ready to be lowered or printed: its normalized tree, what its names mean, and the values it captures.
 */

import type { Identifier } from 'acorn'
import type { Span } from '../../core/span.ts'
import { boundTarget, readCaptures } from './captures/captures.ts'
import { atOnce } from './captures/inspected.ts'
import type { Free } from './free.ts'
import { normalize } from './normalize/normalize.ts'
import type { FunctionNode } from './source/ast.ts'
import { type Names, resolveNames } from './source/scope.ts'
import { type FunctionSource, type NoSource, sourceOf } from './source/source.ts'

export type AnyFunction = (...args: never[]) => unknown

export interface Unit {
  readonly f: AnyFunction
  readonly source: FunctionSource
  readonly node: FunctionNode
  readonly names: Names
  /** The meaning of a free identifier of `node`. */
  readonly freeOf: (node: Identifier) => Free
  readonly isFree: (node: Identifier) => boolean
  /** The meanings of the names that its text leaves free. */
  readonly meanings: ReadonlyMap<string, Free>
  readonly spanOf: FunctionSource['spanOf']
}

/** Globals that are trusted without looking into the scopes, where the inspector does not answer. */
const PLATFORM: ReadonlySet<string> = new Set([
  'Math',
  'Number',
  'String',
  'Boolean',
  'BigInt',
  'Object',
  'Date',
  'Error',
  'RangeError',
  'TypeError',
  'undefined',
  'NaN',
  'Infinity',
  'isNaN',
  'isFinite',
  'parseFloat',
  'parseInt',
])

const resolved = new WeakMap<FunctionSource, Names>()

/** Parses a function and reads what it captures now. Parsing is done once per function, captures are read anew. */
export function unitOf(f: AnyFunction): Unit | NoSource {
  const found = freeNamesOf(f)
  if (typeof found === 'string') return found
  return unitFrom(found)
}

/** Makes the unit of a function that stands in the text of a class, as its constructor does. */
export function unitOfNode(f: AnyFunction, source: FunctionSource): Unit {
  return atOnce(() => {
    const names = resolveNames(source.node)
    return unitFrom({ target: f, source, names, meanings: meaningsIn(f, new Set([...names.free].map(({ name }) => name))) })
  })
}

function unitFrom({ target, source, names, meanings }: FreeNames): Unit {
  const renamed = new Map<Identifier, Free>()
  const freeOf = (node: Identifier): Free =>
    renamed.get(node) ?? meanings.get(node.name) ?? { kind: 'absent', name: node.name, inspector: true }
  const node = normalize(source.node, { names, freeOf, rename: (made, free) => renamed.set(made, free) })
  const free = names.free
  return { f: target, source, node, names, freeOf, meanings, isFree: (one) => free.has(one) || renamed.has(one), spanOf: source.spanOf }
}

interface FreeNames {
  /** The function behind `f` where that is a bound function; otherwise `f`. */
  readonly target: AnyFunction
  readonly source: FunctionSource
  readonly names: Names
  readonly meanings: ReadonlyMap<string, Free>
}

/** Returns what a function's free names mean now, with its source; or why there is no source. */
export function freeNamesOf(f: AnyFunction): FreeNames | NoSource {
  return atOnce(() => readFreeNames(f))
}

function readFreeNames(f: AnyFunction): FreeNames | NoSource {
  let target = f
  let source = sourceOf(f)
  if (source === 'native') {
    const bound = boundTarget(f)
    if (bound === undefined) return 'native'
    target = bound
    source = sourceOf(bound)
  }
  if (typeof source === 'string') return source
  let names = resolved.get(source)
  if (names === undefined) {
    names = resolveNames(source.node)
    resolved.set(source, names)
  }
  const wanted = new Set<string>()
  for (const node of names.free) wanted.add(node.name)
  return { target, source, names, meanings: meaningsIn(target, wanted) }
}

/** Returns what these free names of a function mean now. */
export function meaningsIn(f: AnyFunction, names: ReadonlySet<string>): ReadonlyMap<string, Free> {
  const captures = readCaptures(f, names)
  return new Map([...names].map((name) => [name, meaningOf(name, captures)]))
}

/** Whether a global keeps its meaning as long as the program does not replace parts of the platform. */
export function isPlatform(name: string): boolean {
  return PLATFORM.has(name)
}

function meaningOf(name: string, captures: ReturnType<typeof readCaptures>): Free {
  if ('values' in captures && captures.values.has(name)) {
    const value = captures.values.get(name)
    // undefined may as well mean that the declaration has not run yet
    return value === undefined ? { kind: 'absent', name, inspector: true } : { kind: 'captured', name, value }
  }
  const isGlobal = name in globalThis && ('values' in captures || PLATFORM.has(name))
  if (isGlobal) return { kind: 'global', name, value: (globalThis as unknown as Record<string, unknown>)[name] }
  return { kind: 'absent', name, inspector: 'values' in captures }
}

export function wholeSpan(unit: Unit): Span {
  return unit.spanOf(unit.source.node)
}
