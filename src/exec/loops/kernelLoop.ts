/**
 * Compiled bodies: blocks are cut and the kernel is planned once; a pass resets shared words, has workers (or this
 * thread) run the blocks, and combines what they added. Where it runs never changes a bit.
 */

import type { Lying, SparseStorage } from '../../core/arrays/storage.ts'
import { defined } from '../../core/defined.ts'
import { Bug } from '../../core/errors.ts'
import type { FunctionIr, Primitive } from '../../core/ir/functionIr.ts'
import type { KernelCode } from '../../core/ir/kernelCode.ts'
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import { sameItems } from '../../core/sameItems.ts'
import { type Parts, partsOf } from '../arrays/parted.ts'
import { blocksOfLanes } from './blocks/blockSchedule.ts'
import { serialFlushes, weightOf, widthOf } from './blocks/kernelBlocks.ts'
import type { BlockSchedule, IterationSpace } from './blocks/schedule.ts'
import type { ShareResult } from './callerPass.ts'
import { claimOrder } from './claims/claimOrder.ts'
import { startWords } from './claims/claimWords.ts'
import { gather } from './gather.ts'
import { serialPass } from './interpreted/serialPass.ts'
import { kernelCode } from './kernelCode.ts'
import { type CutLoop, chooseExecution, estimatedMs, whyOnCaller, workersOf } from './kernelExecution.ts'
import { Allocations, elementsByPlace, type KernelLayout, layOut, layOutPortion, type Portion, type SharedTable } from './kernelLayout.ts'
import type { Captured, MeasuredWork, PassOptions, PortionTurn, SharedLanes, SimulatedPass } from './kernelPass.ts'
import { innerLoopsOf, type KernelPlan, planKernel, plannedKernel, storagesOf, wasmKey } from './kernelPlan.ts'
import type { LoopInputs } from './loopInputs.ts'
import type { PassTurn } from './loopTask.ts'
import { afterPass, balanceOf, type LastPass, predictedMs, wakingMs } from './passCost.ts'
import { busyTimes, failureOf, freeParts, longestTimes, meanWaiting, PassRunner, type Running } from './passRunner.ts'
import { type LoopResources, type PassesResult, type PassResult, Prepared, type VerifyResult } from './preparedLoop.ts'
import type { AccumulatorPart } from './reductions/accumulatorLog.ts'
import { delayedOf, endRound, flushLanes, type Lanes, resetRound, startLanes } from './reductions/reductionCopies.ts'
import { roundEnds, roundsOf } from './reductions/rounds.ts'
import { dtypeOfTable, sameStructure } from './structure.ts'
import { firstDifference } from './verify.ts'

/** Milliseconds within which passes that are run in a row should be over. */
const IN_A_ROW_MS = 8
const MOST_IN_A_ROW = 64
/** The number of last passes of which a simulation takes the shortest. */
const MOST_RECENT = 8
/** Mean milliseconds of a block from which each block is timed. */
const MEASURED_MS = 0.02

export class KernelLoop extends Prepared {
  readonly blocks: BlockSchedule
  readonly width: number
  execution: LoopPlan['execution']
  #ir: FunctionIr
  readonly #resources: LoopResources
  readonly #allocations: Allocations
  readonly #ofPortion: Allocations
  #layout: KernelLayout
  /** The places, when the kernel was planned, of the arrays of which only parts may be here. */
  #lying: readonly Lying[]
  /** The captured tables, as in the layout but with the values of the body that runs now. */
  #tables: readonly SharedTable[]
  readonly #runner: PassRunner
  /** The reason that keeps the loop on the caller's thread; undefined where times decide. */
  readonly #decided: string | undefined
  readonly #weight: number
  #last: LastPass | undefined
  #lastCut: CutLoop | undefined
  /** Milliseconds of the last passes as on one thread: the work of all workers together, the newest first. */
  #recent: readonly MeasuredWork[] = []
  #stale = false
  #hasKeys = false

