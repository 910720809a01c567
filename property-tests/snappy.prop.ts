/**
 * Laws: the kernel unpacks what a reader of one byte after another unpacks, and traps where that finds something odd, in bytes of
 * any tags, sound and damaged; behind the bytes that it is to write nothing changes.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { READ_BEHIND } from '../src/exec/kernels/tables/pageKernels.ts'
import { snappyKernel } from '../src/exec/kernels/tables/snappyKernel.ts'
import { arenaKernel } from '../src/exec/tables/operators/arenaKernels.ts'
import { lawArena } from './lawArena.ts'
import { announcedRun } from './lawRuns.ts'

const run = announcedRun('snappy.prop.ts')

/** What a tag says: bytes that follow, by a seed; or bytes that came before. */
const drawnTag = fc.oneof(
  fc.record({
    kind: fc.constant('following' as const),
    count: fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 1, max: 40 }) },
      { weight: 1, arbitrary: fc.constantFrom(59, 60, 61, 62, 256, 257, 700) },
    ),
    /** Of a count that would fit into fewer. */
    countBytes: fc.nat(4),
    seed: fc.nat(2 ** 20),
  }),
  fc.record({
    kind: fc.constant('before' as const),
    count: fc.integer({ min: 1, max: 64 }),
    back: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.nat(3000)),
    offsetBytes: fc.constantFrom(1, 2, 2, 4),
  }),
)

const drawn = fc.record({
  tags: fc.array(drawnTag, { minLength: 1, maxLength: 30 }),
  damage: fc.constantFrom('none', 'none', 'none', 'byte', 'cut', 'size', 'back', 'longer'),
  at: fc.nat(2 ** 20),
})

const lengthBytes = (length: number): number[] => (length < 128 ? [length] : [(length & 127) | 128, ...lengthBytes(length >>> 7)])

/** The packed bytes, of which the tags make so many. */
function packed(tags: readonly (typeof drawnTag extends fc.Arbitrary<infer T> ? T : never)[], isOdd: boolean): [number, number[]] {
  const bytes: number[] = []
  let done = 0
  for (const tag of tags) {
    if (tag.kind === 'before' && done > 0) {
      const most = tag.offsetBytes === 1 ? 2047 : 2 ** 16 - 1
      const back = isOdd ? tag.back : Math.min(most, 1 + (tag.back % done))
      const count = tag.offsetBytes === 1 ? 4 + (tag.count & 7) : tag.count
      if (tag.offsetBytes === 1) bytes.push(1 | ((count - 4) << 2) | (((back >> 8) & 7) << 5), back & 255)
      else
        bytes.push(
          (tag.offsetBytes === 2 ? 2 : 3) | ((count - 1) << 2),
          ...[0, 8, 16, 24].slice(0, tag.offsetBytes).map((by) => (back >> by) & 255),
        )
      done += count
    } else {
      const { count } = tag
      const [least, wanted, seed] = [count > 256 ? 2 : count > 60 ? 1 : 0, tag.kind === 'following' ? tag.countBytes : 0, tag.count * 31]
      const more = Math.max(least, wanted)
      if (more === 0) bytes.push((count - 1) << 2)
      else bytes.push((59 + more) << 2, ...[0, 8, 16, 24].slice(0, more).map((by) => ((count - 1) >> by) & 255))
      for (let i = 0; i < count; i++) bytes.push(((tag.kind === 'following' ? tag.seed : seed) * (i + 3)) & 255)
      done += count
    }
  }
  return [done, bytes]
}

/** One byte after another; undefined for what is odd. */
function unpacked(bytes: Uint8Array, size: number): readonly number[] | undefined {
  let at = 0
  const next = (count: number): number => {
    let value = 0
    for (let i = 0; i < count; i++) value += (bytes[at++] ?? Number.NaN) * 256 ** i
    return value
  }
  let said = 0
  for (let i = 0; ; i++) {
    const byte = next(1)
    if (Number.isNaN(byte) || i > 4) return undefined
    said += (byte & 127) * 128 ** i
    if (byte < 128) break
  }
  if (said % 2 ** 32 !== size) return undefined
  const out: number[] = []
  while (at < bytes.length) {
    const tag = next(1)
    if ((tag & 3) === 0) {
      const count = 1 + (tag >> 2 < 60 ? tag >> 2 : next((tag >> 2) - 59))
      if (Number.isNaN(count) || count > bytes.length - at || count > size - out.length) return undefined
      for (let i = 0; i < count; i++) out.push(next(1))
      continue
    }
    const count = (tag & 3) === 1 ? 4 + ((tag >> 2) & 7) : 1 + (tag >> 2)
    const back = (tag & 3) === 1 ? (tag >> 5) * 256 + next(1) : next((tag & 3) === 2 ? 2 : 4)
    if (!(back >= 1 && back <= out.length) || count > size - out.length) return undefined
    for (let i = 0; i < count; i++) out.push(out[out.length - back] as number) // it came before
  }
  return out.length === size ? out : undefined
}

const BEHIND = 40

test('the kernel unpacks what a reader of one byte after another unpacks', () => {
  const arena = lawArena(2 ** 22)
  const kernel = arenaKernel(arena, 'law', snappyKernel)
  const counts = { sound: 0, odd: 0 }
  fc.assert(
    fc.property(drawn, ({ tags, damage, at }) => {
      const [made, body] = packed(tags, damage === 'back')
      const size = damage === 'size' ? Math.max(0, made - 20 + (at % 40)) : made
      const head = lengthBytes(size)
      const all = [...head, ...body]
      if (damage === 'byte') all[at % all.length] = at >> 12
      if (damage === 'longer') all.push(...Array.from({ length: 1 + (at % 6) }, (_, i) => (at >> i) & 255))
      const bytes = Uint8Array.from(damage === 'cut' ? all.slice(0, -1 - (at % 9)) : all)
      const wanted = unpacked(bytes, size)
      const [source, out] = [bytes.length + READ_BEHIND, size + BEHIND].map((room) => arena.allocate(room, 'law')) as [number, number]
      try {
        ;(arena.view('u8', source, bytes.length + READ_BEHIND) as Uint8Array).fill(at & 255).set(bytes)
        const to = arena.view('u8', out, size + BEHIND) as Uint8Array
        to.fill(77)
        const start = () => kernel(source, bytes.length, out, size)
        counts[wanted === undefined ? 'odd' : 'sound']++
        if (wanted === undefined) expect(start).toThrow(WebAssembly.RuntimeError)
        else {
          start()
          expect([...to.subarray(0, size)]).toStrictEqual(wanted)
        }
        expect([...to.subarray(size)]).toStrictEqual(new Array(BEHIND).fill(77))
      } finally {
        for (const block of [source, out]) arena.free(block)
      }
    }),
    run,
  )
  console.log(`Snappy: ${JSON.stringify(counts)}`)
  if (run.numRuns >= 500) expect(Math.min(counts.sound, counts.odd)).toBeGreaterThan(run.numRuns * 0.2)
})
