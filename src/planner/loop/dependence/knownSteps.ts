/**
 * Computes the distance polyhedron of a dependence vector from a collision system: the system is projected onto the steps, and
 * only inequalities that are of use to a schedule are kept.
 *
 *     [1, *]  1 <= d1 <= 1, -1 <= d2 <= 1, -d1 + d2 + 12 >= 0, …    d2 goes back by 1 at most: i + j never does
 *
 * Leaving an inequality out only allows more steps, so whatever is dropped here costs speed at most.
 */
import type { Distance } from '../../../core/loop/loopPlan.ts'
import type { Form } from '../../../core/loop/schedules.ts'
import { type Box, boxOf, leastIn, soleColumn, withoutImplied } from './box.ts'
import type { IntegerSystem } from './integerSystem.ts'
import { type Range, type Reach, rowAlong, type Vector } from './reach.ts'
import { checked, constantOf, insert, parallelTo, type Row, TooLarge } from './rows.ts'

type Steps = Pick<Reach, 'steps' | 'inequalities'>
type Known = Steps & { readonly box: Box }
type Extents = readonly (number | undefined)[]

/** Returns the vector with its distance polyhedron where that says more than the entries; 'none' where there is surely no such step. */
export function withReach(distances: readonly Distance[], system: IntegerSystem, extents: Extents): Vector | 'none' {
  const known = exactly(() => projectionOf(system, distances.length))
  if (known === undefined || known === 'none') return known ?? distances
  const entries = distances.map((distance, axis) => narrowed(distance, rangeIn(known.steps[axis] ?? [], known.box)))
  if (!entries.every((entry) => entry !== 'none')) return 'none'
  if (entries.every((entry) => typeof entry === 'number')) return entries
  return useful(entries, known, extents.map(limitOf))
}

/** Returns the result of integer work; undefined where numbers grow too large to be exact. */
function exactly<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error
    return undefined
  }
}

/** Intersects an entry with a range; 'none' where they have nothing in common. */
function narrowed(distance: Distance, [least, greatest]: Range): Distance | 'none' {
  const [low, high] = rangeOfDistance(distance)
  if (Math.max(least, low) > Math.min(greatest, high)) return 'none'
  if (typeof distance === 'number') return distance
  if (least === greatest) return least
  return least > 0 ? '+' : greatest < 0 ? '-' : distance
}

/** Returns the steps of all solutions, and perhaps more: what is left out when the budget ends only makes them longer. */
function projectionOf(system: IntegerSystem, rank: number): Known | 'none' {
  const pairs = Array.from({ length: rank }, (_, axis) => [rank + axis, axis] as const)
  const projected = system.differences(pairs, { left: BUDGET_OF_A_PROJECTION })
  return projected === undefined ? 'none' : simplified(projected)
}

/** Work limit to learn more of one vector than its entries, in units of `Budget`; a stencil takes a tenth of it. */
const BUDGET_OF_A_PROJECTION = 300

/** Simplifies the inequalities of steps: parameters of one value are substituted, implied inequalities dropped. */
function simplified({ steps, inequalities }: Steps): Known | 'none' {
  const count = (steps[0]?.length ?? 1) - 1
  const box = boxOf(inequalities, count)
  if (box === undefined) return 'none'
  const filled = (row: Row): Row => {
    const full = [...row]
    const last = row.length - 1
    for (const [column, value] of box.least.entries()) {
      if (value !== box.greatest[column]) continue
      full[last] = checked((full[last] ?? 0) + checked((row[column] ?? 0) * value))
      full[column] = 0
    }
    return full
  }
  const ends = box.least.flatMap((least, column) => {
    const greatest = box.greatest[column] ?? least
    const at = (factor: number, constant: number) => [...box.least.map((_, other) => (other === column ? factor : 0)), constant]
    if (least === greatest) return []
    return [...(Number.isFinite(least) ? [at(1, -least + 0)] : []), ...(Number.isFinite(greatest) ? [at(-1, greatest)] : [])]
  })
  const rows: Row[] = []
  for (const row of [...ends, ...inequalities.map(filled)]) if (!insert(rows, row)) return 'none'
  return { steps: steps.map(filled), inequalities: withoutImplied(rows), box }
}

