/** Files of whole arrays (NumPy, Arrow tensors, saved arrays): written from storage, and read into storage. */

import { ARRAY_OF_DTYPE, type DenseStorage, type SparseStorage, type Storage } from '../core/arrays/storage.ts'
import type { TypedArray } from '../core/data/column.ts'
import type { DType, ElementType } from '../core/data/schema.ts'
import type { WriteForm } from '../core/engine.ts'
import type { LogicalPlan } from '../core/plan/logicalPlan.ts'
import type { WriteAccess } from '../core/ports.ts'
import { makeZeros } from '../exec/arrays/makeArray.ts'
import { piecesOf, putElements, putTransposed } from '../exec/arrays/pieces.ts'
import { numbersOf, shapeOfStorage } from '../exec/arrays/query.ts'
import { copyStorage, freeStorage } from '../exec/arrays/storageBlocks.ts'
import { lengthOf } from '../exec/arrays/toBatches.ts'
import { digestOf } from '../exec/ledger/digest.ts'
import type { ArrayStore } from '../exec/tables/store/arrayStore.ts'
import { type NpyFile, type NpyOptions, withNpy, writeElements } from '../io/arrays/npy.ts'
import { npyHeader } from '../io/arrays/npyHeader.ts'
import { fileToLoad, openSaved, type SavedFile, type SavedForm, type SavedPiece, writeSaved } from '../io/arrays/savedArray.ts'
import { tensorHeader, withTensor } from '../io/arrays/tensor.ts'
import { checkFolder } from '../io/bytes/atomicFile.ts'
import type { FileSource, ReadOptions } from '../io/reading.ts'
import type { Written } from '../io/writeParquet.ts'
import { givenPlan } from './givenArrays.ts'
import type { Runtime } from './runtime.ts'

/** The forms of files that have no rows, and are written from storage. */
export type StoredForm = Extract<WriteForm, { readonly kind: 'npy' | 'tensor' | 'array' }>

/** The number of elements in a record batch of a saved sparse array. */
const SAVED_ELEMENTS = 2 ** 17

/** Writes the elements of an array straight from its storage, which is locked meanwhile. */
export async function writeStored(
  store: ArrayStore,
  plan: LogicalPlan,
  { form, path, ...access }: WriteAccess & { readonly form: StoredForm; readonly path: string },
): Promise<Written> {
  await checkFolder(path, access)
  const write = async (storage: Storage, name: string): Promise<Written> => {
    if (form.kind === 'npy') {
      const dtype = numbersOf(storage, { method: 'writeNpy', name, gives: 'writes numbers', others: 'writeParquet()' })
      return await writeElements(path, { header: npyHeader(shapeOfStorage(storage), dtype), pieces: piecesOf(storage, dtype) }, access)
    }
    const dtype = numbersOf(storage, { method: 'save', name, gives: 'keeps numbers and booleans', others: 'writeParquet()' })
    if (form.kind === 'tensor')
      return await writeElements(path, { header: tensorHeader(shapeOfStorage(storage), dtype), pieces: piecesOf(storage, dtype) }, access)
    const plain = plainStorage(storage, dtype)
    const { element } = plan
    const booleans = dtype === 'bool' && (element.kind !== 'scalar' || element.type.kind === 'bool')
    const saved: SavedForm = { storage: plain.kind, shape: plain.shape, dtype, booleans, length: lengthOf(plain) }
    return await writeSaved(path, saved, { digest: digestOf(plain), pieces: savedPieces(plain, dtype), ...access })
  }
  return await store.read(plan, write, { keep: false })
}

/** The storage with the element type that is saved: its plan may have told another, as a nullable one. */
function plainStorage(storage: Storage, dtype: DType): DenseStorage | SparseStorage {
  if (storage.kind === 'dense') return storage
  const { keys, shape } = storage as SparseStorage // no table is saved
  return sparseOf({ shape, dtype, length: storage.length }, keys, storage.columns[0]?.values as TypedArray) // numbersOf has looked at it
}

function sparseOf(
  { shape, dtype, length }: Pick<SavedForm, 'shape' | 'dtype' | 'length'>,
  keys: readonly Int32Array[],
  values: TypedArray,
): SparseStorage {
  const element: ElementType = { kind: 'scalar', type: { kind: dtype }, nullable: false }
  return { kind: 'sparse', shape, element, length, keys, columns: [{ type: { kind: dtype }, length, values: values.subarray(0, length) }] }
}

function* savedPieces(storage: DenseStorage | SparseStorage, dtype: DType): Generator<SavedPiece, void, undefined> {
  if (storage.kind === 'dense') {
    for (const values of piecesOf(storage, dtype)) yield { keys: [], values }
    return
  }
  const values = storage.columns[0]?.values as TypedArray // as sparseOf() made it
  for (let from = 0; from < storage.length; from += SAVED_ELEMENTS) {
    const to = Math.min(storage.length, from + SAVED_ELEMENTS)
    yield { keys: storage.keys.map((axis) => axis.slice(from, to)), values: values.slice(from, to) }
  }
}

/** The plan of an array with the elements of a NumPy file. */
export async function npyPlan(source: FileSource, options: NpyOptions, runtime: Runtime): Promise<LogicalPlan> {
  return await withNpy(source, options, (file) => filePlan(file, runtime))
}

async function filePlan({ name, shape, dtype, fortran, pieces }: NpyFile, { arena, store }: Runtime): Promise<LogicalPlan> {
  const storage = makeZeros(shape, dtype, name, arena)
  const put = fortran ? putTransposed : putElements
  await freedOnError(storage, async () => {
    for await (const { from, values } of pieces()) put(storage, from, values)
  })
  return givenPlan(name, storage, { store, dtype })
}

/** The plan of an array that was saved, or of a tensor of Arrow. */
export async function savedPlan(source: FileSource, options: ReadOptions, runtime: Runtime): Promise<LogicalPlan> {
  const given = await fileToLoad(source, options)
  const tensor = await withTensor(given, (opened) => filePlan(opened, runtime))
  if (tensor !== undefined) return tensor
  const { arena, store } = runtime
  const file = await openSaved(given, arena.budgetBytes)
  const { name, form } = file
  const storage =
    form.storage === 'dense' ? makeZeros(form.shape, form.dtype, name, arena) : copyStorage(await sparseFrom(file), arena, name)
  await freedOnError(storage, async () => {
    let from = 0
    if (storage.kind === 'dense')
      for await (const { values } of file.pieces()) {
        putElements(storage, from, values)
        from += values.length
      }
    file.check(digestOf(storage))
  })
  return givenPlan(name, storage, { store, dtype: form.dtype, booleans: form.booleans })
}

async function sparseFrom({ form, pieces }: SavedFile): Promise<SparseStorage> {
  const keys = form.shape.map(() => new Int32Array(form.length))
  const values = new ARRAY_OF_DTYPE[form.dtype](form.length)
  let from = 0
  for await (const piece of pieces()) {
    for (const [axis, column] of piece.keys.entries()) keys[axis]?.set(column, from)
    values.set(piece.values as never, from) // of one class, as the dtype says
    from += piece.values.length
  }
  return sparseOf(form, keys, values)
}

async function freedOnError(storage: Storage, fill: () => Promise<void>): Promise<void> {
  try {
    await fill()
  } catch (error) {
    freeStorage(storage)
    throw error
  }
}
