/**
 * Checksums of whole files, beyond what Parquet itself has.
 *
 * Parquet checks pages at most, and most writers leave even that out, so that a flipped bit reads as another value.
 * Files written here carry a CRC32 of the footer and of each column chunk in a key-value pair that other readers pass
 * over. The footer's own CRC is taken with zeros in its place.
 */
import { crc32 } from 'node:zlib'
import type { SourceError } from '../../core/errors.ts'

export const CHECKSUM_KEY = 'distarray.crc32'
const DIGITS = 8

/** The value of the pair before the footer's CRC is known. */
export function checksumValue(chunks: readonly number[]): string {
  return '0'.repeat(DIGITS) + chunks.map(hex).join('')
}

/** Writes the footer's CRC into the encoded footer, in place. */
export function sealFooter(footer: Uint8Array): void {
  const at = checksumOffset(footer)
  if (at === undefined) return
  footer.set(new TextEncoder().encode(hex(crc32(footer))), at)
}

/** Verifies the footer's checksum and returns those of the chunks, in file order; undefined for files that carry none. */
export function verifyFooter(
  footer: Uint8Array,
  keyValues: ReadonlyMap<string, string>,
  chunks: number,
  damaged: (what: string) => SourceError,
): Uint32Array | undefined {
  const value = keyValues.get(CHECKSUM_KEY)
  const at = checksumOffset(footer)
  if (value === undefined || at === undefined) return undefined
  const copy = footer.slice()
  copy.fill(48, at, at + DIGITS)
  if (value.length !== DIGITS * (chunks + 1) || hex(crc32(copy)) !== value.slice(0, DIGITS)) throw damaged('its checksum does not match')
  return Uint32Array.from({ length: chunks }, (_, i) => Number.parseInt(value.slice(DIGITS * (i + 1), DIGITS * (i + 2)), 16))
}

/** The offset of the checksum value: behind the last appearance of the key, the Thrift field header and the length. Undefined without key. */
function checksumOffset(footer: Uint8Array): number | undefined {
  const buffer = Buffer.from(footer.buffer, footer.byteOffset, footer.byteLength)
  const key = buffer.lastIndexOf(CHECKSUM_KEY)
  if (key < 0) return undefined
  let at = key + CHECKSUM_KEY.length + 1
  while ((footer[at] ?? 0) > 127) at++ // the length is a varint
  return at + 1 + DIGITS <= footer.length ? at + 1 : undefined
}

function hex(checksum: number): string {
  return (checksum >>> 0).toString(16).padStart(DIGITS, '0')
}
