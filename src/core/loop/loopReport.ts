/** What the runs of a loop report. */
import type { Key } from '../arrays/keys.ts'
import type { ScheduleKind } from './loopPlan.ts'

/** One pass over the iteration space. */
export interface PassReport {
  /** From 1 within a run. */
  readonly number: number
  /** Wall time, overheads included. */
  readonly milliseconds: number
  /** What the pass was expected to take, from the one before it or from the body; absent where the body runs as it stands. */
  readonly predictedMilliseconds?: number
  /** How much longer the busiest worker was on its blocks than the mean of all: 1 is perfect, 2 of two workers means that one did everything. */
  readonly balance: number
  /** Iterations that ran. */
  readonly iterations: number
  /** Results by the name in `env`. */
  readonly accumulators: Readonly<Record<string, number>>
  /** Updates that flushes left for later ones, where a buffer has a `budget`; one that waits for three flushes counts three times. */
  readonly delayed?: number
}

/** One call of `run()`. */
export interface LoopReport {
  /** In order. */
  readonly passes: readonly PassReport[]
  readonly milliseconds: number
  /** What all passes were expected to take; see `PassReport`. */
  readonly predictedMilliseconds?: number
  /** As `plan.schedule.kind`. */
  readonly schedule: ScheduleKind
  /** Worker threads that took part; 1 when the loop ran on the caller's thread. */
  readonly workers: number
}

/** The verdict of `verify()`. */
export interface VerifyReport {
  /** Whether every element of every array has the bits of the serial run. */
  readonly identical: boolean
  readonly iterations: number
  /** The first element, in key order, that differs. */
  readonly firstDifference?: { readonly array: string; readonly key: Key; readonly serial: unknown; readonly parallel: unknown }
}
