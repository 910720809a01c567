/** Describes a loop: its plan as far as it is known, `explain()`, and its printed form. Nothing runs for it. */
import { checkBoolean, checkOneOf } from '../../core/arguments.ts'
import { defined } from '../../core/defined.ts'
import type { Engine } from '../../core/engine.ts'
import type { LoopPlan, MeasuredPass } from '../../core/loop/loopPlan.ts'
import type { AnalyzedLoop } from '../../core/loop/loopSpec.ts'
import { checkOptions } from '../../core/options.ts'
import type { Shown } from '../../core/show/shown.ts'
import { counted, countText } from '../../core/show/width.ts'
import { blocksAlong } from '../../exec/loops/blocks/cutBlocks.ts'
import { kernelCode } from '../../exec/loops/kernelCode.ts'
import { type KernelForecast, kernelForecast } from '../../exec/loops/kernelForecast.ts'
import type { PreparedLoop } from '../../exec/loops/loopRun.ts'
import { codeOfParts } from '../../exec/loops/partKernels.ts'
import { SplitLoop } from '../../exec/loops/splitLoop.ts'
import { type ExplainedKernel, explainLoop } from '../../planner/loop/report/explain.ts'
import type { Runtime } from '../runtime.ts'
import type { LoopAnalysis } from './loopAnalysis.ts'
import { accumulatorInputs, bufferFunctions } from './loopBindings.ts'
import { whyNotRecorded } from './loopLedger.ts'
import type { LoopPreparation } from './loopPreparation.ts'

/** The most variables that are printed. */
const MOST_VARIABLES = 20

/** The state of a handle after its passes so far. */
export interface LoopState {
  /** The number of passes so far, by which its generators are keyed. */
  passes: number
  /** The number of these that a checkpoint knew, and that did not run. */
  skipped: number
  /** The measurements of the last pass. */
  measured: MeasuredPass | undefined
}

export class LoopDescription {
  readonly #runtime: Runtime
  readonly #engine: Engine
  readonly #analysis: LoopAnalysis
  readonly #preparation: LoopPreparation
  readonly #state: Readonly<LoopState>
  #forecasted: { readonly analyzed: AnalyzedLoop; readonly forecast: KernelForecast | undefined } | undefined

  constructor(runtime: Runtime, engine: Engine, analysis: LoopAnalysis, preparation: LoopPreparation, state: Readonly<LoopState>) {
    this.#runtime = runtime
    this.#engine = engine
    this.#analysis = analysis
    this.#preparation = preparation
    this.#state = state
  }

  /** The content that is printed: the plan as analysed, and where the last pass ran; nothing is estimated or compiled for it. */
  shown(): Shown {
    const { plan } = this.#analysis.analyzed
    const prepared = this.#preparation.last?.loop
    const { kind, axes } = plan.schedule
    const order = kind === 'serial' || axes.length === 0 ? kind : `${kind} on ${axes.length === 1 ? 'axis' : 'axes'} ${axes.join(', ')}`
    const forecast = this.#forecasted?.analyzed === this.#analysis.analyzed ? this.#forecasted.forecast : undefined
    const { target } = prepared?.kernel ?? forecast?.kernel ?? plan.kernel
    // before compilation was tried, the target is sure only where there is no kernel
    const isSure = prepared !== undefined || forecast !== undefined || target === 'as-is'
    const { where, because } = prepared?.execution ?? plan.execution
    const place = prepared === undefined ? '' : `, on ${where === 'workers' ? 'the workers' : "the caller's thread"}`
    const variables = plan.variables.map(({ name, class: kind, origin }) => [name, kind, origin])
    return {
      what: 'Loop',
      title: `${this.#analysis.name}: ${order}${isSure ? `, kernel ${target}` : ''}${place}`,
      grid: {
        columns: ['variable', 'is', 'from'].map((name) => ({ name, type: '', side: 'left' })),
        rows: variables.slice(0, MOST_VARIABLES),
      },
      notes: [
        ...(variables.length > MOST_VARIABLES ? [`and ${counted(variables.length - MOST_VARIABLES, 'more variable')}`] : []),
        `schedule: ${plan.schedule.reason}`,
        `execution: ${because}`,
        this.#state.passes === 0
          ? 'It has not run; explain() says more.'
          : `${countText(this.#state.passes)} ${this.#state.passes === 1 ? 'pass' : 'passes'} ran; explain() says more.`,
      ],
    }
  }

