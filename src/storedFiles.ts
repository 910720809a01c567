/** Files of whole arrays, whose elements lie in storage: written from there, and read to there. */
import type { LogicalPlan } from './core/logicalPlan.ts'
import type { ArrayStore } from './exec/arrayStore.ts'
import { makeZeros } from './exec/arrays/makeArray.ts'
import { piecesOf, putElements, putTransposed } from './exec/arrays/pieces.ts'
import { numbersOf, shapeOfStorage } from './exec/arrays/query.ts'
import { freeStorage } from './exec/arrays/storageBlocks.ts'
import { givenPlan } from './givenArrays.ts'
import { checkFolder } from './io/atomicFile.ts'
import { type NpyOptions, withNpy, writeNpy } from './io/npy.ts'
import type { FileSource } from './io/reading.ts'
import type { Written } from './io/writeParquet.ts'
import type { Runtime } from './runtime.ts'

/** Writes the elements of an array as they lie in its storage, which nobody writes meanwhile. */
export async function writeStored(
  store: ArrayStore,
  plan: LogicalPlan,
  { path, signal }: { readonly path: string; readonly signal: AbortSignal },
): Promise<Written> {
  await checkFolder(path)
  const write = async (storage: Parameters<typeof shapeOfStorage>[0], name: string): Promise<Written> => {
    const dtype = numbersOf(storage, { method: 'writeNpy', name, gives: 'writes numbers', others: 'writeParquet()' })
    return await writeNpy(path, { shape: shapeOfStorage(storage), dtype, pieces: piecesOf(storage, dtype) }, signal)
  }
  return await store.read(plan, write, { keep: false })
}

/** The plan of an array with the elements of a NumPy file. */
export async function npyPlan(source: FileSource, options: NpyOptions, { arena, store }: Runtime): Promise<LogicalPlan> {
  return await withNpy(source, options, async ({ name, shape, dtype, fortran, pieces }) => {
    const storage = makeZeros(shape, dtype, name, arena)
    const put = fortran ? putTransposed : putElements
    try {
      for await (const { from, values } of pieces()) put(storage, from, values)
    } catch (error) {
      freeStorage(storage)
      throw error
    }
    return givenPlan(name, storage, { store, dtype })
  })
}
