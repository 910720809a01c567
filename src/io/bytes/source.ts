/** Bytes that are read where they are asked for. */

export interface ByteSource {
  readonly size: number
  /** Size and time of change; over HTTP the size alone. */
  readonly stamp: string
  /** The identity of the content: what has this version later is the same. Absent where that cannot be told: over HTTP, and shortly after a file changed. */
  readonly version?: string | undefined
  /** Exactly the bytes from `start` to `end`, in `into` where it can be used and is long enough; a SourceError when there are fewer. */
  read(start: number, end: number, into?: Uint8Array): Promise<Uint8Array>
  close(): Promise<void>
}
