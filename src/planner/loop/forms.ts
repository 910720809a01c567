/**
 * Forms: whole-number combinations of the loop indices, along which a skewed space is cut.
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
import type { Distance } from '../../core/loopPlan.ts'
import type { Form } from '../../core/loopSpec.ts'

/** The least and the greatest step of a form along a dependence vector. */
export function stepAlong(form: Form, vector: readonly Distance[]): readonly [least: number, greatest: number] {
  let [least, greatest] = [0, 0]
  for (const [axis, coefficient] of form.entries()) {
    if (coefficient === 0) continue
    const [low, high] = rangeOf(vector[axis] ?? '*')
    least += coefficient > 0 ? coefficient * low : coefficient * high
    greatest += coefficient > 0 ? coefficient * high : coefficient * low
  }
  return [least, greatest]
}

function rangeOf(distance: Distance): readonly [number, number] {
  if (typeof distance === 'number') return [distance, distance]
  if (distance === '+') return [1, Number.POSITIVE_INFINITY]
  return [Number.NEGATIVE_INFINITY, distance === '-' ? -1 : Number.POSITIVE_INFINITY]
}

/** The form of one axis. */
export function axisForm(axis: number, rank: number): Form {
  return Array.from({ length: rank }, (_, i) => (i === axis ? 1 : 0))
}

/** How far a form is from a plain axis: 1 for an axis, 2 for i + j. */
export function skewOf(form: Form): number {
  return form.reduce((sum, coefficient) => sum + Math.abs(coefficient), 0)
}

/** The axes a form depends on. */
export function axesIn(forms: readonly Form[]): number[] {
  return [...new Set(forms.flatMap((form) => form.flatMap((coefficient, axis) => (coefficient === 0 ? [] : [axis]))))].sort((a, b) => a - b)
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

/** Steeper skews leave tiles with hardly an iteration. */
const STEEPEST = 16
/** Factors tried per axis, so that the search stays far below a millisecond for small ranks. */
const MOST_FACTORS: readonly number[] = [0, 0, 12, 7, 4]

/**
 * Forms worth trying for a set of vectors, the least skewed first: each axis of more than one index, either way round,
 * plus multiples of the others. The multiples are small ones and those with which a step against the axis is made up for.
 */
export function candidateForms(vectors: readonly (readonly Distance[])[], extents: readonly (number | undefined)[]): Form[] {
  const rank = extents.length
  const usable = extents.map((extent) => extent === undefined || extent > 1)
  const found = new Map<string, Form>()
  for (let axis = 0; axis < rank; axis++) {
    if (usable[axis] !== true) continue
    for (const sign of [1, -1]) {
      const most = MOST_FACTORS[Math.min(rank, MOST_FACTORS.length - 1)] ?? 1
      const factors = extents.map((_, other) =>
        other === axis ? [sign] : usable[other] === true ? factorsOf(vectors, axis, other).slice(0, most) : [0],
      )
      for (const form of combinations(factors)) found.set(form.join(), form)
    }
  }
  return [...found.values()].sort((a, b) => skewOf(a) - skewOf(b) || outerFirst(a, b))
}

function outerFirst(a: Form, b: Form): number {
  const axis = a.findIndex((coefficient, i) => coefficient !== b[i])
  return at(b, axis) - at(a, axis)
}

/** How much of `other` is worth adding to a multiple of `axis`: what vectors ask for before what is only small. */
function factorsOf(vectors: readonly (readonly Distance[])[], axis: number, other: number): number[] {
  const asked = vectors.flatMap((vector) => {
    const [distance, lever] = [vector[axis], vector[other]]
    if (typeof distance !== 'number' || distance === 0) return []
    const each = typeof lever === 'number' ? lever : lever === '+' ? 1 : lever === '-' ? -1 : 0
    const factor = each === 0 ? 0 : Math.ceil(Math.abs(distance / each))
    return factor > 2 && factor <= STEEPEST ? [factor, -factor] : []
  })
  const steepest = [...new Set(asked)].sort((a, b) => Math.abs(b) - Math.abs(a) || b - a)
  return [...new Set([0, 1, -1, ...steepest.slice(0, 2), 2, -2, ...steepest.slice(2)])]
}

function combinations(choices: readonly (readonly number[])[]): Form[] {
  return choices.reduce<Form[]>((forms, values) => forms.flatMap((form) => values.map((value) => [...form, value])), [[]])
}

/** Forms that stand still along the first vectors, for bands that no dependence leaves: at right angles to them. */
export function normalForms(vectors: readonly (readonly Distance[])[]): Form[] {
  const steps = vectors.filter((vector): vector is readonly number[] => vector.every((distance) => typeof distance === 'number'))
  const [first] = steps
  if (first?.length === 2) return [primitive([at(first, 1), -at(first, 0)])]
  if (first?.length !== 3) return []
  const crossed = steps.map((step) => cross(first, step)).find((form) => skewOf(form) > 0)
  return crossed === undefined ? [] : [primitive(crossed)]
}

function cross(a: Form, b: Form): Form {
  return [0, 1, 2].map((axis) => {
    const [i, j] = [(axis + 1) % 3, (axis + 2) % 3]
    return at(a, i) * at(b, j) - at(a, j) * at(b, i)
  })
}

/** Without a common divisor, the first coefficient positive. */
function primitive(form: Form): Form {
  const divisor = form.reduce((known, coefficient) => gcd(known, Math.abs(coefficient)), 0)
  const sign = (form.find((coefficient) => coefficient !== 0) ?? 1) < 0 ? -1 : 1
  return form.map((coefficient) => (coefficient * sign) / divisor + 0)
}

/** `j + 2 i`: the innermost axis first, as one says "j skewed by i". */
export function formText(form: Form, names: readonly string[]): string {
  const terms = form.flatMap((coefficient, axis) => (coefficient === 0 ? [] : [{ coefficient, name: names[axis] ?? `i${axis}` }])).reverse()
  return terms
    .map(({ coefficient, name }, i) => {
      const factor = Math.abs(coefficient) === 1 ? name : `${Math.abs(coefficient)} ${name}`
      return i === 0 ? `${coefficient < 0 ? '-' : ''}${factor}` : `${coefficient < 0 ? ' - ' : ' + '}${factor}`
    })
    .join('')
}
