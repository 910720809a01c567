/**
 * The program of worker threads: among the sources, the file `threadMain.ts`. In the package `packaged/threadProgram.ts` is in
 * this module's place.
 */
import { sourceProgram } from './sourceProgram.ts'

/** Awaited before a session starts threads. */
export async function loadThreadProgram(): Promise<void> {}

export function threadProgram(): string | URL {
  return sourceProgram(new URL('./threadMain.ts', import.meta.url))
}
