/**
 * The package as others get it: `npm pack`, installed into an empty project, where the first program of the README
 * runs under plain Node (ESM), under tsx, and compiled to CommonJS by tsc, each time with the output that the README
 * promises. Types are checked against the installed declarations. Uses npm's registry and cache as they are set.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { differenceOf } from './expectedOutput.ts'
import { BIN, finish, ROOT, run } from './repository.ts'

const TIME_LIMIT_MS = 300_000
const readme = /^```ts[^\n]*\n([\s\S]*?)^```$[\s\S]*?^```text output[^\n]*\n([\s\S]*?)^```$/m.exec(
  readFileSync(join(ROOT, 'README.md'), 'utf8'),
)
const [, source = '', promised = ''] = readme ?? []

let passed = 0
let failed = 0
const project = mkdtempSync(join(tmpdir(), 'distarray-pack-'))
await testPackage()
rmSync(project, { recursive: true, force: true })
finish({ passed, failed })

async function testPackage(): Promise<void> {
  await step('build', ROOT, 'npm', ['run', 'build'])
  await step('npm pack', ROOT, 'npm', ['pack', '--pack-destination', project])
  const tarball = readdirSync(project).find((name) => name.endsWith('.tgz'))
  if (tarball === undefined) return

  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'empty', version: '1.0.0', private: true, type: 'module' }))
  await step('npm install into an empty project', project, 'npm', [
    'install',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    `./${tarball}`,
  ])

  // Three folders below the project find the package in its node_modules.
  await program('ESM', 'module')
  await program('CommonJS', 'commonjs')
  await step('tsx', join(project, 'ESM'), join(BIN, 'tsx'), ['program.ts'], promised)
  await step('require() gives the classes', project, process.execPath, [
    '-e',
    "if (typeof require('distarray').Session.start !== 'function') throw 0",
  ])
}

/** Compiles the program in a folder of its own, with library checks on, and runs what comes out under plain Node. */
async function program(name: string, type: 'module' | 'commonjs'): Promise<void> {
  const folder = join(project, name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }))
  writeFileSync(join(folder, 'program.ts'), source)
  const compilerOptions = {
    target: 'ES2022',
    lib: ['ES2023', 'ESNext.Disposable'],
    module: 'NodeNext',
    strict: true,
    noUncheckedIndexedAccess: type === 'commonjs',
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules', '@types')],
    skipLibCheck: false,
    outDir: 'out',
    sourceMap: true,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
  await step(`tsc to ${name}`, folder, join(BIN, 'tsc'), ['-p', '.'])
  // With source maps on, as for stack traces, the explanation tells places of program.ts.
  await step(`plain Node, ${name}`, folder, process.execPath, ['--enable-source-maps', join('out', 'program.js')], promised)
}

async function step(name: string, cwd: string, command: string, args: readonly string[], output?: string): Promise<void> {
  const { code, stdout, stderr, timedOut } = await run(command, args, { cwd, timeoutMs: TIME_LIMIT_MS })
  const ended = timedOut ? `did not end within ${TIME_LIMIT_MS / 1000} s` : `ended with code ${code}`
  const complaint = code !== 0 ? `${ended}:\n${stdout}${stderr}` : output === undefined ? undefined : differenceOf(output, stdout)
  if (complaint === undefined) passed++
  else failed++
  console.log(`${complaint === undefined ? 'ok    ' : 'FAILED'} ${name}${complaint === undefined ? '' : `\n${complaint}`}`)
}
