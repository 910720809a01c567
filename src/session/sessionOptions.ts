/** The options of a session, and checks of its methods' arguments. */
import { checkList } from '../core/arguments.ts'
import { checkShape, type Shape } from '../core/arrays/indexSpace.ts'
import type { TypedArray } from '../core/data/column.ts'
import type { DType } from '../core/data/schema.ts'
import { valueText } from '../core/data/valueKinds.ts'
import { PlanError } from '../core/errors.ts'
import type { LoopOptions } from '../core/loop/loopSpec.ts'
import { countText } from '../core/show/width.ts'
import type { LoopRequest } from './loops/loopRequest.ts'

/** The most workers: more than any machine has cores; each takes some megabytes. */
export const MOST_WORKERS = 1024

/** Options of `Session.start`. */
export interface SessionOptions {
  /** Worker threads; 1 runs on the caller's thread. Default: all cores. */
  readonly workers?: number
  /**
   * Budget for array data and operators, in bytes or as '2GB'. At most '4GB', or '16GB' where the engine has memory of 64-bit
   * addresses (Node 24); above '4GB' kernels have to check those, and take some more time. Default: half of the machine's
   * memory, at most 3.5 GB. The process takes more: from '256MB' on at most 1.25 times as much and 150 MB where work goes by way of disk;
   * below, the engine, two threads and what reads and writes Parquet take some 180 MB of their own, and up to 250 MB more than that with
   * what they work on.
   */
  readonly memory?: number | `${number}${'KB' | 'MB' | 'GB'}`
  /** The seed of `random`, `sample` and `rng`, unless they are given one of their own. Default: 0. */
  readonly seed?: number
  /** 'auto' (default) shows a bar on a TTY only. */
  readonly progress?: boolean | 'auto'
  /**
   * true checks every loop for races before its first pass, on copies, as plain JavaScript. Default: small loops are
   * checked once where NODE_ENV is 'test'. Loops may say otherwise.
   */
  readonly checkRaces?: boolean
  /**
   * 'compiled': a row function or a loop body that would run as JavaScript, as a copy or as it stands, is an error, with the
   * place, the reason and the cure: PlanError or LoopError at the call where it can be known, else when the action is called.
   * Functions of actions (`forEach`, `reduce`) are called on the caller's thread as ever.
   */
  readonly require?: 'compiled'
  /**
   * A folder in which passes of loops are kept: the program, started again after it was killed, goes on where it was, with the same bits.
   * It is made if there is none. One program at a time may use it, which must do the same on each start.
   */
  readonly checkpoint?: string
  /**
   * The folder for spilled rows of group, join, sort, distinct and windows, which memory does not hold; it is emptied when they
   * end. Default: the system's folder for temporary files.
   */
  readonly spillFolder?: string
  /**
   * The address of a Spark Connect server, as 'sc://host:15002' or 'sc://host:15002/;token=…;use_ssl=true': `readParquet`, `readCsv` and
   * `table` open tables there, and what a program does with them up to its arrays and loops runs there.
   */
  readonly tables?: string
  /** 'local': what Spark cannot run is run here, over tables that it sends. Default: that is a PlanError. */
  readonly fallback?: 'local'
}

export const SESSION_OPTIONS = [
  'workers',
  'memory',
  'seed',
  'progress',
  'checkRaces',
  'require',
  'checkpoint',
  'spillFolder',
  'tables',
  'fallback',
] as const

export type ColumnValues = TypedArray | readonly (string | number | bigint | boolean | Date | null)[]

export type RowOfColumns<C extends Readonly<Record<string, ColumnValues>>> = {
  [N in keyof C]: C[N] extends BigInt64Array ? bigint : C[N] extends readonly (infer V)[] ? V : number
}

/** The name of an array of this shape in messages; throws PlanError where it is no shape. */
export function checkShapeOf(method: string, shape: Shape): string {
  checkList(`The shape of ${method}()`, shape)
  const name = `${method}([${[...shape].map(valueText).join(', ')}])`
  checkShape(name, shape)
  return name
}

export function megabytes(bytes: number): string {
  return `${countText(Math.ceil(bytes / 2 ** 20))} MB`
}

/** Gives up the static types of a loop's arguments, which served the caller; each is checked at run time from here on. */
export function requestOf(over: object, env: object, body: unknown, options: LoopOptions): LoopRequest {
  return { over, env: env as LoopRequest['env'], body: body as LoopRequest['body'], options }
}

export function checkProgress(progress: unknown): void {
  if (progress !== 'auto') throw new PlanError(`progress is true, false or 'auto'; it was given ${valueText(progress)}.`)
}

export function dtypeOfValue(value: unknown): DType | 'object' {
  switch (typeof value) {
    case 'number':
      return 'f64'
    case 'bigint':
      return 'i64'
    case 'boolean':
      return 'bool'
    default:
      return 'object'
  }
}

/** Throws PlanError for arguments of `fromColumns` beyond the columns. */
export function checkNoOptions(options: readonly unknown[]): void {
  if (options.length > 0)
    throw new PlanError(
      `fromColumns() takes columns and nothing else; it was given ${valueText(options[0])} as well.\n` +
        "A typed array says its column's type, as in { id: Int32Array.of(1, 2) }; fromRows(rows, { schema }) takes a schema.",
    )
}
