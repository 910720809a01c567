/**
 * Compiled bodies: blocks are cut and the kernel is planned once; a pass resets shared words, has workers (or this
 * thread) run the blocks, and combines what they added. Where it runs never changes a bit.
 */
import type { TypedArray } from '../../core/column.ts'
import { Bug, MemoryError } from '../../core/errors.ts'
import type { FunctionIr, Primitive } from '../../core/functionIr.ts'
import type { KernelCode } from '../../core/kernelCode.ts'
import type { LoopPlan } from '../../core/loopPlan.ts'
import type { Schedule } from '../../core/loopSpec.ts'
import type { DType } from '../../core/schema.ts'
import { ARRAY_OF_DTYPE, type Storage } from '../../core/storage.ts'
import { scratchLength } from '../kernels/wasmBinding.ts'
import { type AccumulatorPart, freePart, partOf } from './accumulatorLog.ts'
import { type BoundLoop, bindLoop } from './bindLoop.ts'
import type { BlockRun } from './blockRun.ts'
import { type BlockSchedule, extentsOf, type IterationSpace } from './blockSchedule.ts'
import { abortPass, type ClaimState, claimBlock, createClaimer, finishBlock, resetClaims, startWords } from './claim.ts'
import { cutColored } from './coloredBlocks.ts'
import { cutBlocks } from './cutBlocks.ts'
import { iterationNs } from './estimate.ts'
import { bodyError, wireToError } from './failure.ts'
import { kernelCode } from './kernelCode.ts'
import { formOf, type KernelMemory, type KernelPlan, planKernel, whyCallerOnly } from './kernelPlan.ts'
import type { mergeInserted } from './keyedArray.ts'
import { addedInOrder, laneChoice, reducedStorages } from './laneChoice.ts'
import { createLanes, flushDue, flushLanes, type Lanes, resetLanes } from './lanes.ts'
import type { LoopInputs } from './loopInputs.ts'
import type { LoopTask, LoopTaskResult, PassTurn } from './loopTask.ts'
import { balanceOf, chooseWhere, type PassTimes, predictedMs } from './passCost.ts'
import { placeElements } from './placedElements.ts'
import { copyStorage, PlainLoop, updateOptions } from './plainRun.ts'
import {
  type LoopResources,
  otherTurn,
  type PassesResult,
  type PassResult,
  Prepared,
  replacedBy,
  TURN_MS,
  type VerifyResult,
} from './preparedLoop.ts'
import { copiesOf } from './privateCopies.ts'
import { startPass } from './runBlocks.ts'
import { visitSerially } from './space.ts'
import { dtypeOfTable, extentOf, sameStructure } from './structure.ts'
import { firstDifference } from './verify.ts'
import { isWarm, warmUp } from './warmUp.ts'
import { WorkerPasses } from './workerPasses.ts'

/** Below these a step is over before the workers have waited for one another at its end: as estimated, and as measured. */
const WORTH_STEP_MS = 0.15
const MEASURED_WORTH_STEP_MS = 0.01
/** An iteration of this or less is light: see `blockCounts`. */
const LIGHT_ITERATION_NS = 50

/** Passes that end within this time are run in a row. */
const IN_A_ROW_MS = 8
const MOST_IN_A_ROW = 64

/** How a loop lies in memory, ready to run. */
interface Layout {
  readonly blocks: BlockSchedule
  readonly claims: ClaimState
  readonly plan: KernelPlan
}

/** A worker's result, or this thread's, with the error itself. */
type ShareResult = LoopTaskResult & { readonly thrown?: unknown }
/** A colored schedule that would take more than this share of the serial time, in the model, is not worth it. */
const MOST_SHARE = 0.8
/** Shorter passes run on the caller's thread anyway. */
const LEAST_TO_JUDGE_NS = 1e6
const NS_TO_PLACE_A_VALUE = 150

let lastId = 0

