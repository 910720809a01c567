/**
 * Objects of S3, and of stores that speak as it does, by addresses as s3://bucket/key: read by ranges as files behind http are, with
 * requests that are signed where there are credentials. `s3Upload.ts` writes them.
 */
import { createHash } from 'node:crypto'
import { AwsClient } from 'aws4fetch'
import { PlanError, SourceError } from '../../core/errors.ts'
import { checkOptions } from '../../core/options.ts'
import type { Access } from '../../core/ports.ts'
import type { S3Options } from '../../core/sourceParts.ts'
import { mayPass, refusal, requested } from './requests.ts'

const ADDRESS = /^s3[an]?:\/\/([^/]+)\/(.*)$/is

export function isS3(path: string): boolean {
  return /^s3[an]?:\/\//i.test(path)
}

const OPTIONS = ['accessKeyId', 'secretAccessKey', 'sessionToken', 'region', 'endpoint'] as const

/** PlanError for options that no store can be asked with; values are kept out of the message. */
export function checkS3(method: string, s3: unknown): void {
  if (typeof s3 !== 'object' || s3 === null)
    throw new PlanError(`The s3 of ${method}() is an object, as { region: 'eu-central-1' }; what it was given is not shown here.`)
  checkOptions(`The s3 of ${method}()`, s3, OPTIONS)
  for (const [name, value] of Object.entries(s3))
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      throw new PlanError(`The ${name} of { s3 } is a text that is not empty; its value is not shown here.`)
  const { endpoint } = s3 as S3Options
  if (endpoint !== undefined && !/^https?:\/\/[^/]/i.test(endpoint))
    throw new PlanError('The endpoint of { s3 } is an address of http or https, as https://storage.example.com.')
  if (endpoint?.includes('@'))
    throw new PlanError(
      "The endpoint of { s3 } was given with a user's name or password, which are not sent. Who asks is said by accessKeyId and secretAccessKey.",
    )
}

/** The settings by the options, or else by the environment, as other tools of S3 have it. */
export function settingsOf(s3: S3Options = {}): S3Options {
  const { env } = process
  const own = s3.accessKeyId !== undefined
  const accessKeyId = s3.accessKeyId ?? env.AWS_ACCESS_KEY_ID
  const secretAccessKey = s3.secretAccessKey ?? (own ? undefined : env.AWS_SECRET_ACCESS_KEY)
  const sessionToken = s3.sessionToken ?? (own ? undefined : env.AWS_SESSION_TOKEN)
  const endpoint = s3.endpoint ?? env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL
  if ((accessKeyId || undefined) === undefined ? secretAccessKey : !secretAccessKey) {
    const [there, missing] = accessKeyId ? OPTIONS : [OPTIONS[1], OPTIONS[0]]
    throw new PlanError(
      `Of who asks for s3:// addresses there is ${there} and no ${missing}, in { s3 } or in the environment. Give both, or neither for a bucket that is public.`,
    )
  }
  return {
    ...(accessKeyId && { accessKeyId }),
    ...(secretAccessKey && { secretAccessKey }),
    ...(sessionToken && { sessionToken }),
    ...(endpoint && { endpoint: endpoint.replace(/\/+$/, '') }),
    region: s3.region ?? env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? 'us-east-1',
  }
}

/** The access to a store as to any server: addresses become the store's own, and requests are signed where there are credentials. */
export function s3Access(access: Access): Access {
  const settings = settingsOf(access.s3)
  const { accessKeyId, secretAccessKey, sessionToken, region = 'us-east-1' } = settings
  const client =
    accessKeyId === undefined || secretAccessKey === undefined
      ? undefined
      : new AwsClient({ accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }), region, service: 's3' })
  return {
    ...access,
    fetch: async (address, init) => {
      const url = urlOf(address, settings)
      if (client === undefined) return await fetch(url, init)
      const { signal, ...unsigned } = init
      const { body } = init
      // of what is sent the signature tells the bytes
      const headers = new Headers(init.headers)
      if (body instanceof Uint8Array) headers.set('x-amz-content-sha256', createHash('sha256').update(body).digest('hex'))
      const signed = await client.sign(url, { ...unsigned, headers })
      return await fetch(signed, signal == null ? {} : { signal })
    },
  }
}

/** The URL of an object. Keys are escaped but for their slashes. Buckets with dots, and those of other stores, are part of the path. */
function urlOf(address: string, { endpoint, region }: S3Options): string {
  const [plain = '', query] = address.split(QUERY)
  const [, bucket = '', key = ''] = ADDRESS.exec(plain) ?? []
  const path = key.split('/').map(escaped).join('/')
  const host = endpoint ?? (bucket.includes('.') ? `https://s3.${region}.amazonaws.com` : undefined)
  const place = host === undefined ? `https://${bucket}.s3.${region}.amazonaws.com/${path}` : `${host}/${bucket}/${path}`
  return query === undefined ? place : `${place}?${query}`
}

