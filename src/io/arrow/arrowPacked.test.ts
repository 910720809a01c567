/** Compressed Arrow files: of other writers, damaged, larger than what is read. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PlanError, SourceError } from '../../core/errors.ts'
import { Session } from '../../session/session.ts'

const folder = mkdtempSync(join(tmpdir(), 'distarray-packed-'))
let session: Session
beforeAll(async () => {
  session = await Session.start({ workers: 1, memory: '64MB' })
})
afterAll(async () => {
  await session.stop()
  rmSync(folder, { recursive: true })
})

interface Row {
  readonly x: number | null
  readonly name: string | null
  readonly kind: string
}
const ROWS = Array.from(
  { length: 96 },
  (_, i): Row => ({ x: i % 7 === 0 ? null : (i % 8) / 2, name: i % 5 === 0 ? null : `name ${i % 4}`, kind: `k${i % 3}` }),
)

/** What others write of these rows, as gzip in base64: the headers are long. */
const WRITTEN: readonly (readonly [writer: string, base64: string])[] = [
  [
    'pyarrow, LZ4',
    'H4sIAAAAAAACA91VMWgUQRT9uzu3t8rm7sxddNVEQgwqQSSJEEREN2JxCOoZREVSJKISOU0RLEQhLBIsxEIsJKBYiEWwkBQiIoqHoFxhZSysooWVTVIZQSW+' +
      'PztzN7uElBbO8fbN+/vnz/+zu/8Gh4aOneojWsYgi6hAPNaSTy5lyMMMwxIkQLPwYXaAGWAMKBGvCeDpUharCrDEMawM3wuBTkBQPJirF8fP8dzDjy189aX2' +
      'gazUHIDXfcaenzg3xOO47alY46OXz8fzOEfeX+fCSuXiMAfGWpRKV+HHvq602PLK5/BC1UUyr0CdhC8jki1knDI1h1lHQa5pB4vGmtMq75I6O2rkH+ds2tJj' +
      'u+IdijuMe9YKaws6dteRYCS8ARnp4ngrV/u5ST/IqNpb7av2Kzufg2etcg6OkDWFRgLpuqeNukdWqDtr2Lam6ryvuJ66v6j4uBVzOX5s9E7XnzoQrXcZNsfI' +
      'J6dY61JKN2tLnBdkNPnmy8LSrz+SksGbflOYbsSD6vp6IE/FRY+KPz3qojCgooDwcFQ25UNqEzZt9ss8bcFURDxb79jk16QtY5Mzox3zodXiR8SzyGrzw9hQ' +
      'M0LlI+pgqlkTFU4+XK2O+esLr5fUpeE3ZSX89kIWUcecq2K08vckaG4LuBvoAXqhB8D7gIP8bKCPgk8AZ/hMoS+ALwET/P1BT/JewC3gDvQ98APgEfcY6Kfg' +
      'Z8BLoAb9HvwB+Mi9AXoe/A34zu8G9A/wb37hkbAHneN3GNgEdEJvA+8E+oE90PvBh4DDQAX6JHgYOAuMQY+DrwDXgAj6Jvg2cBeYhn4Ifgw8AWYFLWaeY/IK' +
      'eAvUFYxRT54rlzfKPayzz6V1/cBuoNelXCvZPeR1ky0n9gB5cpLT0ta3/o2naKUKp6n7Q5SsYwM/Pt2T7DWU92l5uKJ6qu4n1OiPJdl5+d/CVx2hrL59oWIE' +
      'amlB7WP2Gcuw15RN9+P//T8qhHFQ/mf/BSLKHx+6BwAA',
  ],
  [
    'Polars, zstd',
    'H4sIAAAAAAACA+1Ve0hTYRQ/97E15809HLJM40ovsdS5CAuLNh80SXAMI8HArZwkOjFEEMKcLkVQwqCsQCNQwcogFCUpcWF/BJKMkEIUTagQtBQJlVLWua+8' +
      'CpnQv51xvvN95/E753z3njurw5F9IQmABoClYDBoAG5P4KqGUFDhSkMJ6jk7hTyJ3A2C/xfU30bZhHwF2YlsRCaMeohEDyPsQQQGtGDgEbmY7xjDomSQORuN' +
      'qwr3phRTSsUxcwpu0R8g356Vn2bNyTib7chMs2aZQaRVjBdiVTzisogHoEQNDWNircVFpQWc1o/nKBFTxdcm4KzxfjRfU6nL4+Z086gzoWSlPiguTo8+WtDx' +
      '0Qwf+wP9SMynFG+qEhlVQRUh9MjhACnkEe6TwshwHovreArtTrGfDuQTyLFiToHCIAr9hJsz8jkk4nITmFmBdqVMHy1KiygrRenfYpfA+iS7HFx2PijTUeKz' +
      'FSoTSDobtpwlYkQZ25e4zjIugOtD0wsrP9d5ATsgaiPeCeRxCrwAH8/A4ipYaBVjwUaPsKzvvqmf8A14E52ExtsWwxwO6EysVkmupmbc05XVDAXYVJJeCzv3' +
      'iWYibhCP/EVlNZqbbYSL0TZ4ifpXD0NqG4b1bHN2YfvVlrdPoluHyT/WP3VtYXBFXHZSv1JevyJaAZfS1Rp/Z4DImgvCm9dE/Ow4kXf0rqfR3esZKOnPTZiI' +
      'GJnRakGpi0mny7vgRRVl99VV6G12dWSdbt9ocJpydZxafDa+bHHcmRqo9rUkxdWbE3pOjr1bqv7maT4w+vhW/Mj8rvc9iw/m9uZkthd2V/V+remIGywPKuMv' +
      '5zDuiwXlXZ2fg5MTbGbr+f15LeOabvfM6Q/JXbMvmxpDbXUsJSvfS8jq90IbgF16e0j8eRLVTgjZpn1uHp7DxjxYQD4P5KZ52DrT3HxItRT8w3yQ29R3SLYn' +
      'Nl6332SSP3/TUwAbh1ZsgiQzDc7wQHKvYreR2L5/kPWfK/ZhEHUM9q7lv34Mn98mYmklTHJzfbn05nmW7vP/t/lv3+ZaFFb+X+4XZnI7buwGAAA=',
  ],
]

