/** All a user can do, on one page. Test helpers are in `distarray/testing`. */

export type { Accumulator } from './core/accumulator.ts'
export {
  type Aggregate,
  aggregate,
  all,
  any,
  approxCountDistinct,
  approxMedian,
  approxQuantile,
  argMax,
  argMin,
  collect,
  correlation,
  count,
  countDistinct,
  covariance,
  first,
  kurtosis,
  last,
  max,
  mean,
  min,
  mode,
  quantile,
  skew,
  stddev,
  sum,
  variance,
} from './core/aggregates.ts'
export type { TypedArray } from './core/column.ts'
export { DistArray, type SortBy, type SortKey } from './core/distArray.ts'
export {
  Bug,
  CheckpointError,
  type CheckpointFault,
  GangError,
  type GangFault,
  LoopError,
  MemoryError,
  PlanError,
  SourceError,
  SpillError,
  TaskError,
} from './core/errors.ts'
export type { Grouped } from './core/grouped.ts'
export type { IndexSpace, Key, KeyOf, Selector, Shape } from './core/indexSpace.ts'
export { interfaceOf } from './core/interfaceText.ts'
export type { Loop, RunOptions } from './core/loop.ts'
export type { Dependence, Distance, LoopPlan, ScheduleKind } from './core/loopPlan.ts'
export type { LoopReport, PassReport, VerifyReport } from './core/loopReport.ts'
export type { LoopOptions } from './core/loopSpec.ts'
export type { ArrayView, LoopEnv, LoopViews, Rng, RowView } from './core/loopViews.ts'
export type { Joined, JoinOn } from './core/rowTypes.ts'
export type { DType } from './core/schema.ts'
export type { SessionEvent } from './core/sessionEvent.ts'
export type { ColumnSummary, Description } from './core/show/describe.ts'
export type { Preview } from './core/show/preview.ts'
export type { SimulateOptions, Simulation } from './core/simulation.ts'
export type { Refusal, Span } from './core/span.ts'
export { type BucketOptions, bucket } from './core/time/bucket.ts'
export type { Every } from './core/time/every.ts'
export { duration, formatTime, parseTime, type TimeOptions } from './core/time/texts.ts'
export type { UpdateBuffer } from './core/updateBuffer.ts'
export {
  denseRank,
  type Frame,
  type FrameEnds,
  firstValue,
  lag,
  lastValue,
  lead,
  ntile,
  percentRank,
  rank,
  rowNumber,
  type WindowFunction,
  type WindowOver,
} from './core/windows.ts'
export { Session, type SessionOptions } from './session.ts'
