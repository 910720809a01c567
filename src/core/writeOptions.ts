/** What `writeParquet` may be asked for, and the form that a plan is written in. */
import { checkCount, checkList, checkOneOf } from './arguments.ts'
import { valueText } from './columnBuilder.ts'
import { defined } from './defined.ts'
import type { ArrowCompression, Existing, ParquetCompression, WriteForm } from './engine.ts'
import { PlanError } from './errors.ts'
import { checkOptions } from './options.ts'

/** Options of `writeParquet`. */
export interface WriteParquetOptions<Column extends string = string> {
  /** Default 'snappy'. */
  readonly compression?: ParquetCompression
  /** Rows of a row group, the piece that is read alone. Default 131,072. */
  readonly rowGroupRows?: number
  /** Plain encodings and pages of the first version. */
  readonly compatibility?: 'v1'
  /** The path is a folder, and these columns become folders in it: `year=2024/country=DE/part-0.parquet`. */
  readonly partitionBy?: readonly Column[]
  /** Of a folder that has files in it: it is refused unless this says that new files are added, or take their place. */
  readonly existing?: Existing
  readonly signal?: AbortSignal
}

const COMPRESSIONS: readonly ParquetCompression[] = ['snappy', 'zstd', 'gzip', 'brotli', 'lz4', 'none']

/** The form that the options ask for. PlanError for options that make no sense. */
export function parquetForm(options: WriteParquetOptions): Extract<WriteForm, { kind: 'parquet' }> {
  checkOptions('writeParquet()', options, ['compression', 'rowGroupRows', 'compatibility', 'partitionBy', 'existing', 'signal'])
  const { compression = 'snappy', rowGroupRows, compatibility, partitionBy, existing } = options
  checkOneOf('The compression of writeParquet()', compression, COMPRESSIONS)
  if (rowGroupRows !== undefined) checkCount('The rowGroupRows of writeParquet()', rowGroupRows, 1)
  if (compatibility !== undefined) checkOneOf('The compatibility of writeParquet()', compatibility, ['v1'])
  checkPartitionBy(partitionBy, existing)
  return { kind: 'parquet', compression, ...defined({ rowGroupRows, compatibility, partitionBy, existing }) }
}

/** Options of `writeArrow`. */
export interface WriteArrowOptions {
  /** Default: none. Files of these are what other tools call Feather. */
  readonly compression?: ArrowCompression
  readonly signal?: AbortSignal
}

const ARROW_COMPRESSIONS: readonly ArrowCompression[] = ['zstd', 'lz4']

export function arrowForm(options: WriteArrowOptions): Extract<WriteForm, { kind: 'arrow' }> {
  checkOptions('writeArrow()', options, ['compression', 'signal'])
  const { compression } = options
  if (compression !== undefined) checkOneOf('The compression of writeArrow()', compression, ARROW_COMPRESSIONS)
  return { kind: 'arrow', ...defined({ compression }) }
}

function checkPartitionBy(partitionBy: unknown, existing: unknown): void {
  if (existing !== undefined) checkOneOf('The existing of writeParquet()', existing, ['refuse', 'add', 'replace'])
  if (partitionBy === undefined) {
    if (existing !== undefined)
      throw new PlanError(
        'The existing of writeParquet() is for folders, which { partitionBy } writes. A file takes the place of what is there.',
      )
    return
  }
  checkList('The partitionBy of writeParquet()', partitionBy)
  const names = partitionBy as readonly unknown[] // it is a list
  const odd = names.find((name) => typeof name !== 'string')
  if (odd !== undefined) throw new PlanError(`The partitionBy of writeParquet() names columns; it was given ${valueText(odd)}.`)
  if (names.length === 0)
    throw new PlanError('The partitionBy of writeParquet() names no column. Name those that folders are made of, or leave it out.')
  if (new Set(names).size < names.length)
    throw new PlanError(`The partitionBy of writeParquet() names a column twice: ${names.join(', ')}.`)
}
