/** The type of a part of a column with its place. */
import type { Column } from '../../../core/data/column.ts'

/** A part of a column, and its place in the whole column. */
export interface Placed {
  readonly part: Column
  /** The whole column in the arena, with a zeroed bitmap where there may be nulls. Texts may have a byte a row, for indices of the parts' dictionaries. */
  readonly whole: Column
  readonly firstRow: number
  /** For texts: the offset of the part's bytes in those of the whole column. */
  readonly firstByte: number
  /** For dictionary-encoded texts whose whole column has a dictionary too: the code in the whole column for each index of the part's. */
  readonly places?: Uint16Array
}
