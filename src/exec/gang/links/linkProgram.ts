/**
 * The program of the thread of links: among the sources, the file `linkMain.ts`. In the package `packaged/linkProgram.ts` is in
 * this module's place. gRPC is loaded in that thread alone.
 */
import { sourceProgram } from '../../workers/sourceProgram.ts'

export async function linkProgram(): Promise<string | URL> {
  return sourceProgram(new URL('./linkMain.ts', import.meta.url))
}
