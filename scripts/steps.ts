/**
 * Runs a list of steps, each a command, and sums them up in one line: `N passed, N failed`.
 *
 *     tsx scripts/steps.ts test     what `npm test` runs: brief laws, and the faults that may have changed
 *     tsx scripts/steps.ts ci       what CI runs after `npm ci`: the same, more of the other faults, and the package as others install it
 *     tsx scripts/steps.ts all      everything, before a release: the laws in full, and on Node 24
 *
 * A step that ends with such a line of its own (or is vitest, which reports as JSON) counts with its numbers, any
 * other as one. A failing step does not keep the later ones from running; what failed is named again at the end.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Step {
  readonly name: string
  readonly command: string
  readonly env?: Readonly<Record<string, string>>
  /** Default: in every list. */
  readonly lists?: readonly List[]
  /** It runs beside the others, which wait for processes and disks half of the time; those that do run one after another. */
  readonly beside?: true
}
type List = 'test' | 'ci' | 'all'
interface Count {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

/** What all others need. */
const BUILD: Step = { name: 'build', command: 'npm run build' }

const STEPS: readonly Step[] = [
  { name: 'types', command: 'npm run types' },
  { name: 'lint', command: 'npm run lint' },
  { name: 'units', command: 'npm run units' },
  { name: 'laws, brief', command: 'npm run laws', env: { LAWS: '50' }, lists: ['test', 'ci'] },
  { name: 'laws', command: 'npm run laws', lists: ['all'] },
  { name: 'Node 24', command: 'npm run other-engine', env: { LAWS: '250' }, lists: ['all'] },
  { name: 'faults, some', command: 'npm run faults -- --changed', lists: ['test'] },
  { name: 'faults, more', command: 'npm run faults -- --changed --picked 60', lists: ['ci'] },
  { name: 'faults', command: 'npm run faults', lists: ['all'] },
  { name: 'examples', command: 'npm run examples', beside: true },
  { name: 'docs', command: 'npm run docs', beside: true },
  { name: 'pack', command: 'npm run pack:test -- --built', lists: ['ci'], beside: true },
  { name: 'pack, all', command: 'npm run pack:test -- --built --all', lists: ['all'], beside: true },
  { name: 'main job', command: 'npm start', beside: true },
]

interface VitestReport {
  readonly testResults?: readonly { readonly assertionResults?: readonly VitestTest[] }[]
}
interface VitestTest {
  readonly status: string
  readonly fullName?: string
  readonly failureMessages?: readonly string[]
}

interface Row {
  readonly name: string
  readonly count: Count
  readonly seconds: number
}

/** One seed for all laws, so that the same tree gives the same answer twice; `npm run laws` by itself draws new cases. */
const SEED = '20260101'

const LEFT_OUT = {
  test: 'laws with 1,000 cases each, all faults, the packed package, Node 24 (npm run all)',
  ci: 'laws with 1,000 cases each, faults that cannot have changed beyond 60 picked by the commit, Node 24, the package in rollup, webpack, Jest and Next (npm run all)',
  all: 'laws with 10,000 cases each (LAWS=long npm run laws)',
} as const

/** Scripts print this before the name of what they skip. */
const LEFT_OUT_LINE = /^LEFT OUT +(.*)$/gm
const SUMMARY = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm

const which: List = process.argv[2] === 'all' || process.argv[2] === 'ci' ? process.argv[2] : 'test'
const scratch = mkdtempSync(join(tmpdir(), 'distarray-steps-'))
const passed = new Set<string>()
const skipped = new Set<string>()
const failures: string[] = []
const wanted = STEPS.filter(({ lists }) => lists === undefined || lists.includes(which))
const isBeside = ({ beside }: Step): boolean => beside === true
const built = await run(BUILD)
const [first, second] = await Promise.all([inTurn(wanted.filter((step) => !isBeside(step))), inTurn(wanted.filter(isBeside))])
const rows: readonly Row[] = [built, ...first, ...second]
rmSync(scratch, { recursive: true })

console.log('\nstep          passed  failed  skipped  seconds')
for (const { name, count, seconds } of rows) {
  const cells = [count.passed, count.failed, count.skipped].map((n, i) => String(n).padStart([6, 8, 9][i] ?? 0))
  console.log(`${name.padEnd(14)}${cells.join('')}${seconds.toFixed(0).padStart(9)}${count.failed > 0 ? '  FAILED' : ''}`)
}
// What one engine leaves out another may have run.
const leftOut = [...skipped].filter((name) => !passed.has(name))
for (const name of [...leftOut, LEFT_OUT[which]]) console.log(`LEFT OUT: ${name}`)
const total = (of: keyof Count): number => rows.reduce((sum, row) => sum + row.count[of], 0)
for (const failure of failures) console.log(`FAILED ${failure}`)
console.log(summaryText({ passed: total('passed'), failed: total('failed'), skipped: total('skipped') }))
process.exitCode = total('failed') > 0 ? 1 : 0

async function inTurn(steps: readonly Step[]): Promise<readonly Row[]> {
  const done: Row[] = []
  for (const step of steps) done.push(await run(step))
  return done
}

async function run(step: Step): Promise<Row> {
  const [started, report] = [performance.now(), join(scratch, `${step.name}.json`)]
  const title = `\n=== ${step.name}: ${step.command}`
  if (step.beside !== true) console.log(title)
  const { code, output } = await shell(step, { ...step.env, VITEST_REPORT: report })
  if (step.beside === true) console.log(`${title}\n${output}`)
  const tests = vitestTests(report)
  const counted = tests === undefined ? lastSummary(output) : countOf(tests)
  for (const [, name = ''] of output.matchAll(LEFT_OUT_LINE)) skipped.add(name)
  const succeeded = code === 0
  const reasons = tests === undefined ? linesAfterFailed(output) : tests.filter((test) => test.status === 'failed').map(whyFailed)
  if (!succeeded)
    failures.push(...(reasons.length === 0 ? [`ended with code ${code}`] : reasons).map((reason) => `${step.name}: ${reason}`))
  const count =
    counted === undefined
      ? { passed: succeeded ? 1 : 0, failed: succeeded ? 0 : 1, skipped: 0 }
      : { ...counted, failed: succeeded ? counted.failed : Math.max(1, counted.failed) }
  return { name: step.name, count, seconds: (performance.now() - started) / 1000 }
}

/** Of steps that run beside others the output is printed when they end. */
function shell(
  { command, beside }: Step,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'inherit'], env: { SEED, ...process.env, ...env } })
    let output = ''
    child.stdout.on('data', (data: Buffer) => {
      output = (output + data.toString()).slice(-100_000)
      if (beside !== true) process.stdout.write(data)
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code: code ?? 1, output }))
  })
}

