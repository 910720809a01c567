/** What a process and the thread of its links tell each other. */
import type { GangFault } from '../../../core/errors.ts'
import type { Identity } from './identity.ts'
import type { InMessage, OutMessage } from './messages.ts'
import type { GangSettings } from './settings.ts'

/** What the thread is started with. */
export interface LinkData {
  readonly settings: GangSettings
  readonly identity: Identity
  /** 1 when all were told that the program has ended: waited for by a process that exits. */
  readonly released: Int32Array
}

export type ToLink =
  | { readonly kind: 'send'; readonly to: number; readonly message: OutMessage }
  /** A process is out of the gang. */
  | { readonly kind: 'part'; readonly rank: number }
  /** Rank 0's program has ended with this exit code. */
  | { readonly kind: 'release'; readonly code: number }

/** An error on its way between threads. */
export interface FaultText {
  readonly message: string
  readonly fault: GangFault
  readonly rank?: number
}

export type FromLink =
  /** All links of this process stand. */
  | { readonly kind: 'up' }
  /** They never will. */
  | { readonly kind: 'failed'; readonly error: FaultText }
  | { readonly kind: 'message'; readonly from: number; readonly message: InMessage }
  | { readonly kind: 'lost'; readonly error: FaultText }
  /** One has come in the place of a process that was lost. */
  | { readonly kind: 'joined'; readonly rank: number }
  | { readonly kind: 'released'; readonly code: number }
