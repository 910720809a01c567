/** Copies of the program's functions, as they were printed for other threads. */

import { LIBRARY_BY_NAME } from '../time/library.ts'
import type { PortableFunction } from './functionIr.ts'
import { madeFromText } from './madeFromText.ts'

/** The function that the factory returns, of its captures and of what the library exports. */
export function copyOf({ source, captures }: PortableFunction): (...args: readonly unknown[]) => unknown {
  const factory = madeFromText(['captures', 'library'], source) as (captures: unknown, library: unknown) => unknown
  return factory(captures, LIBRARY_BY_NAME) as (...args: readonly unknown[]) => unknown // a function of the user's
}
