/**
 * What is written to a store is there whole, or not at all: whichever requests fail, are answered late by nobody, or are done without an answer.
 *
 * The store is a map of objects and uploads behind a server that fails by a plan: what becomes of a request follows from what it asks and from
 * how often it was asked, whenever it comes. After success the objects are the bytes; after a failure they are what they were, and what an
 * unheard answer may have made of them. Uploads stay only where the store was not told of their end.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SourceError } from '../src/core/errors.ts'
import { writeS3Folder } from '../src/io/remote/s3Folder.ts'
import { openS3Output } from '../src/io/remote/s3Output.ts'
import { lawRuns } from './lawRuns.ts'

/** `lost`: it is done, and nobody hears of it. `late`: the answer begins as if it were done, and ends with an error. */
type Fate = 'done' | 'busy' | 'denied' | 'cut' | 'lost' | 'late'
type Plan = readonly Fate[]

let objects = new Map<string, string>()
let uploads = new Map<string, Map<number, string>>()
let plan: Plan = ['done']
let asked = new Map<string, number>()
/** Uploads that the store was not told about, or whose end it was not told. */
let excused = 0
/** Objects that it was not told to remove. */
let kept = 0
let endpoint = ''
const secrets = { accessKeyId: 'AKID', secretAccessKey: 's3cret' } as const

const server = createServer((request, response) => void answer(request, response))
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

function begin(fates: Plan, before: Readonly<Record<string, string>>): void {
  objects = new Map(Object.entries(before))
  uploads = new Map()
  asked = new Map()
  plan = fates
  excused = 0
  kept = 0
}

/** What becomes of a request: the plan at a place that follows from the request. */
function fateOf(what: string): Fate {
  const times = asked.get(what) ?? 0
  asked.set(what, times + 1)
  let place = times * 7
  for (const c of what) place = (place * 31 + c.charCodeAt(0)) % 1_000_003
  return plan[place % plan.length] ?? 'done'
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  const body = Buffer.concat(pieces).toString('latin1')
  const url = new URL(request.url ?? '', endpoint)
  const key = decodeURIComponent(url.pathname.slice('/bucket/'.length))
  const { method } = request
  const query = Object.fromEntries(url.searchParams)
  // ids of uploads count on, and are no part of what was asked
  const what = [method, key, query.partNumber ?? '', 'uploads' in query ? 'begin' : '', 'uploadId' in query ? 'upload' : ''].join(' ')
  const fate = fateOf(what)
  const isDone = fate === 'done' || fate === 'lost'
  if ('uploads' in query && fate === 'lost') excused++
  if (method === 'DELETE' && !isDone) {
    if ('uploadId' in query) excused++
    else kept++
  }
  const said = isDone ? done(method ?? '', key, query, body) : ''
  if (fate === 'cut' || fate === 'lost') request.socket.destroy()
  else if (fate === 'busy') response.writeHead(503, { 'retry-after': '0' }).end()
  else if (fate === 'denied') response.writeHead(403).end('<Error><Code>AccessDenied</Code><AWSAccessKeyId>AKID</AWSAccessKeyId></Error>')
  else if (fate === 'late') response.writeHead(200).end('<Error><Code>InternalError</Code></Error>')
  else if (said === undefined) response.writeHead(404).end('<Error><Code>NoSuchUpload</Code></Error>')
  else response.writeHead(200, { etag: `"${said}"` }).end(said)
}

/** Does what is asked; undefined for an upload that is not there. */
function done(method: string, key: string, query: Readonly<Record<string, string>>, body: string): string | undefined {
  if (method === 'GET') {
    const found = [...objects.keys()].filter((name) => name.startsWith(query.prefix ?? '')).sort()
    return `<R><EncodingType>url</EncodingType>${found.map((name) => `<Contents><Key>${encodeURIComponent(name)}</Key></Contents>`).join('')}</R>`
  }
  if ('uploads' in query) {
    const id = `u${uploads.size}&${key}`
    uploads.set(id, new Map())
    return `<R><UploadId>${id.replaceAll('&', '&amp;')}</UploadId></R>`
  }
  const id = query.uploadId
  const parts = id === undefined ? undefined : uploads.get(id)
  if (id !== undefined && parts === undefined) return undefined
  if (method === 'DELETE') {
    if (id === undefined) objects.delete(key)
    else uploads.delete(id)
    return ''
  }
  if (id === undefined || parts === undefined) {
    objects.set(key, body)
    return 'put'
  }
  if (query.partNumber !== undefined) {
    parts.set(Number(query.partNumber), body)
    return `p${query.partNumber}`
  }
  const listed = [...body.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>&quot;p(\d+)&quot;/g)].map(([, number, tag]) =>
    number === tag ? (parts.get(Number(number)) ?? 'missing') : 'another',
  )
  objects.set(key, listed.join(''))
  uploads.delete(id)
  return '<R/>'
}

