/**
 * Whatever comes over a link, nothing crashes or hangs: a stream of frames is what was sent, up to the first that is not in order, which ends
 * the link; a process that says what makes no sense is out of the gang, or its pass an error; and who calls without the token is refused.
 */

import { EventEmitter } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerWritableStream } from '@grpc/grpc-js'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { GangError } from '../src/core/errors.ts'
import { decodeFrame, encodeCall, encodeFrame, FRAME_TYPES, MOST_BODY_BYTES } from '../src/exec/gang/links/frame.ts'
import { Dialled } from '../src/exec/gang/links/linkServer.ts'
import { Links } from '../src/exec/gang/links/links.ts'
import { framesOf, type InMessage, type OutMessage } from '../src/exec/gang/links/messages.ts'
import { Peer } from '../src/exec/gang/links/peer.ts'
import type { GangSettings } from '../src/exec/gang/links/settings.ts'
import { threadProgram } from '../src/exec/workers/threadProgram.ts'
import { pseudoRandom, scheduledLoop } from './arbitraries/scheduledLoop.ts'
import { announcedRun } from './lawRuns.ts'
import { type Machine, runSteps, startMachine } from './loopRuns.ts'
import { memoryGang, stopPlaces } from './memoryGang.ts'
import { expectSame } from './plainOutcome.ts'

const RUN = announcedRun('hostileStreams.prop.ts')
vi.setConfig({ testTimeout: 1_000 * RUN.numRuns + 60_000 })

let alone: Machine
beforeAll(() => {
  alone = startMachine([1])
})
afterAll(async () => {
  await alone.stop()
  await stopPlaces()
})

const ADDRESS = { epoch: 0, from: 1, to: 0 }
const bytes = fc.uint8Array({ maxLength: 60 })
const message: fc.Arbitrary<OutMessage> = fc.record({
  type: fc.constantFrom(...FRAME_TYPES),
  head: bytes,
  parts: fc.array(bytes, { maxLength: 5 }),
})
type Change = 'flip' | 'cut' | 'drop' | 'double' | 'swap' | 'noise' | 'length' | 'meta' | 'number' | 'type' | 'flags' | 'from' | 'epoch'
const changes = fc.array(
  fc.record({
    how: fc.constantFrom<Change[]>(
      ...(['flip', 'cut', 'drop', 'double', 'swap', 'noise', 'length', 'meta', 'number', 'type', 'flags', 'from', 'epoch'] as const),
    ),
    at: fc.nat(),
    by: fc.nat(),
  }),
  { maxLength: 3 },
)

/** Some have a checksum that fits: who knows the format can make one. */
function changed(frames: Buffer[], { how, at, by }: { readonly how: Change; readonly at: number; readonly by: number }): void {
  const place = at % Math.max(1, frames.length)
  const one = frames[place]
  if (one === undefined) return
  const remade = (other: object): void => {
    try {
      frames[place] = encodeFrame({ ...decodeFrame(one), ...other })
    } catch {
      // it is none any more
    }
  }
  if (how === 'flip' && one.length > 0) one[by % one.length]! ^= 1 << (by & 7)
  if (how === 'cut') frames[place] = one.subarray(0, by % (one.length + 1))
  if (how === 'drop') frames.splice(place, 1)
  if (how === 'double') frames.splice(place, 0, Buffer.from(one))
  if (how === 'swap') [frames[place], frames[by % frames.length]] = [frames[by % frames.length] as Buffer, one]
  if (how === 'noise') frames[place] = Buffer.from(Array.from({ length: by % 90 }, (_, i) => (by * (i + 7)) & 255))
  if (how === 'length' && one.length >= 40) one.writeUInt32LE(by >>> 0, by % 2 === 0 ? 28 : 32)
  const lengths = [[2 ** 41, 2 ** 41], [-1], [0.5], 'none', null, new Array(5000).fill(0), [MOST_BODY_BYTES * 4]][by % 7]
  if (how === 'meta') remade({ meta: Buffer.from(by % 3 === 0 ? '{"lengths":' : JSON.stringify({ lengths })) })
  if (how === 'number') remade({ number: by })
  if (how === 'type') remade({ type: FRAME_TYPES[by % FRAME_TYPES.length] })
  if (how === 'flags') remade({ flags: by & 65_535 })
  if (how === 'from') remade({ from: by })
  if (how === 'epoch') remade({ epoch: by })
}

