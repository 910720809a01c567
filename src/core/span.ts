/**
 * Places in the user's code, and the reasons tied to them.
 *
 * A refusal is a value: analysis returns it, `explain()` prints it, and only `require: 'parallel'` turns it into an
 * error.
 */

/** A place in the user's code. */
export interface Span {
  /** The file's path, relative to the working directory. Where it is missing, line and column count within the function's own text. */
  readonly file?: string
  /** Line number, from 1 on; `column` too counts from 1. */
  readonly line: number
  readonly column: number
  /** The source excerpt, on one line. */
  readonly text: string
}

/** The reason why a function cannot be lowered, or a loop cannot take a schedule, with the smallest edit that would allow it. */
export interface Refusal {
  /** Stable identifier of the reason, as `assigns-captured-variable`. */
  readonly code: string
  readonly message: string
  readonly cure: string
  readonly span?: Span
}

/** Writes `train.ts:12:7`, or `12:7` where the file is unknown or the one that `within` names. */
export function placeText({ file, line, column }: Span, within?: string): string {
  return file === undefined || file === within ? `${line}:${column}` : `${file}:${line}:${column}`
}
