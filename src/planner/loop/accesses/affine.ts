/**
 * Subscripts as affine forms: whole multiples of variables plus a constant, `2 * i - j + 1`, `n - 1 - k`, `3`.
 *
 * Variables are the axes of the iteration space, the indices of counted inner loops, whole quotients
 * (`Math.floor(i / 4)`, hence `i % 4` and `i & 3` too), values chosen between forms (`Math.max(0, i - 1)`), and symbols:
 * extents that are not known yet but are the same in every iteration. Whatever does not fit (`i * j`, a value read from
 * an array) has no form; the analysis takes it for any integer. `formOf.ts` has the forms of expressions.
 */
/** The bounds of a variable, both inclusive. */
interface Bounded {
  readonly low: number
  readonly high: number
}

export type Variable = Bounded &
  (
    | {
        /** A loop index: a component of the key. */
        readonly kind: 'key'
        readonly axis: number
      }
    | {
        /** The index of a counted loop inside the body, or its iteration number; `id` is unique in the body. */
        readonly kind: 'inner'
        readonly id: number
        readonly name: string
      }
    | {
        /** One of the forms in `parts`, as `means` says; `exact` where the constraints say all. `id` is unique in the body. */
        readonly kind: 'choice'
        readonly id: number
        readonly name: string
        readonly parts: readonly Form[]
        /** Which of them it is, if that goes by their size. */
        readonly extreme?: 'least' | 'greatest'
        readonly means: readonly Constraint[]
        readonly exact: boolean
      }
    | {
        /** `of / by` as a whole number, rounded down or towards zero; `by` is positive. Equal quotients are one variable. */
        readonly kind: 'quotient'
        readonly of: Form
        readonly by: number
        readonly toward: 'floor' | 'zero'
      }
    | {
        /** The extent of an axis of an array, where it is not known yet. */
        readonly kind: 'extent'
        readonly array: number
        readonly axis: number
        readonly name: string
      }
    | {
        /** A value read from an array whose values `assume.distinct` says differ, and where it was read; `id` is unique in the body. */
        readonly kind: 'distinct'
        readonly id: number
        readonly array: string
        readonly at: readonly (Form | undefined)[]
      }
  )

export interface Term {
  readonly variable: Variable
  /** A whole number, not 0. */
  readonly factor: number
}

/** The sum of its terms and the offset. Each variable has one term, in the order of their ids. */
export interface Form {
  readonly terms: readonly Term[]
  readonly offset: number
}

/** A condition on the variables that holds wherever an access happens. */
export type Constraint =
  /** form >= 0 */
  | { readonly kind: 'atLeast'; readonly form: Form }
  /** form = 0 */
  | { readonly kind: 'equal'; readonly form: Form }
  /** In at least one of the cases, all constraints hold. */
  | { readonly kind: 'either'; readonly cases: readonly (readonly Constraint[])[] }

/** Bound of keys and extents, which are below it; see `checkShape`. */
export const LARGEST_KEY: number = 2 ** 31

/** Largest absolute value of a form; beyond it there is none, since a body computes in doubles, which are exact up to 2^53. */
export const LARGEST_SIZE: number = 2 ** 51

export function constantForm(offset: number): Form {
  return { terms: [], offset }
}

/** Returns the form that is a variable alone. */
export function variableForm(variable: Variable): Form {
  return { terms: [{ variable, factor: 1 }], offset: 0 }
}

/** Returns left + times * right; undefined where it could be too large. */
export function sum(left: Form, right: Form, times: number): Form | undefined {
  if (sizeOf(left) + Math.abs(times) * sizeOf(right) > LARGEST_SIZE) return undefined
  const factors = new Map(left.terms.map((term) => [variableId(term.variable), term]))
  for (const { variable, factor } of right.terms) {
    const id = variableId(variable)
    const total = (factors.get(id)?.factor ?? 0) + times * factor
    if (total === 0) factors.delete(id)
    else factors.set(id, { variable, factor: total })
  }
  const terms = [...factors].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, term]) => term)
  // A value that was read may be a fraction: multiples of it, or sums of several, would say too much.
  if (terms.some(({ variable, factor }) => variable.kind === 'distinct' && Math.abs(factor) !== 1)) return undefined
  if (terms.filter(({ variable }) => variable.kind === 'distinct').length > 1) return undefined
  return { terms, offset: left.offset + times * right.offset + 0 }
}