function isNone(frame: Buffer): boolean {
  try {
    decodeFrame(frame)
    return false
  } catch {
    return true
  }
}

const plain = ({ type, head, parts }: OutMessage) => JSON.stringify([type, [...head], parts.map((part) => [...part])])

test('a stream that was changed anywhere ends its link, once; what came before is as it was sent', () => {
  let [ended, whole] = [0, 0]
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 6 }), changes, (messages, list) => {
      const frames: Buffer[] = []
      for (const one of messages) for (const next of framesOf(one, ADDRESS, frames.length)) frames.push(next)
      const sent = frames.map((one) => Buffer.from(one))
      for (const change of list) changed(frames, change)
      const [took, faults]: [InMessage[], string[]] = [[], []]
      const peer = new Peer(
        { rank: 1, own: 0, epoch: 0, key: '', round: 0 },
        { took: (one) => took.push(one), lost: (_, fault) => faults.push(`${fault} ${took.length}`) },
      )
      peer.open(
        Object.assign(new EventEmitter(), { write: () => true, end: () => undefined }) as unknown as ServerWritableStream<Buffer, Buffer>,
      ) // as far as a peer needs it
      for (const frame of frames) peer.take(frame)
      const same = frames.findIndex((frame, i) => !sent[i]?.equals(frame))
      const ownMessages = took.slice(0, messages.length).map(plain)
      if (same < 0) {
        // nothing was changed, or what came last is missing
        expect(faults).toEqual([])
        expect(ownMessages).toEqual(messages.slice(0, took.length).map(plain))
        whole++
        return
      }
      expect(faults.length).toBeLessThanOrEqual(1)
      if (frames.some(isNone)) expect(faults).toEqual([`frame ${took.length}`]) // and nothing was taken after it
      if (faults.length > 0) ended++
      // messages before the first frame that was changed
      const before = took.slice(0, Math.min(took.length, same))
      expect(before.map(plain)).toEqual(messages.slice(0, before.length).map(plain))
      expect(before.length).toBe(Math.min(same, messages.length)) // a frame each
    }),
    { ...RUN, numRuns: 10 * RUN.numRuns },
  )
  expect(Math.min(ended, whole), `${ended} ended, ${whole} whole`).toBeGreaterThan(RUN.numRuns / 10)
})

/** Nothing takes so long but processes that wait for each other. */
const LONGEST_MS = process.env.LAW_FAULT === undefined ? 20_000 : 5_000

