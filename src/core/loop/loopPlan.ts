/** The decisions of a loop's analysis, as plain data: `JSON.stringify(loop.plan)` is the machine form of `explain()`. */
import type { Key } from '../arrays/keys.ts'
import type { Refusal, Span } from '../span.ts'
import type { CutKind } from './schedules.ts'

/** The kind of a loop's schedule; docs/loops.md has a picture of each. */
export type ScheduleKind = CutKind | 'colored' | 'scan' | 'serial'

/** One entry of a dependence vector: a number where the distance is always the same, else a direction. */
export type Distance = number | '*' | '+' | '-'

/** Two accesses that can touch one element in different iterations, at least one of them a write. */
export interface Dependence {
  readonly array: string
  readonly kind: 'flow' | 'anti' | 'output'
  readonly from: Span
  readonly to: Span
  /** Lexicographically positive (leading `*` is split), one entry per axis of the iteration space. */
  readonly vector: readonly Distance[]
  /**
   * For each axis the least and the greatest distance, where more is known than the entry of `vector` says: `[-1, null]` beside `*` is a
   * step back by 1 at most. null stands for an unknown end, and for an entry that says it all; absent where all entries do.
   */
  readonly bounds?: readonly (readonly [least: number | null, greatest: number | null] | null)[]
  /** Two concrete iterations that touch one element, the earlier first. */
  readonly witness?: readonly [Key, Key]
}

/** The role that the schedule gives to a name of the body. */
export interface LoopVariable {
  readonly name: string
  readonly class: VariableClass
  /** `body`: an array that the body makes for itself. */
  readonly origin: 'env' | 'capture' | 'body'
  /**
   * The size of each worker's copy of a local array that is privatized. After the pass the array holds what the iteration that
   * comes last in the serial order left in its copy.
   */
  readonly private?: { readonly sizeBytes: number }
}

export type VariableClass = 'iterated' | 'local' | 'pipelined' | 'served' | 'broadcast' | 'reduction' | 'buffer' | 'constant'

/** The outer axes that run in order: all blocks of one of their indices before any of the next. */
export interface Steps {
  /** The axes that run in order, a prefix of the schedule's `axes`. */
  readonly axes: readonly number[]
  /** The schedule of the blocks inside of a step, over the axes that remain. */
  readonly inside: ScheduleKind
}

/** The schedule, the axes it cuts, the blocks along each (empty until the data is known), and why it was taken. */
export interface PlannedSchedule {
  readonly kind: ScheduleKind
  readonly axes: readonly number[]
  readonly blocks: readonly number[]
  readonly reason: string
  /** The steps of a wavefront whose outer axes run in order, one for each of their indices; absent for other schedules. */
  readonly steps?: Steps
}

/** One of the loops that a body is split into. */
export interface PlannedPart {
  readonly schedule: PlannedSchedule
  /** The statements that it runs, in their order; a statement that only computes what others use may be in several parts. */
  readonly statements: readonly Span[]
}

/** The cost model's prediction for a legal schedule, on a nominal machine of four workers, whatever the real one. */
export interface ConsideredSchedule {
  readonly kind: ScheduleKind
  readonly axes: readonly number[]
  readonly steps?: Steps
  /** The time of a pass; absent as long as only the data tells how many iterations there are. */
  readonly predictedMilliseconds?: number
  /** The time as a multiple of the shortest schedule's. */
  readonly relative: number
  readonly blocks: number
  /** The mean number of iterations that follow one another in memory inside a block. */
  readonly run: number
  /** The fraction of the iterations on the critical path through the blocks; for sparse data, from the first run on, counted by elements. */
  readonly share: number
  readonly taken: boolean
}

export interface MeasuredPass {
  readonly milliseconds: number
  /** The time that was predicted for the pass. */
  readonly predictedMilliseconds?: number
  readonly workers: number
  /** The busiest worker's time on its blocks, as a multiple of the mean of all workers: 1 is perfect. */
  readonly balance: number
}

/** The plan of a loop: the decisions of its analysis and their reasons; plain data, the same on every machine. */
export interface LoopPlan {
  /** The order that the options ask for. */
  readonly order: 'serial' | 'any'
  /** The loop's schedule; for a loop in parts that of its freest part. */
  readonly schedule: PlannedSchedule
  /**
   * The parts of a distributed loop, which run one after another, each over all iterations: the whole body would be serial, and some
   * of its statements need not be. Absent where the body stays whole.
   */
  readonly parts?: readonly PlannedPart[]
  /**
   * The legal schedules whose predicted times were compared, the freest first; only one where that comes close to the least that any
   * could take. Absent where there was no choice.
   */
  readonly considered?: readonly ConsideredSchedule[]
  /** The freer schedules that were not taken, with what is in the way and the smallest edit that would allow each. */
  readonly rejected: readonly {
    readonly kind: ScheduleKind
    readonly because: readonly (Dependence | Refusal)[]
    readonly edit?: string
    /** Whether it is a wavefront that was tried in steps, with the outermost axis or more running in order. */
    readonly inSteps?: true
  }[]
  /** Every dependence between different iterations. */
  readonly dependences: readonly Dependence[]
  /** The role of each name of the body under the schedule. */
  readonly variables: readonly LoopVariable[]
  /** Every access to an array, with its subscripts as text: `:` a whole axis, `?` unknown. */
  readonly accesses: readonly {
    readonly array: string
    readonly kind: 'read' | 'write' | 'add'
    readonly subscripts: readonly string[]
    readonly span: Span
  }[]
  /** The way the body runs, and the refusals where it could not be compiled. `note`: a request that could not be met, or what the first run still decides. */
  readonly kernel: {
    readonly target: 'wasm-simd' | 'wasm' | 'js' | 'as-is'
    readonly because?: readonly Refusal[]
    readonly note?: string
  }
  /** The place where passes run, which the first run decides. */
  readonly execution: {
    readonly where: 'workers' | 'caller'
    readonly because: string
    /** The number of processes that run a pass, and why, where the program runs on several. */
    readonly processes?: { readonly count: number; readonly because: string } | undefined
  }
  /** In a session with a checkpoint: whether the loop's passes are kept, and how many were known and did not run again. */
  readonly checkpoint?: { readonly kept: boolean; readonly because: string; readonly passesSkipped: number } | undefined
  /**
   * The cost of a pass. Predicted: the next pass, from the last one; before the first from the body, on one thread, where all
   * extents are known. Measured: the last pass. It decides nothing but `execution`.
   */
  readonly cost?: { readonly predictedMilliseconds?: number; readonly measured?: MeasuredPass }
  /** The reads that slices of the body list before a block runs: those of served arrays, and those that the inspector needs. */
  readonly prefetch: readonly { readonly array: string; readonly slice: string }[]
}
