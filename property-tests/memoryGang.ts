/**
 * A gang whose processes are objects of this one and whose links are queues: messages arrive whenever a seed says so, and processes are
 * killed, frozen, slow or started again at moments that it says. What is sent is read when it arrives, as from a link that is behind.
 */
import fc from 'fast-check'
import { GangError } from '../src/core/errors.ts'
import { fromBytes } from '../src/exec/gang/definition.ts'
import { Gang } from '../src/exec/gang/gang.ts'
import type { InMessage, OutMessage } from '../src/exec/gang/links/messages.ts'
import { Members } from '../src/exec/gang/members.ts'
import type { EdgeHead } from '../src/exec/gang/movement/edges.ts'
import { STRETCHES } from '../src/exec/gang/movement/served/loads.ts'
import { GangNode, type NodeResources } from '../src/exec/gang/node.ts'
import type { SharedArena } from '../src/exec/memory/sharedArena.ts'
import { createPool } from '../src/exec/workers/pool.ts'
import type { WorkerPool } from '../src/exec/workers/worker.ts'
import { pseudoRandom } from './arbitraries/scheduledLoop.ts'
import { lawArena } from './lawArena.ts'

/** What happens to a process once so many messages have arrived, or nothing else is left to happen. */
export interface Mishap {
  readonly at: number
  readonly rank: number
  readonly how: 'killed' | 'frozen' | 'slow'
  /** Messages until others notice, or until it goes on. */
  readonly lasts: number
  /** Messages after that until it is started again; undefined: never. */
  readonly back?: number | undefined
}

export function mishaps(world: number, most = 60): fc.Arbitrary<readonly Mishap[]> {
  return fc.array(
    fc.record({
      at: fc.nat(most),
      rank: fc.integer({ min: 1, max: Math.max(1, world - 1) }),
      how: fc.constantFrom<Mishap['how'][]>('killed', 'killed', 'frozen', 'slow'),
      lasts: fc.nat(6),
      back: fc.option(fc.nat(12), { nil: undefined }),
    }),
    { minLength: 1, maxLength: 3 },
  )
}

/** Arenas and workers of processes, used over and over. */
interface Place {
  readonly arena: SharedArena
  readonly pool: WorkerPool
}
const places: Place[] = []
const BUDGET = 2 ** 26

function takePlace(budget: number): Place {
  const known = budget === BUDGET ? places.pop() : undefined
  if (known !== undefined) return known
  const arena = lawArena(budget)
  return { arena, pool: createPool({ workers: 1, arena }) }
}

interface Process {
  readonly rank: number
  readonly node: GangNode
  readonly place: Place
  isHeld: boolean
  /** Nothing of it arrives any more, and nothing at it. */
  isOut: boolean
}

interface Letter {
  readonly from: Process | undefined
  readonly to: Process | undefined
  readonly message: OutMessage
}

export interface MemoryGang {
  readonly gang: Gang
  /** How many processes were lost. */
  readonly losses: () => number
  /** Bytes of elements that were sent so far: by what is planned, and of what was found to have changed. */
  readonly sent: () => { readonly planned: number; readonly changed: number }
  /** Messages with what blocks read of an array, and elements in them; those that come while blocks run, and not for the first of them. */
  readonly served: () => { readonly messages: number; readonly bytes: number; readonly later: number }
  /** Messages by which a process makes elements by itself. */
  readonly made: () => number
  /** Messages by which processes flush arrays among them. */
  readonly shares: () => number
  /** What there is yet to arrive or to happen, as text: for a case that stands still. */
  readonly state: () => string
  stop(): Promise<void>
}

interface MemoryGangOptions {
  /** May make something else of what a process other than rank 0 says. */
  readonly garble?: (message: InMessage) => InMessage
  /** Bytes of memory of each process but rank 0. */
  readonly budget?: number
  /** How a process computes arrays from files; none does unless given. */
  readonly compute?: (rank: number, place: Place) => NonNullable<NodeResources['compute']>
}

/** Whoever reads parts that were given back finds other bytes. */
function spoil(parts: readonly Uint8Array[]): void {
  for (const part of parts) part.fill(0xa5)
}

