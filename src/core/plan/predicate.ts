/**
 * Predicates that sources can test against statistics: a conjunction of comparisons of a column with a constant.
 *
 * A predicate pushed into a Scan only lets the source *skip* pieces in which no row can match; the Filter above the
 * scan still decides each row.
 */
export type ComparisonOperator = '<' | '<=' | '>' | '>=' | '==='

export interface ColumnComparison {
  readonly column: string
  readonly operator: ComparisonOperator
  /** The constant; for dates and timestamps in milliseconds since 1970. */
  readonly value: number | bigint | string | boolean
  /** Null satisfies it too, as `null < 1` is true in JavaScript: only pieces without nulls are skipped by it. Absent for columns without nulls. */
  readonly isOfNull?: true
}

/** A conjunction: all comparisons must hold. */
export type ColumnPredicate = readonly ColumnComparison[]

export function predicateText(predicate: ColumnPredicate): string {
  return predicate
    .map((c) => `${c.column} ${c.operator} ${typeof c.value === 'string' ? JSON.stringify(c.value) : String(c.value)}`)
    .join(' and ')
}

/** The smallest and the largest value of a column in a piece of a source, nulls not counted. */
export interface Bounds {
  readonly min: number | bigint | string | boolean
  readonly max: number | bigint | string | boolean
}

/** What a source knows of the columns of a piece. */
export interface Piece {
  readonly statistics?: ReadonlyMap<string, Bounds> | undefined
  /** Columns of which a value may be null; all of them where it is not said. */
  readonly mayBeNull?: ReadonlySet<string> | undefined
}

/** Whether a piece may hold a row for which all comparisons hold. */
export function mayHold(predicate: ColumnPredicate, { statistics, mayBeNull }: Piece): boolean {
  return predicate.every((comparison) => {
    const bounds = statistics?.get(comparison.column)
    const ofNull = comparison.isOfNull === true && mayBeNull?.has(comparison.column) !== false
    return bounds === undefined || ofNull || mayMatch(comparison, bounds)
  })
}

/** Whether values between the bounds can satisfy the comparison. */
export function mayMatch({ operator, value }: ColumnComparison, { min, max }: Bounds): boolean {
  if (typeof min !== typeof value && !(isNumeric(min) && isNumeric(value))) return true
  switch (operator) {
    case '<':
      return min < value
    case '<=':
      return min <= value
    case '>':
      return max > value
    case '>=':
      return max >= value
    case '===':
      return min <= value && value <= max
  }
}

function isNumeric(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint'
}
