/**
 * Addresses without secrets, for messages: an address may hold a password, or a signature in its query.
 *
 *     https://me:secret@host/x        https://…@host/x
 *     https://host/x?signature=5f3    https://host/x?…
 */
import { isError } from './isError.ts'

/** Matches a user name and a password of any characters; digits behind a colon are instead the port of an address with an @ further on. */
const USER = /\b([a-z][a-z\d+.-]{0,20}:\/\/)(?:[^\s"'/?#@:]*:(?!\d+[/?#])[^\s"'@]*|[^\s"'/?#@:]+)@/gi
/** Matches queries: after http all that follows the path; after other schemes, where `?` may be part of a name or a wildcard, only one with an `=`. */
const QUESTIONS = [
  /(\bhttps?:\/\/[^\s?#"']+[?#])[^\s"'`)]*[^\s"'`),.:;]/gi,
  /(\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s?"']+\?)[^\s"'`)]*=[^\s"'`),.:;]*/gi,
]

export function withoutSecrets(text: string): string {
  return QUESTIONS.reduce((cut, question) => cut.replace(question, '$1…'), text.replace(USER, '$1…@'))
}

/** The cause of an error, which consoles print as well: the same object, or a copy without secrets where it tells one. */
export function causeWithoutSecrets(cause: unknown): unknown {
  if (!isError(cause)) return typeof cause === 'string' ? withoutSecrets(cause) : cause
  const inner = causeWithoutSecrets(cause.cause)
  const texts = [cause.message, cause.stack ?? '', ...Object.values(cause)].filter((text) => typeof text === 'string')
  if (inner === cause.cause && texts.every((text) => withoutSecrets(text) === text)) return cause
  const { name, stack } = cause
  const { code } = cause as { readonly code?: unknown }
  const told = new Error(withoutSecrets(cause.message), inner === undefined ? undefined : { cause: inner })
  return Object.assign(told, { name, stack: withoutSecrets(stack ?? told.message) }, code === undefined ? {} : { code })
}
