/** A table as a stream of messages in memory that is the caller's: the library's own writer joins its pieces in a buffer that is garbage soon. */
import type { Table } from 'apache-arrow'
import type { NewArray } from '../../core/data/columnSlices.ts'
import { AsyncByteQueue, RecordBatchStreamWriter } from './arrowLibrary.ts'

export function streamOf(table: Table, newArray: NewArray): Uint8Array {
  const pieces: Uint8Array[] = []
  class Pieces extends AsyncByteQueue {
    override write(piece: Uint8Array): void {
      pieces.push(piece)
    }
  }
  const writer = new RecordBatchStreamWriter()
  writer.reset(new Pieces())
  writer.writeAll(table)
  const bytes = newArray(
    Uint8Array,
    pieces.reduce((sum, { length }) => sum + length, 0),
  )
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}