const fates = fc.array(
  fc.oneof(
    { arbitrary: fc.constant<Fate>('done'), weight: 20 },
    { arbitrary: fc.constant<Fate>('busy'), weight: 4 },
    { arbitrary: fc.constantFrom<Fate>('denied', 'cut', 'lost', 'late'), weight: 1 },
  ),
  { minLength: 1, maxLength: 12 },
)
const piece = fc.string({ unit: fc.constantFrom(...'abcdefgh'), maxLength: 30 })
const partBytes = fc.integer({ min: 1, max: 20 })
const retries = fc.nat(1)
const text = (bytes: string): Uint8Array => new TextEncoder().encode(bytes)
const settings = { numRuns: lawRuns() }

function checkError(error: unknown): void {
  expect(error).toBeInstanceOf(SourceError)
  const { message, source } = error as SourceError
  expect(message).toContain('s3://bucket/')
  expect(source).toContain('s3://bucket/')
  expect(`${message} ${String((error as SourceError).stack)}`).not.toMatch(/s3cret|AKID/)
}

test('an object is what was written, or what it was', async () => {
  await fc.assert(
    fc.asyncProperty(fates, fc.array(piece, { maxLength: 4 }), partBytes, retries, async (fates, pieces, partBytes, retries) => {
      begin(fates, { 'a/b c.csv': 'before' })
      const whole = pieces.join('')
      const access = { s3: { ...secrets, endpoint }, retries }
      let failure: unknown
      const output = await openS3Output('s3://bucket/a/b c.csv', access, partBytes).catch((error: unknown) => {
        failure = error
      })
      if (output !== undefined) {
        try {
          for (const one of pieces) await output.append(text(one))
          await output.finish()
        } catch (error) {
          failure = error
          await output.discard()
        }
      }
      const now = objects.get('a/b c.csv')
      if (failure === undefined) expect(now).toBe(whole)
      else {
        checkError(failure)
        expect(['before', ...(fates.includes('lost') ? [whole] : [])]).toContain(now)
      }
      expect([...objects.keys()]).toEqual(['a/b c.csv'])
      expect(uploads.size).toBeLessThanOrEqual(excused)
    }),
    settings,
  )
})

const FILES = ['year=1/part-0.csv', 'year=2/part-0.csv', 'year=3/part-0.csv'] as const

test('objects below an address appear together, or none does', async () => {
  await fc.assert(
    fc.asyncProperty(
      fates,
      fc.array(fc.tuple(fc.constantFrom(...FILES), piece), { maxLength: 6 }),
      fc.record({
        partBytes,
        retries,
        existing: fc.constantFrom('refuse' as const, 'add' as const, 'replace' as const),
        isThere: fc.boolean(),
      }),
      async (fates, appended, { partBytes, retries, existing, isThere }) => {
        const before: Record<string, string> = isThere
          ? { 'lake/year=1/part-0.csv': 'one', 'lake/year=2/part-0.csv': 'two', other: '3' }
          : { other: '3' }
        begin(fates, before)
        const request = { path: 's3://bucket/lake', existing, extension: '.csv', s3: { ...secrets, endpoint }, retries }
        const failure: unknown = await writeS3Folder(
          request,
          async (output) => {
            for (const [file, one] of appended) await output.append(file, text(one))
          },
          partBytes,
        ).then(
          () => undefined,
          (error: unknown) => error,
        )
        const fresh = new Map<string, string>()
        for (const [file, one] of appended) {
          const taken = `lake/${file}` in before
          const name = `lake/${taken ? file.replace('part-0', 'part-1') : file}`
          fresh.set(name, (fresh.get(name) ?? '') + one)
        }
        const old = new Map(Object.entries(before))
        const now = Object.fromEntries(objects)
        const outside = new Map([...old].filter(([name]) => existing !== 'replace' || !name.startsWith('lake/')))
        if (failure === undefined) {
          expect(isThere && existing === 'refuse').toBe(false)
          expect(now).toEqual(Object.fromEntries([...outside, ...fresh]))
        } else {
          checkError(failure)
          if ((failure as SourceError).message.includes('has its new files'))
            expect(now).toMatchObject(Object.fromEntries([...outside, ...fresh]))
          else {
            expect(now).toMatchObject(before)
            const more = [...objects].filter(([name]) => !old.has(name))
            for (const [name, value] of more) expect(value).toBe(fresh.get(name))
            expect(more.length).toBeLessThanOrEqual(kept)
          }
        }
        expect(uploads.size).toBeLessThanOrEqual(excused)
      },
    ),
    settings,
  )
})