export class KernelLoop extends Prepared {
  readonly blocks: BlockSchedule
  readonly width: number
  execution: LoopPlan['execution']
  readonly #id = `${++lastId}`
  #ir: FunctionIr
  readonly #resources: LoopResources
  readonly #allocated: number[] = []
  readonly #plan: KernelPlan
  readonly #claims: ClaimState
  readonly #lanes: Lanes[] = []
  /** Captured tables in the IR's order; `copy` is undefined for those that travel with the task. */
  #tables: readonly { readonly copy: TypedArray | undefined; readonly original: ArrayLike<Primitive> }[] = []
  /** What the kernel's text was written over. */
  #memory: KernelMemory | undefined
  /** Iterations between places where buffers with maxDelay may flush: a divisor of all delays; Infinity without. */
  readonly #flushEvery: number
  readonly #decided: string | undefined
  readonly #weight: number
  readonly #workerPasses: WorkerPasses
  /** Why the inspector's finding is not used. */
  #notWorth: string | undefined
  #bound: BoundLoop | undefined
  #last: PassTimes['last']
  #stale = false

  constructor(inputs: LoopInputs, ir: FunctionIr, space: IterationSpace, resources: LoopResources) {
    super(inputs, space)
    this.#ir = ir
    this.#resources = resources
    this.#workerPasses = new WorkerPasses(resources.pool)
    const delays = [...inputs.buffers.values()].flatMap(({ maxDelay }) => (maxDelay === undefined ? [] : maxDelay))
    this.#flushEvery = delays.length === 0 ? Number.POSITIVE_INFINITY : delays.reduce(greatestDivisor)
    this.#weight = this.#weightOf(inputs, ir)
    const { blocks, claims, plan } = this.#layoutInBudget()
    this.blocks = blocks
    this.width = widthOf(blocks)
    this.#claims = claims
    this.#plan = plan
    this.#decided = this.#whyCaller()
    this.execution = this.#choose()
  }

