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
  /** Of a column of dates and timestamps in milliseconds since 1970. */
  readonly value: number | bigint | string | boolean
}

/** All comparisons must hold. */
export type ColumnPredicate = readonly ColumnComparison[]

export function predicateText(predicate: ColumnPredicate): string {
  return predicate
    .map((c) => `${c.column} ${c.operator} ${typeof c.value === 'string' ? JSON.stringify(c.value) : String(c.value)}`)
    .join(' and ')
}

/** Whether values between `min` and `max` (both inclusive, of the comparison's own type) can satisfy the comparison. */
export function mayMatch(
  comparison: ColumnComparison,
  min: number | bigint | string | boolean,
  max: number | bigint | string | boolean,
): boolean {
  const { operator, value } = comparison
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
