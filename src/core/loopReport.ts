/** What the runs of a loop report. */
import type { Key } from './indexSpace.ts'
import type { ScheduleKind } from './loopPlan.ts'

export interface PassReport {
  /** From 1 within a run. */
  readonly number: number
  readonly milliseconds: number
  readonly iterations: number
  /** Results by the name in `env`. */
  readonly accumulators: Readonly<Record<string, number>>
}

export interface LoopReport {
  readonly passes: readonly PassReport[]
  readonly milliseconds: number
  readonly schedule: ScheduleKind
  /** Worker threads that took part; 1 when the loop ran on the caller's thread. */
  readonly workers: number
}

export interface VerifyReport {
  readonly identical: boolean
  readonly iterations: number
  readonly firstDifference?: { readonly array: string; readonly key: Key; readonly serial: unknown; readonly parallel: unknown }
}
