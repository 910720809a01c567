/**
 * The fault switchboard: every law is seen red under faults put in on purpose.
 *
 * A fault is an entry of property-tests/faults/*.json: `search` is an excerpt of `file` that occurs once, `replace` is
 * the mistake, `law` is the test that must fail. `law` names a test file, and after ` > ` the test in it:
 *
 *     { "name": "skip write-write pairs", "file": "src/planner/loop/dependence/dependence.ts", "search": "…", "replace": "…",
 *       "law": "property-tests/dependence.prop.ts > every pair of conflicting iterations is covered" }
 *
 * The case that a law went red at is remembered in property-tests/replays.json and tried first. Where it passes, the law's
 * cases are searched under several seeds, and what is found is remembered instead (not in CI; with --changed only where asked).
 *
 *     tsx scripts/faults.ts                    all, by replay
 *     tsx scripts/faults.ts --changed          those whose file or law has changed since, and some of the others, picked by the commit
 *     tsx scripts/faults.ts --list             names, files and laws
 *     tsx scripts/faults.ts --changed --picked 300    with so many of the others, instead of twenty
 *     tsx scripts/faults.ts --changed --remember      and what is found is remembered, which takes minutes less than all faults
 *     tsx scripts/faults.ts --only affine      faults whose names contain a word
 *     tsx scripts/faults.ts --search           as if no case were remembered
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { sailProgram } from '../property-tests/sparkServers.ts'
import { Lane } from './faultLane.ts'
import { type Fault, keyOf, type Replay, readFaults, readReplays, writeReplays } from './faultList.ts'
import { finish, ROOT } from './repository.ts'

interface Verdict {
  readonly fault: Fault
  /** Undefined: the law went red, as it should. */
  readonly complaint: string | undefined
  /** How it went red. */
  readonly replay?: Replay
  readonly searched: boolean
  readonly seconds: number
}

/** A law that hangs under its fault is red: the fault was noticed. The longest law takes well under a minute. */
const SEARCH_LIMIT_MS = 240_000
/** One case takes a second; what hung once has this long to end. */
const REPLAY_LIMIT_MS = 20_000
/** A thousand random cases may miss a rare mistake: the law is given this many seeds to find it. */
const SEEDS = 6
const { values } = parseArgs({
  options: {
    list: { type: 'boolean' },
    only: { type: 'string' },
    lanes: { type: 'string' },
    changed: { type: 'boolean' },
    picked: { type: 'string', default: '20' },
    remember: { type: 'boolean' },
    search: { type: 'boolean' },
  },
})
// so that the lanes, which are process groups of their own, are ended as well
process.once('SIGINT', () => process.exit(130))
const replays = readReplays()
const faults = readFaults().filter((fault) => fault.name.includes(values.only ?? ''))
const chosen = thoseThatCanBeTried(values.changed === true ? changedAndPicked(faults) : faults)
if (values.list === true) for (const fault of faults) console.log(`${fault.name.padEnd(60)}  ${fault.file}\n    ${fault.law}`)
else await tryAll(chosen)

/** Faults without a case that was found in this file by this law, and some of the others, which differ from commit to commit. */
function changedAndPicked(all: readonly Fault[]): readonly Fault[] {
  const changed = all.filter((fault) => replays[fault.name]?.key !== keyOf(fault))
  const commit = commitId()
  const rank = (fault: Fault): string => createHash('sha256').update(commit).update(fault.name).digest('hex')
  const others = all.filter((fault) => !changed.includes(fault))
  const picked = new Set([...others].sort((a, b) => (rank(a) < rank(b) ? -1 : 1)).slice(0, Number(values.picked)))
  console.log(`${changed.length} of ${all.length} faults may have changed; ${picked.size} others are picked by the commit.`)
  return all.filter((fault) => changed.includes(fault) || picked.has(fault))
}

function thoseThatCanBeTried(all: readonly Fault[]): readonly Fault[] {
  const others = all.filter(({ needs }) => needs === undefined)
  if (values.list === true || others.length === all.length || sailProgram() !== undefined) return all
  console.log(`LEFT OUT: ${all.length - others.length} faults of what is compared with Sail`)
  return others
}

function commitId(): string {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return 'no commit'
  }
}

