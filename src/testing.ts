/** `distarray/testing`: compares serial and parallel results in the tests of an application. Needs fast-check. */
export {
  arrays,
  arrowSchemaOf,
  type ColumnKind,
  type ColumnSpec,
  type GeneratedArray,
  type GeneratedTable,
  schemas,
  type TableRow,
  type TableSchema,
  tables,
} from './testing/arbitraries.ts'
export {
  type ArrayEqualsOptions,
  type ArrayValues,
  arrayEquals,
  type TableEqualsOptions,
  type TableRows,
  tableEquals,
} from './testing/equality.ts'
export { type GeneratedLoopBody, type GeneratedPlan, loopBodies, type PlanRow, plans } from './testing/programArbitraries.ts'
export {
  assertParallel,
  expectSerialEqualsParallel,
  type Program,
  type RunSettings,
  type SerialEqualsParallelOptions,
} from './testing/serialEqualsParallel.ts'
