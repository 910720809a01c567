/**
 * Forms (hyperplanes): whole-number combinations of the loop indices, along which a skewed space is cut.
 *
 *     axis i of (i, j)     [1, 0]
 *     i + j                [1, 1]       its lines i + j = c are the anti-diagonals
 *     j + 2 i              [2, 1]       j skewed by i, twice
 *     -j                   [0, -1]      j backwards
 *
 * Two forms that a skewed schedule cuts along are rows of a unimodular matrix T (Wolf and Lam, A loop transformation
 * theory and an algorithm to maximize parallelism, 1991): the other rows can be chosen so that the determinant is 1.
 * That is so exactly if the 2 x 2 minors of the two rows have no common divisor; T then maps the iterations onto all
 * whole points of the skewed space, and no tile is thinned out.
 */
import type { Form } from '../../../core/loop/schedules.ts'
import { axisForm } from '../../../core/loop/schedules.ts'
import { limitOf } from './knownSteps.ts'
import { mayOppose, type Range, rangeAlong, type Vector } from './reach.ts'
import { perpendicular } from './rows.ts'

/** Returns the least and the greatest step of a form along a dependence vector. */
export function stepAlong(form: Form, vector: Vector): Range {
  const [least, greatest] = [leastByEntries(form, vector, 1), -leastByEntries(form, vector, -1)]
  if (vector.reach === undefined || least === greatest) return [least, greatest]
  const [low, high] = rangeAlong(form, vector.reach)
  return [Math.max(least, low), Math.min(greatest, high)]
}

/** Whether a form never goes back along a vector. */
export function goesForward(form: Form, vector: Vector): boolean {
  if (leastByEntries(form, vector, 1) >= 0) return true
  if (vector.reach === undefined || leastByEntries(form, vector, -1) > 0) return false
  return rangeAlong(form, vector.reach)[0] >= 0
}

/** Whether a form neither goes forward nor back along a vector. */
export function standsStill(form: Form, vector: Vector): boolean {
  const [least, greatest] = [leastByEntries(form, vector, 1), -leastByEntries(form, vector, -1)]
  if (vector.reach === undefined || least > 0 || greatest < 0 || least === greatest) return least === 0 && greatest === 0
  const [low, high] = rangeAlong(form, vector.reach)
  return Math.max(least, low) === 0 && Math.min(greatest, high) === 0
}

/** Returns a lower bound of a multiple of a form along a vector, as far as the entries tell. */
function leastByEntries(form: Form, vector: Vector, times: 1 | -1): number {
  let least = 0
  for (let axis = 0; axis < form.length; axis++) {
    const coefficient = times * (form[axis] ?? 0)
    if (coefficient === 0) continue
    const distance = vector[axis] ?? '*'
    if (typeof distance === 'number') least += coefficient * distance
    else if (distance === (coefficient > 0 ? '+' : '-')) least += Math.abs(coefficient)
    else return Number.NEGATIVE_INFINITY
  }
  return least
}

/** Whether a vector may go forward along one form and back along the other. */
export function mayTurn(a: Form, b: Form, vector: Vector): boolean {
  const [[low, high], [least, greatest]] = [stepAlong(a, vector), stepAlong(b, vector)]
  const turns = (high > 0 && least < 0) || (low < 0 && greatest > 0)
  return turns && (vector.reach === undefined || mayOppose(a, b, vector.reach))
}

/** Returns the sum of the absolute coefficients: 1 for an axis, 2 for i + j. */
export function skewOf(form: Form): number {
  let skew = 0
  for (const coefficient of form) skew += Math.abs(coefficient)
  return skew
}

/** Returns the axes that occur in forms. */
export function axesIn(forms: readonly Form[]): number[] {
  const rank = Math.max(0, ...forms.map((form) => form.length))
  const axes: number[] = []
  for (let axis = 0; axis < rank; axis++) if (forms.some((form) => at(form, axis) !== 0)) axes.push(axis)
  return axes
}

/** Whether two forms are rows of a unimodular matrix. */
export function areUnimodular(a: Form, b: Form): boolean {
  let divisor = 0
  for (let i = 0; i < a.length; i++) {
    for (let j = i + 1; j < a.length; j++) divisor = gcd(divisor, Math.abs(at(a, i) * at(b, j) - at(a, j) * at(b, i)))
  }
  return divisor === 1
}

function at(form: Form, axis: number): number {
  return form[axis] ?? 0
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b)
}

/** Greatest factor of a skew; steeper ones leave tiles with hardly an iteration. */
const STEEPEST = 16
/** Factors tried per axis, by rank, so that the search stays far below a millisecond for small ranks. */
const MOST_FACTORS: readonly number[] = [0, 0, 12, 7, 4]

/**
 * Returns forms worth trying for a set of vectors, the least skewed first: each axis of more than one index, in both directions, plus
 * multiples of the others. The multiples are small ones, and those that make up for a step against the axis.
 */
export const candidateForms: FormsOf = remembered(foundForms)

export type FormsOf = (vectors: readonly Vector[], extents: readonly (number | undefined)[]) => readonly Form[]

