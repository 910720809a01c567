/** Makes copies of the program's functions from the text that was printed for other threads. */

import { LIBRARY_BY_NAME } from '../time/library.ts'
import type { PortableFunction } from './functionIr.ts'
import { madeFromText } from './madeFromText.ts'

/** Calls the factory with its captures and the library's functions, and returns the function that it makes. */
export function copyOf({ source, captures }: PortableFunction): (...args: readonly unknown[]) => unknown {
  const factory = madeFromText(['captures', 'library'], source) as (captures: unknown, library: unknown) => unknown
  return factory(captures, LIBRARY_BY_NAME) as (...args: readonly unknown[]) => unknown // a function of the user's
}
