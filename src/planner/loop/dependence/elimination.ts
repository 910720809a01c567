/**
 * Projects inequalities over the integers, and searches their solutions.
 *
 * Parameters are eliminated one after another as Fourier and Motzkin did: each lower bound of a parameter is put below
 * each upper bound. Over the integers that is exact where one of the two coefficients is 1, or where the bounds are always
 * far enough apart (Pugh's Omega test), which subscripts, quotients and their ranges nearly always are. Where it is not, solutions are
 * searched: each parameter in turn runs over the range that the projection leaves it. The search is complete, so its answer is exact too,
 * unless the budget ends; then the answer says so.
 */
import { withoutImplied } from './box.ts'
import { checked, floorDivided, gathered, insert, type Row } from './rows.ts'

/** The work that may still be done; one unit is a combination of two inequalities or a step of the search. */
export interface Budget {
  left: number
}

/** Up to so many inequalities, looking for implied ones costs more than combining all. */
const FEW_ROWS = 16

interface Level {
  readonly column: number
  /** The inequalities that bound the parameter by those of the levels before it. */
  readonly rows: readonly Row[]
}

export class Elimination {
  private readonly inequalities: Row[]
  /** The expressions asked about, over the parameters; only the first `rank` parameters occur in them, in order. */
  private readonly targets: readonly Row[]
  private readonly budget: Budget
  private readonly count: number
  private rank = 0
  /** The parameters in the order of the search: first those of the targets, in the order of the targets. */
  private readonly levels: Level[] = []
  /** Number of levels that have to be searched to be sure of a solution. */
  private needed = 0
  private exact = true
  private readonly values: number[]

  /** Takes over the rows. Inequalities are in normal form: none has a common factor, no two differ in their constant only. */
  constructor(inequalities: Row[], targets: readonly Row[], budget: Budget) {
    this.inequalities = inequalities
    this.targets = targets
    this.budget = budget
    this.count = (targets[0]?.length ?? 1) - 1
    this.values = new Array<number>(this.count).fill(0)
    for (const target of targets) this.bringForward(target)
  }

  /** Returns the range of the first target; undefined where there is surely no solution. */
  range(): { readonly least: number; readonly greatest: number } | undefined {
    const [target] = this.targets
    const constant = target?.[this.count] ?? 0
    if (this.rank === 0) return { least: constant, greatest: constant }
    if (!this.project()) return undefined
    const [low, high] = this.bounds(0).map((end, at) => (this.exact || !Number.isFinite(end) ? end : this.reached(end, at === 1)))
    if (low === undefined || high === undefined || low > high) return undefined
    const factor = target?.[0] ?? 1
    return { least: factor * low + constant, greatest: factor * high + constant }
  }

  /** Returns the lexicographically least values of the targets. */
  least(): readonly number[] | 'none' | 'unknown' {
    if (!this.project()) return 'none'
    const outcome = this.search(0, false)
    return outcome === 'found' ? this.targets.map((row) => this.valueOf(row, -1)) : outcome
  }

  /** Projects onto the targets, over as few parameters as they need; undefined where there is surely no solution. */
  projection(): { readonly targets: Row[]; readonly inequalities: Row[] } | undefined {
    if (!this.project()) return undefined
    const cut = (row: Row) => [...row.slice(0, this.rank), row[this.count] ?? 0]
    return { targets: this.targets.map(cut), inequalities: this.levels.slice(0, this.rank).flatMap(({ rows }) => rows.map(cut)) }
  }

  /** Changes the parameters so that a target depends on the first ones alone, and grows with the last of them. */
  private bringForward(target: Row): void {
    const rows = [...this.inequalities, ...this.targets]
    const column = gathered(target, rows, this.rank, this.count)
    if (column === undefined) return
    const sign = (target[column] ?? 0) < 0 ? -1 : 1
    for (const row of rows) {
      const moved = row[column] ?? 0
      row[column] = row[this.rank] ?? 0
      row[this.rank] = sign * moved + 0
    }
    this.rank++
  }

  /** Eliminates all parameters; false where there is surely no solution. */
  private project(): boolean {
    const eliminated: Level[] = []
    const rest: number[] = []
    for (let column = this.rank; column < this.count; column++) rest.push(column)
    let rows: Row[] | undefined = this.inequalities
    let exactRest = true
    while (rows !== undefined && eliminated.length < this.count) {
      if (rows.length > FEW_ROWS) rows = withoutImplied(rows)
      const column = this.cheapest(rows, rest) ?? this.count - eliminated.length - 1
      if (rest.length > 0) rest.splice(rest.indexOf(column), 1)
      const own: Row[] = []
      const others: Row[] = []
      for (const row of rows) (row[column] === 0 ? others : own).push(row)
      eliminated.push({ column, rows: own })
      rows = this.without(column, own, others)
      if (column >= this.rank) exactRest = this.exact
    }
    this.levels.push(...eliminated.reverse())
    this.needed = exactRest ? this.rank : this.count
    return rows !== undefined
  }

