/**
 * src -> dist by tsc, and a look at what came out: every relative import ends in `.js`, and no module awaits at its
 * top level, so that `require('distarray')` works. tsc rewrites `.ts` to `.js` in code but not in declarations; that is
 * done here.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'acorn'
import { BIN, ROOT } from './repository.ts'

const dist = join(ROOT, 'dist')
rmSync(dist, { recursive: true, force: true })
try {
  execFileSync(join(BIN, 'tsc'), ['-p', 'tsconfig.build.json', '--sourceMap', 'false'], { cwd: ROOT, stdio: 'inherit' })
} catch {
  process.exit(1)
}

const emitted = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => /\.(js|d\.ts)$/.test(file))
for (const file of emitted.filter((name) => name.endsWith('.d.ts'))) {
  const text = readFileSync(join(dist, file), 'utf8')
  writeFileSync(join(dist, file), text.replace(/((?:from|import)\s*\(?\s*'\.[^']+)\.ts'/g, "$1.js'"))
}

const complaints = emitted.flatMap((file) => complaintsAbout(file, readFileSync(join(dist, file), 'utf8')))
for (const complaint of complaints) console.error(complaint)
if (complaints.length > 0) process.exitCode = 1

function complaintsAbout(file: string, text: string): readonly string[] {
  const imports = [...text.matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g)].map((match) => match[1] ?? '')
  const wrong = imports
    .filter((target) => !target.endsWith('.js'))
    .map((target) => `dist/${file} imports ${target}, which is not a .js file.`)
  return file.endsWith('.js') ? [...wrong, ...topLevelAwait(file, text)] : wrong
}

function topLevelAwait(file: string, text: string): readonly string[] {
  try {
    parse(text, { ecmaVersion: 'latest', sourceType: 'module', allowAwaitOutsideFunction: false })
    return []
  } catch (error) {
    return [`dist/${file} cannot be loaded by require(): ${String(error)}`]
  }
}
