/**
 * The thread on which a process talks to the others of its gang: a loop that computes on the thread of its links would look like a
 * process that is dead.
 *
 *     rank r                                            rank 0
 *       hello ───────────────────────────────────────────> a number that was never used
 *       join: number, own number, proof, identity, port ─> compared with its own
 *       <─────────────────────────────────────────────── welcome: proof, or refused: why
 *       dials the feed of rank 0                           dials the feed of rank r
 *
 * When all have joined, rank 0 tells each of the others, and every two of them link in the same way (`introductions.ts`); so it does
 * with a process that comes later, in the place of one that was lost.
 */
import { randomBytes } from 'node:crypto'
import type { MessagePort } from 'node:worker_threads'
import type { ServerUnaryCall, ServerWritableStream, sendUnaryData } from '@grpc/grpc-js'
import { GangError } from '../../../core/errors.ts'
import { isError } from '../../../core/isError.ts'
import { decodeFrame, encodeCall, FrameFault, metaOf } from './frame.ts'
import { errorOf, isProof, mismatchOf, proofOf } from './identity.ts'
import { Introductions, type MembersHead, type Place } from './introductions.ts'
import { awaitOthers, join } from './joining.ts'
import { type FaultText, type FromLink, faultOf, type LinkData, type ToLink } from './linkData.ts'
import { Dialled, type Served, serve } from './linkServer.ts'
import { type InMessage, partPool } from './messages.ts'
import { Nearby } from './nearby.ts'
import { Peer } from './peer.ts'
import { publish } from './rendezvous.ts'
import { written } from './sendBuffers.ts'
import { ringFor } from './sharedRing.ts'

/** The most challenges that are open at a time; more than there are processes to come. */
const MOST_CHALLENGES = 10_000
/** The time that a process that exits waits until the others have heard of it, on a machine that may be busy. */
const RELEASE_MS = 4000
/** The delay before this thread fails, and ends, so that a refused process hears of it before. */
const ANSWER_MS = 200

export function runLink(data: LinkData, port: MessagePort): void {
  const link = new Link(data, port)
  port.on('message', (message: ToLink) => link.take(message))
  link.start().catch((error: unknown) => link.fail(error))
}