  /** Returns the column whose elimination makes the fewest rows; undefined where there are no columns. */
  private cheapest(rows: readonly Row[], columns: readonly number[]): number | undefined {
    let best: number | undefined
    let bestCost = Infinity
    for (const column of columns) {
      let lower = 0
      let upper = 0
      let units = true
      for (const row of rows) {
        const factor = row[column] ?? 0
        if (factor > 0) lower++
        else if (factor < 0) upper++
        if (Math.abs(factor) > 1) units = false
      }
      const cost = lower * upper - lower - upper + (units ? 0 : 1000)
      if (cost < bestCost) [best, bestCost] = [column, cost]
    }
    return best
  }

  /** Eliminates a column: returns the other rows and each lower bound combined with each upper one; undefined where they never hold. */
  private without(column: number, own: readonly Row[], others: Row[]): Row[] | undefined {
    for (const low of own) {
      const a = low[column] ?? 0
      if (a <= 0) continue
      for (const high of own) {
        const b = -(high[column] ?? 0)
        if (b <= 0) continue
        // A combination that is left out only makes ranges wider.
        if (this.budget.left-- <= 0) {
          this.exact = false
          continue
        }
        const row = combined(low, b, high, a)
        if (a !== 1 && b !== 1 && !isWide(row, a, b)) this.exact = false
        if (!insert(others, row)) return undefined
      }
    }
    return others
  }

  /** Returns the value of the first parameter nearest to `end` with a solution; `end` where the budget ran out, undefined for none. */
  private reached(end: number, downward: boolean): number | undefined {
    const outcome = this.search(0, downward)
    return outcome === 'found' ? this.values[0] : outcome === 'none' ? undefined : end
  }

  /** Finds values for the parameters from a level on, the least ones first (the greatest of the first level when downward). */
  private search(depth: number, downward: boolean): 'found' | 'none' | 'unknown' {
    const level = this.levels[depth]
    if (depth >= this.needed || level === undefined) return 'found'
    const [least, greatest] = this.bounds(depth)
    const start = downward || !Number.isFinite(least) ? greatest : least
    const first = Number.isFinite(start) ? start : 0
    for (let turn = 0; ; turn++) {
      const value = candidate(first, turn, Number.isFinite(start) ? (start === least && !downward ? 1 : -1) : 0)
      if (value < least || value > greatest) return 'none'
      if (this.budget.left-- <= 0) return 'unknown'
      this.values[level.column] = value
      const outcome = this.search(depth + 1, false)
      if (outcome !== 'none') return outcome
    }
  }

  /** Returns the range of a level's parameter, given the values of the levels before it. */
  private bounds(depth: number): [least: number, greatest: number] {
    const { column, rows } = this.levels[depth] ?? { column: 0, rows: [] }
    let least = -Infinity
    let greatest = Infinity
    for (const row of rows) {
      const factor = row[column] ?? 0
      const rest = this.valueOf(row, column)
      if (factor > 0) least = Math.max(least, -floorDivided(rest, factor))
      else greatest = Math.min(greatest, floorDivided(rest, -factor))
    }
    return [least + 0, greatest + 0]
  }

  /** Returns the value of a row without the term of one column. */
  private valueOf(row: Row, without: number): number {
    let value = row[this.count] ?? 0
    for (let column = 0; column < this.count; column++) {
      const factor = row[column] ?? 0
      if (column !== without && factor !== 0) value = checked(value + checked(factor * (this.values[column] ?? 0)))
    }
    return value
  }
}

/** Whether a whole number lies between the two bounds that a row combines wherever the row is at least 0 (Pugh's dark shadow). */
function isWide(row: Row, a: number, b: number): boolean {
  const last = row.length - 1
  return row.every((factor, column) => (column === last ? factor >= (a - 1) * (b - 1) : factor === 0))
}

/** Returns times * row + otherTimes * other. */
function combined(row: Row, times: number, other: Row, otherTimes: number): Row {
  const sum: Row = []
  for (let column = 0; column < row.length; column++) {
    sum.push(checked(checked(times * (row[column] ?? 0)) + checked(otherTimes * (other[column] ?? 0))))
  }
  return sum
}

/** Returns a candidate of a search: upward (1), downward (-1), or to both sides (0) of the first. */
function candidate(first: number, turn: number, direction: 1 | 0 | -1): number {
  if (direction !== 0) return first + direction * turn
  return first + (turn % 2 === 0 ? turn / 2 : -(turn + 1) / 2)
}