/** Returns the entries with the inequalities that are of use to a schedule; the entries alone where there are none. */
function useful(entries: readonly Distance[], { steps, inequalities, box }: Known, limits: readonly number[]): Vector {
  // A step that is surely long makes up for others, so that far ones matter too.
  const isLong = entries.some((entry, axis) => typeof entry === 'number' && Math.abs(entry) > (limits[axis] ?? 0))
  const kept = nearest(isLong ? inequalities : nearOnes({ steps, inequalities, box }, limits))
  if (!saysMore(steps, kept, entries)) return entries
  return Object.assign([...entries], { reach: { steps, inequalities: kept, id: `${steps.join(' ')} where ${kept.join(' ')}` } })
}

/** Most inequalities kept: more hardly decide on a schedule, and each question would pay for them. */
const MOST_INEQUALITIES = 12

/** Selects the plainest rows, in an order that depends on nothing else: least coefficients, then least constants. */
function nearest(rows: readonly Row[]): Row[] {
  const slant = (row: Row) => row.reduce((sum, factor, column) => (column === row.length - 1 ? sum : sum + Math.abs(factor)), 0)
  const keyed = rows.map((row) => ({ row, slant: slant(row), text: row.join() }))
  keyed.sort((a, b) => a.slant - b.slant || constantOf(a.row) - constantOf(b.row) || (a.text < b.text ? -1 : 1))
  return keyed.slice(0, MOST_INEQUALITIES).map(({ row }) => row)
}

/** Longest step that is told from a step of any length. */
const FAR = 64

/**
 * Returns the longest step of an axis that other axes should make up for. A form that makes up for steps through most of the space would
 * leave nothing to run in parallel, and would do for this extent only.
 */
export function limitOf(extent: number | undefined): number {
  return extent === undefined ? FAR : Math.min(FAR, Math.floor((extent - 1) / 2))
}

/** Returns the inequalities that bound steps which are near along each axis. */
function nearOnes({ steps, inequalities, box }: Known, limits: readonly number[]): readonly Row[] {
  const near = nearBox(steps, limits, box.least.length)
  const both = {
    least: near.least.map((end, column) => Math.max(end, box.least[column] ?? end)),
    greatest: near.greatest.map((end, column) => Math.min(end, box.greatest[column] ?? end)),
  }
  return inequalities.filter((row) => leastIn(row, soleColumn(row) === undefined ? both : near) < 0)
}

/** Returns the box in which each axis with a step in one parameter stays within its limit; of several such axes the widest. */
function nearBox(steps: readonly Row[], limits: readonly number[], count: number): Box {
  const near: Box = { least: new Array<number>(count).fill(Infinity), greatest: new Array<number>(count).fill(-Infinity) }
  for (const [axis, step] of steps.entries()) {
    const column = soleColumn(step)
    if (column === undefined) continue
    const factor = step[column] ?? 1
    const ends = [-1, 1].map((sign) => (sign * (limits[axis] ?? 0) - constantOf(step)) / factor)
    near.least[column] = Math.min(near.least[column] ?? 0, ...ends)
    near.greatest[column] = Math.max(near.greatest[column] ?? 0, ...ends)
  }
  for (let column = 0; column < count; column++) {
    if ((near.least[column] ?? 0) <= (near.greatest[column] ?? 0)) continue
    near.least[column] = -Infinity
    near.greatest[column] = Infinity
  }
  return near
}

/** Whether the inequalities say more than the entries: that some go together, or that one is bounded more tightly than by its sign. */
function saysMore(steps: readonly Row[], inequalities: readonly Row[], entries: readonly Distance[]): boolean {
  const columns = steps.flatMap((step) => step.flatMap((factor, column) => (factor !== 0 && column < step.length - 1 ? [column] : [])))
  if (new Set(columns).size < columns.length || inequalities.some((row) => soleColumn(row) === undefined)) return true
  return inequalities.some((row) => {
    const column = soleColumn(row) ?? 0
    const axis = steps.findIndex((step) => step[column] !== 0)
    const step = steps[axis] ?? []
    const times = (step[column] ?? 0) / (row[column] ?? 1)
    const end = constantOf(step) - times * constantOf(row)
    const [least, greatest] = rangeOfDistance(entries[axis] ?? '*')
    return times > 0 ? end > least : end < greatest
  })
}

