/**
 * Runs the unit tests, and the laws that leave something out on older engines, on Node 24: its WebAssembly has relaxed
 * SIMD and memories of more than 4 GiB. The engine comes from npm's registry into a temporary folder; without one, or
 * where the tests run on such a Node anyway, the step says that it was skipped, and why.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finish, ROOT, run } from './repository.ts'

const MAJOR = 24
const INSTALL_LIMIT_MS = 300_000
const TESTS_LIMIT_MS = 1_800_000
const LAWS = join(ROOT, 'property-tests')

const folder = mkdtempSync(join(tmpdir(), 'distarray-engine-'))
const skipped = await testOnIt()
rmSync(folder, { recursive: true, force: true })
if (skipped !== undefined) {
  console.log(`LEFT OUT tests on Node ${MAJOR}: ${skipped}`)
  finish({ passed: 0, failed: 0, skipped: 1 })
}

/** Returns why nothing was tested. */
async function testOnIt(): Promise<string | undefined> {
  if (Number(process.versions.node.split('.')[0]) >= MAJOR) return `this is Node ${process.versions.node}, so the other steps did that.`

  // The programs alone; the package `node` would fetch one of these in an install script.
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const install = ['install', '--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--prefix', folder, `${name}@${MAJOR}`]
  const installed = await run('npm', install, { cwd: folder, timeoutMs: INSTALL_LIMIT_MS })
  if (installed.code !== 0)
    return `npm could not install ${name}: ${/^npm error .*$/m.exec(installed.stderr)?.[0] ?? `it ended with ${installed.code}`}`

  const engine = join(folder, 'node_modules', name, 'bin', 'node')
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  const tested = await run(engine, [vitest, 'run', 'src/', ...lawsThatLeaveOut()], { cwd: ROOT, timeoutMs: TESTS_LIMIT_MS })
  process.stdout.write(tested.stdout)
  process.stderr.write(tested.stderr)
  process.exitCode = tested.code ?? 1
  return undefined
}

function lawsThatLeaveOut(): readonly string[] {
  const files = readdirSync(LAWS).filter((file) => file.endsWith('.prop.ts'))
  return files.filter((file) => readFileSync(join(LAWS, file), 'utf8').includes('.skipIf(')).map((file) => `property-tests/${file}`)
}
