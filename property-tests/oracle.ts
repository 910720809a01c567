/**
 * The oracle of schedules: of the steps that really occur in small instances, which schedules order them all?
 *
 * Every pair of iterations that touches one element, not only reading it, is a step q - p. A schedule is legal exactly if it
 * orders these steps. Forms with small coefficients are tried, all of them.
 */
import type { RandomLoop } from './arbitraries/loopBody.ts'
import { traceLoop } from './arbitraries/loopTrace.ts'

export type Step = readonly number[]

/** From the freest on. */
export const ORACLE_KINDS = ['independent', '1d', '2d', 'wavefront', 'skewed'] as const
export type OracleKind = (typeof ORACLE_KINDS)[number]

/** An iteration that touches an element. */
interface Use {
  readonly key: readonly number[]
  readonly writes: boolean
}

/** The steps between iterations in conflict, by the definition; additions to arrays that are only added to are none. */
export function stepsOf(loop: RandomLoop, onlyAdded: readonly number[]): Step[] {
  const users = new Map<string, Use[]>()
  for (const [at, touches] of traceLoop(loop).entries()) {
    const own = new Map<string, boolean>()
    for (const { array, element, mode } of touches) {
      const id = `${array} ${element}`
      if (!onlyAdded.includes(array)) own.set(id, own.get(id) === true || mode !== 'read')
    }
    for (const [id, writes] of own) {
      const use = { key: loop.iterations[at] ?? [], writes }
      const list = users.get(id)
      if (list === undefined) users.set(id, [use])
      else list.push(use)
    }
  }
  const steps = new Map<number, Step>()
  for (const list of users.values()) {
    for (const [i, p] of list.entries()) {
      for (let j = i + 1; j < list.length; j++) {
        const q = list[j]
        if (q === undefined || (!p.writes && !q.writes)) continue
        const step = q.key.map((k, axis) => k - (p.key[axis] ?? 0))
        // Entries are far below 32.
        steps.set(
          step.reduce((id, d) => 64 * id + d + 32, 0),
          step,
        )
      }
    }
  }
  return [...steps.values()]
}

/** The freest schedule that orders all steps, with the forms it is cut along; undefined where only a serial one does. */
export function freestSchedule(
  steps: readonly Step[],
  extents: readonly number[],
  order: 'serial' | 'any',
): { readonly kind: OracleKind; readonly forms: readonly Step[] } | undefined {
  if (steps.length === 0) return { kind: 'independent', forms: [] }
  const axes = extents.flatMap((extent, axis) => (extent > 1 ? [axis] : []))
  if (axes.length < 2) return undefined
  const forms = smallForms(extents)
  const still = forms.find((form) => steps.every((step) => along(form, step) === 0))
  if (still !== undefined) return { kind: '1d', forms: [still] }
  const squares = pairsOf(axes.map((axis) => extents.map((_, other) => (other === axis ? 1 : 0))))
  const apart = squares.find((pair) => steps.every((step) => pair.some((form) => along(form, step) === 0)))
  if (order === 'any' && apart !== undefined) return { kind: '2d', forms: apart }
  const square = squares.find((pair) => steps.every((step) => isOrdered([along(pair[0], step), along(pair[1], step)], order)))
  if (square !== undefined) return { kind: 'wavefront', forms: square }
  const ahead = forms.filter((form) => steps.every((step) => along(form, step) >= 0))
  const skewed = pairsOf(ahead).find(isUnimodular)
  return skewed && { kind: 'skewed', forms: skewed }
}

/** Whether a step goes forward along both forms; with order 'any' it may go back along both. */
function isOrdered(step: Step, order: 'serial' | 'any'): boolean {
  return step.every((d) => d >= 0) || (order === 'any' && step.every((d) => d <= 0))
}

/**
 * Forms of coefficients so small that they are no match for the longest steps of the largest instance: a form that makes up
 * for a step through a whole axis would do for this extent only.
 */
function smallForms(extents: readonly number[]): Step[] {
  const steepest = extents.length > 2 ? 1 : 2
  const coefficients = Array.from({ length: 2 * steepest + 1 }, (_, i) => i - steepest)
  const all = extents.reduce<Step[]>(
    (forms, extent) => forms.flatMap((form) => (extent > 1 ? coefficients : [0]).map((coefficient) => [...form, coefficient])),
    [[]],
  )
  return all.filter((form) => divisorOf(form) === 1)
}

const along = (form: Step, step: Step): number => form.reduce((sum, coefficient, axis) => sum + coefficient * (step[axis] ?? 0), 0)

/** The greatest common divisor; 0 where all are 0. */
const divisorOf = (numbers: Step): number => numbers.reduce((known, number) => gcd(known, Math.abs(number)), 0)

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

/** Whether the two forms are rows of a unimodular matrix: their minors have no common divisor. */
function isUnimodular([a, b]: readonly [Step, Step]): boolean {
  return divisorOf(a.flatMap((x, i) => b.slice(i + 1).map((y, j) => x * y - (a[i + 1 + j] ?? 0) * (b[i] ?? 0)))) === 1
}

function pairsOf(forms: readonly Step[]): [Step, Step][] {
  return forms.flatMap((a, i) => forms.slice(i + 1).map((b): [Step, Step] => [a, b]))
}
