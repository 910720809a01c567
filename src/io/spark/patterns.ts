/**
 * Regular expressions that mean the same everywhere: characters, classes of characters, repetitions, alternatives, ends.
 * What JavaScript and Java (or Rust, as other servers have it) understand otherwise is refused.
 */
import type { Span } from '../../core/span.ts'
import { Untranslated } from './untranslated.ts'

const CLASSES: Readonly<Record<string, string>> = { d: '0-9', w: 'A-Za-z0-9_' }
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v' }
const LITERAL = /^[\p{L}\p{N} _\-'"!@#%&=:;,<>~`/]$/u
const OPERATORS = '()|*+?'

/** The pattern in Spark's terms. */
export function sparkPattern(pattern: string, flags: string, span: Span): string {
  const refuse = (what: string): never => {
    throw new Untranslated(
      `tests /${pattern}/${flags}, where ${what} means something else to Spark`,
      span,
      'Use includes(), startsWith() or endsWith(), or fallback: "local".',
    )
  }
  if (flags !== '' && flags !== 'u') refuse(`the flag ${flags}`)
  let out = ''
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i] ?? ''
    if (c === '\\') {
      const next = pattern[++i] ?? ''
      if (CLASSES[next] !== undefined) out += `[${CLASSES[next]}]`
      else if (CONTROLS[next] !== undefined) out += escaped(CONTROLS[next] ?? '')
      else if (/^[^A-Za-z0-9]$/.test(next)) out += escaped(next)
      else refuse(`\\${next}`)
    } else if (c === '.') {
      // one unit of JavaScript's is half a character of Spark's beyond U+FFFF: any number of them is the same
      if (!/^[*+]/.test(pattern.slice(i + 1)) && flags !== 'u') refuse('a single dot')
      out += '[^\n\r\u2028\u2029]'
    } else if (c === '^') out += '\\A'
    else if (c === '$') out += '\\z'
    else if (c === '[') {
      const end = pattern.indexOf(']', i + 1)
      const inside = pattern.slice(i + 1, end)
      if (end < 0 || !/^(?:[A-Za-z0-9 _]|[A-Za-z0-9]-[A-Za-z0-9])+$/.test(inside)) refuse(`[${inside}]`)
      out += `[${inside}]`
      i = end
    } else if (c === '(' && pattern[i + 1] === '?') refuse('(?')
    else if (c === '?' && /[*+?]/.test(pattern[i - 1] ?? '')) refuse(`${pattern[i - 1]}?`)
    else if (c === '+' && /[*+?]/.test(pattern[i - 1] ?? '')) refuse(`${pattern[i - 1]}+`)
    else if (OPERATORS.includes(c)) out += c
    else if (LITERAL.test(c)) out += c
    else refuse(c)
  }
  return out
}

function escaped(c: string): string {
  return /[A-Za-z0-9\s]/.test(c) ? c : `\\${c}`
}
