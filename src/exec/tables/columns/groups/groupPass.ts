/**
 * A group-by in one pass over the rows. Any worker lists the values of a unit of rows with their groups: it selects, computes,
 * and finds each row's place, the last two by one kernel where something is computed. An adder adds the lists to its own records of the groups, unit after unit, so that the rows of
 * a group are added in row order: sums follow the fixed tree, and no earlier pass has to count rows.
 *
 *     all        claim a unit that the ring has room for, and list it
 *     adders     add the next unit first, if it is listed; each has some of the folds
 *
 * Where the key and the values are columns, no row is dropped, and records are few, adders read the rows themselves: no list lies in
 * between, and no worker waits for another.
 *
 * Records stay in the caches of their adder; lists are read sequentially by another core. There is no deadlock: the unit that the
 * slowest adder is to add next always has room in the ring, and was claimed or can be.
 */

import { BLOCK_ROWS } from '../../../kernels/columns/wasmColumns.ts'
import { FRAME, frameBytes } from '../../../kernels/tables/groupFrame.ts'
import { putAddress } from '../../../memory/addressWords.ts'
import type { WorkerContext } from '../../../workers/worker.ts'
import { fill, foldWord, partWord } from '../../operators/groupBy/groupMemory.ts'
import type { BoundKernel, SentKernel } from '../sentKernel.ts'

/** A column of the pass: the addresses of row 0 and of the bitmap, or an output that the kernel computes block by block. */
export type PassColumn = { readonly address: number; readonly validity?: number } | ComputedColumn

/** An output of the kernel, by its index, and the binary logarithm of its values' bytes. */
export interface ComputedColumn {
  readonly output: number
  readonly log2Bytes: number
}

export interface GroupPass {
  /** The kernels that select rows, to run one after another, each with the address of its frame. */
  readonly selects: readonly { readonly kernel: SentKernel; readonly frame: number }[]
  /**
   * A kernel that lists what it computes of the columns (it has `lists`), or one that computes parts of the key and added values that are
   * no columns, for `placing`; absent where there are none.
   */
  readonly kernel?: BoundKernel
  readonly placing?: Placing
  /** Whether adders read the rows themselves; there are no lists then. */
  readonly addsRows: boolean
  /** The columns whose values are copied to the lists. */
  readonly copied: readonly PassColumn[]
  /** The adders, at most `MOST_ADDERS`, one for each of the first workers. */
  readonly adders: readonly Adder[]
  readonly unitRows: number
  /** The addresses of the words (`WORDS`), and of the ring of lists. */
  readonly words: number
  readonly ring: number
}

/** Listing by a kernel that finds the places and copies the values of columns, some of which another has computed. */
export interface Placing {
  readonly computed: readonly ComputedColumn[]
  readonly places: SentKernel
  /** The initial contents of the frame of `places`. */
  readonly frame: Int32Array
  readonly parts: readonly PassColumn[]
}

/** A worker that adds some of the folds. */
export interface Adder {
  readonly kernel: SentKernel
  /** The address of its frame. */
  readonly frame: number
  /** The source of each fold's values: a list, or a column as it is. */
  readonly from: readonly ({ readonly list: number } | { readonly address: number })[]
}

export const MOST_ADDERS = 3

/**
 * The words of a pass: `off`, 1 once a key has no place or is no integer; the number of units that each adder has added; and for each
 * slot of the ring the number of the unit it holds, from 1 on.
 */
const WORDS = { off: 0, added: 1, held: 1 + MOST_ADDERS } as const

/** Units that may be listed and not yet added: enough that adders seldom wait, few enough that lists stay in the caches. */
export const RING_UNITS = 8

/** Workers that wait for room are woken after so many units: a wake-up takes as long as listing a unit, and listed ones are left meanwhile. */
const WAKING_UNITS = RING_UNITS / 2

export const PASS_BYTES: number = 4 * (WORDS.held + RING_UNITS)

/** Bytes of the lists of a unit: the number of rows, their places, and the values of each copied column. */
export function listBytes(unitRows: number, copied: number): number {
  return HEADER_BYTES + (4 + 8 * copied) * unitRows
}

const HEADER_BYTES = 64

/** A worker's part: its memory and the functions by which it lists. */
export interface GroupPassPart {
  readonly context: WorkerContext
  readonly rows: number
  readonly units: number
  readonly claims: Int32Array
  /** The worker's number, and the most units after which an adder returns. */
  readonly number: number
  readonly most: number
  /** The address of the worker's frame of `places`. */
  readonly placing: number
  readonly run: (kernel: SentKernel) => (...args: number[]) => void
  /** The frame of `kernel`, in words, and the kernel over rows. */
  readonly slots: Int32Array
  readonly kernel: (from: number, to: number) => void
  /** Computes the rows of one block; returns a function to the address at which row 0 of an output would lie. */
  readonly compute: (computed: readonly ComputedColumn[], from: number, to: number) => (column: ComputedColumn) => number
}

