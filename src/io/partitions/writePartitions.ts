/**
 * Writes batches as Parquet files in folders that say the values of some columns.
 *
 *     year  id  total
 *     2023   1      4      -->   year=2023/part-0.parquet   id 1 3   total 4 6
 *     2024   2      5            year=2024/part-0.parquet   id 2     total 5
 *     2023   3      6
 *
 * Rows are collected folder by folder until they are a row group; where all of them together take too much memory, those of the
 * folder that has most are written as a smaller one. The bytes of each file follow from the rows alone.
 */
import type { Batch, Column } from '../../core/data/column.ts'
import { sliceColumn, takeColumn } from '../../core/data/columnSlices.ts'
import { type ElementType, fieldsOf } from '../../core/data/schema.ts'
import type { Existing } from '../../core/engine.ts'
import { Bug } from '../../core/errors.ts'
import { checkPlace, type FolderRequest, writeFolder } from '../bytes/folderOutput.ts'
import { type Encoding, encodedInOrder } from '../encode.ts'
import { FileUnderWay } from '../parquet/writing/fileUnderWay.ts'
import { bytesOfColumn } from '../regroup.ts'
import { isS3 } from '../remote/s3.ts'
import { checkS3Place, writeS3Folder } from '../remote/s3Folder.ts'
import { parquetForm, type WriteParquetOptions, type WriteRequest, type Written } from '../writeParquet.ts'
import { type FolderColumns, Folders, folderColumns } from './rowFolders.ts'

export interface WritePartitionsOptions extends WriteParquetOptions {
  readonly partitionBy: readonly string[]
  readonly existing?: Existing
}

export const PARQUET_EXTENSION = '.parquet'
/** Most bytes of all rows together that wait for their row group. */
const MOST_WAITING_BYTES = 128 * 2 ** 20

/** The rows of one folder that wait for their row group. */
interface Waiting {
  readonly file: FileUnderWay
  parts: Batch[]
  rows: number
  bytes: number
  /** The number of rows that were written, or are being written. */
  sent: number
}

/** Throws what writing would throw because of what is there: before anything is computed for it. */
export async function checkPartitionsPlace(request: FolderRequest): Promise<void> {
  await (isS3(request.path) ? checkS3Place(request) : checkPlace(request))
}

export async function writePartitions({
  batches,
  element,
  path,
  options,
  encoder,
  ...access
}: WriteRequest<WritePartitionsOptions>): Promise<Written> {
  if (options === undefined) throw new Bug('Folders are written after columns, and none were named.')
  const { partitionBy, existing = 'refuse' } = options
  const columns = folderColumns(element, partitionBy)
  const fields = fieldsOf(element)
  const inFiles: ElementType = { kind: 'row', fields: columns.kept.flatMap((at) => fields[at] ?? []) }
  const form = await parquetForm(inFiles, path, options)
  const folders = new Folders(columns)
  let rows = 0
  const write = isS3(path) ? writeS3Folder : writeFolder
  const written = await write({ path, existing, extension: PARQUET_EXTENSION, ...access }, async (output) => {
    const waiting: Waiting[] = []
    const targets: FileUnderWay[] = []
    let waitingBytes = 0
    const opened = async (number: number): Promise<Waiting> => {
      for (let next = waiting.length; next <= number; next++) {
        const name = `${folders.paths[next]}/part-0${PARQUET_EXTENSION}`
        const file = new FileUnderWay((bytes) => output.append(name, bytes))
        await file.begin()
        waiting.push({ file, parts: [], rows: 0, bytes: 0, sent: 0 })
      }
      return waiting[number] as Waiting // it was just made
    }
    const sendOff = (one: Waiting): Encoding => {
      const task = form.taskOf(one.parts)
      targets.push(one.file)
      waitingBytes -= one.bytes
      one.sent += one.rows
      Object.assign(one, { parts: [], rows: 0, bytes: 0 })
      return { task, ended: [] }
    }
    const encodings = async function* (): AsyncGenerator<Encoding> {
      for await (const batch of batches) {
        rows += batch.length
        for (const { number, part } of partsOf(batch, { folders, columns, inFiles })) {
          const one = await opened(number)
          for (let from = 0; from < part.length; ) {
            const piece = pieceOf(part, from, Math.min(part.length, from + form.groupRows - one.rows))
            const bytes = piece.columns.reduce((sum, column) => sum + bytesOfColumn(column), 0)
            one.parts.push(piece)
            one.rows += piece.length
            one.bytes += bytes
            waitingBytes += bytes
            from += piece.length
            if (one.rows === form.groupRows) yield sendOff(one)
          }
        }
        encoder?.done?.(batch) // its rows were copied
        while (waitingBytes > MOST_WAITING_BYTES) yield sendOff(waiting.reduce((most, one) => (one.bytes > most.bytes ? one : most)))
      }
      for (const one of waiting) if (one.rows > 0) yield sendOff(one)
    }
    for await (const bytes of encodedInOrder(encodings(), encoder)) await (targets.shift() as FileUnderWay).add(bytes) // in the order of the tasks
    for (const { file, sent } of waiting) await file.end(sent, form.fields, form.arrowFields)
  })
  return { rows, bytes: written.bytes, files: written.files }
}

interface Splitting {
  readonly folders: Folders
  readonly columns: FolderColumns
  readonly inFiles: ElementType
}

/** The rows of each folder that a batch has rows of, in their order. */
function partsOf(batch: Batch, { folders, columns, inFiles }: Splitting): readonly { readonly number: number; readonly part: Batch }[] {
  const numbers = folders.of(batch)
  const counts = new Int32Array(folders.paths.length)
  for (const number of numbers) counts[number] = (counts[number] ?? 0) + 1
  const lists = Array.from(counts, (count) => new Int32Array(count))
  const filled = new Int32Array(counts.length)
  for (let row = 0; row < numbers.length; row++) {
    const number = numbers[row] as number // row < length
    const at = filled[number] as number // a folder of the row
    filled[number] = at + 1
    ;(lists[number] as Int32Array)[at] = row
  }
  return lists.flatMap((indices, number) => {
    if (indices.length === 0) return []
    const taken = columns.kept.map((at) => takeColumn(batch.columns[at] as Column, indices)) // a column for each field
    return [{ number, part: { element: inFiles, length: indices.length, columns: taken } }]
  })
}

function pieceOf(part: Batch, from: number, to: number): Batch {
  if (from === 0 && to === part.length) return part
  return { ...part, length: to - from, columns: part.columns.map((column) => sliceColumn(column, from, to)) }
}
