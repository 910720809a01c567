/**
 * Applications that use the package as others build and run theirs: with what a bundler makes of them, under test runners, in both
 * module systems. All run `program.js` and print what it promises; what a bundler made runs in a folder without any packages.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BIN, ROOT } from '../scripts/repository.ts'

export interface Project {
  readonly name: string
  readonly files: Readonly<Record<string, string>>
  readonly commands: readonly Command[]
  /** Tools, with their versions, that are installed for this; those without are run by CI, with what the repository has. */
  readonly tools?: readonly string[]
  /** What the file `said.txt` or, without one, the last command's output has to be. Default: what the program promises. */
  readonly says?: string
}
export interface Command {
  readonly program: string
  readonly args: readonly string[]
  /** In the folder that holds no packages. */
  readonly isBare?: boolean
  readonly env?: Readonly<Record<string, string>>
}

const source = readFileSync(join(ROOT, 'packaging', 'program.js'), 'utf8')
const commonJs = source
  .replace(/^import \{ (\w+) \} from '([^']+)'$/m, "const { $1 } = require('$2')")
  .replace('export async function program', 'module.exports.program = async function program')
const esmMain = `import * as distarray from 'distarray'
import { program } from './program.mjs'
program(distarray, '.').then((said) => console.log(said.join('\\n')))
`
const cjsMain = `const { program } = require('./program.cjs')
program(require('distarray'), '.').then((said) => console.log(said.join('\\n')))
`
const test = (uses: string): string => `${uses}
test('runs', async () => writeFileSync('said.txt', (await program(distarray, '.')).join('\\n')), 60000)
`
const esmTest = test(
  "import { writeFileSync } from 'node:fs'\nimport * as distarray from 'distarray'\nimport { program } from './program.mjs'",
)
const cjsTest = test(
  "const { writeFileSync } = require('node:fs')\nconst distarray = require('distarray')\nconst { program } = require('./program.cjs')",
)
const ESM = { 'package.json': '{ "type": "module" }', 'program.mjs': source, 'main.mjs': esmMain }
const CJS = { 'package.json': '{ "type": "commonjs" }', 'program.cjs': commonJs, 'main.cjs': cjsMain }
const node = process.execPath

/** The promise of `program.js`. */
export const PROMISED: string = [1, 2]
  .flatMap((workers) =>
    [
      'rows as plain: true',
      'row functions compiled: true',
      'schema: user Float64,cost Float64',
      'grouped: 30',
      'as JavaScript: true',
      'loop as plain: true',
      'kernel: wasm-simd',
      'schedule: independent',
      'place: true',
      'classes: true',
      `threads: ${workers > 1}`,
    ].map((line) => `${workers}, ${line}`),
  )
  .join('\n')

const GIVEN = [1, 2]
  .flatMap((workers) =>
    [
      'rows as plain: true',
      'row functions compiled: true',
      'captured: true',
      'the cure: Give it as filter((row, key, { least }) => …, { env: { least } }).',
      'loop as plain: true',
      'kernel: wasm-simd',
      `threads: ${workers > 1}`,
    ].map((line) => `${workers}, ${line}`),
  )
  .join('\n')
const CHIP = process.arch === 'arm64' ? 'aarch64' : process.arch

/** With source maps it runs where its sources are. */
function esbuild(name: string, format: 'esm' | 'cjs', flags: readonly string[]): Project {
  const made = format === 'esm' ? 'made.mjs' : 'made.cjs'
  const args = ['main.mjs', '--bundle', '--platform=node', `--format=${format}`, '--log-level=warning', ...flags]
  return {
    name,
    files: ESM,
    commands: [
      { program: join(BIN, 'esbuild'), args: [...args, `--outfile=bare/${made}`] },
      flags.includes('--sourcemap')
        ? { program: node, args: ['--enable-source-maps', `bare/${made}`] }
        : { program: node, args: [made], isBare: true },
    ],
  }
}

