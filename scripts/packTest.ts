/**
 * The package as others get it: `npm pack`, installed into an empty project, where the first program of the README
 * runs under plain Node, compiled to ES modules and to CommonJS by tsc, and under tsx, each time with the output that the README
 * promises; then the applications of `packaging/`, those that need no other tools, or with `-- --all` the others as well, whose
 * tools are installed here. With `-- --built` what was built before is packed. Types are checked against the installed declarations. Uses npm's registry and cache as they are set.
 */
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PROJECTS, PROMISED, type Project } from '../packaging/projects.ts'
import { differenceOf } from './expectedOutput.ts'
import { BIN, finish, ROOT, run } from './repository.ts'

const TIME_LIMIT_MS = 300_000
const INSTALL = ['install', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts']
/** rxjs and Arrow's classes, whose types are public, take 25 of them. */
const MOST_INSTALLED_BYTES = 40 * 2 ** 20
const MOST_IMPORT_SECONDS = 0.3

const readme = /^```ts[^\n]*\n([\s\S]*?)^```$[\s\S]*?^```text output[^\n]*\n([\s\S]*?)^```$/m.exec(
  readFileSync(join(ROOT, 'README.md'), 'utf8'),
)
const [, source = '', promised = ''] = readme ?? []
const isAll = process.argv.includes('--all')

/** Operators of a program's own rxjs, and their types, on the events of a session, which come of the copy in the package. */
const OPERATORS = `import { Session, type SessionEvent } from 'distarray'
import { filter, map, take } from 'rxjs'
async function main() {
  await using session = await Session.start({ workers: 1 })
  const isStage = (event: SessionEvent): event is SessionEvent & { kind: 'stage' } => event.kind === 'stage'
  const kinds: string[] = []
  session.events.pipe(filter(isStage), map((event) => event.kind), take(1)).subscribe((kind: string) => kinds.push(kind))
  await session.fromRows([{ a: 1 }]).filter((r) => r.a > 0).collect()
  console.log(kinds.join())
}
void main()
`

/** A loop that is worth two processes. */
const GANG = `import { Session } from 'distarray'
const session = await Session.start({ workers: 1 })
const roots = session.zeros([40000])
const total = session.accumulator('sum')
const loop = session.loop(session.range(40000), { roots, total }, ([i], { roots, total }) => {
  let sum = 0
  for (let k = 0; k < 1500; k++) sum += Math.sqrt(i + k)
  roots.set(i, sum)
  total.add(sum)
})
await loop.run()
console.log(loop.plan.execution.processes.count, (await loop.verify()).identical, total.value > 0)
`

let passed = 0
let failed = 0
let skipped = 0
const project = mkdtempSync(join(tmpdir(), 'distarray-pack-'))
const bare = mkdtempSync(join(tmpdir(), 'distarray-bare-'))
try {
  await testPackage()
} finally {
  for (const folder of [project, bare]) rmSync(folder, { recursive: true, force: true })
}
finish({ passed, failed, ...(skipped > 0 && { skipped }) })

async function testPackage(): Promise<void> {
  if (!process.argv.includes('--built')) await step('build', ROOT, 'npm', ['run', 'build'])
  await step('npm pack', ROOT, 'npm', ['pack', '--pack-destination', project])
  const tarball = readdirSync(project).find((name) => name.endsWith('.tgz'))
  if (tarball === undefined) return

  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'empty', version: '1.0.0', private: true, type: 'module' }))
  await step('npm install into an empty project', project, 'npm', [...INSTALL, `./${tarball}`])
  checkCosts()

  // Folders below the project find the package in its node_modules.
  await readmeProgram('ESM', 'module')
  await readmeProgram('CommonJS', 'commonjs')
  await step('tsx', join(project, 'ESM'), join(BIN, 'tsx'), ['program.ts'], promised)
  symlinkSync(join(ROOT, 'node_modules', 'fast-check'), join(project, 'node_modules', 'fast-check'))
  writeFileSync(join(project, 'gang.mjs'), GANG)
  const distarray = join(project, 'node_modules', '.bin', 'distarray')
  await step(
    'a gang of two processes',
    project,
    distarray,
    ['run', '--processes', '2', '--', process.execPath, 'gang.mjs'],
    '2 true true\n',
  )
  await compiled('operators of rxjs', 'module', OPERATORS, 'stage')

  for (const one of PROJECTS) if (one.tools === undefined) await application(one)
  if (!isAll) return
  rmSync(join(project, 'node_modules', 'fast-check'))
  for (const one of PROJECTS) {
    if (one.tools === undefined) continue
    const installed = await run('npm', [...INSTALL, ...one.tools], { cwd: project, timeoutMs: TIME_LIMIT_MS })
    if (installed.code === 0) await application(one)
    else {
      skipped++
      const reason = /^npm error .*$/m.exec(installed.stderr)?.[0] ?? `it ended with ${installed.code}`
      console.log(`LEFT OUT ${one.name}: npm could not install ${one.tools.join(', ')}: ${reason}`)
    }
  }
}