async function tryAll(list: readonly Fault[]): Promise<void> {
  // laws of one file follow one another, so that what they import is compiled once
  const byLaw = [...list].sort((a, b) => (a.law === b.law ? 0 : a.law < b.law ? -1 : 1))
  // what takes longest begins first, so that no lane waits for it at the end
  const hung = byLaw.filter((fault) => replays[fault.name]?.hangs === true)
  const queue = [...hung, ...byLaw.filter((fault) => !hung.includes(fault))]
  const verdicts: Verdict[] = []
  const lanes = Math.min(Number(values.lanes ?? availableParallelism()), queue.length)
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      const lane = new Lane()
      try {
        for (let fault = queue.shift(); fault !== undefined; fault = queue.shift()) {
          const verdict = await verdictOf(lane, fault)
          verdicts.push(verdict)
          printVerdict(verdict)
          if (verdicts.length % 25 === 0) remember(verdicts)
        }
      } finally {
        lane.end()
      }
    }),
  )
  remember(verdicts)
  const failed = verdicts.filter((verdict) => verdict.complaint !== undefined)
  for (const verdict of failed) console.log(`\nFAILED ${verdict.fault.name}: ${verdict.complaint}`)
  finish({ passed: verdicts.length - failed.length, failed: failed.length })
}

async function verdictOf(lane: Lane, fault: Fault): Promise<Verdict> {
  const started = performance.now()
  const known = values.search === true ? undefined : replays[fault.name]
  const done = (searched: boolean, complaint: string | undefined, replay?: Replay): Verdict => ({
    fault,
    complaint,
    searched,
    seconds: (performance.now() - started) / 1000,
    ...(replay === undefined ? {} : { replay }),
  })
  const key = keyOf(fault)
  if (known !== undefined) {
    const { test, seed, path, hangs } = known
    const limitMs = hangs === true || path !== undefined ? REPLAY_LIMIT_MS : SEARCH_LIMIT_MS
    // of a law that hung nobody knows which test it was
    const which = hangs === true ? {} : { test, ...(path === undefined ? {} : { path }) }
    const outcome = await lane.run({ fault, seed, ...which }, limitMs)
    if (outcome.kind === 'red' || (outcome.kind === 'hung' && hangs === true)) return done(false, undefined, { ...known, key })
  }
  for (const seed of seeds()) {
    const outcome = await lane.run({ fault, seed }, SEARCH_LIMIT_MS)
    if (outcome.kind === 'amiss') return done(true, outcome.why)
    if (outcome.kind === 'hung') return done(true, undefined, { key, test: testOf(fault), seed, hangs: true })
    if (outcome.kind === 'red') {
      const { test, path } = outcome
      return done(true, undefined, { key, test, seed, ...(path === undefined ? {} : { path }) })
    }
  }
  return done(true, `${fault.law} stayed green under ${SEEDS} seeds.`)
}

/** From SEED on, so that a run can be repeated; otherwise new ones. */
function seeds(): readonly number[] {
  const first = process.env.SEED === undefined ? Date.now() % 2 ** 31 : Number(process.env.SEED)
  return Array.from({ length: SEEDS }, (_, i) => first + i)
}

function testOf(fault: Fault): string {
  return fault.law.split(' > ').slice(1).join(' ')
}

/** Replays of faults that are gone are dropped where all faults were tried. */
function remember(verdicts: readonly Verdict[]): void {
  if (process.env.CI !== undefined || (values.changed === true && values.remember !== true)) return
  const names = new Set(readFaults().map((fault) => fault.name))
  const found = Object.fromEntries(verdicts.flatMap(({ fault, replay }) => (replay === undefined ? [] : [[fault.name, replay]])))
  writeReplays(Object.fromEntries(Object.entries({ ...readReplays(), ...found }).filter(([name]) => names.has(name))))
}

function printVerdict({ fault, complaint, seconds, searched, replay }: Verdict): void {
  const how = complaint !== undefined ? 'FAILED' : replay?.hangs === true ? 'hangs ' : 'red   '
  console.log(`${how} ${seconds.toFixed(1).padStart(5)} s  ${searched ? 'searched ' : 'replayed '} ${fault.name}`)
}
