/** The tasks of stages, as they are sent to workers, and their results. */
import type { Column } from '../../core/data/column.ts'
import type { ArraySource } from '../../core/plan/logicalPlan.ts'
import type { ColumnPredicate } from '../../core/plan/predicate.ts'
import type { SourceSplit } from '../../core/sourceParts.ts'
import type { Step, WideOperator } from '../../planner/physical/physicalPlan.ts'
import type { AsofTask } from './asof/asofTask.ts'
import type { Block } from './block.ts'
import type { AnswerTask } from './columns/lists/answerTask.ts'
import type { Placed } from './columns/placed.ts'
import type { Asked } from './columns/texts/askedTexts.ts'
import type { CodedTexts } from './columns/texts/loadedTexts.ts'
import type { ExecBatch } from './operators/batches.ts'
import type { ValuesTask } from './operators/groupBy/groupValuesTask.ts'
import type { PartitionTask } from './operators/groupBy/partitionTask.ts'
import type { Repeated } from './operators/indexKeys.ts'
import type { JoinTask } from './operators/join/joinTask.ts'
import type { SortTask } from './operators/sort/sortTask.ts'
import { type PackedValues, unpacked } from './packedValues.ts'
import type { KeySample, Spill, Spilled, SpilledInput, WorkedInput } from './spill/spillTask.ts'
import type { WindowTask } from './windows/windowTask.ts'

export type TaskInput =
  | {
      readonly kind: 'split'
      readonly source: ArraySource
      readonly split: SourceSplit
      readonly columns: readonly string[]
      readonly predicate?: ColumnPredicate
      /** The rows of the split that alone are read, ascending. */
      readonly rows?: Int32Array
      /** Texts may come as dictionary codes: no step looks at them. */
      readonly coded?: true
    }
  | { readonly kind: 'batches'; readonly batches: readonly ExecBatch[] }
  | SpilledInput
  | WorkedInput

/** A split, and the row at which its rows begin in the whole columns. */
export interface PlacedSplit {
  readonly split: SourceSplit
  readonly firstRow: number
}

/** The splits of a task, on either side of its message. */
export function splitsIn({ splits }: { readonly splits: readonly PlacedSplit[] | PackedValues }): readonly PlacedSplit[] {
  return 'kind' in splits ? (unpacked(splits) as readonly PlacedSplit[]) : splits // nothing else was packed
}

export type StageTask =
  | {
      readonly kind: 'narrow'
      readonly input: TaskInput
      readonly steps: readonly Step[]
      readonly partition: number
      readonly firstRow: number
      /** Present where the output is spilled to a file instead of being returned. */
      readonly spill?: Spill
      /** Present where a sample of the output's keys is returned instead, a batch for each batch. */
      readonly sample?: KeySample
    }
  | { readonly kind: 'wide'; readonly inputs: readonly (readonly ExecBatch[])[]; readonly operator: WideOperator }
  /** Reads splits and copies their columns into whole columns. Texts are returned, a batch for each split, but for columns of `asked`. */
  | {
      readonly kind: 'load'
      readonly source: ArraySource
      readonly columns: readonly string[]
      /** Packed where they are sent to another thread. */
      readonly splits: readonly PlacedSplit[] | PackedValues
      readonly wholes: readonly Column[]
      readonly asked: readonly (Asked | undefined)[]
      /** Whether texts that no dictionary encodes are encoded as they are read, where they repeat. */
      readonly encodes: readonly boolean[]
    }
  /** Copies texts that were read into whole columns. */
  | { readonly kind: 'place'; readonly columns: readonly Placed[] }
  | AnswerTask
  | PartitionTask
  | ValuesTask
  | JoinTask
  | AsofTask
  | SortTask
  | WindowTask
  /** Concatenates batches. */
  | { readonly kind: 'together'; readonly batches: readonly ExecBatch[] }
  /** Takes rows of a batch. */
  | { readonly kind: 'take'; readonly batch: ExecBatch; readonly rows: Int32Array }

export interface StageResult {
  readonly batches: readonly ExecBatch[]
  /** The number of elements that went into each step. */
  readonly rowsIn: readonly number[]
  /** Milliseconds spent in each step, or in the wide operator, that has functions which are not compiled; 0 for others. */
  readonly spentMs?: readonly number[]
  readonly blocks: readonly Block[]
  /** The number of nulls in each column that was copied into a whole one. */
  readonly nulls?: readonly number[]
  /** The reason why JavaScript ran where a kernel might have. */
  readonly refused?: string
  /** For each batch of texts, the facts about its columns that are dictionary encoded; undefined for the others. */
  readonly coded?: readonly (readonly (CodedTexts | undefined)[])[]
  /** For each column of `asked`, a text for each number that was seen; undefined where texts are not dictionary encoded. */
  readonly answers?: readonly (readonly string[])[] | undefined
  /** The report of a task that spilled its output; then there are no batches. */
  readonly spilled?: Spilled
  /** Two rows of a part with one key, by their numbers; then there are no batches. */
  readonly repeated?: Repeated
}
