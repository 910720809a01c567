/** The operations on stored arrays: to make them, or from batches; to read them as batches, query, write and free them. */
export { assignSlice, type EditContext, setKey, updateKey } from './edit.ts'
export { storedValue } from './fit.ts'
export { type StorageForm, storageFromBatches } from './fromBatches.ts'
export { type ArraySpec, makeArray, makeZeros } from './makeArray.ts'
export { absentValue, atKey, hasKey, indexOfKey, rowOfStorage, shapeOfStorage, sliceStorage, toTypedArray } from './query.ts'
export { compareAt, lowerBound, sortOrder } from './sortKeys.ts'
export { copyStorage, freeStorage, overwriteDense, ownBlocks } from './storageBlocks.ts'
export { batchesFromStorage, batchOf, keysBetween, lengthOf } from './toBatches.ts'
