/**
 * The program of worker threads: among the sources, the file `threadMain.ts`. In the package `packaged/threadProgram.ts` is in
 * this module's place.
 */
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { PlanError } from '../../core/errors.ts'

/** Awaited before a session starts threads. */
export async function loadThreadProgram(): Promise<void> {}

/** A file; where Node cannot read TypeScript by itself, a line that has tsx load it. */
export function threadProgram(): string | URL {
  const url = new URL('./threadMain.ts', import.meta.url)
  const stripsTypes = Boolean((process.features as { readonly typescript?: unknown }).typescript) // since Node 22.10
  if (stripsTypes) return url
  const code = `import { register } from ${JSON.stringify(tsxApi())}; register(); await import(${JSON.stringify(url.href)})`
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`)
}

function tsxApi(): string {
  try {
    // require() finds the CommonJS twin of the file, which does not work in a thread
    return pathToFileURL(
      createRequire(import.meta.url)
        .resolve('tsx/esm/api')
        .replace(/\.cjs$/, '.mjs'),
    ).href
  } catch (cause) {
    throw new PlanError('Worker threads run from TypeScript sources need tsx on this version of Node: install it, or use Node 24.', {
      cause,
    })
  }
}
