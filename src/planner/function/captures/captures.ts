/**
 * Reads the values that a function's free variables have now from its scopes by the in-process inspector: its `[[Scopes]]`
 * are searched innermost first.
 */

import { behindEnv } from '../../../core/ir/withEnv.ts'
import { isError } from '../../../core/isError.ts'
import { isTopLevel } from '../source/topLevel.ts'
import { inspect, internalsOf, propertiesOf, scopesOf, valueBehind } from './inspected.ts'
import { lastingNames } from './lastingNames.ts'

/** The values found, by name, without globals. A variable whose declaration has not run yet shows as undefined. */
export type CapturedValues = ReadonlyMap<string, unknown>

type AnyFunction = (...args: never[]) => unknown

/** Facts about a function's names that hold for as long as it lives. */
interface Settled {
  /** Names that no scope of the function declares, or ever will. */
  outside: ReadonlySet<string>
  /** Variables that keep their value. */
  values: CapturedValues
  looks: number
}

const settled = new WeakMap<AnyFunction, Settled>()

/** Number of looks at a function after which reading the text of its module pays off: it will be looked at again. */
const LOOKS_BEFORE_READING = 5

/** Looks the names up in the function's scopes. `unreadable` says why the inspector does not answer. */
export function readCaptures(
  f: AnyFunction,
  names: ReadonlySet<string>,
): { readonly values: CapturedValues } | { readonly unreadable: string } {
  if (names.size === 0) return { values: new Map() }
  const behind = behindEnv(f)
  if (behind !== undefined) return { values: behind.captures }
  const known = settled.get(f)
  if (known !== undefined && isSettled(known, names)) return { values: known.values }
  try {
    const { values, areScopesFixed } = inspect(f, (id) => valuesInScopes(id, names))
    if (areScopesFixed) settle(f, names, values)
    return { values }
  } catch (error) {
    return { unreadable: isError(error) ? error.message : String(error) }
  }
}

/** Whether the inspector need not be asked: all names are known to be globals, or to keep their value. */
function isSettled({ outside, values }: Settled, names: ReadonlySet<string>): boolean {
  for (const name of names) if (!values.has(name) && !(outside.has(name) && isTopLevel(name))) return false
  return true
}

function settle(f: AnyFunction, names: ReadonlySet<string>, found: CapturedValues): void {
  const known = settled.get(f) ?? { outside: new Set(), values: new Map(), looks: 0 }
  known.outside = new Set([...names].filter((name) => !found.has(name)))
  known.looks++
  if (known.looks === LOOKS_BEFORE_READING) {
    const lasting = lastingNames(f, names)
    // undefined may as well mean that the declaration has not run yet
    known.values = new Map([...found].filter(([name, value]) => lasting.has(name) && value !== undefined))
  }
  settled.set(f, known)
}

const boundTargets = new WeakMap<AnyFunction, AnyFunction>()

/** Returns the function behind `f.bind(self)`; undefined where arguments are bound as well or the inspector does not tell. */
export function boundTarget(f: AnyFunction): AnyFunction | undefined {
  const known = boundTargets.get(f)
  if (known !== undefined) return known
  try {
    const target = inspect(f, (id) => {
      const internals = internalsOf(id)
      const bound = internals.find((property) => property.name === '[[BoundArgs]]')?.value
      const target = internals.find((property) => property.name === '[[TargetFunction]]')?.value
      if (bound?.description !== 'Array(0)' || target === undefined) return undefined
      const value = valueBehind(target)
      // [[TargetFunction]] of a bound function is a function
      return typeof value === 'function' ? (value as AnyFunction) : undefined
    })
    if (target !== undefined) boundTargets.set(f, target)
    return target
  } catch {
    return undefined
  }
}

/** Returns line and column, from 0, of a function in its script, and the script's id; undefined where the inspector does not tell. */
export function scriptPosition(f: AnyFunction): { readonly script: string; readonly line: number; readonly column: number } | undefined {
  try {
    return inspect(f, (id) => {
      // the protocol's own form of a location
      const at = internalsOf(id).find((property) => property.name === '[[FunctionLocation]]')?.value?.value as
        | { readonly scriptId: string; readonly lineNumber: number; readonly columnNumber?: number }
        | undefined
      return at === undefined ? undefined : { script: at.scriptId, line: at.lineNumber, column: at.columnNumber ?? 0 }
    })
  } catch {
    return undefined
  }
}

interface Found {
  readonly values: Map<string, unknown>
  /** Whether the scopes will never declare other names than they do now. */
  readonly areScopesFixed: boolean
}

function valuesInScopes(id: string, names: ReadonlySet<string>): Found {
  const scopes = scopesOf(id)
  if (scopes === undefined) return { values: new Map(), areScopesFixed: false }
  return valuesAtOnce(scopes.copies, names) ?? { values: valuesOneByOne(scopes.objectId, names), areScopesFixed: false }
}

/** Returns a variable of a scope. One that is not initialized yet has the value undefined; newer engines throw. */
function variable(scope: object, name: string): PropertyDescriptor | undefined {
  try {
    return Object.getOwnPropertyDescriptor(scope, name)
  } catch {
    return { value: undefined }
  }
}

/**
 * Reads variables from copies of the scopes on the heap, since the protocol would write out every variable of a module, whose functions are
 * long. Undefined where the engine shows scopes in another form, or one is the object of a `with`.
 */
function valuesAtOnce(scopes: unknown, names: ReadonlySet<string>): Found | undefined {
  const values = new Map<string, unknown>()
  const { length } = scopes as ArrayLike<unknown> // a list without a prototype
  if (typeof length !== 'number') return undefined
  // The code of a module is strict: no `with`, and a direct `eval` declares nothing outside itself. Its
  // scope lies around those of its functions.
  let areScopesFixed = false
  for (let i = 0; i < length; i++) {
    const { description, object } = ((scopes as ArrayLike<unknown>)[i] ?? {}) as {
      readonly description?: unknown
      readonly object?: unknown
    }
    if (typeof description !== 'string' || typeof object !== 'object' || object === null || /^With\b/.test(description)) return undefined
    if (/^Global\b/.test(description)) continue
    if (description === 'Module') areScopesFixed = true
    for (const name of names) {
      if (values.has(name)) continue
      const property = variable(object, name)
      if (property !== undefined && 'value' in property) values.set(name, property.value)
    }
  }
  return { values, areScopesFixed }
}

function valuesOneByOne(scopes: string, names: ReadonlySet<string>): Map<string, unknown> {
  const found = new Map<string, unknown>()
  for (const scope of propertiesOf(scopes)) {
    const object = scope.value
    if (object?.objectId === undefined || /^Global\b/.test(object.description ?? '')) continue
    for (const property of propertiesOf(object.objectId)) {
      if (!names.has(property.name) || found.has(property.name) || property.value === undefined) continue
      found.set(property.name, valueBehind(property.value))
    }
    if (found.size === names.size) break
  }
  return found
}