/** Polls of a word before a worker sleeps: a unit takes some tens of microseconds, a wake-up as long. */
const LOOKS = 2_000
/** The longest sleep between two checks whether the task was aborted. */
const SLEEP_MS = 20

export function groupPassPart(work: GroupPass, part: GroupPassPart): void {
  const { arena, abortFlag } = part.context
  const words = arena.view('i32', work.words, PASS_BYTES / 4) as Int32Array
  const isOver = (): boolean => Atomics.load(abortFlag, 0) !== 0 || Atomics.load(words, WORDS.off) !== 0
  const adder = work.adders[part.number]
  if (work.addsRows) {
    if (adder !== undefined) addRows(work, part, words, { ...adder, isOver })
    return
  }
  const lister = new Lister(work, part, words)
  if (adder === undefined) listUnits(work, part, words, lister, isOver)
  else addUnits(work, part, words, lister, { ...adder, isOver })
}

/** Adds the rows of the next units without lists, `part.most` of them. */
function addRows(
  { unitRows }: GroupPass,
  part: GroupPassPart,
  words: Int32Array,
  { kernel, frame, isOver }: Pick<Adder, 'kernel' | 'frame'> & { readonly isOver: () => boolean },
): void {
  const add = part.run(kernel)
  const ends = part.context.arena.view('i32', frame, frameBytes(0) / 4) as Int32Array
  const own = WORDS.added + part.number
  const first = Atomics.load(words, own)
  const end = Math.min(part.units, first + part.most)
  for (let next = first; next < end && !isOver(); next++) {
    const to = Math.min((next + 1) * unitRows, part.rows)
    for (let from = next * unitRows; from < to; from += BLOCK_ROWS) add(frame, from, Math.min(from + BLOCK_ROWS, to))
    if ((ends[FRAME.size / 4] as number) < 0) Atomics.store(words, WORDS.off, 1) // inside the frame
    Atomics.store(words, own, next + 1)
  }
}

function listUnits(work: GroupPass, part: GroupPassPart, words: Int32Array, lister: Lister, isOver: () => boolean): void {
  for (let unit = claimed(work, part, words); unit !== 'none left' && !isOver(); unit = claimed(work, part, words)) {
    if (typeof unit === 'number') lister.list(unit)
    else waitFor(words, unit.at, unit.value, isOver)
  }
}

function addUnits(
  work: GroupPass,
  part: GroupPassPart,
  words: Int32Array,
  lister: Lister,
  { kernel, frame, from, isOver }: Adder & { readonly isOver: () => boolean },
): void {
  const add = part.run(kernel)
  const own = WORDS.added + part.number
  const first = Atomics.load(words, own)
  const end = Math.min(part.units, first + part.most)
  for (let next = first; next < end && !isOver(); ) {
    const held = WORDS.held + (next % RING_UNITS)
    const holds = Atomics.load(words, held)
    if (holds === next + 1) {
      addUnit(work, { frame, from }, next, part.context.arena, add)
      Atomics.store(words, own, ++next)
      if (next % WAKING_UNITS === 0) Atomics.notify(words, own)
      continue
    }
    const unit = claimed(work, part, words)
    if (typeof unit === 'number') lister.list(unit)
    // this adder itself has to make room, by adding the next unit, which another worker lists
    else if (unit === 'none left' || unit.at === own) waitFor(words, held, holds, isOver)
    else waitFor(words, unit.at, unit.value, isOver)
  }
}

/** Claims the next unit; where the ring has no room for it, returns the word that has to change first, and its value. */
function claimed(
  { adders }: GroupPass,
  { claims, units }: GroupPassPart,
  words: Int32Array,
): number | { readonly at: number; readonly value: number } | 'none left' {
  for (;;) {
    const unit = Atomics.load(claims, 0)
    if (unit >= units) return 'none left'
    for (let at = WORDS.added as number; at < WORDS.added + adders.length; at++) {
      const value = Atomics.load(words, at)
      if (unit - value >= RING_UNITS) return { at, value }
    }
    if (Atomics.compareExchange(claims, 0, unit, unit + 1) === unit) return unit
  }
}

/** Waits until the word has changed, for `SLEEP_MS` at most. */
function waitFor(words: Int32Array, at: number, value: number, isOver: () => boolean): void {
  for (let look = 0; look < LOOKS; look++) if (Atomics.load(words, at) !== value) return
  if (!isOver()) Atomics.wait(words, at, value, SLEEP_MS)
}

