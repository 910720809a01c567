/**
 * Runs the programs of README.md and docs/: every ```ts block that imports from 'distarray'.
 *
 * Two words after the fence change that: `no-run` leaves a block out (its reason stands in the text around it), and
 * `append` adds it to the program of the block before it. A block followed by a fence ```text output (or ```console
 * output) must print that text, where `…` stands for anything within a line; so must a block that is appended after one.
 *
 * The programs see the package as built. They are compiled together by tsc, types checked, and run by plain Node, each
 * in a folder of its own. `tsx scripts/docs.ts types` runs the documents whose names contain a word;
 * `UPDATE_DOCS=1` writes what programs print into the outputs that differ.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { differenceOf } from './expectedOutput.ts'
import { BIN, finish, ROOT, run } from './repository.ts'

interface Block {
  readonly document: string
  readonly line: number
  readonly info: string
  readonly text: string
}
interface Program {
  /** The folder it runs in. */
  readonly name: string
  readonly document: string
  readonly place: string
  readonly source: string
  /** What it promises to print, piece by piece: each output ends one. */
  readonly outputs: readonly string[]
}

const TIME_LIMIT_MS = 120_000
/** What a program prints between two pieces of its output. */
const NEXT_PIECE = '==== the next output ===='
/** `w[k] += x` on a row view is fine in a document, so indexed access is not checked for undefined. */
const COMPILER_OPTIONS = {
  target: 'ES2022',
  lib: ['ES2023', 'ESNext.Disposable', 'DOM'],
  module: 'NodeNext',
  types: ['node'],
  strict: true,
  skipLibCheck: true,
  outDir: 'out',
  rootDir: '.',
  // places in what programs print are those of the documents
  sourceMap: true,
}

const word = process.argv[2] ?? ''
const documents = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)].filter(
  (name) => name.endsWith('.md') && name.includes(word),
)
const blocks = documents.flatMap((document) => blocksOf(document, readFileSync(join(ROOT, document), 'utf8')))
const programs = programsOf(blocks)
const skipped = blocks.filter((block) => isProgram(block) && hasWord(block, 'no-run'))
const folder = mkdtempSync(join(tmpdir(), 'distarray-docs-'))
try {
  await runPrograms()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function runPrograms(): Promise<void> {
  const built = await run('npm', ['run', 'build'], { cwd: ROOT, timeoutMs: TIME_LIMIT_MS })
  if (built.code !== 0) {
    console.log(`FAILED build: no program was run\n${built.stdout}${built.stderr}`)
    return finish({ passed: 0, failed: programs.length })
  }
  const complaints = await compile()
  let failed = 0
  for (const program of programs) {
    const complaint = complaints.get(program.name) ?? (await complaintAboutRun(program))
    console.log(`${complaint === undefined ? 'ok    ' : 'FAILED'} ${program.place}${complaint === undefined ? '' : `\n${complaint}`}`)
    if (complaint !== undefined) failed++
  }
  for (const block of skipped) console.log(`LEFT OUT (no-run) ${block.document}:${block.line}`)
  finish({ passed: programs.length - failed, failed, skipped: skipped.length })
}

/** Compiles all programs; what tsc says about each, by name. */
async function compile(): Promise<ReadonlyMap<string, string>> {
  const packages = join(folder, 'node_modules')
  mkdirSync(packages)
  for (const name of readdirSync(join(ROOT, 'node_modules'))) symlinkSync(join(ROOT, 'node_modules', name), join(packages, name))
  symlinkSync(ROOT, join(packages, 'distarray'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ['*/program.ts'] }))
  for (const { name, source } of programs) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'program.ts'), source)
  }
  const { stdout, stderr } = await run(join(BIN, 'tsc'), ['-p', folder], { cwd: folder, timeoutMs: TIME_LIMIT_MS })
  const complaints = new Map<string, string>()
  for (const line of `${stdout}${stderr}`.split('\n')) {
    const name = /^(program\d+)\//.exec(line)?.[1]
    if (name !== undefined) complaints.set(name, `${complaints.get(name) ?? ''}${line}\n`)
  }
  return complaints
}

async function complaintAboutRun({ name, document, outputs }: Program): Promise<string | undefined> {
  const args = ['--enable-source-maps', join(folder, 'out', name, 'program.js')]
  const { code, stdout, stderr, timedOut } = await run(process.execPath, args, { cwd: join(folder, name), timeoutMs: TIME_LIMIT_MS })
  if (timedOut) return `did not end within ${TIME_LIMIT_MS / 1000} s`
  if (code !== 0) return `ended with code ${code}:\n${stderr}${stdout}`
  const printed = stdout.split(`${NEXT_PIECE}\n`)
  for (const [i, output] of outputs.entries()) {
    const text = printed[i] ?? ''
    const difference = differenceOf(output, text)
    if (difference === undefined) continue
    if (process.env.UPDATE_DOCS !== '1') return difference
    const path = join(ROOT, document)
    writeFileSync(
      path,
      // with its fences: an output may still be empty
      readFileSync(path, 'utf8').replace(fenced(output), () => fenced(text)),
    )
  }
  return undefined
}

/** The output between its fences. */
function fenced(output: string): string {
  return `output\n${output}\`\`\`\n`
}

function blocksOf(document: string, markdown: string): readonly Block[] {
  return [...markdown.matchAll(/^```([^\n`]*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    document,
    line: markdown.slice(0, match.index).split('\n').length,
    info: match[1] ?? '',
    text: match[2] ?? '',
  }))
}

function hasWord(block: Block, wanted: string): boolean {
  return block.info.split(/\s+/).includes(wanted)
}

function isProgram(block: Block): boolean {
  return hasWord(block, 'ts') && /from 'distarray(\/testing)?'/.test(block.text)
}

function programsOf(all: readonly Block[]): readonly Program[] {
  return all.flatMap((block, index) => {
    if (!isProgram(block) || hasWord(block, 'no-run')) return []
    const parts = [block.text]
    const outputs: string[] = []
    for (let next = index + 1; next < all.length; next++) {
      const piece = all[next] as Block
      const afterOutput = hasWord(all[next - 1] as Block, 'output')
      if (piece.document !== block.document) break
      if (hasWord(piece, 'append')) parts.push(...(afterOutput ? [`console.log('${NEXT_PIECE}')`] : []), piece.text)
      else if (hasWord(piece, 'output') && !afterOutput) outputs.push(piece.text)
      else break
    }
    return [
      { name: `program${index}`, document: block.document, place: `${block.document}:${block.line}`, source: parts.join('\n'), outputs },
    ]
  })
}
