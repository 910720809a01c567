/** The events that a session sends about its work. */

import type { PassReport } from './loop/loopReport.ts'
import type { Span } from './span.ts'

/** An event of a run; the progress bar, logs and pages are built from these. */
export type SessionEvent =
  | {
      readonly kind: 'stage'
      readonly phase: 'started' | 'finished'
      readonly stage: string
      readonly rows?: number
      readonly milliseconds?: number
    }
  | {
      readonly kind: 'pass'
      readonly phase: 'started' | 'finished'
      readonly loop: string
      readonly pass: PassReport | { readonly number: number }
    }
  | { readonly kind: 'progress'; readonly job: string; readonly done: number; readonly total: number }
  | FallbackEvent
  | { readonly kind: 'spill'; readonly operator: string; readonly bytes: number }
  /** Another process of the gang was lost, or joined. */
  | { readonly kind: 'process'; readonly phase: 'lost' | 'joined'; readonly rank: number }
  | { readonly kind: 'worker'; readonly phase: 'started' | 'lost'; readonly worker: number }

/** An operator or loop that runs in a slower way than it might, and why. */
export interface FallbackEvent {
  readonly kind: 'fallback'
  /** The operator or loop, with its function. */
  readonly what: string
  readonly because: string
  /** The place of the reason in the user's code; `cure` is the edit that removes it. */
  readonly span?: Span
  readonly cure?: string
  /** The place where it runs: on workers, as a copy or compiled for rows, or as it stands on the caller's thread. */
  readonly runs?: 'workers' | 'caller'
}
