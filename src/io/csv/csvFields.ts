/** Where the fields of records lie. */
import type { CsvRecords } from './csvRecords.ts'

/** Where one column's fields of records that follow each other have their bounds. */
export interface Fields {
  readonly records: CsvRecords
  /** Of the first. */
  readonly place: number
  /** From one to the next. */
  readonly step: number
  readonly count: number
}
