/**
 * The order that a schedule keeps among iterations, wherever its blocks are cut, and to which the race checker holds a run.
 *
 *     independent   no two
 *     1d on a       p and q with p[a] = q[a]: in one block, so in key order
 *     2d on a, b    p[a] = q[a] or p[b] = q[b]: in one row or column of blocks, so one after the other
 *     wavefront     order 'serial': p[a] <= q[a] and p[b] <= q[b], where p is first in key order
 *     on a, b       order 'any': the same, either way round
 *     colored       as the inspector found: p and q of one component; p of a lower level or color than q
 *     skewed        as a wavefront, with the values of the two forms in place of p[a] and p[b]
 *     stepped       p and q of different steps, and those of one step that the inner schedule keeps in order
 *
 * Statement: blocks are cut along the axes or forms of the schedule, monotonely. Iterations that are in order here run in that
 * order under every cut, and those that are not run together, or the wrong way round, under some cut. So a conflict is
 * found on a small instance whose blocks happen to hide it.
 */
import type { Form, Schedule } from '../../../core/loop/schedules.ts'
import { CUT_ORDERS, cutFormsOf } from '../../../core/loop/schedules.ts'
import { extentsOf, type IterationSpace } from '../blocks/schedule.ts'
import type { Finding } from '../inspector/finding.ts'

/** Iterations by position: row-major in a box, the element's otherwise. */
export interface RaceOrder {
  /** Whether p, which the serial run meets first, surely runs before q or in one block with it. */
  readonly ordered: (p: number, q: number) => boolean
  /** Whether p in order with q, and q with r, gives p in order with r. */
  readonly transitive: boolean
  /**
   * A few of the iterations `kept` and `next`, so that whoever comes later is in order with all of those that `kept`
   * stands for, and with `next`, if it is in order with the few.
   */
  readonly keep: (kept: readonly number[], next: number) => readonly number[]
}

type Along = (position: number) => number

/** The order of a schedule; undefined where everything is in order. */
export function raceOrderOf(schedule: Schedule, space: IterationSpace, order: 'serial' | 'any', finding?: Finding): RaceOrder | undefined {
  if (schedule.kind === 'serial') return undefined
  if (schedule.kind === 'colored') {
    if (finding === undefined || finding.kind === 'nothing') return undefined
    const of = (position: number): number => finding.of[position] as number
    return finding.kind === 'components' ? inOneCell(of) : inSteps(of)
  }
  if (schedule.kind === 'stepped') {
    const inner = raceOrderOf(schedule.inner, space, order)
    return inner === undefined ? undefined : stepByStep(stepAlong(space, schedule.outer), inner)
  }
  const [a, b = a] = cutFormsOf(schedule, extentsOf(space).length).map((form) => valueAlong(space, form))
  if (a === undefined || b === undefined) return inOneCell((position) => position) // every iteration is a cell
  switch (CUT_ORDERS[schedule.kind]) {
    case 'free':
      return inOneCell(a)
    case 'lines':
      return onLines(a, b, (p, q) => a(p) === a(q) || b(p) === b(q))
    case 'forward': {
      const forward = (p: number, q: number): boolean => a(p) <= a(q) && b(p) <= b(q)
      return order === 'serial' ? furthest(a, b, forward) : onLines(a, b, (p, q) => forward(p, q) || forward(q, p))
    }
  }
}

/** The step of an iteration, steps being counted in their order. */
function stepAlong(space: IterationSpace, outer: number): Along {
  const axes = extentsOf(space)
    .slice(0, outer)
    .map((extent, axis) => ({ extent, along: indexAlong(space, axis) }))
  return (position) => axes.reduce((step, { extent, along }) => step * extent + along(position), 0)
}

/** Iterations come step by step: those of earlier steps are in order with all that is to come. */
function stepByStep(step: Along, inner: RaceOrder): RaceOrder {
  return {
    ordered: (p, q) => step(p) < step(q) || (step(p) === step(q) && inner.ordered(p, q)),
    transitive: inner.transitive,
    keep: (kept, next) =>
      inner.keep(
        kept.filter((p) => step(p) === step(next)),
        next,
      ),
  }
}

/** The index of an iteration along an axis. */
function indexAlong(space: IterationSpace, axis: number): Along {
  switch (space.kind) {
    case 'rows':
      return (position) => position
    case 'sparse': {
      const keys = space.keys[axis] ?? new Int32Array(0)
      return (position) => keys[position] as number
    }
    case 'box': {
      const extents = extentsOf(space)
      const inner = extents.slice(axis + 1).reduce((size, extent) => size * extent, 1)
      const extent = extents[axis] ?? 1
      return (position) => Math.floor(position / inner) % extent
    }
  }
}

/** The value of a form at an iteration. */
function valueAlong(space: IterationSpace, form: Form): Along {
  const terms = form.flatMap((coefficient, axis) => (coefficient === 0 ? [] : [{ coefficient, along: indexAlong(space, axis) }]))
  return (position) => terms.reduce((sum, { coefficient, along }) => sum + coefficient * along(position), 0)
}

/** Order within cells alone. No iteration is in order with those of two cells, so two stand for any number. */
function inOneCell(cell: Along): RaceOrder {
  return {
    ordered: (p, q) => cell(p) === cell(q),
    transitive: true,
    keep: (kept, next) => (kept.length > 1 || kept.some((p) => cell(p) === cell(next)) ? kept : [...kept, next]),
  }
}

/** Order from step to step. An iteration after the highest step so far comes after all. */
function inSteps(step: Along): RaceOrder {
  return {
    ordered: (p, q) => step(p) < step(q),
    transitive: true,
    keep: (kept, next) => (kept.some((p) => step(p) >= step(next)) ? kept : [next]),
  }
}

/** The order of a serial wavefront: the furthest along each axis stand for all. */
function furthest(a: Along, b: Along, ordered: RaceOrder['ordered']): RaceOrder {
  return {
    ordered,
    transitive: true,
    keep: (kept, next) => {
      const all = [...kept, next]
      const [first, second] = [a, b].map((along) => all.reduce((best, p) => (along(p) > along(best) ? p : best))) as [number, number]
      return first === second ? [first] : [first, second]
    },
  }
}

/** The order on a grid: of three iterations on one line, whoever is in order with the outer two is so with the one between. */
function onLines(a: Along, b: Along, ordered: RaceOrder['ordered']): RaceOrder {
  return {
    ordered,
    transitive: false,
    keep: (kept, next) => {
      if (kept.some((p) => a(p) === a(next) && b(p) === b(next))) return kept
      for (const [line, along] of [
        [a, b],
        [b, a],
      ] as const) {
        const [p, q] = kept.filter((one) => line(one) === line(next))
        if (p === undefined || q === undefined) continue
        const [low, high] = along(p) < along(q) ? [p, q] : [q, p]
        if (along(next) > along(low) && along(next) < along(high)) return kept
        const inner = along(next) < along(low) ? low : high
        return kept.map((one) => (one === inner ? next : one))
      }
      return [...kept, next]
    },
  }
}
