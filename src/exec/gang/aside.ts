/**
 * Arrays whose elements lie in several processes and need not be here as a whole: their values are put aside into a file, so that the
 * passes that made them need not run again when a process is lost.
 */

import { sizeOfShape } from '../../core/arrays/indexSpace.ts'
import { ARRAY_OF_DTYPE, type DenseStorage } from '../../core/arrays/storage.ts'
import type { TypedArray } from '../../core/data/column.ts'
import type { DType } from '../../core/data/schema.ts'
import { GangError } from '../../core/errors.ts'
import { isError } from '../../core/isError.ts'
import { partsOf } from '../arrays/parted.ts'
import type { Elsewhere } from './journal.ts'
import type { Members, Other } from './members.ts'
import { packBoxes, unpackBoxes } from './movement/boxWire.ts'
import { boxesElsewhere, boxesHere, bringHome, fetchBoxes } from './movement/elsewhere.ts'
import type { NumberedBox } from './movement/moves.ts'
import { awayBytes } from './movement/needs.ts'
import type { Box } from './movement/transfers.ts'
import { SnapshotFile } from './snapshotFile.ts'

/** The number of elements that this process gathers at a time. */
const CHUNK_ELEMENTS = 2 ** 15

/** Writes an array's last values to a file. Rejects with the GangError of a process that was lost on the way, or a SpillError. */
async function written(gang: Members, storage: DenseStorage, path: string): Promise<SnapshotFile> {
  const [rows = 0, ...inner] = storage.shape
  const rowElements = sizeOfShape(inner)
  const chunkRows = Math.max(1, Math.floor(CHUNK_ELEMENTS / Math.max(1, rowElements)))
  const dtype = storage.dtype as DType // no objects: those have no parts
  const file = new SnapshotFile(path, dtype, chunkRows * rowElements)
  // one for all chunks: memory that is given up at once has V8 look for more of it, in the middle of the passes that follow
  const data = new ARRAY_OF_DTYPE[dtype](Math.min(rows, chunkRows) * rowElements)
  try {
    for (let from = 0; from < rows; from += chunkRows) {
      const to = Math.min(rows, from + chunkRows)
      const chunk = data.subarray(0, (to - from) * rowElements)
      await gather(gang, storage, { from, to }, chunk)
      file.append(chunk)
    }
  } catch (error) {
    file.remove()
    throw error
  }
  return file
}

/** Gathers the last values of rows `from` up to `to` into `data`, from here and from the processes that have them, without padding. */
async function gather(
  gang: Members,
  storage: DenseStorage,
  { from, to }: { readonly from: number; readonly to: number },
  data: TypedArray,
): Promise<void> {
  const shape = [to - from, ...storage.shape.slice(1)]
  const strides = shape.map((_, axis) => sizeOfShape(shape.slice(axis + 1)))
  const rows: DenseStorage = { kind: 'dense', shape, dtype: storage.dtype, strides, data }
  const put = (boxes: readonly Box[], bytes: Uint8Array): void => {
    const own = boxes.map(([low = 0, high = 1, ...rest]) => ({ storage: rows, box: [low - from, high - from, ...rest] }))
    unpackBoxes(own, bytes)
  }
  const number = gang.numberOf(storage)
  const own = withinRows(boxesHere(gang, storage), from, to)
  put(own, packBoxes(own.map((box) => ({ storage, box }))))
  const wanted = new Map<Other, NumberedBox[]>()
  for (const [other, boxes] of boxesElsewhere(gang, number)) {
    const within = withinRows(boxes, from, to).map((box) => ({ storage: number, box }))
    if (within.length > 0) wanted.set(other, within)
  }
  await fetchBoxes(gang, wanted, (boxes, bytes) => {
    put(
      boxes.map((one) => one.box),
      bytes,
    )
  })
}

/** The parts of boxes in rows `from` up to `to`. */
function withinRows(boxes: readonly Box[], from: number, to: number): Box[] {
  return boxes.flatMap(([low = 0, high = 1, ...rest]) => {
    const [first, end] = [Math.max(low, from), Math.min(high, to)]
    return first < end ? [[first, end, ...rest]] : []
  })
}

/** The gang's operations for a journal. `file` names a new file for an array that is put aside; without it, arrays are brought home instead. */
export function elsewhereOf(gang: Members, file?: () => string): Elsewhere {
  return {
    bringHome: (storages) => bringHome(gang, storages),
    putAside: async (storages) => {
      const files = new Map<DenseStorage, SnapshotFile>()
      const undo = (): void => {
        for (const one of files.values()) one.remove()
      }
      try {
        for (const storage of storages) {
          if (file === undefined || storage.kind !== 'dense' || storage.parts?.isWhole !== false) await bringHome(gang, [storage])
          else files.set(storage, await written(gang, storage, file()))
        }
      } catch (error) {
        undo()
        throw error
      }
      const commit = (): void => {
        for (const [storage, one] of files) {
          partsOf(storage)?.putAside(one)
          gang.belongings.brought(gang.numberOf(storage))
        }
      }
      return { commit, undo }
    },
    isHome: (storages) => {
      for (const storage of storages) gang.belongings.settle(gang.numberOf(storage), undefined, undefined)
    },
    awayBytes: (storages) => storages.reduce((sum, storage) => sum + awayBytes(gang, storage), 0),
    hasLost: (error) => gang.hasLost(error),
    unmended: (error) => {
      const loss = gang.lastLoss
      if (loss?.rank === undefined) return error
      const because = isError(error) ? error.message : String(error)
      return new GangError(`What rank ${loss.rank} had of arrays is lost, and cannot be computed again: ${because}`, 'lost', {
        rank: loss.rank,
        cause: error,
      })
    },
  }
}
