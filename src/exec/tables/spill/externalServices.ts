/** What operators that go by way of disk (`externalRun.ts`) ask of the run: rows exchanged, read back, and worked on. */
import type { Column } from '../../../core/data/column.ts'
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { Block } from '../block.ts'
import type { How, Result, Results } from '../dataset.ts'
import type { ExecBatch } from '../operators/batches.ts'
import type { Exchange, Part, Segments, SpilledPart } from './parts.ts'
import type { PartResult } from './repeatedKeys.ts'
import type { SpillKey } from './spillTask.ts'

/** Rows that are to be exchanged. */
export type Source =
  | { readonly kind: 'plan'; readonly plan: PhysicalPlan }
  | { readonly kind: 'spilled'; readonly rows: SpilledPart }
  | { readonly kind: 'parts'; readonly parts: readonly Part[] }
  | { readonly kind: 'results'; readonly results: Results }

/** Parts on disk. */
export interface Exchanged {
  /** The segments of each part, in the order of the rows. */
  readonly parts: readonly Segments[]
  readonly shape: ExecBatch
  /** Rows that came before those of each partition. */
  readonly rowsBefore: readonly number[]
}

export interface ExternalServices {
  readonly exchanged: (source: Source, exchange: Exchange) => Promise<Exchanged>
  /** The rows in the arena. */
  readonly read: (rows: SpilledPart) => Promise<Result>
  /** What one part after another gives, several computed at a time. */
  readonly streamed: (parts: readonly Part[], how?: Pick<How, 'limited' | 'rowsBefore'>) => AsyncGenerator<PartResult, void, undefined>
  /** What a plan gives, part after part. */
  readonly results: (plan: PhysicalPlan) => Results
  readonly work: (operator: WideOperator, inputs: readonly (readonly ExecBatch[])[]) => Promise<Result>
  /** Keys from here and there of what a plan gives. */
  readonly sampled: (source: Source, key: SpillKey) => Promise<readonly Column[]>
  readonly free: (blocks: readonly Block[]) => void
  /** Frees these blocks but for those that a batch lies in, which it gives. */
  readonly kept: (blocks: readonly Block[], batches: readonly ExecBatch[]) => readonly Block[]
  /** A part of no more bytes can be worked on in memory. */
  readonly partBytes: number
  /** What memory holds beside what is computed with it. */
  readonly heldBytes: number
  /** The rows of a window's partition that a piece of it is computed with take no more bytes. */
  readonly mostBytes: number
  /** Parts that are expected to be so large. */
  readonly parts: number
  /** Parts that come out in order: of a sort, and of results. */
  readonly partsInOrder: number
}

/** Exchanges of one row after the first: what then is too large has one key too often. */
export const MOST_LEVELS: number = 3
/** Times of what a part should have, above which it is exchanged again. */
export const TOO_LARGE: number = 2
/** Parts that a part becomes which is too large. */
export const PARTS_AGAIN: number = 16

/**
 * Parts in order that so many spilled bytes become: smaller ones than can be worked on make more segments of whatever comes of them, and all of
 * those at once save an exchange.
 */
export function orderedPartsAgain(bytes: number, partBytes: number): number {
  return Math.max(2, Math.min(MOST_IN_ORDER, Math.ceil((1.25 * bytes) / partBytes)))
}
const MOST_IN_ORDER = 256

export function partOf({ parts, shape }: Pick<Exchanged, 'parts' | 'shape'>, part: number): SpilledPart {
  return { kind: 'spilled', segments: parts[part] ?? [], shape }
}