export function memoryGang(
  world: number,
  list: readonly Mishap[],
  seed: number,
  { garble = (message) => message, budget = BUDGET, compute }: MemoryGangOptions = {},
): MemoryGang {
  const random = pseudoRandom(seed)
  /** By who sends and who receives, in the order of sending. */
  const queues = new Map<string, Letter[]>()
  const processes = new Map<number, Process>()
  const ended: Promise<void>[] = []
  let events: { at: number; readonly run: () => void }[] = []
  let [arrived, losses, isOver, isPumping] = [0, 0, false, false]
  let [planned, changed, made, shares] = [0, 0, 0, 0]
  const served = { messages: 0, bytes: 0, later: 0 }

  const send = (from: Process | undefined, to: Process | undefined, message: OutMessage): void => {
    if (isOver || to?.isOut === true || from?.isOut === true) return
    const lengths = message.parts.map(({ byteLength }) => byteLength)
    const last = message.type === 'done' ? lengths.pop() : undefined // what goes back in boxes
    const rest = lengths.reduce((sum, length) => sum + length, 0)
    const isFlush = message.type === 'flushed' || message.type === 'share'
    planned += isFlush ? 0 : (last ?? rest)
    if (message.type === 'share') shares++
    if (message.type === 'rows') {
      served.messages++
      served.bytes += rest
    }
    if (message.type === 'edge') for (const [block] of (fromBytes(message.head) as EdgeHead).blocks) countLoad(block, rest)
    if (last !== undefined || isFlush) changed += rest
    if (message.type === 'make') made++
    const key = `${from?.rank ?? 0} ${to?.rank ?? 0}`
    queues.set(key, [...(queues.get(key) ?? []), { from, to, message }])
    pump()
  }
  const countLoad = (block: number, bytes: number): void => {
    if (block >= 0) return
    served.messages++
    served.bytes += bytes
    if ((-1 - block) % STRETCHES > 0) served.later++
  }
  const later = (messages: number, run: () => void): void => {
    events.push({ at: arrived + messages, run })
    pump()
  }
  const members = new Members(
    world,
    {
      send: (to, message) => {
        const receiver = processes.get(to)
        if (receiver !== undefined) send(undefined, receiver, message)
      },
      giveBack: spoil,
      part: () => undefined,
      hold: () => undefined,
      letGo: () => undefined,
      releaseNow: () => undefined,
      release: async () => undefined,
    },
    { leastLoadBytes: seed % 2 === 0 ? 0 : 2 ** 18, waitMs: seed % 3 },
  )
  const gang = new Gang(members)
  const start = (rank: number): void => {
    const place = takePlace(budget)
    const own: { process?: Process } = {}
    const node = new GangNode(
      {
        send: (to, message) => (to === 0 || processes.has(to) ? send(own.process, processes.get(to), message) : undefined),
        giveBack: spoil,
      },
      { ...place, worthThreadsMs: 0, ...(compute && { compute: compute(rank, place) }) },
    )
    own.process = { rank, node, place, isHeld: false, isOut: false }
    processes.set(rank, own.process)
  }
  const end = (process: Process): void => {
    process.isOut = true
    ended.push(process.node.end().then(() => (budget === BUDGET ? void places.push(process.place) : process.place.pool.stop())))
  }
  /** Rank 0 hears no more of it; what it sent to others may still arrive. */
  const notice = ({ rank, back }: Mishap): void => {
    processes.delete(rank)
    queues.delete(`${rank} 0`)
    queues.delete(`0 ${rank}`)
    losses++
    members.lose(new GangError(`Rank ${rank} was lost.`, 'lost', { rank }))
    if (back === undefined) return
    later(back, () => {
      start(rank)
      members.join(rank)
    })
  }
  const befall = (mishap: Mishap): void => {
    const { rank, how, lasts } = mishap
    const process = processes.get(rank)
    if (process === undefined || process.isHeld || process.isOut) return
    process.isHeld = true
    if (how === 'slow') {
      later(lasts, () => (process.isHeld = false))
      return
    }
    if (how === 'killed') {
      for (const [key, letters] of queues) if (key.startsWith(`${rank} `)) letters.splice(Math.floor(random() * (letters.length + 1)))
      process.isHeld = false
      end(process)
    }
    later(lasts, () => {
      notice(mishap)
      if (how === 'killed') return
      process.isHeld = false // it runs on, and what it sends arrives at some
      later(lasts, () => end(process))
    })
  }
  const step = (): void => {
    const due = events.filter(({ at }) => at <= arrived)
    events = events.filter(({ at }) => at > arrived)
    for (const { run } of due) run()
    const ready = [...queues].filter(([, [first]]) => first !== undefined && first.from?.isHeld !== true && first.to?.isHeld !== true)
    const [, letters] = ready[Math.floor(random() * ready.length)] ?? []
    const letter = letters?.shift()
    if (letter !== undefined) {
      arrived++
      deliver(letter)
    } else if (events.length > 0 && due.length === 0) {
      const soonest = Math.min(...events.map(({ at }) => at))
      for (const event of events) event.at -= soonest - arrived
    }
  }
  const deliver = ({ from, to, message: { type, head, parts } }: Letter): void => {
    if (to?.isOut === true) return
    const message: InMessage = { type, head: head.slice(), parts: parts.map((part) => Uint8Array.from(part)) }
    const said = from === undefined ? message : garble(message)
    if (to === undefined) members.take(from?.rank ?? 0, said)
    else to.node.take(said)
  }
  /** A message at a time, while there are some or something is to happen. */
  const pump = (): void => {
    if (isPumping || isOver) return
    isPumping = true
    setImmediate(() => {
      isPumping = false
      if (isOver) return
      step()
      if (events.length > 0 || [...queues.values()].some(({ length }) => length > 0)) pump()
    })
  }
  for (let rank = 1; rank < world; rank++) start(rank)
  for (const mishap of list) if (world > 1) later(mishap.at, () => befall(mishap))
  return {
    gang,
    losses: () => losses,
    sent: () => ({ planned, changed }),
    served: () => ({ ...served }),
    made: () => made,
    shares: () => shares,
    state: () => {
      const letters = [...queues]
        .filter(([, { length }]) => length > 0)
        .map(([key, all]) => `${key}: ${all.map(({ message }) => message.type)}`)
      const all = [...processes.values()].map(({ rank, isHeld, isOut }) => `${rank}${isHeld ? ' held' : ''}${isOut ? ' out' : ''}`)
      return `${arrived} messages arrived; letters ${letters.join(', ') || 'none'}; ${events.length} events; processes ${all.join(', ')}; ${isPumping ? 'goes on' : 'waits for a message'}`
    },
    stop: async () => {
      isOver = true
      for (const process of processes.values()) end(process)
      await Promise.all(ended)
    },
  }
}

export async function stopPlaces(): Promise<void> {
  for (const { pool } of places.splice(0)) await pool.stop()
}
