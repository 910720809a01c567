/**
 * The loop handle: joins the front end, the analysis and the runtime behind `session.loop`.
 *
 *     loop()   body -> IR -> plan                         nothing runs
 *     run()    lock the arrays -> cut blocks -> passes
 */

import { checkCount, checkSignal } from '../../core/arguments.ts'
import { callSite } from '../../core/callSite.ts'
import { defined } from '../../core/defined.ts'
import type { Engine } from '../../core/engine.ts'
import { joinedSignal } from '../../core/joinedSignal.ts'
import type { KeptInput } from '../../core/loop/checkpoint.ts'
import { type Loop, RUN_OPTIONS, type RunOptions } from '../../core/loop/loop.ts'
import type { LoopPlan } from '../../core/loop/loopPlan.ts'
import type { LoopReport, PassReport, VerifyReport } from '../../core/loop/loopReport.ts'
import { machinesOf, type SimulateOptions, type Simulation } from '../../core/loop/simulation.ts'
import { checkOptions } from '../../core/options.ts'
import { showAs } from '../../core/show/shown.ts'
import type { Refusal } from '../../core/span.ts'
import type { LedgerCall } from '../../exec/ledger/ledger.ts'
import type { PassResult, PreparedLoop } from '../../exec/loops/loopRun.ts'
import { notCompiledError } from '../../planner/loop/report/requireCompiled.ts'
import type { Runtime } from '../runtime.ts'
import { limitMet, limitsOf, MOST_KEPT, NO_LIMITS } from './limits.ts'
import { type Analysis, LoopAnalysis } from './loopAnalysis.ts'
import { LoopDescription, type LoopState } from './loopDescription.ts'
import { arrayText, callText, capturedDigest, keptPass, whyNotRecorded } from './loopLedger.ts'
import { LoopPreparation, type Prepared } from './loopPreparation.ts'
import { checkRequest, type LoopRequest } from './loopRequest.ts'

interface RunHow {
  readonly signal: AbortSignal | undefined
  readonly analysis: Analysis
  readonly call: LedgerCall | undefined
}

/** What became of passes; with `limit`, nothing: they have to run as the body stands. */
interface RunPasses {
  readonly reports: readonly PassReport[]
  readonly failed?: { readonly reason: unknown }
  readonly limit?: Refusal
}

export class LoopHandle implements Loop {
  readonly #runtime: Runtime
  readonly #request: LoopRequest
  readonly #analysis: LoopAnalysis
  readonly #preparation: LoopPreparation
  #toldNotRecorded = false
  readonly #description: LoopDescription
  readonly #state: LoopState = { passes: 0, skipped: 0, measured: undefined }
  /** The versions of the arrays that the loop only reads, when it was last checked for races; undefined before. */
  #checkedRaces: string | undefined

