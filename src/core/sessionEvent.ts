/** What a session tells about its work. */
import type { PassReport } from './loopReport.ts'

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
  | { readonly kind: 'fallback'; readonly what: string; readonly because: string }
  | { readonly kind: 'spill'; readonly operator: string; readonly bytes: number }
  | { readonly kind: 'worker'; readonly phase: 'started' | 'lost'; readonly worker: number }