  /** A colored loop whose order finds no room runs serially, which needs none. */
  #layoutInBudget(): Layout {
    try {
      return this.#layout()
    } catch (error) {
      this.dispose()
      if (!(error instanceof MemoryError) || this.inputs.finding === undefined || this.inputs.finding.kind === 'nothing') throw error
      this.inputs = {
        ...this.inputs,
        finding: { kind: 'nothing', text: `There is no memory for the order of its iterations: ${error.message}` },
      }
      this.#lanes.length = 0
      return this.#layout()
    }
  }

  #layout(): Layout {
    const blocks = this.#cut()
    const homes = Math.max(1, Math.min(this.#resources.pool.size, widthOf(blocks)))
    const words = startWords(blocks, homes)
    const start = this.#allocate('i32', words.length) as Int32Array
    start.set(words)
    const claims = {
      words: this.#allocate('i32', words.length) as Int32Array,
      failure: this.#allocate('i64', 1) as BigInt64Array,
      homes,
      start,
    }
    return { blocks, claims, plan: this.#planKernel(blocks) }
  }

  #allocate = (dtype: DType, length: number): TypedArray => {
    const offset = this.#resources.arena.allocate(length * ARRAY_OF_DTYPE[dtype].BYTES_PER_ELEMENT, this.name)
    this.#allocated.push(offset)
    return this.#resources.arena.view(dtype, offset, length)
  }

  #cut(): BlockSchedule {
    const { analyzed } = this.inputs
    const { options } = analyzed.spec
    const order = options.order ?? 'serial'
    const lanes = laneChoice(this.inputs, this.#ir, this.space)
    // With maxDelay every iteration sees the flushes before it in the serial order, and on the caller's thread nothing is
    // gained by another order than that of keys.
    const isSerial = Number.isFinite(this.#flushEvery) || whyCallerOnly(this.inputs, this.#ir) !== undefined
    if (analyzed.schedule.kind === 'colored')
      return isSerial ? cutBlocks({ kind: 'serial' }, this.space, { order }) : this.#cutColored(lanes)
    const schedule = isSerial ? ({ kind: 'serial' } as const) : analyzed.schedule
    // The bits of added floats follow from where lanes are cut: then `partitions` has no say, but over two axes.
    const isFree = lanes === undefined || lanes.exact || cutsTwice(schedule.kind === 'stepped' ? schedule.inner : schedule)
    const { partitions, balance } = isFree ? options : { ...options, partitions: undefined }
    const cut = cutBlocks(schedule, this.space, { order, partitions, balance, mostLanes: lanes?.most, weight: this.#weight })
    return this.#shared(cut)
  }

  /** As the inspector found; in one block where that is not worth it. */
  #cutColored(lanes: ReturnType<typeof laneChoice>): BlockSchedule {
    const { finding, analyzed } = this.inputs
    const { order = 'serial', partitions } = analyzed.spec.options
    const serial = () => cutBlocks({ kind: 'serial' }, this.space, { order })
    if (finding === undefined || finding.kind === 'nothing') {
      this.#notWorth = finding?.text
      return serial()
    }
    if (lanes !== undefined && lanes.most < 2) return serial()
    const isFree = lanes === undefined || lanes.exact
    const { blocks, share } = cutColored(finding, {
      order,
      partitions: isFree ? partitions : undefined,
      mostLanes: lanes?.most,
      iterationNs: this.#coloredIterationNs(),
    })
    const totalNs = blocks.iterations * this.#coloredIterationNs()
    if (partitions === undefined && share > MOST_SHARE && totalNs > LEAST_TO_JUDGE_NS) {
      this.#notWorth = `${finding.text}: too little at a time to be worth the barriers between.`
      return serial()
    }
    return this.#shared(blocks)
  }

  /** In key order each value of a sum is put in its place on its own, where neighbours run in different blocks. */
  #coloredIterationNs(): number {
    const sums = [...this.inputs.accumulators.values()].some((input) => input === 'sum' || typeof input !== 'string')
    const placing = sums && this.inputs.analyzed.spec.options.order !== 'any' ? NS_TO_PLACE_A_VALUE : 0
    return iterationNs(this.#ir, (name, axis) => extentOf(this.inputs, name, axis)) + placing
  }

  /** The order of places where every worker sees it. */
  #shared(cut: BlockSchedule): BlockSchedule {
    if (cut.order === undefined) return cut
    const shared = this.#allocate('i32', cut.order.length) as Int32Array
    shared.set(cut.order)
    return { ...cut, order: shared }
  }

  #planKernel(blocks: BlockSchedule): KernelPlan {
    const { laneCount, order } = blocks
    const reduced = new Map<number, Lanes>()
    for (const [array, storage] of laneCount < 2 ? [] : reducedStorages(this.inputs)) {
      if (storage.dtype === 'object') throw new Bug('A kernel was to add to objects.')
      reduced.set(array, createLanes(storage, laneCount, { dtype: storage.dtype, touched: false, allocate: this.#allocate }))
    }
    const buffered = new Map(
      [...this.inputs.buffers].map(([name, buffer]) => [
        name,
        createLanes(buffer.storage, laneCount, { ...updateOptions(buffer), allocate: this.#allocate }),
      ]),
    )
    this.#lanes.push(...reduced.values(), ...buffered.values())
    // One block runs the iterations in their order: the arrays themselves will do.
    const copies = blocks.count < 2 ? new Map() : copiesOf(this.inputs, this.#resources.pool.size, this.#allocate)
    this.#tables = this.#ir.tables.map((table) => this.#sharedTable(table.value))
    const tables = this.#tables.map((table) => (table.copy as ArrayLike<Primitive> | undefined) ?? table.original) // a copy of numbers or bigints
    this.#memory = {
      order,
      keys: this.#keys(order),
      placed: placeElements(this.inputs, order, this.#allocate),
      tables,
      reduced,
      buffered,
      copies,
      scratch: this.#scratch(),
      owns: (buffer) => this.#resources.arena.owns(buffer),
    }
    return planKernel(this.inputs, this.#ir, this.space, blocks, this.#memory)
  }

  /** Memory for what WebAssembly kernels add to accumulators: a block for each worker. */
  #scratch(): number {
    const length = scratchLength([...this.inputs.accumulators.values()].map(formOf))
    return length === 0 ? 0 : this.#allocate('f64', length * this.#resources.pool.size).byteOffset
  }

  /** How the body runs, now that the arrays are known. */
  get kernel(): LoopPlan['kernel'] {
    const { wasm } = this.#plan
    if (this.#resources.kernel === 'js') return { target: 'js' }
    return 'because' in wasm ? { target: 'js', because: [wasm.because] } : { target: wasm.target }
  }

  get innerLoops(): readonly string[] {
    const { wasm } = this.#plan
    return 'because' in wasm || this.#resources.kernel === 'js' ? [] : wasm.loops
  }

  kernelCode(): KernelCode {
    return kernelCode(this.#plan, this.#resources)
  }

  /** Takes the place of another preparation that would differ from this one in captured values only; whether it does. */
  takeOver(inputs: LoopInputs, ir: FunctionIr, resources: LoopResources): boolean {
    const memory = this.#memory
    if (memory === undefined || this.#stale || this.#allocated.length === 0) return false
    if (resources.pool !== this.#resources.pool || resources.arena !== this.#resources.arena) return false
    if (inputs.finding !== this.inputs.finding || !sameStructure(this.inputs, inputs) || this.#weightOf(inputs, ir) !== this.#weight)
      return false
    const tables = ir.tables.map((table, i) => ({ copy: this.#tables[i]?.copy, original: table.value }))
    const fits = tables.every(({ copy, original }, i) =>
      copy === undefined
        ? original === this.#tables[i]?.original
        : dtypeOfTable(original) === dtypeOfTable(copy as ArrayLike<Primitive>) && original.length === copy.length,
    )
    if (!fits || tables.length !== this.#tables.length) return false
    const plan = planKernel(inputs, ir, this.space, this.blocks, memory)
    if (plan.text !== this.#plan.text || wasmKey(plan) !== wasmKey(this.#plan)) return false
    this.inputs = inputs
    this.#ir = ir
    this.#tables = tables
    return true
  }

  /** Key columns in the order of places. */
  #keys(order: Int32Array | undefined): readonly Int32Array[] {
    const { space } = this
    if (space.kind === 'box' && order !== undefined && space.extents.length > 1) return this.#boxKeys(space.extents, order)
    if (space.kind !== 'sparse') return []
    if (order === undefined) return space.keys
    return space.keys.map((column) => {
      const sorted = this.#allocate('i32', order.length) as Int32Array
      for (let place = 0; place < order.length; place++) sorted[place] = column[order[place] as number] as number // places and positions are inside
      return sorted
    })
  }

  #boxKeys(extents: readonly number[], order: Int32Array): readonly Int32Array[] {
    let inner = extents.reduce((size, extent) => size * extent, 1)
    return extents.map((extent) => {
      inner /= Math.max(1, extent)
      const column = this.#allocate('i32', order.length) as Int32Array
      for (let place = 0; place < order.length; place++) column[place] = Math.floor((order[place] as number) / inner) % extent // inside
      return column
    })
  }

  /** Numbers go to the arena once, and are read anew before each pass; other tables travel with the task. */
  #sharedTable(original: ArrayLike<Primitive>): { readonly copy: TypedArray | undefined; readonly original: ArrayLike<Primitive> } {
    const dtype = dtypeOfTable(original)
    return { copy: dtype === undefined ? undefined : this.#allocate(dtype, original.length), original }
  }

  /** How much dearer an iteration is than one of some dozen operations: dear ones are worth smaller blocks. Steps may be of cheap ones. */
  #weightOf(inputs: LoopInputs, ir: FunctionIr): number {
    const weight = iterationNs(ir, (name, axis) => extentOf(inputs, name, axis)) / LIGHT_ITERATION_NS
    return inputs.analyzed.schedule.kind === 'stepped' ? weight : Math.max(1, weight)
  }

  #whyCaller(): string | undefined {
    if (this.#resources.pool.size === 1) return 'The session has one worker.'
    const reason = whyCallerOnly(this.inputs, this.#ir)
    if (reason !== undefined) return `${reason[0]?.toUpperCase()}${reason.slice(1)}.`
    if (Number.isFinite(this.#flushEvery)) return `An update buffer is flushed every ${this.#shortestDelay()} iterations, in serial order.`
    for (const buffer of this.inputs.buffers.values()) {
      if (buffer.combine !== 'sum' && buffer.combine.portable === undefined)
        return `The combine function of ${buffer.label} cannot be sent to a worker.`
    }
    if (this.#notWorth !== undefined) return this.#notWorth
    if (this.blocks.kind === 'stepped' && this.blocks.count < 2) return this.#whyNoSteps()
    if (this.blocks.count < 2 || this.width < 2)
      return (
        addedInOrder(this.inputs, this.#ir, this.space) ??
        `The ${this.blocks.kind} schedule of this loop leaves nothing to run at the same time.`
      )
    return undefined
  }

  /** A step that is not worth cutting: its end, where all wait for all, would cost more than is gained. */
  #whyNoSteps(): string {
    const step = `A step of ${Math.ceil(this.blocks.iterations / this.#steps)} iterations`
    return `${step} is less than workers waiting for one another after each of ${this.#steps} steps is worth.`
  }

  get #steps(): number {
    const { schedule } = this.inputs.analyzed
    const outer = schedule.kind === 'stepped' ? extentsOf(this.space).slice(0, schedule.outer) : []
    return Math.max(
      1,
      outer.reduce((steps, extent) => steps * extent, 1),
    )
  }

  #shortestDelay(): number {
    return Math.min(...[...this.inputs.buffers.values()].map(({ maxDelay }) => maxDelay ?? Number.POSITIVE_INFINITY))
  }

  #choose(last?: PassTimes['last']): LoopPlan['execution'] {
    if (this.#decided !== undefined) return { where: 'caller', because: this.#decided }
    const { pool, worthThreadsMs } = this.#resources
    const times = { blocks: this.blocks, workers: this.#workers, isWarm: isWarm(pool), estimatedMs: this.#estimatedMs(), worthThreadsMs }
    if (worthThreadsMs !== 0 && this.blocks.kind === 'stepped') {
      const isShort =
        last === undefined ? times.estimatedMs < WORTH_STEP_MS * this.#steps : last.aloneMs <= MEASURED_WORTH_STEP_MS * this.#steps
      if (isShort && last?.where !== 'workers') return { where: 'caller', because: this.#whyNoSteps() }
    }
    return chooseWhere(last === undefined ? times : { ...times, last }, this.execution)
  }

  get #workers(): number {
    return Math.min(this.#resources.pool.size, this.width)
  }

  #estimatedMs(): number {
    return (this.blocks.iterations * iterationNs(this.#ir, (name, axis) => extentOf(this.inputs, name, axis))) / 1e6
  }

  /** What the next pass will take: from the last one's work, or the body. */
  get predictedMilliseconds(): number {
    return predictedMs(this.#last?.aloneMs ?? this.#estimatedMs(), this.blocks, this.execution.where === 'workers' ? this.#workers : 1)
  }

  async runPass(pass: number, options: { readonly signal?: AbortSignal } = {}): Promise<PassResult> {
    const { passes, failed } = await this.runPasses(pass, 1, options)
    if (failed !== undefined) throw failed.reason
    return passes[0] as PassResult // one pass, which did not fail
  }

  async runPasses(pass: number, most: number, { signal }: { readonly signal?: AbortSignal } = {}): Promise<PassesResult> {
    if (signal?.aborted) return { passes: [], failed: { reason: signal.reason } }
    if (this.#stale) throw new Bug('A loop ran on after a pass had replaced the storage of one of its arrays.')
    const started = performance.now()
    for (const lanes of this.#lanes) resetLanes(lanes)
    for (const { copy, original } of this.#tables) copy?.set(original as never) // numbers of the copy's kind
    this.#memory?.placed?.refresh(this.inputs.over)
    resetClaims(this.#claims)
    const onAbort = (): void => abortPass(this.#claims)
    signal?.addEventListener('abort', onAbort, { once: true })
    let results: readonly ShareResult[] = []
    try {
      const workers = this.execution.where === 'workers' ? this.#workers : 1
      const turn = { parameters: this.#ir.parameters.map((parameter) => parameter.value), pass, passes: this.#inARow(most, workers) }
      results = await this.#run(turn, workers)
      const failed = signal?.aborted ? { reason: signal.reason } : this.#failureOf(results)
      const attended = Math.max(...results.map(({ passes }) => passes.length))
      const completed = failed === undefined ? attended : Math.min(...results.map(({ passes }) => passes.length)) - 1
      if (failed === undefined) for (const lanes of this.#lanes) flushLanes(lanes)
      const wallMs = performance.now() - started
      const passes = Array.from({ length: completed }, (_, i) => this.#passResult(results, i, attended > 1 ? undefined : wallMs))
      return { passes, ...(failed === undefined ? {} : { failed }) }
    } finally {
      signal?.removeEventListener('abort', onAbort)
      for (const part of results.flatMap(({ passes }) => passes.flatMap(({ accumulators }) => accumulators)))
        freePart(part, this.#resources.arena)
    }
  }

  /** How many passes to run in a row: short ones, if there is nothing to do on this thread between them. */
  #inARow(most: number, workers: number): number {
    if (workers === 1 || this.#lanes.length > 0 || this.#tables.length > 0) return 1
    if (this.#plan.binding.arrays.some((array) => array.kind === 'keyed')) return 1
    if (this.#resources.worthThreadsMs === 0) return Math.min(most, MOST_IN_A_ROW)
    return Math.max(1, Math.min(most, MOST_IN_A_ROW, Math.floor(IN_A_ROW_MS / (this.#last?.milliseconds ?? IN_A_ROW_MS))))
  }

  /** What one of the passes of all workers comes to; without `wallMs` it took as long as the worker that was longest at it. */
  #passResult(results: readonly ShareResult[], index: number, wallMs: number | undefined): PassResult {
    const shares = results.flatMap(({ passes }) => passes[index] ?? [])
    const parts = shares.map(
      ({ accumulators }) => new Map(this.#plan.accumulators.map((name, i) => [name, accumulators[i] as AccumulatorPart])),
    )
    const accumulators = this.combine(parts, this.#resources.arena)
    const replaced = this.#replaced()
    this.#stale = replaced.replaced !== undefined
    const milliseconds = wallMs ?? Math.max(...shares.map((share) => share.milliseconds))
    const busyMs = shares.map((share) => share.busyMs)
    const workers = Math.min(shares.length, this.#workers)
    // while threads start, this one works: its share comes first, and is no worker's
    const balance = balanceOf(busyMs.slice(-workers))
    const measured = { predictedMilliseconds: this.predictedMilliseconds, workers, balance }
    this.#last = { milliseconds, aloneMs: busyMs.reduce((sum, ms) => sum + ms, 0), where: shares.length > 1 ? 'workers' : 'caller' }
    this.execution = this.#choose(this.#last)
    return { iterations: this.blocks.iterations, milliseconds, accumulators, ...measured, ...replaced }
  }

  #task(): LoopTask {
    const { text, binding, extents, wasm } = this.#plan
    const task = { id: this.#id, text, binding, extents, schedule: this.blocks, claims: this.#claims }
    return 'because' in wasm || this.#resources.kernel === 'js' ? task : { ...task, wasm: wasm.plan }
  }

  async #run(turn: Omit<PassTurn, 'share' | 'shares'>, workers: number): Promise<readonly ShareResult[]> {
    if (workers === 1) return await this.#runHere(turn)
    return isWarm(this.#resources.pool) || this.#resources.worthThreadsMs === 0
      ? await this.#workerPasses.run(this.#task(), turn, workers)
      : await this.#runWhileStarting(turn, workers)
  }

  /** The first pass of a session does not wait for its threads: the caller works on the blocks until they are there. */
  async #runWhileStarting(turn: Omit<PassTurn, 'share' | 'shares'>, workers: number): Promise<readonly ShareResult[]> {
    let isStarted = false
    const started = warmUp(this.#resources.pool).then(() => {
      isStarted = true
    })
    started.catch(() => undefined) // awaited below
    const here = await this.#runHere(turn, () => isStarted)
    if (!isStarted) return here
    await started
    return [...here, ...(await this.#workerPasses.run(this.#task(), turn, workers))]
  }

  /** The same blocks with the same kernel, letting others have their turn between slices. */
  async #runHere(turn: Omit<PassTurn, 'share' | 'shares'>, isEnough: () => boolean = () => false): Promise<readonly ShareResult[]> {
    const task = this.#task()
    this.#bound ??= bindLoop(task, this.#resources.arena, this.#combines())
    const run = startPass(task, { ...turn, share: 0, shares: 1 }, this.#bound, this.#flushEvery)
    const claimer = createClaimer(0)
    const started = performance.now()
    let turnStarted = started
    while (!isEnough()) {
      const block = claimBlock(this.#claims, claimer)
      if (block < 0) break
      run.start(block)
      while (run.step()) {
        this.#flushDue(run)
        if (run.clock - turnStarted > TURN_MS) turnStarted = await nextTurn(run)
      }
      finishBlock(this.#claims, this.blocks, block)
      if (run.clock - turnStarted > TURN_MS) turnStarted = await nextTurn(run)
    }
    const milliseconds = performance.now() - started
    const { failure } = run
    const accumulators = failure === undefined ? this.#bound.logs.map((log) => partOf(log)) : []
    const passes = [{ accumulators, milliseconds, busyMs: milliseconds }]
    return failure === undefined
      ? [{ passes }]
      : [{ passes, failure: { ...failure, error: { name: '', message: '' } }, thrown: failure.error }]
  }

  #flushDue({ place }: BlockRun): void {
    if (Number.isFinite(this.#flushEvery) && place % this.#flushEvery === 0) flushDue(this.#lanes, place)
  }

  /** The user's own combine functions, by the array's place in the binding. */
  #combines(): Map<number, (a: number, b: number) => number> {
    const found = new Map<number, (a: number, b: number) => number>()
    for (const [i, name] of this.#plan.arrays.entries()) {
      const combine = this.inputs.buffers.get(name)?.combine ?? 'sum'
      if (combine !== 'sum') found.set(i, combine.original as (a: number, b: number) => number) // of two updates
    }
    return found
  }

  #failureOf(results: readonly ShareResult[]): { readonly reason: unknown } | undefined {
    const failed = results.filter((result) => result.failure !== undefined)
    const [first] = failed.sort((a, b) => (a.failure?.rank ?? 0) - (b.failure?.rank ?? 0))
    if (first?.failure === undefined) return undefined
    const cause = 'thrown' in first ? first.thrown : wireToError(first.failure.error)
    return { reason: bodyError(this.name, first.failure.key, cause) }
  }

  #replaced(): { readonly replaced?: ReadonlyMap<number, Storage> } {
    const keyed = new Map<number, Parameters<typeof mergeInserted>[0]>()
    for (const [i, view] of this.#bound?.keyed ?? []) {
      const input = this.inputs.arrays.get(this.#plan.arrays[i] ?? '')
      if (input !== undefined) keyed.set(input.array, view)
    }
    return replacedBy(keyed)
  }

  async verify(pass: number, options: { readonly signal?: AbortSignal } = {}): Promise<VerifyResult> {
    const restore = this.snapshot()
    try {
      const captured = this.#ir.uses.some((use) => use.origin === 'capture')
      const written = new Set(this.written())
      const serial = new PlainLoop(this.inputs, {
        storageOf: (_, storage) => (written.has(storage) ? copyStorage(storage) : storage),
        laneCount: this.blocks.laneCount,
        body: captured ? 'ir' : 'original',
      })
      serial.startPass(pass)
      let visited = 0
      visitSerially(this.space, this.blocks, (position, key, lane) => {
        try {
          serial.iterate(position, key, lane)
        } catch (error) {
          throw bodyError(this.name, key, error)
        }
        serial.flushDue(++visited)
      })
      serial.flush()
      const { replaced } = await this.runPass(pass, options)
      const difference = firstDifference(this.inputs, serial, replaced)
      return {
        identical: difference === undefined,
        iterations: this.blocks.iterations,
        ...(difference === undefined ? {} : { firstDifference: difference }),
      }
    } finally {
      restore()
      this.#stale = false
    }
  }

  dispose(): void {
    for (const offset of this.#allocated.splice(0)) this.#resources.arena.free(offset)
  }
}

/** Lets others have their turn; when the next of the run's begins. */
async function nextTurn(run: BlockRun): Promise<number> {
  await otherTurn()
  run.forgetClock()
  return performance.now()
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}

/** The most blocks that could run at once: those of one diagonal, or all when they do not wait for each other. */
function widthOf(blocks: BlockSchedule): number {
  if (blocks.width !== undefined) return blocks.width
  if (blocks.successors.length === 0) return blocks.steps?.blocks ?? blocks.count
  return Math.min(...blocks.cuts.map((cut) => cut.length - 1))
}

/** Whether blocks are cells of a grid, so that `partitions` tells where lanes are cut. */
function cutsTwice({ kind }: Schedule): boolean {
  return kind === '2d' || kind === 'wavefront' || kind === 'skewed'
}

/** What tells WebAssembly kernels apart. */
function wasmKey({ wasm }: KernelPlan): string | undefined {
  return 'because' in wasm ? undefined : wasm.key
}
