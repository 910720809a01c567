/**
 * Text patterns as sequences of needles: texts that follow one another, with anything in between.
 *
 *     /special.*requests/        special, then requests, in one line
 *     /^PROMO/, startsWith       PROMO at the start
 *     /a|b$/                     a anywhere, or b at the end
 *
 * Only patterns that mean the same in UTF-8 and in UTF-16 are compiled. A needle of whole characters occurs in the bytes of
 * a text exactly where it occurs in the text, since UTF-8 is self-synchronizing; only U+FFFD also
 * stands for bytes that are no UTF-8. A lone `.` is not compiled, and `.*` only where its length does not matter.
 */
import { regexText } from '../../../core/ir/functionIr.ts'
import { NotCompiled } from '../expressions/types.ts'

/** The binding of a sequence's start or end: none, to the edge of the text, or to that edge with anything in between. */
export type Edge = 'anywhere' | 'at' | 'gap'

export interface NeedleSequence {
  readonly needles: readonly Uint8Array[]
  readonly start: Edge
  readonly end: Edge
  /** Whether gaps must not contain a line end: U+000A, U+000D, U+2028 or U+2029. */
  readonly oneLine: boolean
}

/** The most bytes of a needle; longer ones would make too much code. */
const MOST_BYTES = 64
const MOST_NEEDLES = 8

/** Encodes a text that is searched for; throws where its bytes could match other texts or are too many. */
export function needleOf(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text)
  if (bytes.length > MOST_BYTES || /[\ufffd\ufeff]/.test(text) || /\p{Surrogate}/u.test(text)) {
    throw new NotCompiled('it searches for an unusual text')
  }
  return bytes
}

/** Converts a regular expression to alternative sequences, of which one has to match. */
export function sequencesOf(regex: { readonly pattern: string; readonly flags: string }): readonly NeedleSequence[] {
  if (/[^dsu]/.test(regex.flags)) throw new NotCompiled(`it searches by ${regexText(regex)}`)
  const oneLine = !regex.flags.includes('s')
  const alternatives = tokensOf(regex)
  if (alternatives.length > MOST_NEEDLES) throw new NotCompiled(`it searches by ${regexText(regex)}`)
  return alternatives.map((tokens) => sequenceOf(tokens, oneLine, regex))
}

type Token = { readonly kind: 'text'; readonly text: string } | { readonly kind: '^' | '$' | 'gap' }

/** Matches `.*` and `.*?`, an escaped character, `^`, `$`, `|`, and any character that stands for itself. */
const TOKEN = /\.\*\??|\\[$()*+./?[\\\]^{|}]|[\^$|]|[^$()*+./?[\\\]^{|}\n\r\u2028\u2029]/uy

function tokensOf(regex: { readonly pattern: string; readonly flags: string }): readonly Token[][] {
  const { pattern } = regex
  const alternatives: Token[][] = [[]]
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < pattern.length) {
    const token = TOKEN.exec(pattern)?.[0]
    if (token === undefined) throw new NotCompiled(`it searches by ${regexText(regex)}`)
    const tokens = alternatives.at(-1) as Token[] // there is one from the start
    const last = tokens.at(-1)
    if (token === '|') alternatives.push([])
    else if (token === '^' || token === '$') tokens.push({ kind: token })
    else if (token.startsWith('.')) {
      if (last?.kind !== 'gap') tokens.push({ kind: 'gap' })
    } else {
      const text = token.startsWith('\\') ? token.slice(1) : token
      if (last?.kind === 'text') tokens[tokens.length - 1] = { kind: 'text', text: last.text + text }
      else tokens.push({ kind: 'text', text })
    }
  }
  return alternatives
}

function sequenceOf(
  tokens: readonly Token[],
  oneLine: boolean,
  regex: { readonly pattern: string; readonly flags: string },
): NeedleSequence {
  const isBound = [tokens[0]?.kind === '^', tokens.length > 0 && tokens.at(-1)?.kind === '$'] as const
  const inner = tokens.slice(isBound[0] ? 1 : 0, isBound[1] ? -1 : undefined)
  const needles = inner.flatMap((token) => (token.kind === 'text' ? [needleOf(token.text)] : []))
  const isOdd = inner.some(({ kind }) => kind === '^' || kind === '$')
  if (isOdd || needles.length > MOST_NEEDLES) throw new NotCompiled(`it searches by ${regexText(regex)}`)
  const edge = (bound: boolean, token: Token | undefined): Edge => (!bound ? 'anywhere' : token?.kind === 'gap' ? 'gap' : 'at')
  return { needles, start: edge(isBound[0], inner[0]), end: edge(isBound[1], inner.at(-1)), oneLine }
}
