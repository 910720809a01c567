/** The messages between a process's main thread and the thread of its links. */
import { GangError, type GangFault } from '../../../core/errors.ts'
import { isError } from '../../../core/isError.ts'
import type { Identity } from './identity.ts'
import type { InMessage, OutMessage } from './messages.ts'
import type { GangSettings } from './settings.ts'

/** The data that the link thread is started with. */
export interface LinkData {
  readonly settings: GangSettings
  readonly identity: Identity
  /** 1 once all were told that the program has ended; a process that exits waits for it. */
  readonly released: Int32Array
  /** Of `sendBuffers.ts`. */
  readonly sendCells: Int32Array
}

export type ToLink =
  | { readonly kind: 'send'; readonly to: number; readonly message: OutMessage; readonly cell?: number }
  /** Nobody reads the parts that came in these buffers any more. */
  | { readonly kind: 'read'; readonly buffers: readonly ArrayBuffer[] }
  /** A process is out of the gang. */
  | { readonly kind: 'part'; readonly rank: number }
  /** Rank 0's program has ended with this exit code. */
  | { readonly kind: 'release'; readonly code: number }

/** A GangError in the form in which it goes between threads. */
export interface FaultText {
  readonly message: string
  readonly fault: GangFault
  readonly rank?: number
}

export type FromLink =
  /** All links of this process stand. */
  | { readonly kind: 'up' }
  /** The links of this process will never stand. */
  | { readonly kind: 'failed'; readonly error: FaultText }
  | { readonly kind: 'message'; readonly from: number; readonly message: InMessage }
  | { readonly kind: 'lost'; readonly error: FaultText }
  /** A process has come in the place of one that was lost. */
  | { readonly kind: 'joined'; readonly rank: number }
  | { readonly kind: 'released'; readonly code: number }

/** The form of an error that keeps this process out of its gang. */
export function faultOf(error: unknown, rank: number): FaultText {
  if (error instanceof GangError) {
    const { message, fault } = error
    return { message, fault, ...(error.rank === undefined ? {} : { rank: error.rank }) }
  }
  return { message: `Rank ${rank} could not join its gang: ${isError(error) ? error.message : String(error)}`, fault: 'address', rank }
}
