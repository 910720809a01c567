/** Of keys of several parts: which one, and the names of all. */
export interface KeyPart {
  readonly at: number
  readonly of: readonly string[]
}

/** The rows of a table, or of a pipeline over one, are in no result if their column is not among the keys, or parts of keys, of this number. */
export interface KeyReach {
  readonly keys: number
  readonly column: string
  readonly part?: KeyPart
}

/** Which side of a join is computed first; its keys have a number, by which what they filter names them. */
export interface KeyFilter {
  readonly side: Side
  readonly keys: number
  /** Whether they filter what the other side is computed from as well. */
  readonly below: boolean
}

export type Side = 'left' | 'right'
