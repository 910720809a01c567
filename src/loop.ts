/**
 * The loop handle: joins the front end, the analysis and the runtime behind `session.loop`.
 *
 *     loop()   body -> IR -> plan                         nothing runs
 *     run()    lock the arrays -> cut blocks -> passes
 *
 * Captured values are read again by every run, as the plain loop would see them; when one has changed, the loop is
 * analysed again.
 */
import { Accumulator } from './core/accumulator.ts'
import { checkBoolean, checkCount, checkFunction, checkOneOf } from './core/arguments.ts'
import { callSite } from './core/callSite.ts'
import { engineOf, isDistArray, planOf } from './core/distArray.ts'
import { rankOf } from './core/elements.ts'
import type { Engine } from './core/engine.ts'
import { Bug, LoopError, PlanError } from './core/errors.ts'
import type { IndexSpace } from './core/indexSpace.ts'
import type { LogicalPlan } from './core/logicalPlan.ts'
import type { LoopPlan, MeasuredPass } from './core/loopPlan.ts'
import type { LoopReport, PassReport, VerifyReport } from './core/loopReport.ts'
import type { AnalyzedLoop, EnvBinding, LoopOptions, LoopOver } from './core/loopSpec.ts'
import type { Rng } from './core/loopViews.ts'
import { nearestNames } from './core/nearestNames.ts'
import type { DType } from './core/schema.ts'
import { ARRAY_OF_DTYPE, type DenseStorage, type Storage } from './core/storage.ts'
import { UpdateBuffer } from './core/updateBuffer.ts'
import type { Access } from './exec/arrayStore.ts'
import { copyStorage } from './exec/arrays/storageBlocks.ts'
import { blocksAlong } from './exec/loops/cutBlocks.ts'
import { DistributedLoop } from './exec/loops/distributedLoop.ts'
import type { Finding } from './exec/loops/inspector/finding.ts'
import { Inspector } from './exec/loops/inspector/inspector.ts'
import { kernelCode } from './exec/loops/kernelCode.ts'
import { type KernelForecast, kernelForecast } from './exec/loops/kernelForecast.ts'
import type { LoopInputs } from './exec/loops/loopInputs.ts'
import { type PassResult, type PreparedLoop, prepareLoop } from './exec/loops/loopRun.ts'
import { codeOfParts } from './exec/loops/partKernels.ts'
import { otherTurn, TURN_MS } from './exec/loops/preparedLoop.ts'
import { capturedNow, sameCaptures } from './planner/function/capturedNow.ts'
import type { EnvValue } from './planner/function/context.ts'
import { irText } from './planner/function/irText.ts'
import { lowerFunction } from './planner/function/userFunction.ts'
import { analyzeLoop } from './planner/loop/analyze.ts'
import { type ExplainedKernel, explainLoop } from './planner/loop/explain.ts'
import { nothingFoundError, notParallelError } from './planner/loop/requireParallel.ts'
import type { Runtime } from './runtime.ts'

export type { LoopReport, PassReport, VerifyReport } from './core/loopReport.ts'

