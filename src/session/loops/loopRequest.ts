/** The arguments of `session.loop`, and their checks. */
import { types } from 'node:util'
import { checkBoolean, checkCount, checkFunction, checkList, checkOneOf } from '../../core/arguments.ts'
import { isDistArray } from '../../core/arrays/distArray.ts'
import type { IndexSpace } from '../../core/arrays/indexSpace.ts'
import { valueText } from '../../core/data/valueKinds.ts'
import { LoopError, PlanError } from '../../core/errors.ts'
import type { LoopOptions } from '../../core/loop/loopSpec.ts'
import { nearestNames } from '../../core/nearestNames.ts'
import { checkOptions } from '../../core/options.ts'
import { isHandle } from './loopBindings.ts'

export interface LoopRequest {
  readonly over: object
  readonly env: Readonly<Record<string, unknown>>
  readonly body: (...args: never[]) => unknown
  readonly options: LoopOptions
}

export const LOOP_OPTIONS: readonly (keyof LoopOptions)[] = [
  ...(['order', 'precision', 'require', 'partitions', 'balance', 'assume', 'checkRaces', 'atomic', 'name'] as const),
]

export function checkRequest({ over, env, body, options }: LoopRequest): void {
  if (typeof over !== 'object' || over === null || !(isIndexSpace(over) || isDistArray(over))) {
    throw new PlanError('loop() iterates over a DistArray or a range, as in session.range(100, 100).')
  }
  if (typeof env !== 'object' || env === null)
    throw new PlanError('The env of loop() is an object of arrays and constants, as { W, H }; {} for none.')
  checkEnvEntries(env)
  checkFunction('loop()', body, isIndexSpace(over) ? '(key, env)' : '(value, key, env)')
  if (Object.prototype.toString.call(body) === '[object GeneratorFunction]') {
    throw new LoopError(
      'The body of a loop is a generator, whose calls run nothing. Write an ordinary function, and return the new element instead of yielding it.',
      [],
    )
  }
  checkOptions('loop()', options, LOOP_OPTIONS)
  const { name, assume } = options
  if (name !== undefined && typeof name !== 'string')
    throw new PlanError(`The name of loop() is a string; it was given ${valueText(name)}.`)
  if (assume !== undefined) {
    checkOptions('assume of loop()', assume, ['distinct'])
  }
  if (assume?.distinct !== undefined) checkList('assume.distinct of loop()', assume.distinct)
  for (const promised of assume?.distinct ?? []) {
    if (typeof promised !== 'string')
      throw new PlanError(`assume.distinct of loop() has names of arrays; it was given ${valueText(promised)}.`)
  }
  if (options.order !== undefined) checkOneOf('The order of loop()', options.order, ['serial', 'any'])
  if (options.precision !== undefined) checkOneOf('The precision of loop()', options.precision, ['exact', 'fast', 'relaxed'])
  if (options.balance !== undefined) checkOneOf('The balance of loop()', options.balance, ['histogram', 'equal'])
  if (options.checkRaces !== undefined) checkBoolean('The checkRaces of loop()', options.checkRaces)
  if (options.atomic !== undefined) checkBoolean('The atomic of loop()', options.atomic)
  if (options.require !== undefined) checkOneOf('The require of loop()', options.require, ['parallel', 'compiled'])
  const parts = options.partitions === undefined ? [] : [options.partitions].flat()
  for (const part of parts) checkCount('The partitions of loop()', part, 1)
}

/** The depth down to which objects in env are searched for handles. */
const DEEPEST_ENTRY = 3
/** The longest list that is searched; longer ones are data. */
const LONGEST_LIST = 1000

/** Throws PlanError for a handle inside of an object in `env`, which would not be locked, unless it has a name in `env` as well. */
function checkEnvEntries(env: Readonly<Record<string, unknown>>): void {
  const named = new Set(Object.values(env))
  for (const [name, value] of Object.entries(env)) {
    const place = isHandle(value) ? undefined : handleInside(value, { at: name, named, depth: 0 })
    if (place === undefined) continue
    throw new PlanError(
      `The env of loop() holds arrays, buffers, accumulators and generators by names of their own; its entry "${name}" is ${valueText(value)} with one inside, at ${place}.\n` +
        `Name it in env, as { ${/\w*$/.exec(place)?.[0].replace(/^\d*$/, '') || 'a'}: ${place} }. Besides these, env holds numbers, booleans, strings, typed arrays, functions, and constant objects.`,
    )
  }
}

/** The path to a handle without a name inside of a plain object or list; undefined where there is none. Getters are not called. */
function handleInside(
  value: unknown,
  { at, named, depth }: { readonly at: string; readonly named: ReadonlySet<unknown>; readonly depth: number },
): string | undefined {
  if (typeof value !== 'object' || value === null || types.isProxy(value)) return undefined
  if (Array.isArray(value) && value.length > LONGEST_LIST) return undefined
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null && !Array.isArray(value)) return undefined
  for (const [key, { value: item }] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
    const place = Array.isArray(value) ? `${at}[${key}]` : /^[A-Za-z_$][\w$]*$/.test(key) ? `${at}.${key}` : `${at}[${JSON.stringify(key)}]`
    if (isHandle(item)) {
      if (!named.has(item)) return place
      continue
    }
    const deeper = depth < DEEPEST_ENTRY ? handleInside(item, { at: place, named, depth: depth + 1 }) : undefined
    if (deeper !== undefined) return deeper
  }
  return undefined
}

/** Throws PlanError where `assume.distinct` names no array of the loop. */
export function checkPromises({ assume }: LoopOptions, arrays: ReadonlyMap<string, unknown>): void {
  for (const name of assume?.distinct ?? []) {
    if (arrays.has(name)) continue
    const near = nearestNames(name, [...arrays.keys()])
    const guess = near.length === 0 ? '' : ` Did you mean ${near.map((one) => `"${one}"`).join(' or ')}?`
    const all = arrays.size === 0 ? 'There are none' : `They are ${[...arrays.keys()].join(', ')}`
    throw new PlanError(`assume.distinct of loop() names "${name}", which is no array of this loop.${guess} ${all}.`)
  }
}

export function isIndexSpace(value: object): value is IndexSpace {
  return (value as { readonly kind?: unknown }).kind === 'IndexSpace'
}
