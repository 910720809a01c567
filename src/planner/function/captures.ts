/**
 * The values that a function's free variables have now, read from its scopes by the in-process inspector.
 *
 * A session connected to its own thread answers synchronously. The function is put into a global probe, its
 * `[[Scopes]]` are looked through innermost first, and objects come back by identity: a function evaluated on the
 * remote object stores it in the probe. Nothing is written, no debugger is enabled.
 */
import { type Runtime, Session } from 'node:inspector'

/** The values found, by name; globals are not among them. A variable whose declaration has not run yet shows as undefined. */
export type CapturedValues = ReadonlyMap<string, unknown>

interface Probe {
  target: unknown
  value: unknown
}
const PROBE = Symbol.for('distarray.captureProbe')
const GROUP = 'distarray.captures'
const probe: Probe = { target: undefined, value: undefined }
let session: Session | undefined

/** Looks the names up in the function's scopes. `unreadable` says why the inspector does not answer. */
export function readCaptures(
  f: (...args: never[]) => unknown,
  names: ReadonlySet<string>,
): { readonly values: CapturedValues } | { readonly unreadable: string } {
  if (names.size === 0) return { values: new Map() }
  try {
    return { values: withProbe(f, (post, id) => valuesInScopes(post, id, names)) }
  } catch (error) {
    return { unreadable: error instanceof Error ? error.message : String(error) }
  }
}

/** The function behind `f.bind(self)`; undefined when arguments are bound as well or the inspector does not tell. */
export function boundTarget(f: (...args: never[]) => unknown): ((...args: never[]) => unknown) | undefined {
  try {
    return withProbe(f, (post, id) => {
      const internal = post('Runtime.getProperties', { objectId: id, ownProperties: true }).internalProperties ?? []
      const bound = internal.find((property) => property.name === '[[BoundArgs]]')?.value
      const target = internal.find((property) => property.name === '[[TargetFunction]]')?.value
      if (bound?.description !== 'Array(0)' || target === undefined) return undefined
      const value = valueBehind(post, target)
      // [[TargetFunction]] of a bound function is a function
      return typeof value === 'function' ? (value as (...args: never[]) => unknown) : undefined
    })
  } catch {
    return undefined
  }
}

/** Line and column, from 0, of a function in its script; undefined where the inspector does not tell. */
export function scriptPosition(f: (...args: never[]) => unknown): { readonly line: number; readonly column: number } | undefined {
  try {
    return withProbe(f, (post, id) => {
      const internal = post('Runtime.getProperties', { objectId: id, ownProperties: true }).internalProperties ?? []
      // the protocol's own form of a location
      const at = internal.find((property) => property.name === '[[FunctionLocation]]')?.value?.value as
        | { readonly lineNumber: number; readonly columnNumber?: number }
        | undefined
      return at === undefined ? undefined : { line: at.lineNumber, column: at.columnNumber ?? 0 }
    })
  } catch {
    return undefined
  }
}

interface Post {
  (method: 'Runtime.evaluate', params: Runtime.EvaluateParameterType): Runtime.EvaluateReturnType
  (method: 'Runtime.getProperties', params: Runtime.GetPropertiesParameterType): Runtime.GetPropertiesReturnType
  (method: 'Runtime.callFunctionOn', params: Runtime.CallFunctionOnParameterType): Runtime.CallFunctionOnReturnType
  (method: 'Runtime.releaseObjectGroup', params: Runtime.ReleaseObjectGroupParameterType): void
}

function withProbe<R>(f: unknown, work: (post: Post, id: string) => R): R {
  if (session === undefined) {
    const opened = new Session()
    opened.connect()
    session = opened
  }
  const connected = session
  const post = ((method: string, params: object): unknown => {
    let answer: { error: Error | null; result: unknown } | undefined
    connected.post(method, params, (error, result) => {
      answer = { error, result }
    })
    if (answer === undefined) throw new Error('The inspector does not answer synchronously.')
    if (answer.error !== null) throw new Error(answer.error.message)
    return answer.result
  }) as Post // the four methods answer with the types that the protocol gives them
  const global = globalThis as unknown as Record<symbol, unknown> // the probe is removed again below
  Object.defineProperty(globalThis, PROBE, { value: probe, configurable: true, enumerable: false, writable: true })
  probe.target = f
  try {
    const { result } = post('Runtime.evaluate', {
      expression: `globalThis[Symbol.for('distarray.captureProbe')].target`,
      objectGroup: GROUP,
      silent: true,
    })
    if (result.objectId === undefined) throw new Error('The inspector does not show the function.')
    return work(post, result.objectId)
  } finally {
    probe.target = undefined
    probe.value = undefined
    delete global[PROBE]
    post('Runtime.releaseObjectGroup', { objectGroup: GROUP })
  }
}

function valuesInScopes(post: Post, id: string, names: ReadonlySet<string>): Map<string, unknown> {
  const internal = post('Runtime.getProperties', { objectId: id, ownProperties: true }).internalProperties ?? []
  const scopes = internal.find((property) => property.name === '[[Scopes]]')?.value
  if (scopes?.objectId === undefined) return new Map()
  return valuesAtOnce(valueBehind(post, scopes), names) ?? valuesOneByOne(post, scopes.objectId, names)
}

/**
 * The variables of copies of the scopes, which lie on the heap: the protocol writes out every variable of a module, whose
 * functions are long. Undefined where the engine shows scopes in another form, or one is the object of a `with`.
 */
function valuesAtOnce(scopes: unknown, names: ReadonlySet<string>): Map<string, unknown> | undefined {
  const found = new Map<string, unknown>()
  const { length } = scopes as ArrayLike<unknown> // a list without a prototype
  if (typeof length !== 'number') return undefined
  for (let i = 0; i < length; i++) {
    const { description, object } = ((scopes as ArrayLike<unknown>)[i] ?? {}) as {
      readonly description?: unknown
      readonly object?: unknown
    }
    if (typeof description !== 'string' || typeof object !== 'object' || object === null || /^With\b/.test(description)) return undefined
    if (/^Global\b/.test(description)) continue
    for (const name of names) {
      if (found.has(name)) continue
      const property = Object.getOwnPropertyDescriptor(object, name)
      if (property !== undefined && 'value' in property) found.set(name, property.value)
    }
    if (found.size === names.size) break
  }
  return found
}

function valuesOneByOne(post: Post, scopes: string, names: ReadonlySet<string>): Map<string, unknown> {
  const found = new Map<string, unknown>()
  for (const scope of post('Runtime.getProperties', { objectId: scopes, ownProperties: true }).result) {
    const object = scope.value
    if (object?.objectId === undefined || /^Global\b/.test(object.description ?? '')) continue
    for (const property of post('Runtime.getProperties', { objectId: object.objectId, ownProperties: true }).result) {
      if (!names.has(property.name) || found.has(property.name) || property.value === undefined) continue
      found.set(property.name, valueBehind(post, property.value))
    }
    if (found.size === names.size) break
  }
  return found
}

/** The value itself: primitives are written out by the protocol, objects are fetched through the probe. */
function valueBehind(post: Post, object: Runtime.RemoteObject): unknown {
  if (object.objectId !== undefined) {
    post('Runtime.callFunctionOn', {
      objectId: object.objectId,
      functionDeclaration: `function () { 'use strict'; globalThis[Symbol.for('distarray.captureProbe')].value = this }`,
      silent: true,
    })
    return probe.value
  }
  const written = object.unserializableValue
  if (written === undefined) return object.value
  if (object.type === 'bigint') return BigInt(written.slice(0, -1))
  return Number(written)
}
