/**
 * Bytes behind http(s), read in ranges, without trust in what the server says.
 *
 * A read ends with exactly the bytes asked for, with a SourceError, or with the reason of the signal: a server may send
 * nothing for so long, and no more than was asked for. A server that knows no ranges sends all of a small file once.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { SourceError } from '../core/errors.ts'
import { isError } from '../core/isError.ts'
import type { Access } from '../core/ports.ts'
import type { ByteSource } from './byteSource.ts'

/** How long a server may send nothing, unless the reader says otherwise. */
export const DEFAULT_TIMEOUT_MS = 30_000
/** What is held of a file whose server knows no ranges. */
const LARGEST_WHOLE_BYTES = 256 * 2 ** 20
/** Answers to HEAD that say nothing about GET: signed addresses allow one method, and some servers know only GET. */
const ASK_WITH_GET: ReadonlySet<number> = new Set([400, 401, 403, 405, 501])

export async function openHttp(url: string, access: Access): Promise<ByteSource> {
  const size = await sizeOf(url, access)
  let whole: Promise<Uint8Array> | undefined
  return {
    size,
    stamp: `${size}`,
    async read(start, end) {
      if (start === end) return new Uint8Array(0)
      if (whole !== undefined) return (await whole).slice(start, end)
      return await requested(url, access, { headers: { range: `bytes=${start}-${end - 1}` } }, async (response, body) => {
        if (response.status === 206) {
          checkRange(url, response, start)
          return await bytesOf(url, body, end - start, end - start)
        }
        if (response.status !== 200) throw refused(url, response)
        if (size > LARGEST_WHOLE_BYTES) {
          throw new SourceError(
            `${url} cannot be read: its server sends all of its ${size} bytes where a part is asked for. Copy the file to a disk and read it there, or have it served with ranges.`,
            url,
          )
        }
        whole = bytesOf(url, body, size, end - start)
        return (await whole).slice(start, end)
      })
    },
    close: () => Promise.resolve(),
  }
}

/** The text of an answer, to a question behind the address. */
export async function fetchText(url: string, access: Access, question: string): Promise<string> {
  const ask = access.fetch ?? fetch
  return await requested(url, { ...access, fetch: (address, init) => ask(address + question, init) }, {}, async (response, body) => {
    if (!response.ok) throw refused(url, response)
    const pieces: Uint8Array[] = []
    for await (const piece of body) pieces.push(piece)
    return Buffer.concat(pieces).toString()
  })
}

async function sizeOf(url: string, access: Access): Promise<number> {
  const asked = await requested(url, access, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } }, async (response) => {
    if (response.ok) return lengthOf(response.headers.get('content-length'))
    if (ASK_WITH_GET.has(response.status)) return undefined
    throw refused(url, response)
  })
  if (asked !== undefined) return asked
  // its body is not read: leaving it ends the request
  return await requested(url, access, { headers: { range: 'bytes=0-0' } }, async (response) => {
    // a file of no bytes has no first one
    if (!response.ok && response.status !== 416) throw refused(url, response)
    const said =
      response.status === 200 ? response.headers.get('content-length') : /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1]
    const length = lengthOf(said ?? null)
    if (length !== undefined) return length
    throw new SourceError(`${url} cannot be read: its server does not say how long it is. Copy the file to a disk and read it there.`, url)
  })
}

function lengthOf(text: string | null): number | undefined {
  if (text === null || !/^\d+$/.test(text)) return undefined
  const length = Number(text)
  return Number.isSafeInteger(length) ? length : undefined
}

function refused(url: string, response: Response): SourceError {
  const answer = `${response.status}${response.statusText === '' ? '' : ` ${response.statusText}`}`
  const error = new SourceError(`${url} cannot be read: the server answered ${answer}.`, url)
  const after = Number(response.headers.get('retry-after') ?? Number.NaN) // a date is not waited for
  return BUSY.has(response.status) ? mayPass(error, Number.isFinite(after) ? after * 1000 : undefined) : error
}

function checkRange(url: string, response: Response, start: number): void {
  const range = response.headers.get('content-range')
  const from = /^bytes (\d+)-/.exec(range ?? '')?.[1]
  if (from === undefined || Number(from) === start) return
  throw new SourceError(`${url} cannot be read: its server was asked for bytes from ${start}, and sent "${range}".`, url)
}

/** A stream's bytes, so many and no more; `asked` is what a shorter answer is compared with. */
async function bytesOf(url: string, body: AsyncIterable<Uint8Array>, length: number, asked: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let have = 0
  for await (const piece of body) {
    pieces.push(piece)
    have += piece.length
    if (have > length) throw new SourceError(`${url} answered more bytes than the ${length} asked for.`, url)
  }
  if (have < length) throw mayPass(new SourceError(`${url} answered ${have} bytes instead of the ${asked} asked for.`, url))
  return Buffer.concat(pieces, have)
}

type Take<T> = (response: Response, body: AsyncIterable<Uint8Array>) => Promise<T>

/** One request: `take` gets the answer, and what it leaves of its body is not waited for. */
async function requested<T>(url: string, access: Access, init: RequestInit, take: Take<T>): Promise<T> {
  const { signal, retries = DEFAULT_RETRIES } = access
  for (let asked = 1; ; asked++) {
    try {
      return await requestedOnce(url, access, init, take)
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

/** Unless the reader says otherwise. */
const DEFAULT_RETRIES = 2
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 30_000
/** Errors that may not come again, with how long the server wants to be left alone, if it says so. */
const passing = new WeakMap<SourceError, number | undefined>()
/** Answers of servers that are too busy, or being started. */
const BUSY: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])

/** The same error, after which the request is made again. */
function mayPass(error: SourceError, waitMs?: number): SourceError {
  passing.set(error, waitMs)
  return error
}

async function requestedOnce<T>(
  url: string,
  { signal, timeoutMs = DEFAULT_TIMEOUT_MS, headers, fetch: ask = fetch }: Access,
  init: RequestInit,
  take: Take<T>,
): Promise<T> {
  signal?.throwIfAborted()
  const ending = new AbortController()
  const silence = new SourceError(
    `${url} cannot be read: its server has sent nothing for ${timeoutMs} ms. Try again later, or give it more time with { timeoutMs }.`,
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
    throw failed(url, error)
  } finally {
    silent.end()
    signal?.removeEventListener('abort', abort)
    ending.abort() // what nobody reads any more need not be sent
  }
}

/** What was sent while this thread computed is taken within that time. */
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

/** What is the same when it is tried again: nobody listens, or has the name. */
const LASTING: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'ERR_INVALID_URL',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
])

/** `fetch` says "fetch failed", and why in a cause. */
function failed(url: string, error: unknown): SourceError {
  if (error instanceof SourceError) return error
  const cause = isError(error) && isError(error.cause) ? error.cause : error
  const { message, code } = cause as { readonly message?: unknown; readonly code?: unknown }
  const reason = message === 'redirect count exceeded' ? 'it redirects more than 20 times' : String(message || code || cause)
  const told = new SourceError(`${url} cannot be read: ${reason}.`, url, { cause: error })
  return LASTING.has(String(code)) || reason.startsWith('it redirects') ? told : mayPass(told)
}
