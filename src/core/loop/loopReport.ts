/** The reports of a loop's runs. */
import type { Key } from '../arrays/keys.ts'
import type { ScheduleKind } from './loopPlan.ts'

/** One pass over the iteration space. */
export interface PassReport {
  /** The pass's number within the run, from 1 on. */
  readonly number: number
  /** Wall time, overheads included. */
  readonly milliseconds: number
  /** The time that was predicted, from the pass before or from the body; absent where the body runs as it stands. */
  readonly predictedMilliseconds?: number
  /** The busiest worker's time on its blocks, as a multiple of the mean of all workers: 1 is perfect, 2 of two workers means that one did everything. */
  readonly balance: number
  /** The mean time that threads, those of other processes included, waited for blocks or for elements of others; absent where the body runs as it stands. */
  readonly waitingMilliseconds?: number
  /** The number of iterations that ran. */
  readonly iterations: number
  /** The results of accumulators, by their names in `env`. */
  readonly accumulators: Readonly<Record<string, number>>
  /** The number of updates that flushes left for later ones, where a buffer has a `budget`; an update that waits for three flushes counts three times. */
  readonly delayed?: number
}

/** One call of `run()`. */
export interface LoopReport {
  /** The passes in the order in which they ran. */
  readonly passes: readonly PassReport[]
  readonly milliseconds: number
  /** The sum of the passes' predicted times; see `PassReport`. */
  readonly predictedMilliseconds?: number
  /** The schedule's kind, as in `plan.schedule.kind`. */
  readonly schedule: ScheduleKind
  /** The number of worker threads that took part; 1 when the loop ran on the caller's thread. */
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
