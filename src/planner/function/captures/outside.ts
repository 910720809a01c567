/**
 * Lowers values from outside the function, captured or in env: primitives become parameters, arrays of
 * primitives tables, handles of the session uses, functions of the user closures to write out.
 */
import { types } from 'node:util'
import type { AnyNode, Identifier } from 'acorn'
import type { RowLambdaContext } from '../../../core/engine.ts'
import { BUILTINS, type Builtin, type Primitive } from '../../../core/ir/functionIr.ts'
import { libraryCallOf } from '../../../core/time/library.ts'
import type { Free } from '../free.ts'
import { literal } from '../lower/build.ts'
import type { EnvValue } from '../lower/context.ts'
import type { Lowering } from '../lower/lowering.ts'
import { isPlainRegex, regexOf } from '../lower/regexes.ts'
import { exprValue, type Origin, REFUSED, type Value } from '../lower/value.ts'
import { type AnyFunction, unitOf } from '../unit.ts'
import { isPlainDate } from './plainDate.ts'
import { hasTraps } from './traps.ts'

/** The platform's functions by identity, so that a captured `sqrt` is Math.sqrt. */
const BUILTIN_OF: ReadonlyMap<unknown, Builtin> = new Map(BUILTINS.map((name) => [builtinFunction(name), name]))

export function builtinFunction(name: Builtin): unknown {
  return name.split('.').reduce<unknown>((at, part) => (at as Record<string, unknown>)[part], globalThis) // the path exists
}

/** Lowers a free name. */
export function freeValue(l: Lowering, free: Free, node: Identifier): Value {
  switch (free.kind) {
    case 'captured':
      return fromOutside(l, free.value, free.name, 'capture', node)
    case 'global':
      return globalValue(l, free.name, free.value, node)
    case 'absent':
      if (free.name === 'arguments') return l.refuse('arguments', node)
      if (/^__(read|spreadArray|spread|values|generator|awaiter|rest|assign)$/.test(free.name)) return l.refuse('es5', node, free.name)
      if (free.inspector) return l.refuse('unread-capture', node, free.name)
      if (l.context.kind === 'loop') return l.refuse('captures-unreadable', node, free.name)
      return l.refuse('captures-unreadable-in-rows', node, free.name, callWithEnv(l.context, free.name))
  }
}

/** Methods and aggregates whose functions take a row and no key. */
const OF_ROW =
  /^(sortBy|sum|mean|min|max|count|countDistinct|first|last|variance|stddev|quantile|median|collect|mode|skew|kurtosis|any|all|approx\w+)$/
/** Aggregates with two functions. */
const OF_PAIR = /^(argMin|argMax|covariance|correlation)$/

/** Returns the code that gives a row function a value in `env`, for a cure. */
function callWithEnv({ method, key }: RowLambdaContext, name: string): string {
  if (key === undefined && OF_ROW.test(method))
    return `${method}((row, { ${name} }) => …, ${/quantile$/i.test(method) ? 'q, ' : ''}{ env: { ${name} } })`
  if (key === undefined && OF_PAIR.test(method)) return `${method}((row, { ${name} }) => …, (row, { ${name} }) => …, { env: { ${name} } })`
  const has = key !== undefined && ['map', 'filter', 'flatMap', 'withColumns', 'index', 'groupBy'].includes(method)
  return `${has ? method : 'withColumns'}((row, key, { ${name} }) => …, { env: { ${name} } })${has ? '' : ' before'}`
}

export function globalValue(l: Lowering, name: string, value: unknown, node: AnyNode): Value {
  if (name === 'undefined' || (typeof value === 'number' && /^(NaN|Infinity|Math\.\w+|Number\.\w+)$/.test(name))) {
    return exprValue(literal(value as Primitive, l.span(node))) // undefined or a number
  }
  const builtin = BUILTIN_OF.get(value)
  return builtin === undefined ? { kind: 'global', name, value } : { kind: 'builtin', name: builtin }
}

export function fromOutside(l: Lowering, value: unknown, name: string, origin: Origin, node: AnyNode): Value {
  if (hasTraps(value)) return l.refuse('captured-proxy', node, name)
  if (origin === 'capture' && l.context.kind === 'loop' && typeof value === 'object' && value !== null) {
    const known = l.context.classify?.(value)
    if (known !== undefined && known.kind !== 'constant') {
      const inEnv = Object.entries(l.context.env).find(([, one]) => one.kind !== 'constant' && one.handle === value)
      return inEnv === undefined ? handleOf(l, known, capturedHandleName(l, value, name), 'capture') : handleOf(l, known, inEnv[0], 'env')
    }
  }
  if (typeof value === 'function') return functionValue(l, value as AnyFunction, name, node) // callable, and only its text is looked at
  if (typeof value === 'object' && value !== null) {
    const time = isPlainDate(value) ? Date.prototype.getTime.call(value) : undefined
    const regex =
      types.isRegExp(value) && isPlainRegex(value) && !value.global ? regexOf({ pattern: value.source, flags: value.flags }) : undefined
    if (regex !== undefined) return regex
    if (time === undefined) return { kind: 'data', value, name, origin }
    return {
      kind: 'date',
      milliseconds: { kind: 'Parameter', name: parameterName(l, name, time, origin), isTime: true, span: l.span(node) },
      name,
    }
  }
  if (typeof value === 'symbol') return l.refuse('captured-object', node, name)
  return exprValue({ kind: 'Parameter', name: parameterName(l, name, value as Primitive, origin), span: l.span(node) }) // the value is a primitive here
}

