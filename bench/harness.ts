/**
 * What all benches share. A bench asks questions; a question has contenders, each of which runs one pass at a time:
 *
 *     const { ask, finish, quick } = suite('tables')
 *     await ask({ name: 'sum by key', unit: 'row', units: rows, peers: ['duckdb'], contenders: { '2 workers': …, duckdb: … } })
 *     finish()
 *
 * Passes are interleaved: each round runs one of every contender, each round beginning with another one, so that a slow
 * minute of the machine hits all. Printed are medians, and the medians of the ratios of passes of one round. A contender
 * that is `undefined` is printed as absent. All times are kept as JSON in bench/results. Nothing is asserted about time;
 * a bench whose contenders give different results ends with an error.
 *
 *     tsx bench/x.bench.ts --quick --only WORD      fewer rounds; the questions whose names contain WORD
 *     tsx bench/x.bench.ts --busy                   for a busy machine: processor time instead of the wall's, and one thread
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { median, table } from './statistics.ts'

/** Runs one pass and says how many milliseconds it took, by the clock that knows best: the report of a run, a native program's own. */
export type Pass = () => number | Promise<number>

export interface Question {
  readonly name: string
  /** What is counted, in the singular: 'rating'. Times are printed in nanoseconds for each. */
  readonly unit: string
  readonly units: number
  /** In the order of the table. */
  readonly contenders: Readonly<Record<string, Pass | undefined>>
  /** Contenders that the others are compared with: how many times as fast a row is as this one. */
  readonly peers: readonly string[]
  /** Contenders so slow that they take part in one round of `SELDOM` only. */
  readonly seldom?: readonly string[]
  /** What should be said under the name: sizes, the schedule, the kernel. */
  readonly notes?: readonly string[]
}

export interface Answer {
  readonly name: string
  readonly unit: string
  readonly units: number
  readonly notes: readonly string[]
  /** By contender, one number a round, NaN where it took no part; none for the absent. */
  readonly milliseconds: Readonly<Record<string, readonly number[]>>
  /** By contender, then peer: the median over rounds of the peer's time by the contender's. Above 1: faster than the peer. */
  readonly speed: Readonly<Record<string, Readonly<Record<string, number>>>>
}

export interface Suite {
  /** Asked for with --quick: sizes may be smaller. */
  readonly quick: boolean
  /** Asked for with --busy: contenders with several threads are left out, since waiting counts for nothing. */
  readonly busy: boolean
  /** Whether a question is asked, by --only; to spare the building of those that are not. */
  readonly wanted: (name: string) => boolean
  /** Measures a question and prints its table. */
  readonly ask: (question: Question) => Promise<Answer>
  /** Writes bench/results/NAME.json. */
  readonly finish: () => void
}

/** Rounds before the clock counts: kernels are compiled and replaced by better ones, pages touched. */
const WARM_UP = 3
/** A question has at least `rounds.least` rounds, and then as many as end within `milliseconds`. */
const FULL = { least: 5, most: 41, milliseconds: 4_000 }
const SELDOM = 4
const QUICK = { least: 3, most: 9, milliseconds: 700 }

const SETTLING_MS = 300
const MOST_SETTLING = 40

/** A suite by the name of its file; further options of its own become numbers. */
export function suite<const O extends Readonly<Record<string, number>>>(
  name: string,
  defaults?: O,
): Suite & { readonly options: Record<keyof O, number> } {
  const text = { type: 'string' } as const
  const own = Object.keys(defaults ?? {})
  const { values } = parseArgs({
    options: { quick: { type: 'boolean' }, busy: { type: 'boolean' }, only: text, ...Object.fromEntries(own.map((key) => [key, text])) },
  })
  const given: Readonly<Record<string, unknown>> = values
  const options = Object.fromEntries(own.map((key) => [key, Number(given[key] ?? defaults?.[key])])) as Record<keyof O, number>
  const quick = given.quick === true
  const busy = given.busy === true
  if (busy) clock = processorMs
  const only = typeof given.only === 'string' ? given.only : ''
  const answers: Answer[] = []
  console.log(`${name}: ${machineText()}${busy ? ', processor time' : ''}`)
  return {
    options,
    quick,
    busy,
    wanted: (question) => question.includes(only),
    ask: async (question) => {
      if (busy) await settled()
      const answer = answerOf(question, await roundsOf(question, quick ? QUICK : FULL))
      console.log(`\n${answerText(answer, question.peers)}`)
      answers.push(answer)
      return answer
    },
    finish: () => save(name, { quick, busy, options, answers }),
  }
}

