/**
 * Addresses as messages have them: those who gave them may have written a password into one, or signed it.
 *
 *     https://me:secret@host/x        https://…@host/x
 *     https://host/x?signature=5f3    https://host/x?…
 */
import { isError } from './isError.ts'

/** A name, and a password with any characters; digits behind a colon are the port of an address that has an @ further on. */
const USER = /\b([a-z][a-z\d+.-]{0,20}:\/\/)(?:[^\s"'/?#@:]*:(?!\d+[/?#])[^\s"'@]*|[^\s"'/?#@:]+)@/gi
/** Behind http all that comes after the path; elsewhere a question mark may stand in a name, or for any character of one. */
const QUESTIONS = [
  /(\bhttps?:\/\/[^\s?#"']+[?#])[^\s"'`)]*[^\s"'`),.:;]/gi,
  /(\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s?"']+\?)[^\s"'`)]*=[^\s"'`),.:;]*/gi,
]

export function withoutSecrets(text: string): string {
  return QUESTIONS.reduce((cut, question) => cut.replace(question, '$1…'), text.replace(USER, '$1…@'))
}

/** The error that another has as its cause, which consoles print as well: itself, unless something in it tells a secret. */
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
