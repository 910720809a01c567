/**
 * Row functions that are given values beside their row and key, as loop bodies are: `filter((row, key, { rate }) => …, { env: { rate } })`.
 *
 * It becomes a closure that captures both: `(value, key) => f(value, key, env)`. The code that reads functions is given this text and
 * the values of its names, so that it needs no inspector, which some engines do not have.
 */
import { valueText } from '../data/valueKinds.ts'
import { PlanError } from '../errors.ts'
import { checkOptions } from '../options.ts'

type Callback = (...args: never[]) => unknown

/** The program's function inside of a closure that the library made, with the closure's text and captures. */
export interface Behind {
  readonly f: Callback
  readonly text: string
  readonly captures: ReadonlyMap<string, unknown>
}

/** Options of the methods that take no others. */
export interface EnvOptions<E extends object> {
  /** Values that the function takes as its last argument, read when an action is called, as captured values are. */
  readonly env: E
}

const made = new WeakMap<Callback, Behind>()

/** The parts of a closure that `withEnv` made; undefined for a program's own function. */
export function behindEnv(f: Callback): Behind | undefined {
  return made.get(f)
}

/** Binds `options.env` as the last argument of `f`; returns `f` itself where there is no env. `takes` is the number of arguments before it. */
export function withEnv(method: string, f: Callback, options: { readonly env?: unknown }, takes: 0 | 1 | 2 = 2): Callback {
  const { env } = options
  if (env === undefined || typeof f !== 'function') return f
  const isPlain = typeof env === 'object' && env !== null && !Array.isArray(env)
  if (!isPlain) throw new PlanError(`The env of ${method}() is an object of values, as { rate }; it was given ${valueText(env)}.`)
  const call = f as (...args: unknown[]) => unknown // with what the method declares
  const forms = [
    { text: '() => f(env)', wrapped: () => call(env) },
    { text: '(value) => f(value, env)', wrapped: (value: unknown) => call(value, env) },
    { text: '(value, key) => f(value, key, env)', wrapped: (value: unknown, key: unknown) => call(value, key, env) },
  ] as const
  const { text, wrapped } = forms[takes]
  made.set(wrapped, { f, text, captures: new Map<string, unknown>(Object.entries({ f, env })) })
  return wrapped
}

/** Binds the env for methods whose only option it is. */
export function withEnvOnly(method: string, f: Callback, options: { readonly env?: unknown }): Callback {
  checkOptions(`${method}()`, options, ['env'])
  return withEnv(method, f, options)
}
