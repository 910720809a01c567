/**
 * A line of JSON as a value, with integers that numbers do not hold exactly as bigints.
 *
 * Lines without long runs of digits are parsed by the engine alone. In others such integers are put into strings that begin with
 * a control character which the line has nowhere, and are bigints when they are found again.
 */

/** Digits of integers that numbers may not hold; all of fewer digits they do. */
const LONG_DIGITS = /\d{16}/
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
/** Control characters that JSON has no letter for. */
const MARKS = [1, 2, 3, 4, 5, 6, 7, 11, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]

/** The value of a line; undefined for what is no JSON. */
export function parseLine(line: string): unknown {
  try {
    return LONG_DIGITS.test(line) ? parseExactly(line) : (JSON.parse(line) as unknown)
  } catch {
    return undefined
  }
}

function parseExactly(line: string): unknown {
  JSON.parse(line) // what is no JSON stays none
  const mark = MARKS.find((code) => !line.toLowerCase().includes(escapeOf(code)))
  if (mark === undefined) return undefined
  let found = false
  const marked = line.replace(TOKEN, (token) => {
    if (!/^-?\d{16,}$/.test(token) || BigInt(Number(token)) === BigInt(token)) return token
    found = true
    return `"${escapeOf(mark)}${token}"`
  })
  const start = String.fromCharCode(mark)
  return JSON.parse(marked, (_, value: unknown) =>
    found && typeof value === 'string' && value.startsWith(start) ? BigInt(value.slice(1)) : value,
  )
}

function escapeOf(code: number): string {
  return `\\u00${code.toString(16).padStart(2, '0')}`
}

/** A value as JSON text, bigints as the integers they are. */
export function jsonText(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([key, one]) => `${JSON.stringify(key)}:${jsonText(one)}`)
      .join(',')}}`
  return Object.is(value, -0) ? '-0' : JSON.stringify(value)
}
