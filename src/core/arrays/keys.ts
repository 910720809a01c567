/** The key of an element: one integer per axis. A table's key is its row number. */
export type Key = readonly number[]
