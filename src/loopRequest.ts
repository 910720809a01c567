/** What `session.loop` was called with, and what is wrong with it. */
import { checkBoolean, checkCount, checkFunction, checkList, checkOneOf } from './core/arguments.ts'
import { valueText } from './core/columnBuilder.ts'
import { isDistArray } from './core/distArray.ts'
import { LoopError, PlanError } from './core/errors.ts'
import type { IndexSpace } from './core/indexSpace.ts'
import type { LoopOptions } from './core/loopSpec.ts'
import { nearestNames } from './core/nearestNames.ts'
import { checkOptions } from './core/options.ts'

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
  if (options.require !== undefined) checkOneOf('The require of loop()', options.require, ['parallel'])
  const parts = options.partitions === undefined ? [] : [options.partitions].flat()
  for (const part of parts) checkCount('The partitions of loop()', part, 1)
}

/** A promise about a name that is no array of the loop would promise nothing. */
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