  get plan(): LoopPlan {
    const { plan } = this.#analysis.analyzed
    const prepared = this.#preparation.last?.loop
    const checkpoint = defined({ checkpoint: this.#kept() })
    if (prepared === undefined) {
      const { kernel = undecided(plan.kernel), predictedMilliseconds, blocks = plan.schedule.blocks } = this.#forecast() ?? {}
      const cost = predictedMilliseconds === undefined ? {} : { cost: { predictedMilliseconds } }
      return { ...plan, ...checkpoint, schedule: { ...plan.schedule, blocks }, kernel, ...cost }
    }
    const finding = this.#preparation.last?.finding
    const blocks = blocksOf(plan.schedule, prepared)
    const reason = `${plan.schedule.reason}${finding === undefined ? '' : `${finding.kind === 'nothing' ? '. ' : ': '}${finding.text}`}`
    const { kernel = plan.kernel, processes, predictedMilliseconds } = prepared
    const execution = { ...prepared.execution, ...defined({ processes }) }
    const cost = defined({ predictedMilliseconds, measured: this.#state.measured })
    return { ...plan, ...checkpoint, ...partsOf(plan, prepared), schedule: { ...plan.schedule, blocks, reason }, kernel, execution, cost }
  }

  explain(options: { readonly format?: 'text' | 'json'; readonly kernel?: boolean } = {}): string {
    checkOptions('explain()', options, ['format', 'kernel'])
    if (options.format !== undefined) checkOneOf('The format of explain()', options.format, ['text', 'json'])
    if (options.kernel !== undefined) checkBoolean('The kernel of explain()', options.kernel)
    const analyzed = { ...this.#analysis.analyzed, plan: this.plan }
    const format = options.format === undefined ? {} : { format: options.format }
    return explainLoop(analyzed, { ...format, ...(options.kernel === true ? { kernel: this.#explainedKernel() } : {}) })
  }

  #explainedKernel(): ExplainedKernel {
    const prepared = this.#preparation.last?.loop
    if (prepared !== undefined) return { loops: prepared.innerLoops ?? [], ...defined({ code: prepared.kernelCode?.() }) }
    const forecast = this.#forecast()
    if (forecast === undefined) return { loops: [] }
    const codes = forecast.plans.map((plan) => kernelCode(plan))
    const [code] = codes.length > 1 ? [codeOfParts(codes)] : codes
    return { loops: forecast.innerLoops, ...defined({ code }) }
  }

  /** The kernel as far as it is known before a run. */
  #forecast(): KernelForecast | undefined {
    const analyzed = this.#analysis.analyzed
    if (this.#forecasted?.analyzed !== analyzed) {
      const { accumulators, rngs, buffers } = this.#analysis.bindings
      const forecast = kernelForecast({
        analyzed,
        accumulators: accumulatorInputs(accumulators),
        rngs,
        buffers: new Map([...buffers].map(([name, buffer]) => [name, bufferFunctions(buffer, this.#engine)])),
        addresses: this.#runtime.arena.addresses,
      })
      this.#forecasted = { analyzed, forecast }
    }
    return this.#forecasted.forecast
  }

  /** Whether a checkpoint keeps the loop's passes, and why; undefined where there is no checkpoint. */
  #kept(): LoopPlan['checkpoint'] {
    const { ledger } = this.#runtime
    if (ledger === undefined) return undefined
    const analysis = this.#analysis.now
    const why = whyNotRecorded(analysis, this.#preparation.accesses(analysis))
    const isAsItStands = this.#preparation.last?.loop.kernel?.target === 'as-is'
    const passesSkipped = this.#state.skipped
    if (why !== undefined || isAsItStands)
      return { kept: false, because: `Its passes run again on each start: ${why ?? 'its body runs as it stands'}.`, passesSkipped }
    const { folder, closedBecause } = ledger
    if (closedBecause !== undefined) return { kept: false, because: closedBecause, passesSkipped }
    return { kept: true, because: `Its passes are kept in ${folder}.`, passesSkipped }
  }
}

/** The kernel with a note where the first run still decides whether the body is compiled, since the arrays are not known yet. */
function undecided(kernel: LoopPlan['kernel']): LoopPlan['kernel'] {
  return kernel.target === 'js'
    ? { ...kernel, note: 'or as it stands: the first run decides, once it is known what the arrays hold' }
    : kernel
}

/** The number of blocks along each cut axis, as a run cut them; chunks of a scan are known before. */
function blocksOf({ kind, blocks }: LoopPlan['schedule'], prepared: PreparedLoop): readonly number[] {
  if (kind === 'serial') return []
  return kind === 'scan' ? blocks : blocksAlong(prepared.blocks)
}

/** The planned parts with their blocks. */
function partsOf({ parts }: LoopPlan, prepared: PreparedLoop): Pick<LoopPlan, 'parts'> {
  if (parts === undefined || !(prepared instanceof SplitLoop)) return {}
  return {
    parts: parts.map(({ schedule, statements }, at) => {
      const loop = prepared.parts[at]?.loop
      return {
        schedule: { ...schedule, blocks: loop === undefined ? [] : blocksOf(schedule, loop) },
        statements,
      }
    }),
  }
}
