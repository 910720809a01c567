/**
 * The errors a user can meet, told apart by whose move it is next.
 *
 * Each says what failed, where in the user's code, why, and the cure; what a program may want to look at is in
 * fields, not only in the text. Fields that say nothing are not there, so that consoles do not print them. Messages show addresses without passwords and signatures.
 */
import type { Key } from './arrays/keys.ts'
import type { Refusal, Span } from './span.ts'
import { causeWithoutSecrets, withoutSecrets } from './withoutSecrets.ts'

/** The program cannot make sense: a missing column, types that do not match, a value that does not fit. Thrown at the call. */
export class PlanError extends Error {
  declare readonly span?: Span
  constructor(message: string, options: { readonly span?: Span; readonly cause?: unknown } = {}) {
    super(withoutSecrets(message), options.cause === undefined ? undefined : { cause: causeWithoutSecrets(options.cause) })
    this.name = 'PlanError'
    if (options.span !== undefined) this.span = options.span
  }
}

/** A loop body cannot run as asked: it is async, or must be parallel and is not. Holds the refusals. */
export class LoopError extends Error {
  readonly refusals: readonly Refusal[]
  constructor(message: string, refusals: readonly Refusal[] = []) {
    super(message)
    this.name = 'LoopError'
    this.refusals = refusals
  }
}

/** A file or a server does not hold what it should: missing, truncated, wrong format, or a feature that is not read. */
export class SourceError extends Error {
  readonly source: string
  constructor(message: string, source: string, options: { readonly cause?: unknown } = {}) {
    super(withoutSecrets(message), options.cause === undefined ? undefined : { cause: causeWithoutSecrets(options.cause) })
    this.name = 'SourceError'
    this.source = withoutSecrets(source)
  }
}

/** A user's function threw. `cause` is its error; `key` or `partition` say where. */
export class TaskError extends Error {
  declare readonly key?: Key
  declare readonly partition?: number
  constructor(message: string, options: { readonly cause?: unknown; readonly key?: Key; readonly partition?: number } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'TaskError'
    if (options.key !== undefined) this.key = options.key
    if (options.partition !== undefined) this.partition = options.partition
  }
}

/** The memory budget of the session does not hold what an operator needs. */
export class MemoryError extends Error {
  readonly operator: string
  readonly bytes: number
  constructor(message: string, options: { readonly operator: string; readonly bytes: number }) {
    super(message)
    this.name = 'MemoryError'
    this.operator = options.operator
    this.bytes = options.bytes
  }
}

/** Data that does not fit into memory could not be written to disk, or read from there again. */
export class SpillError extends Error {
  /** The folder of the spill files. */
  readonly path: string
  constructor(message: string, path: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SpillError'
    this.path = path
  }
}

/** The kind of fault in a gang of processes. */
export type GangFault =
  | 'settings'
  | 'address'
  | 'absent'
  | 'token'
  | 'version'
  | 'node'
  | 'architecture'
  | 'code'
  | 'job'
  | 'rank'
  | 'lost'
  | 'frame'
  | 'failed'

/** The processes of a gang cannot run the program together: one is missing, does not fit the others, or was lost. */
export class GangError extends Error {
  readonly fault: GangFault
  /** The rank of the process at fault, where one is. */
  declare readonly rank?: number
  constructor(message: string, fault: GangFault, options: { readonly rank?: number; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'GangError'
    this.fault = fault
    if (options.rank !== undefined) this.rank = options.rank
  }
}

/** The kind of fault in a checkpoint: it is another program's or engine's, damaged, used by another process, or its folder cannot be read or written. */
export type CheckpointFault = 'differs' | 'damaged' | 'taken' | 'unusable'

/** A program cannot go on from its checkpoint. */
export class CheckpointError extends Error {
  readonly fault: CheckpointFault
  /** The folder of the checkpoint, or the file in it. */
  readonly path: string
  constructor(message: string, fault: CheckpointFault, path: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CheckpointError'
    this.fault = fault
    this.path = path
  }
}

/** A fault in the library, not in the user's program. */
export class Bug extends Error {
  constructor(message: string) {
    super(`${message}\nThis is a fault in the library, not in your program. Please report it with the text above.`)
    this.name = 'Bug'
  }
}
