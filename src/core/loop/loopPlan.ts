/** What the analysis of a loop decided, as plain data: `JSON.stringify(loop.plan)` is the machine form of `explain()`. */
import type { Key } from '../arrays/keys.ts'
import type { Refusal, Span } from '../span.ts'

/** How a loop runs; docs/loops.md has a picture of each. */
export type ScheduleKind = 'independent' | '1d' | '2d' | 'wavefront' | 'skewed' | 'colored' | 'scan' | 'serial'

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
   * For each axis the least and the greatest step, where more is known than the entry says: `[-1, null]` beside `*` is a step back by 1 at
   * most. null for an end that is not known, and for entries that say it all; absent where all do.
   */
  readonly bounds?: readonly (readonly [least: number | null, greatest: number | null] | null)[]
  /** Two concrete iterations that touch one element, the earlier first. */
  readonly witness?: readonly [Key, Key]
}

/** What each name of the body is to the schedule. */
export interface LoopVariable {
  readonly name: string
  readonly class: VariableClass
  /** `body`: an array that the body makes for itself. */
  readonly origin: 'env' | 'capture' | 'body'
  /**
   * Of a local array: each worker has a copy of its own, of so many bytes. What the iteration leaves that comes last in the
   * serial order is what the array holds after the pass.
   */
  readonly private?: { readonly sizeBytes: number }
}

export type VariableClass = 'iterated' | 'local' | 'pipelined' | 'served' | 'broadcast' | 'reduction' | 'buffer' | 'constant'

/** Outer axes that run in order: all blocks of one of their indices before any of the next. */
export interface Steps {
  /** The first of `axes`. */
  readonly axes: readonly number[]
  /** How the blocks of one step run: the schedule of the axes that remain. */
  readonly inside: ScheduleKind
}

/** The schedule, the axes it cuts, the blocks along each (empty until the data is known), and why it was taken. */
export interface PlannedSchedule {
  readonly kind: ScheduleKind
  readonly axes: readonly number[]
  readonly blocks: readonly number[]
  readonly reason: string
  /** Of a wavefront whose outer axes run in order, a step for each of their indices; absent otherwise. */
  readonly steps?: Steps
}

/** One of the loops that a body is split into. */
export interface PlannedPart {
  readonly schedule: PlannedSchedule
  /** The statements that it runs, in their order; one that only computes what others use may be in several parts. */
  readonly statements: readonly Span[]
}

/** A legal schedule as the cost model sees it, on a nominal machine of four workers, whatever machine it is. */
export interface ConsideredSchedule {
  readonly kind: ScheduleKind
  readonly axes: readonly number[]
  readonly steps?: Steps
  /** Of a pass; absent as long as only the data tells how many iterations there are. */
  readonly predictedMilliseconds?: number
  /** By that of the shortest. */
  readonly relative: number
  readonly blocks: number
  /** Iterations that follow one another in memory, in a block. */
  readonly run: number
  /** The part of the iterations on the longest way through the blocks; of sparse data, from the first run on, by the elements in them. */
  readonly share: number
  readonly taken: boolean
}

export interface MeasuredPass {
  readonly milliseconds: number
  /** What it was expected to take. */
  readonly predictedMilliseconds?: number
  readonly workers: number
  /** How much longer the busiest worker was on its blocks than the mean of all: 1 is perfect. */
  readonly balance: number
}

/** What the analysis decided and why; plain data, the same on every machine. */
export interface LoopPlan {
  /** As asked for in the options. */
  readonly order: 'serial' | 'any'
  /** How the loop runs; of a loop in parts, its freest part. */
  readonly schedule: PlannedSchedule
  /**
   * Where the whole body would be serial and some of its statements are not: the loops that run one after another instead, each
   * over all iterations. Absent where the body stays whole.
   */
  readonly parts?: readonly PlannedPart[]
  /**
   * The legal schedules that were compared, the freest first, by what a pass of each is expected to take; one, where it is close to
   * what any could reach. Absent where there was no choice.
   */
  readonly considered?: readonly ConsideredSchedule[]
  /** The freer schedules that were not taken, with what is in the way and the smallest edit that would allow each. */
  readonly rejected: readonly {
    readonly kind: ScheduleKind
    readonly because: readonly (Dependence | Refusal)[]
    readonly edit?: string
    /** Of a wavefront that was tried in steps: of the outermost axis, or of more. */
    readonly inSteps?: true
  }[]
  /** Every dependence between different iterations. */
  readonly dependences: readonly Dependence[]
  /** What each name of the body is to the schedule. */
  readonly variables: readonly LoopVariable[]
  /** Every access to an array, with its subscripts as text: `:` a whole axis, `?` unknown. */
  readonly accesses: readonly {
    readonly array: string
    readonly kind: 'read' | 'write' | 'add'
    readonly subscripts: readonly string[]
    readonly span: Span
  }[]
  /** How the body runs, and the refusals where it could not be compiled. `note`: what was asked for and is not to be had. */
  readonly kernel: {
    readonly target: 'wasm-simd' | 'wasm' | 'js' | 'as-is'
    readonly because?: readonly Refusal[]
    readonly note?: string
  }
  /** Where passes run; decided by the first run. */
  readonly execution: {
    readonly where: 'workers' | 'caller'
    readonly because: string
    /** Of a program that runs on several processes: how many of them run a pass, and why. */
    readonly processes?: { readonly count: number; readonly because: string } | undefined
  }
  /** Of a session with a checkpoint: whether the loop's passes are kept, and how many were known and did not run again. */
  readonly checkpoint?: { readonly kept: boolean; readonly because: string; readonly passesSkipped: number } | undefined
  /**
   * What a pass costs. Predicted: the next one, from the last; before the first from the body, on one thread, where all
   * extents are known. Measured: the last one. It decides nothing but `execution`.
   */
  readonly cost?: { readonly predictedMilliseconds?: number; readonly measured?: MeasuredPass }
  /** What is known ahead of a block: its reads of arrays that are served, and what the inspector lists, as slices. */
  readonly prefetch: readonly { readonly array: string; readonly slice: string }[]
}
