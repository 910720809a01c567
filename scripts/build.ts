/**
 * src -> dist, and a look at what came out: the two forms of the package export the same, no module awaits at its top level, so
 * that `require('distarray')` works, and none says where its file is, which a bundler of an application would have to know.
 */
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse } from 'acorn'
import { type PackageFile, packageFiles } from './bundles.ts'
import { licensesText } from './licenses.ts'
import { ROOT } from './repository.ts'

const dist = join(ROOT, 'dist')
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string }
const { files, foreign } = await packageFiles(version)
rmSync(dist, { recursive: true, force: true })
mkdirSync(dist)
for (const { name, text } of files) writeFileSync(join(dist, name), text)
chmodSync(join(dist, 'cli.js'), 0o755) // npx runs it from a checkout as well
writeFileSync(join(dist, 'THIRD-PARTY-LICENSES'), licensesText(foreign))

/** What chunks of the ESM form take of the platform's modules; those of the other form call require() themselves. */
const SHARED = /^require_builtin_esm_external_require_/

const complaints = [...files.flatMap(complaintsAbout), ...(await differences('index')), ...(await differences('implementation'))]
for (const complaint of complaints) console.error(complaint)
if (complaints.length > 0) process.exitCode = 1

function complaintsAbout({ name, text }: PackageFile): readonly string[] {
  if (!/\.c?js$/.test(name)) return []
  const found = /\bimport\.meta\.(?:url|dirname|filename|resolve)\b/.test(text) ? [`dist/${name} uses import.meta.`] : []
  try {
    parse(text, { ecmaVersion: 'latest', sourceType: name.endsWith('.cjs') ? 'script' : 'module', allowAwaitOutsideFunction: false })
    return found
  } catch (error) {
    return [...found, `dist/${name} cannot be loaded by require(): ${String(error)}`]
  }
}

async function differences(name: string): Promise<readonly string[]> {
  const file = join(dist, name)
  const esm = Object.keys((await import(pathToFileURL(`${file}.js`).href)) as object)
  const cjs = Object.keys(createRequire(import.meta.url)(`${file}.cjs`) as object)
  const one = (here: readonly string[], there: readonly string[], form: string) =>
    here
      .filter((key) => !there.includes(key) && !SHARED.test(key))
      .map((key) => `dist/${name}: ${key} is exported by the ${form} form only.`)
  return [...one(esm, cjs, 'ESM'), ...one(cjs, esm, 'CommonJS')]
}
