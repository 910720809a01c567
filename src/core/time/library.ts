/**
 * Functions of the library that functions of rows may call: how the program calls them, and what kernels call instead, with the
 * options one by one. They are the same in every thread.
 */
import type { LibraryCall } from '../ir/builtins.ts'
import { bucket, bucketOf } from './bucket.ts'
import { duration, formatTime, formattedTime, parsedTime, parseTime } from './texts.ts'

interface LibraryFunction {
  /** What the program has. */
  readonly f: unknown
  /** What kernels call. */
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

/** Which of them a function is; undefined for any other. */
export function libraryCallOf(f: unknown): LibraryCall | undefined {
  return NAMES.get(f)
}

/** All of them as the program has them, for copies of its functions in other threads. */
export const LIBRARY_BY_NAME: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries(LIBRARY_FUNCTIONS).map(([name, { f }]) => [name, f]),
)
