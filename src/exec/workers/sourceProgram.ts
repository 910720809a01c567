/** What a thread is started with that runs a module of the sources: the file, or where Node cannot read TypeScript a line that has tsx load it. */
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { PlanError } from '../../core/errors.ts'

export function sourceProgram(url: URL): URL {
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
