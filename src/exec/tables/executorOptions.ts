/** The options of the executor, and of one run. */
import type { LogicalPlan } from '../../core/plan/logicalPlan.ts'
import type { FileFilters, ReadSplit } from '../../core/ports.ts'
import type { SessionEvent } from '../../core/sessionEvent.ts'
import type { PhysicalPlan } from '../../planner/physical/physicalPlan.ts'
import type { Arena } from '../memory/arena.ts'
import type { WorkerPool } from '../workers/worker.ts'
import type { PassSizes } from './columns/groups/groupRecords.ts'
import type { PlanRecord } from './planRecord.ts'

/** The events that the executor emits. */
export type ExecutorEvent = Extract<SessionEvent, { readonly kind: 'stage' | 'progress' | 'fallback' | 'spill' }>

export interface ExecutorOptions {
  /** The worker pool, whose handlers must include 'stage': see `stageHandler`. */
  readonly pool: WorkerPool
  readonly arena: Arena
  readonly readSplit: ReadSplit
  /** Asks filters of files before a plan runs; without them, statistics alone rule out splits. */
  readonly filters?: FileFilters
  /** The physical planner, `planner/physical/lower.ts`. */
  readonly lower: (plan: LogicalPlan, options?: { readonly first?: boolean; readonly all?: boolean }) => PhysicalPlan
  readonly onEvent?: (event: ExecutorEvent) => void
  /** Aborted when the session stops: ends reads on the caller's thread. */
  readonly stopped?: AbortSignal
  /** Inputs in memory with fewer elements run on the caller's thread. */
  readonly smallRows?: number
  /** Bytes of a file's columns that are read at once; without it, as many as the free memory has room for. */
  readonly rangeBytes?: number
  /** Elements per partition of data in memory. */
  readonly partitionRows?: number
  /** The sizes by which group-bys in one pass over columns are cut. */
  readonly groupPass?: PassSizes
  /** The place for spilled rows; without it, short memory is a MemoryError. */
  readonly spill?: SpillOptions
}

export interface SpillOptions {
  /** Returns a path for a new file, which is removed with the run; SpillError where there can be none. */
  readonly file: () => string
  /** Makes every operator that can spill do so, in parts of so many bytes; `ranges`: joins after so many ranges that are joined in memory. */
  readonly always?: { readonly partBytes: number; readonly parts: number; readonly ranges?: number }
}

export interface RunOptions {
  readonly signal?: AbortSignal
  /** For `stream`: see `ExecuteOptions`. */
  readonly isUntyped?: boolean
  /** The record for what the run measures. */
  readonly record?: PlanRecord
}
