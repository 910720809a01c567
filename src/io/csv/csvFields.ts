/** The places of fields in records. */
import type { CsvRecords } from './csvRecords.ts'

/** The places of the bounds of one column's fields, in records that follow each other. */
export interface Fields {
  readonly records: CsvRecords
  /** The place of the first field's bounds. */
  readonly place: number
  /** The distance from one field's to the next one's. */
  readonly step: number
  readonly count: number
}