/** What vitest.config.ts asks vitest to leave at VITEST_REPORT: every test of the run. */
function vitestTests(report: string): readonly VitestTest[] | undefined {
  let text: string
  try {
    text = readFileSync(report, 'utf8')
  } catch {
    return undefined
  }
  // The form is vitest's own; what is missing counts as nothing.
  const { testResults = [] } = JSON.parse(text) as VitestReport
  return testResults.flatMap((file) => file.assertionResults ?? [])
}

function countOf(tests: readonly VitestTest[]): Count {
  const others = tests.filter((test) => test.status !== 'passed' && test.status !== 'failed').map(nameOf)
  for (const name of others) skipped.add(name)
  for (const test of tests) if (test.status === 'passed') passed.add(nameOf(test))
  const failed = tests.filter((test) => test.status === 'failed').length
  return { passed: tests.length - others.length - failed, failed, skipped: others.length }
}

function nameOf(test: VitestTest): string {
  return test.fullName ?? 'a test without a name'
}

function whyFailed(test: VitestTest): string {
  return `${nameOf(test)}: ${test.failureMessages?.[0]?.split('\n')[0] ?? 'no message'}`
}

/** The scripts print `FAILED name` where something failed. */
function linesAfterFailed(output: string): readonly string[] {
  return [...output.matchAll(/^FAILED +(.*)$/gm)].map((line) => line[1] ?? '')
}

function lastSummary(output: string): Count | undefined {
  const last = [...output.matchAll(SUMMARY)].at(-1)
  return last === undefined ? undefined : { passed: Number(last[1]), failed: Number(last[2]), skipped: Number(last[3] ?? 0) }
}

function summaryText({ passed, failed, skipped }: Count): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
