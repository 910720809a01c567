/**
 * The errors a user can meet, told apart by whose move it is next.
 *
 * Each says what failed, where in the user's code, why, and the cure; what a program may want to look at is in
 * fields, not only in the text. Fields that say nothing are not there, so that consoles do not print them. Addresses are told without what is as good as a password.
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

/** What memory does not hold was to be written to disk, or read from there again, and could not be. */
export class SpillError extends Error {
  /** The folder. */
  readonly path: string
  constructor(message: string, path: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SpillError'
    this.path = path
  }
}

/** What went wrong with a gang of processes. */
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

/** Processes that were to run a program together do not: one is missing, does not fit to the others, or was lost. */
export class GangError extends Error {
  readonly fault: GangFault
  /** The process that it is about. */
  declare readonly rank?: number
  constructor(message: string, fault: GangFault, options: { readonly rank?: number; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'GangError'
    this.fault = fault
    if (options.rank !== undefined) this.rank = options.rank
  }
}

/** What went wrong with a checkpoint: it is another program's or engine's, damaged, used by another process, or its folder cannot be read or written. */
export type CheckpointFault = 'differs' | 'damaged' | 'taken' | 'unusable'

/** A program cannot go on with what is kept of it. */
export class CheckpointError extends Error {
  readonly fault: CheckpointFault
  /** The folder, or the file in it. */
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
