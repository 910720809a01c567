/** The options that all readers of files take: a signal that ends the reading, and those of requests to servers. */
import { checkCount, checkSignal } from '../core/arguments.ts'
import { defined } from '../core/defined.ts'
import { PlanError } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import type { ArraySource } from '../core/plan/logicalPlan.ts'
import type { Access, WriteAccess } from '../core/ports.ts'
import type { S3Options } from '../core/sourceParts.ts'
import type { ByteInput } from './bytes/givenBytes.ts'
import { checkS3, isS3, settingsOf } from './remote/s3.ts'

/** What to read: a path, a glob, an address, bytes that a program has, or several of them. */
export type FileSource = OneFile | readonly OneFile[]

export type OneFile = string | URL | ByteInput

/** Options of every reader. */
export interface ReadOptions {
  /** Ends the opening: its promise is rejected with the signal's reason. Actions take signals of their own. */
  readonly signal?: AbortSignal
  /** How long a server may send nothing, now and when actions read, before that is a SourceError. Default 30,000. */
  readonly timeoutMs?: number
  /** What is sent with each request to a server, now and when actions read, as `{ authorization: 'Bearer …' }`. It is in no message, plan or event. */
  readonly headers?: Readonly<Record<string, string>>
  /** How often a request is made again that failed on the way, or that the server was too busy for. Default 2, after 0.1 and 0.4 seconds. */
  readonly retries?: number
  /** For addresses as s3://bucket/key: who asks, and where. Default: what the environment says. It is in no message, plan or event. */
  readonly s3?: S3Options
}

/** The longest that a timer can be set for. */
const LONGEST_MS = 2 ** 31 - 1

/** Throws PlanError for options that `method` does not know, or whose signal or time-out makes no sense. */
export function checkReading(method: string, options: ReadOptions, others: readonly string[]): void {
  checkOptions(`${method}()`, options, [...others, 'signal', 'timeoutMs', 'headers', 'retries', 's3'])
  checkRequests(method, options)
  if (options.headers !== undefined) checkHeaders(method, options.headers)
}

/** Throws PlanError for what makes no sense of a signal, or of requests to servers. */
export function checkRequests(method: string, options: WriteAccess): void {
  if (options.signal !== undefined) checkSignal(`The signal of ${method}()`, options.signal)
  if (options.timeoutMs !== undefined) checkCount(`The timeoutMs of ${method}()`, options.timeoutMs, 1, LONGEST_MS)
  if (options.retries !== undefined) checkCount(`The retries of ${method}()`, options.retries, 0, MOST_RETRIES)
  if (options.s3 !== undefined) checkS3(method, options.s3)
}

const MOST_RETRIES = 10

/** PlanError for what no request can have; values are kept out of the message. */
function checkHeaders(method: string, headers: unknown): void {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    throw new PlanError(`The headers of ${method}() are an object, as { authorization: 'Bearer …' }.`)
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name))
      throw new PlanError(
        `The headers of ${method}() have a name that no header has; it is not shown here. Names are letters, digits and "-", as in { authorization: 'Bearer …' }.`,
      )
    if (/^range$/i.test(name))
      throw new PlanError(`The headers of ${method}() have a range, which readers send by themselves. Leave it out.`)
    if (typeof value !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new PlanError(
        `The header "${name}" of ${method}() is no text that can be sent. Its value is not shown here; look for line ends in it.`,
      )
  }
}

/** The options of requests that a source carries. What the environment says of stores goes along: threads may have another one. */
export function requestsOf(
  { timeoutMs, headers, retries, s3, given }: ReadOptions & Pick<Access, 'given'>,
  paths: readonly string[],
): Pick<ArraySource, 'timeoutMs' | 'headers' | 'retries' | 's3' | 'given'> {
  return defined({ timeoutMs, headers, retries, given, s3: paths.some(isS3) ? settingsOf(s3) : undefined })
}
