/**
 * The program of the thread of links: among the sources, the file `linkMain.ts`, or a text of the same modules. In the package
 * `packaged/linkProgram.ts` is in this module's place. gRPC is loaded in that thread alone.
 */
import { READS_TYPESCRIPT, sourceText } from '../../workers/sourceProgram.ts'

const MAIN = new URL('./linkMain.ts', import.meta.url)
/** What that file does, by a name: a file whose names nobody uses would be left out of a text. */
const TEXT = `
import { parentPort, workerData } from 'node:worker_threads'
import { runLink } from './linkThread.ts'
runLink(workerData, parentPort)`

export async function linkProgram(): Promise<string | URL> {
  return READS_TYPESCRIPT ? MAIN : sourceText(TEXT, MAIN)
}
