/**
 * Runs the iterations of one block after another in slices: calls of the kernel that are short enough to look up from,
 * for an abort, for a failure elsewhere, for the caller's event loop. Nothing is allocated for a block.
 */
import { CHUNK } from '../../../core/arrays/fixedTree.ts'
import type { Primitive } from '../../../core/ir/functionIr.ts'
import type { BoundLoop } from '../bindLoop.ts'
import { iterationsBefore, type Piece, PieceWalk, placeInStep, placeOfBounds } from '../blocks/pieces.ts'
import type { LoopTask, PassTurn } from '../loopTask.ts'
import { closeFragment, isOrdered } from '../reductions/accumulatorLog.ts'
import { hasFailed, isAborted, reportFailure, smallestFailure } from './claim.ts'

/** The smallest failing iteration of a worker. */
export interface BlockFailure {
  readonly rank: number
  readonly key: readonly number[]
  readonly error: unknown
}

/** Most places of a slice: with these a call costs next to nothing, even for a light body. Slices of others end by the clock. */
const LARGEST_SLICE = 32_768
/** Milliseconds that a slice should take: an abort waits for its end. */
const SLICE_MS = 5
/** Blocks far smaller than a slice are run several to a look at the clock, which costs as much as some of them. */
const STEPS_TO_A_CLOCK = 32

/** A worker's way through the blocks it claims in a pass. */
export class BlockRun {
  readonly bound: BoundLoop
  failure: BlockFailure | undefined
  /** When the clock was last read; NaN when that does not count any more. */
  clock: number = Number.NaN
  readonly #task: LoopTask
  readonly #parameters: readonly Primitive[]
  readonly #walk: PieceWalk
  /** Whether ranks matter: some accumulator takes values in their order. */
  readonly #isOrdered: boolean
  /** A slice also ends at places that are multiples of this. */
  readonly #stopEvery: number
  #block = 0
  #lane = 0
  /** Whether no piece of the block was begun. */
  #isFresh = true
  /** The next place, and the end of the places to run: of all in the piece, or where ranks matter of those with consecutive ranks. */
  #place = 0
  #runEnd = 0
  /** The rank of `#place`, and that at which the open fragment of the accumulators starts; only where ranks matter. */
  #rank = 0
  #fragment = 0
  /** Places and steps run since the clock was last read. */
  #places = 0
  #steps = 0

  constructor(task: LoopTask, { parameters }: PassTurn, bound: BoundLoop, stopEvery: number = Number.POSITIVE_INFINITY) {
    this.bound = bound
    this.#task = task
    this.#parameters = parameters
    this.#walk = new PieceWalk(task.schedule, task.extents)
    this.#isOrdered = bound.logs.some((log) => isOrdered(log.form))
    this.#stopEvery = stopEvery
  }

  /** The place that was reached. */
  get place(): number {
    return this.#place
  }

  start(block: number): void {
    this.#block = block
    this.#lane = this.#task.schedule.lanes[placeInStep(this.#task.schedule, block)] as number
    this.#walk.open(block)
    this.#isFresh = true
    this.#place = 0
    this.#runEnd = 0
  }

  /** Discards the last reading of the clock, when time has passed on something else than slices. */
  forgetClock(): void {
    this.clock = Number.NaN
    this.#places = 0
    this.#steps = 0
  }