async function readmeProgram(name: string, type: 'module' | 'commonjs'): Promise<void> {
  await compiled(name, type, source, promised)
}

/** Compiles the program in a folder of its own, with library checks on, and runs what comes out under plain Node. */
async function compiled(name: string, type: 'module' | 'commonjs', text: string, output: string): Promise<void> {
  const folder = join(project, name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }))
  writeFileSync(join(folder, 'program.ts'), text)
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
  await step(`plain Node, ${name}`, folder, process.execPath, ['--enable-source-maps', join('out', 'program.js')], output)
}

async function application({ name, files, commands, says = PROMISED }: Project): Promise<void> {
  const folder = join(project, name.replaceAll(/\W+/g, '-'))
  const apart = join(bare, name.replaceAll(/\W+/g, '-'))
  mkdirSync(folder)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  let output = ''
  for (const { program, args, isBare = false, env = {} } of commands) {
    if (isBare) cpSync(join(folder, 'bare'), apart, { recursive: true })
    const ended = await run(program, args, { cwd: isBare ? apart : folder, timeoutMs: TIME_LIMIT_MS, env })
    if (ended.code !== 0)
      return tell(name, `${ended.timedOut ? 'did not end' : `ended with code ${ended.code}`}:\n${ended.stdout}${ended.stderr}`)
    output = ended.stdout
  }
  const said = join(folder, 'said.txt')
  tell(name, differenceOf(says, existsSync(said) ? readFileSync(said, 'utf8') : output))
}

/** What is installed, and what an import takes of the processor beyond an empty program: the median of some. */
function checkCosts(): void {
  const bytes = bytesIn(join(project, 'node_modules'))
  tell(
    `${(bytes / 2 ** 20).toFixed(1)} MB are installed`,
    bytes > MOST_INSTALLED_BYTES ? `At most ${MOST_INSTALLED_BYTES / 2 ** 20} MB are promised.` : undefined,
  )
  const seconds = processorSeconds("import('distarray')") - processorSeconds('0')
  tell(
    `import takes ${seconds.toFixed(2)} s of the processor`,
    seconds > MOST_IMPORT_SECONDS ? `At most ${MOST_IMPORT_SECONDS} s are promised.` : undefined,
  )
}

function bytesIn(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => lstatSync(join(folder, file)))
  return files.reduce((sum, file) => sum + (file.isFile() ? file.blocks * 512 : 0), 0)
}

function processorSeconds(code: string): number {
  const told = `${code}; process.on('exit', () => { const { user, system } = process.cpuUsage(); console.log((user + system) / 1e6) })`
  const times = Array.from({ length: 5 }, () =>
    Number(spawnSync(process.execPath, ['-e', told], { cwd: project, encoding: 'utf8' }).stdout),
  )
  return times.sort((a, b) => a - b)[2] ?? Number.NaN
}

async function step(name: string, cwd: string, command: string, args: readonly string[], output?: string): Promise<void> {
  const { code, stdout, stderr, timedOut } = await run(command, args, { cwd, timeoutMs: TIME_LIMIT_MS })
  const ended = timedOut ? `did not end within ${TIME_LIMIT_MS / 1000} s` : `ended with code ${code}`
  tell(name, code !== 0 ? `${ended}:\n${stdout}${stderr}` : output === undefined ? undefined : differenceOf(output, stdout))
}

function tell(name: string, complaint: string | undefined): void {
  if (complaint === undefined) passed++
  else failed++
  console.log(`${complaint === undefined ? 'ok    ' : 'FAILED'} ${name}${complaint === undefined ? '' : `\n${complaint}`}`)
}
