/**
 * Formats of times, with directives of strftime: text between them stands for itself.
 *
 *     %Y-%m-%d %H:%M:%S     2024-05-17 13:47:11
 *
 *     %Y  year of 4 digits       %H  hour, 00 to 23       %b  month in English, Jan
 *     %y  year, 69 to 68         %M  minute               %B  month in English, January
 *     %m  month, 01 to 12        %S  second               %j  day of the year, 001 to 366
 *     %d  day, 01 to 31          %L  milliseconds         %z  offset from UTC, +0200
 *                                %f  fraction, 6 digits   %%  a percent sign
 *
 * Texts that are read may have one digit where two are written, any case of names, 1 to 9 digits of a fraction, and `Z` or
 * `+02:00` for an offset.
 */
import { valueText } from '../data/valueKinds.ts'
import { PlanError } from '../errors.ts'

/** A directive of a format. */
export interface Directive {
  readonly letter: string
  /** The part of a time that it tells; two directives of one format tell the same twice where one's part contains the other's. */
  readonly says: string
  /** The texts that it reads, as a regular expression. */
  readonly reads: string
}

export const MONTHS: readonly string[] = 'January February March April May June July August September October November December'.split(' ')
const SHORT = MONTHS.map((name) => name.slice(0, 3))

function inAnyCase(name: string): string {
  return name.replace(/\w/g, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`)
}

const DIRECTIVES: readonly Directive[] = [
  { letter: 'Y', says: 'year', reads: '\\d{4}' },
  { letter: 'y', says: 'year', reads: '\\d\\d' },
  { letter: 'm', says: 'month', reads: '\\d\\d?' },
  { letter: 'b', says: 'month', reads: SHORT.map(inAnyCase).join('|') },
  { letter: 'B', says: 'month', reads: MONTHS.map(inAnyCase).join('|') },
  { letter: 'd', says: 'day', reads: '\\d\\d?' },
  { letter: 'j', says: 'month and day', reads: '\\d{1,3}' },
  { letter: 'H', says: 'hour', reads: '\\d\\d?' },
  { letter: 'M', says: 'minute', reads: '\\d\\d?' },
  { letter: 'S', says: 'second', reads: '\\d\\d?' },
  { letter: 'L', says: 'fraction', reads: '\\d{3}' },
  { letter: 'f', says: 'fraction', reads: '\\d{1,9}' },
  { letter: 'z', says: 'offset', reads: 'Z|[+-]\\d\\d:?\\d\\d' },
]

/** A piece of a format: literal text, or a directive. */
export type Piece = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'directive'; readonly directive: Directive }

export interface TimeFormat {
  readonly pieces: readonly Piece[]
  /** Matches the texts that the format reads, with a group for each directive. Absent for formats that are only written. */
  readonly reads?: RegExp
  readonly letters: readonly string[]
}

const known = new Map<string, TimeFormat>()
/** The most formats that are cached: they may come from rows. */
const MOST_FORMATS = 1000

/** The parsed format. Throws PlanError for an unknown directive, where there is none, and in formats that are read for two that tell the same part of a time. */
export function timeFormat(format: unknown, caller: 'parseTime()' | 'formatTime()'): TimeFormat {
  if (typeof format !== 'string')
    throw new PlanError(
      `${caller} takes a format as '%Y-%m-%d' behind the ${caller === 'parseTime()' ? 'text' : 'date'}; this is ${valueText(format)}.`,
    )
  const key = `${caller} ${format}`
  let made = known.get(key)
  if (made !== undefined) return made
  made = formatOf(format, caller)
  if (known.size >= MOST_FORMATS) known.clear()
  known.set(key, made)
  return made
}

function formatOf(format: string, caller: 'parseTime()' | 'formatTime()'): TimeFormat {
  const pieces = piecesOf(format, caller)
  const directives = pieces.flatMap((piece) => (piece.kind === 'directive' ? [piece.directive] : []))
  const letters = directives.map(({ letter }) => letter)
  if (letters.length === 0)
    throw new PlanError(
      `${caller} finds no directive in ${valueText(format)}, so that it tells nothing of a time. Directives begin with %, as in '%Y-%m-%d %H:%M'.`,
    )
  if (caller === 'formatTime()') return { pieces, letters }
  for (const [i, one] of directives.entries()) {
    const other = directives.slice(0, i).find((before) => before.says.includes(one.says) || one.says.includes(before.says))
    if (other !== undefined)
      throw new PlanError(
        `parseTime() is told the ${one.says.length < other.says.length ? one.says : other.says} twice by ${valueText(format)}: %${other.letter} and %${one.letter}. Leave one of them out.`,
      )
  }
  const source = pieces.map((piece) => (piece.kind === 'text' ? escaped(piece.text) : `(${piece.directive.reads})`))
  return { pieces, letters, reads: new RegExp(`^${source.join('')}$`) }
}

function piecesOf(format: string, caller: string): readonly Piece[] {
  const pieces: Piece[] = []
  let text = ''
  for (let i = 0; i < format.length; i++) {
    const letter = format[i + 1]
    if (format[i] !== '%') text += format[i]
    else {
      i++
      const directive = DIRECTIVES.find((one) => one.letter === letter)
      if (letter === '%') text += '%'
      else if (directive === undefined) throw unknownDirective(format, letter, caller)
      else {
        if (text !== '') pieces.push({ kind: 'text', text })
        text = ''
        pieces.push({ kind: 'directive', directive })
      }
    }
  }
  return text === '' ? pieces : [...pieces, { kind: 'text', text }]
}

function unknownDirective(format: string, letter: string | undefined, caller: string): PlanError {
  const all = DIRECTIVES.map((one) => `%${one.letter}`).join(' ')
  const what = letter === undefined ? 'a % at the end' : `the directive %${letter}`
  return new PlanError(`${caller} does not know ${what} of ${valueText(format)}. There are ${all}, and %% for a percent sign.`)
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
