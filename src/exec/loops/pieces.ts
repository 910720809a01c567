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
 */
import type { Form } from '../../core/loopSpec.ts'
import type { BlockSchedule } from './blockSchedule.ts'

export interface Piece {
  /** Lower and upper bounds along each axis. */
  readonly box: Float64Array
  /** The places of the piece: places inside the box, or places in `order`. */
  readonly from: number
  readonly to: number
  /** Iterations of the block before this piece. */
  readonly before: number
}

export function* piecesOf(schedule: BlockSchedule, extents: readonly number[], block: number): Generator<Piece, void, void> {
  const { forms, boxes } = schedule
  if (forms === undefined || schedule.order !== undefined) {
    const width = 2 * extents.length
    const box = boxes?.subarray(block * width, (block + 1) * width) ?? Float64Array.from(extents.flatMap((extent) => [0, extent]))
    yield { box, from: schedule.from[block] as number, to: schedule.to[block] as number, before: 0 }
    return
  }
  let before = 0
  for (const box of slantedBoxes(forms, boundsOf(schedule, block), extents)) {
    let size = 1
    for (let axis = 0; axis < extents.length; axis++) size *= (box[2 * axis + 1] as number) - (box[2 * axis] as number)
    yield { box, from: 0, to: size, before }
    before += size
  }
}

/** Lower and upper bounds of a block along each form. Blocks of a grid are numbered row by row. */
function boundsOf({ cuts }: Pick<BlockSchedule, 'cuts'>, block: number): readonly (readonly [number, number])[] {
  const columns = cuts.length === 2 ? (cuts[1]?.length ?? 1) - 1 : 1
  const cell = [Math.floor(block / columns), block % columns]
  return cuts.map((cut, i) => [cut[cell[i] ?? 0] ?? 0, cut[(cell[i] ?? 0) + 1] ?? 0])
}

/** The boxes of the iterations whose forms lie within the bounds. One array is used for all of them. */
export function* slantedBoxes(
  forms: readonly Form[],
  bounds: readonly (readonly [number, number])[],
  extents: readonly number[],
): Generator<Float64Array, void, void> {
  const rank = extents.length
  const outer = outerAxes(forms, rank)
  const box = new Float64Array(2 * rank)
  const coefficient = (form: number, axis: number) => forms[form]?.[axis] ?? 0

  /** What the axes from `axis` on add to a form, at least and at most. */
  const added = forms.map((_, form) => {
    const ends: (readonly [number, number])[] = [[0, 0]]
    for (let axis = rank - 1; axis >= 0; axis--) {
      const end = coefficient(form, axis) * ((extents[axis] ?? 1) - 1)
      const [least, greatest] = ends[0] ?? [0, 0]
      ends.unshift([least + Math.min(0, end), greatest + Math.max(0, end)])
    }
    return ends
  })

  /** Bounds of one axis, when the forms have the values `sums` over the outer axes before it. */
  const narrow = (axis: number, sums: readonly number[], isOuter: boolean): boolean => {
    let low = 0
    let high = (extents[axis] ?? 0) - 1
    for (let form = 0; form < forms.length; form++) {
      const factor = coefficient(form, axis)
      if (factor === 0) continue
      const [least, greatest] = (isOuter ? added[form]?.[axis + 1] : undefined) ?? [0, 0]
      const [from, to] = bounds[form] ?? [0, 0]
      const lowest = from - (sums[form] ?? 0) - greatest
      const highest = to - 1 - (sums[form] ?? 0) - least
      low = Math.max(low, Math.ceil((factor > 0 ? lowest : highest) / factor))
      high = Math.min(high, Math.floor((factor > 0 ? highest : lowest) / factor))
    }
    box[2 * axis] = low
    box[2 * axis + 1] = high + 1
    return low <= high
  }

  function* walk(axis: number, sums: readonly number[]): Generator<Float64Array, void, void> {
    if (axis === outer) {
      for (let inner = outer; inner < rank; inner++) if (!narrow(inner, sums, false)) return
      yield box
      return
    }
    if (!narrow(axis, sums, true)) return
    const end = box[2 * axis + 1] as number
    for (let k = box[2 * axis] as number; k < end; k++) {
      box[2 * axis] = k
      box[2 * axis + 1] = k + 1
      yield* walk(
        axis + 1,
        sums.map((sum, form) => sum + coefficient(form, axis) * k),
      )
    }
  }
  yield* walk(
    0,
    forms.map(() => 0),
  )
}

/** The fewest outer axes that leave at most one axis free in every form. */
function outerAxes(forms: readonly Form[], rank: number): number {
  const free = (form: Form, from: number) => form.slice(from).filter((coefficient) => coefficient !== 0).length
  let outer = 0
  while (outer < rank && forms.some((form) => free(form, outer) > 1)) outer++
  return outer
}
