/**
 * Runs the benches one after another, each a program of its own:
 *
 *     npm run bench                       all of them
 *     npm run bench -- kernels            bench/kernels.bench.ts
 *     npm run bench -- --quick            all, with fewer rounds and smaller sizes
 *     npm run bench -- kernels --only rank
 *
 * A bench that ends with an error does not keep the later ones from running. What is measured is the package as it is built, which
 * is made anew when a source is younger: under tsx every function gets its name by a call, a third of what a short query takes.
 * Benches that look into the library's parts run over its sources.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ENDING = '.bench.ts'
const folder = dirname(fileURLToPath(import.meta.url))
const [first, ...rest] = process.argv.slice(2)
const named = first !== undefined && !first.startsWith('-')
const flags = named || first === undefined ? rest : [first, ...rest]
const names = readdirSync(folder)
  .filter((file) => file.endsWith(ENDING))
  .map((file) => file.slice(0, -ENDING.length))
const chosen = named ? names.filter((name) => name === first) : names
if (chosen.length === 0) {
  console.error(`There is no bench ${first}. There are ${names.join(', ')}.`)
  process.exitCode = 1
}
const isBuilt =
  chosen.every(isOverSources) ||
  !isStale() ||
  spawnSync('npm', ['run', 'build'], { cwd: join(folder, '..'), stdio: 'inherit' }).status === 0
if (!isBuilt) {
  console.error('The package was not built, so that there is nothing to measure: see above.')
  process.exitCode = 1
}
for (const name of isBuilt ? chosen : []) {
  const started = performance.now()
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', join(folder, `${name}${ENDING}`), ...flags], {
    stdio: 'inherit',
    // without the paths by which the package's name stands for its sources
    env: { ...process.env, ...(isOverSources(name) ? {} : { TSX_TSCONFIG_PATH: join(folder, 'tsconfig.json') }) },
  })
  if (status !== 0) process.exitCode = 1
  console.log(`${name} ${status === 0 ? 'took' : 'FAILED after'} ${((performance.now() - started) / 1000).toFixed(0)} s\n`)
}

/** Whether a bench, or what it imports beside it, imports from `src`. */
function isOverSources(name: string): boolean {
  const reads = (file: string): boolean => {
    const text = readFileSync(join(folder, file), 'utf8')
    return text.includes("from '../src/") || [...text.matchAll(/from '\.\/(\w+\.ts)'/g)].some(([, beside]) => reads(beside as string))
  }
  return reads(`${name}${ENDING}`)
}

/** Whether the package was built before a source was written. */
function isStale(): boolean {
  const built = join(folder, '../dist/implementation.js')
  if (!existsSync(built)) return true
  const { mtimeMs } = statSync(built)
  const sources = join(folder, '../src')
  return readdirSync(sources, { recursive: true }).some((file) => statSync(join(sources, String(file))).mtimeMs > mtimeMs)
}
