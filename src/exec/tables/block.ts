/** A block of the arena that a result lies in. */
export interface Block {
  readonly offset: number
  readonly bytes: number
}