function functionValue(l: Lowering, value: AnyFunction, name: string, node: AnyNode): Value {
  const builtin = BUILTIN_OF.get(value)
  if (builtin !== undefined) return { kind: 'builtin', name: builtin }
  const call = libraryCallOf(value)
  if (call !== undefined) return { kind: 'library', name: call }
  if (/^__(read|spreadArray|spread|values|generator|awaiter|rest|assign)$/.test(name)) return l.refuse('es5', node, name)
  const unit = l.units.get(value) ?? unitOf(value)
  if (typeof unit === 'string') return { kind: 'global', name, value }
  l.units.set(value, unit)
  return { kind: 'closure', unit, node: unit.node, name }
}

/** Lowers a member of `env`. */
export function envValue(l: Lowering, name: string, node: AnyNode): Value {
  if (l.context.kind !== 'loop') return REFUSED
  const value = Object.hasOwn(l.context.env, name) ? l.context.env[name] : undefined
  if (value === undefined) return l.refuse('unknown-env-name', node, name)
  return value.kind === 'constant' ? fromOutside(l, value.value, name, 'env', node) : handleOf(l, value, name, 'env')
}

export function handleOf(
  l: Lowering,
  value: EnvValue & { kind: Exclude<EnvValue['kind'], 'constant'> },
  name: string,
  origin: Origin,
): Value {
  if (!l.uses.some((use) => use.name === name)) l.uses.push({ name, kind: value.kind, origin })
  if (value.dtype !== undefined) l.dtypes.set(name, value.dtype)
  if (value.rank !== undefined) l.ranks.set(name, value.rank)
  if (value.shape !== undefined) l.shapes.set(name, value.shape)
  if (value.isBoolean === true) l.booleans.add(name)
  if (value.isTable === true) l.tableColumns.add(name)
  if (
    value.isTable === true &&
    value.fields !== undefined &&
    value.handle !== undefined &&
    l.context.kind === 'loop' &&
    l.context.columnArray
  )
    l.tablesOfRows.set(name, { fields: value.fields, handle: value.handle })
  return { kind: 'handle', of: value.kind, name }
}

export function capturedHandleName(l: Lowering, value: object, wanted: string): string {
  for (const [name, known] of l.captured) if (known === value) return name
  const name = l.newName(wanted)
  l.captured.set(name, value)
  return name
}

/** Returns the parameter of a name and value; a helper from another module may capture another value under the same name. */
export function parameterName(l: Lowering, wanted: string, value: Primitive, origin: Origin): string {
  const same = l.parameters.find(
    (one) => (one.name === wanted || one.name.startsWith(`${wanted}$`)) && one.origin === origin && Object.is(one.value, value),
  )
  if (same !== undefined) return same.name
  const inEnv = origin === 'env' && !l.parameters.some((one) => one.name === wanted)
  const name = inEnv ? wanted : l.newName(wanted)
  l.parameters.push({ name, value, origin })
  return name
}

/** Returns the table of a captured array; undefined where it holds more than primitives. */
export function tableOf(l: Lowering, data: Value & { kind: 'data' }): string | undefined {
  const known = l.tables.find((table) => table.of === data.value)
  if (known !== undefined) return known.name
  if (!isTable(data.value)) return undefined
  return addTable(l, data.name, data.value, data.origin, data.value, data.made === true ? { made: true } : {})
}

/** Returns the table of the characters of a captured string; undefined for other parameters. */
export function tableOfString(l: Lowering, name: string): string | undefined {
  const parameter = l.parameters.find((one) => one.name === name)
  if (typeof parameter?.value !== 'string') return undefined
  const { value, origin } = parameter
  const known = l.tables.find((table) => table.of === value)
  return known?.name ?? addTable(l, name, value.split(''), origin, value)
}

/** Returns the table of the characters of a text that is written out. */
export function tableOfText(l: Lowering, text: string): string {
  const known = l.tables.find((table) => table.of === text)
  return known?.name ?? addTable(l, 'text', text.split(''), 'capture', text, { made: true })
}

/** Adds a table. `made`: it was computed from captured values when the function was lowered. */
export function addTable(
  l: Lowering,
  wanted: string,
  value: ArrayLike<Primitive>,
  origin: Origin,
  of: unknown,
  how: { readonly made?: true } = {},
): string {
  const inEnv = origin === 'env' && !l.tables.some((table) => table.name === wanted) && !l.parameters.some((one) => one.name === wanted)
  const name = inEnv ? wanted : l.newName(wanted)
  l.tables.push({ name, value, origin, of, ...how })
  return name
}

export function isTable(value: object): value is ArrayLike<Primitive> {
  if (ArrayBuffer.isView(value)) return !(value instanceof DataView)
  return (
    Array.isArray(value) &&
    value.every((item) => item === null || (typeof item !== 'object' && typeof item !== 'function' && typeof item !== 'symbol')) &&
    Object.keys(value).length === value.length
  )
}
