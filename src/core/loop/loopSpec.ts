/**
 * A loop as `session.loop` received it, and as the analysis leaves it: the two ends of `planner/loop`.
 */

import type { DType, ElementType } from '../data/schema.ts'
import type { FunctionIr, UserFunction } from '../ir/functionIr.ts'
import type { LoopPlan } from './loopPlan.ts'
import type { Schedule } from './schedules.ts'

/** How closely a loop's arithmetic follows plain JavaScript; docs/performance.md says what each level may change. */
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
  /** The number of blocks along each partitioned axis. Default: from the data and cache sizes; never from the worker count. */
  readonly partitions?: number | readonly number[]
  /** 'histogram' (default): blocks with about equally many elements. 'equal': blocks with equally many indices. */
  readonly balance?: 'histogram' | 'equal'
  /** Promises of the program, which checkRaces checks. `distinct`: names of arrays whose values, read as subscripts, differ across iterations. */
  readonly assume?: { readonly distinct?: readonly string[] }
  /**
   * true: before the first pass of each run, one pass runs on copies, and the first conflict that the schedule does not
   * order, or broken promise, rejects the run. Default: the session's `checkRaces`.
   */
  readonly checkRaces?: boolean
  /** true: arrays that a pass writes are snapshotted, and restored when it fails or is aborted. */
  readonly atomic?: boolean
  /** The loop's name in messages, events and explain(). */
  readonly name?: string
}

/**
 * The object behind a name that a body uses. `array` identifies the array: two names with one identity are one
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
      /** Whether the body makes the array, anew in each iteration. */
      readonly isLocal?: true
    }
  | {
      readonly kind: 'buffer'
      readonly array: number
      readonly dtype: DType
      /** The number of iterations of the serial order between flushes, which then forces that order. Absent: it flushes once, at the end. */
      readonly maxDelay?: number
      /** The number of flushes in a pass, between rounds of iterations; `staleness` counts rounds, `budget` bytes of a flush. Absent: one flush, at the end. */
      readonly flushes?: number
      readonly staleness?: number
      readonly budget?: number
      readonly rank?: number
      readonly shape?: readonly (number | undefined)[]
      readonly label: string
    }
  | { readonly kind: 'accumulator'; readonly combine: 'sum' | 'min' | 'max' | 'count' | 'custom' }
  | { readonly kind: 'rng'; readonly seed: number }

/** The iteration space of a loop: a range, or the keys of an array. */
export interface LoopOver {
  readonly kind: 'range' | 'dense' | 'sparse' | 'table' | 'unknown'
  /** Identity of the iterated array; absent for a range. */
  readonly array?: number
  readonly element?: ElementType
  readonly rank: number
  /** The extent of each axis; undefined where only the data can tell. */
  readonly extents: readonly (number | undefined)[]
  /** The name in plans, as `range(100, 100)` or `ratings`. */
  readonly label: string
}

export interface LoopSpec {
  readonly body: UserFunction
  readonly over: LoopOver
  readonly env: Readonly<Record<string, EnvBinding>>
  readonly options: LoopOptions
  /** The place where the program made the loop, as `train.ts:12`. */
  readonly site?: string
}

/** The elements of an array that an access may touch in an iteration: along each axis of the array a range, or any. */
export interface Footprint {
  readonly array: number
  readonly writes: boolean
  readonly along: readonly (Reach | 'any')[]
}

/** A range of subscripts, both ends included: `low` and `high` are added to the sum of the key's components times the factors in `key`. */
export interface Reach {
  readonly key: readonly number[]
  readonly low: number
  readonly high: number
}

export interface AnalyzedLoop {
  readonly spec: LoopSpec
  readonly plan: LoopPlan
  readonly schedule: Schedule
  /** The body's IR; absent when it was refused and runs as it stands. */
  readonly ir?: FunctionIr
  /** The slice that the inspector of a colored schedule runs. */
  readonly slice?: SubscriptSlice
  /** Identities of arrays the loop only adds to: each block adds to a copy of its own, copies are combined by the fixed tree. */
  readonly reducedArrays: readonly number[]
  /**
   * Identities of privatized arrays, of which each worker has a copy: every iteration writes the same elements and reads none that it
   * has not written. After the pass the array holds what the iteration that comes last in the serial order left.
   */
  readonly privateArrays: readonly number[]
  /** Identities of all arrays the loop may write or add to, the iterated one included. */
  readonly writtenArrays: readonly number[]
  /** The elements that an iteration may touch, of arrays that are neither only added to nor buffered; absent where nothing is known. */
  readonly footprints?: readonly Footprint[]
  /** The slice that lists an iteration's reads where only the data tells them, of arrays that are only read and of those behind update buffers. */
  readonly served?: SubscriptSlice | undefined
  /** Whether the body returns a value, which replaces the element iterated over. */
  readonly writesElement: boolean
  /**
   * The loops of a loop distribution: each runs a part of the body over all iterations, one loop after another, in place of this one,
   * whose own schedule then is serial. `freest` is the index of the part whose schedule is the plan's.
   */
  readonly parts?: { readonly loops: readonly AnalyzedLoop[]; readonly freest: number }
  /** The scan that replaces a loop whose iterations depend on each other only through running sums and the like. */
  readonly scan?: Scan
  /** Notes on the entries of `plan.dependences`, one for each. */
  readonly notes: readonly DependenceNote[]
}

/**
 * A parallel scan: two loops over the chunks of an iteration space, in place of a serial loop. The first computes each chunk's effect on
 * the carried values; from that follow, chunk after chunk, the values that each chunk is handed; the second runs the body with them.
 */
export interface Scan {
  /** The iterations of a chunk; the last one may have fewer. */
  readonly chunk: number
  readonly chunks: number
  readonly carries: readonly Carry[]
  readonly partial: AnalyzedLoop
  readonly replay: AnalyzedLoop
}

/** A value that each iteration hands on to the next. */
export interface Carry {
  /** The array that holds the value, by its name in the body. `first` is the key of the element that holds it before the first iteration; it may lie outside. */
  readonly name: string
  readonly first: readonly number[]
  /** Whether all iterations share one element, which has the last value after the pass; otherwise each iteration has an element of its own. */
  readonly isCell: boolean
  readonly dtype: DType
  readonly operator: ScanOperator
  /** Names of the two loops' arrays, an element a chunk: the chunk's own partial value, bits for whether it changes the value (1) and ignores the one it is handed (2), the value that it is handed. */
  readonly partials: string
  readonly marks: string
  readonly seeds: string
  /** Names of arrays that the body fills one element after another at the position that this count gives, as `out[n++] = x` does. */
  readonly fills: readonly string[]
}

/**
 * The operator of a carried value. `sum`: of whole numbers, in arrays of integers modulo their range. `wrap`: the sum modulo 2^32, as `| 0`
 * gives it; `unsigned`: as `>>> 0` does. `last`: the value set last. `pick`: a value for which the test holds replaces the carried one.
 * `with`: the value changes whenever the carry of that number does, as the index of a maximum.
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
  /** Identities of the arrays whose elements it lists, by their names in its accesses. */
  readonly touched: ReadonlyMap<string, number>
  /** Whether it touches exactly the body's elements, for iterations that do not throw; otherwise it may touch more. */
  readonly exact: boolean
}

/** The text and certainty of a dependence, for `explain()`. */
export interface DependenceNote {
  /** "(1, 5) writes W[1, :] which (1, 9) reads" */
  readonly sentence: string
  /** Whether the witness surely conflicts: nothing but the loop indices decides. */
  readonly certain: boolean
}
