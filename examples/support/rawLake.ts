/**
 * What other programs have left in a lake: price lists of a German spreadsheet, compressed; logs of a web server, a JSON object a line; and sales, in
 * folders by year and month. The first two are put there as they are, as whoever exports them would.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { gzipSync } from 'node:zlib'
import { AwsClient } from 'aws4fetch'
import type { Session } from 'distarray'

const ARTICLES = ['Tee', 'Kaffee', 'Kakao', 'Zucker'] as const
const SHOPS = ['Berlin', 'Köln', 'München'] as const
const DAYS = 59
const SALES = 30_000

/** From one number of a sequence to the next, the same on any machine. */
const draw = (i: number): number => ((i * 7919 + ((i * i) % 104_729)) % 1000) / 1000
const moment = (i: number): Date => new Date(Date.UTC(2026, 1, 1, 6) + Math.floor((i / SALES) * DAYS * 86_400_000))

function priceList(article: string, place: number): string {
  const lines = ['Preisliste, ohne Gewähr', 'Artikel;Gültig ab;Preis']
  for (let day = 0; day < DAYS; day += 7) {
    const from = new Date(Date.UTC(2026, 1, 1 + day))
    const date = `${String(from.getUTCDate()).padStart(2, '0')}.${String(from.getUTCMonth() + 1).padStart(2, '0')}.2026 06:00`
    const cents = 120_000 + 35_000 * place + 1375 * day
    const price = `${Math.floor(cents / 100_000)}.${String(Math.floor(cents / 100) % 1000).padStart(3, '0')},${String(cents % 100).padStart(2, '0')}`
    lines.push(`${article};${date};${day === 14 ? 'k.A.' : price}`)
  }
  return `${lines.join('\r\n')}\r\n`
}

function logs(): string {
  const lines: string[] = []
  for (let i = 0; i < SALES; i += 5) {
    const at = new Date(moment(i).getTime() - 60_000 * Math.floor(30 * draw(i)))
    const request = { path: `/${ARTICLES[i % 4]?.toLowerCase()}`, ms: Math.floor(900 * draw(i + 3)) }
    lines.push(JSON.stringify({ at: at.toISOString(), user: i % 97, request, ...(i % 20 === 0 ? { campaign: 'Ostern' } : {}) }))
  }
  return `${lines.join('\n')}\n`
}

export async function fillLake(session: Session, lake: string): Promise<void> {
  for (const [place, article] of ARTICLES.entries())
    await put(`${lake}/raw/prices/${article.toLowerCase()}.csv.gz`, gzipSync(priceList(article, place)))
  await put(`${lake}/raw/logs/2026.ndjson`, Buffer.from(logs()))
  const sales = session.fromRows(
    Array.from({ length: SALES }, (_, i) => {
      const at = moment(i)
      const sale = {
        at,
        user: i % 97,
        shop: SHOPS[Math.floor(3 * draw(i))] ?? SHOPS[0],
        article: ARTICLES[Math.floor(4 * draw(i + 1))] ?? ARTICLES[0],
      }
      return { ...sale, pieces: i % 50 === 0 ? null : 1 + Math.floor(5 * draw(i + 2)), year: 2026, month: at.getUTCMonth() + 1 }
    }),
  )
  await sales.writeParquet(`${lake}/sales`, { partitionBy: ['year', 'month'] })
}

/** An object of the store that the environment names, or a file. */
async function put(address: string, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
  if (!address.startsWith('s3://')) {
    mkdirSync(dirname(address), { recursive: true })
    writeFileSync(address, bytes)
    return
  }
  const { AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '', AWS_ENDPOINT_URL: endpoint = '' } = process.env
  const store = new AwsClient({ accessKeyId, secretAccessKey, region: 'us-east-1', service: 's3' })
  const answer = await store.fetch(`${endpoint}/${address.slice('s3://'.length)}`, { method: 'PUT', body: bytes })
  if (!answer.ok) throw new Error(`${address}: ${answer.status} ${await answer.text()}`)
}
