/** Objects of S3: against moto, an object store for tests, where it is installed (pip install 'moto[server]'), and a server that looks at signatures. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PlanError, SourceError } from '../core/errors.ts'
import { Session } from '../session.ts'

const STORE = 'from moto.server import main; import sys; main(["-H", "127.0.0.1", "-p", sys.argv[1]])'
const hasStore = (() => {
  try {
    execFileSync('python3', ['-c', 'import moto.server, flask'], { stdio: 'ignore' })
    return true
  } catch {
    console.log("objects of a store are not read: skipped, moto is not installed (pip install 'moto[server]')")
    return false
  }
})()

const folder = mkdtempSync(join(tmpdir(), 'distarray-s3-'))
let session: Session
let store: ChildProcess | undefined
let endpoint = ''
const secrets = { accessKeyId: 'AKID', secretAccessKey: 's3cret' } as const
beforeAll(async () => {
  session = await Session.start({ workers: 2, memory: '64MB' })
  if (!hasStore) return
  const port = await freePort()
  store = spawn('python3', ['-c', STORE, String(port)], { stdio: 'ignore' })
  endpoint = `http://127.0.0.1:${port}`
  for (let waited = 0; ; waited += 100) {
    const answer = await fetch(endpoint).catch(() => undefined)
    if (answer !== undefined) break
    if (waited > 20_000) throw new Error('moto did not start.')
    await sleep(100)
  }
}, 30_000)
afterAll(async () => {
  store?.kill()
  await session.stop()
  rmSync(folder, { recursive: true })
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function put(key: string, bytes: Uint8Array | string): Promise<void> {
  const answer = await fetch(`${endpoint}/${key}`, {
    method: 'PUT',
    body: bytes as never,
    headers: { authorization: 'AWS4-HMAC-SHA256 Credential=AKID/20240101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0' },
  })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
}

interface Sale {
  readonly id: number
  readonly year: number
  readonly land: string
}

test.skipIf(!hasStore)('a lake in an object store: folders, globs, single objects, filters that leave out files', async () => {
  const lake = join(folder, 'lake')
  const rows = Array.from({ length: 40 }, (_, id): Sale => ({ id, year: 2023 + (id % 2), land: id % 4 < 2 ? 'DE' : 'a/b ü+' }))
  await session.fromRows(rows).writeParquet(lake, { partitionBy: ['year', 'land'] })
  await put('bucket', '')
  for (const entry of readdirSync(lake, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    await put(
      `bucket/my%20lake/${path
        .slice(lake.length + 1)
        .split('/')
        .map(encodeURIComponent)
        .join('/')}`,
      readFileSync(path),
    )
  }
  await put('bucket/my%20lake/_SUCCESS', 'done')
  await put('bucket/logs/2024.jsonl.gz', gzipSync('{"a":1}\n{"a":2}\n'))
  const s3 = { ...secrets, endpoint }
  const table = await session.readParquet<Sale>('s3://bucket/my lake/', { s3 })
  expect(await table.count()).toBe(40)
  const filtered = table.filter((r) => r.year === 2024 && r.land === 'a/b ü+')
  expect(filtered.explain()).toContain('Scan my lake [id, year, land], files: 1 of 4')
  expect((await filtered.collect()).map((r) => r.id)).toEqual(rows.filter((r) => r.year === 2024 && r.land === 'a/b ü+').map((r) => r.id))
  const glob = await session.readParquet<Sale>('s3://bucket/my lake/year=2023/*/*.parquet', { s3 })
  expect(await glob.count()).toBe(20)
  expect(await (await session.readNdjson('s3://bucket/logs/2024.jsonl.gz', { s3 })).collect()).toEqual([{ a: 1 }, { a: 2 }])
  const missing = 's3://bucket/none.parquet'
  await expect(session.readParquet(missing, { s3 })).rejects.toThrow(
    new SourceError(`${missing} cannot be read: the server answered 404 NOT FOUND.`, missing),
  )
  await expect(session.readParquet('s3://bucket/none/', { s3 })).rejects.toThrow(
    new SourceError('s3://bucket/none/ has no objects below it. Name a folder that has, or an object.', 's3://bucket/none/'),
  )
  await expect(session.readCsv('s3://bucket/*.none', { s3 })).rejects.toThrow(
    new SourceError('No object matches s3://bucket/*.none.', 's3://bucket/*.none'),
  )
})

test('requests are signed, by the environment too, lists go on, and credentials are in no message, plan or event', async () => {
  const body = Buffer.from('a,b\n1,x\n')
  const seen: { readonly url: string; readonly authorization: string; readonly token: unknown }[] = []
  const list = (keys: readonly string[], token: string) =>
    `<R>${keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('')}<IsTruncated>${token !== ''}</IsTruncated><NextContinuationToken>${token}</NextContinuationToken></R>`
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

test('settings that make no sense are refused without their values', async () => {
  const refused = (s3: unknown) => session.readCsv('s3://b/x', { s3: s3 as never })
  await expect(refused({ accessKeyId: 5 })).rejects.toThrow(
    new PlanError('The accessKeyId of { s3 } is a text that is not empty; its value is not shown here.'),
  )
  await expect(refused({ endpoint: 's3cret' })).rejects.toThrow(
    new PlanError('The endpoint of { s3 } is an address of http or https, as https://storage.example.com.'),
  )
  await expect(refused({ key: 's3cret' })).rejects.toThrow(
    new PlanError('The s3 of readCsv() has no option "key". Its options are accessKeyId, secretAccessKey, sessionToken, region, endpoint.'),
  )
  await expect(session.readCsv('s3://bucket')).rejects.toThrow(
    new SourceError('s3://bucket cannot be read: it names no bucket and key, as s3://bucket/key does.', 's3://bucket'),
  )
})
