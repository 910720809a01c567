/** Requests to stores of S3: against a server that looks at signatures. `s3Store.test.ts` has a store. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PlanError, SourceError } from '../../core/errors.ts'
import { Session } from '../../session/session.ts'
import { Upload } from './s3Upload.ts'

let session: Session
const secrets = { accessKeyId: 'AKID', secretAccessKey: 's3cret' } as const
beforeAll(async () => {
  session = await Session.start({ workers: 2, memory: '64MB' })
})
afterAll(() => session.stop())

test('requests are signed, by the environment too, lists go on, and credentials are in no message, plan or event', async () => {
  const body = Buffer.from('a,b\n1,x\n')
  const seen: { readonly url: string; readonly authorization: string; readonly token: unknown }[] = []
  const list = (keys: readonly string[], token: string) =>
    `<R><EncodingType>url</EncodingType>${keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('')}<IsTruncated>${token !== ''}</IsTruncated><NextContinuationToken>${token}</NextContinuationToken></R>`
  let status = 200
  const server = createServer((request, response) => {
    const { url = '', headers } = request
    seen.push({ url, authorization: headers.authorization ?? '', token: headers['x-amz-security-token'] })
    if (status !== 200) response.writeHead(status).end()
    else if (url.includes('continuation-token=t%2B1')) response.end(list(['d/b%26.csv'], ''))
    else if (url.includes('list-type')) response.end(list(['d/', 'd/a+%231.csv', 'd/_note'], 't+1'))
    else if (request.method === 'HEAD') response.writeHead(200, { 'content-length': body.length }).end()
    else {
      const [, from = '0', to = '0'] = /bytes=(\d+)-(\d+)/.exec(headers.range ?? '') ?? []
      response.writeHead(206, { 'content-range': `bytes ${from}-${to}/${body.length}` }).end(body.subarray(Number(from), Number(to) + 1))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const events: unknown[] = []
  const watching = session.events.subscribe((event) => events.push(event))
  const table = await session.readCsv('s3://my.bucket/d/', {
    s3: { ...secrets, sessionToken: 't0ken', region: 'eu-central-1', endpoint: at },
  })
  expect(await table.collect()).toEqual([
    { a: 1, b: 'x' },
    { a: 1, b: 'x' },
  ])
  expect(new Set(seen.map(({ url }) => url.replace(/\?.*/, '')))).toEqual(
    new Set(['/my.bucket/', '/my.bucket/d/a%20%231.csv', '/my.bucket/d/b%26.csv']),
  )
  for (const { authorization, token } of seen) {
    expect(authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKID\/\d{8}\/eu-central-1\/s3\/aws4_request, SignedHeaders=.*host.*, Signature=[\da-f]{64}$/,
    )
    expect(token).toBe('t0ken')
  }
  const shown = JSON.stringify([String(table), table.explain({ verbose: true }), table.explain({ format: 'json' }), events])
  watching.unsubscribe()
  expect(shown).not.toMatch(/s3cret|t0ken|AKID/)
  status = 403
  const error = (await session
    .readCsv('s3://b/x.csv', { s3: { ...secrets, endpoint: at } })
    .catch((error: unknown) => error)) as SourceError
  expect([error.message, error.source]).toEqual(['s3://b/x.csv cannot be read: the server answered 403 Forbidden.', 's3://b/x.csv'])
  status = 200
  seen.length = 0
  const before = { ...process.env }
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'ENVID', AWS_SECRET_ACCESS_KEY: 'x', AWS_REGION: 'eu-west-1', AWS_ENDPOINT_URL: at })
  expect(await (await session.readCsv('s3://b/x.csv')).count()).toBe(1)
  process.env = before
  expect(seen[0]?.authorization).toContain('Credential=ENVID/')
  server.closeAllConnections()
  server.close()
})

