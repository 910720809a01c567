/** One part of a key that has several: its index, and the names of all parts. */
export interface KeyPart {
  readonly at: number
  readonly of: readonly string[]
}

/** A filter by join keys on a table, or a pipeline over one: rows whose column is not in the keys, or a part of them, are dropped. */
export interface KeyReach {
  readonly keys: number
  readonly column: string
  readonly part?: KeyPart
}

/** The side of a join that is computed first, and the number by which the nodes that its keys filter name them. */
export interface KeyFilter {
  readonly side: Side
  readonly keys: number
  /** Whether the keys also filter inputs of the other side. */
  readonly below: boolean
}

export type Side = 'left' | 'right'