/** The character between an address and a query, which is in no key. */
const QUERY = '\0'

function escaped(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** SourceError for an address that names no bucket and key, PlanError for one that says who asks. */
export function checkAddress(address: string, use: 'read' | 'written' = 'read'): void {
  const [, bucket = ''] = ADDRESS.exec(address) ?? []
  if (/[:@]/.test(bucket))
    throw new PlanError(
      `The address ${address} was given with keys, which are not read there. Give them as { s3: { accessKeyId, secretAccessKey } }, or in the environment.`,
    )
  if (!ADDRESS.test(address))
    throw new SourceError(`${address} cannot be ${use}: it names no bucket and key, as s3://bucket/key does.`, address)
}

/** A request to a store, about an object or a bucket. */
export interface StoreQuestion {
  readonly method?: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** The query behind the address. */
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Uint8Array<ArrayBuffer>
  /** What it is for, in messages. Default: 'read'. */
  readonly use?: 'read' | 'written'
  /** The name that messages have instead of the address. */
  readonly named?: string
}

export interface StoreAnswer {
  readonly text: string
  readonly etag: string
}

/** The answer of the store that `access` speaks with (see `s3Access`). SourceError for one that is no success, with the store's own word for it. */
export async function askStore(
  address: string,
  access: Access,
  { method = 'GET', query, body, use = 'read', named = address }: StoreQuestion,
): Promise<StoreAnswer> {
  const ask = access.fetch ?? fetch
  const behind = query === undefined ? '' : QUERY + new URLSearchParams(query).toString().replaceAll('+', '%20')
  const asking = { url: named, use, access: { ...access, fetch: (_: string, init: RequestInit) => ask(address + behind, init) } }
  return await requested(asking, { method, ...(body && { body }) }, async (response, pieces) => {
    const read: Uint8Array[] = []
    for await (const piece of pieces) read.push(piece)
    const text = Buffer.concat(read).toString()
    if (!response.ok) throw refusal(asking, response, reasonOf(text, address))
    // what takes a store long may fail after it has begun to answer
    if (/<Error>/.test(text))
      throw mayPass(new SourceError(`${named} cannot be ${use}: the server answered with an error${reasonOf(text, address)}.`, named))
    return { text, etag: response.headers.get('etag') ?? '' }
  })
}

/** The store's word for a failure, and what to do. Nothing else of its answer, which may tell who asked. */
function reasonOf(text: string, address: string): string {
  const code = /<Code>([A-Za-z]{1,60})<\/Code>/.exec(text)?.[1]
  if (code === undefined) return ''
  const [, bucket = ''] = ADDRESS.exec(address) ?? []
  const cure = CURES.find(({ codes }) => codes.includes(code))?.cure(bucket)
  return cure === undefined ? ` (${code})` : ` (${code}). ${cure}`
}

const CURES: readonly { readonly codes: readonly string[]; readonly cure: (bucket: string) => string }[] = [
  { codes: ['NoSuchBucket'], cure: (bucket) => `There is no bucket ${bucket}: make it first, or name another` },
  {
    codes: ['AccessDenied', 'InvalidAccessKeyId', 'SignatureDoesNotMatch', 'ExpiredToken', 'InvalidToken'],
    cure: () => 'Look at the credentials in { s3 }, or else in the environment, and at what they are allowed',
  },
  {
    codes: ['PermanentRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraintException'],
    cure: () => 'The bucket lies in another region: name it in { s3: { region } }',
  },
]

/** Addresses of all objects that begin as `address`, s3://bucket/beginning, in the order of their keys. */
export async function objectsOf(address: string, access: Access, use: 'read' | 'written' = 'read'): Promise<readonly string[]> {
  const [, bucket = '', prefix = ''] = ADDRESS.exec(address) ?? []
  const store = s3Access(access)
  const found: string[] = []
  let token: string | undefined
  do {
    const query = {
      'list-type': '2',
      prefix,
      'encoding-type': 'url',
      ...(token === undefined ? {} : { 'continuation-token': token }),
    }
    const { text } = await askStore(`s3://${bucket}/`, store, { query, use, named: address })
    // stores that do not know of it leave keys as they are
    const isEncoded = /<EncodingType>url</.test(text)
    for (const [, key = ''] of text.matchAll(/<Key>([^<]*)<\/Key>/g)) {
      const said = textOfXml(key)
      const name = isEncoded ? decodeURIComponent(said.replaceAll('+', ' ')) : said
      if (!name.endsWith('/')) found.push(`s3://${bucket}/${name}`)
    }
    const more = /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/.exec(text)?.[1]
    token = /<IsTruncated>true</.test(text) && more !== undefined ? textOfXml(more) : undefined
  } while (token !== undefined)
  return found
}

export function textOfXml(xml: string): string {
  return xml
    .replaceAll(/&#(x?)([\da-f]+);/gi, (_, hex: string, digits: string) =>
      String.fromCodePoint(Number.parseInt(digits, hex === '' ? 10 : 16)),
    )
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&')
}
