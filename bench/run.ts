/**
 * Runs the benches one after another, each a program of its own:
 *
 *     npm run bench                       all of them
 *     npm run bench -- kernels            bench/kernels.bench.ts
 *     npm run bench -- --quick            all, with fewer rounds and smaller sizes
 *     npm run bench -- kernels --only rank
 *
 * A bench that ends with an error does not keep the later ones from running.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
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
for (const name of chosen) {
  const started = performance.now()
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', join(folder, `${name}${ENDING}`), ...flags], { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
  console.log(`${name} ${status === 0 ? 'took' : 'FAILED after'} ${((performance.now() - started) / 1000).toFixed(0)} s\n`)
}
