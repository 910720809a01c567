/** Runs passes of a compiled loop, or rounds of them: on this thread or on workers, while other processes run their portions. */
import type { FunctionIr } from '../../core/ir/functionIr.ts'
import { endlessLoop } from '../../core/ir/mayNotEnd.ts'
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import type { Arena } from '../memory/arena.ts'
import { type BoundLoop, bindLoop } from './bindLoop.ts'
import { aloneBlocks } from './blocks/aloneBlocks.ts'
import type { BlockSchedule } from './blocks/schedule.ts'
import { type CallerPass, runOnCaller, type ShareResult } from './callerPass.ts'
import { BlockGate, type Outside } from './claims/blockGate.ts'
import { abortPass } from './claims/claim.ts'
import { resetClaims, resetClaimsTo } from './claims/claimWords.ts'
import { isWorthTiles, tiledOrder } from './claims/tiledOrder.ts'
import { isWarm, warmUp } from './claims/warmUp.ts'
import { WorkerPasses } from './claims/workerPasses.ts'
import { bodyError, wireToError } from './failure.ts'
import type { Portion } from './kernelLayout.ts'
import type { PassOptions, Range, SharedLanes } from './kernelPass.ts'
import type { KernelPlan } from './kernelPlan.ts'
import type { KeyedView } from './keyedArray.ts'
import type { LoopInputs } from './loopInputs.ts'
import type { BindingPlan, LoopTask, PassTurn, SharePass } from './loopTask.ts'
import { type LoopResources, replacedBy } from './preparedLoop.ts'
import { freePart } from './reductions/accumulatorLog.ts'
import type { Lanes } from './reductions/reductionCopies.ts'

/** Milliseconds after an abort in which workers may come to the end of their slices; then their threads are ended. */
const LATE_MS = 100

let lastId = 0

/** The kernel and the memory that run now: both may change between passes. */
export interface Running {
  readonly ir: FunctionIr
  readonly plan: KernelPlan
  /** All blocks of the loop, of which a portion has some. */
  readonly blocks: BlockSchedule
  readonly lanes: readonly Lanes[]
  readonly buffers: LoopInputs['buffers']
  readonly where: LoopPlan['execution']['where']
}

export class PassRunner {
  /** The kernel as this thread has it, once it ran here. */
  bound: BoundLoop | undefined
  private readonly resources: LoopResources
  /** Iterations after which lanes are flushed where one thread runs all blocks. */
  private readonly flushEvery: number
  private readonly now: () => Running
  private readonly workerPasses = new Map<Portion, WorkerPasses>()
  /** The blocks of a portion as this thread runs them by itself. */
  private readonly alone = new Map<Portion, BlockSchedule>()
  /** The portion that is this process's among several, and the number of those that it had. */
  private portion: Portion | undefined
  private portions = 0
  private id = `${++lastId}`

  constructor(resources: LoopResources, flushEvery: number, now: () => Running) {
    this.resources = resources
    this.flushEvery = flushEvery
    this.now = now
  }

  /** From now on this process's portion is another one. */
  divide(portion: Portion): void {
    if (this.portion !== undefined) {
      this.workerPasses.delete(this.portion)
      this.alone.delete(this.portion)
    }
    this.portion = portion
    this.portions++
  }

  /** Forgets what this thread and the workers know of the kernel, which has been planned anew. */
  renew(): void {
    this.id = `${++lastId}`
    this.bound = undefined
    this.workerPasses.clear()
  }

