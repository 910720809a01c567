/** What a worker is given to compute of a stage, and what it gives back. */
import type { Column } from '../../core/data/column.ts'
import type { ArraySource } from '../../core/plan/logicalPlan.ts'
import type { ColumnPredicate } from '../../core/plan/predicate.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import type { Step, WideOperator } from '../../planner/physical/physicalPlan.ts'
import type { AsofTask } from './asof/asofTask.ts'
import type { Block } from './block.ts'
import type { Placed } from './columns/placed.ts'
import type { Asked } from './columns/texts/askedTexts.ts'
import type { CodedTexts } from './columns/texts/loadedTexts.ts'
import type { ExecBatch } from './operators/batches.ts'
import type { ValuesTask } from './operators/groupBy/groupValuesTask.ts'
import type { PartitionTask } from './operators/groupBy/partitionTask.ts'
import type { Repeated } from './operators/indexKeys.ts'
import type { JoinTask } from './operators/join/joinTask.ts'
import type { SortTask } from './operators/sort/sortTask.ts'
import type { KeySample, Spill, Spilled, SpilledInput, WorkedInput } from './spill/spillTask.ts'
import type { WindowTask } from './windows/windowTask.ts'

export type TaskInput =
  | {
      readonly kind: 'split'
      readonly source: ArraySource
      readonly split: SourceSplit
      readonly columns: readonly string[]
      readonly predicate?: ColumnPredicate
    }
  | { readonly kind: 'batches'; readonly batches: readonly ExecBatch[] }
  | SpilledInput
  | WorkedInput

/** A split, and where its rows go. */
export interface PlacedSplit {
  readonly split: SourceSplit
  readonly firstRow: number
}

export type StageTask =
  | {
      readonly kind: 'narrow'
      readonly input: TaskInput
      readonly steps: readonly Step[]
      readonly partition: number
      readonly firstRow: number
      /** Where what comes of it goes, instead of being the result. */
      readonly spill?: Spill
      /** Keys of it that are the result instead, a batch of them for each batch. */
      readonly sample?: KeySample
    }
  | { readonly kind: 'wide'; readonly inputs: readonly (readonly ExecBatch[])[]; readonly operator: WideOperator }
  /** Puts the columns of splits into those of all; their texts are the result, a batch for each split, but for columns that are asked. */
  | {
      readonly kind: 'load'
      readonly source: ArraySource
      readonly columns: readonly string[]
      readonly splits: readonly PlacedSplit[]
      readonly wholes: readonly Column[]
      readonly asked: readonly (Asked | undefined)[]
    }
  /** Puts texts that were read among those of all. */
  | { readonly kind: 'place'; readonly columns: readonly Placed[] }
  | PartitionTask
  | ValuesTask
  | JoinTask
  | AsofTask
  | SortTask
  | WindowTask
  /** Batches as one. */
  | { readonly kind: 'together'; readonly batches: readonly ExecBatch[] }
  /** Rows of a batch. */
  | { readonly kind: 'take'; readonly batch: ExecBatch; readonly rows: Int32Array }

export interface StageResult {
  readonly batches: readonly ExecBatch[]
  /** Elements that went into each step. */
  readonly rowsIn: readonly number[]
  /** Milliseconds in each step, or in the wide operator, that has functions which are not compiled; 0 in others. */
  readonly spentMs?: readonly number[]
  readonly blocks: readonly Block[]
  /** Of columns that were put into others: the nulls of each. */
  readonly nulls?: readonly number[]
  /** Why JavaScript did what a kernel might have done. */
  readonly refused?: string
  /** Of texts that are to be put into others, for each batch: what is known of those that are places in dictionaries. */
  readonly coded?: readonly (readonly (CodedTexts | undefined)[])[]
  /** Of columns that are asked: for each number a text that has it, as far as one was seen; undefined where texts have no numbers. */
  readonly answers?: readonly (readonly string[])[] | undefined
  /** Instead of batches. */
  readonly spilled?: Spilled
  /** Instead of batches: two rows of a part, by their numbers, that have one key. */
  readonly repeated?: Repeated
}