  /** `entry` is the function that the program called. */
  constructor(runtime: Runtime, engine: Engine, request: LoopRequest, entry: (...args: never[]) => unknown) {
    this.#runtime = runtime
    this.#request = request
    checkRequest(request)
    this.#analysis = new LoopAnalysis(request, { engine, store: runtime.store }, callSite(entry))
    this.#preparation = new LoopPreparation(runtime, engine, request, this.#analysis)
    this.#description = new LoopDescription(runtime, engine, this.#analysis, this.#preparation, this.#state)
    if (this.#mustBeCompiled) this.#checkCompiled(this.plan.kernel)
  }

  static {
    showAs<LoopHandle>(LoopHandle.prototype, (loop) => loop.#description.shown())
  }

  get plan(): LoopPlan {
    return this.#description.plan
  }

  explain(options: { readonly format?: 'text' | 'json'; readonly kernel?: boolean } = {}): string {
    return this.#description.explain(options)
  }

  async run(options: RunOptions = {}): Promise<LoopReport> {
    checkOptions('run()', options, RUN_OPTIONS)
    const started = performance.now()
    const passes: PassReport[] = []
    const analysis = this.#analysis.read()
    const asked = options.passes ?? 1
    const signal = this.#startRun(asked, options.signal)
    const call = this.#recorded(analysis)
    const skipped = this.#skipKnown(analysis, call, asked)
    // all passes run under one lock: a later request for the arrays is served after the last pass
    if (asked > skipped.count) {
      this.#passEvent(1)
      await this.#preparation.use(
        analysis,
        async (prepared, again) => {
          for (const pass of this.#reported(await skipped.reports, asked)) passes.push(pass)
          for (let next = prepared; ; next = await again()) {
            if (passes.length > 0) {
              this.#runtime.checkOpen()
              this.#passEvent(passes.length + 1)
            }
            const how = { signal, analysis, call }
            const { reports, failed } = await this.#completed(next, again, passes.length + 1, asked - passes.length, how)
            for (const pass of this.#reported(reports, asked)) passes.push(pass)
            if (failed !== undefined) throw failed.reason
            if (passes.length >= asked) return
          }
        },
        signal,
        { by: call === undefined ? undefined : 'pass', stays: true },
      )
    } else if (asked > 0) {
      this.#passEvent(1)
      for (const pass of this.#reported(await skipped.reports, asked)) passes.push(pass)
    }
    const predictions = passes.flatMap(({ predictedMilliseconds }) => predictedMilliseconds ?? [])
    return {
      passes,
      milliseconds: performance.now() - started,
      ...(predictions.length < passes.length || asked === 0 ? {} : { predictedMilliseconds: predictions.reduce((sum, ms) => sum + ms, 0) }),
      schedule: this.#analysis.analyzed.plan.schedule.kind,
      workers: asked === 0 ? 1 : (this.#state.measured?.workers ?? 1),
    }
  }

  async *passes(count: number, options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<PassReport, void, undefined> {
    checkOptions('passes()', options, ['signal'])
    let analysis = this.#analysis.read()
    const captures = analysis.analyzed.plan.variables.some(({ origin }) => origin === 'capture')
    const signal = this.#startRun(count, options.signal)
    const call = this.#recorded(analysis)
    for (let number = 1; number <= count; number++) {
      this.#runtime.checkOpen()
      // between two passes the program may change captured values
      if (number > 1 && captures) analysis = this.#analysis.read()
      this.#passEvent(number)
      if (call?.isKnown === true) {
        yield* this.#reported(await this.#skipKnown(analysis, call, 1).reports, count)
        continue
      }
      const how = { signal, analysis, call }
      const run = (prepared: Prepared, again: () => Promise<Prepared>) => this.#completed(prepared, again, number, 1, how)
      const { reports, failed } = await this.#preparation.use(analysis, run, signal, {
        by: call === undefined ? undefined : 'pass',
        stays: true,
      })
      yield* this.#reported(reports, count)
      if (failed !== undefined) throw failed.reason
    }
  }

  /** Checks the arguments of a run, and returns the signal that ends it: its own joined with the session's. */
  #startRun(count: number, given: AbortSignal | undefined): AbortSignal {
    checkCount('The number of passes', count, 0)
    if (given !== undefined) checkSignal('The signal of a run', given)
    this.#runtime.checkOpen()
    if (this.#asksForRaces() === true) this.#checkedRaces = undefined
    return given === undefined ? this.#runtime.stopped : joinedSignal([given, this.#runtime.stopped])
  }

  get #mustBeCompiled(): boolean {
    return this.#runtime.require === 'compiled' || this.#request.options.require === 'compiled'
  }

  #checkCompiled(kernel: LoopPlan['kernel']): void {
    const error = notCompiledError(this.#analysis.analyzed, kernel)
    if (error !== undefined) throw error
  }

  /** Sends the fallback event of a run's first pass where the body is not compiled; throws where it must be. */
  #tellFallback({ kernel }: PreparedLoop, pass: number): void {
    if (kernel?.target !== 'as-is') return
    if (this.#mustBeCompiled) this.#checkCompiled(kernel)
    if (pass > 1) return
    this.#sendFallback(kernel.because?.[0])
  }

  #sendFallback(reason: Refusal | undefined): void {
    const { span: place } = this.#analysis.analyzed.spec.body
    const { message = 'The body runs as it stands.', cure = '', span = place } = reason ?? {}
    this.#runtime.events.next({ kind: 'fallback', what: this.#analysis.name, because: message, span, cure, runs: 'caller' })
  }

  #passEvent(number: number): void {
    this.#runtime.events.next({ kind: 'pass', phase: 'started', loop: this.#analysis.name, pass: { number } })
  }

  /** Yields the passes of a batch, each after its events were sent; the first one's start was sent before. */
  *#reported(reports: readonly PassReport[], total: number): Generator<PassReport, void, undefined> {
    const { events } = this.#runtime
    for (const [at, pass] of reports.entries()) {
      if (at > 0) this.#passEvent(pass.number)
      events.next({ kind: 'pass', phase: 'finished', loop: this.#analysis.name, pass })
      events.next({ kind: 'progress', job: this.#analysis.name, done: pass.number, total })
      yield pass
    }
  }

  async serialOrder(): Promise<Int32Array> {
    this.#runtime.checkOpen()
    return await this.#preparation.use(this.#analysis.read(), async ({ loop }) => loop.serialOrder(), undefined, { looks: true })
  }

  async verify(): Promise<VerifyReport> {
    this.#runtime.checkOpen()
    return await this.#preparation.use(
      this.#analysis.read(),
      async ({ loop }) => await loop.verify(this.#state.passes, { signal: this.#runtime.stopped }),
    )
  }

  async simulate(options: SimulateOptions): Promise<Simulation> {
    const machines = machinesOf(options, this.#runtime.pool.size)
    this.#runtime.checkOpen()
    const { simulatedLoop } = await import('./simulatedLoop.ts')
    const stays = this.#mayStay
    return await this.#preparation.use(this.#analysis.read(), async ({ loop }) => simulatedLoop(loop, machines, { stays }), undefined, {
      looks: true,
    })
  }

  /** Whether to check for races; undefined means that NODE_ENV decides. */
  #asksForRaces(): boolean | undefined {
    return this.#request.options.checkRaces ?? this.#runtime.checkRaces
  }

  /**
   * Checks for races: if asked for, before the first pass of a run and whenever an array that the loop only reads has another
   * version; by default once, under test.
   */
  async #checkRaces(prepared: Prepared, analysis: Analysis, signal: AbortSignal | undefined): Promise<void> {
    const asked = this.#asksForRaces()
    if (asked === false || (asked === undefined && (process.env.NODE_ENV !== 'test' || this.#checkedRaces !== undefined))) return
    const { store, events } = this.#runtime
    const written = new Set(this.#analysis.analyzed.writtenArrays)
    const read = [...this.#analysis.nodes].filter((node) => !written.has(store.plans.identity(node)))
    const versions = read.map((node) => store.plans.version(node)).join()
    if (this.#checkedRaces === versions) return
    await this.#bringHome(prepared, analysis)
    const check = await prepared.loop.checkRaces(this.#state.passes, { automatic: asked === undefined, signal })
    this.#checkedRaces = versions
    if (asked === true && check.kind === 'skipped') {
      events.next({ kind: 'fallback', what: 'checkRaces', because: `Nothing was checked: ${check.because}.` })
    }
  }

  // ------------------------------------------------------------------ checkpoints

  /** The call's record in the checkpoint's ledger; undefined where there is no checkpoint, or it does not record such passes. */
  #recorded(analysis: Analysis): LedgerCall | undefined {
    const { ledger, store } = this.#runtime
    const accesses = ledger === undefined ? [] : this.#preparation.accesses(analysis)
    if (ledger === undefined) return undefined
    const because = whyNotRecorded(analysis, accesses)
    if (because !== undefined) {
      this.#tellNotRecorded(because)
      return undefined
    }
    const { overPlan, over } = this.#analysis
    const { name: _, ...options } = this.#request.options
    const place = overPlan === undefined ? over.label : arrayText(overPlan)
    const text = callText(analysis, { name: this.#analysis.name, over: place, options })
    return ledger.begin(text, store.holdings.keptBy(ledger, accesses))
  }

  #tellNotRecorded(why: string): void {
    if (this.#toldNotRecorded) return
    this.#toldNotRecorded = true
    const because = `Its passes are not kept in the checkpoint and run again on each start: ${why}.`
    this.#runtime.events.next({ kind: 'fallback', what: this.#analysis.name, because })
  }

  /** Skips at most `most` passes that the checkpoint knows; their arrays are asked for now, as those of passes that run. */
  #skipKnown(
    analysis: Analysis,
    call: LedgerCall | undefined,
    most: number,
  ): { readonly count: number; readonly reports: Promise<readonly PassReport[]> } {
    const { ledger, store } = this.#runtime
    const count = call === undefined ? 0 : Math.min(most, call.passes.length - call.had)
    if (ledger === undefined || call === undefined || count === 0) return { count: 0, reports: Promise.resolve([]) }
    const captured = capturedDigest(analysis)
    const skip = (inputs: readonly KeptInput[]): readonly PassReport[] => {
      const first = call.had + 1
      this.#state.skipped += count
      return ledger.skip(call, count, { before: this.#state.passes, captured, inputs }).map((pass, i) => this.#finishPass(first + i, pass))
    }
    const reports = store.skipPasses(this.#preparation.accesses(analysis), skip, count)
    reports.catch(() => undefined) // its awaiter handles the rejection
    return { count, reports }
  }

  /** Runs passes; as the body stands, from the first of them on, where the compiled body has met a limit. */
  async #completed(prepared: Prepared, again: () => Promise<Prepared>, number: number, most: number, how: RunHow): Promise<RunPasses> {
    const { limit, ...outcome } = await this.#runPasses(prepared, number, most, how)
    if (limit === undefined) return outcome
    this.#preparation.runAsIs(limit)
    if (number > 1) this.#sendFallback(limit)
    return await this.#runPasses(await again(), number, most, how)
  }

  /** Runs passes, and records them where a checkpoint keeps them. */
  async #runPasses(prepared: Prepared, number: number, most: number, { signal, analysis, call }: RunHow): Promise<RunPasses> {
    const { loop } = prepared
    const { ledger, store } = this.#runtime
    const stays = this.#mayStay && loop.canStay === true
    if (!stays) await this.#bringHome(prepared, analysis)
    if (ledger === undefined || call === undefined) return await this.#passesOf(prepared, number, most, { signal, analysis, stays })
    if (loop.kernel?.target === 'as-is')
      ledger.close(`The body of ${this.#analysis.name} runs as it stands: ${loop.kernel.because?.[0]?.message}`)
    const inputs = store.holdings.of(this.#preparation.accesses(analysis))
    const before = this.#state.passes
    ledger.start()
    let isOver = false
    try {
      const outcome = await this.#passesOf(prepared, number, most, { signal, analysis, stays })
      const captured = capturedDigest(analysis)
      for (const [i, report] of outcome.reports.entries()) {
        const { workers } = this.#state.measured ?? { workers: 1 }
        ledger.record(call, keptPass(report, { workers, before: before + i, captured, inputs: i === 0 ? inputs : [] }))
      }
      isOver = outcome.failed === undefined
      return outcome
    } finally {
      if (isOver) ledger.end()
      else ledger.failed()
    }
  }

  /** Whether arrays that passes write may stay in other processes: checkpoints and snapshots read them in this one. */
  get #mayStay(): boolean {
    return this.#runtime.ledger === undefined && this.#request.options.atomic !== true && this.#limits.size === 0
  }

  /** The limits of the compiled body that a pass may meet, and then begins again; none where it has to be compiled. */
  get #limits(): ReadonlySet<string> {
    return this.#mustBeCompiled ? NO_LIMITS : limitsOf(this.#analysis.analyzed.spec.body.ir)
  }

  async #bringHome({ storages }: Prepared, analysis: Analysis): Promise<void> {
    await this.#preparation.bringHome(this.#preparation.accesses(analysis), storages)
  }

  async #passesOf(
    prepared: Prepared,
    number: number,
    most: number,
    { signal, analysis, stays }: { readonly signal: AbortSignal | undefined; readonly analysis: Analysis; readonly stays: boolean },
  ): Promise<RunPasses> {
    const { loop } = prepared
    this.#tellFallback(loop, number)
    await this.#checkRaces(prepared, analysis, signal)
    signal?.throwIfAborted() // no array was written yet
    const atomic = this.#request.options.atomic === true
    const limits = loop.kernel?.target === 'as-is' ? NO_LIMITS : this.#limits
    const kept = limits.size > 0 ? loop.snapshot(MOST_KEPT) : undefined
    const restore = atomic ? (kept ?? loop.snapshot()) : undefined
    const limitOf = (error: unknown): Refusal | undefined => {
      const limit = kept === undefined ? undefined : limitMet(error, limits)
      if (limit !== undefined) kept?.()
      return limit
    }
    try {
      const { passes, failed } = await loop.runPasses(this.#state.passes, atomic ? 1 : most, { stays, ...defined({ signal }) })
      const limit = limitOf(failed?.reason)
      if (limit !== undefined) return { reports: [], limit }
      const reports = passes.map((result, i) => this.#finishPass(number + i, result))
      if (failed === undefined) return { reports }
      this.#undo(restore, failed.reason)
      return { reports, failed }
    } catch (error) {
      const limit = limitOf(error)
      if (limit !== undefined) return { reports: [], limit }
      this.#undo(restore, error)
      throw error
    }
  }

  #finishPass(number: number, result: PassResult): PassReport {
    this.#state.passes++
    for (const [array, storage] of result.replaced ?? []) this.#preparation.replaceStorage(array, storage)
    const accumulators: Record<string, number> = {}
    for (const [name, accumulator] of this.#analysis.bindings.accumulators) {
      const value = result.accumulators[name]
      accumulator.finishPass(value)
      accumulators[name] = value as number // custom accumulators may hold something else: the user's own type
    }
    const { milliseconds, predictedMilliseconds, workers, balance, waitingMilliseconds, iterations, delayed } = result
    const times = { milliseconds, ...defined({ predictedMilliseconds }), balance }
    this.#state.measured = { ...times, workers }
    return { number, ...times, ...defined({ waitingMilliseconds }), iterations, accumulators, ...defined({ delayed }) }
  }

  #undo(restore: (() => void) | undefined, error: unknown): void {
    if (restore === undefined) this.#preparation.markLost(error)
    else restore()
  }
}
