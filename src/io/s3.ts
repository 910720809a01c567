/**
 * Objects of S3, and of stores that speak as it does, by addresses as s3://bucket/key: read by ranges as files behind http are, with
 * requests that are signed where there are credentials.
 */
import { AwsClient } from 'aws4fetch'
import { PlanError, SourceError } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import type { Access, S3Options } from '../core/ports.ts'
import { fetchText } from './httpSource.ts'

const ADDRESS = /^s3[an]?:\/\/([^/]+)\/(.*)$/is

export function isS3(path: string): boolean {
  return /^s3[an]?:\/\//i.test(path)
}

const OPTIONS = ['accessKeyId', 'secretAccessKey', 'sessionToken', 'region', 'endpoint'] as const

/** PlanError for what no store can be asked with; values are kept out of the message. */
export function checkS3(method: string, s3: unknown): void {
  checkOptions(`The s3 of ${method}()`, s3, OPTIONS)
  for (const [name, value] of Object.entries(s3))
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      throw new PlanError(`The ${name} of { s3 } is a text that is not empty; its value is not shown here.`)
  const { endpoint } = s3 as S3Options
  if (endpoint !== undefined && !/^https?:\/\/[^/]/i.test(endpoint))
    throw new PlanError('The endpoint of { s3 } is an address of http or https, as https://storage.example.com.')
}

/** What is said by options, or else by the environment, as other tools of S3 have it. */
export function settingsOf(s3: S3Options = {}): S3Options {
  const { env } = process
  const own = s3.accessKeyId !== undefined
  const accessKeyId = s3.accessKeyId ?? env.AWS_ACCESS_KEY_ID
  const secretAccessKey = s3.secretAccessKey ?? (own ? undefined : env.AWS_SECRET_ACCESS_KEY)
  const sessionToken = s3.sessionToken ?? (own ? undefined : env.AWS_SESSION_TOKEN)
  const endpoint = s3.endpoint ?? env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL
  return {
    ...(accessKeyId && { accessKeyId }),
    ...(secretAccessKey && { secretAccessKey }),
    ...(sessionToken && { sessionToken }),
    ...(endpoint && { endpoint: endpoint.replace(/\/+$/, '') }),
    region: s3.region ?? env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? 'us-east-1',
  }
}

/** Reads as any server is read, by the store's own address. */
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
      const signed = await client.sign(url, unsigned)
      return await fetch(signed, signal == null ? {} : { signal })
    },
  }
}

/** Keys are escaped but for their slashes. Buckets with dots, and stores of other names, are part of the path. */
function urlOf(address: string, { endpoint, region }: S3Options): string {
  const [plain = '', query] = address.split(QUERY)
  const [, bucket = '', key = ''] = ADDRESS.exec(plain) ?? []
  const path = key.split('/').map(escaped).join('/')
  const host = endpoint ?? (bucket.includes('.') ? `https://s3.${region}.amazonaws.com` : undefined)
  const place = host === undefined ? `https://${bucket}.s3.${region}.amazonaws.com/${path}` : `${host}/${bucket}/${path}`
  return query === undefined ? place : `${place}?${query}`
}

/** What stands between an address and a query, and in no key. */
const QUERY = '\0'

function escaped(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** SourceError for an address that names no bucket and key. */
export function checkAddress(address: string): void {
  if (!ADDRESS.test(address))
    throw new SourceError(`${address} cannot be read: it names no bucket and key, as s3://bucket/key does.`, address)
}

/** Addresses of all objects whose keys begin so, in the order of their keys. `address` is s3://bucket/beginning. */
export async function objectsOf(address: string, access: Access): Promise<readonly string[]> {
  const [, bucket = '', prefix = ''] = ADDRESS.exec(address) ?? []
  const found: string[] = []
  let token: string | undefined
  do {
    const query = new URLSearchParams({
      'list-type': '2',
      prefix,
      'encoding-type': 'url',
      ...(token === undefined ? {} : { 'continuation-token': token }),
    })
    const text = await fetchText(`s3://${bucket}/`, s3Access(access), QUERY + query.toString().replaceAll('+', '%20'))
    for (const [, key = ''] of text.matchAll(/<Key>([^<]*)<\/Key>/g)) {
      const name = decodeURIComponent(plainText(key).replaceAll('+', ' '))
      if (!name.endsWith('/')) found.push(`s3://${bucket}/${name}`)
    }
    const more = /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/.exec(text)?.[1]
    token = /<IsTruncated>true</.test(text) && more !== undefined ? plainText(more) : undefined
  } while (token !== undefined)
  return found
}

function plainText(xml: string): string {
  return xml.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&apos;', "'").replaceAll('&amp;', '&')
}