/** Options of `run()` and `parallelFor()`. */
export interface RunOptions {
  /** Default: 1. */
  readonly passes?: number
  /** Ends the run between slices of blocks; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

/** A loop that was analysed and can be run, any number of times. */
export interface Loop {
  /** Plain data: `JSON.stringify(plan)` is the machine form of `explain()`. Block counts and where it runs are filled in by runs. */
  readonly plan: LoopPlan
  /** The plan on one screen, or as JSON; `kernel: true` adds to the text how the body was compiled: its inner loops, its IR, and the kernel's code. */
  explain(options?: { readonly format?: 'text' | 'json'; readonly kernel?: boolean }): string
  /** Runs passes. TaskError when the body threw: the error the serial program meets first. */
  run(options?: RunOptions): Promise<LoopReport>
  /** Runs passes one after another, as they are asked for. */
  passes(count: number, options?: { readonly signal?: AbortSignal }): AsyncIterable<PassReport>
  /** The keys of all iterations, flattened, in the serial order that the plan is equivalent to. */
  serialOrder(): Promise<Int32Array>
  /** Runs a pass on copies, in parallel and as plain JavaScript in `serialOrder()`, and compares every array bit for bit. */
  verify(): Promise<VerifyReport>
}

export interface LoopRequest {
  readonly over: object
  readonly env: Readonly<Record<string, unknown>>
  readonly body: (...args: never[]) => unknown
  readonly options: LoopOptions
}

/** What a run needs of the names in `env` and among the captures. */
interface Bindings {
  readonly env: Readonly<Record<string, EnvBinding>>
  readonly arrays: ReadonlyMap<string, LogicalPlan>
  readonly buffers: ReadonlyMap<string, UpdateBuffer>
  readonly accumulators: ReadonlyMap<string, Accumulator<unknown>>
  readonly rngs: ReadonlyMap<string, number>
}

interface Prepared {
  readonly analyzed: AnalyzedLoop
  readonly storages: readonly Storage[]
  readonly finding: Finding | undefined
  readonly loop: PreparedLoop
}

export class LoopHandle implements Loop {
  readonly #runtime: Runtime
  readonly #engine: Engine
  readonly #request: LoopRequest
  readonly #over: LoopOver
  readonly #site: string | undefined
  readonly #overPlan: LogicalPlan | undefined
  #analyzed: AnalyzedLoop
  #bindings: Bindings
  /** What the body captured when it was analysed; undefined where that cannot be compared. */
  #captured: ReadonlyMap<string, unknown> | undefined
  #prepared: Prepared | undefined
  readonly #inspector = new Inspector()
  #measured: MeasuredPass | undefined
  #forecasted: { readonly analyzed: AnalyzedLoop; readonly forecast: KernelForecast | undefined } | undefined
  /** The pass under way: a loop has one set of blocks, so its own passes wait for one another, whatever they only read. */
  #turn: Promise<unknown> = Promise.resolve()
  /** Passes of this handle so far: what its generators are keyed by. */
  #passes = 0
  /** The versions of what the loop only reads when it was last checked for races. */
  #checkedRaces: string | undefined

  constructor(runtime: Runtime, engine: Engine, request: LoopRequest) {
    this.#runtime = runtime
    this.#engine = engine
    this.#request = request
    checkRequest(request)
    this.#site = callSite()
    this.#overPlan = isIndexSpace(request.over) ? undefined : this.#planOf(request.over, 'the array iterated over')
    this.#over = this.#overPlan === undefined ? overOfSpace(request.over as IndexSpace) : this.#overOfPlan(this.#overPlan)
    this.#captured = this.#capturedNow()
    const { analyzed, bindings } = this.#analyze()
    this.#analyzed = analyzed
    this.#bindings = bindings
    checkPromises(request.options, bindings)
    if (request.options.require === 'parallel') {
      const error = notParallelError(analyzed)
      if (error !== undefined) throw error
    }
  }

