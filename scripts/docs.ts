/**
 * Runs the programs of README.md and docs/: every ```ts block that imports from 'distarray'.
 *
 * Two words after the fence change that: `no-run` leaves a block out (its reason stands in the text around it), and
 * `append` adds it to the program of the block before it. A block followed by a fence ```text output (or ```console
 * output) must print that text, where `…` stands for anything within a line. Blocks run with tsx from the sources, each
 * in an empty folder. `tsx scripts/docs.ts types` runs the documents whose names contain a word.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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
  readonly place: string
  readonly source: string
  readonly output?: string
}

const TIME_LIMIT_MS = 120_000

const word = process.argv[2] ?? ''
const documents = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)].filter(
  (name) => name.endsWith('.md') && name.includes(word),
)
const blocks = documents.flatMap((document) => blocksOf(document, readFileSync(join(ROOT, document), 'utf8')))
const programs = programsOf(blocks)
const skipped = blocks.filter((block) => isProgram(block) && hasWord(block, 'no-run'))

let failed = 0
for (const program of programs) {
  const complaint = await complaintAbout(program)
  console.log(`${complaint === undefined ? 'ok    ' : 'FAILED'} ${program.place}${complaint === undefined ? '' : `\n${complaint}`}`)
  if (complaint !== undefined) failed++
}
for (const block of skipped) console.log(`LEFT OUT (no-run) ${block.document}:${block.line}`)
finish({ passed: programs.length - failed, failed, skipped: skipped.length })

function blocksOf(document: string, markdown: string): readonly Block[] {
  return [...markdown.matchAll(/^```([^\n`]*)\n([\s\S]*?)^```$/gm)].map(([all, info = '', text = ''], _i) => ({
    document,
    line: markdown.slice(0, markdown.indexOf(all)).split('\n').length,
    info,
    text,
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
    let next = index + 1
    for (; all[next]?.document === block.document && hasWord(all[next] as Block, 'append'); next++) parts.push(all[next]?.text ?? '')
    const after = all[next]
    const promises = after !== undefined && after.document === block.document && hasWord(after, 'output')
    return [{ place: `${block.document}:${block.line}`, source: parts.join('\n'), ...(promises ? { output: after.text } : {}) }]
  })
}

async function complaintAbout(program: Program): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'distarray-docs-'))
  try {
    // By the paths of this repository's tsconfig 'distarray' is its source.
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'program.ts'), program.source)
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    const args = ['--tsconfig', join(ROOT, 'tsconfig.json'), join(folder, 'program.ts')]
    const { code, stdout, stderr, timedOut } = await run(join(BIN, 'tsx'), args, { cwd: folder, timeoutMs: TIME_LIMIT_MS })
    if (timedOut) return `did not end within ${TIME_LIMIT_MS / 1000} s`
    if (code !== 0) return `ended with code ${code}:\n${stderr}${stdout}`
    return program.output === undefined ? undefined : differenceOf(program.output, stdout)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
