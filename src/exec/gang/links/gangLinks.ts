/** Links as a gang uses them: those of `links.ts`, or others in a test. */
import type { OutMessage } from './messages.ts'

export interface GangLinks {
  /** Parts are sent from where they lie: they must not change before the message is answered. */
  send(to: number, message: OutMessage): void
  /** Nothing more is said to a process, or heard from it. */
  part(rank: number): void
  /** The process stays alive for messages until this is let go as often as it was taken. */
  hold(): void
  letGo(): void
  releaseNow(code: number): void
  release(code: number): Promise<void>
}