  constructor(inputs: LoopInputs, ir: FunctionIr, space: IterationSpace, resources: LoopResources) {
    super(inputs, space)
    this.#ir = ir
    this.#resources = resources
    this.#weight = weightOf(inputs, ir)
    this.#allocations = new Allocations(resources.arena, this.name)
    this.#ofPortion = new Allocations(resources.arena, this.name)
    this.#layout = layOut({ inputs, ir, space }, resources, this.#allocations)
    this.inputs = this.#layout.inputs
    this.#lying = this.#parts.map(({ lying }) => lying)
    this.#tables = this.#layout.tables
    this.blocks = this.#layout.blocks
    this.width = widthOf(this.blocks)
    this.#decided = whyOnCaller(this.#cut, resources)
    this.execution = this.#choose()
    const { every = Number.POSITIVE_INFINITY } = serialFlushes({ inputs, ir, space }) ?? {}
    this.#runner = new PassRunner(resources, every, () => this.#running)
  }

  get #running(): Running {
    const { plan, lanes } = this.#layout
    return { ir: this.#ir, plan, blocks: this.blocks, lanes, buffers: this.inputs.buffers, where: this.execution.where }
  }

  get #plan(): KernelPlan {
    return this.#layout.plan
  }

  /** The cut loop: one object as long as nothing changes, since estimates are remembered by it. */
  get #cut(): CutLoop {
    const { inputs, space, blocks } = this
    const ir = this.#ir
    if (this.#lastCut?.inputs !== inputs || this.#lastCut.ir !== ir) {
      const wasm = this.#resources.kernel === 'js' ? undefined : this.#plan.wasm
      this.#lastCut = { inputs, ir, space, blocks, wasm, notWorth: this.#layout.notWorth }
    }
    return this.#lastCut
  }

  /** How the body runs, now that the arrays are known. */
  get kernel(): LoopPlan['kernel'] {
    return this.#resources.kernel === 'js' ? { target: 'js' } : plannedKernel(this.#plan.wasm)
  }

  get innerLoops(): readonly string[] {
    return this.#resources.kernel === 'js' ? [] : innerLoopsOf(this.#plan.wasm)
  }

  kernelCode(): KernelCode {
    return kernelCode(this.#plan, this.#resources)
  }

  /** Takes over inputs whose own preparation would differ from this one in captured values only; returns whether it could. */
  takeOver(inputs: LoopInputs, ir: FunctionIr, resources: LoopResources): boolean {
    if (this.#stale || this.#allocations.isEmpty) return false
    if (resources.pool !== this.#resources.pool || resources.arena !== this.#resources.arena) return false
    if (inputs.finding !== this.inputs.finding || !sameStructure(this.inputs, inputs) || weightOf(inputs, ir) !== this.#weight) return false
    const tables = ir.tables.map((table, i) => ({ copy: this.#tables[i]?.copy, original: table.value }))
    // A table without a copy was sent with the loop: it may hold something else by now.
    const fits = tables.every(
      ({ copy, original }) =>
        copy !== undefined && dtypeOfTable(original) === dtypeOfTable(copy as ArrayLike<Primitive>) && original.length === copy.length,
    )
    if (!fits || tables.length !== this.#tables.length) return false
    const plan = planKernel(inputs, ir, this.space, this.blocks, this.#layout.memory)
    if (plan.text !== this.#plan.text || wasmKey(plan) !== wasmKey(this.#plan)) return false
    this.inputs = inputs
    this.#ir = ir
    this.#tables = tables
    return true
  }

  #choose(last?: LastPass): LoopPlan['execution'] {
    if (this.#decided !== undefined) return { where: 'caller', because: this.#decided }
    return chooseExecution(this.#cut, this.#resources, { current: this.execution, ...(last === undefined ? {} : { last }) })
  }

  /** The number of workers that a pass has in this process. */
  get workerCount(): number {
    return this.execution.where === 'workers' ? this.#workersOf(this) : 1
  }

  #workersOf({ blocks }: Pick<Portion, 'blocks'>): number {
    return workersOf(blocks, this.#resources.pool.size)
  }

  /** The facts that a simulation of a pass needs. */
  get simulated(): SimulatedPass {
    const { inputs, blocks, space, elements, lanes } = this
    return { inputs, blocks, space, elements, lanes, aloneMs: estimatedMs(this.#cut), measured: this.#recent }
  }

  /** The elements of the sparse array that the loop goes over, by place, from its first pass on; undefined where nobody has them so. */
  get elements(): SparseStorage | undefined {
    return elementsByPlace(this.inputs, this.#layout)
  }

  /** Whether passes give the same whenever they run: of the program they need captured values only, no combine or apply function. */
  get canRunAgain(): boolean {
    const { buffers, accumulators } = this.inputs
    const areOwn = [...buffers.values()].every(({ combine, apply }) => combine === 'sum' && apply === undefined)
    return areOwn && [...accumulators.values()].every((one) => typeof one === 'string')
  }

  /** The time of the next pass, predicted from the last one's work, or from the body. */
  get predictedMilliseconds(): number {
    return predictedMs(this.#last?.aloneMs ?? estimatedMs(this.#cut), this.blocks, this.workerCount)
  }

  async runPass(pass: number, options: { readonly signal?: AbortSignal } = {}): Promise<PassResult> {
    const { passes, failed } = await this.runPasses(pass, 1, options)
    if (failed !== undefined) throw failed.reason
    return passes[0] as PassResult // one pass, which did not fail
  }

  async runPasses(pass: number, most: number, { signal, others, captured }: PassOptions = {}): Promise<PassesResult> {
    if (signal?.aborted) return { passes: [], failed: { reason: signal.reason } }
    if (this.#stale) throw new Bug('A loop ran on after a pass had replaced the storage of one of its arrays.')
    if (others === undefined) for (const parts of this.#parts) parts.whole()
    const started = performance.now()
    let rounds: readonly (readonly ShareResult[])[] = []
    const tables = this.#tables
    try {
      if (captured !== undefined) this.#tables = tables.map(({ copy }, i) => ({ copy, original: captured.tables[i] ?? [] }))
      const portion = others?.portion ?? this.#layout.whole
      const workers = this.execution.where === 'workers' ? this.#workersOf(portion) : 1
      const { parameters } = captured ?? this.captured
      const passes = others === undefined ? this.#inARow(most, workers) : 1
      const outside = others?.outside
      const turn = { parameters, pass, passes, measures: outside === undefined && workers > 1 && this.#areLong(portion) }
      await this.#begin()
      if (portion.blocks.rounds === undefined) rounds = [await this.#runner.attempt(portion, turn, workers, { signal, others, outside })]
      else rounds = await this.#runRounds(portion, turn, workers, { signal, others })
      const results = rounds.flat()
      const failed = signal?.aborted ? { reason: signal.reason } : failureOf(this.name, results)
      const attended = Math.max(...results.map(({ passes }) => passes.length))
      const completed = failed === undefined ? attended : Math.min(...results.map(({ passes }) => passes.length)) - 1
      if (failed === undefined && turn.measures) this.#orderClaims(portion)
      if (failed === undefined) for (const lanes of this.#ownLanes(others?.shared)) flushLanes(lanes)
      const wallMs = performance.now() - started
      const done = Array.from({ length: completed }, (_, i) => this.#passResult(rounds, i, attended > 1 ? undefined : wallMs))
      return { passes: done, ...(failed === undefined ? {} : { failed }) }
    } finally {
      this.#tables = tables
      freeParts(rounds.flat(), this.#resources.arena)
    }
  }

  /** Runs the rounds of a pass, with a flush after each but the last, whose flush is that of the pass; returns the shares of each. */
  async #runRounds(
    portion: Portion,
    turn: Omit<PassTurn, 'share' | 'shares'>,
    workers: number,
    { signal, others }: Pick<PassOptions, 'signal' | 'others'>,
  ): Promise<readonly (readonly ShareResult[])[]> {
    const { rounds = [] } = portion.blocks
    const done: (readonly ShareResult[])[] = []
    for (let round = 0; round + 1 < rounds.length; round++) {
      if (round > 0) endRound(this.#ownLanes(others?.shared))
      const results = await this.#runner.attempt(portion, turn, workers, { signal, others, outside: others?.outside, round })
      done.push(results)
      if (signal?.aborted || failureOf(this.name, results) !== undefined) break
    }
    return done
  }

  /**
   * Runs a portion of a pass for another process, which combines what all have added; returns what this one's workers did. Reduction
   * copies hold what was added in this pass, or in this round where buffers are flushed between rounds. The caller frees the blocks of
   * the arena in the results.
   */
  async runPortion(
    portion: Portion,
    { pass, parameters, tables, signal, outside, round, shared }: PortionTurn,
  ): Promise<{ readonly results: readonly ShareResult[]; readonly lanes: readonly Lanes[] }> {
    this.#tables = this.#tables.map(({ copy }, i) => ({ copy, original: tables[i] ?? [] }))
    const workers = this.execution.where === 'workers' ? this.#workersOf(portion) : 1
    const turn = { parameters, pass, passes: 1, measures: outside === undefined && workers > 1 && this.#areLong(portion) }
    if (round === undefined || round === 0) await this.#begin()
    else resetRound(this.#ownLanes(shared))
    const results = await this.#runner.attempt(portion, turn, workers, { signal, outside, round })
    if (round !== undefined) return { results, lanes: this.#layout.lanes } // a pass is measured as a whole
    if (turn.measures) this.#orderClaims(portion)
    this.#measure(results, { milliseconds: longestTimes([results], 0), shares: results.length })
    return { results, lanes: this.#layout.lanes }
  }

  /** The blocks of lanes `from` up to `to` as a portion, in place of the one before; with `isAlone`, they are never claimed in groups. */
  portionOf(from: number, to: number, { isAlone }: { readonly isAlone: boolean }): Portion {
    this.#ofPortion.free()
    const { allocate } = this.#ofPortion
    const { blocks, numbers } = blocksOfLanes(this.blocks, from, to)
    const portion = layOutPortion(this.#cut, blocks, { kernel: this.#layout, resources: this.#resources, allocate, numbers, isAlone })
    this.#runner.divide(portion)
    return portion
  }

  /** How many processes run the next pass; undefined for a loop that only this one runs. */
  get processes(): LoopPlan['execution']['processes'] {
    return undefined
  }

  /** The reduction copies that this process flushes alone. */
  #ownLanes(shared: Pick<SharedLanes, 'has'> | undefined): readonly Lanes[] {
    return this.#layout.lanes.filter((lanes) => shared?.has(lanes) !== true)
  }

  get lanes(): readonly Lanes[] {
    return this.#layout.lanes
  }

  /** The captured values of the body that runs now; tables of numbers are read anew before each pass. */
  get captured(): Captured {
    return { parameters: this.#ir.parameters.map(({ value }) => value), tables: this.#tables.map(({ original }) => original) }
  }

  /** Readies everything that a pass begins with. */
  async #begin(): Promise<void> {
    this.#reach()
    startLanes(this.#layout.lanes)
    for (const { copy, original } of this.#tables) if (original.length > 0) copy?.set(original as never) // numbers of the copy's kind
    await this.#place()
  }

  get #parts(): readonly Parts[] {
    return [...new Set(storagesOf(this.inputs).flatMap(({ storage }) => (storage.kind === 'dense' ? (partsOf(storage) ?? []) : [])))]
  }

  /** Whether the kernel can run over arrays of which only parts are here. JavaScript kernels take arrays for whole. */
  get reachesParts(): boolean {
    return this.#resources.kernel !== 'js' && !('because' in this.#plan.wasm)
  }

  /** Plans the kernel anew where an array lies elsewhere than before: kernels know the places of arrays. */
  #reach(): void {
    if (!this.reachesParts) for (const parts of this.#parts) parts.whole()
    const lying = this.#parts.map((parts) => parts.lying)
    if (sameItems(lying, this.#lying)) return
    this.#lying = lying
    this.#layout = { ...this.#layout, plan: planKernel(this.inputs, this.#ir, this.space, this.blocks, this.#layout.memory) }
    this.#runner.renew()
  }

  /** Copies keys and values into the order of the blocks: keys once, values whenever they may have changed. */
  async #place(): Promise<void> {
    const { keys, memory } = this.#layout
    const columns = [...(this.#hasKeys ? [] : keys), ...(memory.placed?.stale(this.inputs.over) ?? [])]
    if (columns.length === 0) return
    await gather(columns, this.#resources)
    this.#hasKeys = true
    memory.placed?.copied(this.inputs.over)
  }

  /** Whether blocks take so long that reading the clock before and after each costs nothing beside them. */
  #areLong({ work }: Portion): boolean {
    const { claimed } = work
    return claimed.steps === undefined && (this.#last?.aloneMs ?? estimatedMs(this.#cut)) >= MEASURED_MS * claimed.count
  }

  /** Has the next pass begin with the blocks on the longest chain of work, by the times of this one. */
  #orderClaims({ claims, work }: Portion): void {
    claims.start.set(startWords(work.claimed, claims.homes, claimOrder(work.claimed, claims.took)))
  }

  /** How many passes to run in a row: short ones, if there is nothing to do on this thread between them. */
  #inARow(most: number, workers: number): number {
    if (workers === 1 || this.#layout.lanes.length > 0 || this.#tables.length > 0) return 1
    if (this.#plan.binding.arrays.some((array) => array.kind === 'keyed')) return 1
    if (this.#resources.worthThreadsMs === 0) return Math.min(most, MOST_IN_A_ROW)
    return Math.max(1, Math.min(most, MOST_IN_A_ROW, Math.floor(IN_A_ROW_MS / (this.#last?.milliseconds ?? IN_A_ROW_MS))))
  }

  /** The result of one pass, joined from all shares; without `wallMs` it took as long as the worker that was longest at it. */
  #passResult(rounds: readonly (readonly ShareResult[])[], index: number, wallMs: number | undefined): PassResult {
    const results = rounds.flat()
    const shares = results.flatMap(({ passes }) => passes[index] ?? [])
    const parts = shares.map(
      ({ accumulators }) => new Map(this.#plan.accumulators.map((name, i) => [name, accumulators[i] as AccumulatorPart])),
    )
    const accumulators = this.combine(parts, this.#resources.arena)
    const replaced = this.#runner.replaced(this.inputs.arrays)
    this.#stale = replaced.replaced !== undefined
    const milliseconds = wallMs ?? Math.max(...shares.map((share) => share.milliseconds))
    const elsewhere = Math.max(...rounds.map((round) => round.filter(({ rank }) => rank !== undefined).length))
    const busyMs = busyTimes(rounds, index)
    const workers = Math.min(busyMs.length, this.#workersOf(this) + elsewhere)
    const balance = balanceOf(busyMs.slice(0, workers))
    const waitingMilliseconds = meanWaiting(rounds, index, workers)
    const measured = { predictedMilliseconds: this.predictedMilliseconds, workers, balance, waitingMilliseconds }
    const here = busyMs.length - elsewhere
    const isOwn = wallMs !== undefined && elsewhere === 0
    const besideMs = isOwn ? Math.max(0, wallMs - longestTimes(rounds, index) - wakingMs(this.blocks, here)) : undefined
    this.#measure(results, { milliseconds, besideMs, shares: here, index })
    const delayed = defined({ delayed: delayedOf(this.#layout.lanes) })
    return { iterations: this.blocks.iterations, milliseconds, accumulators, ...measured, ...delayed, ...replaced }
  }

  /** Keeps the times of this pass, and decides by them where the next one runs; `shares` counts those of this process. */
  #measure(
    results: readonly ShareResult[],
    { milliseconds, besideMs, shares, index = 0 }: { milliseconds: number; besideMs?: number | undefined; shares: number; index?: number },
  ): void {
    const aloneMs = results.reduce((sum, { passes }) => sum + (passes[index]?.busyMs ?? 0), 0)
    this.#last = afterPass(this.#last, { milliseconds, aloneMs, where: shares > 1 ? 'workers' : 'caller' })
    const work = { workers: Math.max(1, shares), milliseconds: aloneMs, ...defined({ besideMs }) }
    this.#recent = [work, ...this.#recent].slice(0, MOST_RECENT)
    this.execution = this.#choose(this.#last)
  }

  async verify(pass: number, options: { readonly signal?: AbortSignal } = {}): Promise<VerifyResult> {
    const restore = this.snapshot()
    try {
      const { inputs, space, blocks, name } = this
      const captures = this.#ir.uses.some((use) => use.origin === 'capture')
      const own = { captures, written: this.written(), roundEnds: roundEnds(blocks, roundsOf(inputs)) }
      const serial = serialPass({ inputs, space, blocks, name, ...own }, pass)
      const { replaced } = await this.runPass(pass, options)
      const difference = firstDifference(inputs, serial, replaced)
      return { identical: difference === undefined, iterations: blocks.iterations, ...defined({ firstDifference: difference }) }
    } finally {
      restore()
      this.#stale = false
    }
  }

  dispose(): void {
    this.#allocations.free()
    this.#ofPortion.free()
  }
}