export const PROJECTS: readonly Project[] = [
  { name: 'Node, ESM', files: ESM, commands: [{ program: node, args: ['main.mjs'] }] },
  { name: 'Node, CommonJS', files: CJS, commands: [{ program: node, args: ['main.cjs'] }] },
  {
    name: 'a global object of its own, as under Jest',
    files: {
      ...CJS,
      'main.cjs': `const { readFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const vm = require('node:vm')
const context = vm.createContext()
const own = new Set(vm.runInContext('Object.getOwnPropertyNames(globalThis)', context))
for (const name of Object.getOwnPropertyNames(globalThis)) {
  if (!own.has(name) || name === 'ArrayBuffer' || name === 'Uint8Array') context[name] = globalThis[name] // as those of Buffers
}
const modules = new Map()
function load(file) {
  if (modules.has(file)) return modules.get(file).exports
  const module = { exports: {} }
  modules.set(file, module)
  const { resolve } = createRequire(file)
  const inside = (id) => (id.startsWith('.') || id === 'distarray' ? load(resolve(id)) : require(id))
  const parameters = ['exports', 'require', 'module', '__filename', '__dirname']
  vm.compileFunction(readFileSync(file, 'utf8'), parameters, { filename: file, parsingContext: context })(module.exports, inside, module, file, __dirname)
  return module.exports
}
const { program } = load(__dirname + '/program.cjs')
program(load(require.resolve('distarray')), '.').then((said) => console.log(said.join('\\n')))
`,
    },
    commands: [{ program: node, args: ['main.cjs'] }],
  },
  {
    name: 'both forms in one process share their classes',
    files: {
      ...ESM,
      'main.mjs': `import { createRequire } from 'node:module'
import * as esm from 'distarray'
import * as testing from 'distarray/testing'
const require = createRequire(import.meta.url)
const same = (a, b) => Object.keys(a).every((name) => name === 'module.exports' || a[name] === b[name])
console.log(same(esm, require('distarray')), Object.keys(testing).join() === Object.keys(require('distarray/testing')).join())
`,
    },
    commands: [{ program: node, args: ['main.mjs'] }],
    says: 'true true',
  },
  {
    name: 'tsx, a .cts file of a module project',
    files: { ...ESM, ...CJS, 'package.json': ESM['package.json'], 'main.cts': cjsMain },
    commands: [{ program: join(BIN, 'tsx'), args: ['main.cts'] }],
  },
  esbuild('esbuild, ESM', 'esm', []),
  esbuild('esbuild, CommonJS, minified, with names', 'cjs', ['--minify', '--keep-names']),
  esbuild('esbuild, minified, with source maps', 'esm', ['--minify', '--sourcemap']),
  {
    name: 'Vite, SSR with all in it',
    files: {
      ...ESM,
      'vite.config.mjs':
        'export default { ssr: { noExternal: true }, build: { rolldownOptions: { output: { entryFileNames: "[name].mjs", chunkFileNames: "[name].mjs" } } }, logLevel: "warn" }',
    },
    commands: [
      { program: join(BIN, 'vite'), args: ['build', '--ssr', 'main.mjs', '--outDir', 'bare', '--emptyOutDir'] },
      { program: node, args: ['main.mjs'], isBare: true },
    ],
  },
  {
    name: 'Vitest',
    files: { ...ESM, 'a.test.mjs': esmTest },
    commands: [{ program: join(BIN, 'vitest'), args: ['run', '--globals', '--root', '.'] }],
  },
  {
    name: 'rollup',
    tools: ['rollup@4.68.7', '@rollup/plugin-node-resolve@16.0.3', '@rollup/plugin-commonjs@29.0.3'],
    files: {
      ...ESM,
      'rollup.config.mjs': `import commonjs from '@rollup/plugin-commonjs'
import resolve from '@rollup/plugin-node-resolve'
const output = { dir: 'bare', entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' }
export default { input: 'main.mjs', plugins: [resolve({ preferBuiltins: true, exportConditions: ['node'] }), commonjs()], output }
`,
    },
    commands: [
      { program: 'npx', args: ['rollup', '-c', '--silent'] },
      { program: node, args: ['main.mjs'], isBare: true },
    ],
  },
  {
    name: 'webpack',
    tools: ['webpack@5.112.2'],
    files: {
      ...ESM,
      'build.cjs': `const output = { path: __dirname + '/bare', filename: 'main.cjs' }
require('webpack')({ target: 'node', mode: 'production', entry: './main.mjs', output, performance: { hints: false } }, (error, stats) => {
  if (error || stats.hasErrors() || stats.hasWarnings()) throw error ?? new Error(stats.toString({ all: false, errors: true, warnings: true }))
})
`,
    },
    commands: [
      { program: node, args: ['build.cjs'] },
      { program: node, args: ['main.cjs'], isBare: true },
    ],
  },
  {
    name: 'Jest',
    tools: ['jest@30.5.2'],
    files: { ...CJS, 'a.test.js': cjsTest },
    commands: [{ program: 'npx', args: ['jest', '--rootDir', '.'] }],
  },
  {
    name: 'Jest, ES modules',
    tools: ['jest@30.5.2'],
    files: { ...ESM, 'a.test.js': esmTest },
    commands: [{ program: 'npx', args: ['jest', '--rootDir', '.'], env: { NODE_OPTIONS: '--experimental-vm-modules --no-warnings' } }],
  },
  ...['turbopack', 'webpack'].map((bundler) => nextProject(bundler)),
  engine('Bun', `@oven/bun-${process.platform}-${CHIP}`, '1.4.5', ['bin/bun']),
  engine('Deno', `@deno/${process.platform}-${process.arch}${process.platform === 'linux' ? '-glibc' : ''}`, '2.9.6', [
    'deno',
    'run',
    '-A',
  ]),
]

