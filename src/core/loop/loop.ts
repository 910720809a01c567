/** The public interface of the handle that `session.loop` gives; `src/session/loops/loopHandle.ts` implements it. */
import type { LoopPlan } from './loopPlan.ts'
import type { LoopReport, PassReport, VerifyReport } from './loopReport.ts'
import type { SimulateOptions, Simulation } from './simulation.ts'

/** Options of `run()` and `parallelFor()`. */
export interface RunOptions {
  /** The number of passes. Default: 1. */
  readonly passes?: number
  /** The signal that ends the run, between slices of blocks; the promise rejects with its reason. */
  readonly signal?: AbortSignal
}

export const RUN_OPTIONS: readonly (keyof RunOptions)[] = ['passes', 'signal']

/** A loop that was analysed and can be run, any number of times. */
export interface Loop {
  /** Plain data: `JSON.stringify(plan)` is the machine form of `explain()`. Runs fill in block counts, where it runs, and the choice that the data makes among legal schedules. */
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
   * Predicts the time and traffic of a pass on so many machines, by the plan that it would have there; nothing runs, except to
   * compute the loop's arrays. Throws PlanError for options that make no sense.
   */
  simulate(options: SimulateOptions): Promise<Simulation>
}
