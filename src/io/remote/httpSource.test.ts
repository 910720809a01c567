/** Servers that say nothing, too little, too much or the wrong thing: each ends in bytes or in a sentence. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { SourceError } from '../../core/errors.ts'
import { Session } from '../../session/session.ts'
import { openBytes } from '../bytes/byteSource.ts'
import { openCsv } from '../csv/csv.ts'
import { readSplit } from '../readSplit.ts'

const BODY = Buffer.from('a,b\n1,x\n2,y\n')
type Answer = (request: IncomingMessage, response: ServerResponse) => void

const servers: Server[] = []
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

async function served(answer: Answer): Promise<string> {
  const server = createServer(answer)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/data.csv`
}

/** HEAD as it should be, and GET by `get`. */
const headed =
  (get: Answer): Answer =>
  (request, response) => {
    if (request.method === 'HEAD') response.writeHead(200, { 'content-length': BODY.length }).end()
    else get(request, response)
  }

async function read(answer: Answer, timeoutMs: number): Promise<string> {
  const url = await served(answer)
  try {
    const bytes = await openBytes(url, { timeoutMs })
    return Buffer.from(await bytes.read(2, 5)).toString()
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    expect(error.source).toBe(url)
    return error.message.replace(url, 'URL')
  }
}

const part = (from: number, to: number): Record<string, string> => ({ 'content-range': `bytes ${from}-${to - 1}/${BODY.length}` })

test.each<[string, Answer, string]>([
  ['ranges', headed((_, response) => response.writeHead(206, part(2, 5)).end(BODY.subarray(2, 5))), 'b\n1'],
  ['no ranges', headed((_, response) => response.writeHead(200, { 'content-length': BODY.length }).end(BODY)), 'b\n1'],
  [
    'no HEAD',
    (request, response) => {
      if (request.method === 'HEAD') response.writeHead(405).end()
      else if (request.headers.range === 'bytes=0-0') response.writeHead(206, part(0, 1)).end('a')
      else response.writeHead(206, part(2, 5)).end(BODY.subarray(2, 5))
    },
    'b\n1',
  ],
  ['nothing at all', () => undefined, 'nothing for 100 ms'],
  ['nothing behind the header', headed((_, response) => void response.writeHead(206, part(2, 5)).flushHeaders()), 'nothing for 100 ms'],
  ['nothing behind the first byte', headed((_, response) => void response.writeHead(206, part(2, 5)).write('b')), 'nothing for 100 ms'],
  [
    'too little',
    headed((_, response) => response.writeHead(206, part(2, 5)).end('b')),
    'URL answered 1 bytes instead of the 3 asked for (asked 3 times).',
  ],
  ['too much', headed((_, response) => response.writeHead(206, part(2, 5)).end(BODY)), 'URL answered more bytes than the 3 asked for.'],
  [
    'bytes without end',
    headed((_, response) => {
      response.writeHead(206, part(2, 5))
      const more = (): void => {
        while (!response.destroyed && response.write(BODY));
        response.once('drain', more)
      }
      more()
    }),
    'URL answered more bytes than the 3 asked for.',
  ],
  [
    'another range',
    headed((_, response) => response.writeHead(206, part(0, 3)).end(BODY.subarray(0, 3))),
    'URL cannot be read: its server was asked for bytes from 2, and sent "bytes 0-2/12".',
  ],
  [
    'a file that grew, without ranges',
    headed((_, response) => response.writeHead(200).end(Buffer.concat([BODY, BODY]))),
    'URL answered more bytes than the 12 asked for.',
  ],
  [
    'redirects for ever',
    (request, response) => response.writeHead(302, { location: request.url ?? '' }).end(),
    'URL cannot be read: it redirects more than 20 times.',
  ],
  [
    'an error',
    (_, response) => response.writeHead(500).end(),
    'URL cannot be read: the server answered 500 Internal Server Error (asked 3 times).',
  ],
  [
    'an error later',
    headed((_, response) => response.writeHead(503).end()),
    'URL cannot be read: the server answered 503 Service Unavailable (asked 3 times).',
  ],
  [
    'a length beyond numbers',
    (_, response) => response.writeHead(200, { 'content-length': '99999999999999999999' }).end(),
    'URL cannot be read',
  ],
  [
    'no length',
    (request, response) => {
      if (request.method === 'HEAD') response.writeHead(200).end()
      else response.writeHead(200, { 'transfer-encoding': 'chunked' }).end(BODY)
    },
    'URL cannot be read: its server does not say how long it is. Copy the file to a disk and read it there.',
  ],
  [
    'a large file without ranges',
    (request, response) => {
      response.writeHead(200, { 'content-length': 2 ** 40 })
      if (request.method === 'HEAD') response.end()
      else response.write(BODY)
    },
    'URL cannot be read: its server sends all of its 1099511627776 bytes where a part is asked for. Copy the file to a disk and read it there, or have it served with ranges.',
  ],
])('a server with %s', async (_, answer, expected) => {
  const isSilent = expected === 'nothing for 100 ms'
  const got = await read(answer, isSilent ? 100 : 60_000)
  if (isSilent) {
    expect(got).toBe(
      'URL cannot be read: its server has sent nothing for 100 ms. Try again later, or give it more time with { timeoutMs }.',
    )
  } else if (expected === 'URL cannot be read') expect(got).toContain(expected)
  else expect(got).toBe(expected)
})

test('nobody there', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const url = `http://127.0.0.1:${port}/x.csv`
  await expect(openBytes(url)).rejects.toThrow(new SourceError(`${url} cannot be read: connect ECONNREFUSED 127.0.0.1:${port}.`, url))
})

const READERS = ['readParquet', 'readArrow', 'readCsv', 'readText'] as const