/** Another engine than Node, from the package with its program: what fetches that for the usual package is an install script. */
function engine(name: string, from: string, version: string, [program = '', ...args]: readonly string[]): Project {
  return {
    name,
    tools: [`${from}@${version}`],
    files: { 'package.json': ESM['package.json'], 'main.mjs': readFileSync(join(ROOT, 'packaging', 'given.js'), 'utf8') },
    commands: [{ program: `../node_modules/${from}/${program}`, args: [...args, 'main.mjs'] }],
    says: GIVEN,
  }
}

function nextProject(bundler: string): Project {
  return {
    name: `Next, ${bundler}`,
    tools: ['next@16.4.6', 'react@19.3.1', 'react-dom@19.3.1'],
    files: {
      'package.json': '{ "private": true }',
      'app/layout.js': 'export default function Layout({ children }) { return <html><body>{children}</body></html> }\n',
      'app/run/program.mjs': source,
      'app/run/route.js': `import * as distarray from 'distarray'
import { program } from './program.mjs'
export const dynamic = 'force-dynamic'
export async function GET() {
  return new Response((await program(distarray, '.')).join('\\n'))
}
`,
      // the server is ended by the process that asks it
      'ask.cjs': `const { spawn } = require('node:child_process')
const server = spawn(process.execPath, [require.resolve('next/dist/bin/next'), 'start', '--port', '0'])
server.stdout.on('data', async (data) => {
  const address = /http:\\/\\/localhost:\\d+/.exec(data)?.[0]
  if (address === undefined) return
  console.log(await (await fetch(address + '/run')).text())
  server.kill()
})
`,
    },
    commands: [
      { program: 'npx', args: ['next', 'build', `--${bundler}`], env: { NEXT_TELEMETRY_DISABLED: '1' } },
      { program: node, args: ['ask.cjs'], env: { NEXT_TELEMETRY_DISABLED: '1' } },
    ],
  }
}
