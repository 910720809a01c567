/**
 * The iterations of a block as boxes, in key order: what kernels walk.
 *
 * Most blocks are one box, or one run of positions. A block of a skewed space has slanted sides; it becomes one box for
 * each key of the outer axes:
 *
 *     4 <= t < 7 and 8 <= i + t < 12          t = 4    i = 4 … 7
 *                                             t = 5    i = 3 … 6
 *                                             t = 6    i = 2 … 5
 *
 * The outer axes are as few as leave at most one axis free in every form. Their keys come in order and a box is walked
 * in order, so the places of a block are in key order.
 *
 * Of a schedule in steps the boxes of a block are those of the same block of the first step, moved to the step's own keys.
 *
 * Walks are objects that are opened again for each block: a pass of many small blocks allocates nothing for them.
 */
import type { Form } from '../../../core/loop/schedules.ts'
import type { BlockSchedule } from './schedule.ts'

export interface Piece {
  /** Lower and upper bounds along each axis. */
  readonly box: Float64Array
  /** The places of the piece: places inside the box, or places in `order`. */
  readonly from: number
  readonly to: number
  /** Iterations of the block before this piece. */
  readonly before: number
}

/** The number of a block within its step: its place in `boxes`, `lanes`, `waitsFor` and `successors`. */
export function placeInStep({ steps }: BlockSchedule, block: number): number {
  return steps === undefined ? block : block % steps.blocks
}

/** The place of a block in `from`, `to` and `base`: sparse elements have bounds of their own in every step. */
export function placeOfBounds(schedule: BlockSchedule, block: number): number {
  return schedule.order === undefined ? placeInStep(schedule, block) : block
}

/** Iterations of the steps before that of a block, where bounds are those of the first step. */
export function iterationsBefore({ steps, order, iterations, count }: BlockSchedule, block: number): number {
  return steps === undefined || order !== undefined ? 0 : Math.floor(block / steps.blocks) * (iterations / (count / steps.blocks))
}

/** The pieces of one block after another: `open` a block, then each `next` makes the fields those of its next piece. */
export class PieceWalk implements Piece {
  readonly box: Float64Array
  from = 0
  to = 0
  before = 0
  readonly #schedule: BlockSchedule
  readonly #slanted: SlantedWalk | undefined
  /** Extents of the outer axes, where boxes are moved along them. */
  readonly #outer: readonly number[]
  #step = 0
  #isLast = true

  constructor(schedule: BlockSchedule, extents: readonly number[]) {
    const { forms, order, steps } = schedule
    const outer = (order === undefined ? steps?.extents : undefined) ?? []
    const step = outer.length === 0 ? extents : extents.map((extent, axis) => (axis < outer.length ? 1 : extent))
    this.#schedule = schedule
    this.#outer = outer
    this.#slanted = forms === undefined || order !== undefined ? undefined : new SlantedWalk(forms, step)
    const own = outer.length === 0 ? this.#slanted?.box : undefined
    this.box = own ?? wholeBox(step)
  }

