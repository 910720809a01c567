/** Bytes that are read where they are asked for. */

export interface ByteSource {
  readonly size: number
  /** Size and time of change; over HTTP the size alone. */
  readonly stamp: string
  /** Exactly the bytes from `start` to `end`, in `into` where it can be used and is long enough; a SourceError when there are fewer. */
  read(start: number, end: number, into?: Uint8Array): Promise<Uint8Array>
  close(): Promise<void>
}
