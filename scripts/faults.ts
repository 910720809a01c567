/**
 * The fault switchboard: every law is seen red under faults put in on purpose.
 *
 * A fault is an entry of property-tests/faults/*.json: `search` is an excerpt of `file` that occurs once, `replace` is
 * the mistake, `law` is the test that must fail. `law` names a test file, and after ` > ` the test in it:
 *
 *     { "name": "skip write-write pairs", "file": "src/planner/loop/dependence.ts", "search": "…", "replace": "…",
 *       "law": "property-tests/dependence.prop.ts > every pair of conflicting iterations is covered" }
 *
 * The tree is copied once for each lane; faults are put in, one at a time, and taken out again.
 *
 *     tsx scripts/faults.ts --list             names, files and laws
 *     tsx scripts/faults.ts --only affine      faults whose names contain a word
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { BIN, finish, ROOT, run } from './repository.ts'

interface Fault {
  readonly name: string
  readonly file: string
  readonly search: string
  readonly replace: string
  readonly law: string
}
interface Verdict {
  readonly fault: Fault
  /** Undefined: the law went red, as it should. */
  readonly complaint: string | undefined
  readonly seconds: number
}

/** A law that hangs under its fault is red: the fault was noticed. The longest law takes well under a minute. */
const TIME_LIMIT_MS = 240_000
/** A thousand random cases may miss a rare mistake: the law is given this many seeds to find it. */
const SEEDS = 6
const STAYED_GREEN = ` stayed green under ${SEEDS} seeds.`
const FOLDER = join(ROOT, 'property-tests', 'faults')
const { values } = parseArgs({
  options: { list: { type: 'boolean' }, only: { type: 'string' }, lanes: { type: 'string' } },
})

const faults = readFaults().filter((fault) => fault.name.includes(values.only ?? ''))
if (values.list === true) for (const fault of faults) console.log(`${fault.name.padEnd(60)}  ${fault.file}\n    ${fault.law}`)
else await tryAll()

async function tryAll(): Promise<void> {
  const queue = [...faults]
  const verdicts: Verdict[] = []
  const lanes = Math.min(Number(values.lanes ?? availableParallelism()), faults.length)
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      const tree = copyOfTree()
      try {
        for (let fault = queue.shift(); fault !== undefined; fault = queue.shift()) {
          const verdict = await tryOne(tree, fault)
          verdicts.push(verdict)
          printVerdict(verdict)
        }
      } finally {
        rmSync(tree, { recursive: true, force: true })
      }
    }),
  )
  const failed = verdicts.filter((verdict) => verdict.complaint !== undefined)
  for (const verdict of failed) console.log(`\n${verdict.fault.name}: ${verdict.complaint}`)
  finish({ passed: verdicts.length - failed.length, failed: failed.length })
}

/** From SEED on, so that a run can be repeated; otherwise new ones. */
function seeds(): readonly number[] {
  const first = process.env.SEED === undefined ? Date.now() % 2 ** 31 : Number(process.env.SEED)
  return Array.from({ length: SEEDS }, (_, i) => first + i)
}

function readFaults(): readonly Fault[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .flatMap((name) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as readonly Fault[])
}

/** What vitest needs of the repository; the packages are linked. */
function copyOfTree(): string {
  const tree = mkdtempSync(join(tmpdir(), 'distarray-faults-'))
  mkdirSync(tree, { recursive: true })
  for (const name of ['src', 'property-tests', 'examples', 'package.json', 'tsconfig.json', 'vitest.config.ts']) {
    cpSync(join(ROOT, name), join(tree, name), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  return tree
}

async function tryOne(tree: string, fault: Fault): Promise<Verdict> {
  const started = performance.now()
  const path = join(tree, fault.file)
  let sound: string
  try {
    sound = readFileSync(path, 'utf8')
  } catch {
    return { fault, complaint: `There is no file ${fault.file}.`, seconds: 0 }
  }
  const occurrences = sound.split(fault.search).length - 1
  if (occurrences !== 1) {
    const complaint = `The excerpt occurs ${occurrences} times in ${fault.file}, not once:\n${fault.search}`
    return { fault, complaint, seconds: 0 }
  }
  writeFileSync(
    path,
    sound.replace(fault.search, () => fault.replace),
  )
  try {
    let complaint: string | undefined
    for (const seed of seeds()) {
      complaint = await complaintAboutLaw(tree, fault, seed)
      if (complaint === undefined || !complaint.endsWith(STAYED_GREEN)) break
    }
    return { fault, complaint, seconds: (performance.now() - started) / 1000 }
  } finally {
    writeFileSync(path, sound)
  }
}

/** Runs the law: red means tests ran and one failed, so that a misspelled name or a syntax error does not pass for red. */
async function complaintAboutLaw(tree: string, fault: Fault, seed: number): Promise<string | undefined> {
  const [file = '', name] = fault.law.split(' > ')
  const report = join(tree, 'report.json')
  rmSync(report, { force: true })
  const pattern = name === undefined ? [] : ['-t', name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')]
  // Vite compiles the file with the fault anew, and the others once for each tree.
  const cache = ['--experimental.fsModuleCache', `--experimental.fsModuleCachePath=${join(tree, 'cache')}`]
  const args = ['run', file, ...pattern, '--reporter=json', `--outputFile=${report}`, '--bail=1', ...cache]
  const { stdout, stderr, timedOut } = await run(join(BIN, 'vitest'), args, {
    cwd: tree,
    timeoutMs: TIME_LIMIT_MS,
    env: { SEED: String(seed) },
  })
  if (timedOut) return undefined
  let tests: { readonly numFailedTests: number; readonly numPassedTests: number }
  try {
    tests = JSON.parse(readFileSync(report, 'utf8')) as typeof tests
  } catch {
    return `${fault.law} did not run:\n${stderr}${stdout}`
  }
  if (tests.numFailedTests > 0) return undefined
  return tests.numPassedTests > 0 ? `${fault.law}${STAYED_GREEN}` : `No test of ${fault.law} ran:\n${stderr.slice(-2000)}`
}

function printVerdict({ fault, complaint, seconds }: Verdict): void {
  console.log(`${complaint === undefined ? 'red   ' : 'FAILED'} ${seconds.toFixed(0).padStart(4)} s  ${fault.name}`)
}
