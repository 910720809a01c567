/** What a session tells about its work. */

import type { PassReport } from './loop/loopReport.ts'
import type { Span } from './span.ts'

/** Everything a run has to tell; the progress bar, logs and pages are built from these. */
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
  /** A process that ran passes with this one. */
  | { readonly kind: 'process'; readonly phase: 'lost' | 'joined'; readonly rank: number }
  | { readonly kind: 'worker'; readonly phase: 'started' | 'lost'; readonly worker: number }

/** Something that runs in another way than it might. */
export interface FallbackEvent {
  readonly kind: 'fallback'
  /** The operator or loop, and its function. */
  readonly what: string
  readonly because: string
  /** Where the reason lies, and the edit that takes it away. */
  readonly span?: Span
  readonly cure?: string
  /** On workers, as a copy or compiled for rows, or as it stands on the caller's thread. */
  readonly runs?: 'workers' | 'caller'
}
