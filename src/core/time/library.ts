/**
 * The functions of the library that row functions may call: as the program calls them, and as kernels do, with the options one by
 * one. They are the same in every thread.
 */
import type { LibraryCall } from '../ir/builtins.ts'
import { bucket, bucketOf } from './bucket.ts'
import { duration, formatTime, formattedTime, parsedTime, parseTime } from './texts.ts'

interface LibraryFunction {
  /** The function that the library exports. */
  readonly f: unknown
  /** The function that kernels call. */
  readonly run: (...args: never[]) => unknown
}

export const LIBRARY_FUNCTIONS: Readonly<Record<LibraryCall, LibraryFunction>> = {
  bucket: { f: bucket, run: bucketOf },
  duration: { f: duration, run: duration },
  formatTime: { f: formatTime, run: formattedTime },
  parseTime: { f: parseTime, run: parsedTime },
}

const NAMES: ReadonlyMap<unknown, LibraryCall> = new Map(
  Object.entries(LIBRARY_FUNCTIONS).map(([name, { f }]) => [f, name as LibraryCall]), // its keys
)

/** The name of a function that the library exports for rows; undefined for any other. */
export function libraryCallOf(f: unknown): LibraryCall | undefined {
  return NAMES.get(f)
}

/** The exported functions by name, for copies of the program's functions in other threads. */
export const LIBRARY_BY_NAME: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries(LIBRARY_FUNCTIONS).map(([name, { f }]) => [name, f]),
)
