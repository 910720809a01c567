import { EventEmitter } from 'node:events'
import { existsSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerWritableStream } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import type { InMessage } from './messages.ts'
import { Peer } from './peer.ts'
import { RingReader, RingWriter, ringFor, ringOffer, ringOffered } from './sharedRing.ts'

const hasRings = existsSync('/dev/shm') && existsSync('/proc/self/fd')
if (!hasRings) console.log('sharedRing.test.ts: skipped, as this system has no files in memory that other processes can open')

function openRings(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)].filter((path) => path.startsWith('/dev/shm/distarray-'))
    } catch {
      return [] // the folder's own
    }
  })
}

/** Two ends of a link whose frames arrive at once; `frames` has the bytes of each. */
function linked(world = 2): { readonly peers: readonly Peer[]; readonly took: InMessage[][]; readonly frames: number[][] } {
  const [took, frames]: [InMessage[][], number[][]] = [
    [[], []],
    [[], []],
  ]
  const peers = [0, 1].map(
    (own) =>
      new Peer(
        { rank: 1 - own, own, epoch: 0, key: '', round: 0, ring: ringFor(world) },
        {
          took: (message) => {
            if (message.type === 'ready') peers[own]?.heardReady(message.head)
            else took[own]?.push(message)
          },
          lost: () => undefined,
        },
      ),
  )
  for (const [own, peer] of peers.entries()) {
    const write = (frame: Buffer): boolean => {
      frames[own]?.push(frame.length)
      queueMicrotask(() => peers[1 - own]?.take(frame))
      return true
    }
    const stream = Object.assign(new EventEmitter(), { write, end: () => undefined })
    peer.open(stream as unknown as ServerWritableStream<Buffer, Buffer>) // as far as a peer needs it
    peer.sayReady()
  }
  return { peers, took, frames }
}

async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate)
}

test.skipIf(!hasRings)('long bodies go by the ring of the other process, short ones in their frames, and nothing is left', async () => {
  const before = openRings()
  const { peers, took, frames } = linked()
  await turns()
  const long = Uint8Array.from({ length: 3_000_000 }, (_, i) => i * 31 + (i >> 9))
  peers[0]?.send({ type: 'values', head: Uint8Array.of(1, 2), parts: [long, new Uint8Array(0), Uint8Array.of(7)] })
  peers[1]?.send({ type: 'done', head: Uint8Array.of(3), parts: [new Uint8Array(100).fill(4)] })
  await turns()
  const [values] = took[1] as [InMessage]
  expect([values.type, [...values.head], values.parts.map(({ length }) => length)]).toEqual(['values', [1, 2], [long.length, 0, 1]])
  expect(Buffer.from(values.parts[0] as Uint8Array).equals(long)).toBe(true)
  expect(took[0]?.map(({ type, parts }) => [type, parts.map((part) => [...part])])).toEqual([['done', [new Array(100).fill(4)]]])
  // after `ready`: three frames that hold a place each, and one that holds its hundred bytes
  const [sent = [], back = []] = frames.map((lengths) => lengths.slice(1))
  expect(sent.map((length) => length < 100)).toEqual([true, true, true])
  expect(back.map((length) => length > 140)).toEqual([true])
  for (const peer of peers) peer.end('the test is over')
  expect(openRings()).toEqual(before)
})

test.skipIf(!hasRings)('a ring is opened by those of its machine who mean it, and has no name', () => {
  const ring = ringFor(2) as RingReader
  const named = readdirSync('/dev/shm').filter((name) => name.startsWith(`distarray-${process.pid}-`))
  for (const name of named) rmSync(join('/dev/shm', name)) // nobody else would
  expect(named).toEqual([])
  const offer = JSON.parse(Buffer.from(ringOffer(ring)).toString())
  const opened = (other: object): RingWriter | undefined => ringOffered(Buffer.from(JSON.stringify({ ...offer, ...other })))
  const writer = opened({})
  expect(writer?.put(0, [Uint8Array.of(1)])).toBe(0)
  writer?.close()
  expect(opened({ machine: 'another' })).toBeUndefined()
  expect(opened({ machine: undefined })).toBeUndefined()
  expect(opened({ mark: '00'.repeat(16) })).toBeUndefined()
  expect(opened({ bytes: offer.bytes * 2 })).toBeUndefined()
  expect(opened({ fd: 100_000 })).toBeUndefined()
  expect(opened({ pid: 'self', fd: '../../../dev/null' })).toBeUndefined()
  expect(ringOffered(Buffer.from('none'))).toBeUndefined()
  expect(ringOffered(Buffer.from('null'))).toBeUndefined()
  expect(ringOffered(ringOffer(undefined))).toBeUndefined()
  ring.close()
})

test.skipIf(!hasRings)('all rings to a process have 32 MiB together, and each at least two frames', () => {
  const bytes = [1, 2, 3, 9, 100].map((world) => {
    const ring = ringFor(world) as RingReader
    ring.close()
    return ring.place.bytes / 2 ** 20
  })
  expect(bytes.map((one) => Number(one.toFixed(1)))).toEqual([32, 32, 16, 4, 2.1])
})

test.skipIf(!hasRings)('a ring that is full says so, and has room again for what fits once enough is taken', () => {
  const reads = RingReader.create(1000) as RingReader
  const writes = RingWriter.open(reads.place) as RingWriter
  const body = (length: number): Uint8Array[] => [new Uint8Array(length).fill(length & 255)]
  const take = (at: number, number: number, length: number): number[] => {
    const target = new Uint8Array(length)
    reads.take(at, number, [target])
    return [...new Set(target)]
  }
  expect(writes.put(0, body(985))).toBeUndefined()
  expect(writes.put(0, body(400))).toBe(0)
  expect(writes.put(1, body(400))).toBe(416)
  expect(writes.put(2, body(300))).toBeUndefined() // neither at the end nor at the beginning
  expect(take(0, 0, 400)).toEqual([400 & 255])
  expect(writes.put(2, body(500))).toBeUndefined()
  expect(writes.put(2, body(300))).toBe(1000) // at the beginning again
  expect(take(416, 1, 400)).toEqual([400 & 255])
  expect(take(1000, 2, 300)).toEqual([300 & 255])
  expect(writes.put(3, body(984))).toBe(2000) // all is taken, and it begins anew
  expect(
    writes.put(
      4,
      Array.from({ length: 1001 }, () => Uint8Array.of(1)),
    ),
  ).toBeUndefined()
  reads.close()
  writes.close()
})
