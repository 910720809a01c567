/** Where a user's program called the library: the first frame of the stack that is not the library's own. */
import { fileURLToPath } from 'node:url'

const OWN_FOLDER = fileURLToPath(new URL('.', import.meta.url))

/** `train.ts:12` with the file's path as the stack has it, relative to the working directory; undefined where none is to be seen. */
export function callSite(): string | undefined {
  const lines = new Error().stack?.split('\n').slice(1) ?? []
  for (const line of lines) {
    const [, place, number] = /\(?((?:file:\/\/)?[^\s()]+):(\d+):\d+\)?$/.exec(line) ?? []
    if (place === undefined || place.startsWith('node:')) continue
    const path = place.startsWith('file://') ? fileURLToPath(place) : place
    if (path.startsWith(OWN_FOLDER) && !/\.test\.ts$/.test(path)) continue
    const here = `${process.cwd()}/`
    return `${path.startsWith(here) ? path.slice(here.length) : path}:${number}`
  }
  return undefined
}
