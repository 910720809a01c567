/**
 * Reads objects through the in-process inspector.
 *
 * A session connected to its own thread answers synchronously. Objects come back by identity: a function evaluated on the
 * remote object stores it in a probe that the inspector knows. Nothing is written, no debugger is enabled.
 *
 * The inspector holds what it has shown until it is told to let go, and while a session is connected also the arguments of the
 * last 1,000 calls of the console. So the session is disconnected when the event loop turns; runs that follow one another
 * before share one.
 */
import { type Runtime, Session, url } from 'node:inspector'

export interface Post {
  (method: 'Runtime.evaluate', params: Runtime.EvaluateParameterType): Runtime.EvaluateReturnType
  (method: 'Runtime.getProperties', params: Runtime.GetPropertiesParameterType): Runtime.GetPropertiesReturnType
  (method: 'Runtime.callFunctionOn', params: Runtime.CallFunctionOnParameterType): Runtime.CallFunctionOnReturnType
  (method: 'Runtime.discardConsoleEntries', params: object): void
}

interface Connection {
  readonly session: Session
  readonly post: Post
  /** The inspector's id of `probe`. */
  readonly probeId: string
}

const PROBE = Symbol.for('distarray.captureProbe')
const PROBE_EXPRESSION = `process.getBuiltinModule('node:inspector').Session[Symbol.for('distarray.captureProbe')]`
/** Most looks at functions before the inspector releases what it has shown, within one turn of the event loop. */
const MOST_LOOKS = 64

const probe: { target: unknown; value: unknown } = { target: undefined, value: undefined }
let connection: Connection | undefined
/** The inspector's ids of functions that it holds. */
const held = new Map<unknown, string>()
let looks = 0

/** Has the inspector look at a function: `work` gets its id. Throws where the inspector does not answer. */
export function inspect<R>(f: unknown, work: (id: string) => R): R {
  const known = held.get(f)
  if (known !== undefined) {
    try {
      return look(known, work)
    } catch {
      letGo() // the function is shown again below
    }
  }
  const { post, probeId } = connected()
  probe.target = f
  try {
    const id = post('Runtime.callFunctionOn', {
      objectId: probeId,
      functionDeclaration: 'function () { return this.target }',
      silent: true,
    }).result.objectId
    if (id === undefined) throw new Error('The inspector does not show the function.')
    held.set(f, id)
    return look(id, work)
  } finally {
    probe.target = undefined
  }
}

function look<R>(id: string, work: (id: string) => R): R {
  if (looks === 0) setImmediate(letGo).unref()
  looks++
  try {
    return work(id)
  } finally {
    if (looks >= MOST_LOOKS) letGo()
  }
}

/** Disconnects, so that the inspector keeps nothing of what it has shown. */
export function letGo(): void {
  if (looks === 0 || connection === undefined) return
  const { session, post } = connection
  looks = 0
  held.clear()
  seenAtOnce?.clear()
  copiesAtOnce?.clear()
  connection = undefined
  // what was written to the console meanwhile; a debugger that listens shows it, and may ask for it later
  if (url() === undefined) post('Runtime.discardConsoleEntries', {})
  session.disconnect()
}

/** Returns a function's internal properties: its scopes, its location, what it binds. */
export function internalsOf(id: string): readonly Runtime.InternalPropertyDescriptor[] {
  const seen = seenAtOnce?.get(id)
  if (seen !== undefined) return seen
  const internals = connected().post('Runtime.getProperties', { objectId: id, ownProperties: true }).internalProperties ?? []
  seenAtOnce?.set(id, internals)
  return internals
}

/** Returns the list of a function's scopes; undefined where the inspector shows none. */
export function scopesOf(id: string): { readonly objectId: string; readonly copies: unknown } | undefined {
  const scopes = internalsOf(id).find((property) => property.name === '[[Scopes]]')?.value
  if (scopes?.objectId === undefined) return undefined
  const { objectId } = scopes
  let copies = copiesAtOnce?.get(objectId)
  if (copies === undefined) {
    copies = valueBehind(scopes)
    copiesAtOnce?.set(objectId, copies)
  }
  return { objectId, copies }
}

/** Internal properties read since `atOnce` began; the scopes among them are copies. */
let seenAtOnce: Map<string, readonly Runtime.InternalPropertyDescriptor[]> | undefined

/** The copies of scopes that were fetched since `atOnce` began, by their ids. */
let copiesAtOnce: Map<string, unknown> | undefined

/** Runs work that looks at one function for several reasons, without code of the program in between: the inspector is asked once. */
export function atOnce<R>(work: () => R): R {
  if (seenAtOnce !== undefined) return work()
  seenAtOnce = new Map()
  copiesAtOnce = new Map()
  try {
    return work()
  } finally {
    seenAtOnce = undefined
    copiesAtOnce = undefined
  }
}

export function propertiesOf(id: string): readonly Runtime.PropertyDescriptor[] {
  return connected().post('Runtime.getProperties', { objectId: id, ownProperties: true }).result
}

/** Returns the value itself: primitives are in the protocol's answer, objects are fetched through the probe. */
export function valueBehind(object: Runtime.RemoteObject): unknown {
  if (object.objectId !== undefined) {
    const { post, probeId } = connected()
    post('Runtime.callFunctionOn', {
      objectId: object.objectId,
      functionDeclaration: `function (probe) { 'use strict'; probe.value = this }`,
      arguments: [{ objectId: probeId }],
      silent: true,
    })
    const { value } = probe
    probe.value = undefined
    return value
  }
  const written = object.unserializableValue
  if (written === undefined) return object.value
  if (object.type === 'bigint') return BigInt(written.slice(0, -1))
  return Number(written)
}

function connected(): Connection {
  connection ??= connect()
  return connection
}

function connect(): Connection {
  const session = new Session()
  session.connect()
  const post = ((method: string, params: object): unknown => {
    let answer: { error: Error | null; result: unknown } | undefined
    session.post(method, params, (error, result) => {
      answer = { error, result }
    })
    if (answer === undefined) throw new Error('The inspector does not answer synchronously.')
    if (answer.error !== null) throw new Error(answer.error.message)
    return answer.result
  }) as Post // the methods answer with the types that the protocol gives them
  // Expressions are evaluated in the context of the process. This code may run in another one, as Jest has for each file of
  // tests, and Node's own classes are in all of them.
  const shared = Session as unknown as Record<symbol, unknown> // the probe is removed again below
  Object.defineProperty(shared, PROBE, { value: probe, configurable: true, enumerable: false, writable: true })
  try {
    const { result, exceptionDetails } = post('Runtime.evaluate', { expression: PROBE_EXPRESSION, silent: true })
    if (result.objectId === undefined || exceptionDetails !== undefined) throw new Error('The inspector does not show objects.')
    return { session, post, probeId: result.objectId }
  } finally {
    delete shared[PROBE]
  }
}
