/** What plans are run with. */
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import type { ReadSplit } from '../../core/ports.ts'
import type { SessionEvent } from '../../core/sessionEvent.ts'
import type { PhysicalPlan } from '../../planner/physical/physicalPlan.ts'
import type { Arena } from '../memory/arena.ts'
import type { WorkerPool } from '../workers/worker.ts'
import type { PassSizes } from './columns/groups/groupRecords.ts'
import type { PlanRecord } from './planRecord.ts'

/** What it has to tell of its work. */
export type ExecutorEvent = Extract<SessionEvent, { readonly kind: 'stage' | 'progress' | 'fallback' | 'spill' }>

export interface ExecutorOptions {
  /** Its handlers must include 'stage': see `stageHandler`. */
  readonly pool: WorkerPool
  readonly arena: Arena
  readonly readSplit: ReadSplit
  /** `planner/physical/lower.ts`. */
  readonly lower: (plan: LogicalPlan, options?: { readonly first?: boolean }) => PhysicalPlan
  readonly onEvent?: (event: ExecutorEvent) => void
  /** Aborted when the session stops: ends what is read on the caller's thread. */
  readonly stopped?: AbortSignal
  /** Inputs in memory with fewer elements run on the caller's thread. */
  readonly smallRows?: number
  /** Elements per partition of data in memory. */
  readonly partitionRows?: number
  /** How groups are found in one pass over columns. */
  readonly groupPass?: PassSizes
  /** Where what memory does not hold is spilled; without it, that is a MemoryError. */
  readonly spill?: SpillOptions
}

export interface SpillOptions {
  /** A path for a file that is to be written, and removed with the run; SpillError where there can be none. */
  readonly file: () => string
  /** Spills whatever can be spilled, in parts of so many bytes. */
  readonly always?: { readonly partBytes: number; readonly parts: number }
}

export interface RunOptions {
  readonly signal?: AbortSignal
  /** Of `stream`: see `ExecuteOptions`. */
  readonly isUntyped?: boolean
  /** Where what runs is measured. */
  readonly record?: PlanRecord
}
