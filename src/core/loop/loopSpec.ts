/**
 * A loop as `session.loop` received it, and as the analysis leaves it: the two ends of `planner/loop`.
 */

import type { DType, ElementType } from '../data/schema.ts'
import type { FunctionIr, UserFunction } from '../ir/functionIr.ts'
import type { LoopPlan } from './loopPlan.ts'

/** What a loop's arithmetic keeps of plain JavaScript's; docs/performance.md says what each may change. */
export type Precision = 'exact' | 'fast' | 'relaxed'

/** Options of `session.loop`. */
export interface LoopOptions {
  /** 'serial' (default): the result of running iterations in key order. 'any': of some serial order, `serialOrder()`. */
  readonly order?: 'serial' | 'any'
  /**
   * 'exact' (default): the bits plain JavaScript gives. 'fast': f32 arithmetic, reassociated reductions, factors that do not
   * change in a loop multiplied out before it, still determinate. 'relaxed': the same, and where the engine has relaxed SIMD
   * (Node 22 and newer) lanes may round a product and the sum it is part of once instead of twice: the same for every number
   * of workers and every run, but not on every CPU.
   */
  readonly precision?: Precision
  /** 'parallel': a LoopError instead of a serial run. 'compiled': a LoopError instead of a body that runs as it stands. */
  readonly require?: 'parallel' | 'compiled'
  /** Blocks per partitioned axis. Default: from the data and cache sizes; never from the worker count. */
  readonly partitions?: number | readonly number[]
  /** 'histogram' (default): blocks with about equally many elements. 'equal': blocks with equally many indices. */
  readonly balance?: 'histogram' | 'equal'
  /** Promises of the user's, checked by checkRaces: the values read there are distinct across iterations. */
  readonly assume?: { readonly distinct?: readonly string[] }
  /**
   * true: before the first pass of each run, one pass runs on copies, and the first conflict that the schedule does not
   * order, or broken promise, rejects the run. Default: the session's `checkRaces`.
   */
  readonly checkRaces?: boolean
  /** Snapshot what a pass writes, and restore it when the pass fails or is aborted. */
  readonly atomic?: boolean
  /** For messages, events and explain(). */
  readonly name?: string
}

/**
 * What stands behind a name that a body uses. `array` identifies the array: two names with one identity are one
 * array, and the iterated array is the same as an env array with its identity.
 */
export type EnvBinding =
  | {
      readonly kind: 'array'
      readonly array: number
      readonly dtype: DType | 'object' | 'row' | 'unknown'
      readonly storage: 'dense' | 'sparse' | 'table' | 'unknown'
      readonly rank?: number
      readonly shape?: readonly (number | undefined)[]
      readonly label: string
      /** The body makes it, and begins anew with it in each iteration. */
      readonly isLocal?: true
    }
  | {
      readonly kind: 'buffer'
      readonly array: number
      readonly dtype: DType
      /** Flushes after this many iterations of the serial order, which a loop then has to follow. Absent: once, at the end. */
      readonly maxDelay?: number
      /** In a pass, between rounds of iterations; how many rounds late, and of how many bytes. Absent: one, at the end. */
      readonly flushes?: number
      readonly staleness?: number
      readonly budget?: number
      readonly rank?: number
      readonly shape?: readonly (number | undefined)[]
      readonly label: string
    }
  | { readonly kind: 'accumulator'; readonly combine: 'sum' | 'min' | 'max' | 'count' | 'custom' }
  | { readonly kind: 'rng'; readonly seed: number }

/** What the loop iterates over. */
export interface LoopOver {
  readonly kind: 'range' | 'dense' | 'sparse' | 'table' | 'unknown'
  /** Identity of the iterated array; absent for a range. */
  readonly array?: number
  readonly element?: ElementType
  readonly rank: number
  /** Known extents; undefined where only the data can tell. */
  readonly extents: readonly (number | undefined)[]
  /** For plans, as `range(100, 100)` or `ratings`. */
  readonly label: string
}

export interface LoopSpec {
  readonly body: UserFunction
  readonly over: LoopOver
  readonly env: Readonly<Record<string, EnvBinding>>
  readonly options: LoopOptions
  /** Where the program made the loop, as `train.ts:12`. */
  readonly site?: string
}

/**
 * How the blocks of the index space are cut and ordered; the machine form of `plan.schedule`.
 *
 *     independent   cut along axis 0 (the positions of a sparse array), no order
 *     1d            cut along `axis`, or along `form`, no order
 *     2d            cut along both axes; blocks in one row or column in plan order (diagonal by diagonal), never together
 *     wavefront     cut along both axes; block (s, t) after (s - 1, t) and (s, t - 1)
 *     skewed        the same, cut along two forms
 *     stepped       the first `outer` axes run in order, a step for each of their keys; all blocks of a step before any of the
 *                   next, and inside a step as `inner` says, whose axes and forms are of the others. A wavefront in the plan.
 *     colored       as the inspector finds at the first run, from the elements that the subscript slice lists
 *     serial        one block
 */
export type Schedule =
  | { readonly kind: 'independent' }
  | { readonly kind: '1d'; readonly axis: number }
  | { readonly kind: '1d'; readonly form: Form }
  | { readonly kind: '2d'; readonly axes: readonly [number, number] }
  | { readonly kind: 'wavefront'; readonly axes: readonly [number, number] }
  | { readonly kind: 'skewed'; readonly forms: readonly [Form, Form] }
  | { readonly kind: 'stepped'; readonly outer: number; readonly inner: InnerSchedule }
  | { readonly kind: 'colored' }
  | { readonly kind: 'serial' }

