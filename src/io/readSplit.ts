/** Reads one split of any source, in any thread: the table of source kinds. */
import { Bug } from '../core/errors.ts'
import type { ArraySource } from '../core/plan/logicalPlan.ts'
import type { ReadSplit } from '../core/ports.ts'
import { readArrowSplit } from './arrow/arrowFile.ts'
import { readWithConstants } from './constantColumns.ts'
import { readCsvSplit } from './csv/csv.ts'
import { readFormatSplit } from './fileFormat.ts'
import { readNdjsonSplit } from './json/ndjson.ts'
import { readMemorySplit } from './memory/memory.ts'
import { readParquetSplit } from './parquet.ts'
import { readTextSplit } from './text.ts'

const READERS: { readonly [K in ArraySource['kind']]: ReadSplit } = {
  parquet: readParquetSplit,
  arrow: readArrowSplit,
  csv: readCsvSplit,
  ndjson: readNdjsonSplit,
  text: readTextSplit,
  format: readFormatSplit,
  memory: readMemorySplit,
  spark: ({ name }) => Promise.reject(new Bug(`The server was not asked for ${name}.`)),
}

export const readSplit: ReadSplit = readWithConstants((source, split, columns, predicate, access) => {
  const { timeoutMs, headers, retries, s3, given } = source
  const isPlain = timeoutMs === undefined && headers === undefined && retries === undefined && s3 === undefined && given === undefined
  return READERS[source.kind](source, split, columns, predicate, isPlain ? access : { ...access, timeoutMs, headers, retries, s3, given })
})
