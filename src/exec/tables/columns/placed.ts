/** Where a part of a column goes. */
import type { Column } from '../../../core/data/column.ts'

/** A part of a column, and where it goes. */
export interface Placed {
  readonly part: Column
  /** The whole column, in the arena; with a bitmap of zeros where there may be nulls. Of texts that are read it may have a byte a row, for their places in the dictionaries of the parts. */
  readonly whole: Column
  readonly firstRow: number
  /** Of texts: where the part's bytes go among those of the whole. */
  readonly firstByte: number
  /** Of texts that are places in a dictionary: what each place is among those of the whole, where that has a dictionary too. */
  readonly places?: Uint16Array
}
