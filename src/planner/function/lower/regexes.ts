/**
 * Regular expressions in functions. With the flag y one remembers where it ended, and the next call begins there; those are not lowered.
 *
 *     (r) => /special.*requests/.test(r.comment)         Matches "special.*requests" of comment
 *     (r) => r.day.replace(/\//g, '-')                   replace regex
 */
import type { Value } from './value.ts'

export type Regex = Value & { readonly kind: 'regex' }

export function regexOf({ pattern, flags }: { readonly pattern: string; readonly flags: string }): Regex | undefined {
  return flags.includes('y') ? undefined : { kind: 'regex', pattern, flags }
}

/** Whether a regular expression is plain: no subclass, and no properties beside the one that all have. */
export function isPlainRegex(regex: RegExp): boolean {
  return Object.getPrototypeOf(regex) === RegExp.prototype && Reflect.ownKeys(regex).length === 1
}