function addUnit(
  work: GroupPass,
  { frame: adding, from }: Pick<Adder, 'frame' | 'from'>,
  unit: number,
  arena: WorkerContext['arena'],
  add: (...args: number[]) => void,
): void {
  const { unitRows } = work
  const lists = listsOf(work, unit)
  const frame = arena.view('i32', adding, frameBytes(from.length) / 4) as Int32Array
  fill(frame, { selection: lists + HEADER_BYTES })
  for (const [f, source] of from.entries()) {
    putAddress(frame, foldWord(f), 'address' in source ? source.address + 8 * unitRows * unit : valuesAt(lists, unitRows, source.list))
  }
  add(adding, 0, arena.view('i32', lists, 1)[0] as number)
}

function listsOf({ ring, unitRows, copied }: GroupPass, unit: number): number {
  return ring + (unit % RING_UNITS) * listBytes(unitRows, copied.length)
}

/** The address of the values of a copied column in a unit's lists. */
function valuesAt(lists: number, unitRows: number, list: number): number {
  return lists + HEADER_BYTES + (4 + 8 * list) * unitRows
}

/** Lists units of rows. */
class Lister {
  private readonly work: GroupPass
  private readonly part: GroupPassPart
  private readonly words: Int32Array
  private readonly selects: readonly (readonly [(...args: number[]) => void, number])[]
  private readonly listing: UnitListing

  constructor(work: GroupPass, part: GroupPassPart, words: Int32Array) {
    this.work = work
    this.part = part
    this.words = words
    this.selects = work.selects.map(({ kernel, frame }) => [part.run(kernel), frame] as const)
    this.listing = work.placing === undefined ? fusedListing(work, part) : placedListing(work, work.placing, part)
  }

  list(unit: number): void {
    const { work, part, words, listing } = this
    const { unitRows } = work
    const lists = listsOf(work, unit)
    listing.begin(lists)
    const end = Math.min((unit + 1) * unitRows, part.rows)
    for (let from = unit * unitRows; from < end && listing.listed() >= 0; from += BLOCK_ROWS) {
      const to = Math.min(from + BLOCK_ROWS, end)
      for (const [select, at] of this.selects) select(at, from, to)
      listing.block(from, to)
    }
    const listed = listing.listed()
    if (listed < 0) Atomics.store(words, WORDS.off, 1)
    ;(part.context.arena.view('i32', lists, 1) as Int32Array)[0] = Math.max(listed, 0)
    const held = WORDS.held + (unit % RING_UNITS)
    Atomics.store(words, held, unit + 1)
    Atomics.notify(words, held)
  }
}

/** How a worker lists a unit, block after block; `listed`: the number of entries so far, below 0 once a key has no place. */
interface UnitListing {
  readonly begin: (lists: number) => void
  readonly block: (from: number, to: number) => void
  readonly listed: () => number
}

/** By the kernel that computes. */
function fusedListing({ kernel, unitRows }: GroupPass, part: GroupPassPart): UnitListing {
  const { at, listed } = kernel?.lists ?? { at: [], listed: 0 }
  const { slots } = part
  const addresses = [...at.entries()]
  return {
    begin: (lists) => {
      slots[2 * listed] = 0
      for (const [list, slot] of addresses)
        putAddress(slots, 2 * slot, list === 0 ? lists + HEADER_BYTES : valuesAt(lists, unitRows, list - 1))
    },
    block: part.kernel,
    listed: () => slots[2 * listed] as number, // a slot of the frame
  }
}

/** By a kernel that finds places, from columns, and from what another kernel computes of the block. */
function placedListing(
  { unitRows, copied }: GroupPass,
  { frame: initial, places, parts, computed }: Placing,
  part: GroupPassPart,
): UnitListing {
  const frame = part.context.arena.view('i32', part.placing, initial.length) as Int32Array
  frame.set(initial)
  const place = part.run(places)
  return {
    begin: (lists) => {
      fill(frame, { selection: lists + HEADER_BYTES, size: 0 })
      for (let f = 0; f < copied.length; f++) putAddress(frame, foldWord(f) + 2, valuesAt(lists, unitRows, f))
    },
    block: (from, to) => {
      const origin = part.compute(computed, from, to)
      for (const [p, column] of parts.entries()) {
        if ('output' in column) putAddress(frame, partWord(p, 'key'), origin(column))
      }
      for (const [f, column] of copied.entries()) {
        if ('output' in column) putAddress(frame, foldWord(f), origin(column))
      }
      place(part.placing, from, to)
    },
    listed: () => frame[FRAME.size / 4] as number, // inside the frame
  }
}
