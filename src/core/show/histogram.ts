/**
 * A histogram in one pass over numbers whose range is not known before:
 *
 *     3.5, 12, 4.25     width 1     from 3     1 1 0 0 0 0 0 0 0 1
 *     and then 900      width 128   from 0     3 0 0 0 0 0 0 1
 *
 * The width of a bin is a power of two, and bins begin at its multiples. So where the range grows, two neighbours are one bin of twice the
 * width, and counts are exact whatever the order of the numbers: the width follows from the smallest and the largest alone.
 */

export interface Histogram {
  /** The lower bound of the first bin; of dates in milliseconds since 1970. */
  readonly from: number
  /** The width of a bin: bin i has the numbers from `from + i * width` on that are smaller than `from + (i + 1) * width`. 0 where all numbers are the same. */
  readonly width: number
  readonly counts: readonly number[]
}

/** The most bins. */
const MOST = 12
/** The largest number of a bin, so that its neighbours' numbers are exact doubles too. */
const LARGEST = 2 ** 52
const BARS = ' ▁▂▃▄▅▆▇█'

export class HistogramCounts {
  #width = Number.MIN_VALUE
  /** The counts of the bins; undefined until there are two different numbers. */
  #counts: number[] | undefined
  /** The number of the first bin: its bounds are this, and one more, times the width. */
  #first = 0
  #min = Number.NaN
  #max = Number.NaN
  /** The count as long as all numbers are the same. */
  #same = 0

  /** Counts a number; NaN and infinities are in no bin. */
  add(value: number): void {
    if (!Number.isFinite(value)) return
    if (this.#counts === undefined && (this.#same === 0 || value === this.#min)) {
      this.#min = this.#max = value
      this.#same++
      return
    }
    if (value < this.#min || value > this.#max || this.#counts === undefined) this.#widen(value)
    const bin = binOf(value, this.#width) - this.#first
    this.#counts![bin]!++ // the counts cover all numbers so far
  }

  finish(): Histogram | null {
    if (Number.isNaN(this.#min)) return null
    if (this.#counts === undefined) return { from: this.#min + 0, width: 0, counts: [this.#same] } // + 0 makes a zero of -0
    const width = this.#width
    return { from: this.#first * width + 0, width, counts: this.#counts }
  }

  #widen(value: number): void {
    this.#min = Math.min(this.#min, value)
    this.#max = Math.max(this.#max, value)
    const old = { width: this.#width, first: this.#first, counts: this.#counts }
    // computed from halves: the range itself may overflow
    const range = 1 + Math.log2(this.#max / 2 - this.#min / 2)
    const least = Math.floor(range - Math.log2(MOST)) - 2
    if (this.#counts === undefined) this.#width = Math.max(Number.MIN_VALUE, 2 ** least)
    while (this.#isTooNarrow()) this.#width *= 2
    const width = this.#width
    this.#first = binOf(this.#min, width)
    this.#counts = new Array<number>(binOf(this.#max, width) - this.#first + 1).fill(0)
    if (old.counts === undefined) this.#counts[binOf(value === this.#min ? this.#max : this.#min, width) - this.#first] = this.#same
    else {
      const joined = width / old.width
      for (const [i, count] of old.counts.entries()) this.#counts[binOf(old.first + i, joined) - this.#first]! += count
    }
  }

  #isTooNarrow(): boolean {
    const [first, last] = [binOf(this.#min, this.#width), binOf(this.#max, this.#width)]
    return !(last - first < MOST) || Math.max(-first, last) > LARGEST
  }
}

/** The number of the bin of a value: -1 also for a negative value whose quotient rounds to -0. */
function binOf(value: number, width: number): number {
  const bin = Math.floor(value / width)
  return bin === 0 && value < 0 ? -1 : bin
}

/** A bar for each bin, as high as its fraction of the fullest; not empty where the bin has any number. */
export function barsOf({ counts }: Histogram): string {
  const most = Math.max(...counts)
  return counts.map((count) => BARS[Math.ceil((count / most) * (BARS.length - 1))]).join('')
}