/** Returns the range of an entry by its sign. */
function rangeOfDistance(distance: Distance): Range {
  if (typeof distance === 'number') return [distance, distance]
  if (distance === '+') return [1, Number.POSITIVE_INFINITY]
  return [Number.NEGATIVE_INFINITY, distance === '-' ? -1 : Number.POSITIVE_INFINITY]
}

function rangeIn(row: Row, box: Box): Range {
  return [
    leastIn(row, box),
    -leastIn(
      row.map((factor) => -factor + 0),
      box,
    ),
  ]
}

/** Most different polyhedra of a loop; beyond, vectors with the same entries share one, so that a schedule is chosen in a moment. */
const MOST_REACHES = 24

/**
 * Returns the conflicts with few different polyhedra: all vectors with the same entries get one hull, which allows what any of theirs
 * allows. It bounds the axes, and the sums and differences of two (the octagons of Miné).
 */
export function withFewReaches<T extends { readonly vector: Vector }>(
  conflicts: readonly T[],
  extents: Extents,
  most: number = MOST_REACHES,
): readonly T[] {
  if (new Set(conflicts.map(({ vector }) => vector.reach?.id)).size <= most) return conflicts
  const members = new Map<string, Vector[]>()
  for (const { vector } of conflicts) members.set(vector.join(), [...(members.get(vector.join()) ?? []), vector])
  const together = new Map([...members].map(([entries, vectors]) => [entries, hullOf(vectors, extents)]))
  return conflicts.map((conflict) => ({ ...conflict, vector: together.get(conflict.vector.join()) ?? [...conflict.vector] }))
}

/** Returns one vector that covers several with the same entries. */
function hullOf(vectors: readonly Vector[], extents: Extents): Vector {
  const entries = [...(vectors[0] ?? [])]
  const reaches = [...new Map(vectors.map(({ reach }) => [reach?.id, reach])).values()].map((reach) => reach && withBox(reach))
  const rank = entries.length
  const unit = (axis: number) => [...entries.map((_, other) => (other === axis ? 1 : 0)), 0]
  const rows = octagonForms(rank).flatMap((form) => {
    const least = Math.min(...reaches.map((reach) => (reach ? leastAlong(form, reach) : Number.NEGATIVE_INFINITY)))
    return Number.isFinite(least) ? [[...form, -least + 0]] : []
  })
  const known = exactly(() => simplified({ steps: entries.map((_, axis) => unit(axis)), inequalities: rows }))
  return known === undefined || known === 'none' ? entries : useful(entries, known, extents.map(limitOf))
}

function withBox(reach: Reach): Reach & { readonly box: Box } {
  const count = (reach.steps[0]?.length ?? 1) - 1
  return { ...reach, box: boxOf(reach.inequalities, count) ?? boxOf([], count) ?? { least: [], greatest: [] } }
}

/** Returns the forms of each axis, each sum and each difference of two, with both signs. */
function octagonForms(rank: number): Form[] {
  const axes = Array.from({ length: rank }, (_, axis) => axis)
  const form = (terms: readonly (readonly [number, number])[]): Form =>
    axes.map((axis) => terms.find(([other]) => other === axis)?.[1] ?? 0)
  const signs = [1, -1]
  return axes.flatMap((a) => [
    ...signs.map((sign) => form([[a, sign]])),
    ...axes.slice(a + 1).flatMap((b) =>
      signs.flatMap((x) =>
        signs.map((y) =>
          form([
            [a, x],
            [b, y],
          ]),
        ),
      ),
    ),
  ])
}

/** Returns a lower bound of a form along the steps, from the bounds of the parameters or from one parallel inequality. */
function leastAlong(form: Form, { steps, inequalities, box }: Reach & { readonly box: Box }): number {
  const row = rowAlong(form, steps)
  if (row === undefined) return Number.NEGATIVE_INFINITY
  const parallel = inequalities[parallelTo(row, inequalities, 1) ?? -1]
  return Math.max(leastIn(row, box), parallel === undefined ? Number.NEGATIVE_INFINITY : constantOf(row) - constantOf(parallel))
}