  /** Runs a pass or one of its rounds: the portion here, and at the same time what others run. Returns the shares of all. */
  async attempt(
    portion: Portion,
    turn: Omit<PassTurn, 'share' | 'shares'>,
    workers: number,
    { signal, others, outside, round }: PassOptions & { readonly outside: Outside | undefined; readonly round?: number | undefined },
  ): Promise<readonly ShareResult[]> {
    const range = round === undefined ? undefined : rangeOf(portion, round)
    const gate = outside === undefined ? undefined : new BlockGate(portion, outside, range)
    if (gate !== undefined) gate.open()
    else if (range === undefined) resetClaims(portion.claims)
    else resetClaimsTo(portion.claims, portion.work.claimed, ...range)
    const late = new AbortController()
    const elsewhere = new AbortController()
    let timer: NodeJS.Timeout | undefined
    const stop = (): void => {
      abortPass(portion.claims)
      gate?.end()
      others?.shared?.stop()
    }
    const onAbort = (): void => {
      stop()
      elsewhere.abort(signal?.reason)
      timer = setTimeout(() => late.abort(signal?.reason), LATE_MS) // an iteration may have no end
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    if (signal?.aborted) onAbort()
    try {
      const there = others?.start(turn, elsewhere.signal, round)
      there?.catch(stop) // what is computed here is of no use then
      const run = () => this.run({ portion, gate, range }, turn, workers, late.signal)
      const here = others?.shared === undefined ? run() : sharing(others.shared, portion, round, run)
      here.catch(() => elsewhere.abort()) // nor what is computed there
      const [own, other] = await Promise.allSettled([here, there])
      if (own.status === 'rejected') throw own.reason
      if (other.status === 'rejected') {
        freeParts(own.value, this.resources.arena)
        throw other.reason
      }
      return [...own.value, ...(other.value ?? [])]
    } finally {
      outside?.closed()
      signal?.removeEventListener('abort', onAbort)
      clearTimeout(timer)
    }
  }

  /** The storages of arrays that got new keys, by array: they take the place of those that they had. */
  replaced(arrays: LoopInputs['arrays']): ReturnType<typeof replacedBy> {
    const { plan } = this.now()
    const keyed = new Map<number, KeyedView>()
    for (const [i, view] of this.bound?.keyed ?? []) {
      const input = arrays.get(plan.arrays[i] ?? '')
      if (input !== undefined) keyed.set(input.array, view)
    }
    return replacedBy(keyed)
  }

  private task(portion: Portion): LoopTask {
    const { claims, work, blocks } = portion
    const { plan, blocks: all } = this.now()
    const { binding, extents, wasm } = plan
    // workers know each portion of the loop by itself
    const id = blocks === all ? this.id : `${this.id} ${this.portions}`
    const task = { id, binding, extents, ...work, claims }
    return 'because' in wasm || this.resources.kernel === 'js' ? { ...task, text: plan.text } : { ...task, text: '', wasm: wasm.plan }
  }

  private async run(
    { portion, gate, range }: { readonly portion: Portion; readonly gate: BlockGate | undefined; readonly range: Range | undefined },
    turn: Omit<PassTurn, 'share' | 'shares'>,
    workers: number,
    late: AbortSignal,
  ): Promise<readonly ShareResult[]> {
    const { ir, where } = this.now()
    const mayNotEnd = endlessLoop(ir) !== undefined
    if (where === 'caller' || (workers === 1 && !mayNotEnd)) return await this.runHere(portion, turn, { gate, range })
    const isReady = isWarm(this.resources.pool) || this.resources.worthThreadsMs === 0 || mayNotEnd
    if (!isReady && gate === undefined) return await this.runWhileStarting({ portion, range }, turn, workers, late)
    const watching = gate?.watch()
    try {
      return await this.workerPassesOf(portion).run(this.task(portion), turn, workers, late)
    } finally {
      gate?.end()
      await watching
    }
  }

  /** The passes of a portion on the workers: one that was sent one portion does not know another. */
  private workerPassesOf(portion: Portion): WorkerPasses {
    const known = this.workerPasses.get(portion) ?? new WorkerPasses(this.resources.pool)
    this.workerPasses.set(portion, known)
    return known
  }

  /** The first pass of a session does not wait for its threads: the caller works on the blocks until they are there. */
  private async runWhileStarting(
    { portion, range }: { readonly portion: Portion; readonly range: Range | undefined },
    turn: Omit<PassTurn, 'share' | 'shares'>,
    workers: number,
    late: AbortSignal,
  ): Promise<readonly ShareResult[]> {
    let isStarted = false
    const started = warmUp(this.resources.pool).then(() => {
      isStarted = true
    })
    started.catch(() => undefined) // awaited below
    const here = await this.runHere(portion, turn, { isEnough: () => isStarted, range })
    if (!isStarted) return here
    await started
    return [...here, ...(await this.workerPassesOf(portion).run(this.task(portion), turn, workers, late))]
  }

  private async runHere(
    portion: Portion,
    turn: Omit<PassTurn, 'share' | 'shares'>,
    { isEnough, gate, range }: Pick<CallerPass, 'isEnough' | 'gate'> & { readonly range: Range | undefined },
  ): Promise<readonly ShareResult[]> {
    const task = this.task(portion)
    this.bound ??= bindLoop(task, this.resources.arena, this.combines())
    const { lanes } = this.now()
    const { count } = task.schedule
    const { flushEvery } = this
    const pass = { task, bound: this.bound, turn, lanes, flushEvery, range: range ?? ([0, count] as const) }
    if (isEnough !== undefined) return [await runOnCaller({ ...pass, isEnough })]
    // buffers are flushed in plan order
    const isTiled = range === undefined && flushEvery === Number.POSITIVE_INFINITY && isWorthTiles(portion.blocks, bytesOf(task.binding))
    if (gate !== undefined) return [await runOnCaller({ ...pass, gate, order: gate.orderOf(isTiled) })]
    if (range !== undefined) return [await runOnCaller(pass)]
    if (isTiled) {
      const { blocks } = portion
      return [await runOnCaller({ ...pass, task: { ...task, schedule: blocks }, range: [0, blocks.count], order: tiledOrder(blocks) })]
    }
    const alone = this.alone.get(portion) ?? aloneBlocks(portion.blocks, { lanesMatter: lanes.length > 0 })
    this.alone.set(portion, alone)
    return [await runOnCaller({ ...pass, task: { ...task, schedule: alone }, range: [0, alone.count] })]
  }

  /** The user's own combine functions, by the array's place in the binding. */
  private combines(): Map<number, (a: number, b: number) => number> {
    const found = new Map<number, (a: number, b: number) => number>()
    const { plan, buffers } = this.now()
    for (const [i, name] of plan.arrays.entries()) {
      const combine = buffers.get(name)?.combine ?? 'sum'
      if (combine !== 'sum') found.set(i, combine.original as (a: number, b: number) => number) // of two updates
    }
    return found
  }
}

/** Runs a round's blocks where several processes flush: waits for the others' flushes before them, and flushes after them. */
async function sharing<T>(
  shared: SharedLanes,
  { blocks: { rounds = [] } }: Portion,
  round: number | undefined,
  run: () => Promise<T>,
): Promise<T> {
  await shared.ready(round ?? 0)
  const own = await run()
  await shared.flush(round ?? 0, { isLast: round === undefined || round === rounds.length - 2 })
  return own
}

/** A portion's blocks of a round. */
function rangeOf({ blocks: { rounds = [] } }: Portion, round: number): Range {
  return [rounds[round] as number, rounds[round + 1] as number] // as many as there are rounds, and one more
}

/** Bytes of the dense arrays that a body touches beside its own element. */
function bytesOf({ arrays }: BindingPlan): number {
  return arrays.reduce((sum, array) => sum + (array.kind === 'dense' ? array.data.byteLength : 0), 0)
}

/** The times of a pass's shares, joined over its rounds; from the last, as one during which threads start has the caller's share before theirs. */
export function busyTimes(rounds: readonly (readonly ShareResult[])[], index: number): number[] {
  return timesOf(rounds, index, ({ busyMs }) => busyMs)
}

/** The mean time that the shares of a pass had nothing to do, of the first `workers` of them. */
export function meanWaiting(rounds: readonly (readonly ShareResult[])[], index: number, workers: number): number {
  const waited = timesOf(rounds, index, ({ milliseconds, busyMs }) => milliseconds - busyMs).slice(0, workers)
  return waited.reduce((sum, ms) => sum + ms, 0) / waited.length
}

function timesOf(rounds: readonly (readonly ShareResult[])[], index: number, of: (pass: SharePass) => number): number[] {
  return Array.from({ length: Math.max(...rounds.map((round) => round.length)) }, (_, share) =>
    rounds.reduce((sum, round) => {
      const pass = round.at(-1 - share)?.passes[index]
      return pass === undefined ? sum : sum + of(pass)
    }, 0),
  )
}

/** How long the longest share of each round took, in all. */
export function longestTimes(rounds: readonly (readonly ShareResult[])[], index: number): number {
  return rounds.reduce((sum, round) => sum + Math.max(...round.map(({ passes }) => passes[index]?.milliseconds ?? 0)), 0)
}

export function freeParts(results: readonly ShareResult[], arena: Arena): void {
  for (const { passes } of results) {
    for (const { accumulators } of passes) for (const part of accumulators) freePart(part, arena)
  }
}

/** The error of a failed pass, which is that of its first failing iteration in serial order; undefined if none failed. */
export function failureOf(loop: string, results: readonly ShareResult[]): { readonly reason: unknown } | undefined {
  const failed = results.filter((result) => result.failure !== undefined)
  const [first] = failed.sort((a, b) => (a.failure?.rank ?? 0) - (b.failure?.rank ?? 0))
  if (first?.failure === undefined) return undefined
  const cause = 'thrown' in first ? first.thrown : wireToError(first.failure.error)
  return { reason: bodyError(loop, first.failure.key, cause) }
}