/** Returns a bound of the absolute value of a form. */
export function sizeOf({ terms, offset }: Form): number {
  return terms.reduce(
    (size, { variable, factor }) => size + Math.abs(factor) * Math.max(Math.abs(variable.low), Math.abs(variable.high)),
    Math.abs(offset),
  )
}

/** Returns a text that is equal for equal variables. */
export function variableId(variable: Variable): string {
  switch (variable.kind) {
    case 'key':
      return `key ${variable.axis}`
    case 'inner':
    case 'choice':
    case 'distinct':
      return `${variable.kind} ${variable.id}`
    case 'quotient':
      return `quotient ${formId(variable.of)} by ${variable.by} toward ${variable.toward}`
    case 'extent':
      return `extent ${variable.array} ${variable.axis}`
  }
}

function formId({ terms, offset }: Form): string {
  return `(${terms.map(({ variable, factor }) => `${factor} ${variableId(variable)} + `).join('')}${offset})`
}

/** Returns the forms that a variable is not below, and those that it is not above, as constraints say outright, in their order. */
export function boundsOf(
  variable: Variable,
  constraints: readonly Constraint[],
): { readonly lows: readonly Form[]; readonly highs: readonly Form[] } {
  const id = variableId(variable)
  const [lows, highs]: [Form[], Form[]] = [[], []]
  for (const constraint of constraints) {
    if (constraint.kind !== 'atLeast') continue
    const { terms, offset } = constraint.form
    const own = terms.find((term) => variableId(term.variable) === id)
    // variable + others >= 0, or others - variable >= 0
    const others: Form = { terms: terms.filter((term) => term !== own), offset }
    const low = own?.factor === 1 ? sum(constantForm(0), others, -1) : undefined
    if (low !== undefined) lows.push(low)
    if (own?.factor === -1) highs.push(others)
  }
  return { lows, highs }
}

/** Returns the bounds of a form, both inclusive. */
export function rangeOf(form: Form): readonly [low: number, high: number] {
  const { terms, offset } = form
  for (const { variable, factor } of terms) {
    if (variable.kind !== 'quotient' || factor % variable.by !== 0) continue
    // times * (of - by * quotient) is a multiple of the remainder.
    const times = -factor / variable.by
    const remainder = remainderForm(variable)
    const rest = remainder && sum(form, remainder, -times)
    if (rest === undefined || rest.terms.length >= terms.length) continue
    const [low, high] = rangeOf(rest)
    const [least, greatest] = scaled([variable.toward === 'floor' ? 0 : 1 - variable.by, variable.by - 1], times)
    return [low + least, high + greatest]
  }
  return terms.reduce<readonly [number, number]>(
    ([low, high], { variable, factor }) => {
      const [least, greatest] = scaled([variable.low, variable.high], factor)
      return [low + least, high + greatest]
    },
    [offset, offset],
  )
}

function scaled([low, high]: readonly [number, number], times: number): readonly [number, number] {
  return times >= 0 ? [times * low, times * high] : [times * high, times * low]
}

/** Returns of - by * quotient. */
export function remainderForm(quotient: Extract<Variable, { kind: 'quotient' }>): Form | undefined {
  return sum(quotient.of, variableForm(quotient), -quotient.by)
}

export function sameForm(a: Form | undefined, b: Form | undefined): boolean {
  if (a === b) return true
  if (a === undefined || b === undefined || a.offset !== b.offset || a.terms.length !== b.terms.length) return false
  return a.terms.every(({ variable, factor }, i) => {
    const other = b.terms[i]
    return other !== undefined && other.factor === factor && variableId(other.variable) === variableId(variable)
  })
}

/** Returns the variable of a form that is a variable plus a constant; undefined for any other form. */
export function singleVariable({ terms }: Form): Variable | undefined {
  const [term] = terms
  return terms.length === 1 && term?.factor === 1 ? term.variable : undefined
}

/** Whether the loop indices, those of inner loops and extents included, decide the value of a form. */
export function isDecided({ terms }: Form): boolean {
  return terms.every(({ variable }) => isDecidedVariable(variable))
}

function isDecidedVariable(variable: Variable): boolean {
  switch (variable.kind) {
    case 'key':
    case 'inner':
    case 'extent':
      return true
    case 'choice':
      return variable.exact
    case 'quotient':
      return isDecided(variable.of)
    case 'distinct':
      return false
  }
}
