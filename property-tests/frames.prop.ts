/**
 * Law 7 for links: a message that was cut into frames comes out as it went in, and no frame that was cut, lengthened, flipped or mixed
 * up is taken for another. What changes make of an array is the array after them.
 */
import { existsSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeFrame, encodeFrame, FRAME_TYPES, type Frame, FrameFault, MOST_BODY_BYTES } from '../src/exec/gang/links/frame.ts'
import { framesOf, type InMessage, MessageReader, type OutMessage } from '../src/exec/gang/links/messages.ts'
import { RingReader, RingWriter } from '../src/exec/gang/links/sharedRing.ts'
import { applyChanges, changesOf, copyOf, filledWith } from '../src/exec/gang/movement/changes.ts'
import { announcedRun } from './lawRuns.ts'

const RUN = announcedRun('frames.prop.ts')
const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const bytes = fc.uint8Array({ maxLength: 60 })
const frame: fc.Arbitrary<Frame> = fc.record({
  type: fc.constantFrom(...FRAME_TYPES),
  flags: fc.nat(65_535),
  epoch: u32,
  from: u32,
  to: u32,
  number: fc.maxSafeNat(),
  meta: bytes,
  body: bytes,
})
const message: fc.Arbitrary<OutMessage> = fc.record({
  type: fc.constantFrom(...FRAME_TYPES),
  head: bytes,
  parts: fc.array(bytes, { maxLength: 5 }),
})
const address = { epoch: 3, from: 1, to: 2 }

function plain({ meta, body, ...rest }: Frame): unknown {
  return { ...rest, meta: [...meta], body: [...body] }
}

test('a frame is read as it was written, and none that was changed in any bit or length', () => {
  fc.assert(
    fc.property(frame, fc.nat(), fc.integer({ min: -5, max: 5 }), (one, at, by) => {
      const written = encodeFrame(one)
      expect(plain(decodeFrame(written))).toEqual(plain(one))
      const flipped = Buffer.from(written)
      flipped[(at >> 3) % flipped.length]! ^= 1 << (at & 7)
      expect(() => decodeFrame(flipped)).toThrow(FrameFault)
      if (by === 0) return
      const other = Buffer.alloc(written.length + by)
      written.copy(other)
      expect(() => decodeFrame(other)).toThrow(FrameFault)
    }),
    RUN,
  )
})

test('anything that is no frame is refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (noise) => {
      expect(() => decodeFrame(Buffer.from(noise))).toThrow(FrameFault)
    }),
    RUN,
  )
})

function read(frames: readonly Buffer[], reader = new MessageReader(address)): InMessage[] {
  return frames.flatMap((one) => reader.take(decodeFrame(one)) ?? [])
}

const contents = ({ type, head, parts }: OutMessage) => [type, [...head], parts.map((part) => [...part])]

/** As `framesOf`, with the numbers going on. */
function written(messages: readonly OutMessage[]): Buffer[] {
  const frames: Buffer[] = []
  for (const one of messages) for (const next of framesOf(one, address, frames.length)) frames.push(next)
  return frames
}

test('messages come out as they went in; a frame that is missing, doubled or in another place is noticed', () => {
  fc.assert(
    fc.property(
      fc.array(message, { minLength: 1, maxLength: 5 }),
      fc.nat(),
      fc.nat(),
      fc.constantFrom('lost', 'doubled', 'moved'),
      (messages, at, to, how) => {
        const frames = written(messages)
        expect(read(frames).map(contents)).toEqual(messages.map(contents))
        const place = at % frames.length
        const other = to % frames.length
        if ((how === 'lost' && place === frames.length - 1) || (how === 'moved' && place === other)) return
        const [one] = how === 'doubled' ? [frames[place] as Buffer] : frames.splice(place, 1)
        frames.splice(how === 'moved' ? other : place, 0, ...(how === 'lost' ? [] : [one as Buffer]))
        expect(() => read(frames)).toThrow(FrameFault)
      },
    ),
    RUN,
  )
})

/** As `contents`, quickly for long parts. */
const texts = ({ type, head, parts }: OutMessage) => [type, ...[head, ...parts].map((part) => Buffer.from(part).toString('latin1'))]

/** Of these lengths some go by a ring, and some are several times as long as a frame may be. */
const ringMessage = fc.record({
  type: fc.constantFrom(...FRAME_TYPES),
  lengths: fc.array(fc.oneof(fc.nat(60), fc.integer({ min: 8_000, max: 30_000 }), fc.constant(8192)), { minLength: 1, maxLength: 5 }),
  seed: fc.nat(255),
  /** How many of the frames under way the reader takes before the next message is written. */
  takes: fc.nat(4),
})
const RING_BYTES = 60_000
const hasRings = existsSync('/dev/shm') && existsSync('/proc/self/fd')
if (!hasRings) console.log('frames.prop.ts: laws of rings are skipped, as this system has no files in memory that other processes can open')

