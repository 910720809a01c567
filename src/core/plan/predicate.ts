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

/** Whether a piece whose columns have these bounds may hold a row for which all comparisons hold. */
export function mayHold(predicate: ColumnPredicate, bounds: ReadonlyMap<string, Bounds> | undefined): boolean {
  return predicate.every((comparison) => {
    const column = bounds?.get(comparison.column)
    return column === undefined || mayMatch(comparison, column)
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
