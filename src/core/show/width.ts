/**
 * The width of texts in terminal cells, and escapes for characters that do not print as themselves.
 */

/** Matches control characters, Unicode's line ends, marks of text direction, and halves of surrogate pairs. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029\ufeff]|\p{Surrogate}/gu
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\0': '\\0' }

/** Escapes a text so that every character prints as itself. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (one) => SHORT[one] ?? `\\u${(one.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
const ASCII = /^[\x20-\x7e]*$/
const NOTHING = /^[\p{Mn}\p{Me}\u200b-\u200d\u2060]+$/u
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u
/** Matches East Asian Width W and F of Unicode 15, by blocks: Hangul, kana, Han and their signs, and full-width forms. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]/u

/** The cells that a printable text takes: 2 for emoji and wide East Asian characters, 0 for combining marks. */
export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += widthOf(segment)
  return width
}

function widthOf(grapheme: string): number {
  if (NOTHING.test(grapheme)) return 0
  return EMOJI.test(grapheme) || WIDE.test(grapheme) ? 2 : 1
}

/** The text in at most `most` cells, its end replaced by … */
export function clipped(text: string, most: number): string {
  // of a long text only 16 characters a cell are looked at: combining marks may be stacked without end
  const head = text.length > most * 16 ? text.slice(0, most * 16) : text
  if (head === text && displayWidth(text) <= most) return text
  let width = 0
  let kept = ''
  for (const { segment } of graphemes.segment(head)) {
    width += widthOf(segment)
    if (width > most - 1) break
    kept += segment
  }
  return `${kept}…`
}

/** The text with spaces before or after it, up to `width` cells. */
export function padded(text: string, width: number, side: 'left' | 'right'): string {
  const space = ' '.repeat(Math.max(0, width - displayWidth(text)))
  return side === 'right' ? space + text : text + space
}

/** Writes 1234567 as 1,234,567. */
export function countText(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+(?!\d))/g, ',')
}

/** Writes `3 rows`, `1 row`. */
export function counted(count: number, noun: string): string {
  return `${countText(count)} ${noun}${count === 1 ? '' : 's'}`
}
