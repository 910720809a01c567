/**
 * Few rows of columns of a row group: the decoder skips to each range of rows, instead of making values of all of them.
 *
 *     rows 3 4 90   -->   offset 3 limit 2, offset 90 limit 1
 *
 * Pages are unpacked anew for each range, so that many ranges come from whole columns instead; so does what fails, or takes more
 * memory than the decoder has at once, which then says what is wrong.
 */
import type { Table } from 'apache-arrow'
import type { Column } from '../../core/data/column.ts'
import { takeColumn } from '../../core/data/columnSlices.ts'
import { MOST_RANGES, type RowRange, rangesOf, rowsIn } from '../../core/rowRanges.ts'
import { tableFromIPC } from '../arrow/arrowLibrary.ts'
import { columnOfTables, converted, decodeColumns, fitTogether, partOf, placeOf } from './decode.ts'
import type { FileDetail } from './describe.ts'
import type { ReadyColumn } from './nativeColumns.ts'
import { singleGroupFile } from './singleGroup.ts'
import { WasmFailure, withParquetDecoder } from './wasm.ts'

/** Yields columns with the rows `wanted`, ascending, of `rows` in the group. */
export function* columnsAtRows(file: FileDetail, columns: readonly ReadyColumn[], rows: number, wanted: Int32Array): Generator<Column> {
  const found = rangesAlone(file, columns, rows, wanted)
  if (found !== undefined) yield* found
  else for (const column of decodeColumns(file, columns, rows)) yield takeColumn(column, wanted)
}

function rangesAlone(file: FileDetail, columns: readonly ReadyColumn[], rows: number, wanted: Int32Array): readonly Column[] | undefined {
  const ranges = rangesOf(wanted)
  const likely = columns.reduce((sum, column) => sum + column.likelyBytes, 0)
  if (ranges.length > MOST_RANGES || !fitTogether(file, likely)) return undefined
  if (columns.some(({ detail }) => detail.int96 !== undefined)) return undefined
  const tables = tablesAt(file, columns, rows, ranges)
  if (tables === undefined) return undefined
  const decoded = rowsIn(ranges)
  const places = placesIn(ranges, wanted)
  return columns.map((column, i) => takeColumn(converted(file, column, columnOfTables(tables, i, decoded, placeOf(file, column))), places))
}

function tablesAt(
  file: FileDetail,
  columns: readonly ReadyColumn[],
  rows: number,
  ranges: readonly RowRange[],
): readonly Table[] | undefined {
  const bytes = singleGroupFile(columns.map(partOf), rows)
  try {
    return ranges.map(({ from, to }) =>
      withParquetDecoder(file.limits.quickBytes, (wasm) =>
        tableFromIPC(wasm.readParquet(bytes, { offset: from, limit: to - from, batchSize: to - from }).intoIPCStream()),
      ),
    )
  } catch (error) {
    if (error instanceof WasmFailure) return undefined
    throw error
  }
}

/** The places of the rows in the ranges, one behind the other. */
function placesIn(ranges: readonly RowRange[], wanted: Int32Array): Int32Array {
  const places = new Int32Array(wanted.length)
  let [range, before] = [0, 0]
  for (const [i, row] of wanted.entries()) {
    let own = ranges[range] as RowRange // each row is in one
    while (row >= own.to) {
      before += own.to - own.from
      own = ranges[++range] as RowRange
    }
    places[i] = before + row - own.from
  }
  return places
}