test.each(READERS)('%s: a time-out, a signal and stop() end a request that nobody answers', async (reader) => {
  const asked: (() => void)[] = []
  const url = await served(() => asked.shift()?.())
  const session = await Session.start({ workers: 1, memory: '64MB', progress: false })
  await expect(session[reader](url, { timeoutMs: 50 })).rejects.toThrow(SourceError)
  const reason = new Error('enough')
  await expect(session[reader](url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  const ending = new AbortController()
  asked.push(() => ending.abort(reason))
  await expect(session[reader](url, { signal: ending.signal })).rejects.toBe(reason)
  asked.push(() => void session.stop())
  await expect(session[reader](url)).rejects.toThrow('The session was stopped.')
})

test.each([1, 2])('what an action reads ends by its signal and with the session: %i workers', async (workers) => {
  let silent = false
  let asked = (): void => undefined
  const url = await served((request, response) => {
    if (silent) asked()
    else
      headed((_, answer) => {
        const [, from = 0, to = 0] = (/(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? []).map(Number)
        answer.writeHead(206, part(from, to + 1)).end(BODY.subarray(from, to + 1))
      })(request, response)
  })
  const session = await Session.start({ workers, memory: '64MB', progress: false })
  const table = await session.readCsv(url)
  expect(await table.collect()).toStrictEqual([
    { a: 1, b: 'x' },
    { a: 2, b: 'y' },
  ])
  silent = true
  const reason = new Error('enough')
  const ending = new AbortController()
  asked = () => ending.abort(reason)
  await expect(table.collect({ signal: ending.signal })).rejects.toBe(reason)
  asked = () => void session.stop()
  await expect(table.collect()).rejects.toThrow('The session was stopped.')
})

test('what an action reads has the time-out that its table was opened with', async () => {
  let silent = false
  const url = await served((request, response) => {
    if (!silent) headed((_, answer) => answer.writeHead(200).end(BODY))(request, response)
  })
  const source = await openCsv(url, { timeoutMs: 60_000 })
  expect(source.timeoutMs).toBe(60_000)
  const [split] = source.splits
  if (split === undefined) throw new Error('a small file is one split')
  silent = true
  await expect(readSplit({ ...source, timeoutMs: 50 }, split, ['a'])).rejects.toThrow(
    new SourceError(
      `${url} cannot be read: its server has sent nothing for 50 ms. Try again later, or give it more time with { timeoutMs }.`,
      url,
    ),
  )
})

test('headers go with every request, and neither they nor the questions of addresses are in messages, plans or events', async () => {
  const seen: (string | undefined)[] = []
  const url = await served((request, response) => {
    seen.push(request.headers.authorization)
    if (request.headers.authorization !== 'Bearer s3cret') response.writeHead(401).end()
    else headed((_, answer) => answer.writeHead(200).end(BODY))(request, response)
  })
  const events: unknown[] = []
  const session = await Session.start({ workers: 2, memory: '64MB' })
  session.events.subscribe((event) => events.push(event))
  const table = await session.readCsv<{ a: number }>(`${url}?sig=s3cret`, { headers: { authorization: 'Bearer s3cret' } })
  expect(await table.filter((r) => r.a > 1).collect()).toEqual([{ a: 2, b: 'y' }])
  expect(new Set(seen)).toEqual(new Set(['Bearer s3cret']))
  const shown = [String(table), table.explain({ verbose: true }), table.explain({ format: 'json' }), await table.explain({ analyze: true })]
  expect(JSON.stringify([shown, events])).not.toContain('s3cret')
  const error = (await session
    .readCsv(`${url}?sig=s3cret`, { headers: { 'x-key': 's3cret' } })
    .catch((error: unknown) => error)) as SourceError
  expect([error.message, error.source]).toEqual([`${url}?… cannot be read: the server answered 401 Unauthorized.`, `${url}?…`])
  const refused = (headers: unknown) =>
    session.readCsv(url, { headers: headers as Record<string, string> }).catch((error: Error) => error.message)
  expect(await refused({ 'x-key': 's3cret\n' })).toBe(
    'The header "x-key" of readCsv() is no text that can be sent. Its value is not shown here; look for line ends in it.',
  )
  expect(await refused('s3cret')).toBe("The headers of readCsv() are an object, as { authorization: 'Bearer …' }.")
  expect(await refused({ Range: 'bytes=0-1' })).toBe(
    'The headers of readCsv() have a range, which readers send by themselves. Leave it out.',
  )
  await session.stop()
})

test('a server that is too busy is asked again, as often as said, and for no longer than its reader waits', async () => {
  let asked = 0
  let failures = 2
  const url = await served((request, response) => {
    asked++
    if (failures-- > 0) response.writeHead(503, { 'retry-after': '0' }).end()
    else headed((_, answer) => answer.writeHead(200, { 'content-length': BODY.length }).end(BODY))(request, response)
  })
  const all = async (retries?: number, signal?: AbortSignal) => {
    const bytes = await openBytes(url, { retries, signal })
    return (await bytes.read(0, bytes.size)).length
  }
  expect(await all()).toBe(BODY.length)
  expect(asked).toBe(4)
  failures = 1
  await expect(all(0)).rejects.toThrow(new SourceError(`${url} cannot be read: the server answered 503 Service Unavailable.`, url))
  failures = 100
  asked = 0
  await expect(all(4)).rejects.toThrow(
    new SourceError(`${url} cannot be read: the server answered 503 Service Unavailable (asked 5 times).`, url),
  )
  expect(asked).toBe(5)
  const slow = await served((_, response) => response.writeHead(429, { 'retry-after': '20' }).end())
  await expect(openBytes(slow, { signal: AbortSignal.timeout(50) })).rejects.toThrow('The operation was aborted due to timeout')
})