test.each(WRITTEN)('%s', async (writer, base64) => {
  const path = join(folder, `${writer}.arrow`)
  writeFileSync(path, gunzipSync(Buffer.from(base64, 'base64')))
  const table = await session.readArrow<Row>(path)
  expect(await table.collect()).toEqual(ROWS)
  expect(await table.map((r) => r.kind).collect()).toEqual(ROWS.map((r) => r.kind))
})

test.each(['zstd', 'lz4'] as const)('%s: what is written is smaller, and read back', async (compression) => {
  const path = join(folder, `own.${compression}.arrow`)
  const rows = Array.from({ length: 2000 }, (_, id) => ({ id, text: `text ${id % 9}`, list: id % 3 === 0 ? null : [id % 5] }))
  const table = session.fromRows(rows)
  const { bytes: plain } = await table.writeArrow(join(folder, 'plain.arrow'))
  const { bytes } = await table.writeArrow(path, { compression })
  expect(bytes).toBeLessThan(0.7 * plain)
  expect(await (await session.readArrow(path)).collect()).toEqual(rows)
})

test('a buffer of more than one block of LZ4', async () => {
  const path = join(folder, 'blocks.arrow')
  const text = 'word '.repeat(900_000)
  const rows = [{ text }, { text: `${text}end` }]
  await session.fromRows(rows).writeArrow(path, { compression: 'lz4' })
  expect(await (await session.readArrow<{ text: string }>(path)).collect()).toEqual(rows)
})

test('a codec that Arrow has not is refused', async () => {
  await expect(session.fromRows([{ a: 1 }]).writeArrow(join(folder, 'x.arrow'), { compression: 'snappy' as never })).rejects.toThrow(
    new PlanError("The compression of writeArrow() is one of 'zstd', 'lz4'; it was given \"snappy\"."),
  )
})

/** A file with a buffer of 70,000 bytes, packed, whose length and first bytes are changed. */
async function damaged(name: string, change: (stored: Buffer, at: number) => void): Promise<SourceError> {
  const path = join(folder, name)
  await session.fromRows([{ text: 'x'.repeat(70_000) }]).writeArrow(path, { compression: 'zstd' })
  const bytes = readFileSync(path)
  const length = Buffer.alloc(8)
  length.writeBigInt64LE(70_000n)
  change(bytes, bytes.indexOf(length))
  writeFileSync(path, bytes)
  const error = await (await session.readArrow(path)).collect().catch((error: unknown) => error)
  expect(error).toBeInstanceOf(SourceError)
  expect((error as SourceError).source).toBe(path)
  return error as SourceError
}

test.each<readonly [string, (stored: Buffer, at: number) => void, string]>([
  ['magic', (bytes, at) => bytes.writeUInt32LE(1, at + 8), 'is damaged: what is compressed with zstd in it does not unpack.'],
  ['longer', (bytes, at) => bytes.writeBigInt64LE(70_001n, at), 'is damaged: what is compressed with zstd in it does not unpack.'],
  ['less than nothing', (bytes, at) => bytes.writeBigInt64LE(-2n, at), 'is damaged: a compressed buffer says that it has -2 bytes.'],
  [
    'too large',
    (bytes, at) => bytes.writeBigInt64LE(2n ** 31n - 1n, at),
    'has a record batch whose columns take, unpacked, 2147483656 bytes, and at most 201326592 are read of one. Write smaller batches, or give the session more memory.',
  ],
])('bytes that do not unpack are an error that names the file: %s', async (name, change, message) => {
  expect((await damaged(`${name}.arrow`, change)).message).toBe(`${join(folder, `${name}.arrow`)} ${message}`)
})
