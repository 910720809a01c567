/**
 * The distance polyhedron of a dependence vector: what is known of its steps beyond the entries.
 *
 *     A[i + j] = …            [+, -], and the two always add up to 0
 *     A[i - 1, j + k], k < 3  [1, -], and j goes back by 2 at most
 *
 * The steps d = q - p of a vector are written in free whole numbers t, each entry of d a row over t, with inequalities that
 * hold of t. It is the projection of the collision system, so every step of two iterations in conflict is among them;
 * others may be too. How far a form h goes, h(d) from least to greatest, then follows for any h. `knownSteps.ts` makes them.
 */
import type { Distance } from '../../../core/loop/loopPlan.ts'
import type { Form } from '../../../core/loop/schedules.ts'
import { Elimination } from './elimination.ts'
import { insert, type Row, TooLarge } from './rows.ts'

export interface Reach {
  /** Entries of the step, one row over t for each axis. */
  readonly steps: readonly Row[]
  /** Rows over t that are not negative. */
  readonly inequalities: readonly Row[]
  /** Text of the steps and the inequalities; equal texts are equal polyhedra. */
  readonly id: string
}

/** A dependence vector: one entry for each axis, and its distance polyhedron where that says more. */
export type Vector = readonly Distance[] & { readonly reach?: Reach }

export type Range = readonly [least: number, greatest: number]

/** Returns a text that is equal for vectors with equal entries and polyhedra. */
export function vectorId(vector: Vector): string {
  return vector.reach === undefined ? vector.join() : `${vector.join()} ${vector.reach.id}`
}

/** Work limits for one question, and for all questions about one polyhedron; a few inequalities need some ten units each. */
const BUDGET_OF_A_QUESTION = 100
const BUDGET_OF_A_REACH = 2_000

/** The answers already given for a polyhedron, and the work that is left. */
interface Asked {
  readonly ranges: Map<string, Range>
  /** Whether a vector may go forward along one form and back along another, by the ids of both. */
  readonly opposed: Map<string, boolean>
  left: number
}
const asked = new WeakMap<Reach, Asked>()

function askedOf(reach: Reach): Asked {
  const known: Asked = asked.get(reach) ?? { ranges: new Map(), opposed: new Map(), left: BUDGET_OF_A_REACH }
  asked.set(reach, known)
  return known
}

/** Copies the polyhedra of conflicts, so that questions about the copies take no work from the originals' limits. */
export function withOwnReaches<T extends { readonly vector: Vector }>(conflicts: readonly T[]): T[] {
  const copies = new Map<Reach, Reach>()
  return conflicts.map((conflict) => {
    const { reach } = conflict.vector
    if (reach === undefined) return conflict
    const copy = copies.get(reach) ?? { ...reach }
    copies.set(reach, copy)
    return { ...conflict, vector: Object.assign([...conflict.vector], { reach: copy }) }
  })
}

/** Returns the range of a form along the steps, infinite where it is not known. */
export function rangeAlong(form: Form, reach: Reach): Range {
  const { ranges } = askedOf(reach)
  const id = form.join()
  const known = ranges.get(id)
  if (known !== undefined) return known
  const row = rowAlong(form, reach.steps)
  const found = row === undefined ? undefined : solved(reach, row, [])
  const range: Range = found === undefined || found === 'unknown' ? ANY : [found.least, found.greatest]
  ranges.set(id, range)
  return range
}

/** Returns the range of a row where `others` are at least 0 too; undefined where there is surely no such step. */
function solved(reach: Reach, row: Row, others: readonly Row[]): { least: number; greatest: number } | undefined | 'unknown' {
  const work = askedOf(reach)
  if (work.left <= 0) return 'unknown'
  const budget = { left: Math.min(BUDGET_OF_A_QUESTION, work.left) }
  const before = budget.left
  try {
    const rows = reach.inequalities.map((one) => [...one])
    for (const other of others) if (!insert(rows, other)) return undefined
    return new Elimination(rows, [[...row]], budget).range()
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    return 'unknown'
  } finally {
    work.left -= reach.inequalities.length + before - budget.left
  }
}

const ANY: Range = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]

/** Whether some step may go forward along one form and back along the other. */
export function mayOppose(a: Form, b: Form, reach: Reach): boolean {
  const { opposed } = askedOf(reach)
  const id = `${a.join()} ${b.join()}`
  const known = opposed.get(id) ?? opposes(a, b, reach)
  opposed.set(id, known)
  return known
}

function opposes(a: Form, b: Form, reach: Reach): boolean {
  const turned = (forward: Form, back: Form) => {
    const [up, down] = [rowAlong(forward, reach.steps), rowAlong(back, reach.steps)]
    if (up === undefined || down === undefined) return true
    return solved(reach, up, [less(up), less(down.map((factor) => -factor + 0))]) !== undefined
  }
  return turned(a, b) || turned(b, a)
}

function less(row: Row): Row {
  return row.map((factor, column) => (column === row.length - 1 ? factor - 1 : factor))
}

/** Returns the row of a form along the steps, over t; undefined where numbers grow too large. */
export function rowAlong(form: Form, steps: readonly Row[]): Row | undefined {
  const width = steps[0]?.length ?? 1
  const row = Array.from({ length: width }, (_, column) =>
    steps.reduce((sum, step, axis) => sum + (form[axis] ?? 0) * (step[column] ?? 0), 0),
  )
  // Sums of a few products of small coefficients and checked numbers are exact, or beyond the limit.
  return row.every((factor) => Math.abs(factor) <= LARGEST_STEP) ? row : undefined
}

/** Limit of coefficients: far beyond every step of a loop, and far below what a double holds exactly. */
const LARGEST_STEP = 2 ** 40
