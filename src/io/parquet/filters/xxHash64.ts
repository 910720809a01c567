/** The 64-bit hash of bytes by which Parquet's Bloom filters are asked: XXH64 with seed 0. https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md */

const MASK = (1n << 64n) - 1n
const P1 = 0x9e3779b185ebca87n
const P2 = 0xc2b2ae3d27d4eb4fn
const P3 = 0x165667b19e3779f9n
const P4 = 0x85ebca77c2b2ae63n
const P5 = 0x27d4eb2f165667c5n

const wrapped = (value: bigint): bigint => value & MASK
const rotated = (value: bigint, bits: bigint): bigint => wrapped((value << bits) | (value >> (64n - bits)))
const round = (lane: bigint, input: bigint): bigint => wrapped(rotated(wrapped(lane + input * P2), 31n) * P1)
const merged = (hash: bigint, lane: bigint): bigint => wrapped((hash ^ round(0n, lane)) * P1 + P4)

export function xxHash64(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const long = (at: number): bigint => view.getBigUint64(at, true)
  let at = 0
  let hash = P5
  if (bytes.length >= 32) {
    let [a, b, c, d] = [wrapped(P1 + P2), P2, 0n, wrapped(-P1)]
    for (; at + 32 <= bytes.length; at += 32) {
      a = round(a, long(at))
      b = round(b, long(at + 8))
      c = round(c, long(at + 16))
      d = round(d, long(at + 24))
    }
    hash = wrapped(rotated(a, 1n) + rotated(b, 7n) + rotated(c, 12n) + rotated(d, 18n))
    for (const lane of [a, b, c, d]) hash = merged(hash, lane)
  }
  hash = wrapped(hash + BigInt(bytes.length))
  for (; at + 8 <= bytes.length; at += 8) hash = wrapped(rotated(hash ^ round(0n, long(at)), 27n) * P1 + P4)
  if (at + 4 <= bytes.length) {
    hash = wrapped(rotated(hash ^ wrapped(BigInt(view.getUint32(at, true)) * P1), 23n) * P2 + P3)
    at += 4
  }
  for (; at < bytes.length; at++) hash = wrapped(rotated(hash ^ wrapped(BigInt(bytes[at] as number) * P5), 11n) * P1)
  hash = wrapped((hash ^ (hash >> 33n)) * P2)
  hash = wrapped((hash ^ (hash >> 29n)) * P3)
  return hash ^ (hash >> 32n)
}
