/**
 * Collects the facts about two iterations p and q, and turns them into systems of equations and inequalities.
 *
 * Variables, in this order: the axes of p; the axes of q; then, as they are met, inner loop indices, choices and values
 * read (of each side its own) and extents (shared, since they are the same in all iterations).
 */
import { type Constraint, type Form, remainderForm, type Variable, variableForm, variableId } from '../accesses/affine.ts'
import { IntegerSystem } from './integerSystem.ts'
import type { Row } from './rows.ts'

export type Side = 'p' | 'q'

/** A sum over variables by number. */
interface Sum {
  readonly terms: readonly (readonly [variable: number, factor: number])[]
  readonly offset: number
}

/** Facts that hold together; of each list of choices at least one case holds. */
interface Case {
  /** Sums that are 0. */
  readonly equations: Sum[]
  /** Sums that are not negative. */
  readonly inequalities: Sum[]
  readonly choices: (readonly Case[])[]
}

/** Most systems made of cases; choices that would make more are left out. */
const MOST_SYSTEMS = 16

/** The condition under which two accesses touch one element. */
export interface Collision {
  /** The accesses meet where one of these has a solution; never where there is none. The keys of p and q are the first variables. */
  readonly systems: readonly IntegerSystem[]
  /** Whether no choice was left out of the systems. */
  readonly complete: boolean
  /** Whether the systems contain extents that only the run knows. */
  readonly needsExtents: boolean
}

export class Facts {
  private readonly rank: number
  private readonly all = emptyCase()
  private readonly numbers = new Map<string, number>()
  private count: number
  private needsExtents = false

  constructor(rank: number) {
    this.rank = rank
    this.count = 2 * rank
  }

  /** Adds 0 <= form < extent, for an iteration; without an extent, 0 <= form alone. */
  within(side: Side, form: Form, extent: Form | undefined): void {
    this.all.inequalities.push(this.sum(side, form, 1))
    if (extent === undefined) return
    const above = this.sum(side, form, -1)
    const end = this.sum(side, extent, 1)
    this.all.inequalities.push({ terms: [...above.terms, ...end.terms], offset: above.offset + end.offset - 1 })
  }

  /** Adds that the form of p and the form of q are equal. */
  agree(p: Form, q: Form): void {
    const [left, right] = [this.sum('p', p, 1), this.sum('q', q, -1)]
    this.all.equations.push({ terms: [...left.terms, ...right.terms], offset: left.offset + right.offset })
  }

  hold(side: Side, constraint: Constraint): void {
    this.put(this.all, side, constraint)
  }

  systems(): Collision {
    const { cases, complete } = combinations(this.all)
    const systems = cases.map(({ equations, inequalities }) => {
      const rows = [equations, inequalities].map((sums) => sums.map((sum) => this.row(sum)))
      return IntegerSystem.of(this.count, 2 * this.rank, rows[0] ?? [], rows[1] ?? [])
    })
    return { systems: systems.filter((system) => system.feasible), complete, needsExtents: this.needsExtents }
  }

  private put(into: Case, side: Side, constraint: Constraint): void {
    switch (constraint.kind) {
      case 'atLeast':
        into.inequalities.push(this.sum(side, constraint.form, 1))
        return
      case 'equal':
        into.equations.push(this.sum(side, constraint.form, 1))
        return
      case 'either':
        into.choices.push(
          constraint.cases.map((constraints) => {
            const one = emptyCase()
            for (const inner of constraints) this.put(one, side, inner)
            return one
          }),
        )
    }
  }

  private sum(side: Side, { terms, offset }: Form, times: 1 | -1): Sum {
    return {
      terms: terms.map(({ variable, factor }) => [this.numberOf(side, variable), times * factor]),
      offset: times * offset,
    }
  }

  private numberOf(side: Side, variable: Variable): number {
    if (variable.kind === 'key') return (side === 'p' ? 0 : this.rank) + variable.axis
    const id = variable.kind === 'extent' ? variableId(variable) : `${side} ${variableId(variable)}`
    const known = this.numbers.get(id)
    if (known !== undefined) return known
    const number = this.count++
    this.numbers.set(id, number)
    // The meaning of a variable holds wherever the variable occurs.
    for (const constraint of meaningOf(variable)) this.hold(side, constraint)
    if (variable.kind !== 'extent') return number
    this.needsExtents = true
    this.within('p', variableForm(variable), undefined)
    return number
  }

  private row({ terms, offset }: Sum): Row {
    const row: Row = new Array<number>(this.count + 1).fill(0)
    for (const [variable, factor] of terms) row[variable] = (row[variable] ?? 0) + factor
    row[this.count] = offset
    return row
  }
}

/** Returns the constraints between a choice or a quotient and the forms that decide it. */
function meaningOf(variable: Variable): readonly Constraint[] {
  if (variable.kind === 'choice') return variable.means
  const rest = variable.kind === 'quotient' ? remainderForm(variable) : undefined
  if (variable.kind !== 'quotient' || rest === undefined) return []
  const { of, by, toward } = variable
  const down = [atLeast(rest, 1, 0), atLeast(rest, -1, by - 1)]
  if (toward === 'floor') return down
  const up = [atLeast(rest, 1, by - 1), atLeast(rest, -1, 0)]
  return [
    {
      kind: 'either',
      cases: [
        [atLeast(of, 1, 0), ...down],
        [atLeast(of, -1, -1), ...up],
      ],
    },
  ]
}

/** Returns sign * form + constant >= 0. */
function atLeast({ terms, offset }: Form, sign: 1 | -1, constant: number): Constraint {
  const signed = terms.map(({ variable, factor }) => ({ variable, factor: sign * factor }))
  return { kind: 'atLeast', form: { terms: signed, offset: sign * offset + constant } }
}

function emptyCase(): Case {
  return { equations: [], inequalities: [], choices: [] }
}

/** A case without choices. */
interface Plain {
  readonly equations: readonly Sum[]
  readonly inequalities: readonly Sum[]
}

/** Combines the cases of all choices, the first cases first. */
function combinations({ equations, inequalities, choices }: Case): { readonly cases: readonly Plain[]; readonly complete: boolean } {
  let cases: Plain[] = [{ equations, inequalities }]
  let complete = true
  for (const choice of choices) {
    const parts = choice.map(combinations)
    if (parts.some((part) => !part.complete)) complete = false
    const options = parts.flatMap((part) => part.cases)
    if (cases.length * options.length > MOST_SYSTEMS) {
      complete = false
      continue
    }
    cases = cases.flatMap((one) =>
      options.map((option) => ({
        equations: [...one.equations, ...option.equations],
        inequalities: [...one.inequalities, ...option.inequalities],
      })),
    )
  }
  return { cases, complete }
}
