/** What elements can be sorted by. Nulls come last. */
export type SortKey = number | bigint | string | boolean | Date | null
