/** A value that elements can be sorted by. Nulls come last. */
export type SortKey = number | bigint | string | boolean | Date | null

/** A value that rows are sorted by, ascending with nulls last unless it says otherwise. */
export interface SortBy<T, E extends object = object> {
  readonly by: (value: T, env: E) => SortKey
  readonly order?: 'ascending' | 'descending'
  readonly nulls?: 'first' | 'last'
}