test('a process that says what makes no sense is out of the gang, or its pass an error; nobody waits for ever', async () => {
  let garbled = 0
  await fc.assert(
    fc.asyncProperty(
      scheduledLoop(),
      fc.integer({ min: 2, max: 6 }),
      fc.constantFrom(2, 3),
      fc.nat(),
      fc.array(fc.nat(30), { minLength: 1, maxLength: 3 }),
      async (loop, partitions, world, seed, moments) => {
        const random = pseudoRandom(seed)
        let [said, isHidden] = [0, false]
        const garble = (one: InMessage): InMessage => {
          if (!moments.includes(said++)) return one
          garbled++
          const noise = (length: number) => Uint8Array.from({ length }, () => random() * 256)
          const how = Math.floor(random() * 4)
          isHidden ||= how > 1 // elements that are missing may be taken for ones that did not change
          if (how === 0) return { ...one, head: noise(random() * 40) }
          if (how === 1) return { ...one, head: one.head.subarray(0, one.head.length * random()) }
          if (how === 2) return { ...one, parts: one.parts.map((part) => part.slice(0, part.length * random())) }
          return { ...one, parts: [...one.parts.slice(1), noise(9)] }
        }
        const { gang, stop } = memoryGang(world, [], seed, { garble })
        const options = { partitions, steps: ['pass' as const, 'pass' as const] }
        let timer: NodeJS.Timeout | undefined
        const late = new Promise<never>((_, reject) => {
          timer = setTimeout(() => reject(new Error('Processes wait for each other.')), LONGEST_MS)
        })
        try {
          const several = await Promise.race([runSteps({ ...alone, gang }, 1, loop, options), late])
          if (!isHidden) expectSame(await runSteps(alone, 1, loop, options), several, loop, `One process and ${world}`)
        } catch (error) {
          if (!(error instanceof GangError)) throw error
        } finally {
          clearTimeout(timer)
          await stop()
        }
      },
    ),
    RUN,
  )
  expect(garbled).toBeGreaterThan(RUN.numRuns / 8)
})

const callers = fc.record({
  type: fc.constantFrom('hello' as const, 'join' as const, 'feed' as const, ...FRAME_TYPES),
  from: fc.nat(5),
  meta: fc.oneof(
    fc.dictionary(fc.constantFrom('number', 'own', 'proof', 'host', 'port', 'identity'), fc.jsonValue(), { maxKeys: 6 }),
    fc.constant({}),
  ),
  list: changes,
  isFeed: fc.boolean(),
})

test('strangers are refused, whatever they call with, and the gang that they called comes about', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'distarray-hostile-'))
  const path = join(folder, 'rank0')
  const settings = (rank: number): GangSettings => ({
    ...{ world: 2, rank, job: 'hostile', attempt: 0, rendezvous: { kind: 'file', path }, token: 'the secret of a law' },
    ...{ host: '127.0.0.1', joinMs: 1_000 * RUN.numRuns + 60_000, patienceMs: 10_000 },
  })
  const messages: InMessage[] = []
  const events = { took: () => undefined, lost: () => undefined, released: () => undefined }
  const first = Links.start(settings(0), threadProgram(), events)
  let [where, port]: [string, string | undefined] = ['', undefined]
  while (port === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    try {
      ;[where = '', port] = readFileSync(path, 'utf8').split(':')
    } catch {
      // not there yet
    }
  }
  const stranger = new Dialled(settings(1), where, Number(port))
  await fc.assert(
    fc.asyncProperty(callers, async ({ type, from, meta, list, isFeed }) => {
      const frames = [encodeCall(type, from, 0, meta)]
      for (const change of list) changed(frames, change)
      const [frame = Buffer.alloc(0)] = frames
      if (isFeed) {
        const took: Buffer[] = []
        await new Promise<void>((resolve) => stranger.feed(frame, { took: (one) => took.push(one), ended: () => resolve() }))
        expect(took).toEqual([])
        return
      }
      const answer = decodeFrame(await stranger.call(frame, 5_000))
      expect(['challenge', 'refused']).toContain(answer.type)
    }),
    RUN,
  )
  stranger.close()
  const second = await Links.start(settings(1), threadProgram(), {
    ...events,
    took: (_: number, one: InMessage) => void messages.push(one),
  })
  const links = await first
  links.hold()
  links.send(1, { type: 'run', head: Uint8Array.of(7), parts: [] })
  for (const end = Date.now() + 10_000; messages.length === 0 && Date.now() < end; ) await new Promise((resolve) => setTimeout(resolve, 5))
  expect(messages.map(({ type, head }) => [type, ...head])).toEqual([['run', 7]])
  links.letGo()
  await Promise.all([links.release(0), second.release(0)])
  rmSync(folder, { recursive: true, force: true })
})
