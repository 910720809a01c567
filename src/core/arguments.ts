/**
 * Checks of arguments at the call: what a method was given and what it takes instead.
 */
import { valueText } from './data/valueKinds.ts'
import { PlanError } from './errors.ts'

/** Throws PlanError unless `f` is a function. `takes` is its parameter list, as `(value, key)`. */
export function checkFunction(method: string, f: unknown, takes: string): void {
  if (typeof f === 'function') return
  const instead = callInstead(method, f)
  throw new PlanError(
    `${method} takes a function of ${takes}; it was given ${valueText(f)}.${instead === undefined ? '' : `\nWrite ${instead}.`}`,
  )
}

/** Writes the call to make instead where column names were given, as other libraries take them; undefined where the names do not tell it. */
function callInstead(method: string, given: unknown): string | undefined {
  const name = method.replace('()', '')
  const columns: readonly unknown[] = Array.isArray(given) ? given : [given]
  const isName = (column: unknown): column is string => typeof column === 'string' && /^[A-Za-z_$][\w$]*$/.test(column)
  if (columns.length === 0 || columns.length > 4 || !columns.every(isName))
    return name === 'filter' ? 'filter((row) => row.price > 9)' : undefined
  const fields = columns.map((column) => `row.${column}`)
  const isList = Array.isArray(given)
  switch (name) {
    case 'map':
      return isList ? `select(${columns.map((column) => `'${column}'`).join(', ')})` : `map((row) => ${fields[0]})`
    case 'filter':
      return isList ? undefined : `filter((row) => ${fields[0]})`
    case 'sortBy':
      return isList ? `sortBy((row) => [${fields.join(', ')}])` : `sortBy((row) => ${fields[0]})`
    case 'groupBy':
      return isList
        ? `groupBy((row) => ({ ${columns.map((column) => `${column}: row.${column}`).join(', ')} }))`
        : `groupBy((row) => ${fields[0]})`
    case 'distinct':
      return `distinct({ by: (row) => ${isList ? `[${fields.join(', ')}]` : fields[0]} })`
    case 'index':
      return `index((row) => [${fields.join(', ')}])`
    default:
      return undefined
  }
}

/** Throws PlanError for arguments beyond those that `method` takes, which would be ignored; `instead` is the sentence with the cure. */
export function checkNoMore(method: string, more: readonly unknown[], instead: string): void {
  if (more.length === 0 || more.every((one) => one === undefined)) return
  throw new PlanError(`${method}, and was given ${valueText(more.find((one) => one !== undefined))}. ${instead}`)
}

/** Throws PlanError unless `value` is true or false. */
export function checkBoolean(what: string, value: unknown): void {
  if (typeof value !== 'boolean') throw new PlanError(`${what} is true or false; it was given ${valueText(value)}.`)
}

/** Throws PlanError unless structuredClone can copy `value`. */
export function checkCloneable(what: string, value: unknown): void {
  try {
    structuredClone(value)
  } catch (cause) {
    throw new PlanError(`${what} cannot be copied, as each pass does; it was given ${valueText(value)}.`, { cause })
  }
}

/** Throws PlanError unless `list` is an array. */
export function checkList(what: string, list: unknown): void {
  if (!Array.isArray(list) && !(ArrayBuffer.isView(list) && 'length' in list))
    throw new PlanError(`${what} is an array; it was given ${valueText(list)}.`)
}

/** Throws PlanError unless `signal` behaves like an AbortSignal, of whatever realm. */
export function checkSignal(what: string, signal: unknown): void {
  if (!isSignal(signal)) throw new PlanError(`${what} is an AbortSignal; it was given ${valueText(signal)}.`)
}

/** Whether a value behaves like an AbortSignal: has `aborted` and `throwIfAborted`. */
export function isSignal(signal: unknown): boolean {
  return typeof signal === 'object' && signal !== null && 'aborted' in signal && 'throwIfAborted' in signal
}

/** Throws PlanError unless `n` is an integer of at least `least`, and no more than `most`. */
export function checkCount(what: string, n: unknown, least: number, most: number = Number.MAX_SAFE_INTEGER): void {
  if (typeof n !== 'number' || !Number.isSafeInteger(n) || n < least) {
    throw new PlanError(`${what} is an integer of at least ${least}; it was given ${valueText(n)}.`)
  }
  if (n > most) throw new PlanError(`${what} is an integer of at most ${most}; it was given ${valueText(n)}.`)
}

/** Throws PlanError unless `x` is a number from 0 to 1. */
export function checkFraction(what: string, x: unknown): void {
  if (typeof x !== 'number' || !(x >= 0 && x <= 1)) throw new PlanError(`${what} is a number from 0 to 1; it was given ${valueText(x)}.`)
}

/** Throws PlanError unless `value` is one of `allowed`. */
export function checkOneOf<V extends string>(what: string, value: unknown, allowed: readonly V[]): asserts value is V {
  if (!allowed.includes(value as V)) {
    throw new PlanError(`${what} is one of ${allowed.map((one) => `'${one}'`).join(', ')}; it was given ${valueText(value)}.`)
  }
}

/** Throws PlanError unless `axis` is one of the `rank` key axes. */
export function checkAxis(what: string, axis: unknown, rank: number): void {
  if (typeof axis === 'number' && Number.isInteger(axis) && axis >= 0 && axis < rank) return
  const axes = rank === 1 ? 'the only key axis is 0' : `the key axes are 0 to ${rank - 1}`
  throw new PlanError(`${what} names axis ${valueText(axis)}; ${axes}.`)
}

/** Throws PlanError unless a seed is an integer. */
export function checkSeed(what: string, seed: unknown): void {
  if (!Number.isSafeInteger(seed)) throw new PlanError(`${what} is an integer; it was given ${valueText(seed)}.`)
}
