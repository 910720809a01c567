/** The public API on one page. Test helpers are in `distarray/testing`. */

export type { Grouped } from './core/arrays/distArray.ts'
export { DistArray, type SortBy } from './core/arrays/distArray.ts'
export type { IndexSpace, KeyOf, Selector, Shape } from './core/arrays/indexSpace.ts'
export type { Key } from './core/arrays/keys.ts'
export type { SortKey } from './core/arrays/sortKey.ts'
export type { TypedArray } from './core/data/column.ts'
export { interfaceOf } from './core/data/interfaceText.ts'
export type { Joined, JoinOn } from './core/data/rowTypes.ts'
export type { DType } from './core/data/schema.ts'
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
export type { Accumulator } from './core/loop/accumulator.ts'
export type { ArrayView, RowView } from './core/loop/arrayViews.ts'
export type { Loop, RunOptions } from './core/loop/loop.ts'
export type { Dependence, Distance, LoopPlan, ScheduleKind } from './core/loop/loopPlan.ts'
export type { LoopReport, PassReport, VerifyReport } from './core/loop/loopReport.ts'
export type { LoopOptions } from './core/loop/loopSpec.ts'
export type { LoopEnv, LoopViews, Rng } from './core/loop/loopViews.ts'
export type { SimulateOptions, Simulation } from './core/loop/simulation.ts'
export type { UpdateBuffer } from './core/loop/updateBuffer.ts'
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
  median,
  min,
  mode,
  quantile,
  skew,
  stddev,
  sum,
  variance,
} from './core/plan/aggregates.ts'
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
} from './core/plan/windows.ts'
export type { SessionEvent } from './core/sessionEvent.ts'
export type { ColumnSummary, Description } from './core/show/describe.ts'
export type { Histogram } from './core/show/histogram.ts'
export type { Preview } from './core/show/preview.ts'
export type { Refusal, Span } from './core/span.ts'
export { type BucketOptions, bucket } from './core/time/bucket.ts'
export type { Every } from './core/time/every.ts'
export { duration, formatTime, parseTime, type TimeOptions } from './core/time/texts.ts'
export type { FileContents, FileFormat, FilePiece, FilesOptions, FormatFile, PieceRows } from './io/fileFormat.ts'
export { Session } from './session/session.ts'
export type { SessionOptions } from './session/sessionOptions.ts'
