/**
 * Places in the user's code, and the reasons tied to them.
 *
 * A refusal is a value: analysis returns it, `explain()` prints it, and only `require: 'parallel'` turns it into an
 * error.
 */

/** A place in the source of a function: line and column count from 1 within the function's own text. */
export interface Span {
  readonly file?: string
  readonly line: number
  readonly column: number
  /** The source excerpt, on one line. */
  readonly text: string
}

/** Why a function cannot be lowered, or a loop cannot take a schedule, with the smallest edit that would free it. */
export interface Refusal {
  /** Stable identifier of the reason, as `assigns-captured-variable`. */
  readonly code: string
  readonly message: string
  readonly cure: string
  readonly span?: Span
}
