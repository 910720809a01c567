/**
 * Translates regular expressions that mean the same everywhere: characters, classes of characters, repetitions, alternatives, ends.
 * What JavaScript and Java (or Rust, as other servers have it) understand otherwise is refused.
 *
 *     /^err.*?\d{3}/i    \A[eE][rR][rR][^\n\r\u2028\u2029]*[0-9]{3}
 *
 * Only whether there is a match is asked, for which lazy repetitions are as good as greedy ones.
 */
import type { Span } from '../../../core/span.ts'
import { Untranslated } from '../untranslated.ts'

/** The white space that trim() takes away, and \s stands for. */
export const SPACES =
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'
const CLASSES: Readonly<Record<string, string>> = { d: '0-9', w: 'A-Za-z0-9_', s: SPACES }
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v' }
const LITERAL = /^[\p{L}\p{N} _\-'"!@#%&=:;,<>~`/]$/u
const REPETITION = /^(?:[*+?]|\{\d+(?:,\d*)?\})/
const REPEATED = /^[*+]/
const ANY = '[^\n\r\u2028\u2029]'

/** The pattern in Spark's terms. */
export function sparkPattern(pattern: string, flags: string, span: Span): string {
  const refuse = (what: string): never => {
    throw new Untranslated(
      `tests /${pattern}/${flags}, where ${what} means something else to Spark`,
      span,
      'Use includes(), startsWith() or endsWith(), or fallback: "local".',
    )
  }
  const unknown = [...flags].find((flag) => !'uis'.includes(flag)) ?? (flags.includes('i') && flags.includes('u') ? 'i with u' : undefined)
  if (unknown !== undefined) refuse(`the flag ${unknown}`)
  const isUnicode = flags.includes('u')
  const folds = flags.includes('i')
  /** Refuses a single unit, which is half a character of Spark's beyond U+FFFF; any number of them is the same. */
  const checkUnits = (rest: string, what: string): void => {
    if (!isUnicode && !REPEATED.test(rest)) refuse(what)
  }
  let out = ''
  for (let i = 0; i < pattern.length; ) {
    const rest = pattern.slice(i)
    const c = rest[0] ?? ''
    const repetition = REPETITION.exec(rest)?.[0]
    if (repetition !== undefined) {
      out += repetition
      i += repetition.length
      // whether it is lazy does not say whether there is a match; one on another is not known to JavaScript
      if (pattern[i] === '?') i++
      else if (REPETITION.test(pattern.slice(i))) refuse(pattern.slice(i - 1, i + 1))
    } else if (c === '\\') {
      const next = rest[1] ?? ''
      const of = CLASSES[next]
      const outside = CLASSES[next.toLowerCase()]
      i += 2
      if (of !== undefined) out += `[${of}]`
      else if (outside !== undefined) {
        checkUnits(pattern.slice(i), `\\${next}`)
        out += `[^${outside}]`
      } else if (CONTROLS[next] !== undefined) out += escaped(CONTROLS[next] ?? '')
      else if (/^[^A-Za-z0-9]$/.test(next)) out += escaped(next)
      else refuse(`\\${next}`)
    } else if (c === '.') {
      i++
      checkUnits(pattern.slice(i), 'a single dot')
      out += flags.includes('s') ? '[\\x{0}-\\x{10ffff}]' : ANY
    } else if (c === '[') {
      const end = /^\[(?:\\.|[^\\\]])*\]/.exec(rest)?.[0] ?? ''
      i += end.length
      const inside = classOf(end.slice(1, -1), folds)
      if (end === '' || inside === undefined) return refuse(end === '' ? '[' : end)
      if (inside.startsWith('^')) checkUnits(pattern.slice(i), end)
      out += `[${inside}]`
    } else if (rest.startsWith('(?:')) {
      out += '(?:'
      i += 3
    } else if (rest.startsWith('(?')) refuse('(?')
    else {
      if (c === '^') out += '\\A'
      else if (c === '$') out += '\\z'
      else if ('()|'.includes(c)) out += c
      else if (LITERAL.test(c)) out += folds ? `[${c}${otherCase(c) ?? refuse(`${c} in either case`)}]` : c
      else refuse(c)
      i++
    }
  }
  return out
}

/** The inside of brackets in Spark's terms: characters, ranges of letters or digits, classes; undefined for anything else. */
function classOf(inside: string, folds: boolean): string | undefined {
  const isOutside = inside.startsWith('^')
  const items = isOutside ? inside.slice(1) : inside
  if (items === '') return undefined
  let out = ''
  for (let i = 0; i < items.length; ) {
    const [c = '', next = ''] = items.slice(i)
    const range = /^(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9])/.exec(items.slice(i))?.[0]
    const isLast = i + 1 === items.length
    const item = c === '\\' ? escapeIn(next) : (range ?? (c === '-' && i > 0 && !isLast ? undefined : characterIn(c)))
    const others = folds && c !== '\\' ? otherCase(range ?? c) : ''
    if (item === undefined || others === undefined) return undefined
    out += item + others
    i += range?.length ?? (c === '\\' ? 2 : 1)
  }
  return isOutside ? `^${out}` : out
}

function escapeIn(next: string): string | undefined {
  const c = CONTROLS[next] ?? (/^[^A-Za-z0-9]$/.test(next) ? next : undefined)
  return CLASSES[next] ?? (c === undefined ? undefined : escaped(c))
}

function characterIn(c: string): string | undefined {
  if (/^[ -~]$/.test(c) && !'[]\\^'.includes(c)) return escaped(c)
  return /^[\p{L}\p{N}]$/u.test(c) ? c : undefined
}

/** Letters in the case that they have not; none of what has no case, undefined beyond ASCII, where cases have more than one letter. */
function otherCase(letters: string): string | undefined {
  if (/[^ -~]/.test(letters)) return undefined
  const [lower, upper] = [letters.toLowerCase(), letters.toUpperCase()]
  return lower === upper ? '' : letters === lower ? upper : lower
}

/** A character escaped, so that it means itself; Rust gives \< and \> a meaning. */
function escaped(c: string): string {
  return /[A-Za-z0-9\s<>]/.test(c) ? c : `\\${c}`
}
