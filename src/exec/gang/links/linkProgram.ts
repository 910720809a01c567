/**
 * The program of the thread of links: among the sources, the file `linkMain.ts`, or a text of the same modules. In the package
 * `packaged/linkProgram.ts` is in this module's place. gRPC is loaded in that thread alone.
 */
import { READS_TYPESCRIPT, sourceText } from '../../workers/sourceProgram.ts'

const MAIN = new URL('./linkMain.ts', import.meta.url)
/** The same program with an import by name: a file without used names would be left out of the bundled text. */
const TEXT = `
import { parentPort, workerData } from 'node:worker_threads'
import { runLink } from './linkThread.ts'
runLink(workerData, parentPort)`

export async function linkProgram(): Promise<string | URL> {
  return READS_TYPESCRIPT ? MAIN : sourceText(TEXT, MAIN)
}
