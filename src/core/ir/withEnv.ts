/**
 * Row functions that are given values beside their row and key, as loop bodies are: `filter((row, key, { rate }) => …, { env: { rate } })`.
 *
 * Such a function is one that captures it: `(value, key) => f(value, key, env)`. All that reads functions is told this text and what
 * its names mean, and asks no inspector, which some engines do not have.
 */
import { valueText } from '../data/valueKinds.ts'
import { PlanError } from '../errors.ts'
import { checkOptions } from '../options.ts'

type Callback = (...args: never[]) => unknown

/** What the library knows of a function that it made around a program's. */
export interface Behind {
  readonly f: Callback
  readonly text: string
  readonly captures: ReadonlyMap<string, unknown>
}

/** Options of the methods that take no others. */
export interface EnvOptions<E extends object> {
  /** Values that the function takes as its last argument. They are read when an action is called, as captured ones. */
  readonly env: E
}

const made = new WeakMap<Callback, Behind>()

/** Undefined for a program's own function. */
export function behindEnv(f: Callback): Behind | undefined {
  return made.get(f)
}

/** The function over `options.env`, or `f` itself where there is none. `takes` is how many arguments come before it. */
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

/** The same for methods whose only option it is. */
export function withEnvOnly(method: string, f: Callback, options: { readonly env?: unknown }): Callback {
  checkOptions(`${method}()`, options, ['env'])
  return withEnv(method, f, options)
}