test.skipIf(!hasRings)('messages whose bodies go by a ring come out as they went in, however far the reader lags behind', () => {
  fc.assert(
    fc.property(fc.array(ringMessage, { minLength: 1, maxLength: 12 }), (drawn) => {
      const [reads, writes] = ringPair()
      const messages = drawn.map(({ type, lengths, seed }): OutMessage => {
        const [head = new Uint8Array(0), ...parts] = lengths.map((length, i) =>
          Uint8Array.from({ length }, (_, k) => (k * 7 + seed + i) & 255),
        )
        return { type, head, parts }
      })
      const reader = new MessageReader(address, reads)
      const underWay: Buffer[] = []
      const back: InMessage[] = []
      const take = (count: number): void => void back.push(...read(underWay.splice(0, count), reader))
      let number = 0
      const send = (one: OutMessage): void => {
        for (const next of framesOf(one, address, number, writes)) {
          underWay.push(next)
          number++
        }
      }
      for (const [i, one] of messages.entries()) {
        send(one)
        take(drawn[i]?.takes ?? 0)
      }
      take(underWay.length)
      // a ring of which all is taken has room again
      const last: OutMessage = { type: 'rows', head: new Uint8Array(0), parts: [new Uint8Array(RING_BYTES - 16).fill(3)] }
      send(last)
      expect(underWay.map(({ length }) => length < 200)).toEqual([true])
      take(1)
      expect(back.map(texts)).toEqual([...messages, last].map(texts))
      reads.close()
      writes.close()
    }),
    RUN,
  )
})

test.skipIf(!hasRings)('a place in a ring at which the body of that frame is not is refused', () => {
  fc.assert(
    fc.property(fc.integer({ min: -9, max: 90_000 }), fc.integer({ min: 0, max: 20_000 }), fc.nat(3), (at, length, number) => {
      const [reads, writes] = ringPair()
      const body = new Uint8Array(10_000).fill(1)
      const first = writes.put(0, [body]) as number
      const second = writes.put(1, [body]) as number
      const taken = (position: number, of: number, bytes: number) => () => reads.take(position, of, [new Uint8Array(bytes)])
      const isThere = length === body.length && ((at === first && number === 0) || (at === second && number === 1))
      if (!isThere) expect(taken(at, number, length)).toThrow(FrameFault)
      expect(taken(first, 1, body.length)).toThrow('Its body is not in the ring.')
      expect(taken(first, 0, body.length - 1)).toThrow('Its body is not in the ring.')
      taken(first, 0, body.length)()
      expect(taken(first, 0, body.length)).toThrow('Its body lies outside of the ring.')
      taken(second, 1, body.length)()
      reads.close()
      writes.close()
    }),
    RUN,
  )
})

function ringPair(): readonly [RingReader, RingWriter] {
  const reads = RingReader.create(RING_BYTES)
  const writes = reads && RingWriter.open(reads.place)
  if (reads === undefined || writes === undefined) throw new Error('There is no ring.')
  return [reads, writes]
}

test('a message of several frames', () => {
  const long = Uint8Array.from({ length: 2 * MOST_BODY_BYTES + 5 }, (_, i) => i * 31)
  const one: OutMessage = { type: 'values', head: Uint8Array.of(1), parts: [long, new Uint8Array(0), long.subarray(0, 7)] }
  const frames = written([one])
  expect(frames.length).toBe(3)
  const [back] = read(frames) as [InMessage]
  expect(back.parts.map((part) => Buffer.compare(part, Buffer.from(one.parts[back.parts.indexOf(part)] as Uint8Array)))).toEqual([0, 0, 0])
  expect(() => read([frames[0] as Buffer, encodeFrame({ ...decodeFrame(frames[1] as Buffer), type: 'run' })])).toThrow(
    'It is of another kind than its message.',
  )
  expect(() => read([encodeFrame({ ...decodeFrame(frames[0] as Buffer), epoch: 4 })])).toThrow('It is of another epoch.')
  expect(() => read([encodeFrame({ ...decodeFrame(frames[0] as Buffer), from: 2 })])).toThrow(
    'It is from somebody else, or for somebody else.',
  )
})

const CLASSES = [Float64Array, Float32Array, Int16Array, Uint8Array] as const

test('two that change different elements of one array bring both together, whatever the width of an element', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...CLASSES),
      fc.integer({ min: 1, max: 9000 }),
      fc.array(fc.nat(9000), { maxLength: 40 }),
      fc.boolean(),
      (Class, length, places, isFilled) => {
        const start = new Class(length)
        if (!isFilled) for (let i = 0; i < length; i++) start[i] = i * 3
        const [left, right, both] = [start.slice(), start.slice(), start.slice()]
        for (const [i, place] of places.entries()) {
          const at = place % length
          ;(at % 2 === 0 ? left : right)[at] = both[at] = (start[at] as number) + i + 1
        }
        for (const changed of [right, left])
          applyChanges(start, changesOf(changed, isFilled ? filledWith(Class.of(0)) : copyOf(beforeOf(Class, length))))
        expect(Buffer.from(start.buffer).equals(Buffer.from(both.buffer))).toBe(true)
      },
    ),
    RUN,
  )
})

function beforeOf(Class: (typeof CLASSES)[number], length: number): InstanceType<(typeof CLASSES)[number]> {
  return new Class(length).map((_: number, i: number) => i * 3)
}

test('changes that leave the array are refused before anything is written', () => {
  const array = Float32Array.of(1, 2, 3)
  const change = (runs: readonly number[], length: number) => () =>
    applyChanges(array, { runs: Float64Array.from(runs), bytes: new Uint8Array(length) })
  expect(change([2, 2], 8)).toThrow('Changes of an array lie outside of it.')
  expect(change([0, 1, -1, 1], 8)).toThrow('Changes of an array lie outside of it.')
  expect(change([0, 1], 8)).toThrow('Changes of an array do not have as many bytes as they say.')
  expect([...array]).toEqual([1, 2, 3])
})
