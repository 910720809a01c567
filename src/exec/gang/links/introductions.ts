/**
 * The protocol by which processes of a gang come to know each other: rank 0 introduces those that have joined, at first all at once, later
 * each that comes in the place of one that was lost. In a round every two of which one is new link, with a key that rank 0 made for them.
 *
 *     rank 0                                           a process
 *       members: round, rank, host, port and key of each ─>
 *       <─────────────────────────────────────────── known: round
 *       dial: round, once all know ──────────────────────>
 *       <─────────────────────────────────────────── linked: round, once its links of this round stand
 */
import { randomBytes } from 'node:crypto'

export interface Place {
  readonly host: string
  readonly port: number
}

/** A process of the gang that rank 0 introduces to another. */
export interface Member extends Place {
  readonly rank: number
  /** The secret key of the link between the two. */
  readonly key: string
}

export interface MembersHead {
  readonly round: number
  readonly members: readonly Member[]
}

export interface IntroductionEvents {
  say(to: number, type: 'members' | 'dial', value: unknown): void
  /** Called when a new process has links to all that are there. */
  met(rank: number): void
}

interface Round {
  readonly number: number
  readonly fresh: Set<number>
  /** Ranks that have not sent `known` yet; `unlinked` are those that have not sent `linked`. */
  readonly unknowing: Set<number>
  readonly unlinked: Set<number>
  hasDialled: boolean
}

export class Introductions {
  readonly #events: IntroductionEvents
  /** The processes that have met or are about to, each with the round in which it came. */
  readonly #there = new Map<number, Place & { readonly round: number }>()
  readonly #waiting = new Map<number, Place>()
  #round: Round | undefined
  #last = 0

  constructor(events: IntroductionEvents) {
    this.#events = events
  }

  /** Introduces new processes that have a link to rank 0, in this round or the next. */
  introduce(newcomers: ReadonlyMap<number, Place>): void {
    for (const [rank, place] of newcomers) this.#waiting.set(rank, place)
    this.#next()
  }

  known(rank: number, round: number): void {
    if (this.#round?.number !== round || !this.#round.unknowing.delete(rank)) return
    this.#go(this.#round)
  }

  linked(rank: number, round: number): void {
    if (this.#round?.number !== round) return
    this.#round.unlinked.delete(rank)
    this.#go(this.#round)
  }

  /** Forgets a process that is out of the gang; a round under way goes on without it. */
  lost(rank: number): void {
    this.#there.delete(rank)
    this.#waiting.delete(rank)
    const round = this.#round
    if (round === undefined) return
    round.unknowing.delete(rank)
    round.unlinked.delete(rank)
    round.fresh.delete(rank)
    this.#go(round)
  }

  /** Whether a report about a link to rank `rank`, made in `round`, concerns the process that has this rank now. */
  isOfNow(rank: number, round: number): boolean {
    return round >= (this.#there.get(rank)?.round ?? Number.POSITIVE_INFINITY)
  }

  #next(): void {
    if (this.#round !== undefined || this.#waiting.size === 0) return
    const fresh = new Map(this.#waiting)
    this.#waiting.clear()
    const number = ++this.#last
    const before = [...this.#there]
    for (const [rank, place] of fresh) this.#there.set(rank, { ...place, round: number })
    const all = [...this.#there.keys()]
    this.#round = { number, fresh: new Set(fresh.keys()), unknowing: new Set(all), unlinked: new Set(all), hasDialled: false }
    const keys = new Map<string, string>()
    const keyOf = (a: number, b: number): string => {
      const pair = `${Math.min(a, b)} ${Math.max(a, b)}`
      const key = keys.get(pair) ?? randomBytes(32).toString('hex')
      keys.set(pair, key)
      return key
    }
    for (const rank of all) {
      const met = [...fresh, ...(fresh.has(rank) ? before : [])].filter(([other]) => other !== rank)
      const members = met.map(([other, { host, port }]): Member => ({ rank: other, host, port, key: keyOf(rank, other) }))
      this.#events.say(rank, 'members', { round: number, members })
    }
  }

  /** Takes the next step of a round, if all have made the one before. */
  #go(round: Round): void {
    if (round.unknowing.size > 0) return
    if (!round.hasDialled) for (const rank of round.unlinked) this.#events.say(rank, 'dial', round.number)
    round.hasDialled = true
    if (round.unlinked.size > 0) return
    this.#round = undefined
    for (const rank of round.fresh) this.#events.met(rank)
    this.#next()
  }
}