  /** Runs a slice of the block; false when there is no more of it to run. With `stopEvery`, whether anything was run. */
  step(): boolean {
    const { claims } = this.#task
    const { bound } = this
    if (isAborted(claims) || (hasFailed(claims) && !this.#precedesFailure())) return false
    if (Number.isNaN(this.clock)) this.clock = performance.now()
    const slice = bound.slice.places
    let left = slice
    while (left > 0) {
      if (this.#place === this.#runEnd && !this.#nextRun()) break
      const place = this.#place
      const end = this.#endOfCall(place + left)
      try {
        bound.kernel(this.#walk.box, place, end, this.#lane, this.#parameters)
      } catch (error) {
        this.#noteFailure(bound.at.place, error)
        return false
      }
      left -= end - place
      this.#place = end
      if (bound.copies !== undefined && this.#wasLast(end - 1)) bound.copies.handBack()
      if (this.#isOrdered) this.#advanceRank(end - place)
      if (this.#stopEvery !== Number.POSITIVE_INFINITY) break
    }
    const ran = slice - left
    this.#adapt(ran)
    return left <= 0 || (ran > 0 && this.#stopEvery !== Number.POSITIVE_INFINITY)
  }

  #endOfCall(atMost: number): number {
    const place = this.#place
    let end = Math.min(this.#runEnd, atMost)
    if (this.#isOrdered) end = Math.min(end, place + CHUNK - (this.#rank % CHUNK))
    if (this.#stopEvery !== Number.POSITIVE_INFINITY) end = Math.min(end, place + this.#stopEvery - (place % this.#stopEvery))
    return end
  }

  /** Goes on to the next places: of the piece, or of the next one; false when there are none. */
  #nextRun(): boolean {
    const walk = this.#walk
    while (this.#isFresh || this.#place === walk.to) {
      if (!walk.next()) return false
      this.#isFresh = false
      this.#place = walk.from
    }
    this.#runEnd = walk.to
    if (!this.#isOrdered) return true
    this.#runEnd = endOfRun(this.#task, walk, this.#place)
    this.#fragment = this.#rank = rankOf(this.#task, this.#block, walk, this.#place)
    return true
  }

  /** Whether a place has the last iteration of the serial order. Ranks grow inside a block: nothing of it comes after that. */
  #wasLast(place: number): boolean {
    return rankOf(this.#task, this.#block, this.#walk, place) === this.#task.schedule.iterations - 1
  }

  #advanceRank(places: number): void {
    this.#rank += places
    if (this.#place !== this.#runEnd && this.#rank % CHUNK !== 0) return
    for (const log of this.bound.logs) closeFragment(log, this.#fragment)
    this.#fragment = this.#rank
  }

  /** Whether the next iteration precedes a failure in the serial order: only such ones still run, and what they need precedes them. */
  #precedesFailure(): boolean {
    if (this.#place === this.#runEnd && !this.#nextRun()) return false
    return rankOf(this.#task, this.#block, this.#walk, this.#place) < smallestFailure(this.#task.claims)
  }

  #noteFailure(place: number, error: unknown): void {
    const rank = rankOf(this.#task, this.#block, this.#walk, place)
    if (this.failure === undefined || rank < this.failure.rank)
      this.failure = { rank, key: keyOfPlace(this.#task, this.#walk, place), error }
    reportFailure(this.#task.claims, rank)
  }

  /** Slices grow until one takes some milliseconds. */
  #adapt(places: number): void {
    const { slice } = this.bound
    this.#places += places
    if (this.#places < slice.places && ++this.#steps < STEPS_TO_A_CLOCK) return
    const now = performance.now()
    const milliseconds = now - this.clock
    if (milliseconds > 2 * SLICE_MS)
      slice.places = Math.max(1, Math.floor((Math.min(this.#places, slice.places) * SLICE_MS) / milliseconds))
    else if (this.#places >= slice.places && milliseconds < SLICE_MS / 2) slice.places = Math.min(LARGEST_SLICE, 2 * slice.places)
    this.clock = now
    this.#places = 0
    this.#steps = 0
  }
}

/** The rank of a place of a block; see `blockSchedule.ts`. */
function rankOf(task: LoopTask, block: number, piece: Piece, place: number): number {
  const { schedule, extents, binding } = task
  const before = iterationsBefore(schedule, block)
  if (!schedule.keyOrder) return before + (schedule.base[placeOfBounds(schedule, block)] as number) + piece.before + (place - piece.from)
  if (binding.order !== undefined) return binding.order[place] as number
  if (schedule.boxes === undefined && schedule.forms === undefined)
    return before + (schedule.base[placeInStep(schedule, block)] as number) + (place - piece.from)
  return keyOfPlace(task, piece, place).reduce((rank, k, axis) => rank * (extents[axis] ?? 1) + k, 0)
}

/** The end of the places from `place` on whose ranks are consecutive. */
function endOfRun(task: LoopTask, { box, to }: Piece, place: number): number {
  const { schedule, extents } = task
  const { order } = task.binding
  if (!schedule.keyOrder) return to
  if (order !== undefined) {
    let end = place + 1
    while (end < to && order[end] === (order[end - 1] as number) + 1) end++
    return end
  }
  if (schedule.boxes === undefined && schedule.forms === undefined) return to
  const axis = extents.length - 1
  const width = (box[2 * axis + 1] as number) - (box[2 * axis] as number)
  return Math.min(to, place + width - (place % width))
}

/** The key of the iteration at a place of a block. */
function keyOfPlace(task: LoopTask, { box }: Piece, place: number): number[] {
  const { extents, binding } = task
  if (binding.keys.length > 0) return binding.keys.map((column) => column[place] as number)
  if (binding.order !== undefined) return [binding.order[place] as number]
  const key = new Array<number>(extents.length)
  let rest = place
  for (let axis = extents.length - 1; axis >= 0; axis--) {
    const low = box[2 * axis] as number
    const width = (box[2 * axis + 1] as number) - low
    key[axis] = low + (rest % width)
    rest = Math.floor(rest / width)
  }
  return key
}
