/**
 * Memory of long parts of messages, used again for others. Memory that is new for each message is cleared by the system page by page. What
 * comes counts among V8's garbage besides, of which some megabytes a pass have all objects of a small program marked in each pass; what is
 * sent does not count, and lies there until some other garbage is collected.
 */

/** The least part whose memory is used again: a smaller one costs less than the message that would give it back. */
export const LEAST_POOLED_BYTES: number = 2 ** 15
/** New buffers have a multiple of this part of the power of two below their length, so that they fit others of about that length. */
const STEPS = 8
/** Memory that nobody asks for in one whole turn of this length is let go, whatever else is asked for meanwhile. */
const TURN_MS = 5_000

export class BufferPool<B extends ArrayBufferLike> {
  readonly #make: (length: number) => B
  /** What was given back in this turn, and before it. */
  #recent: B[] = []
  #older: B[] = []
  #turn: NodeJS.Timeout | undefined

  constructor(make: (length: number) => B) {
    this.#make = make
  }

  /** A buffer of at least `length` bytes, which hold anything. Throws RangeError where there is no memory for it. */
  take(length: number): B {
    if (length < LEAST_POOLED_BYTES) return this.#make(length)
    let found: B | undefined
    for (const one of [...this.#recent, ...this.#older]) {
      const fits = one.byteLength >= length && one.byteLength <= 2 * length
      if (fits && (found === undefined || one.byteLength < found.byteLength)) found = one
    }
    if (found === undefined) return this.#make(roundedUp(length))
    const free = this.#recent.includes(found) ? this.#recent : this.#older
    free.splice(free.indexOf(found), 1)
    return found
  }

  /** Takes buffers whose bytes nobody reads any more. */
  giveBack(buffers: readonly B[]): void {
    this.#recent.push(...buffers)
    this.#turn ??= setInterval(() => this.#letGo(), TURN_MS).unref()
  }

  #letGo(): void {
    this.#older = this.#recent
    this.#recent = []
    if (this.#older.length > 0) return
    clearInterval(this.#turn)
    this.#turn = undefined
  }
}

function roundedUp(length: number): number {
  const step = 2 ** Math.floor(Math.log2(length)) / STEPS
  return Math.ceil(length / step) * step
}