  open(block: number): void {
    const { boxes, from, to, cuts, steps } = this.#schedule
    const at = placeInStep(this.#schedule, block)
    if (steps !== undefined) this.#step = (block - at) / steps.blocks
    this.#isLast = false
    this.before = 0
    if (this.#slanted !== undefined) {
      this.from = 0
      this.to = 0
      openBlock(this.#slanted, cuts, at)
      return
    }
    const bounds = placeOfBounds(this.#schedule, block)
    this.from = from[bounds] as number
    this.to = to[bounds] as number
    if (boxes !== undefined) this.#place(boxes, at * this.box.length)
    else this.#moveToStep()
  }

  next(): boolean {
    if (this.#slanted !== undefined) {
      this.before += this.to
      if (!this.#slanted.next()) return false
      if (this.box !== this.#slanted.box) this.#place(this.#slanted.box, 0)
      this.to = sizeOf(this.box)
      return true
    }
    if (this.#isLast) return false
    this.#isLast = true
    return true
  }

  /** Takes over a box of the first step, and moves it to its place in this one. */
  #place(boxes: Float64Array, from: number): void {
    for (let i = 0; i < this.box.length; i++) this.box[i] = boxes[from + i] as number
    this.#moveToStep()
  }

  #moveToStep(): void {
    let rest = this.#step
    for (let axis = this.#outer.length - 1; axis >= 0; axis--) {
      const extent = this.#outer[axis] as number
      const k = rest % extent
      rest = (rest - k) / extent
      this.box[2 * axis] = k
      this.box[2 * axis + 1] = k + 1
    }
  }
}

function wholeBox(extents: readonly number[]): Float64Array {
  const box = new Float64Array(2 * extents.length)
  for (let axis = 0; axis < extents.length; axis++) box[2 * axis + 1] = extents[axis] as number
  return box
}

/** The pieces of a block; the piece is the same object each time. */
export function* piecesOf(schedule: BlockSchedule, extents: readonly number[], block: number): Generator<Piece, void, void> {
  const walk = new PieceWalk(schedule, extents)
  walk.open(block)
  while (walk.next()) yield walk
}

/** Opens a walk for a block of a grid, numbered row by row. */
function openBlock(walk: SlantedWalk, cuts: BlockSchedule['cuts'], block: number): void {
  const columns = cuts.length === 2 ? (cuts[1]?.length ?? 1) - 1 : 1
  for (let form = 0; form < cuts.length; form++) {
    const cell = form === 0 ? Math.floor(block / columns) : block % columns
    walk.bound(form, cuts[form]?.[cell] ?? 0, cuts[form]?.[cell + 1] ?? 0)
  }
  walk.restart()
}

function sizeOf(box: Float64Array): number {
  let size = 1
  for (let i = 0; i < box.length; i += 2) size *= (box[i + 1] as number) - (box[i] as number)
  return size
}

/** The boxes of the iterations whose forms lie within the bounds. One array is used for all of them. */
export function* slantedBoxes(
  forms: readonly Form[],
  bounds: readonly (readonly [number, number])[],
  extents: readonly number[],
): Generator<Float64Array, void, void> {
  const walk = new SlantedWalk(forms, extents)
  for (const [form, [from, to]] of bounds.entries()) walk.bound(form, from, to)
  walk.restart()
  while (walk.next()) yield walk.box
}

class SlantedWalk {
  readonly box: Float64Array
  readonly #forms: readonly Form[]
  readonly #extents: readonly number[]
  readonly #outer: number
  /** Bounds of each form. */
  readonly #from: Float64Array
  readonly #to: Float64Array
  /** The least and the greatest that the axes from an axis on add to each form, by axis. */
  readonly #least: readonly Float64Array[]
  readonly #greatest: readonly Float64Array[]
  /** The value of each form over the axes before an axis, and where each outer axis ends. */
  readonly #sums: readonly Float64Array[]
  readonly #ends: Float64Array
  #started = false

  constructor(forms: readonly Form[], extents: readonly number[]) {
    const rank = extents.length
    this.#forms = forms
    this.#extents = extents
    this.#outer = outerAxes(forms, rank)
    this.box = new Float64Array(2 * rank)
    this.#from = new Float64Array(forms.length)
    this.#to = new Float64Array(forms.length)
    this.#ends = new Float64Array(rank)
    this.#sums = Array.from({ length: rank + 1 }, () => new Float64Array(forms.length))
    const end = (form: Form, axis: number): number => (form[axis] ?? 0) * ((extents[axis] ?? 1) - 1)
    const added = (pick: (end: number) => number): Float64Array[] =>
      Array.from({ length: rank + 1 }, (_, from) =>
        Float64Array.from(forms, (form) => extents.reduce((sum, _, axis) => sum + (axis < from ? 0 : pick(end(form, axis))), 0)),
      )
    this.#least = added((value) => Math.min(0, value))
    this.#greatest = added((value) => Math.max(0, value))
  }

  bound(form: number, from: number, to: number): void {
    this.#from[form] = from
    this.#to[form] = to
  }

  restart(): void {
    this.#started = false
  }

  /** The outer axes count like the wheels of a clock; the inner ones are narrowed once their key is known. */
  next(): boolean {
    const { box } = this
    let enters = !this.#started
    let axis = enters ? 0 : this.#outer - 1
    this.#started = true
    while (axis >= 0) {
      if (axis === this.#outer) {
        if (this.#narrowInner()) return true
        enters = false
        axis--
        continue
      }
      if (enters) {
        enters = this.#narrow(axis, axis, true)
        this.#ends[axis] = box[2 * axis + 1] as number
      } else {
        box[2 * axis]!++
        enters = (box[2 * axis] as number) < (this.#ends[axis] as number)
      }
      if (!enters) {
        axis--
        continue
      }
      const k = box[2 * axis] as number
      box[2 * axis + 1] = k + 1
      this.#addUp(axis, k)
      axis++
    }
    return false
  }

  #addUp(axis: number, k: number): void {
    const [before, after] = [this.#sums[axis], this.#sums[axis + 1]] as [Float64Array, Float64Array] // axis < rank
    for (let form = 0; form < this.#forms.length; form++) after[form] = (before[form] as number) + (this.#forms[form]?.[axis] ?? 0) * k
  }

  #narrowInner(): boolean {
    for (let axis = this.#outer; axis < this.#extents.length; axis++) if (!this.#narrow(axis, this.#outer, false)) return false
    return true
  }

  /** Bounds of one axis, when the forms have their values over the axes before `known`; an outer axis leaves room for those behind it. */
  #narrow(axis: number, known: number, isOuter: boolean): boolean {
    const sums = this.#sums[known] as Float64Array // known <= rank
    let low = 0
    let high = (this.#extents[axis] ?? 0) - 1
    for (let form = 0; form < this.#forms.length; form++) {
      const factor = this.#forms[form]?.[axis] ?? 0
      if (factor === 0) continue
      const sum = sums[form] as number
      const least = isOuter ? (this.#least[axis + 1]?.[form] ?? 0) : 0
      const greatest = isOuter ? (this.#greatest[axis + 1]?.[form] ?? 0) : 0
      const lowest = (this.#from[form] as number) - sum - greatest
      const highest = (this.#to[form] as number) - 1 - sum - least
      low = Math.max(low, Math.ceil((factor > 0 ? lowest : highest) / factor))
      high = Math.min(high, Math.floor((factor > 0 ? highest : lowest) / factor))
    }
    this.box[2 * axis] = low
    this.box[2 * axis + 1] = high + 1
    return low <= high
  }
}

/** The fewest outer axes that leave at most one axis free in every form. */
function outerAxes(forms: readonly Form[], rank: number): number {
  const free = (form: Form, from: number) => form.slice(from).filter((coefficient) => coefficient !== 0).length
  let outer = 0
  while (outer < rank && forms.some((form) => free(form, outer) > 1)) outer++
  return outer
}
