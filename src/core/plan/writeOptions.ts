/** The options of the writers, checked, and the form that a plan is written in. */
import { checkCount, checkList, checkOneOf } from '../arguments.ts'
import { valueText } from '../data/valueKinds.ts'
import { defined } from '../defined.ts'
import type { ArrowCompression, Existing, ParquetCompression, WriteForm } from '../engine.ts'
import { PlanError } from '../errors.ts'
import { checkOptions } from '../options.ts'
import type { S3Options } from '../sourceParts.ts'

/** Options of every writer. */
export interface WriteOptions {
  /** Ends the writing when aborted, and leaves the file that was there. */
  readonly signal?: AbortSignal
  /** The longest silence of a store, after which a SourceError is thrown. Default 30,000. */
  readonly timeoutMs?: number
  /** The number of times that a request is made again which failed on the way, or for which the store was too busy. Default 2, after 0.1 and 0.4 seconds. */
  readonly retries?: number
  /** The credentials and endpoint for addresses as s3://bucket/key. Default: those of the environment. They are in no message, plan or event. */
  readonly s3?: S3Options
}

/** Throws PlanError for an option that the method has not; values are checked where they are used. */
export function checkWriting<O extends WriteOptions>(method: string, options: O, others: readonly string[] = []): O {
  checkOptions(`${method}()`, options, [...others, 'signal', 'timeoutMs', 'retries', 's3'])
  return options
}

/** Options of `writeParquet`. */
export interface WriteParquetOptions<Column extends string = string> extends WriteOptions {
  /** The codec of pages. Default 'snappy'. */
  readonly compression?: ParquetCompression
  /** The rows of a row group, which can be read by itself. Default 131,072. */
  readonly rowGroupRows?: number
  /** 'v1': plain encodings and data pages of the first version, for old readers. */
  readonly compatibility?: 'v1'
  /** The path is a folder, and these columns become folders in it: `year=2024/country=DE/part-0.parquet`. */
  readonly partitionBy?: readonly Column[]
  /** The treatment of a folder that has files in it: it is refused unless this says that new files are added, or take their place. */
  readonly existing?: Existing
}

const COMPRESSIONS: readonly ParquetCompression[] = ['snappy', 'zstd', 'gzip', 'brotli', 'lz4', 'none']

/** The form that the options ask for. Throws PlanError for options that make no sense. */
export function parquetForm(options: WriteParquetOptions): Extract<WriteForm, { kind: 'parquet' }> {
  checkWriting('writeParquet', options, ['compression', 'rowGroupRows', 'compatibility', 'partitionBy', 'existing'])
  const { compression = 'snappy', rowGroupRows, compatibility, partitionBy, existing } = options
  checkOneOf('The compression of writeParquet()', compression, COMPRESSIONS)
  if (rowGroupRows !== undefined) checkCount('The rowGroupRows of writeParquet()', rowGroupRows, 1)
  if (compatibility !== undefined) checkOneOf('The compatibility of writeParquet()', compatibility, ['v1'])
  checkPartitionBy(partitionBy, existing)
  return { kind: 'parquet', compression, ...defined({ rowGroupRows, compatibility, partitionBy, existing }) }
}

/** Options of `writeArrow`. */
export interface WriteArrowOptions extends WriteOptions {
  /** The codec of buffers. Default: none. Other tools call such files Feather. */
  readonly compression?: ArrowCompression
}

const ARROW_COMPRESSIONS: readonly ArrowCompression[] = ['zstd', 'lz4']

export function arrowForm(options: WriteArrowOptions): Extract<WriteForm, { kind: 'arrow' }> {
  checkWriting('writeArrow', options, ['compression'])
  const { compression } = options
  if (compression !== undefined) checkOneOf('The compression of writeArrow()', compression, ARROW_COMPRESSIONS)
  return { kind: 'arrow', ...defined({ compression }) }
}

/** Options of `writeCsv`. */
export interface WriteCsvOptions extends WriteOptions {
  /** The character between fields: one of ASCII that is in no number, date or truth value. Default ','. */
  readonly delimiter?: string
  /** The decimal separator of numbers. Default '.'; with ',' another delimiter has to be named. */
  readonly decimal?: '.' | ','
}

/** Matches a delimiter: a character that is in no field without quotes and has no meaning of its own in CSV. */
const DELIMITER = /^[\t !#$%&'()*,/;<=>?@[\\\]^_`{|}~]$/

export function csvForm(options: WriteCsvOptions): Extract<WriteForm, { kind: 'csv' }> {
  checkWriting('writeCsv', options, ['delimiter', 'decimal'])
  const { delimiter, decimal } = options
  if (delimiter !== undefined && (typeof delimiter !== 'string' || !DELIMITER.test(delimiter)))
    throw new PlanError(
      `The delimiter of writeCsv() is one character of ASCII that is in no number or date, as ';' or '\\t'; it was given ${valueText(delimiter)}.`,
    )
  if (decimal !== undefined) checkOneOf('The decimal of writeCsv()', decimal, ['.', ','])
  if (decimal === ',' && (delimiter ?? ',') === ',')
    throw new PlanError(
      `What stands before decimals, ",", also stands between fields. Name what does, for example with { delimiter: ';' }.`,
    )
  return { kind: 'csv', ...defined({ delimiter, decimal }) }
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
