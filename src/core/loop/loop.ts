/** The handle that `session.loop` gives, as programs see it; `src/session/loops/loopHandle.ts` has what is behind it. */
import type { LoopPlan } from './loopPlan.ts'
import type { LoopReport, PassReport, VerifyReport } from './loopReport.ts'
import type { SimulateOptions, Simulation } from './simulation.ts'

/** Options of `run()` and `parallelFor()`. */
export interface RunOptions {
  /** Default: 1. */
  readonly passes?: number
  /** Ends the run between slices of blocks; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

export const RUN_OPTIONS: readonly (keyof RunOptions)[] = ['passes', 'signal']

/** A loop that was analysed and can be run, any number of times. */
export interface Loop {
  /** Plain data: `JSON.stringify(plan)` is the machine form of `explain()`. Block counts and where it runs are filled in by runs, and what the data decides between legal schedules. */
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
  /**
   * What a pass would take on so many machines, by the plan that it would have there; nothing runs but what the loop's arrays are
   * computed by. PlanError for options that make no sense.
   */
  simulate(options: SimulateOptions): Promise<Simulation>
}
