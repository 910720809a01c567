/**
 * Footprints: the part of an array that an iteration can touch. Along each of the array's axes a range that moves with the key, as rows
 * `i` up to `i + 1` of `g.get(i + 1, j)`. What is known here holds for every iteration; an access may also touch less.
 */
import type { Footprint, LoopSpec, Reach } from '../../../core/loop/loopSpec.ts'
import type { Access, Subscript } from './accesses.ts'
import { boundsOf, type Constraint, constantForm, type Form, rangeOf, sum, type Term, type Variable, variableForm } from './affine.ts'

/** Returns the footprints of all accesses that are not added to copies or buffered, without duplicates. */
export function footprintsOf({ over }: LoopSpec, accesses: readonly Access[], reduced: readonly number[]): readonly Footprint[] {
  const found = new Map<string, Footprint>()
  for (const { array, mode, subscripts, buffered, constraints } of accesses) {
    if (buffered || reduced.includes(array)) continue
    for (const along of combined(subscripts.map((one) => reachesOf(one, over.rank, constraints)))) {
      const footprint: Footprint = { array, writes: mode !== 'read', along }
      found.set(JSON.stringify(footprint), footprint)
    }
  }
  return [...found.values()]
}

/** The most forms that one subscript is taken apart into, and the most footprints that an access is. */
const MOST_FORMS = 8
const MOST_FOOTPRINTS = 16
/** The most values of a quotient that are taken one by one, as those of `(i + 1) % n` are. */
const MOST_QUOTIENTS = 3

type Along = Footprint['along']

/** All ways to take one reach of each axis; where these are too many, axes reach anywhere. */
function combined(axes: readonly Along[]): readonly Along[] {
  let found: readonly Along[] = [[]]
  for (const reaches of axes) {
    const taken: Along = found.length * reaches.length > MOST_FOOTPRINTS ? ['any'] : reaches
    found = found.flatMap((before) => taken.map((reach) => [...before, reach]))
  }
  return found
}

function reachesOf(subscript: Subscript, rank: number, constraints: readonly Constraint[]): Along {
  if (subscript.kind === 'unknown') return ['any']
  const forms = takenApart(subscript.form)
  const reaches = (forms.length > MOST_FORMS ? [subscript.form] : forms).map((form) => reachOf(form, rank, constraints))
  return reaches.includes('any') ? ['any'] : reaches
}

/**
 * The forms of which a form is one, in every iteration: those between which `Math.max`, `Math.min` or `?:` choose, and those of a
 * remainder that wraps around, `i + 1` and `i + 1 - n` of `(i + 1) % n`.
 */
function takenApart(form: Form): readonly Form[] {
  for (const term of form.terms) {
    const parts = partsOf(term.variable)
    if (parts === undefined) continue
    const rest = { ...form, terms: form.terms.filter((one) => one !== term) }
    const forms = parts.map((part) => sum(rest, part, term.factor))
    if (forms.includes(undefined)) continue
    return forms.flatMap((one) => takenApart(one as Form)) // all are defined
  }
  return [form]
}

function partsOf(variable: Variable): readonly Form[] | undefined {
  const { kind, low, high } = variable
  if (kind === 'choice') return variable.parts
  if (kind !== 'quotient' || high - low >= MOST_QUOTIENTS) return undefined
  return Array.from({ length: high - low + 1 }, (_, i) => constantForm(low + i))
}

function reachOf({ terms, offset }: Form, rank: number, constraints: readonly Constraint[]): Reach | 'any' {
  const key = new Array<number>(rank).fill(0)
  const add = (form: Form, factor: number): void => {
    for (const { variable, factor: each } of form.terms) if (variable.kind === 'key') key[variable.axis]! += factor * each
  }
  const rest: Term[] = []
  let [least, most] = [0, 0]
  for (const term of terms) {
    const { variable, factor } = term
    if (variable.kind === 'distinct') return 'any' // its bounds are not known
    const window = variable.kind === 'inner' ? windowOf(variable, constraints) : undefined
    if (variable.kind === 'key') add(variableForm(variable), factor)
    else if (window === undefined) rest.push(term)
    else {
      add(window.low, factor)
      least += Math.min(factor * window.low.offset, factor * window.high.offset)
      most += Math.max(factor * window.low.offset, factor * window.high.offset)
    }
  }
  const [low, high] = rangeOf({ terms: rest, offset })
  const reach = { key, low: low + least, high: high + most }
  return Number.isSafeInteger(reach.low) && Number.isSafeInteger(reach.high) ? reach : 'any'
}

/** The narrowest bounds of an inner loop's index that move with the key alike, `i - 2` and `i + 2`; undefined where those that do not move are narrower. */
function windowOf(variable: Variable, constraints: readonly Constraint[]): { readonly low: Form; readonly high: Form } | undefined {
  const bounds = boundsOf(variable, constraints)
  const lows = bounds.lows.flatMap((low) => beyond(low, 'low')).filter(movesWithKey)
  const highs = bounds.highs.flatMap((high) => beyond(high, 'high')).filter(movesWithKey)
  let found: { low: Form; high: Form } | undefined
  let width = variable.high - variable.low // of bounds that do not move
  for (const low of lows) {
    for (const high of highs) {
      if (high.offset - low.offset >= width || sum(high, low, -1)?.terms.length !== 0) continue
      width = high.offset - low.offset
      found = { low, high }
    }
  }
  return found
}

/** What lies on one side of a bound as well: below `Math.max(0, i - 2)` both of its parts, above `Math.min(n - 1, i + 2)` both of its. */
function beyond(bound: Form | undefined, side: 'low' | 'high'): readonly Form[] {
  if (bound === undefined) return []
  const chosen = bound.terms.find(({ variable }) => variable.kind === 'choice')
  if (chosen?.variable.kind !== 'choice') return [bound]
  const isBeyond = (chosen.variable.extreme === 'greatest') === chosen.factor > 0 ? side === 'low' : side === 'high'
  if (chosen.variable.extreme === undefined || !isBeyond) return []
  const rest = { ...bound, terms: bound.terms.filter((term) => term !== chosen) }
  return chosen.variable.parts.flatMap((part) => beyond(sum(rest, part, chosen.factor), side))
}

function movesWithKey({ terms }: Form): boolean {
  return terms.length > 0 && terms.every(({ variable }) => variable.kind === 'key')
}
