/** The services of a run for operators by way of disk (`externalRun.ts`): exchange rows, read them back, and work on them. */
import type { Column } from '../../../core/data/column.ts'
import type { PhysicalPlan, WideOperator } from '../../../planner/physical/physicalPlan.ts'
import type { Block } from '../block.ts'
import type { How, Result, Results } from '../dataset.ts'
import type { ExecBatch } from '../operators/batches.ts'
import type { Exchange, Part, Segments, SpilledPart } from './parts.ts'
import type { PartResult } from './repeatedKeys.ts'
import type { SpillKey } from './spillTask.ts'

/** The rows of an exchange. */
export type Source =
  | { readonly kind: 'plan'; readonly plan: PhysicalPlan }
  | { readonly kind: 'spilled'; readonly rows: SpilledPart }
  | { readonly kind: 'parts'; readonly parts: readonly Part[] }
  | { readonly kind: 'results'; readonly results: Results }

/** The parts on disk that an exchange has written. */
export interface Exchanged {
  /** The segments of each part, in the order of the rows. */
  readonly parts: readonly Segments[]
  readonly shape: ExecBatch
  /** For each partition of the source, the number of rows before it; empty where the source was spilled already. */
  readonly rowsBefore: readonly number[]
}

export interface ExternalServices {
  readonly exchanged: (source: Source, exchange: Exchange) => Promise<Exchanged>
  /** Reads rows back into the arena. */
  readonly read: (rows: SpilledPart) => Promise<Result>
  /** The results of parts, one after another; several are computed at a time. */
  readonly streamed: (parts: readonly Part[], how?: Pick<How, 'limited' | 'rowsBefore'>) => AsyncGenerator<PartResult, void, undefined>
  /** The result of a plan, part after part. */
  readonly results: (plan: PhysicalPlan) => Results
  readonly work: (operator: WideOperator, inputs: readonly (readonly ExecBatch[])[]) => Promise<Result>
  /** A sample of the keys of a source; empty where its rows are known only when it has run. */
  readonly sampled: (source: Source, key: SpillKey) => Promise<readonly Column[]>
  readonly free: (blocks: readonly Block[]) => void
  /** Frees the blocks that no batch lies in, and returns the others. */
  readonly kept: (blocks: readonly Block[], batches: readonly ExecBatch[]) => readonly Block[]
  /** The most bytes of a part that can be worked on in memory. */
  readonly partBytes: number
  /** The most bytes of an input that are held in memory while others are joined with it. */
  readonly heldBytes: number
  /** The most bytes of rows that a piece of a window's partition is computed with. */
  readonly mostBytes: number
  /** The number of parts by hash that are expected to have `partBytes` at most. */
  readonly parts: number
  /** The number of parts in order: of a sort, and of numbered results. */
  readonly partsInOrder: number
}

/** The most exchanges of a row after the first: a part that is still too large then has one key too often. */
export const MOST_LEVELS: number = 3
/** A part with this many times `partBytes` is exchanged again. */
export const TOO_LARGE: number = 2
/** The number of parts that a too large part is cut into. */
export const PARTS_AGAIN: number = 16

/**
 * The number of parts in order that spilled rows are cut into again. Parts smaller than `partBytes` would make more segments in each exchange
 * of their results; cutting into all parts at once saves an exchange.
 */
export function orderedPartsAgain(bytes: number, partBytes: number): number {
  return Math.max(2, Math.min(MOST_IN_ORDER, Math.ceil((1.25 * bytes) / partBytes)))
}
const MOST_IN_ORDER = 256

export function partOf({ parts, shape }: Pick<Exchanged, 'parts' | 'shape'>, part: number): SpilledPart {
  return { kind: 'spilled', segments: parts[part] ?? [], shape }
}
