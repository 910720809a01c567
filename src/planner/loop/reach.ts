/**
 * What is known of the steps of a dependence vector beyond its entries: how they go together, and how far.
 *
 *     A[i + j] = …            [+, -], and the two always add up to 0
 *     A[i - 1, j + k], k < 3  [1, -], and j goes back by 2 at most
 *
 * The steps d = q - p of a vector are written in free whole numbers t, each entry of d a row over t, with inequalities that
 * hold of t. It is the projection of the collision system, so every step of two iterations in conflict is among them;
 * others may be too. How far a form h goes, h(d) from least to greatest, then follows for any h.
 */
import type { Distance } from '../../core/loopPlan.ts'
import type { Form } from '../../core/loopSpec.ts'
import { Elimination } from './elimination.ts'
import type { IntegerSystem } from './integerSystem.ts'
import { constantOf, insert, type Row, TooLarge } from './rows.ts'

export interface Reach {
  /** For each axis, its entry of the step over t. */
  readonly steps: readonly Row[]
  /** Rows over t that are not negative. */
  readonly inequalities: readonly Row[]
  /** Both as a text. */
  readonly id: string
}

/** A dependence vector: one entry for each axis, and what is known beyond them, if anything. */
export type Vector = readonly Distance[] & { readonly reach?: Reach }

export type Range = readonly [least: number, greatest: number]

/** A text that is equal for vectors of which the same is known. */
export function vectorId(vector: Vector): string {
  return vector.reach === undefined ? vector.join() : `${vector.join()} ${vector.reach.id}`
}

/** What an entry may be. */
function rangeOfDistance(distance: Distance): Range {
  if (typeof distance === 'number') return [distance, distance]
  if (distance === '+') return [1, Number.POSITIVE_INFINITY]
  return [Number.NEGATIVE_INFINITY, distance === '-' ? -1 : Number.POSITIVE_INFINITY]
}

/** The vector with what its system knows of its steps, where that is more than the entries say. */
export function withReach(distances: readonly Distance[], system: IntegerSystem, extents: readonly (number | undefined)[]): Vector {
  if (distances.every((distance) => typeof distance === 'number')) return distances
  const rank = distances.length
  const known = differencesOf(system, rank)
  if (known === undefined) return distances
  const limits = extents.map(limitOf)
  // A step that is surely far makes up for others.
  const isLong = distances.some((distance, axis) => typeof distance === 'number' && Math.abs(distance) > (limits[axis] ?? 0))
  const inequalities = known.inequalities.filter((row) => isLong || !isFar(row, known.steps, limits))
  if (inequalities.length > MOST_INEQUALITIES || !saysMore(known.steps, inequalities, distances)) return distances
  const id = `${known.steps.join(' ')} where ${inequalities.join(' ')}`
  return Object.assign([...distances], { reach: { steps: known.steps, inequalities, id } })
}

function differencesOf(system: IntegerSystem, rank: number): ReturnType<IntegerSystem['differences']> {
  const pairs = Array.from({ length: rank }, (_, axis) => [rank + axis, axis] as const)
  try {
    // What is left out when the budget ends only makes steps longer.
    return system.differences(pairs, { left: BUDGET_OF_A_PROJECTION })
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    return undefined
  }
}

/** Work to learn more of one vector than its entries; that of a stencil takes a tenth. */
const BUDGET_OF_A_PROJECTION = 300

/** Steps about which there is more to say than this are taken as their entries have them. */
const MOST_INEQUALITIES = 12

/** Steps farther than this are taken for steps of any length. */
const FAR = 64

/**
 * How far a step of an axis may go for other axes to make up for it. A form that makes up for steps through most of the space
 * would leave nothing to run together, and would do for this extent only.
 */
export function limitOf(extent: number | undefined): number {
  return extent === undefined ? FAR : Math.min(FAR, Math.floor((extent - 1) / 2))
}

/** Whether an inequality bounds single entries of a step, and those only where they are far. */
function isFar(row: Row, steps: readonly Row[], limits: readonly number[]): boolean {
  const columns = columnsOf(row)
  const [column = 0] = columns
  if (columns.length !== 1) return false
  const isAlone = (step: Row) => step.every((factor, at) => (at === column ? factor !== 0 : factor === 0 || at === step.length - 1))
  const alone = steps.flatMap((step, axis) => (isAlone(step) ? [axis] : []))
  const end = -constantOf(row) / (row[column] ?? 1)
  const isFarAlong = (axis: number) => Math.abs((steps[axis]?.[column] ?? 0) * end + constantOf(steps[axis] ?? [])) > (limits[axis] ?? 0)
  return alone.length > 0 && alone.every(isFarAlong)
}

/** Whether some entries go together, or some are known to be no longer, or no shorter, than their signs say. */
function saysMore(steps: readonly Row[], inequalities: readonly Row[], distances: readonly Distance[]): boolean {
  const columns = steps.flatMap(columnsOf)
  if (new Set(columns).size < columns.length || inequalities.some((row) => columnsOf(row).length > 1)) return true
  return inequalities.some((row) => {
    const [column = 0] = columnsOf(row)
    const axis = steps.findIndex((step) => step[column] !== 0)
    const step = steps[axis] ?? []
    const times = (step[column] ?? 0) / (row[column] ?? 1)
    const end = constantOf(step) - times * constantOf(row)
    const [least, greatest] = rangeOfDistance(distances[axis] ?? '*')
    return times > 0 ? end > least : end < greatest
  })
}

/** The parameters that a row depends on. */
function columnsOf(row: Row): number[] {
  const columns: number[] = []
  for (let column = 0; column < row.length - 1; column++) if (row[column] !== 0) columns.push(column)
  return columns
}

/** Work for one question, and for all questions about one reach: a few inequalities need some ten units each. */
const BUDGET_OF_A_QUESTION = 100
const BUDGET_OF_A_REACH = 2_000

/** What has been asked of a reach already, and the work that is left. */
interface Asked {
  readonly ranges: Map<string, Range>
  left: number
}
const asked = new WeakMap<Reach, Asked>()

function askedOf(reach: Reach): Asked {
  const known = asked.get(reach) ?? { ranges: new Map<string, Range>(), left: BUDGET_OF_A_REACH }
  asked.set(reach, known)
  return known
}

/** How far a form goes along the steps, as far as that is known. */
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

/** How far a row goes where others are not negative either; undefined where there is surely no such step. */
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

/** What a form makes of a step, over t; undefined where numbers grow too large. */
function rowAlong(form: Form, steps: readonly Row[]): Row | undefined {
  const width = steps[0]?.length ?? 1
  const row = Array.from({ length: width }, (_, column) =>
    steps.reduce((sum, step, axis) => sum + (form[axis] ?? 0) * (step[column] ?? 0), 0),
  )
  // Sums of a few products of small coefficients and checked numbers are exact, or beyond what is checked.
  return row.every((factor) => Math.abs(factor) <= LARGEST_STEP) ? row : undefined
}

/** Far beyond every step of a loop, and far below what a double holds exactly. */
const LARGEST_STEP = 2 ** 40
