/**
 * Bytes behind http(s), read in ranges, without trust in what the server says.
 *
 * A read ends with exactly the bytes asked for, with a SourceError, or with the reason of the signal: a server may send
 * nothing for so long, and no more than was asked for. A server that knows no ranges sends all of a small file once.
 */

import { SourceError } from '../../core/errors.ts'
import type { Access } from '../../core/ports.ts'
import type { ByteSource } from '../bytes/source.ts'
import { mayPass, refusal, requested } from './requests.ts'

/** Most bytes of a file that are held whole, where its server knows no ranges. */
const LARGEST_WHOLE_BYTES = 256 * 2 ** 20
/** Statuses of answers to HEAD that say nothing about GET: signed addresses allow one method, and some servers know only GET. */
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
      return await requested({ url, access }, { headers: { range: `bytes=${start}-${end - 1}` } }, async (response, body) => {
        if (response.status === 206) {
          checkRange(url, response, start)
          return await bytesOf(url, body, end - start, end - start)
        }
        if (response.status !== 200) throw refusal({ url }, response)
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

async function sizeOf(url: string, access: Access): Promise<number> {
  const asked = await requested({ url, access }, { method: 'HEAD', headers: { 'accept-encoding': 'identity' } }, async (response) => {
    if (response.ok) return lengthOf(response.headers.get('content-length'))
    if (ASK_WITH_GET.has(response.status)) return undefined
    throw refusal({ url }, response)
  })
  if (asked !== undefined) return asked
  // its body is not read: leaving it ends the request
  return await requested({ url, access }, { headers: { range: 'bytes=0-0' } }, async (response) => {
    // a file of no bytes has no first one
    if (!response.ok && response.status !== 416) throw refusal({ url }, response)
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
