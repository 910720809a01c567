/** The interface of links that a gang uses: those of `links.ts`, or others in a test. */
import type { OutMessage } from './messages.ts'

export interface GangLinks {
  /** Sends a message; its parts are read where they lie and must not change before the message is answered. */
  send(to: number, message: OutMessage): void
  /** Takes back the parts of a message that came, once they are read: nobody has them any more. */
  giveBack(parts: readonly Uint8Array[]): void
  /** Ends the link to a process: nothing more is sent to it, or taken from it. */
  part(rank: number): void
  /** Keeps this process alive for messages, until `letGo` was called as often. */
  hold(): void
  letGo(): void
  releaseNow(code: number): void
  release(code: number): Promise<void>
}