test('keys of a store that lists them as they are', async () => {
  const asked: string[] = []
  const server = createServer(({ url = '', method }, response) => {
    if (url.includes('list-type'))
      response.end('<R><Contents><Key>d/p=a%2Fb/it&#39;s &amp; 100%+.csv</Key></Contents><IsTruncated>false</IsTruncated></R>')
    else {
      asked.push(url)
      response.writeHead(method === 'HEAD' ? 200 : 206, { 'content-length': 4 }).end(method === 'HEAD' ? undefined : 'a\n1\n')
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const table = await session.readCsv<{ a: number; p: string }>('s3://b/d/', { s3: { endpoint } })
  expect(await table.collect()).toEqual([{ a: 1, p: 'a/b' }])
  expect(new Set(asked)).toEqual(new Set(['/b/d/p%3Da%252Fb/it%27s%20%26%20100%25%2B.csv']))
  server.closeAllConnections()
  server.close()
})

test('a store that refuses, is another one, or is not there: errors say so, and nothing of who asked', async () => {
  const answers: readonly (readonly [status: number, code: string, said: string])[] = [
    [
      403,
      'AccessDenied',
      '403 Forbidden (AccessDenied). Look at the credentials in { s3 }, or else in the environment, and at what they are allowed.',
    ],
    [
      301,
      'PermanentRedirect',
      '301 Moved Permanently (PermanentRedirect). The bucket lies in another region: name it in { s3: { region } }.',
    ],
    [400, 'EntityTooLarge', '400 Bad Request (EntityTooLarge).'],
    [501, '', '501 Not Implemented.'],
  ]
  let next = 0
  const server = createServer((request, response) => {
    request.resume()
    const [status = 200, code = ''] = answers[next] ?? []
    response.writeHead(status).end(`<Error>${code && `<Code>${code}</Code>`}<AWSAccessKeyId>AKID</AWSAccessKeyId></Error>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const rows = session.fromRows([{ a: 1 }])
  const path = 's3://b/x.csv'
  for (const [, , said] of answers) {
    const error = await rows.writeCsv(path, { s3: { ...secrets, endpoint } }).catch((error: unknown) => error)
    expect(error).toEqual(new SourceError(`${path} cannot be written: the server answered ${said}`, path))
    next++
  }
  server.closeAllConnections()
  server.close()
  await expect(rows.writeCsv(path, { s3: { ...secrets, endpoint } })).rejects.toThrow(
    new SourceError(`${path} cannot be written: connect ECONNREFUSED ${endpoint.slice('http://'.length)}.`, path),
  )
  await expect(rows.writeCsv('s3://b', { s3: { ...secrets, endpoint } })).rejects.toThrow(
    new SourceError('s3://b cannot be written: it names no bucket and key, as s3://bucket/key does.', 's3://b'),
  )
  await expect(rows.writeCsv(path, { s3: { accessKeyId: 5 as never } })).rejects.toThrow(
    new PlanError('The accessKeyId of { s3 } is a text that is not empty; its value is not shown here.'),
  )
})

test('an object of more parts than a store takes', async () => {
  const upload = new Upload('s3://b/x', { fetch: async () => new Response('<UploadId>1</UploadId>') }, 256)
  await upload.begin()
  for (let i = 0; i < 256; i++) await upload.send(new Uint8Array(0))
  await expect(upload.send(new Uint8Array(0))).rejects.toThrow(
    new SourceError(
      's3://b/x cannot be written: it has more than 2 GiB, and stores take no more in parts of 8 MiB. Write it in several, for example with { partitionBy }.',
      's3://b/x',
    ),
  )
})

test('settings that make no sense are refused without their values', async () => {
  const refused = (s3: unknown) => session.readCsv('s3://b/x', { s3: s3 as never })
  await expect(refused({ accessKeyId: 5 })).rejects.toThrow(
    new PlanError('The accessKeyId of { s3 } is a text that is not empty; its value is not shown here.'),
  )
  await expect(refused({ endpoint: 's3cret' })).rejects.toThrow(
    new PlanError('The endpoint of { s3 } is an address of http or https, as https://storage.example.com.'),
  )
  await expect(refused({ endpoint: 'https://me:s3cret@host' })).rejects.toThrow(
    new PlanError(
      "The endpoint of { s3 } was given with a user's name or password, which are not sent. Who asks is said by accessKeyId and secretAccessKey.",
    ),
  )
  await expect(refused('AKID:s3cret' as never)).rejects.toThrow(
    new PlanError("The s3 of readCsv() is an object, as { region: 'eu-central-1' }; what it was given is not shown here."),
  )
  const half = (there: string, missing: string) =>
    new PlanError(
      `Of who asks for s3:// addresses there is ${there} and no ${missing}, in { s3 } or in the environment. Give both, or neither for a bucket that is public.`,
    )
  await expect(refused({ accessKeyId: 'AKID' })).rejects.toThrow(half('accessKeyId', 'secretAccessKey'))
  await expect(refused({ secretAccessKey: 's3cret' })).rejects.toThrow(half('secretAccessKey', 'accessKeyId'))
  await expect(refused({ key: 's3cret' })).rejects.toThrow(
    new PlanError('The s3 of readCsv() has no option "key". Its options are accessKeyId, secretAccessKey, sessionToken, region, endpoint.'),
  )
  await expect(session.readCsv('s3://bucket')).rejects.toThrow(
    new SourceError('s3://bucket cannot be read: it names no bucket and key, as s3://bucket/key does.', 's3://bucket'),
  )
})
