/** Reads one split of any source, in any thread: the table of source kinds. */
import { takeColumn } from '../core/data/columnSlices.ts'
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
  arrow: takingRows(readArrowSplit),
  csv: readCsvSplit,
  ndjson: readNdjsonSplit,
  text: readTextSplit,
  format: readFormatSplit,
  memory: readMemorySplit,
  spark: ({ name }) => Promise.reject(new Bug(`The server was not asked for ${name}.`)),
}

/** The reader, with the rows that alone are wanted taken from what it reads. */
function takingRows(read: ReadSplit): ReadSplit {
  return async (source, split, columns, predicate, access) => {
    const batches = await read(source, split, columns, predicate, access)
    const rows = access?.rows
    if (rows === undefined) return batches
    let first = 0
    return batches.map(({ element, length, columns: all }) => {
      const own = rows.filter((row) => row >= first && row < first + length).map((row) => row - first)
      first += length
      return { element, length: own.length, columns: all.map((column) => takeColumn(column, own)) }
    })
  }
}

export const readSplit: ReadSplit = readWithConstants((source, split, columns, predicate, access) => {
  const { timeoutMs, headers, retries, s3, given } = source
  const isPlain = timeoutMs === undefined && headers === undefined && retries === undefined && s3 === undefined && given === undefined
  return READERS[source.kind](source, split, columns, predicate, isPlain ? access : { ...access, timeoutMs, headers, retries, s3, given })
})