/** Caches the forms of a set of vectors, since several schedules ask for the same ones. */
export function remembered(find: FormsOf): FormsOf {
  const found = new WeakMap<readonly Vector[], Map<string, readonly Form[]>>()
  return (vectors, extents) => {
    const known = found.get(vectors) ?? new Map<string, readonly Form[]>()
    found.set(vectors, known)
    const id = extents.join()
    const forms = known.get(id) ?? find(vectors, extents)
    known.set(id, forms)
    return forms
  }
}

function foundForms(vectors: readonly Vector[], extents: readonly (number | undefined)[]): Form[] {
  const rank = extents.length
  const steps = extents.map((extent, axis) => vectors.map((vector) => nearSteps(stepAlong(axisForm(axis, rank), vector), extent)))
  const usable = extents.map((extent) => extent === undefined || extent > 1)
  const found = new Map<string, Form>()
  for (let axis = 0; axis < rank; axis++) {
    if (usable[axis] !== true) continue
    for (const sign of [1, -1]) {
      const most = MOST_FACTORS[Math.min(rank, MOST_FACTORS.length - 1)] ?? 1
      const factors = extents.map((_, other) =>
        other === axis ? [sign] : usable[other] === true ? factorsOf(steps[axis] ?? [], steps[other] ?? []).slice(0, most) : [0],
      )
      for (const form of combinations(factors)) found.set(form.join(), form)
    }
  }
  const forms = [...found.values()].map((form) => ({ form, skew: skewOf(form) }))
  return forms.sort((a, b) => a.skew - b.skew || outerFirst(a.form, b.form)).map(({ form }) => form)
}

function outerFirst(a: Form, b: Form): number {
  const axis = a.findIndex((coefficient, i) => coefficient !== b[i])
  return at(b, axis) - at(a, axis)
}

/** Returns a step, infinite where it varies and goes far: a form that makes up for such a step leaves nothing to run in parallel. */
function nearSteps([least, greatest]: Range, extent: number | undefined): Range {
  if (least === greatest) return [least, greatest]
  const limit = limitOf(extent)
  return [least < -limit ? Number.NEGATIVE_INFINITY : least, greatest > limit ? Number.POSITIVE_INFINITY : greatest]
}

/** Returns the factors of another axis worth adding, the most promising first: those that vectors ask for, then small ones. */
function factorsOf(steps: readonly Range[], levers: readonly Range[]): number[] {
  const asked = steps.flatMap((ends, vector) => {
    const [low = 0, high = 0] = levers[vector] ?? []
    // The least step of the other axis in one direction.
    const each = Math.max(low, -high)
    if (each <= 0) return []
    return ends.flatMap((end) => {
      const factor = Math.ceil(Math.abs(end) / each)
      return factor > 2 && factor <= STEEPEST ? [factor, -factor] : []
    })
  })
  const steepest = [...new Set(asked)].sort((a, b) => Math.abs(b) - Math.abs(a) || b - a)
  return [...new Set([0, 1, -1, ...steepest.slice(0, 2), 2, -2, ...steepest.slice(2)])]
}

function combinations(choices: readonly (readonly number[])[]): Form[] {
  return choices.reduce<Form[]>((forms, values) => forms.flatMap((form) => values.map((value) => [...form, value])), [[]])
}

/** Returns forms with step 0 along all vectors, for bands that no dependence leaves; all other such forms are combinations of these. */
export function normalForms(vectors: readonly Vector[], extents: readonly (number | undefined)[]): Form[] {
  const rank = extents.length
  // Nothing is cut along an axis of one index.
  const narrow = extents.flatMap((extent, axis) => (extent !== undefined && extent <= 1 ? [axisForm(axis, rank)] : []))
  return perpendicular([...narrow, ...vectors.flatMap(directionsOf)], rank).map(forward)
}

/** Returns the form or its opposite, so that the first coefficient that is not 0 is positive. */
function forward(form: Form): Form {
  const sign = (form.find((coefficient) => coefficient !== 0) ?? 1) < 0 ? -1 : 1
  return form.map((coefficient) => coefficient * sign + 0)
}

/** Returns steps that span all those of a vector. */
function directionsOf(vector: Vector): Form[] {
  if (vector.reach !== undefined) {
    const { steps } = vector.reach
    return Array.from({ length: steps[0]?.length ?? 0 }, (_, column) => steps.map((step) => step[column] ?? 0))
  }
  const fixed = vector.map((distance) => (typeof distance === 'number' ? distance : 0))
  return [fixed, ...vector.flatMap((distance, axis) => (typeof distance === 'number' ? [] : [axisForm(axis, vector.length)]))]
}

/** Prints a form, as `j + 2 i`: the innermost axis first, as one says "j skewed by i". */
export function formText(form: Form, names: readonly string[]): string {
  const terms = form.flatMap((coefficient, axis) => (coefficient === 0 ? [] : [{ coefficient, name: names[axis] ?? `i${axis}` }])).reverse()
  return terms
    .map(({ coefficient, name }, i) => {
      const factor = Math.abs(coefficient) === 1 ? name : `${Math.abs(coefficient)} ${name}`
      return i === 0 ? `${coefficient < 0 ? '-' : ''}${factor}` : `${coefficient < 0 ? ' - ' : ' + '}${factor}`
    })
    .join('')
}