class Link {
  readonly #data: LinkData
  readonly #port: MessagePort
  readonly #peers = new Map<number, Peer>()
  readonly #challenges = new Set<string>()
  readonly #nearby = new Nearby()
  readonly #pool = partPool()
  /** On rank 0, the addresses of processes that have joined and were not introduced yet. */
  readonly #places = new Map<number, Place>()
  readonly #introductions = new Introductions({
    say: (to, type, value) => this.#say(to, type, value),
    met: (rank) => this.#met(rank),
  })
  /** On rank 0, the processes that have links to all. */
  readonly #there = new Set<number>()
  /** On other ranks, the processes to link to in the round under way. */
  #round: (MembersHead & { hasDialled: boolean }) | undefined
  #strangers = 0
  /** The error of the last call that did not reach rank 0. */
  #missed: unknown
  #isUp = false
  #isOver = false
  #server: Served | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(data: LinkData, port: MessagePort) {
    this.#data = data
    this.#port = port
  }

  async start(): Promise<void> {
    const { settings } = this.#data
    const { rendezvous, rank, host } = settings
    const isThere = (other: number): boolean => this.#peers.get(other)?.isUp === true
    const known = { isThere, strangers: () => this.#strangers, missed: () => this.#missed }
    this.#timer = awaitOthers(settings, known, (error) => this.fail(error))
    const isAsked = rank === 0 && rendezvous.kind === 'address'
    const [at, wanted] = isAsked ? [rendezvous.host, rendezvous.port] : [host, 0]
    const handlers = {
      feed: (stream: ServerWritableStream<Buffer, Buffer>) => this.#feed(stream),
      call: (call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) => answer(null, this.#answerTo(call.request)),
    }
    this.#server = await serve(settings, at, wanted, handlers).catch((error: unknown) => {
      const why = isError(error) ? error.message : String(error)
      throw new GangError(`Rank ${rank} cannot listen at ${at}${wanted === 0 ? '' : `:${wanted}`}: ${why}`, 'address', { rank })
    })
    const { port } = this.#server
    if (rank > 0) await this.#join(port)
    else if (rendezvous.kind === 'file') publish(rendezvous.path, `${host}:${port}`)
  }

  take(message: ToLink): void {
    if (message.kind === 'send') this.#send(message)
    else if (message.kind === 'read') this.#pool.giveBack(message.buffers)
    else if (message.kind === 'part') this.#peers.get(message.rank)?.end('it is out of the gang')
    else void this.#release(message.code)
  }

  #send({ to, message, cell }: ToLink & { readonly kind: 'send' }): void {
    const isWritten = (): void => {
      if (cell !== undefined) written(this.#data.sendCells, cell)
    }
    const peer = this.#peers.get(to)
    if (peer === undefined) isWritten()
    else peer.send(message, isWritten)
  }

  /** Reports that there will be no gang; does nothing once this process is linked. */
  fail(error: unknown): void {
    if (this.#isUp || this.#isOver) return
    this.#isOver = true
    clearInterval(this.#timer)
    this.#tellLast({ kind: 'failed', error: faultOf(error, this.#data.settings.rank) })
  }

  // ------------------------------------------------------------------ joining

  #answerTo(bytes: Buffer): Buffer {
    const { rank } = this.#data.settings
    try {
      const frame = decodeFrame(bytes)
      if (rank !== 0) throw new FrameFault('Only rank 0 answers calls.')
      if (frame.type === 'hello') return encodeCall('challenge', 0, frame.from, { number: this.#challenge() })
      if (frame.type === 'join') return this.#admit(frame.from, metaOf(frame))
      throw new FrameFault(`It is no call: ${frame.type}.`)
    } catch (error) {
      this.#strangers++
      return refusal(0, { message: `Rank 0 was sent a frame that is none. ${isError(error) ? error.message : ''}`, fault: 'frame' })
    }
  }

  #challenge(): string {
    if (this.#challenges.size >= MOST_CHALLENGES) this.#challenges.clear()
    const number = randomBytes(16).toString('hex')
    this.#challenges.add(number)
    return number
  }

  #admit(rank: number, meta: Readonly<Record<string, unknown>>): Buffer {
    const { settings, identity } = this.#data
    const { number, own, proof, host, port } = meta
    const areTexts = typeof number === 'string' && typeof own === 'string' && typeof host === 'string' && typeof port === 'number'
    if (!areTexts || !this.#challenges.delete(number) || !isProof(proof, settings.token, ['join', rank, number, own])) {
      this.#strangers++
      return refusal(rank, {
        message: `Rank ${rank} does not have the DA_TOKEN of rank 0. All processes of a gang have the same.`,
        fault: 'token',
        rank,
      })
    }
    const other = typeof meta.identity === 'object' && meta.identity !== null ? (meta.identity as Record<string, unknown>) : {} // of JSON
    const mismatch = mismatchOf(rank, identity, other) ?? this.#misplaced(rank)
    if (mismatch !== undefined) {
      // a process that knows the secret is one of ours, and will not come back as another
      if (mismatch.fault !== 'job') setTimeout(() => this.fail(errorOf(mismatch, rank)), ANSWER_MS)
      return refusal(rank, { ...mismatch, rank }, this.#isUp && mismatch.fault === 'rank')
    }
    if (this.#code !== undefined)
      return encodeCall('release', 0, rank, {
        code: this.#code,
        proof: proofOf(settings.token, ['release', rank, number, own, this.#code]),
      })
    const peer = this.#peer(rank, proofOf(settings.token, ['key', number, own]))
    this.#places.set(rank, { host, port })
    this.#nearby.watch(peer, meta)
    this.#dial(peer, new Dialled(settings, host, port))
    return encodeCall('welcome', 0, rank, { proof: proofOf(settings.token, ['welcome', rank, number, own]) })
  }

  #misplaced(rank: number): { readonly message: string; readonly fault: 'rank' } | undefined {
    if (rank < 1 || rank >= this.#data.settings.world)
      return { fault: 'rank', message: `There is no rank ${rank} in a gang of ${this.#data.settings.world}.` }
    if (this.#peers.get(rank)?.isOver !== false) return undefined
    return { fault: 'rank', message: `Two processes say that they are rank ${rank}. Each has a DA_RANK of its own.` }
  }

  async #join(port: number): Promise<void> {
    let peer: Peer | undefined
    const keyed = (key: string): void => void (peer = this.#peer(0, key))
    const missed = (error: unknown): void => void (this.#missed = error)
    const found = await join(this.#data, { port, keyed, missed, isOver: () => this.#isOver })
    if ('code' in found) this.#end(found.code)
    else if (peer !== undefined) this.#dial(peer, found)
  }

  // ------------------------------------------------------------------ links that stand

  #peer(rank: number, key: string, round = 0): Peer {
    const { rank: own, attempt, world, hasNoRings } = this.#data.settings
    const peer = new Peer(
      { rank, own, epoch: attempt, key, round, ring: hasNoRings ? undefined : ringFor(world), pool: this.#pool },
      { took: (message) => this.#took(peer, message), lost: (why, fault) => this.#lost(peer, why, fault) },
    )
    this.#peers.set(rank, peer)
    return peer
  }

  #dial(peer: Peer, other: Dialled): void {
    const { rank } = this.#data.settings
    const frame = encodeCall('feed', rank, peer.rank, { proof: proofOf(peer.key, ['feed', rank, peer.rank]) })
    const ended = (why: string): void => {
      peer.end(why)
      other.close()
    }
    other.feed(frame, { took: (bytes) => peer.take(bytes), ended })
  }

  #feed(stream: ServerWritableStream<Buffer, Buffer>): void {
    try {
      const frame = decodeFrame(stream.request)
      const peer = this.#peers.get(frame.from)
      const { rank } = this.#data.settings
      const isOurs = frame.type === 'feed' && peer !== undefined && isProof(metaOf(frame).proof, peer.key, ['feed', frame.from, rank])
      if (!isOurs || peer.hasStream) throw new FrameFault('It is nobody of the gang.')
      peer.open(stream)
      peer.sayReady()
      this.#stands(peer)
    } catch {
      this.#strangers++
      stream.end()
    }
  }

  #took(peer: Peer, message: InMessage): void {
    if (message.type === 'ready') {
      peer.heardReady(message.head)
      this.#stands(peer)
      return
    }
    if (this.#heard(peer.rank, message)) return
    if (message.type === 'release') {
      this.#end(Number(Buffer.from(message.head).toString()))
      return
    }
    this.#tell(
      { kind: 'message', from: peer.rank, message },
      [message.head, ...message.parts].map(({ buffer }) => buffer as ArrayBuffer),
    ) // arrays of their own
  }

  /** Goes on when an end of a link stands: introduces processes on rank 0 once all have joined. */
  #stands(peer: Peer): void {
    if (!peer.isUp || this.#isOver) return
    const { world, rank } = this.#data.settings
    if (rank > 0) {
      // it has found rank 0, which waits for the others, and knows who has not come
      if (peer.rank === 0) clearInterval(this.#timer)
      this.#lookWhetherLinked()
      return
    }
    if (!this.#isUp && [...this.#peers.values()].filter(({ isUp }) => isUp).length < world - 1) return
    this.#introductions.introduce(this.#places)
    this.#places.clear()
  }

  // ------------------------------------------------------------------ links between the others

  #met(rank: number): void {
    this.#there.add(rank)
    if (this.#isUp) {
      this.#tell({ kind: 'joined', rank })
      return
    }
    if (this.#there.size < this.#data.settings.world - 1) return
    this.#up()
  }

  #up(): void {
    this.#isUp = true
    clearInterval(this.#timer)
    this.#tell({ kind: 'up' })
  }

  /** Tells rank 0 when each link of the round stands or never will. */
  #lookWhetherLinked(): void {
    const round = this.#round
    if (round === undefined || !round.hasDialled || this.#peers.get(0)?.isUp !== true) return
    if (round.members.some(({ rank }) => this.#peers.get(rank)?.isUp !== true && this.#peers.get(rank)?.isOver !== true)) return
    this.#round = undefined
    this.#say(0, 'linked', round.round)
    if (!this.#isUp) this.#up()
  }

  /** Obeys a message by which links come about or end; false for any other message. */
  #heard(from: number, { type, head }: InMessage): boolean {
    const { rank } = this.#data.settings
    const value = (): unknown => JSON.parse(Buffer.from(head).toString()) // as #say writes it
    if (rank === 0) {
      if (type === 'known') this.#introductions.known(from, value() as number)
      else if (type === 'linked') this.#introductions.linked(from, value() as number)
      else if (type === 'parted') {
        const [other, round] = value() as [number, number]
        if (this.#introductions.isOfNow(other, round)) this.#peers.get(other)?.end(`rank ${from} cannot reach it`)
      } else return false
      return true
    }
    if (from !== 0) return false
    if (type === 'members') {
      this.#round = { ...(value() as MembersHead), hasDialled: false }
      for (const { rank: other, key } of this.#round.members) this.#peer(other, key, this.#round.round)
      this.#say(0, 'known', this.#round.round)
    } else if (type === 'dial') this.#dialAll(value() as number)
    else if (type === 'parted') {
      const [other] = value() as [number, number]
      this.#peers.get(other)?.end('it is out of the gang')
    } else return false
    return true
  }

  #dialAll(number: number): void {
    const round = this.#round
    if (round?.round !== number) return
    for (const { rank, host, port } of round.members) {
      const peer = this.#peers.get(rank) as Peer // made when it was told of
      if (!peer.isOver) this.#dial(peer, new Dialled(this.#data.settings, host, port))
    }
    round.hasDialled = true
    this.#lookWhetherLinked()
  }

  #say(to: number, type: 'members' | 'known' | 'dial' | 'linked' | 'parted', value: unknown): void {
    this.#peers.get(to)?.send({ type, head: Buffer.from(JSON.stringify(value)), parts: [] })
  }

  #lost(peer: Peer, why: string, fault: 'lost' | 'frame'): void {
    const { rank, round } = peer
    this.#leaving?.delete(rank)
    if (this.#leaving?.size === 0) void this.#released()
    if (this.#isOver) return
    if (rank > 0 && this.#data.settings.rank > 0) {
      this.#say(0, 'parted', [rank, round]) // it may have ended with the program; rank 0 knows
      this.#lookWhetherLinked()
      return
    }
    const what =
      fault === 'frame' ? `Rank ${rank} sent a frame that is none, and is out of the gang: ${why}` : `Rank ${rank} was lost: ${why}.`
    // one that is lost before all have joined may be started again, and has until then
    if (!this.#isUp && (rank === 0 || fault === 'frame')) {
      this.fail(new GangError(what, fault, { rank }))
      return
    }
    this.#places.delete(rank)
    const wasThere = rank === 0 || this.#there.delete(rank)
    for (const other of this.#peers.keys()) if (other !== rank) this.#say(other, 'parted', [rank, round]) // they may not have noticed yet
    this.#introductions.lost(rank)
    if (!wasThere || !this.#isUp) return
    const message: FromLink = { kind: 'lost', error: { message: what, fault, rank } }
    if (rank === 0) this.#tellLast(message)
    else this.#tell(message)
  }

  // ------------------------------------------------------------------ the end

  #leaving: Set<number> | undefined
  /** On rank 0, the status of the program that has ended. */
  #code: number | undefined

  /** Hears that the program has ended. */
  #end(code: number): void {
    this.#isOver = true
    this.#tellLast({ kind: 'released', code })
  }

  async #release(code: number): Promise<void> {
    this.#isOver = true
    this.#code = code
    // one that has just been let in may not have dialled yet: it hears of the end when it does
    const peers = [...this.#peers.values()].filter(({ isOver }) => !isOver)
    this.#leaving = new Set(peers.map(({ rank }) => rank))
    for (const peer of peers) peer.send({ type: 'release', head: Buffer.from(String(code)), parts: [] })
    setTimeout(() => void this.#released(), RELEASE_MS)
    await Promise.all(peers.map((peer) => peer.close()))
    if (this.#leaving.size === 0) await this.#released()
  }

  async #released(): Promise<void> {
    await this.#server?.close()
    Atomics.store(this.#data.released, 0, 1)
    Atomics.notify(this.#data.released, 0)
  }

  /** Says the last thing before the process ends, when nothing can come any more: see `Served`. */
  #tellLast(message: FromLink): void {
    void (this.#server?.close() ?? Promise.resolve()).then(() => this.#tell(message))
  }

  #tell(message: FromLink, transfer: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transfer)
  }
}

/** Encodes a refusal; `later` says that asking again may help. */
function refusal(rank: number, fault: FaultText, later = false): Buffer {
  return encodeCall('refused', 0, rank, { ...fault, later })
}