  get plan(): LoopPlan {
    const { plan } = this.#analyzed
    const prepared = this.#prepared?.loop
    if (prepared === undefined) {
      const { kernel = plan.kernel, predictedMilliseconds } = this.#forecast() ?? {}
      return { ...plan, kernel, ...(predictedMilliseconds === undefined ? {} : { cost: { predictedMilliseconds } }) }
    }
    const finding = this.#prepared?.finding
    const blocks = plan.schedule.kind === 'serial' ? [] : blocksAlong(prepared.blocks)
    const reason = `${plan.schedule.reason}${finding === undefined ? '' : `${finding.kind === 'nothing' ? '. ' : ': '}${finding.text}`}`
    const { kernel = plan.kernel, execution, predictedMilliseconds } = prepared
    const cost = defined({ predictedMilliseconds, measured: this.#measured })
    return { ...plan, ...partsOf(plan, prepared), schedule: { ...plan.schedule, blocks, reason }, kernel, execution, cost }
  }

  explain(options: { readonly format?: 'text' | 'json'; readonly kernel?: boolean } = {}): string {
    const analyzed = { ...this.#analyzed, plan: this.plan }
    const format = options.format === undefined ? {} : { format: options.format }
    return explainLoop(analyzed, { ...format, ...(options.kernel === true ? { kernel: this.#explainedKernel() } : {}) })
  }

  #explainedKernel(): ExplainedKernel {
    const prepared = this.#prepared?.loop
    if (prepared !== undefined) return { loops: prepared.innerLoops ?? [], ...defined({ code: prepared.kernelCode?.() }) }
    const forecast = this.#forecast()
    if (forecast === undefined) return { loops: [] }
    const codes = forecast.plans.map((plan) => kernelCode(plan))
    const [code] = codes.length > 1 ? [codeOfParts(codes)] : codes
    return { loops: forecast.innerLoops, ...defined({ code }) }
  }

  /** The kernel as far as it is known before a run. */
  #forecast(): KernelForecast | undefined {
    const analyzed = this.#analyzed
    if (this.#forecasted?.analyzed !== analyzed) {
      const { accumulators, rngs, buffers } = this.#bindings
      const forecast = kernelForecast({
        analyzed,
        accumulators: accumulatorInputs(accumulators),
        rngs,
        buffers: new Map([...buffers].map(([name, buffer]) => [name, this.#bufferFunctions(buffer)])),
      })
      this.#forecasted = { analyzed, forecast }
    }
    return this.#forecasted.forecast
  }

  async run(options: RunOptions = {}): Promise<LoopReport> {
    const started = performance.now()
    const passes: PassReport[] = []
    this.#refresh()
    const asked = options.passes ?? 1
    for await (const pass of this.#eachPass(asked, options.signal, { atOnce: asked, refresh: () => {} })) passes.push(pass)
    const predictions = passes.flatMap(({ predictedMilliseconds }) => predictedMilliseconds ?? [])
    return {
      passes,
      milliseconds: performance.now() - started,
      ...(predictions.length < passes.length || asked === 0 ? {} : { predictedMilliseconds: predictions.reduce((sum, ms) => sum + ms, 0) }),
      schedule: this.#analyzed.plan.schedule.kind,
      workers: asked === 0 ? 1 : (this.#measured?.workers ?? 1),
    }
  }

  async *passes(count: number, options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<PassReport, void, undefined> {
    this.#refresh()
    const captures = this.#analyzed.plan.variables.some(({ origin }) => origin === 'capture')
    // between two passes the program may change what the closure sees
    yield* this.#eachPass(count, options.signal, { atOnce: 1, refresh: captures ? () => this.#refresh() : () => {} })
  }

  /** `atOnce`: how many passes may run before the first of them is reported. */
  async *#eachPass(
    count: number,
    signal: AbortSignal | undefined,
    { atOnce, refresh }: { readonly atOnce: number; readonly refresh: () => void },
  ): AsyncGenerator<PassReport, void, undefined> {
    checkCount('The number of passes', count, 0)
    if (this.#asksForRaces() === true) this.#checkedRaces = undefined
    const name = this.#request.options.name ?? `loop over ${this.#over.label}`
    const { events } = this.#runtime
    for (let number = 1; number <= count; ) {
      this.#runtime.checkOpen()
      if (number > 1) refresh()
      events.next({ kind: 'pass', phase: 'started', loop: name, pass: { number } })
      const first = number
      const { reports, failed } = await this.#withPrepared(
        (prepared) => this.#runPasses(prepared, first, Math.min(atOnce, count - first + 1), signal),
        signal,
      )
      for (const pass of reports) {
        if (number > first) events.next({ kind: 'pass', phase: 'started', loop: name, pass: { number } })
        events.next({ kind: 'pass', phase: 'finished', loop: name, pass })
        events.next({ kind: 'progress', job: name, done: number++, total: count })
        yield pass
      }
      if (failed !== undefined) throw failed.reason
    }
  }

  async serialOrder(): Promise<Int32Array> {
    this.#runtime.checkOpen()
    this.#refresh()
    return await this.#withPrepared(async ({ loop }) => loop.serialOrder())
  }

  async verify(): Promise<VerifyReport> {
    this.#runtime.checkOpen()
    this.#refresh()
    return await this.#withPrepared(async ({ loop }) => await loop.verify(this.#passes))
  }

  // ------------------------------------------------------------------ analysis

  /** Reads the captured values again; a loop whose captures are what they were stays as it is. */
  #refresh(): void {
    const captured = this.#capturedNow()
    if (captured !== undefined && this.#captured !== undefined && sameCaptures(captured, this.#captured)) return
    const { analyzed, bindings } = this.#analyze()
    this.#captured = captured
    if (sameInputs(this.#analyzed, analyzed) && sameBindings(this.#bindings, bindings)) return
    this.#analyzed = analyzed
    this.#bindings = bindings
    if (this.#request.options.require !== 'parallel') return
    const error = notParallelError(analyzed)
    if (error !== undefined) throw error
  }

  #capturedNow(): ReadonlyMap<string, unknown> | undefined {
    const { env, body } = this.#request
    return capturedNow(body, env, (value) => this.#envValue(value) !== undefined)
  }

  #analyze(): { readonly analyzed: AnalyzedLoop; readonly bindings: Bindings } {
    const { env, body, options } = this.#request
    const element = this.#over.element
    const lowered = lowerFunction(body, {
      kind: 'loop',
      ...(element === undefined ? {} : { overElement: element }),
      isRange: this.#overPlan === undefined,
      rank: this.#over.rank,
      env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, this.#envValue(value) ?? { kind: 'constant', value }])),
      classify: (value) => this.#envValue(value),
    })
    if (lowered.isAsync) {
      throw new LoopError(
        'The body of a loop is async. Iterations run synchronously: load what it awaits into arrays before the loop, or use forEach or collect.',
        lowered.fn.refusals,
      )
    }
    const bindings = this.#bind(env, lowered.captured)
    return {
      analyzed: analyzeLoop({ body: lowered.fn, over: this.#over, env: bindings.env, options, ...defined({ site: this.#site }) }),
      bindings,
    }
  }

  /** What a value is to a loop body; undefined when it is no handle. */
  #envValue(value: unknown): EnvValue | undefined {
    if (isDistArray(value)) return { kind: 'array', dtype: dtypeOf(this.#planOf(value, 'an array in env')) }
    if (value instanceof UpdateBuffer) return { kind: 'buffer', dtype: dtypeOf(this.#planOf(value.target, 'a buffer in env')) }
    if (value instanceof Accumulator) return { kind: 'accumulator' }
    return isRng(value) ? { kind: 'rng' } : undefined
  }

  #bind(env: Readonly<Record<string, unknown>>, captured: ReadonlyMap<string, unknown>): Bindings {
    const bound: Record<string, EnvBinding> = {}
    const arrays = new Map<string, LogicalPlan>()
    const buffers = new Map<string, UpdateBuffer>()
    const accumulators = new Map<string, Accumulator<unknown>>()
    const rngs = new Map<string, number>()
    for (const [name, value] of [...Object.entries(env), ...captured]) {
      if (isDistArray(value)) {
        const plan = this.#planOf(value, name)
        arrays.set(name, plan)
        bound[name] = this.#arrayBinding(plan)
      } else if (value instanceof UpdateBuffer) {
        const plan = this.#planOf(value.target, name)
        buffers.set(name, value)
        const { array, rank, shape, label } = this.#arrayBinding(plan)
        const dtype = dtypeOf(plan)
        const isNumeric = dtype !== 'object' && dtype !== 'row' && dtype !== 'unknown'
        bound[name] = {
          kind: 'buffer',
          array,
          dtype: isNumeric ? dtype : 'f64',
          label,
          ...defined({ rank, shape, maxDelay: value.options.maxDelay }),
        }
      } else if (value instanceof Accumulator) {
        accumulators.set(name, value)
        bound[name] = { kind: 'accumulator', combine: typeof value.spec === 'string' ? value.spec : 'custom' }
      } else if (isRng(value)) {
        rngs.set(name, value.seed)
        bound[name] = { kind: 'rng', seed: value.seed }
      }
    }
    return { env: bound, arrays, buffers, accumulators, rngs }
  }

  #arrayBinding(plan: LogicalPlan): EnvBinding & { readonly kind: 'array' } {
    const { keys } = plan
    const shape = keys.kind === 'explicit' ? keys.shape : undefined
    return {
      kind: 'array',
      array: this.#runtime.store.identity(plan),
      dtype: dtypeOf(plan),
      storage: keys.kind === 'rowNumber' ? 'table' : keys.dense ? 'dense' : 'unknown',
      rank: rankOf(keys),
      label: this.#runtime.store.label(plan),
      ...defined({ shape }),
    }
  }

  #overOfPlan(plan: LogicalPlan): LoopOver {
    const { keys } = plan
    const extents = keys.kind === 'explicit' && keys.shape !== undefined ? keys.shape : new Array<undefined>(rankOf(keys)).fill(undefined)
    return {
      kind: keys.kind === 'rowNumber' ? 'table' : keys.dense ? 'dense' : 'unknown',
      array: this.#runtime.store.identity(plan),
      element: plan.element,
      rank: rankOf(keys),
      extents,
      label: this.#runtime.store.label(plan),
    }
  }

  #planOf(array: object, what: string): LogicalPlan {
    if (!isDistArray(array)) throw new PlanError(`${what} is not a DistArray.`)
    if (engineOf(array) !== this.#engine) {
      throw new PlanError(`${what} belongs to another session. Arrays of one loop are made by the session that runs it.`)
    }
    return planOf(array)
  }

  // ------------------------------------------------------------------ runs

  /** Every array the loop touches, each once, with the storage it holds while `run` runs. */
  async #withPrepared<T>(run: (prepared: Prepared) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const turn = this.#turn.then(() => this.#withArrays(run, signal))
    this.#turn = turn.catch(() => undefined) // the next pass does not fail of this one
    return await turn
  }

  async #withArrays<T>(run: (prepared: Prepared) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const { store } = this.#runtime
    const written = new Set(this.#analyzed.writtenArrays)
    const buffered = [...this.#bindings.buffers.values()].map((buffer) => this.#planOf(buffer.target, 'a buffer in env'))
    const nodes = new Set([...(this.#overPlan === undefined ? [] : [this.#overPlan]), ...this.#bindings.arrays.values(), ...buffered])
    const accesses: Access[] = [...nodes].map((node) => ({
      node,
      mode: written.has(store.identity(node)) || buffered.includes(node) ? 'write' : 'read',
    }))
    return await store.withArrays(accesses, async (found) => {
      const storages = found.map(asDense)
      const byNode = new Map(accesses.map(({ node }, i) => [node, storages[i] as Storage]))
      return await run(await this.#prepare(byNode, storages, signal))
    })
  }

  async #prepare(
    byNode: ReadonlyMap<LogicalPlan, Storage>,
    storages: readonly Storage[],
    signal: AbortSignal | undefined,
  ): Promise<Prepared> {
    const old = this.#prepared
    const isSame = old?.analyzed === this.#analyzed && sameItems(old.storages, storages)
    const isColored = this.#analyzed.schedule.kind === 'colored'
    if (old !== undefined && isSame && !isColored) return old
    const inputs = this.#inputs(byNode)
    const finding = isColored ? await this.#inspect(inputs, signal) : undefined
    if (old !== undefined && isSame && old.finding === finding) return old
    this.#prepared = undefined // the runtime disposes of it, or uses it again
    const { pool, arena, worthThreadsMs } = this.#runtime
    const resources = { pool, arena, ...(worthThreadsMs === undefined ? {} : { worthThreadsMs }) }
    const loop = prepareLoop(finding === undefined ? inputs : { ...inputs, finding }, resources, old?.loop)
    this.#prepared = { analyzed: this.#analyzed, storages, finding, loop }
    return this.#prepared
  }

  /** What the data of a colored loop says, which may be that nothing can run in parallel. */
  async #inspect(inputs: LoopInputs, signal: AbortSignal | undefined): Promise<Finding | undefined> {
    const { store } = this.#runtime
    const versions = new Map([...this.#nodes()].map((node) => [store.identity(node), store.version(node)]))
    const turns = { everyMs: TURN_MS, other: otherTurn, signal }
    const finding = await this.#inspector.finding(inputs, (array) => versions.get(array) ?? '', turns)
    if (finding?.kind === 'nothing' && this.#request.options.require === 'parallel') throw nothingFoundError(this.#analyzed, finding.text)
    return finding
  }

  #inputs(byNode: ReadonlyMap<LogicalPlan, Storage>): LoopInputs {
    const { store } = this.#runtime
    const storageOf = (node: LogicalPlan): Storage => {
      const storage = byNode.get(node)
      if (storage === undefined) throw new Bug(`${store.label(node)} was not locked for the loop.`)
      return storage
    }
    const { arrays, buffers, accumulators, rngs } = this.#bindings
    const over = this.#overPlan
    return {
      analyzed: this.#analyzed,
      over:
        over === undefined
          ? { kind: 'range', extents: (this.#request.over as IndexSpace).extents }
          : { kind: 'storage', storage: storageOf(over), array: store.identity(over), version: () => store.version(over) },
      arrays: new Map([...arrays].map(([name, node]) => [name, { storage: storageOf(node), array: store.identity(node), label: name }])),
      buffers: new Map(
        [...buffers].map(([name, buffer]) => {
          const node = this.#planOf(buffer.target, name)
          const storage = storageOf(node)
          if (storage.kind !== 'dense') throw new PlanError(`${name} is a buffer of a sparse array. Buffers need a dense array.`)
          return [name, { storage, array: store.identity(node), label: name, ...this.#bufferFunctions(buffer) }]
        }),
      ),
      accumulators: accumulatorInputs(accumulators),
      rngs,
      envObject: this.#request.env,
    }
  }

  #bufferFunctions({
    options,
  }: UpdateBuffer): Pick<LoopInputs['buffers'] extends ReadonlyMap<string, infer B> ? B : never, 'combine' | 'apply' | 'maxDelay'> {
    const number = { kind: 'scalar', type: { kind: 'f64' }, nullable: false } as const
    const helper = (f: (a: number, b: number) => number, method: string) =>
      this.#engine.lowerRowLambda(f as (...args: never[]) => unknown, { method, inputs: [number, number] })
    const { combine, apply, maxDelay } = options
    return {
      combine: combine === undefined || combine === 'sum' ? 'sum' : helper(combine, 'buffer'),
      ...(apply === undefined ? {} : { apply: helper(apply, 'buffer') }),
      ...(maxDelay === undefined ? {} : { maxDelay }),
    }
  }

  /** Whether to check for races: undefined leaves it to where the program runs. */
  #asksForRaces(): boolean | undefined {
    return this.#request.options.checkRaces ?? this.#runtime.checkRaces
  }

  /**
   * Asked for: before the first pass of a run, and whenever an array that the loop only reads has another version.
   * Unasked: once, under test.
   */
  async #checkRaces(loop: PreparedLoop, signal: AbortSignal | undefined): Promise<void> {
    const asked = this.#asksForRaces()
    if (asked === false || (asked === undefined && (process.env.NODE_ENV !== 'test' || this.#checkedRaces !== undefined))) return
    const { store, events } = this.#runtime
    const written = new Set(this.#analyzed.writtenArrays)
    const read = [...this.#nodes()].filter((node) => !written.has(store.identity(node)))
    const versions = read.map((node) => store.version(node)).join()
    if (this.#checkedRaces === versions) return
    const check = await loop.checkRaces(this.#passes, { automatic: asked === undefined, signal })
    this.#checkedRaces = versions
    if (asked === true && check.kind === 'skipped') {
      events.next({ kind: 'fallback', what: 'checkRaces', because: `Nothing was checked: ${check.because}.` })
    }
  }

  async #runPasses(
    { loop }: Prepared,
    number: number,
    most: number,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly reports: readonly PassReport[]; readonly failed?: { readonly reason: unknown } }> {
    await this.#checkRaces(loop, signal)
    signal?.throwIfAborted() // nothing was written yet
    const atomic = this.#request.options.atomic === true
    const restore = atomic ? loop.snapshot() : undefined
    try {
      const { passes, failed } = await loop.runPasses(this.#passes, atomic ? 1 : most, signal === undefined ? {} : { signal })
      const reports = passes.map((result, i) => this.#finishPass(number + i, result))
      if (failed === undefined) return { reports }
      this.#undo(restore, failed.reason)
      return { reports, failed }
    } catch (error) {
      this.#undo(restore, error)
      throw error
    }
  }

  #finishPass(number: number, result: PassResult): PassReport {
    this.#passes++
    for (const [array, storage] of result.replaced ?? []) this.#replaceStorage(array, storage)
    const accumulators: Record<string, number> = {}
    for (const [name, accumulator] of this.#bindings.accumulators) {
      const value = result.accumulators[name]
      accumulator.finishPass(value)
      accumulators[name] = value as number // custom accumulators may hold something else: the user's own type
    }
    const { milliseconds, predictedMilliseconds, workers, balance, iterations } = result
    this.#measured = { milliseconds, ...defined({ predictedMilliseconds }), workers, balance }
    return { number, milliseconds, ...defined({ predictedMilliseconds }), balance, iterations, accumulators }
  }

  #undo(restore: (() => void) | undefined, error: unknown): void {
    if (restore === undefined) this.#markLost(error)
    else restore()
  }

  /** Storage that a pass made anew, because it got keys: into the arena, where workers see it. */
  #replaceStorage(array: number, storage: Storage): void {
    const { store, arena } = this.#runtime
    for (const node of this.#nodes()) {
      if (store.identity(node) === array) store.replaceStorage(node, copyStorage(storage, arena, store.label(node)))
    }
    this.#prepared?.loop.dispose()
    this.#prepared = undefined
  }

  /** A pass that failed has written a part of what it writes; a buffer's array is as it was when nothing was flushed. */
  #markLost(error: unknown): void {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    const { store } = this.#runtime
    const written = new Set(this.#analyzed.writtenArrays)
    const flushed = [...this.#bindings.buffers.values()]
      .filter(({ options }) => options.maxDelay !== undefined || options.apply !== undefined)
      .map(({ target }) => this.#planOf(target, 'a buffer in env'))
    const direct = [...this.#nodes()].filter((node) => written.has(store.identity(node)))
    for (const node of new Set([...direct, ...flushed])) store.markLost(node, why)
  }

  #nodes(): Set<LogicalPlan> {
    return new Set([...(this.#overPlan === undefined ? [] : [this.#overPlan]), ...this.#bindings.arrays.values()])
  }
}

/** The planned parts with their blocks. */
function partsOf({ parts }: LoopPlan, prepared: PreparedLoop): Pick<LoopPlan, 'parts'> {
  if (parts === undefined || !(prepared instanceof DistributedLoop)) return {}
  return {
    parts: parts.map(({ schedule, statements }, at) => {
      const loop = prepared.parts[at]?.loop
      return {
        schedule: { ...schedule, blocks: loop === undefined || schedule.kind === 'serial' ? [] : blocksAlong(loop.blocks) },
        statements,
      }
    }),
  }
}

function accumulatorInputs(accumulators: Bindings['accumulators']): LoopInputs['accumulators'] {
  return new Map(
    [...accumulators].map(([name, { spec }]) => [
      name,
      typeof spec === 'string' ? spec : { init: spec.init, combine: { original: spec.combine as (...args: never[]) => unknown } },
    ]),
  )
}

function checkRequest({ over, env, body, options }: LoopRequest): void {
  if (typeof over !== 'object' || over === null || !(isIndexSpace(over) || isDistArray(over))) {
    throw new PlanError('loop() iterates over a DistArray or a range, as in session.range(100, 100).')
  }
  if (typeof env !== 'object' || env === null)
    throw new PlanError('The env of loop() is an object of arrays and constants, as { W, H }; {} for none.')
  checkFunction('loop()', body, isIndexSpace(over) ? '(key, env)' : '(value, key, env)')
  if (Object.prototype.toString.call(body) === '[object GeneratorFunction]') {
    throw new LoopError(
      'The body of a loop is a generator, whose calls run nothing. Write an ordinary function, and return the new element instead of yielding it.',
      [],
    )
  }
  if (options.order !== undefined) checkOneOf('The order of loop()', options.order, ['serial', 'any'])
  if (options.precision !== undefined) checkOneOf('The precision of loop()', options.precision, ['exact', 'fast'])
  if (options.balance !== undefined) checkOneOf('The balance of loop()', options.balance, ['histogram', 'equal'])
  if (options.checkRaces !== undefined) checkBoolean('The checkRaces of loop()', options.checkRaces)
  if (options.require !== undefined) checkOneOf('The require of loop()', options.require, ['parallel'])
  const parts = options.partitions === undefined ? [] : [options.partitions].flat()
  for (const part of parts) checkCount('The partitions of loop()', part, 1)
}

/** A promise about a name that is no array of the loop would promise nothing. */
function checkPromises({ assume }: LoopOptions, { arrays }: Bindings): void {
  for (const name of assume?.distinct ?? []) {
    if (arrays.has(name)) continue
    const near = nearestNames(name, [...arrays.keys()])
    const guess = near.length === 0 ? '' : ` Did you mean ${near.map((one) => `"${one}"`).join(' or ')}?`
    const all = arrays.size === 0 ? 'There are none' : `They are ${[...arrays.keys()].join(', ')}`
    throw new PlanError(`assume.distinct of loop() names "${name}", which is no array of this loop.${guess} ${all}.`)
  }
}

function isIndexSpace(value: object): value is IndexSpace {
  return (value as { readonly kind?: unknown }).kind === 'IndexSpace'
}

function isRng(value: unknown): value is Rng {
  return typeof value === 'object' && value !== null && (value as { readonly kind?: unknown }).kind === 'Rng'
}

function overOfSpace({ extents }: IndexSpace): LoopOver {
  return { kind: 'range', rank: extents.length, extents, label: `range(${extents.join(', ')})` }
}

/** What elements the array has, for the kernel. */
function dtypeOf({ element }: LogicalPlan): DType | 'object' | 'row' | 'unknown' {
  switch (element.kind) {
    case 'row':
      return 'row'
    case 'unknown':
      return 'unknown'
    case 'scalar':
      return element.type.kind in ARRAY_OF_DTYPE ? (element.type.kind as DType) : element.type.kind === 'unknown' ? 'unknown' : 'object'
  }
}

/** Dense views of tables, by the table's storage: the same view for the same storage. */
const denseViews = new WeakMap<Storage, DenseStorage>()

/** A table of plain numbers is a dense array of one axis over the same buffer; everything else is what it is. */
function asDense(storage: Storage): Storage {
  const known = denseViews.get(storage)
  if (known !== undefined) return known
  if (storage.kind !== 'table' || storage.element.kind !== 'scalar') return storage
  const [column] = storage.columns
  const { kind } = storage.element.type
  if (column?.values === undefined || column.validity !== undefined || !(kind in ARRAY_OF_DTYPE)) return storage
  const dense: DenseStorage = {
    kind: 'dense',
    shape: [storage.length],
    dtype: kind as DType,
    strides: [1],
    data: column.values as DenseStorage['data'],
  } // a dtype's own array
  denseViews.set(storage, dense)
  return dense
}

function defined<T extends object>(fields: T): { [N in keyof T]?: Exclude<T[N], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [N in keyof T]?: Exclude<T[N], undefined>
  }
}

function sameItems<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i])
}

/** Whether two analyses of one body saw the same captured values. */
function sameInputs({ spec: a }: AnalyzedLoop, { spec: b }: AnalyzedLoop): boolean {
  const [left, right] = [a.body.ir, b.body.ir]
  if (left === undefined || right === undefined) return left === right
  return (
    irText(left) === irText(right) &&
    left.parameters.length === right.parameters.length &&
    left.parameters.every(
      (parameter, i) => parameter.name === right.parameters[i]?.name && Object.is(parameter.value, right.parameters[i]?.value),
    ) &&
    sameItems(
      left.tables.map((table) => table.value),
      right.tables.map((table) => table.value),
    )
  )
}

function sameBindings(a: Bindings, b: Bindings): boolean {
  const same = (left: ReadonlyMap<string, unknown>, right: ReadonlyMap<string, unknown>): boolean =>
    left.size === right.size && [...left].every(([name, value]) => right.get(name) === value)
  return same(a.arrays, b.arrays) && same(a.buffers, b.buffers) && same(a.accumulators, b.accumulators) && same(a.rngs, b.rngs)
}
