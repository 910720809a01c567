/**
 * A lock of many readers or one writer, for promises: whoever asks first comes first, so that a writer is not starved.
 */
export type LockMode = 'read' | 'write'

interface Waiting {
  readonly mode: LockMode
  enter(): void
}

export class RwLock {
  private readers = 0
  private writing = false
  private readonly queue: Waiting[] = []

  /** Resolves when the lock is held, to the function that lets it go (calling it twice does nothing). */
  acquire(mode: LockMode): Promise<() => void> {
    return new Promise((resolve) => {
      this.queue.push({ mode, enter: () => resolve(this.take(mode)) })
      this.admit()
    })
  }

  /** Whether `acquire` would not wait. */
  isFree(mode: LockMode): boolean {
    return this.queue.length === 0 && !this.writing && (mode === 'read' || this.readers === 0)
  }

  /** Holds the lock, which is free; gives the function that lets it go, as `acquire` does. */
  take(mode: LockMode): () => void {
    if (mode === 'write') this.writing = true
    else this.readers++
    return this.leaver(mode)
  }

  /** How many hold it now. */
  get holders(): number {
    return this.readers + (this.writing ? 1 : 0)
  }

  private admit(): void {
    for (let next = this.queue[0]; next !== undefined; next = this.queue[0]) {
      if (this.writing || (next.mode === 'write' && this.readers > 0)) return
      this.queue.shift()
      next.enter()
    }
  }

  private leaver(mode: LockMode): () => void {
    let left = false
    return () => {
      if (left) return
      left = true
      if (mode === 'write') this.writing = false
      else this.readers--
      this.admit()
    }
  }
}
