/**
 * Linear equations and inequalities over the integers: is there a solution, how far does a step range, which is least?
 *
 * The unknowns are written in free parameters t: every expression that matters is a row of whole coefficients over t
 * and a constant. Equations are solved when they are met, by unimodular changes of the parameters (Euclid's algorithm
 * on columns, so the GCD test comes free); what stays are inequalities, row >= 0, which `elimination.ts` projects and
 * searches.
 *
 *     2p = q + 1     t = p     p is [1, 0], q is [2, -1]        6p = 4q + 1     no solution: 2 does not divide 1
 *
 * Whatever leaves the exactly representable integers throws `TooLarge`; the caller then assumes the worst.
 */
import { boxOf, soleColumn } from './box.ts'
import { type Budget, Elimination } from './elimination.ts'
import { checked, constantOf, gathered, insert, parallelTo, type Row } from './rows.ts'

export interface Range {
  readonly least: number
  readonly greatest: number
}

export class IntegerSystem {
  feasible = true
  /** The expressions that can be asked about, over the parameters. */
  private readonly watched: Row[]
  private inequalities: Row[]

  private constructor(watched: Row[], inequalities: Row[]) {
    this.watched = watched
    this.inequalities = inequalities
  }

  /** Builds the system over the variables that the columns stand for; the first `watched` of them can be asked about. */
  static of(columns: number, watched: number, equations: readonly Row[], inequalities: readonly Row[]): IntegerSystem {
    const unit = (at: number): Row => {
      const row = new Array<number>(columns + 1).fill(0)
      row[at] = 1
      return row
    }
    const expressions: Row[] = []
    for (let at = 0; at < watched; at++) expressions.push(unit(at))
    const system = new IntegerSystem(expressions, inequalities.map(copyOf))
    // Bounds are propagated before equations are solved: each variable has bounds of its own then.
    const opposite = equations.map((row) => row.map((factor) => -factor + 0))
    const box = boxOf([...equations, ...opposite, ...inequalities], columns)
    if (box === undefined) {
      system.feasible = false
      return system
    }
    const pending: Row[] = []
    for (const [column, least] of box.least.entries()) {
      if (least !== box.greatest[column]) continue
      const row = unit(column)
      row[columns] = -least + 0
      pending.push(row)
    }
    for (const row of equations) pending.push(copyOf(row))
    for (const [at, row] of pending.entries()) if (system.feasible) system.solve(row, pending.slice(at + 1))
    if (system.feasible) system.settle()
    return system
  }

  copy(): IntegerSystem {
    const copy = new IntegerSystem(this.watched.map(copyOf), this.inequalities.map(copyOf))
    copy.feasible = this.feasible
    return copy
  }

  /** Adds a - b = value. */
  equal(a: number, b: number, value: number): this {
    if (this.feasible) this.solve(this.difference(a, b, value), [])
    if (this.feasible) this.settle()
    return this
  }

  /** Adds a - b >= value. */
  atLeast(a: number, b: number, value: number): this {
    if (!insert(this.inequalities, this.difference(a, b, value))) this.feasible = false
    this.solveMeeting()
    this.narrow()
    return this
  }

  /**
   * Returns the range of a - b; undefined where there is surely no solution. Both ends are reached, unless the budget ends: then the range
   * may be too wide. A constant a - b is returned without a search for a solution.
   */
  range(a: number, b: number, budget: Budget): Range | undefined {
    if (!this.feasible) return undefined
    const step = this.difference(a, b, 0)
    return new Elimination(this.inequalities.map(copyOf), [step], budget).range()
  }

  /** Returns the least solution, watched expressions in their order; 'none' where there is none, 'unknown' where the budget ended. */
  least(budget: Budget): readonly number[] | 'none' | 'unknown' {
    if (!this.feasible) return 'none'
    return new Elimination(this.inequalities.map(copyOf), this.watched.map(copyOf), budget).least()
  }

  /**
   * Projects onto the steps a - b: steps over free whole numbers, with the inequalities that hold of those. Every solution's steps are
   * among them; undefined where there is surely no solution.
   */
  differences(pairs: readonly (readonly [a: number, b: number])[], budget: Budget): { steps: Row[]; inequalities: Row[] } | undefined {
    const steps = pairs.map(([a, b]) => this.difference(a, b, 0))
    const projected = new Elimination(this.inequalities.map(copyOf), steps, budget).projection()
    return projected && { steps: projected.targets, inequalities: projected.inequalities }
  }

  private difference(a: number, b: number, value: number): Row {
    const [left = [], right = []] = [this.watched[a], this.watched[b]]
    const row = left.map((x, column) => checked(x - (right[column] ?? 0)))
    const last = row.length - 1
    row[last] = checked((row[last] ?? 0) - value)
    return row
  }

  /** Solves row = 0 for one parameter, whose coefficient then is 0 in every row; `others` are equations still to be solved. */
  private solve(row: Row, others: Row[]): void {
    const rows = [row, ...this.watched, ...this.inequalities, ...others]
    const last = row.length - 1
    const column = gathered(row, rows, 0, last)
    const constant = row[last] ?? 0
    if (column === undefined) {
      if (constant !== 0) this.feasible = false
      return
    }
    const factor = row[column] ?? 1
    if (constant % factor !== 0) {
      this.feasible = false
      return
    }
    const value = -constant / factor
    for (const one of rows) {
      const times = one[column] ?? 0
      if (times === 0) continue
      one[last] = checked((one[last] ?? 0) + checked(times * value))
      one[column] = 0
    }
  }

  /** Brings the inequalities into normal form after the parameters have changed. */
  private settle(): void {
    const rows: Row[] = []
    for (const row of this.inequalities) if (!insert(rows, row)) this.feasible = false
    this.inequalities = rows
    this.solveMeeting()
    this.narrow()
  }

  /** Solves for the parameters that have one value left, and tightens the bounds that inequalities give the others. */
  private narrow(): void {
    if (!this.feasible) return
    const box = boxOf(this.inequalities, (this.inequalities[0]?.length ?? 1) - 1)
    if (box === undefined) {
      this.feasible = false
      return
    }
    const fixed = box.least.findIndex((least, column) => least === box.greatest[column])
    if (fixed >= 0) {
      this.solve([...box.least.map((_, column) => (column === fixed ? 1 : 0)), -(box.least[fixed] ?? 0) + 0], [])
      this.settle()
      return
    }
    for (const row of this.inequalities) {
      const column = soleColumn(row)
      if (column === undefined) continue
      const last = row.length - 1
      row[last] = (row[column] ?? 0) > 0 ? -(box.least[column] ?? 0) + 0 : (box.greatest[column] ?? 0)
    }
  }

  /** Solves an inequality as an equation where its opposite holds too. */
  private solveMeeting(): void {
    for (const row of this.feasible ? this.inequalities : []) {
      const opposite = this.inequalities[parallelTo(row, this.inequalities, -1) ?? -1]
      const gap = opposite === undefined ? 1 : constantOf(row) + constantOf(opposite)
      if (gap > 0) continue
      if (gap < 0) this.feasible = false
      else {
        this.solve([...row], [])
        this.settle()
      }
      return
    }
  }
}

function copyOf(row: Row): Row {
  return row.slice()
}
