/** Processes that have come in the place of those that were lost, until they are taken in: once they are ready, or nothing prepares them. */

export interface ComingEvents<Other> {
  /** Whether no pass is under way that may be followed by one that prepares a process. */
  isIdle(): boolean
  takeIn(other: Other): void
}

export class Coming<Other> {
  readonly #events: ComingEvents<Other>
  readonly #waitMs: number
  /** With the number of works that prepare each. */
  readonly #works = new Map<Other, number>()

  /** `waitMs` is the time after which a process is taken in if no pass is under way; with 0 it is at once. */
  constructor(events: ComingEvents<Other>, waitMs: number) {
    this.#events = events
    this.#waitMs = waitMs
  }

  get all(): readonly Other[] {
    return [...this.#works.keys()]
  }

  add(other: Other): void {
    this.#works.set(other, 0)
    if (this.#waitMs === 0) this.#takeIn(other)
    else this.#takeInIfIdle(other)
  }

  /** Forgets a process that was lost on the way; false if it is none of these. */
  delete(other: Other): boolean {
    return this.#works.delete(other)
  }

  /** Prepares a process; with the last of such works it is ready. What fails of one fails again in the process's first pass. */
  prepare(other: Other, work: () => Promise<void>): void {
    const count = (by: number): number => (this.#works.get(other) ?? 0) + by
    this.#works.set(other, count(1))
    const done = (): void => {
      if (!this.#works.has(other)) return
      this.#works.set(other, count(-1))
      if (count(0) === 0) this.#takeIn(other)
    }
    work().then(done, done)
  }

  #takeIn(other: Other): void {
    if (this.#works.delete(other)) this.#events.takeIn(other)
  }

  #takeInIfIdle(other: Other): void {
    const look = (): void => {
      if (!this.#works.has(other)) return
      if (this.#events.isIdle() && this.#works.get(other) === 0) this.#takeIn(other)
      else this.#takeInIfIdle(other)
    }
    setTimeout(look, this.#waitMs).unref()
  }
}