let clock: () => number = () => performance.now()

/** What this process has computed, its threads together. */
function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Milliseconds that a piece of work takes, by the clock that was asked for. */
export function timed(work: () => unknown): Pass {
  return async () => {
    const started = clock()
    const result = work()
    if (result instanceof Promise) await result
    return clock() - started
  }
}

/** Keeps anything as bench/results/NAME.json, with the machine. */
export function save(name: string, result: object): void {
  const folder = join(dirname(fileURLToPath(import.meta.url)), 'results')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify({ machine: machine(), ...result }, null, 2)}\n`)
}

/** The machine in one line. A load above 0 is other work than the bench's. */
export function machineText(): string {
  const { processor, cores, node, load } = machine()
  return `${processor}, ${cores} cores, Node ${node}, load ${load.toFixed(1)}`
}

function machine() {
  const [load = 0] = loadavg()
  return {
    processor: cpus()[0]?.model ?? 'unknown processor',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    node: process.version,
    load,
  }
}

async function roundsOf({ contenders, seldom = [] }: Question, limits: typeof FULL): Promise<Map<string, number[]>> {
  const present = Object.entries(contenders).flatMap(([name, pass]) => (pass === undefined ? [] : [{ name, pass, times: [] as number[] }]))
  let started = performance.now()
  for (let round = 0; ; round++) {
    const counted = round - WARM_UP
    if (counted === 0) started = performance.now()
    if (counted >= limits.most || (counted >= limits.least && performance.now() - started >= limits.milliseconds)) break
    for (let i = 0; i < present.length; i++) {
      const contender = present[(i + round) % present.length]
      const isOut = counted % SELDOM !== 0 && seldom.includes(contender?.name ?? '')
      const milliseconds = isOut ? Number.NaN : ((await contender?.pass()) ?? Number.NaN)
      if (counted >= 0) contender?.times.push(milliseconds)
    }
  }
  return new Map(present.map(({ name, times }) => [name, times]))
}

function answerOf({ name, unit, units, contenders, peers, notes = [] }: Question, times: ReadonlyMap<string, readonly number[]>): Answer {
  const names = Object.keys(contenders)
  const speedOf = (contender: string) =>
    Object.fromEntries(
      peers.map((peer) => {
        const own = times.get(contender) ?? []
        return [peer, median((times.get(peer) ?? []).map((time, round) => time / (own[round] ?? Number.NaN)))]
      }),
    )
  return {
    name,
    unit,
    units,
    notes,
    milliseconds: Object.fromEntries(names.map((contender) => [contender, times.get(contender) ?? []])),
    speed: Object.fromEntries(names.map((contender) => [contender, speedOf(contender)])),
  }
}

function answerText({ name, unit, units, notes, milliseconds, speed }: Answer, peers: readonly string[]): string {
  const head = [name, 'median ms', `ns per ${unit}`, ...peers.map((peer) => `${peer} / this`)]
  const rows = Object.entries(milliseconds).map(([contender, times]) => {
    if (times.length === 0) return [`  ${contender}`, 'absent', ...head.slice(2).map(() => '')]
    const middle = median(times)
    return [
      `  ${contender}`,
      middle.toPrecision(3),
      ((middle * 1e6) / units).toPrecision(3),
      ...peers.map((peer) => ratioText(peer === contender ? Number.NaN : speed[contender]?.[peer])),
    ]
  })
  return [table(head, rows), ...notes.map((note) => `  ${note}`)].join('\n')
}

function ratioText(ratio: number | undefined): string {
  return ratio === undefined || Number.isNaN(ratio) ? '' : ratio.toFixed(2)
}

/** Waits until this process does nothing by itself: threads that are still starting would count as a contender's time. */
async function settled(): Promise<void> {
  for (let i = 0; i < MOST_SETTLING; i++) {
    const started = processorMs()
    await new Promise((resolve) => setTimeout(resolve, SETTLING_MS))
    if (processorMs() - started < SETTLING_MS / 20) return
  }
}

/** Ends the bench with an error when two contenders have not computed the same bits. */
export function assertSame(what: string, a: ArrayLike<number>, b: ArrayLike<number>): void {
  if (a.length !== b.length) throw new Error(`${what}: ${a.length} elements against ${b.length}.`)
  for (let i = 0; i < a.length; i++) {
    if (!Object.is(a[i], b[i])) throw new Error(`${what}: element ${i} is ${a[i]} against ${b[i]}.`)
  }
}
