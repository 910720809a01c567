/**
 * The promise of the library as a test of your own program: one worker, several workers and plain JavaScript agree.
 */
import fc from 'fast-check'
import { DistArray } from '../core/arrays/distArray.ts'
import { defined } from '../core/defined.ts'
import { LoopError } from '../core/errors.ts'
import type { Loop } from '../core/loop/loop.ts'
import { checkOptions } from '../core/options.ts'
import { shortPassesOnWorkers } from '../session/runtime.ts'
import { Session } from '../session/session.ts'
import { differenceBetween, differenceText } from './difference.ts'
import { entriesOf } from './equality.ts'

/** The settings of a run, the program's last argument. */
export interface RunSettings {
  readonly workers: number
  /** The blocks per axis of loops without a `partitions` option of their own; hand it to `repartition` if you like. */
  readonly partitions?: number
}

/** Your program: takes a session and generated inputs, and returns anything comparable: values, arrays, tables, DistArrays, or objects of these. */
export type Program<Inputs extends readonly unknown[]> = (session: Session, ...args: [...Inputs, RunSettings]) => unknown

export interface SerialEqualsParallelOptions<Inputs extends readonly unknown[]> {
  /** fast-check arbitraries, one for each input of the program. Default: none, and the program runs once. */
  readonly arbitraries?: readonly [...{ [I in keyof Inputs]: fc.Arbitrary<Inputs[I]> }]
  /** Worker counts to compare with one worker. Default: 2 and 3. */
  readonly workers?: number | readonly number[]
  /** The blocks per axis of loops without the option. Default: the library's own choice. */
  readonly partitions?: number | readonly number[]
  /** The number of inputs to try. Default: 25, or 1 without arbitraries. */
  readonly runs?: number
  readonly seed?: number
}

/**
 * Runs the program with one worker and with several, on the same inputs, and throws at the first difference in what it
 * returns, with the inputs (shrunk) that show it. Every loop that the program makes is also replayed as plain JavaScript
 * (`loop.verify()`). Sessions are started once and shared by all inputs.
 */
export async function expectSerialEqualsParallel<Inputs extends readonly unknown[] = []>(
  program: NoInfer<Program<Inputs>>,
  options: SerialEqualsParallelOptions<Inputs> = {},
): Promise<void> {
  checkOptions('expectSerialEqualsParallel()', options, ['arbitraries', 'workers', 'partitions', 'runs', 'seed'])
  const workers = [...new Set([1, ...listOf(options.workers ?? [2, 3])])]
  const partitions = options.partitions === undefined ? [undefined] : listOf(options.partitions)
  const arbitraries = (options.arbitraries ?? []) as readonly fc.Arbitrary<unknown>[]
  const sessions: Session[] = []
  try {
    for (const count of workers) sessions.push(await Session.start({ workers: count, progress: false, ...shortPassesOnWorkers }))
    const agree = async (inputs: readonly unknown[]): Promise<void> => {
      for (const parts of partitions) await compareRuns(program as Program<readonly unknown[]>, sessions, inputs, parts)
    }
    if (arbitraries.length === 0) return await agree([])
    await fc.assert(fc.asyncProperty(fc.tuple(...arbitraries), agree), {
      numRuns: options.runs ?? 25,
      includeErrorInReport: true,
      ...(options.seed === undefined ? {} : { seed: options.seed }),
    })
  } finally {
    await Promise.all(sessions.map((session) => session.stop()))
  }
}

/** Throws LoopError unless the loop's schedule is a parallel one and its body was understood. */
export function assertParallel(loop: Loop): void {
  const { schedule, kernel, rejected } = loop.plan
  if (schedule.kind !== 'serial' && kernel.target !== 'as-is') return
  const refusals = [...(kernel.because ?? []), ...rejected.flatMap(({ because }) => because.flatMap((one) => ('code' in one ? [one] : [])))]
  throw new LoopError(`The loop does not run in parallel.\n${loop.explain()}`, refusals)
}

async function compareRuns(
  program: Program<readonly unknown[]>,
  sessions: readonly Session[],
  inputs: readonly unknown[],
  partitions: number | undefined,
): Promise<void> {
  let serial: unknown
  for (const session of sessions) {
    const settings = { workers: session.workers, ...(partitions === undefined ? {} : { partitions }) }
    const { watched, loops } = watch(session, partitions)
    // each run gets copies of the inputs, which a program may overwrite
    const result = await snapshot(await program(watched, ...inputs.map(copyOf), settings))
    for (const loop of loops) await verifyLoop(loop, settings)
    if (session.workers === 1) serial = result
    const difference = differenceBetween(serial, result)
    if (difference === undefined) continue
    throw new Error(
      `${settingsText(settings)} give another result than 1 worker,\n${differenceText(difference, ['1 worker', `${settings.workers} workers`])}`,
    )
  }
}

/** A proxy of the session that records the loops it makes, and gives `partitions` to those without the option. */
function watch(session: Session, partitions: number | undefined): { readonly watched: Session; readonly loops: readonly Loop[] } {
  const loops: Loop[] = []
  const withDefault = (options: object | undefined): object => (partitions === undefined ? { ...options } : { partitions, ...options })
  // arguments are passed on as they came, so the types of `loop` do not matter
  const make = session.loop.bind(session) as (...args: readonly unknown[]) => Loop
  const loop = (over: unknown, env: unknown, body: unknown, options?: object): Loop => {
    const made = make(over, env, body, withDefault(options))
    loops.push(made)
    return made
  }
  const parallelFor = async (over: unknown, env: unknown, body: unknown, options?: object): Promise<unknown> => {
    const { passes, signal, ...loopOptions } = (options ?? {}) as { readonly passes?: number; readonly signal?: AbortSignal }
    return loop(over, env, body, loopOptions).run({ ...defined({ passes, signal }) })
  }
  const watched = new Proxy(session, {
    get(target, name) {
      if (name === 'loop') return loop
      if (name === 'parallelFor') return parallelFor
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { watched, loops }
}

async function verifyLoop(loop: Loop, settings: RunSettings): Promise<void> {
  const { identical, firstDifference: first } = await loop.verify()
  if (identical) return
  const place =
    first === undefined
      ? ''
      : `,\nat ${first.array}[${first.key.join(', ')}]: plain JavaScript ${String(first.serial)}, the loop ${String(first.parallel)}`
  throw new Error(`${settingsText(settings)} give another result than plain JavaScript${place}.\n${loop.explain()}`)
}

/** A program's result as plain values, which later runs do not change. */
async function snapshot(value: unknown): Promise<unknown> {
  if (value instanceof DistArray) return entriesOf(value)
  if (Array.isArray(value)) return Promise.all(value.map(snapshot))
  if (!isPlainObject(value)) return copyOf(value)
  return Object.fromEntries(await Promise.all(Object.entries(value).map(async ([name, item]) => [name, await snapshot(item)] as const)))
}

/** A copy of plain data; functions and objects of classes stay what they are. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf)
  if (ArrayBuffer.isView(value)) return structuredClone(value)
  return isPlainObject(value) ? Object.fromEntries(Object.entries(value).map(([name, item]) => [name, copyOf(item)])) : value
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function listOf(value: number | readonly number[]): readonly number[] {
  return typeof value === 'number' ? [value] : value
}

function settingsText({ workers, partitions }: RunSettings): string {
  return `${workers} ${workers === 1 ? 'worker' : 'workers'}${partitions === undefined ? '' : ` and ${partitions} partitions`}`
}
