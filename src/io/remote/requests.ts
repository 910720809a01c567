/**
 * Requests to servers that may be slow, busy, or gone: each ends with an answer, with a SourceError, or with the reason of the signal. What may
 * pass is asked for again.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { SourceError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import type { Access } from '../../core/ports.ts'

/** The address of a request, and what it is for. */
export interface Asking {
  /** The address as messages have it. */
  readonly url: string
  /** Default: 'read'. */
  readonly use?: 'read' | 'written'
  readonly access: Access
}

/** How long a server may send nothing, unless the reader says otherwise. */
const DEFAULT_TIMEOUT_MS = 30_000
/** Bytes sent to a server for which it is given as much time again: it says nothing while it is sent something. */
const BYTES_A_TIMEOUT = 4 * 2 ** 20

function sentBytes({ body }: RequestInit): number {
  return body instanceof Uint8Array ? body.length : 0
}

/** The error for an answer that is no success; `why` is what the server says itself. */
export function refusal({ url, use = 'read' }: Omit<Asking, 'access'>, response: Response, why = ''): SourceError {
  const answer = `${response.status}${response.statusText === '' ? '' : ` ${response.statusText}`}`
  const error = new SourceError(`${url} cannot be ${use}: the server answered ${answer}${why}.`, url)
  const after = Number(response.headers.get('retry-after') ?? Number.NaN) // a date is not waited for
  return BUSY.has(response.status) ? mayPass(error, Number.isFinite(after) ? after * 1000 : undefined) : error
}

export type Take<T> = (response: Response, body: AsyncIterable<Uint8Array>) => Promise<T>

/** One request: `take` gets the answer, and what it leaves of its body is not waited for. */
export async function requested<T>(asking: Asking, init: RequestInit, take: Take<T>): Promise<T> {
  const { url, access } = asking
  const { signal, retries = DEFAULT_RETRIES } = access
  for (let asked = 1; ; asked++) {
    try {
      return await requestedOnce(asking, init, take)
    } catch (error) {
      if (!(error instanceof SourceError) || !passing.has(error)) throw error
      if (asked > retries)
        throw asked === 1 ? error : new SourceError(error.message.replace(/\.$/, ` (asked ${asked} times).`), url, { cause: error.cause })
      await sleep(Math.min(LONGEST_WAIT_MS, passing.get(error) ?? FIRST_WAIT_MS * 4 ** (asked - 1)), undefined, {
        ...(signal && { signal }),
      }).catch(() => signal?.throwIfAborted())
    }
  }
}

/** How often a request is made again, unless the reader says otherwise. */
const DEFAULT_RETRIES = 2
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 30_000
/** Errors that may not come again, with how long the server wants to be left alone, if it says so. */
const passing = new WeakMap<SourceError, number | undefined>()
/** Statuses of servers that are too busy, or being started. */
const BUSY: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])

/** Returns the same error, after which the request is made again. */
export function mayPass(error: SourceError, waitMs?: number): SourceError {
  passing.set(error, waitMs)
  return error
}

async function requestedOnce<T>(asking: Asking, init: RequestInit, take: Take<T>): Promise<T> {
  const { url, use = 'read', access } = asking
  const { signal, headers, fetch: ask = fetch } = access
  const timeoutMs = (access.timeoutMs ?? DEFAULT_TIMEOUT_MS) * (1 + Math.floor(sentBytes(init) / BYTES_A_TIMEOUT))
  signal?.throwIfAborted()
  const ending = new AbortController()
  const silence = new SourceError(
    `${url} cannot be ${use}: its server has sent nothing for ${timeoutMs} ms. Try again later, or give it more time with { timeoutMs }.`,
    url,
  )
  const silent = whenSilent(timeoutMs, () => ending.abort(silence))
  const abort = (): void => ending.abort(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  async function* heard(body: Response['body']): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const piece of body ?? []) {
      silent.heard()
      yield piece as Uint8Array // what a body of bytes gives
    }
  }
  try {
    const response = await ask(url, {
      ...init,
      headers: { ...headers, ...(init.headers as Readonly<Record<string, string>>) },
      signal: ending.signal,
    })
    silent.heard()
    return await take(response, heard(response.body))
  } catch (error) {
    if (ending.signal.aborted) throw ending.signal.reason
    throw failed(asking, error)
  } finally {
    silent.end()
    signal?.removeEventListener('abort', abort)
    ending.abort() // what nobody reads any more need not be sent
  }
}

/** Milliseconds in which this thread takes what was sent while it computed. */
const LAST_CHANCE_MS = 100

/** Calls `then` after so long without a call of `heard`. */
function whenSilent(timeoutMs: number, then: () => void): { heard(): void; end(): void } {
  let timer: NodeJS.Timeout
  const start = (): void => {
    // timers come before what the network has: a thread that was busy for long hears that first
    timer = setTimeout(() => {
      timer = setTimeout(then, LAST_CHANCE_MS)
    }, timeoutMs)
  }
  const end = (): void => clearTimeout(timer)
  start()
  return {
    end,
    heard() {
      end()
      start()
    },
  }
}

/** Codes of errors that come again when it is tried again: nobody listens, or has the name. */
const LASTING: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'ERR_INVALID_URL',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
])

/** The SourceError for what `fetch` throws: it says "fetch failed", and why in a cause. */
function failed({ url, use = 'read' }: Asking, error: unknown): SourceError {
  if (error instanceof SourceError) return error
  const cause = isError(error) && isError(error.cause) ? error.cause : error
  const { message, code } = cause as { readonly message?: unknown; readonly code?: unknown }
  const reason = message === 'redirect count exceeded' ? 'it redirects more than 20 times' : String(message || code || cause)
  const told = new SourceError(`${url} cannot be ${use}: ${reason}.`, url, { cause: error })
  return LASTING.has(String(code)) || reason.startsWith('it redirects') ? told : mayPass(told)
}
