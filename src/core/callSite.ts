/** The call site in the user's program: read from the frames of the stack above the library's function. */
import { fileURLToPath } from 'node:url'

/** The folder of the sources; undefined in the package, whose code may lie in one file with the program's. */
const OWN_FOLDER = import.meta.url.endsWith('.ts') ? fileURLToPath(new URL('..', import.meta.url)) : undefined

/**
 * The place that called `entry`, the library's function, as `train.ts:12`. The file's path is the stack's, relative to the working
 * directory; undefined where the stack shows none.
 */
export function callSite(entry: (...args: never[]) => unknown): string | undefined {
  const holder: { stack?: unknown } = {}
  Error.captureStackTrace(holder, entry)
  const { stack } = holder // no string where a tool has replaced Error.prepareStackTrace
  for (const line of typeof stack === 'string' ? stack.split('\n') : []) {
    const [, place, number] = /\(?((?:file:\/\/)?[^\s()]+):(\d+):\d+\)?$/.exec(line) ?? []
    if (place !== undefined && !place.startsWith('node:')) return `${relativePath(place)}:${number}`
  }
  return undefined
}

/** The user's scripts on the stack, by the names they were loaded under, innermost first. */
export function callingScripts(): readonly string[] {
  const { prepareStackTrace, stackTraceLimit } = Error
  if (Object.isFrozen(Error)) return scriptsOf(new Error().stack)
  try {
    Error.stackTraceLimit = 100 // enough frames to see beyond the library's own, which come first
    Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFileName())
    // `stack` is the value that prepareStackTrace returns
    const names = new Error().stack as unknown as readonly (string | null | undefined)[]
    return [...new Set(names.filter((name): name is string => typeof name === 'string' && isUserFile(name)))]
  } finally {
    Error.prepareStackTrace = prepareStackTrace
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Reads the scripts from a stack's text, for a frozen Error, where prepareStackTrace cannot be set: `at f (file:///a/b.js:1:2)`. */
function scriptsOf(stack: string | undefined): readonly string[] {
  const names = (stack ?? '').split('\n').flatMap((line) => /(?:\(|at )([^()]+?):\d+:\d+\)?$/.exec(line)?.[1]?.replace(/^async /, '') ?? [])
  return [...new Set(names.filter(isUserFile))]
}

/** A script's path from its name or URL, relative to the working directory where it is below it. */
export function relativePath(script: string): string {
  const path = pathOf(script)
  const here = `${process.cwd()}/`
  return path.startsWith(here) ? path.slice(here.length) : path
}

export function pathOf(script: string): string {
  return script.startsWith('file://') ? fileURLToPath(script) : script
}

const userFiles = new Map<string, boolean>()

function isUserFile(script: string): boolean {
  if (script.startsWith('node:')) return false
  if (OWN_FOLDER === undefined) return true
  let known = userFiles.get(script)
  if (known === undefined) {
    const path = pathOf(script)
    known = !path.startsWith(OWN_FOLDER) || /\.test\.ts$/.test(path)
    userFiles.set(script, known)
  }
  return known
}