/** How the blocks of one step run. */
export type InnerSchedule = Exclude<Schedule, { readonly kind: 'stepped' | 'colored' | 'serial' }>

/** A whole-number combination of the loop indices, one coefficient per axis: [1, 1] is i + j. Its lines are cut into bands. */
export type Form = readonly number[]

/** Elements of an array that an access may touch in an iteration: along each axis of the array a range, or any. */
export interface Footprint {
  readonly array: number
  readonly writes: boolean
  readonly along: readonly (Reach | 'any')[]
}

/** From `low` to `high`, both included, beside the sum of the key's components times their factors. */
export interface Reach {
  readonly key: readonly number[]
  readonly low: number
  readonly high: number
}

export interface AnalyzedLoop {
  readonly spec: LoopSpec
  readonly plan: LoopPlan
  readonly schedule: Schedule
  /** Absent when the body was refused and runs as it stands. */
  readonly ir?: FunctionIr
  /** For colored schedules: what the inspector runs. */
  readonly slice?: SubscriptSlice
  /** Identities of arrays the loop only adds to: each block adds to a copy of its own, copies are combined by the fixed tree. */
  readonly reducedArrays: readonly number[]
  /**
   * Identities of arrays of which each worker has a copy: every iteration writes the same elements and reads none that it has
   * not written. What the iteration leaves that comes last in the serial order is what the array holds after the pass.
   */
  readonly privateArrays: readonly number[]
  /** Identities of all arrays the loop may write or add to, the iterated one included. */
  readonly writtenArrays: readonly number[]
  /** What an iteration touches at most, of arrays that are neither only added to nor buffered; nothing is known where it is absent. */
  readonly footprints?: readonly Footprint[]
  /** Lists what iterations read of arrays that are only read, where the data decides on it, and of those behind update buffers. */
  readonly served?: SubscriptSlice | undefined
  /** Whether the body returns a value, which replaces the element iterated over. */
  readonly writesElement: boolean
  /**
   * Loops over the same iterations that run one after another in place of this one, whose own schedule then is serial, each a
   * part of its body. `freest` is where the one is that the plan's schedule is of.
   */
  readonly parts?: { readonly loops: readonly AnalyzedLoop[]; readonly freest: number }
  /** Of a loop in which all that iterations hand on is a running sum or the like: how its chunks run side by side. */
  readonly scan?: Scan
  /** One for each entry of `plan.dependences`. */
  readonly notes: readonly DependenceNote[]
}

/**
 * Two loops over the chunks of an iteration space, in place of a loop that is serial. The first finds what each chunk makes of what it
 * is handed; from that and what the arrays hold follows what each is handed; the second runs the body with it.
 */
export interface Scan {
  /** Iterations of a chunk; the last one may have fewer. */
  readonly chunk: number
  readonly chunks: number
  readonly carries: readonly Carry[]
  readonly partial: AnalyzedLoop
  readonly replay: AnalyzedLoop
}

/** A value that each iteration hands on to the next. */
export interface Carry {
  /** The array that has it, by a name of the body, and where the loop finds it before the first iteration; that element may be outside. */
  readonly name: string
  readonly first: readonly number[]
  /** Of an element that all iterations share, which has the last value after the pass; otherwise each iteration has an element for it. */
  readonly isCell: boolean
  readonly dtype: DType
  readonly operator: ScanOperator
  /** Arrays of the two loops: what a chunk makes of nothing, whether it does (1) and forgets what it is handed (2), what it is handed. */
  readonly partials: string
  readonly marks: string
  readonly seeds: string
  /** Arrays that are written where it says, one element after another, in so many places in all. */
  readonly fills: readonly string[]
}

/**
 * `sum`: of whole numbers, in arrays of integers modulo their range. `wrap`: of whole numbers, modulo 2^32, as `| 0`. `unsigned`: as
 * `>>> 0`. `last`: what is set last. `pick`: what is less, or greater, comes in its place. `with`: what comes with the carry of that number.
 */
export type ScanOperator =
  | { readonly kind: 'sum' | 'wrap' | 'unsigned' | 'min' | 'max' | 'and' | 'or' | 'xor' | 'last' }
  | { readonly kind: 'pick'; readonly test: '<' | '<=' | '>' | '>=' }
  | { readonly kind: 'with'; readonly carry: number }

/**
 * The part of a body that decides which elements of some arrays an iteration touches: as IR, in which the accesses are left
 * as reads without a use (`Evaluate`) and writes of 0.
 */
export interface SubscriptSlice {
  readonly kind: 'slice'
  readonly ir: FunctionIr
  /** Identities of the arrays whose elements it lists, by the names that its accesses have. */
  readonly touched: ReadonlyMap<string, number>
  /** Whether it touches just what the body touches, for iterations that do not throw; otherwise it may touch more. */
  readonly exact: boolean
}

/** What `explain()` says about a dependence beyond its plain data. */
export interface DependenceNote {
  /** "(1, 5) writes W[1, :] which (1, 9) reads" */
  readonly sentence: string
  /** Whether the witness surely conflicts: nothing but the loop indices decides. */
  readonly certain: boolean
}
