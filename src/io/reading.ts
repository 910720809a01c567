/**
 * What all readers of files take: a signal that ends the reading, and how long a server may say nothing.
 */
import { checkCount, checkSignal } from '../core/arguments.ts'
import { checkOptions } from '../core/options.ts'

/** What to read: a path, a glob, an address, or several of them. */
export type FileSource = string | URL | readonly (string | URL)[]

/** Options of every reader. */
export interface ReadOptions {
  /** Ends the opening: its promise is rejected with the signal's reason. Actions take signals of their own. */
  readonly signal?: AbortSignal
  /** How long a server may send nothing, now and when actions read, before that is a SourceError. Default 30,000. */
  readonly timeoutMs?: number
}

/** The longest that a timer can be set for. */
const LONGEST_MS = 2 ** 31 - 1

/** Throws PlanError for options that `method` does not know, or whose signal or time-out makes no sense. */
export function checkReading(method: string, options: ReadOptions, others: readonly string[]): void {
  checkOptions(`${method}()`, options, [...others, 'signal', 'timeoutMs'])
  if (options.signal !== undefined) checkSignal(`The signal of ${method}()`, options.signal)
  if (options.timeoutMs !== undefined) checkCount(`The timeoutMs of ${method}()`, options.timeoutMs, 1, LONGEST_MS)
}
