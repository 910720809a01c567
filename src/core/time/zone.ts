/**
 * Clocks of time zones: how far they are ahead of UTC, and when that changes, as the engine's own database has it (`Intl`).
 *
 * The engine tells the clock of an instant, in some microseconds, and nothing else; so the changes of 400 days are looked for
 * at once, when one of their instants is asked for, and kept. Clocks are asked every 3.1 days, since no two changes in the
 * database that undo each other are nearer than 3.9 days (Freetown, September 1939).
 *
 *     changes   [2024-03-31T01:00Z: +2 h, 2024-10-27T01:00Z: +1 h]    before the first: +1 h
 */

import { MOST_MS } from '../data/fixedValues.ts'
import { valueText } from '../data/valueKinds.ts'
import { PlanError } from '../errors.ts'
import { nearestNames } from '../nearestNames.ts'

/** A stretch of time with a constant offset from UTC, from its first millisecond to the first one of the next stretch. */
export interface Stretch {
  readonly from: number
  readonly to: number
  /** The offset from UTC in milliseconds, positive east of it. */
  readonly ahead: number
}

/** The milliseconds of a chunk, whose changes are found together, and those between two readings of the clock. */
const CHUNK_MS = 2 ** 35
const STEP_MS = 2 ** 28
/** The bound on every clock's distance from UTC, and on every change of it. */
export const FARTHEST_MS: number = 26 * 3_600_000
/** The first instant whose changes are looked for: before it clocks show local mean time; the database's first change is Manila's of 1844. */
const FIRST_MS = Date.UTC(1800, 0)

export class Zone {
  readonly name: string
  readonly #clock: (second: number) => number
  readonly #chunks = new Map<number, readonly Stretch[]>()
  #last: Stretch = { from: 0, to: 0, ahead: 0 }

  /** `clock` is what the zone's clocks show at an instant, a whole second, as milliseconds of a clock in UTC that shows the same. */
  constructor(name: string, clock: (second: number) => number) {
    this.name = name
    this.#clock = clock
  }

  /** The stretch that an instant lies in; it may begin, or end, without a change of clocks. */
  at(ms: number): Stretch {
    if (ms >= this.#last.from && ms < this.#last.to) return this.#last
    if (ms < FIRST_MS) return { from: Number.NEGATIVE_INFINITY, to: FIRST_MS, ahead: this.#ahead(FIRST_MS) }
    const number = Math.floor(ms / CHUNK_MS)
    let chunk = this.#chunks.get(number)
    if (chunk === undefined) this.#chunks.set(number, (chunk = this.#stretches(number * CHUNK_MS)))
    this.#last = chunk.find(({ to }) => ms < to) ?? (chunk.at(-1) as Stretch) // there is one at least
    return this.#last
  }

  /** The instant at which the clock shows a time: the first of two, and for a time that it jumps over, as long after the jump as the time is. */
  instantOf(shown: number): number {
    let before = 0
    for (let at = shown - FARTHEST_MS; ; ) {
      const { from, to, ahead } = this.at(at)
      const instant = shown - ahead
      if (instant < from) return shown - before
      if (instant < to) return instant
      before = ahead
      at = to
    }
  }

  #stretches(start: number): readonly Stretch[] {
    const found: Stretch[] = []
    let [from, ahead] = [start, this.#ahead(start)]
    for (let at = start; at < start + CHUNK_MS; at += STEP_MS) {
      const next = this.#ahead(at + STEP_MS)
      if (next === ahead) continue
      const to = this.#changeAfter(at, at + STEP_MS, next)
      if (to === start + CHUNK_MS) break // the next chunk begins with it
      found.push({ from, to, ahead })
      ;[from, ahead] = [to, next]
    }
    return [...found, { from, to: start + CHUNK_MS, ahead }]
  }

  /** The first instant, a whole second, from which on the clock is `ahead` of UTC: a binary search between `before` and `by`. */
  #changeAfter(before: number, by: number, ahead: number): number {
    let [low, high] = [Math.floor(before / 1000), Math.ceil(by / 1000)]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.#ahead(middle * 1000) === ahead) high = middle
      else low = middle
    }
    return high * 1000
  }

  #ahead(ms: number): number {
    const second = 1000 * Math.floor(Math.min(Math.max(ms, FIRST_MS), MOST_MS) / 1000)
    return this.#clock(second) - second
  }
}

/** The time zone of the thread, as its Dates show it. */
function localZone(): Zone {
  return new Zone('local time', (second) => {
    const date = new Date(second)
    return Date.UTC(date.getFullYear(), date.getMonth(), date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds())
  })
}

/** From 1970 to 2100, each `STEP_MS` between two readings of the clock has a slot: there is one change in it at most. */
const SLOTS = 15_300

/** Returns a function that gives what clocks show in local time at an instant, as milliseconds of a clock in UTC that shows the same. */
export function localClock(): (ms: number) => number {
  const zone = localZone()
  const changes = new Float64Array(SLOTS).fill(Number.NaN)
  const [before, after] = [new Int32Array(SLOTS), new Int32Array(SLOTS)]
  return (ms) => {
    const slot = Math.floor(ms / STEP_MS)
    if (!(slot >= 0 && slot < SLOTS)) return Number.isNaN(ms) ? ms : ms + zone.at(ms).ahead
    if (Number.isNaN(changes[slot])) {
      const first = zone.at(slot * STEP_MS)
      const last = zone.at((slot + 1) * STEP_MS - 1)
      changes[slot] = last.from
      before[slot] = first.ahead
      after[slot] = last.ahead
    }
    return ms + ((ms < (changes[slot] as number) ? before[slot] : after[slot]) as number) // slots are below SLOTS
  }
}

function clockOf(format: Intl.DateTimeFormat): (second: number) => number {
  return (second) => {
    const parts = { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0 }
    for (const { type, value } of format.formatToParts(second)) if (type in parts) parts[type as keyof typeof parts] = Number(value)
    return Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second)
  }
}

const zones = new Map<string, Zone>()

/** The zone of a name; undefined for UTC. Throws PlanError where there is none. `caller` is the function that was given the name, for messages. */
export function zoneNamed(name: unknown, caller: string): Zone | undefined {
  if (name === undefined || name === null || name === 'UTC') return undefined
  const known = zones.get(name as string)
  if (known !== undefined) return known
  if (typeof name !== 'string')
    throw new PlanError(`${caller} takes { zone } as the name of a time zone, as 'Europe/Berlin'; this is ${valueText(name)}.`)
  const zone = new Zone(name, clockOf(formatIn(name, caller)))
  zones.set(name, zone)
  return zone
}

function formatIn(name: string, caller: string): Intl.DateTimeFormat {
  try {
    const numbers = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' } as const
    return new Intl.DateTimeFormat('en-US', { timeZone: name, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23', ...numbers })
  } catch {
    const near = nearestNames(name, Intl.supportedValuesOf('timeZone'))
    const guess = near.length === 0 ? '' : ` Did you mean ${near.map((one) => `"${one}"`).join(' or ')}?`
    throw new PlanError(
      `${caller} is told the time zone ${valueText(name)}, which there is not.${guess} Zones have the names of the IANA database, as 'Europe/Berlin'.`,
    )
  }
}
